//! `cargo xtask kernels --check`: whether the PTX in the repository is that of its sources, and as good as it was.
//!
//! Two questions, of which each may be answered by hashes alone:
//!
//! | question | proven by |
//! |---|---|
//! | does the compiler make this PTX of these sources? | hashes of sources, options and PTX in `manifest.json` |
//! | does `ptxas` make this machine code of it? | the proof of PTX, tools, options and result in `sass.json` |
//!
//! The files prove what the tool saw when it wrote them. `--full` takes no hash for an answer.

use std::path::Path;

use fringes_kernel_builder::Arch;

use super::manifest::{Golden, Manifest, Record};
use super::{Context, KernelCrate, compiler, output_hash};

/// What a PTX is to be made from: hashes of its sources and of how it is built.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Origin {
    source: String,
    options: String,
}

impl Origin {
    fn is_of(&self, record: &Record) -> bool {
        record.source_sha256 == self.source && record.options_sha256 == self.options
    }
}

/// How many PTX texts hashes answered for.
#[derive(Debug, Default)]
pub(super) struct Proven {
    /// Not built again: sources, options and PTX are those of the manifest.
    pub(super) built: usize,
    /// Not assembled again: PTX, tools and result are those that were written down.
    pub(super) assembled: usize,
}

/// Whether hashes prove that a crate's PTX is what its sources give.
pub(super) fn is_proven(context: &Context, each: &KernelCrate) -> Result<bool, String> {
    let folder = context.root.join(&each.destination);
    let (manifest, source) = (Manifest::read(&folder)?, context.source_hash(each)?);
    let origin = |arch| Origin { source: source.clone(), options: context.options_hash(each, arch) };
    Ok(stale(each, &folder, &manifest, &origin).is_empty())
}

/// Everything that is wrong with a crate's PTX. An error is what stops the check itself.
pub(super) fn check(
    context: &Context,
    each: &KernelCrate,
    required: bool,
    full: bool,
    proven: &mut Proven,
) -> Result<Vec<String>, String> {
    let folder = context.root.join(&each.destination);
    let (manifest, golden) = (Manifest::read(&folder)?, Golden::read(&folder)?);
    let source = context.source_hash(each)?;
    let origin = |arch| Origin { source: source.clone(), options: context.options_hash(each, arch) };
    let mut faults = stale(each, &folder, &manifest, &origin);
    let mut fresh = Golden::default();
    for &arch in &each.archs {
        let file = each.file(arch);
        let (Some(record), Ok(ptx)) = (manifest.files.get(&file), std::fs::read_to_string(folder.join(&file))) else {
            continue; // said by `stale`
        };
        let shown = each.destination.join(&file);
        let shown = shown.display();
        let origin = origin(arch);
        if !full && origin.is_of(record) && record.output_sha256 == output_hash(&ptx) {
            proven.built += 1;
        } else {
            faults.extend(rebuild(context, each, arch, record, &origin, required));
        }
        match &context.tools {
            Ok(tools) if !full && golden.proves(tools.versions(), &file, &ptx, arch) => {
                proven.assembled += 1;
                fresh.keep(&golden, &file);
            }
            Ok(tools) => match scratch(context, &folder.join(&file)).and_then(|copy| tools.assemble(&copy, arch)) {
                Ok(assembled) => {
                    println!("{shown}: assembled");
                    fresh.add(tools, (&file, &ptx, arch), assembled);
                }
                Err(fault) => faults.push(fault),
            },
            Err(error) if required => faults.push(format!("{shown}: cannot be assembled: {error}")),
            Err(error) => println!("{shown}: not assembled: {error}"),
        }
    }
    if fresh.files.len() == each.archs.len() {
        faults.extend(compare(each, &golden, &fresh));
    }
    Ok(faults)
}

