//! Assembles PTX for every architecture that it must run on, and holds it to the rule: no spills, no stack frame.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use fringes_kernel_builder::{Arch, Assembler, Assembly, BuildError, Disassembler, Instructions, Usage};

use super::manifest::KernelUsage;

/// Architectures that portable PTX is assembled for.
const PORTABLE: [&str; 6] = ["sm_80", "sm_86", "sm_89", "sm_90a", "sm_100", "sm_120"];

/// Architectures whose machine instructions are counted.
pub(super) const COUNTED: [&str; 2] = ["sm_80", "sm_90a"];

/// Version of what is read from the tools and refused: raised with a change of either, so that nothing stays proven by
/// older rules.
pub(super) const RULES: u32 = 1;

/// Architectures that PTX built for one is assembled for: PTX of an architecture with a suffix runs there alone.
pub(super) fn targets(arch: Arch) -> Vec<&'static str> {
    if arch.name().ends_with('a') { vec![arch.name()] } else { PORTABLE.to_vec() }
}

/// CUDA's programs.
pub(super) struct Tools {
    pub(super) ptxas: Assembler,
    pub(super) nvdisasm: Disassembler,
}

/// What became of a PTX's kernels.
#[derive(Debug, Default)]
pub(super) struct Assembled {
    pub(super) kernels: BTreeMap<String, KernelUsage>,
}

impl Tools {
    /// Finds them: in FRINGES_CUDA_BIN, in PATH, or in the workspace's Python environment.
    pub(super) fn find(root: &Path) -> Result<Self, BuildError> {
        let extra = in_python(&root.join(".venv"));
        Ok(Self { ptxas: Assembler::find(&extra)?, nvdisasm: Disassembler::find(&extra)? })
    }

    /// Versions of `ptxas` and `nvdisasm`.
    pub(super) fn versions(&self) -> (&str, &str) {
        (self.ptxas.version(), self.nvdisasm.version())
    }

    /// Assembles PTX that was built for `arch`, and fails on spills, stack frames and what `ptxas` calls a loss of
    /// performance.
    pub(super) fn assemble(&self, ptx: &Path, arch: Arch) -> Result<Assembled, String> {
        let targets = targets(arch);
        let results: Vec<_> = std::thread::scope(|scope| {
            let threads: Vec<_> = targets.iter().map(|target| scope.spawn(|| self.target(ptx, target))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap_or_else(|_| Err("a thread failed".into()))).collect()
        });
        let (mut assembled, mut faults) = (Assembled::default(), Vec::new());
        for (target, result) in targets.iter().zip(results) {
            let (assembly, counted) = result?;
            faults.extend(assembly.warnings.iter().map(|line| format!("{target}: {line}")));
            for usage in &assembly.kernels {
                faults.extend(spill(usage, target));
                let kernel = assembled.kernels.entry(usage.name.clone()).or_default();
                kernel.registers.insert((*target).into(), usage.registers);
            }
            for (name, instructions) in counted {
                if let Some(kernel) = assembled.kernels.get_mut(&name) {
                    let total = instructions.total();
                    let mut counts = instructions.counts;
                    counts.insert("total".into(), total);
                    kernel.instructions.insert((*target).into(), counts);
                }
            }
        }
        if faults.is_empty() { Ok(assembled) } else { Err(format!("{}\n{}", ptx.display(), faults.join("\n"))) }
    }
}

impl Tools {
    /// What becomes of PTX on one architecture, and its instructions where they are counted.
    fn target(&self, ptx: &Path, target: &str) -> Result<(Assembly, BTreeMap<String, Instructions>), String> {
        let cubin = ptx.with_extension(format!("{target}.cubin"));
        let assembly = self.ptxas.assemble(ptx, target, &cubin).map_err(|error| error.to_string())?;
        let counted = COUNTED.contains(&target).then(|| self.nvdisasm.count(&cubin));
        Ok((assembly, counted.transpose().map_err(|error| error.to_string())?.unwrap_or_default()))
    }
}

/// What is wrong with a kernel that spills or has a stack frame.
fn spill(usage: &Usage, target: &str) -> Option<String> {
    (usage.stack_bytes + usage.spill_store_bytes + usage.spill_load_bytes > 0).then(|| {
        format!(
            "kernel `{}` on {target} has a stack frame of {} bytes, spill stores of {} bytes and spill loads of {} bytes, \
             with {} registers; all three must be 0",
            usage.name, usage.stack_bytes, usage.spill_store_bytes, usage.spill_load_bytes, usage.registers
        )
    })
}

/// Folders of CUDA's programs in a Python environment.
fn in_python(environment: &Path) -> Vec<PathBuf> {
    let below = |folder: PathBuf| std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let packages = below(environment.join("lib")).map(|python| python.join("site-packages").join("nvidia"));
    let mut folders: Vec<PathBuf> = packages.flat_map(below).map(|package| package.join("bin")).collect();
    folders.retain(|folder| folder.is_dir());
    folders.sort();
    folders
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_spill_is_a_fault_with_kernel_architecture_and_bytes() {
        let clean = Usage { name: "first".into(), registers: 255, shared_bytes: 4096, barriers: 1, ..Usage::default() };
        assert_eq!(spill(&clean, "sm_80"), None);
        for spilled in [
            Usage { stack_bytes: 48, ..clean.clone() },
            Usage { spill_store_bytes: 48, ..clean.clone() },
            Usage { spill_load_bytes: 48, ..clean.clone() },
        ] {
            let fault = spill(&spilled, "sm_86").unwrap();
            assert!(fault.starts_with("kernel `first` on sm_86") && fault.contains("48 bytes"), "{fault}");
        }
    }
}
