//! Compresses the kernels' PTX, which the library inflates when it loads it. Without the feature `gpu` it embeds none.

fn main() -> std::io::Result<()> {
    if cfg!(feature = "gpu") { fringes_kernel_declaration::deflate_folder("ptx") } else { Ok(()) }
}
