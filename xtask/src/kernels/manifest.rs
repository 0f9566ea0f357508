//! The two files beside PTX: what it was made from, and what becomes of it.

use std::collections::BTreeMap;
use std::path::Path;

use fringes_kernel_builder::{Arch, Assembler, Built, Disassembler, sha256};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::assemble::{self, Assembled, Tools};

/// `manifest.json`: each PTX's origin and needs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Manifest {
    /// By name of the file.
    pub(super) files: BTreeMap<String, Record>,
}

/// Origin and needs of one PTX.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Record {
    /// SHA-256 over the kernel crate, its path dependencies and the builder's directives.
    pub(super) source_sha256: String,
    /// SHA-256 over what else the PTX depends on beside the compiler: `CudaBuilder::options`.
    #[serde(default)]
    pub(super) options_sha256: String,
    /// SHA-256 of the PTX.
    pub(super) output_sha256: String,
    /// The compiler and its LLVM.
    pub(super) compiler: String,
    /// Version of PTX.
    pub(super) ptx_isa: String,
    /// Architecture.
    pub(super) target: String,
    /// The CUDA release that brought this version of PTX.
    pub(super) cuda: String,
    /// The first Linux driver that reads it.
    pub(super) lowest_driver: String,
    /// The kernels' declarations.
    pub(super) kernels: Vec<String>,
}

impl Record {
    /// The record of what was just built.
    pub(super) fn of(built: &Built) -> Result<Self, String> {
        Ok(Self {
            source_sha256: built.sources.hash().map_err(|error| error.to_string())?,
            options_sha256: sha256(built.options.as_bytes()),
            output_sha256: super::output_hash(&built.ptx),
            compiler: built.compiler.clone(),
            ptx_isa: built.isa.version().into(),
            target: built.arch.name().into(),
            cuda: built.isa.cuda().into(),
            lowest_driver: built.isa.least_driver().into(),
            kernels: built.kernels.iter().map(ToString::to_string).collect(),
        })
    }
}

impl Manifest {
    /// Name of the file.
    pub(super) const NAME: &str = "manifest.json";

    /// Reads a folder's, empty if there is none.
    pub(super) fn read(folder: &Path) -> Result<Self, String> {
        read(&folder.join(Self::NAME))
    }

    /// Writes a folder's.
    pub(super) fn write(&self, folder: &Path) -> Result<(), String> {
        write(&folder.join(Self::NAME), self, 4)
    }
}

/// `sass.json`: what `ptxas` makes of each PTX.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Golden {
    /// Version of `ptxas`.
    pub(super) ptxas: String,
    /// Version of `nvdisasm`.
    pub(super) nvdisasm: String,
    /// By name of the file: [`proof`] of what is below.
    #[serde(default)]
    pub(super) proofs: BTreeMap<String, String>,
    /// By name of the file and of the kernel.
    pub(super) files: BTreeMap<String, BTreeMap<String, KernelUsage>>,
}

/// What becomes of one kernel, by architecture.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct KernelUsage {
    /// Registers of a thread.
    pub(super) registers: BTreeMap<String, u32>,
    /// Instructions by architecture and mnemonic; `total` is all of them.
    pub(super) instructions: BTreeMap<String, BTreeMap<String, u64>>,
}

impl Golden {
    /// Name of the file.
    pub(super) const NAME: &str = "sass.json";

    /// Reads a folder's, empty if there is none.
    pub(super) fn read(folder: &Path) -> Result<Self, String> {
        read(&folder.join(Self::NAME))
    }

    /// Writes a folder's.
    pub(super) fn write(&self, folder: &Path) -> Result<(), String> {
        write(&folder.join(Self::NAME), self, 5)
    }

    /// Takes what was assembled from one PTX.
    pub(super) fn add(&mut self, tools: &Tools, (file, ptx, arch): (&str, &str, Arch), assembled: Assembled) {
        self.ptxas = tools.ptxas.version().into();
        self.nvdisasm = tools.nvdisasm.version().into();
        self.proofs.insert(file.into(), proof(ptx, arch, &self.ptxas, &self.nvdisasm, &assembled.kernels));
        self.files.insert(file.into(), assembled.kernels);
    }

    /// Whether just this PTX was assembled by just these tools in the way of today, and gave just what this file says.
    pub(super) fn proves(&self, versions: (&str, &str), file: &str, ptx: &str, arch: Arch) -> bool {
        let (Some(kernels), Some(recorded)) = (self.files.get(file), self.proofs.get(file)) else { return false };
        *recorded == proof(ptx, arch, versions.0, versions.1, kernels)
    }