/// What the hashes say: a PTX that is missing, older than its sources, changed by hand, or of no use.
fn stale(each: &KernelCrate, folder: &Path, manifest: &Manifest, origin: &dyn Fn(Arch) -> Origin) -> Vec<String> {
    let mut faults = Vec::new();
    let mut fault = |file: &str, what: &str| {
        faults.push(format!("{}/{file} {what}; run `{}`", each.destination.display(), each.remedy()));
    };
    for &arch in &each.archs {
        let file = each.file(arch);
        let text = std::fs::read_to_string(folder.join(&file));
        match (manifest.files.get(&file), text) {
            (Some(record), Ok(text)) => {
                let origin = origin(arch);
                if record.source_sha256 != origin.source {
                    fault(&file, "is stale: its sources have changed");
                } else if record.options_sha256 != origin.options {
                    fault(&file, "is stale: it is built in another way now");
                }
                if record.output_sha256 != output_hash(&text) {
                    fault(&file, "is not what its manifest says");
                }
            }
            (None, _) => fault(&file, "is not in the manifest"),
            (_, Err(error)) => fault(&file, &format!("cannot be read ({error})")),
        }
    }
    for name in manifest.files.keys().filter(|name| !each.archs.iter().any(|arch| each.file(*arch) == **name)) {
        fault(name, "is in the manifest, but not built any more");
    }
    faults
}

/// PTX in the hosts' folders that no kernel crate is the source of.
pub(super) fn left_over(root: &Path, crates: &[KernelCrate]) -> Vec<String> {
    fn below(folder: &Path, found: &mut Vec<std::path::PathBuf>) {
        for path in std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()) {
            if path.is_dir() {
                below(&path, found);
            } else if path.extension().is_some_and(|extension| extension == "ptx") {
                found.push(path);
            }
        }
    }
    let known: Vec<_> = crates
        .iter()
        .flat_map(|each| each.archs.iter().map(|arch| root.join(&each.destination).join(each.file(*arch))))
        .collect();
    let mut hosts: Vec<_> = crates.iter().map(|each| root.join(&each.host).join("ptx")).collect();
    hosts.sort();
    hosts.dedup();
    let mut found = Vec::new();
    hosts.iter().for_each(|host| below(host, &mut found));
    found.sort();
    let unknown = found.into_iter().filter(|path| !known.contains(path));
    let shown = |path: std::path::PathBuf| path.strip_prefix(root).unwrap_or(&path).display().to_string();
    unknown.map(|path| format!("{} is of no kernel crate; delete it", shown(path))).collect()
}

/// Builds anew. With the compiler of the manifest the result must be the PTX, byte for byte.
fn rebuild(
    context: &Context,
    each: &KernelCrate,
    arch: Arch,
    record: &Record,
    origin: &Origin,
    required: bool,
) -> Option<String> {
    let shown = each.destination.join(each.file(arch));
    let shown = shown.display();
    let toolchain = match context.toolchain(Some(&record.compiler)) {
        Ok(toolchain) => toolchain,
        Err(error) if required => return Some(format!("{shown}: cannot be built: {error}")),
        Err(error) => {
            println!("{shown}: not built anew: {error}");
            return None;
        }
    };
    let built = match context.build(each, arch, toolchain) {
        Ok(built) => built,
        Err(fault) => return Some(fault),
    };
    if compiler(toolchain) == record.compiler {
        let same = output_hash(&built.ptx) == record.output_sha256;
        if origin.is_of(record) && !same {
            let (compiler, remedy) = (&record.compiler, each.remedy());
            return Some(format!("{shown} is not what {compiler} makes of its sources; run `{remedy}`"));
        }
        let result = if same { "the PTX is the same" } else { "the PTX changes" };
        println!("{shown}: built anew and compared: {result}");
        return None;
    }
    println!(
        "{shown}: built with {}, not compared: the manifest's compiler is {}",
        compiler(toolchain),
        record.compiler
    );
    context.tools.as_ref().ok().and_then(|tools| tools.assemble(&built.path, arch).err())
}

/// What has changed in registers and machine instructions since the golden file was written.
fn compare(each: &KernelCrate, old: &Golden, new: &Golden) -> Option<String> {
    if (&old.ptxas, &old.nvdisasm) != (&new.ptxas, &new.nvdisasm) && !old.files.is_empty() {
        println!(
            "{each}: {} is of ptxas {} and nvdisasm {}, not compared with {} and {}",
            Golden::NAME,
            old.ptxas,
            old.nvdisasm,
            new.ptxas,
            new.nvdisasm
        );
        return None;
    }
    let (lines, file) = (old.differences(new), each.destination.join(Golden::NAME));
    let (file, remedy) = (file.display(), each.remedy());
    if !lines.is_empty() {
        return Some(format!("{file} does not hold any more; if that is meant, run `{remedy}`\n{}", lines.join("\n")));
    }
    (old.proofs != new.proofs).then(|| format!("{file} holds, but does not prove it; run `{remedy}`"))
}

