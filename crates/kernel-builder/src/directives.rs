//! Launch bounds as directives of PTX entries, and no comments.
//!
//! rustc has no attribute for launch bounds. The declarations that `kernel!` leaves in the PTX say them, and [`write`]
//! puts them where CUDA's own compiler would:
//!
//! ```text
//! //@kernel saxpy(a: f32, x: Global<f32>, y: GlobalMut<f32>) threads=256 min_blocks=2
//! .visible .entry saxpy(
//!     .param .f32 saxpy_param_0,
//!     ...
//! )
//! .reqntid 256, 1, 1
//! .minnctapersm 2
//! {
//! ```
//!
//! Lines that are comments go: LLVM writes two around every inline instruction, a fifth of all bytes. `ptxas` reads
//! past them, so the machine code is the same.
//!
//! On the way it holds entries and declarations against each other: every entry has one declaration with parameters of
//! the same sizes, and every declaration an entry.

use fringes_kernel_declaration::{KernelDeclaration, PREFIX, ParameterKind};

use crate::{Arch, BuildError};

/// Version of what this module writes. It is part of a source hash, so that PTX is built anew when the directives
/// change.
pub(crate) const VERSION: u32 = 2;

const ENTRY: &str = ".visible .entry ";

/// Writes the directives of every kernel into `ptx`, and returns the text and the kernels, in the order of their
/// declarations.
pub(crate) fn write(ptx: &str, arch: Arch) -> Result<(String, Vec<KernelDeclaration>), BuildError> {
    let kernels = KernelDeclaration::all(ptx)?;
    for (index, kernel) in kernels.iter().enumerate() {
        if kernels[..index].iter().any(|other| other.name == kernel.name) {
            return Err(BuildError::Twice { name: kernel.name.clone() });
        }
    }
    let mut entries: Vec<&str> = Vec::new();
    let mut text = String::with_capacity(ptx.len() + 64 * kernels.len());
    let mut lines = ptx.lines().filter(|line| !is_comment(line));
    while let Some(line) = lines.next() {
        if let Some(declaration) = line.trim().strip_prefix(PREFIX) {
            // Written anew: one spelling, whatever the macro's tokens looked like.
            text.push_str(&format!("{PREFIX}{}\n", KernelDeclaration::parse(declaration)?));
            continue;
        }
        push(&mut text, line);
        let Some(rest) = line.trim_start().strip_prefix(ENTRY) else { continue };
        let name = rest.split('(').next().unwrap_or_default().trim();
        let kernel = kernels.iter().find(|kernel| kernel.name == name);
        let kernel = kernel.ok_or_else(|| BuildError::Undeclared { name: name.into() })?;
        entries.push(name);
        let header = || BuildError::Header { name: name.into() };
        let mut parameters = Vec::new();
        if !line.trim_end().ends_with(')') {
            loop {
                let line = lines.next().ok_or_else(header)?;
                if line.trim() == ")" {
                    push(&mut text, line);
                    break;
                }
                let parameter = kernel.parameters.get(parameters.len());
                if let Some(parameter) = parameter.filter(|parameter| parameter.kind == ParameterKind::TensorMap) {
                    // The type of a parameter can be aligned to 16 bytes at most.
                    let line = line.replacen(".align 16 ", ".align 64 ", 1);
                    if !line.contains(".align 64 ") {
                        let reason = format!("the tensor map `{}` is not aligned to 16 or 64 bytes", parameter.name);
                        return Err(BuildError::Bound { name: name.into(), reason });
                    }
                    push(&mut text, &line);
                } else {
                    push(&mut text, line);
                }
                parameters.push(parameter_bytes(line).ok_or_else(header)?);
            }
        }
        let expected: Vec<usize> = kernel.parameters.iter().map(|parameter| parameter.kind.bytes()).collect();
        if parameters != expected {
            return Err(BuildError::Parameters { name: name.into(), expected, actual: parameters });
        }
        for directive in directives(kernel, arch)? {
            push(&mut text, &directive);
        }
        // Nothing may stand between the header and the body: rustc writes no bounds of its own.
        let line = lines.next().ok_or_else(header)?;
        push(&mut text, line);
        if line.trim() != "{" {
            return Err(header());
        }
    }
    if let Some(kernel) = kernels.iter().find(|kernel| !entries.contains(&kernel.name.as_str())) {
        return Err(BuildError::NoEntry { name: kernel.name.clone() });
    }
    Ok((text, kernels))
}