    /// Takes over what another file says of one PTX.
    pub(super) fn keep(&mut self, old: &Self, file: &str) {
        self.ptxas.clone_from(&old.ptxas);
        self.nvdisasm.clone_from(&old.nvdisasm);
        self.files.extend(old.files.get(file).map(|kernels| (file.into(), kernels.clone())));
        self.proofs.extend(old.proofs.get(file).map(|proof| (file.into(), proof.clone())));
    }

    /// What differs in `new`, a line each.
    pub(super) fn differences(&self, new: &Self) -> Vec<String> {
        let mut lines = Vec::new();
        for file in keys(&self.files, &new.files) {
            let none = BTreeMap::new();
            let (old, new) = (self.files.get(file).unwrap_or(&none), new.files.get(file).unwrap_or(&none));
            for kernel in keys(old, new) {
                let (Some(old), Some(new)) = (old.get(kernel), new.get(kernel)) else {
                    let what = if old.contains_key(kernel) { "is gone" } else { "is new" };
                    lines.push(format!("  {file} {kernel} {what}"));
                    continue;
                };
                for arch in keys(&old.registers, &new.registers) {
                    let (old, new) = (old.registers.get(arch), new.registers.get(arch));
                    if old != new {
                        lines.push(format!("  {file} {kernel} {arch} registers: {} -> {}", shown(old), shown(new)));
                    }
                }
                for arch in keys(&old.instructions, &new.instructions) {
                    let none = BTreeMap::new();
                    let old = old.instructions.get(arch).unwrap_or(&none);
                    let new = new.instructions.get(arch).unwrap_or(&none);
                    let changed = keys(old, new).into_iter().filter(|name| old.get(*name) != new.get(*name));
                    let changed =
                        changed.map(|name| format!("{name} {} -> {}", shown(old.get(name)), shown(new.get(name))));
                    let changed: Vec<String> = changed.collect();
                    if !changed.is_empty() {
                        lines.push(format!("  {file} {kernel} {arch} instructions: {}", changed.join(", ")));
                    }
                }
            }
        }
        lines
    }
}

/// SHA-256 over all that a result of assembling depends on, and the result: the bytes of the PTX, the versions of the
/// tools, how they are called for each architecture, the rules that the result met, and registers and instructions of
/// the kernels. Where it comes out as recorded, assembling again would say the same.
fn proof(ptx: &str, arch: Arch, ptxas: &str, nvdisasm: &str, kernels: &BTreeMap<String, KernelUsage>) -> String {
    let mut text =
        format!("rules {}\nptx {}\nptxas {ptxas}\nnvdisasm {nvdisasm}\n", assemble::RULES, super::output_hash(ptx));
    for target in assemble::targets(arch) {
        text.push_str(&format!("ptxas {}\n", Assembler::arguments(target).join(" ")));
        if assemble::COUNTED.contains(&target) {
            text.push_str(&format!("nvdisasm {} on {target}\n", Disassembler::ARGUMENTS.join(" ")));
        }
    }
    for (name, usage) in kernels {
        text.push_str(&format!("kernel {name} {usage:?}\n"));
    }
    sha256(text.as_bytes())
}

/// The keys of two maps, each once.
fn keys<'a, V>(a: &'a BTreeMap<String, V>, b: &'a BTreeMap<String, V>) -> Vec<&'a str> {
    let mut keys: Vec<&str> = a.keys().chain(b.keys()).map(String::as_str).collect();
    keys.sort_unstable();
    keys.dedup();
    keys
}

fn shown<T: ToString>(value: Option<&T>) -> String {
    value.map_or_else(|| "none".into(), ToString::to_string)
}

fn read<T: DeserializeOwned + Default>(path: &Path) -> Result<T, String> {
    match std::fs::read_to_string(path) {
        Ok(text) => serde_json::from_str(&text).map_err(|error| format!("{}: {error}", path.display())),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(T::default()),
        Err(error) => Err(format!("{}: {error}", path.display())),
    }
}

fn write<T: Serialize>(path: &Path, value: &T, depth: usize) -> Result<(), String> {
    let wrong = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let value = serde_json::to_value(value).map_err(|error| wrong(&error))?;
    let mut text = String::new();
    pretty(&value, depth, 0, &mut text);
    text.push('\n');
    std::fs::write(path, text).map_err(|error| wrong(&error))
}

