//! Counts machine instructions with `nvdisasm`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{BuildError, cargo, tool};

/// CUDA's disassembler.
#[derive(Debug, Clone)]
pub struct Disassembler {
    path: PathBuf,
    version: String,
}

/// Machine instructions of one kernel, as they stand in its code (not as often as they run).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Instructions {
    /// How many of each, by mnemonic with its modifiers (`LDG.E.CONSTANT`), without the `NOP`s that fill up the end.
    pub counts: BTreeMap<String, u64>,
}

impl Instructions {
    /// All of them together.
    pub fn total(&self) -> u64 {
        self.counts.values().sum()
    }
}

impl Disassembler {
    /// Finds `nvdisasm` in the folder of `FRINGES_CUDA_BIN`, in `PATH`, and in `extra`.
    ///
    /// # Errors
    /// [`BuildError::NoTool`] where it is not to be found, and those of running it.
    pub fn find(extra: &[PathBuf]) -> Result<Self, BuildError> {
        let path = tool::find("nvdisasm", extra)?;
        Ok(Self { version: tool::version(&path)?, path })
    }

    /// Its version, such as `13.0.88`.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// How `nvdisasm` is called, beside the name of the file.
    pub const ARGUMENTS: [&str; 1] = ["-c"];

    /// Counts the instructions of every function in a file of machine code.
    ///
    /// # Errors
    /// Those of running `nvdisasm`.
    pub fn count(&self, cubin: &Path) -> Result<BTreeMap<String, Instructions>, BuildError> {
        Ok(count(&cargo::output(Command::new(&self.path).args(Self::ARGUMENTS).arg(cubin))?))
    }
}

/// Counts in the text of `nvdisasm -c`.
fn count(text: &str) -> BTreeMap<String, Instructions> {
    let mut functions: BTreeMap<String, Instructions> = BTreeMap::new();
    let mut function = None;
    for line in text.lines() {
        let line = line.trim();
        if let Some(name) = line.strip_prefix(".text.").and_then(|rest| rest.strip_suffix(':')) {
            function = Some(name.to_owned());
        }
        let Some(name) = &function else { continue };
        if let Some(mnemonic) = mnemonic(line).filter(|mnemonic| *mnemonic != "NOP") {
            *functions.entry(name.clone()).or_default().counts.entry(mnemonic.into()).or_default() += 1;
        }
    }
    functions
}

/// The mnemonic of a line such as `/*00a0*/  @!P0 EXIT ;`.
fn mnemonic(line: &str) -> Option<&str> {
    let (offset, rest) = line.strip_prefix("/*")?.split_once("*/")?;
    if offset.is_empty() || !offset.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let rest = rest.trim_start().trim_start_matches('{').trim_start();
    let mut words = rest.split(|c: char| c.is_whitespace() || c == ';').filter(|word| !word.is_empty());
    words.find(|word| !word.starts_with('@'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_are_counted_by_function_and_mnemonic() {
        let text = "\t.target\tsm_120\n\
            .text.first:\n\
            \x20       /*0000*/                   LDC R1, c[0x0][0x37c] ;\n\
            .L_x_1:\n\
            \x20       /*00a0*/              @!P0 EXIT ;\n\
            \x20       /*00b0*/                   EXIT ;\n\
            \x20       /*00c0*/                   NOP;\n\
            \t.section\t.text.second,\"ax\",@progbits\n\
            .text.second:\n\
            \x20       /*0000*/                   LDG.E.CONSTANT R2, desc[UR4][R2.64] ;\n\
            //--------------------- .nv.constant0.first  --------------------------\n";
        let functions = count(text);
        let counts = |name: &str| -> Vec<(String, u64)> { functions[name].counts.clone().into_iter().collect() };
        assert_eq!(counts("first"), [("EXIT".into(), 2), ("LDC".into(), 1)]);
        assert_eq!(counts("second"), [("LDG.E.CONSTANT".into(), 1)]);
        assert_eq!((functions.len(), functions["first"].total()), (2, 3));
    }

    #[test]
    fn lines_that_are_no_instructions_count_nothing() {
        for line in ["/* 0x000000 */", ".L_x_1:", "/*0008*/", "// /*0000*/ EXIT ;"] {
            assert_eq!(mnemonic(line), None, "{line}");
        }
    }
}
