//! What a GPU kernel declares beside its code: its parameters and the bounds it is compiled for.
//!
//! The `kernel!` macro of `fringes-device` writes one line of this text into the PTX, in front of the kernels:
//!
//! ```text
//! //@kernel saxpy(a: f32, x: Global<f32>, y: GlobalMut<f32>) threads=256 min_blocks=2
//! ```
//!
//! Three readers use it. The kernel builder turns the bounds into directives of the PTX entry; the host checks every
//! launch against the parameters; the emulator checks the launch in the same way. So there is one declaration, beside
//! the kernel, and a PTX file needs no second file to be launched safely.
//!
//! ```
//! use fringes_kernel_declaration::{Access, Element, KernelDeclaration, ParameterKind};
//!
//! let ptx = "//@kernel saxpy(a: f32, x: Global<f32>, y: GlobalMut<f32>) threads=256\n.visible .entry saxpy(...)";
//! let kernels = KernelDeclaration::all(ptx)?;
//! assert_eq!(kernels[0].name, "saxpy");
//! assert_eq!(kernels[0].parameters[0].kind, ParameterKind::Scalar(Element::F32));
//! let buffer = ParameterKind::Buffer { element: Element::F32, access: Access::ReadWrite };
//! assert_eq!(kernels[0].parameters[2].kind, buffer);
//! assert_eq!(kernels[0].bounds.threads, Some([256, 1, 1]));
//! # Ok::<(), fringes_kernel_declaration::DeclarationError>(())
//! ```
//!
//! A PTX text travels compressed inside a program: [`deflate_folder`] is for the build script of a library that has PTX
//! files, [`inflate`] for who loads them.

mod bounds;
mod deflate;
mod element;
mod error;
mod parameter;

pub use bounds::LaunchBounds;
pub use deflate::{deflate, deflate_folder, inflate};
pub use element::Element;
pub use error::{DeclarationError, InflateError};
pub use parameter::{Access, Parameter, ParameterKind};

/// The text that opens a declaration's line.
pub const PREFIX: &str = "//@kernel ";

/// A kernel's name, parameters and bounds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KernelDeclaration {
    /// Name of the PTX entry.
    pub name: String,
    /// Parameters in order.
    pub parameters: Vec<Parameter>,
    /// Bounds that the kernel is compiled for.
    pub bounds: LaunchBounds,
    /// Whether the kernel stays inside its views for any arguments (the word `safe` at the end): it checks what it
    /// relies on itself.
    pub safe: bool,
}

impl KernelDeclaration {
    /// Every declaration in a PTX text, in order.
    ///
    /// # Errors
    /// The first line that opens as a declaration and is none.
    pub fn all(ptx: &str) -> Result<Vec<Self>, DeclarationError> {
        ptx.lines().filter_map(|line| line.trim().strip_prefix(PREFIX)).map(Self::parse).collect()
    }

    /// Parses a declaration, without its prefix.
    ///
    /// # Errors
    /// [`DeclarationError`] with the text that could not be read.
    pub fn parse(text: &str) -> Result<Self, DeclarationError> {
        let malformed = || DeclarationError::Malformed { text: text.into() };
        let (name, rest) = text.split_once('(').ok_or_else(malformed)?;
        let (parameters, bounds) = rest.rsplit_once(')').ok_or_else(malformed)?;
        let name = name.trim();
        if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
            return Err(malformed());
        }
        let parameters = split_outside_brackets(parameters)
            .into_iter()
            .filter(|parameter| !parameter.trim().is_empty())
            .map(Parameter::parse)
            .collect::<Result<_, _>>()?;
        let bounds = bounds.trim();
        let (bounds, safe) = bounds.strip_suffix("safe").map_or((bounds, false), |bounds| (bounds, true));
        Ok(Self { name: name.into(), parameters, bounds: LaunchBounds::parse(bounds)?, safe })
    }
}

/// Splits at the commas that stand in no bracket: `a: u32, b: Global<[u32; 4]>`.
fn split_outside_brackets(text: &str) -> Vec<&str> {
    let (mut depth, mut start, mut parts) = (0i32, 0, Vec::new());
    for (at, character) in text.char_indices() {
        match character {
            '<' | '[' | '(' => depth += 1,
            '>' | ']' | ')' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts
}

impl std::fmt::Display for KernelDeclaration {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}(", self.name)?;
        for (index, parameter) in self.parameters.iter().enumerate() {
            write!(f, "{}{parameter}", if index == 0 { "" } else { ", " })?;
        }
        write!(f, "){}{}", self.bounds, if self.safe { " safe" } else { "" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_survives_parsing_and_printing() {
        for text in [
            "saxpy(a: f32, x: Global<f32>, y: GlobalMut<f32>) threads=256 min_blocks=2",
            "f(x: Global<[u32; 4]>, map: TensorMap, n: u64) threads=32,4,1 max_registers=128 cluster=2 shared_bytes=4096",
            "empty()",
            "empty() safe",
            "checked(n: u32) threads=64 safe",
        ] {
            assert_eq!(KernelDeclaration::parse(text).unwrap().to_string(), text);
        }
    }

    #[test]
    fn what_the_macro_writes_is_read() {
        let kernel = KernelDeclaration::parse("k(x: Global < [u32 ; 4] >, n: u32, ) threads=64").unwrap();
        assert_eq!(kernel.parameters.len(), 2);
        assert_eq!(kernel.bounds.threads, Some([64, 1, 1]));
    }

    #[test]
    fn faulty_text_is_refused_by_name() {
        for (text, named) in [
            ("saxpy", "saxpy"),
            ("f(x)", "x"),
            ("f(x: Global<c64>)", "c64"),
            ("f(x: Vec<f32>)", "Vec<f32>"),
            ("f() threads=no", "threads=no"),
            ("f() threads=0", "threads=0"),
            ("f() colour=3", "colour"),
            ("f() threads=1 unsafe", "un"),
        ] {
            let message = KernelDeclaration::parse(text).unwrap_err().to_string();
            assert!(message.contains(named), "{text}: {message}");
        }
    }
}