/// JSON with a line for each value down to a depth, and on one line below it: a changed kernel is a changed line.
fn pretty(value: &Value, depth: usize, indent: usize, text: &mut String) {
    let (open, close, items): (char, char, Vec<(String, &Value)>) = match value {
        Value::Object(map) => {
            ('{', '}', map.iter().map(|(key, value)| (format!("{}: ", Value::from(key.as_str())), value)).collect())
        }
        Value::Array(items) => ('[', ']', items.iter().map(|item| (String::new(), item)).collect()),
        scalar => return text.push_str(&scalar.to_string()),
    };
    let broken = depth > 0 && !items.is_empty();
    text.push(open);
    for (index, (key, item)) in items.iter().enumerate() {
        if index > 0 {
            text.push_str(if broken { "," } else { ", " });
        }
        if broken {
            text.push('\n');
            text.push_str(&" ".repeat(indent + 2));
        }
        text.push_str(key);
        pretty(item, depth.saturating_sub(1), indent + 2, text);
    }
    if broken {
        text.push('\n');
        text.push_str(&" ".repeat(indent));
    }
    text.push(close);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn golden(registers: u32, loads: u64) -> Golden {
        let usage = KernelUsage {
            registers: [("sm_80".into(), registers)].into(),
            instructions: [("sm_80".into(), [("LDG.E".into(), loads), ("total".into(), loads + 3)].into())].into(),
        };
        Golden { files: [("a_sm_80.ptx".into(), [("first".into(), usage)].into())].into(), ..Golden::default() }
    }

    #[test]
    fn differences_are_named_by_kernel_architecture_and_mnemonic() {
        assert!(golden(10, 2).differences(&golden(10, 2)).is_empty());
        let lines = golden(10, 2).differences(&golden(12, 5));
        let expected = [
            "  a_sm_80.ptx first sm_80 registers: 10 -> 12",
            "  a_sm_80.ptx first sm_80 instructions: LDG.E 2 -> 5, total 5 -> 8",
        ];
        assert_eq!(lines, expected);
        assert_eq!(golden(1, 1).differences(&Golden::default()), ["  a_sm_80.ptx first is gone"]);
        assert_eq!(Golden::default().differences(&golden(1, 1)), ["  a_sm_80.ptx first is new"]);
    }

    #[test]
    fn a_proof_holds_for_just_the_ptx_the_tools_the_options_and_the_result() {
        let tools = ("13.0.88", "13.5.37");
        let mut recorded = golden(10, 2);
        let of = |kernels| proof("ptx", Arch::Sm80, tools.0, tools.1, kernels);
        recorded.proofs.insert("a_sm_80.ptx".into(), of(&recorded.files["a_sm_80.ptx"]));
        assert!(recorded.proves(tools, "a_sm_80.ptx", "ptx", Arch::Sm80));
        assert!(!recorded.proves(tools, "a_sm_80.ptx", "ptx ", Arch::Sm80), "another PTX");
        assert!(!recorded.proves(("13.0.89", tools.1), "a_sm_80.ptx", "ptx", Arch::Sm80), "another ptxas");
        assert!(!recorded.proves((tools.0, "13.5.38"), "a_sm_80.ptx", "ptx", Arch::Sm80), "another nvdisasm");
        assert!(!recorded.proves(tools, "a_sm_80.ptx", "ptx", Arch::Sm90a), "other architectures");
        assert!(!recorded.proves(tools, "b_sm_80.ptx", "ptx", Arch::Sm80), "a file of which nothing is recorded");
        for changed in [golden(11, 2), golden(10, 3)] {
            let changed = Golden { proofs: recorded.proofs.clone(), ..changed };
            assert!(!changed.proves(tools, "a_sm_80.ptx", "ptx", Arch::Sm80), "a result that was changed by hand");
        }
        assert!(!golden(10, 2).proves(tools, "a_sm_80.ptx", "ptx", Arch::Sm80), "no proof");
    }

    #[test]
    fn files_survive_writing_and_reading_with_a_line_for_each_architecture() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(Golden::read(folder.path()).unwrap(), Golden::default());
        golden(10, 2).write(folder.path()).unwrap();
        assert_eq!(Golden::read(folder.path()).unwrap(), golden(10, 2));
        let text = std::fs::read_to_string(folder.path().join(Golden::NAME)).unwrap();
        assert!(text.lines().any(|line| line.trim() == r#""sm_80": {"LDG.E": 2, "total": 5}"#), "{text}");
    }
}