/// Whether a line is a comment that says nothing to anyone. Declarations say something, and what ends a longer comment
/// ends it.
fn is_comment(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with("//") && !line.starts_with(PREFIX) && !line.contains("*/")
}

/// A PTX without the lines that are comments, but with its declarations.
pub fn without_comments(ptx: &str) -> String {
    ptx.split_inclusive('\n').filter(|line| !is_comment(line)).collect()
}

fn push(text: &mut String, line: &str) {
    text.push_str(line.trim_end());
    text.push('\n');
}

/// The directives of a kernel's bounds.
fn directives(kernel: &KernelDeclaration, arch: Arch) -> Result<Vec<String>, BuildError> {
    let wrong = |reason: String| BuildError::Bound { name: kernel.name.clone(), reason };
    let three = |[x, y, z]: [u32; 3]| format!("{x}, {y}, {z}");
    let bounds = &kernel.bounds;
    let mut directives = Vec::new();
    if let Some(threads) = bounds.threads {
        let product: u64 = threads.iter().map(|count| u64::from(*count)).product();
        if product > 1024 || threads[2] > 64 {
            return Err(wrong(format!("a block has at most 1024 threads and 64 in z, declared {}", three(threads))));
        }
        directives.push(format!(".reqntid {}", three(threads)));
    }
    if let Some(blocks) = bounds.min_blocks {
        if bounds.threads.is_none() {
            return Err(wrong("min_blocks means nothing without threads".into()));
        }
        directives.push(format!(".minnctapersm {blocks}"));
    }
    if let Some(registers) = bounds.max_registers {
        if registers > 255 {
            return Err(wrong(format!("a thread has at most 255 registers, declared max_registers={registers}")));
        }
        directives.push(format!(".maxnreg {registers}"));
    }
    if let Some(cluster) = bounds.cluster {
        if !arch.has_clusters() {
            return Err(wrong(format!("clusters need sm_90 or later, built for {arch}")));
        }
        directives.push(".explicitcluster".into());
        directives.push(format!(".reqnctapercluster {}", three(cluster)));
    }
    Ok(directives)
}

