//! Assembles PTX with `ptxas`, and reads what it says of registers and spills.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{BuildError, tool};

/// CUDA's assembler.
#[derive(Debug, Clone)]
pub struct Assembler {
    path: PathBuf,
    version: String,
}

/// What a kernel uses once assembled.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Usage {
    /// The kernel.
    pub name: String,
    /// Registers of a thread.
    pub registers: u32,
    /// Bytes of a thread's stack frame: arrays that did not fit into registers or are indexed at run time.
    pub stack_bytes: u32,
    /// Bytes of registers that a thread stores for want of room.
    pub spill_store_bytes: u32,
    /// Bytes of registers that a thread loads back.
    pub spill_load_bytes: u32,
    /// Bytes of shared memory that are reserved in advance.
    pub shared_bytes: u32,
    /// Barriers.
    pub barriers: u32,
}

/// Machine code, and what its kernels use.
#[derive(Debug, Clone)]
pub struct Assembly {
    /// The machine code.
    pub cubin: PathBuf,
    /// Usage of each kernel, in order of their names.
    pub kernels: Vec<Usage>,
    /// Warnings and advice.
    pub warnings: Vec<String>,
}

impl Assembler {
    /// Finds `ptxas` in the folder of `FRINGES_CUDA_BIN`, in `PATH`, and in `extra`.
    ///
    /// # Errors
    /// [`BuildError::NoTool`] where it is not to be found, and those of running it.
    pub fn find(extra: &[PathBuf]) -> Result<Self, BuildError> {
        let path = tool::find("ptxas", extra)?;
        Ok(Self { version: tool::version(&path)?, path })
    }

    /// Its version, such as `13.0.88`.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// How `ptxas` is called for an architecture, beside the names of files.
    pub fn arguments(arch: &str) -> [String; 2] {
        ["-v".into(), format!("-arch={arch}")]
    }

    /// Assembles a file of PTX for one architecture, such as `sm_120`, into `cubin`.
    ///
    /// # Errors
    /// [`BuildError::Command`] with what `ptxas` says.
    pub fn assemble(&self, ptx: &Path, arch: &str, cubin: &Path) -> Result<Assembly, BuildError> {
        let mut command = Command::new(&self.path);
        command.args(Self::arguments(arch)).arg(ptx).arg("-o").arg(cubin);
        // `ptxas -v` reports on its standard error.
        let output = command.output().map_err(|source| BuildError::Start { program: "ptxas".into(), source })?;
        let text = [String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr)].concat();
        if !output.status.success() {
            return Err(BuildError::Command {
                command: format!("ptxas -arch={arch} {}", ptx.display()),
                status: output.status.to_string(),
                output: text,
            });
        }
        let warnings = text.lines().filter(|line| !line.starts_with("ptxas info") && line.starts_with("ptxas "));
        Ok(Assembly { cubin: cubin.into(), kernels: usages(&text)?, warnings: warnings.map(str::to_owned).collect() })
    }
}

/// The usages in what `ptxas -v` wrote.
fn usages(text: &str) -> Result<Vec<Usage>, BuildError> {
    let mut kernels: Vec<Usage> = Vec::new();
    let mut in_entry = false; // properties of other functions follow those of the entry
    for line in text.lines() {
        let unexpected = || BuildError::Unexpected { program: "ptxas -v".into(), reason: format!("`{line}`") };
        let number = |before: &str| -> Option<u32> {
            line.split_once(before)?.0.split(|c: char| !c.is_ascii_digit()).next_back()?.parse().ok()
        };
        if let Some((_, rest)) = line.split_once("Compiling entry function '") {
            let name = rest.split('\'').next().unwrap_or_default();
            kernels.push(Usage { name: name.into(), ..Usage::default() });
        } else if let Some((_, name)) = line.split_once("Function properties for ") {
            in_entry = kernels.last().is_some_and(|kernel| kernel.name == name.trim());
        } else if line.contains("bytes stack frame") {
            let kernel = kernels.last_mut().ok_or_else(unexpected)?;
            let stack = number(" bytes stack frame").ok_or_else(unexpected)?;
            // A function that the kernel calls has its frame on the same stack.
            kernel.stack_bytes = if in_entry { stack } else { kernel.stack_bytes + stack };
            kernel.spill_store_bytes += number(" bytes spill stores").ok_or_else(unexpected)?;
            kernel.spill_load_bytes += number(" bytes spill loads").ok_or_else(unexpected)?;
        } else if line.contains(": Used ") {
            let kernel = kernels.last_mut().ok_or_else(unexpected)?;
            kernel.registers = number(" registers").ok_or_else(unexpected)?;
            kernel.barriers = number(" barriers").unwrap_or(0);
            kernel.shared_bytes = number(" bytes smem").unwrap_or(0);
        }
    }
    kernels.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(kernels)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ptxas_says_is_read() {
        let text = "ptxas info    : 0 bytes gmem\n\
            ptxas info    : Compiling entry function 'second' for 'sm_80'\n\
            ptxas info    : Function properties for second\n\
            \x20   16 bytes stack frame, 24 bytes spill stores, 28 bytes spill loads\n\
            ptxas info    : Used 255 registers, used 2 barriers, 16 bytes cumulative stack size, 4096 bytes smem, 392 bytes cmem[0]\n\
            ptxas info    : Compile time = 2.143 ms\n\
            ptxas info    : Compiling entry function 'first' for 'sm_80'\n\
            ptxas info    : Function properties for first\n\
            \x20   0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n\
            ptxas info    : Used 10 registers, used 0 barriers, 392 bytes cmem[0]\n";
        let first = Usage { name: "first".into(), registers: 10, ..Usage::default() };
        let second = Usage {
            name: "second".into(),
            registers: 255,
            stack_bytes: 16,
            spill_store_bytes: 24,
            spill_load_bytes: 28,
            shared_bytes: 4096,
            barriers: 2,
        };
        assert_eq!(usages(text).unwrap(), [first, second]);
    }

    #[test]
    fn usage_of_no_kernel_is_an_error() {
        let error = usages("ptxas info    : Used 10 registers").unwrap_err();
        assert!(matches!(error, BuildError::Unexpected { .. }), "{error}");
    }
}
