//! Texts of kernels, compressed in a program.
//!
//! PTX is text of much repetition: a fifth of its bytes say all of it. A library's build script compresses the files
//! beside its sources ([`deflate_folder`]), the library embeds the result with `include_bytes!`, and whoever loads
//! kernels inflates what it loads, once ([`inflate`]). The format is zlib's (RFC 1950), whose checksum finds damage.

use std::path::{Path, PathBuf};

use miniz_oxide::deflate::compress_to_vec_zlib;
use miniz_oxide::inflate::decompress_to_vec_zlib_with_limit;

use crate::InflateError;

/// Level of compression. Level 9 saves 3 % of the bytes, and takes longer.
const LEVEL: u8 = 6;

/// Most bytes of a text, so that damaged bytes do not ask for more memory than there is.
const MOST_BYTES: usize = 1 << 28;

/// What follows the name of a file that is compressed.
const SUFFIX: &str = "z";

/// Compresses a text.
#[must_use]
pub fn deflate(text: &str) -> Vec<u8> {
    compress_to_vec_zlib(text.as_bytes(), LEVEL)
}

/// The text that [`deflate`] compressed.
///
/// # Errors
/// [`InflateError`] for bytes that are damaged, of something else, or of a text of more than 256 MiB.
pub fn inflate(bytes: &[u8]) -> Result<String, InflateError> {
    let text = decompress_to_vec_zlib_with_limit(bytes, MOST_BYTES)
        .map_err(|error| InflateError::Damaged { bytes: bytes.len(), reason: error.to_string() })?;
    String::from_utf8(text).map_err(|error| InflateError::NoText { position: error.utf8_error().valid_up_to() })
}

/// Compresses every `.ptx` file below a folder of the package, for its build script: `ptx/a/b.ptx` becomes
/// `ptx/a/b.ptx.z` in
/// `OUT_DIR`, where `include_bytes!(concat!(env!("OUT_DIR"), "/ptx/a/b.ptx.z"))` finds it. It runs anew when the folder
/// changes.
///
/// # Errors
/// What the file system answers, with the file; [`std::io::ErrorKind::NotFound`] outside of a build script.
pub fn deflate_folder(folder: &str) -> std::io::Result<()> {
    let variable = |name: &str| {
        let value = std::env::var_os(name).map(PathBuf::from);
        value.ok_or_else(|| std::io::Error::new(std::io::ErrorKind::NotFound, format!("{name} is not set")))
    };
    let (root, out) = (variable("CARGO_MANIFEST_DIR")?, variable("OUT_DIR")?);
    println!("cargo::rerun-if-changed={folder}");
    deflate_below(&root.join(folder), &out.join(folder))
}

/// Compresses every PTX file below a folder into the same place below another one.
fn deflate_below(from: &Path, to: &Path) -> std::io::Result<()> {
    let named = |path: &Path| {
        let path = path.display().to_string();
        move |error: std::io::Error| std::io::Error::new(error.kind(), format!("{path}: {error}"))
    };
    for entry in std::fs::read_dir(from).map_err(named(from))? {
        let path = entry.map_err(named(from))?.path();
        let target = to.join(path.file_name().unwrap_or_default());
        if path.is_dir() {
            deflate_below(&path, &target)?;
        } else if path.extension().is_some_and(|extension| extension == "ptx") {
            let text = std::fs::read_to_string(&path).map_err(named(&path))?;
            std::fs::create_dir_all(to).map_err(named(to))?;
            let target = target.with_extension(format!("ptx.{SUFFIX}"));
            std::fs::write(&target, deflate(&text)).map_err(named(&target))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A text like PTX: much of it comes again.
    fn text() -> String {
        (0..2000).map(|line| format!("\tadd.s32 \t%r{}, %r{}, {};\n", line, line / 3, line % 7)).collect()
    }

    #[test]
    fn a_text_comes_back_and_takes_less_room() {
        for text in [text(), String::new(), "µ".into()] {
            assert_eq!(inflate(&deflate(&text)), Ok(text));
        }
        assert!(deflate(&text()).len() * 4 < text().len());
    }

    #[test]
    fn damage_is_found() {
        let good = deflate(&text());
        for position in [0, 1, good.len() / 2, good.len() - 1] {
            let mut bad = good.clone();
            bad[position] ^= 0x10;
            assert!(matches!(inflate(&bad), Err(InflateError::Damaged { .. })), "byte {position}");
        }
        assert!(matches!(inflate(&good[..good.len() - 5]), Err(InflateError::Damaged { .. })));
        assert!(matches!(inflate(b""), Err(InflateError::Damaged { bytes: 0, .. })));
        let no_text = compress_to_vec_zlib(&[b'a', 0xff], LEVEL);
        assert_eq!(inflate(&no_text), Err(InflateError::NoText { position: 1 }));
    }

    #[test]
    fn every_ptx_below_a_folder_is_compressed_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let (from, to) = (folder.path().join("ptx"), folder.path().join("out"));
        std::fs::create_dir_all(from.join("a/b")).unwrap();
        for (file, text) in [("a/b/k_sm_80.ptx", "deep"), ("top.ptx", "top"), ("a/manifest.json", "{}")] {
            std::fs::write(from.join(file), text).unwrap();
        }
        deflate_below(&from, &to).unwrap();
        let read = |file: &str| inflate(&std::fs::read(to.join(file)).unwrap()).unwrap();
        assert_eq!((read("a/b/k_sm_80.ptx.z").as_str(), read("top.ptx.z").as_str()), ("deep", "top"));
        assert!(!to.join("a/manifest.json").exists() && !to.join("a/manifest.ptx.z").exists());
        let missing = deflate_below(&folder.path().join("none"), &to).unwrap_err();
        assert!(missing.to_string().contains("none"), "{missing}");
    }
}