/// Size of a parameter from its line, such as `.param .align 8 .b8 saxpy_param_1[16],`.
fn parameter_bytes(line: &str) -> Option<usize> {
    let line = line.trim().trim_end_matches(',');
    let mut words = line.strip_prefix(".param ")?.split_whitespace();
    let mut scalar = None;
    while let Some(word) = words.next() {
        match word {
            ".align" => {
                words.next()?.parse::<u32>().ok()?;
            }
            ".ptr" | ".global" | ".shared" | ".const" | ".local" => {}
            _ => {
                if let Some(kind) = word.strip_prefix('.') {
                    scalar =
                        Some(kind.trim_start_matches(|c: char| c.is_ascii_alphabetic()).parse::<usize>().ok()? / 8);
                } else {
                    let array = word.split_once('[').map(|(_, length)| length.trim_end_matches(']').parse::<usize>());
                    return Some(scalar? * array.unwrap_or(Ok(1)).ok()?);
                }
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A PTX with one declaration and one entry as LLVM writes it.
    fn ptx(declaration: &str, header: &str) -> String {
        format!("//@kernel {declaration}\n\n.visible .entry {header}\n{{\n\tret;\n}}\n")
    }

    const SAXPY: &str = "saxpy(\n\t.param .f32 saxpy_param_0,\n\t.param .align 8 .b8 saxpy_param_1[16]\n)";

    #[test]
    fn bounds_become_directives_between_header_and_body() {
        let text =
            ptx("saxpy(a: f32, x: Global < f32 >, ) threads=32,4 min_blocks=2 max_registers=64 cluster=2", SAXPY);
        let (text, kernels) = write(&text, Arch::Sm90a).unwrap();
        assert_eq!(
            text,
            "//@kernel saxpy(a: f32, x: Global<f32>) threads=32,4,1 min_blocks=2 max_registers=64 cluster=2\n\n\
             .visible .entry saxpy(\n\t.param .f32 saxpy_param_0,\n\t.param .align 8 .b8 saxpy_param_1[16]\n)\n\
             .reqntid 32, 4, 1\n.minnctapersm 2\n.maxnreg 64\n.explicitcluster\n.reqnctapercluster 2, 1, 1\n{\n\tret;\n}\n"
        );
        assert_eq!(kernels.len(), 1);
    }

    #[test]
    fn lines_that_are_comments_go_and_declarations_stay() {
        let raw = "//\n// Generated by LLVM NVPTX Back-End\n//\n\n//@kernel empty() threads=32\n\n\t// .globl\tempty\n\
            .visible .entry empty() \n// of rustc\n{\n\t// begin inline asm\n\tmembar.sys; // stays\n\
            \t// end inline asm\n/* two\n// lines */\n\tret;\n}\n";
        let expected = "\n//@kernel empty() threads=32\n\n.visible .entry empty()\n.reqntid 32, 1, 1\n{\n\
            \tmembar.sys; // stays\n/* two\n// lines */\n\tret;\n}\n";
        let (text, _) = write(raw, Arch::Sm80).unwrap();
        assert_eq!(text, expected);
        assert_eq!(without_comments(&text), text, "nothing is left to take away");
    }

    #[test]
    fn tensor_maps_are_aligned_to_64_bytes() {
        let header =
            |align| format!("t(\n\t.param .align 8 .b8 t_param_0[16],\n\t.param .align {align} .b8 t_param_1[128]\n)");
        let text = |align| ptx("t(x: Global<f32>, map: TensorMap)", &header(align));
        assert_eq!(write(&text(16), Arch::Sm90a).unwrap().0, text(64));
        assert_eq!(write(&text(64), Arch::Sm90a).unwrap().0, text(64));
        let error = write(&text(8), Arch::Sm90a).unwrap_err();
        assert!(matches!(&error, BuildError::Bound { reason, .. } if reason.contains("`map`")), "{error}");
    }

    #[test]
    fn a_kernel_without_bounds_or_parameters_keeps_its_header() {
        let text = ptx("empty()", "empty()");
        assert_eq!(write(&text, Arch::Sm80).unwrap().0, text);
    }

    #[test]
    fn entries_and_declarations_must_match() {
        let error = |text: &str| write(text, Arch::Sm80).unwrap_err();
        assert!(matches!(error(&ptx("other()", "empty()")), BuildError::Undeclared { name } if name == "empty"));
        let text = format!("//@kernel other()\n{}", ptx("empty()", "empty()"));
        assert!(matches!(error(&text), BuildError::NoEntry { name } if name == "other"));
        let text = format!("//@kernel empty()\n{}", ptx("empty()", "empty()"));
        assert!(matches!(error(&text), BuildError::Twice { name } if name == "empty"));
        assert!(matches!(error(&ptx("saxpy(", SAXPY)), BuildError::Declaration(_)));
        let text = ".visible .entry cut(\n\t.param .f32 a\n";
        assert!(
            matches!(error(&format!("//@kernel cut(a: f32)\n{text}")), BuildError::Header { name } if name == "cut")
        );
    }

    #[test]
    fn parameters_of_another_size_are_refused() {
        let error = write(&ptx("saxpy(a: f64, x: Global<f32>)", SAXPY), Arch::Sm80).unwrap_err();
        let BuildError::Parameters { name, expected, actual } = error else { panic!("{error}") };
        assert_eq!((name.as_str(), expected, actual), ("saxpy", vec![8, 16], vec![4, 16]));
    }

    #[test]
    fn sizes_of_parameters_are_read() {
        for (line, bytes) in [
            (".param .f32 k_param_0,", Some(4)),
            (".param .u8 k_param_0", Some(1)),
            (".param .b64 k_param_0,", Some(8)),
            (".param .align 8 .b8 k_param_1[16],", Some(16)),
            (".param .align 64 .b8 k_param_1[128]", Some(128)),
            (".param .u64 .ptr .global .align 4 k_param_2,", Some(8)),
            (".reg .b32 %r1;", None),
            (".param .f32", None),
        ] {
            assert_eq!(parameter_bytes(line), bytes, "{line}");
        }
    }

    #[test]
    fn bounds_that_cannot_be_are_refused_with_the_kernel_s_name() {
        for (bounds, named) in [
            ("min_blocks=2", "without threads"),
            ("threads=1025", "1025, 1, 1"),
            ("threads=1,1,65", "1, 1, 65"),
            ("max_registers=256", "256"),
            ("cluster=2", "sm_80"),
        ] {
            let message = write(&ptx(&format!("empty() {bounds}"), "empty()"), Arch::Sm80).unwrap_err().to_string();
            assert!(message.contains(named) && message.contains("`empty`"), "{message}");
        }
    }
}
