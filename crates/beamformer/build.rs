//! Compresses the kernels' PTX, which the library inflates when it loads it.

fn main() -> std::io::Result<()> {
    fringes_kernel_declaration::deflate_folder("ptx")
}
