//! Small kernel crates, built with the compiler of kernels that is installed. Without one, and outside CI, there is
//! nothing to run.

use std::path::{Path, PathBuf};

use fringes_kernel_builder::{Arch, BuildError, Built, CudaBuilder, Toolchain};

/// A kernel crate's first lines. It stands alone: `fringes-device` is built on the builder's text format, not the other
/// way round.
const OPENING: &str = "//! Kernels of a test.\n#![no_std]\n#![feature(abi_ptx, asm_experimental_arch)]\n\
    #[panic_handler]\nfn panic(_: &core::panic::PanicInfo) -> ! { loop {} }\n";

/// A kernel with a function that stays a function, so that its mangled name is in the PTX.
const SCALE: &str = "core::arch::global_asm!(\"//@kernel scale(x: u64, n: u32) threads=64\", options(raw));\n\
    #[inline(never)]\nunsafe fn factor(x: *mut f32, n: u32) -> f32 { let (mut s, mut i) = (0.0, 0); while i < n { s += *x.add(i as usize) * s; i += 3; } s }\n\
    #[unsafe(no_mangle)]\npub unsafe extern \"ptx-kernel\" fn scale(x: *mut f32, n: u32) { *x = factor(x, n) * factor(x, n + 1); }\n";

/// The folder of a kernel crate with this source. Its place is the same in every run, so that `core` is compiled in the
/// first alone.
fn package(place: &str, source: &str) -> std::io::Result<PathBuf> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("real-compiler").join(place).join("scale");
    std::fs::create_dir_all(folder.join("src"))?;
    let manifest = "[package]\nname = \"scale\"\nedition = \"2024\"\n[workspace]\n";
    for (file, text) in [("Cargo.toml", manifest), ("src/lib.rs", &format!("{OPENING}{source}"))] {
        let path = folder.join(file);
        if std::fs::read_to_string(&path).ok().as_deref() != Some(text) {
            std::fs::write(&path, text)?;
        }
    }
    Ok(folder)
}

fn build(place: &str, source: &str) -> Result<Built, BuildError> {
    let path = place.into();
    let folder = package(place, source).map_err(|source| BuildError::File { path, source })?;
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("real-compiler").join(place).join("target");
    CudaBuilder::new(folder).arch(Arch::Sm80).target_dir(target).build()
}

/// One test, because its parts share the compiled `core`.
#[test]
fn kernel_crates_become_ptx_or_typed_errors() {
    if let Err(error) = Toolchain::find() {
        assert!(std::env::var_os("CI").is_none(), "{error}");
        eprintln!("not run: {error}");
        return;
    }
    let built = build("here", SCALE).unwrap();
    assert!(built.ptx.contains(".version 7.8\n.target sm_80\n"));
    assert!(built.ptx.contains(")\n.reqntid 64, 1, 1\n{"));
    assert!(built.ptx.contains("6factor"), "the function was to stay one:\n{}", built.ptx);
    assert_eq!(std::fs::read_to_string(&built.path).unwrap(), built.ptx);
    let names: Vec<&str> = built.kernels.iter().map(|kernel| kernel.name.as_str()).collect();
    assert_eq!(names, ["scale"]);

    let comments = built.ptx.lines().filter(|line| line.trim_start().starts_with("//"));
    assert_eq!(comments.collect::<Vec<_>>(), ["//@kernel scale(x: u64, n: u32) threads=64"]);

    // The same sources elsewhere: the same text, byte for byte.
    let elsewhere = build("else/where", SCALE).unwrap();
    assert_eq!(elsewhere.ptx, built.ptx);
    assert_eq!(elsewhere.sources.hash().unwrap(), built.sources.hash().unwrap());

    let of_arch = SCALE.replace(
        "*x = factor",
        "if cfg!(fringes_sm_80) { core::arch::asm!(\"membar.sys; // only here\") } *x = factor",
    );
    assert!(build("here", &of_arch).unwrap().ptx.contains("membar.sys; // only here"));

    let panics = SCALE.replace("*x = factor(x, n)", "let a = [n, 1, 2]; *x = a[*x as usize] as f32");
    let error = build("here", &panics).unwrap_err();
    assert!(matches!(&error, BuildError::Panics { symbols } if symbols[0].contains("panic_bounds_check")), "{error}");

    let undeclared = SCALE.replace("//@kernel", "// kernel");
    assert!(matches!(build("here", &undeclared), Err(BuildError::Undeclared { name }) if name == "scale"));
    assert!(matches!(build("here", ""), Err(BuildError::NoKernels { package }) if package == "scale"));

    let path = SCALE.replace(
        "*x = factor",
        "core::arch::asm!(concat!(\"membar.sys; // \", env!(\"CARGO_MANIFEST_DIR\"))); *x = factor",
    );
    assert!(matches!(build("here", &path), Err(BuildError::MachinePath { .. })));

    let error = build("here", "no Rust").unwrap_err();
    assert!(matches!(&error, BuildError::Command { output, .. } if output.contains("src/lib.rs")), "{error}");
}