/// A copy of a PTX where files may be put beside it.
fn scratch(context: &Context, ptx: &Path) -> Result<std::path::PathBuf, String> {
    let folder = context.target.join("assembled");
    let copy = folder.join(ptx.file_name().unwrap_or_default());
    let done = std::fs::create_dir_all(&folder).and_then(|()| std::fs::copy(ptx, &copy));
    done.map(|_| copy).map_err(|error| format!("{}: {error}", ptx.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::Manifest;
    use fringes_kernel_builder::Sources;

    fn scale() -> KernelCrate {
        KernelCrate {
            name: "deep/scale".into(),
            stem: "scale".into(),
            folder: "kernels-rs/deep/scale".into(),
            archs: vec![Arch::Sm80],
            destination: "kernels-rs/deep/scale/ptx".into(),
            part: None,
            host: "kernels-rs/deep/scale".into(),
            texts: None,
            measured: false,
        }
    }

    /// A workspace with one kernel crate, its PTX and a manifest that fits, and the faults that the hashes find.
    fn workspace(root: &Path) -> impl Fn(&str) -> Vec<String> {
        let each = scale();
        let (folder, ptx) = (root.join(&each.folder), root.join(&each.destination));
        std::fs::create_dir_all(folder.join("src")).unwrap();
        std::fs::create_dir_all(&ptx).unwrap();
        std::fs::write(folder.join("Cargo.toml"), "[package]\nname = \"scale\"\nedition = \"2024\"\n[workspace]\n")
            .unwrap();
        std::fs::write(folder.join("src/lib.rs"), "pub fn two() {}\n").unwrap();
        std::fs::write(ptx.join("scale_sm_80.ptx"), "// ptx\n").unwrap();
        let hash = move || Sources::of(&folder).unwrap().hash().unwrap();
        let record = Record {
            source_sha256: hash(),
            options_sha256: "options".into(),
            output_sha256: output_hash("// ptx\n"),
            compiler: "rustc".into(),
            ptx_isa: "7.8".into(),
            target: "sm_80".into(),
            cuda: "11.8".into(),
            lowest_driver: "520.61".into(),
            kernels: Vec::new(),
        };
        Manifest { files: [("scale_sm_80.ptx".into(), record)].into() }.write(&ptx).unwrap();
        let root = root.to_path_buf();
        move |options| {
            let origin = |_| Origin { source: hash(), options: options.into() };
            let mut faults = stale(&each, &ptx, &Manifest::read(&ptx).unwrap(), &origin);
            faults.extend(left_over(&root, std::slice::from_ref(&each)));
            faults
        }
    }

    #[test]
    fn a_changed_line_of_a_kernel_is_found_and_the_command_named() {
        let root = tempfile::tempdir().unwrap();
        let faults = workspace(root.path());
        assert_eq!(faults("options"), [""; 0]);
        std::fs::write(root.path().join("kernels-rs/deep/scale/src/lib.rs"), "pub fn three() {}\n").unwrap();
        let expected = "kernels-rs/deep/scale/ptx/scale_sm_80.ptx is stale: its sources have changed; \
                        run `cargo xtask kernels deep/scale`";
        assert_eq!(faults("options"), [expected]);
        std::fs::write(root.path().join("kernels-rs/deep/scale/src/lib.rs"), "// of two\npub fn two() {}\n").unwrap();
        assert_eq!(faults("options"), [""; 0]);
        assert!(faults("other options")[0].contains("it is built in another way now"));
    }

    #[test]
    fn ptx_changed_by_hand_or_lost_or_left_over_is_found() {
        let root = tempfile::tempdir().unwrap();
        let faults = workspace(root.path());
        let ptx = root.path().join(scale().destination);
        std::fs::write(ptx.join("scale_sm_80.ptx"), "// other\n").unwrap();
        assert!(faults("options")[0].contains("is not what its manifest says"));
        std::fs::rename(ptx.join("scale_sm_80.ptx"), ptx.join("scale_sm_75.ptx")).unwrap();
        let faults = faults("options");
        assert!(faults[0].contains("cannot be read") && faults[1].contains("scale_sm_75.ptx is of no kernel crate"));
        assert_eq!(faults.len(), 2);
    }
}
