//! `cargo xtask kernels --check`: whether the PTX in the repository is that of its sources, and as good as it was.

use std::path::Path;

use fringes_kernel_builder::Arch;

use super::manifest::{Golden, Manifest, Record};
use super::{Context, KernelCrate, compiler, output_hash, source_hash};

/// Everything that is wrong with a crate's PTX. An error is what stops the check itself.
pub(super) fn check(context: &Context, each: &KernelCrate, required: bool) -> Result<Vec<String>, String> {
    let folder = context.root.join(each.destination);
    let manifest = Manifest::read(&folder)?;
    let source = source_hash(context, each)?;
    let mut faults = stale(each, &folder, &manifest, &source);
    let mut fresh = Golden::default();
    for &arch in each.archs {
        let file = each.file(arch);
        let Some(record) = manifest.files.get(&file).filter(|_| folder.join(&file).is_file()) else { continue };
        faults.extend(rebuild(context, each, arch, record, record.source_sha256 == source, required));
        match &context.tools {
            Ok(tools) => match scratch(context, &folder.join(&file)).and_then(|copy| tools.assemble(&copy, arch)) {
                Ok(assembled) => fresh.add(tools, &file, assembled),
                Err(fault) => faults.push(fault),
            },
            Err(error) if required => faults.push(format!("{file}: cannot be assembled: {error}")),
            Err(error) => println!("{file}: not assembled: {error}"),
        }
    }
    if fresh.files.len() == each.archs.len() {
        faults.extend(golden(each, &Golden::read(&folder)?, &fresh));
    }
    Ok(faults)
}

/// What the hashes say: a PTX that is missing, older than its sources, changed by hand, or of no use.
fn stale(each: &KernelCrate, folder: &Path, manifest: &Manifest, source: &str) -> Vec<String> {
    let mut faults = Vec::new();
    let mut fault = |file: &str, what: &str| {
        faults.push(format!("{}/{file} {what}; run `{}`", each.destination, each.remedy()));
    };
    for &arch in each.archs {
        let file = each.file(arch);
        let text = std::fs::read_to_string(folder.join(&file));
        match (manifest.files.get(&file), text) {
            (Some(record), Ok(text)) => {
                if record.source_sha256 != source {
                    fault(&file, "is stale: its sources have changed");
                }
                if record.output_sha256 != output_hash(&text) {
                    fault(&file, "is not what its manifest says");
                }
            }
            (None, _) => fault(&file, "is not in the manifest"),
            (_, Err(error)) => fault(&file, &format!("cannot be read ({error})")),
        }
    }
    let known = |name: &str| each.archs.iter().any(|arch| each.file(*arch) == name);
    for name in manifest.files.keys().filter(|name| !known(name)) {
        fault(name, "is in the manifest, but not built any more");
    }
    let present = std::fs::read_dir(folder).into_iter().flatten().flatten();
    for name in present.map(|entry| entry.file_name().to_string_lossy().into_owned()) {
        if name.ends_with(".ptx") && !known(&name) {
            faults.push(format!("{}/{name} is of no kernel crate; delete it", each.destination));
        }
    }
    faults
}

/// Builds anew. With the compiler of the manifest the result must be the PTX, byte for byte.
fn rebuild(
    context: &Context,
    each: &KernelCrate,
    arch: Arch,
    record: &Record,
    same_sources: bool,
    required: bool,
) -> Option<String> {
    let file = each.file(arch);
    let toolchain = match context.toolchain(Some(&record.compiler)) {
        Ok(toolchain) => toolchain,
        Err(error) if required => return Some(format!("{file}: cannot be built: {error}")),
        Err(error) => {
            println!("{file}: not built anew: {error}");
            return None;
        }
    };
    let built = match context.build(each, arch, toolchain) {
        Ok(built) => built,
        Err(fault) => return Some(fault),
    };
    if compiler(toolchain) == record.compiler {
        if same_sources && output_hash(&built.ptx) != record.output_sha256 {
            return Some(format!(
                "{}/{file} is not what {} makes of its sources; run `{}`",
                each.destination,
                record.compiler,
                each.remedy()
            ));
        }
        println!("{file}: built anew{}", if same_sources { " and compared" } else { "" });
        return None;
    }
    println!(
        "{file}: built with {}, not compared: the manifest's compiler is {}",
        compiler(toolchain),
        record.compiler
    );
    context.tools.as_ref().ok().and_then(|tools| tools.assemble(&built.path, arch).err())
}

/// What has changed in registers and machine instructions since the golden file was written.
fn golden(each: &KernelCrate, old: &Golden, new: &Golden) -> Option<String> {
    if (&old.ptxas, &old.nvdisasm) != (&new.ptxas, &new.nvdisasm) && !old.files.is_empty() {
        println!(
            "{}: {} is of ptxas {} and nvdisasm {}, not compared with {} and {}",
            each.name,
            Golden::NAME,
            old.ptxas,
            old.nvdisasm,
            new.ptxas,
            new.nvdisasm
        );
        return None;
    }
    let lines = old.differences(new);
    (!lines.is_empty()).then(|| {
        format!(
            "{}/{} does not hold any more; if that is meant, run `{}`\n{}",
            each.destination,
            Golden::NAME,
            each.remedy(),
            lines.join("\n")
        )
    })
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

    const CRATE: KernelCrate = KernelCrate {
        name: "tools/scale",
        stem: "scale",
        archs: &[Arch::Sm80],
        destination: "kernels-rs/tools/scale/ptx",
        part: None,
    };

    /// A workspace with one kernel crate, its PTX and a manifest that fits, and the hash of its sources.
    fn workspace(root: &Path) -> impl Fn() -> Vec<String> {
        let folder = CRATE.folder(root);
        let ptx = root.join(CRATE.destination);
        std::fs::create_dir_all(folder.join("src")).unwrap();
        std::fs::create_dir_all(&ptx).unwrap();
        std::fs::write(folder.join("Cargo.toml"), "[package]\nname = \"scale\"\nedition = \"2024\"\n[workspace]\n")
            .unwrap();
        std::fs::write(folder.join("src/lib.rs"), "// two\n").unwrap();
        std::fs::write(ptx.join("scale_sm_80.ptx"), "// ptx\n").unwrap();
        let hash = move || Sources::of(&folder).unwrap().hash().unwrap();
        let record = Record {
            source_sha256: hash(),
            output_sha256: output_hash("// ptx\n"),
            compiler: "rustc".into(),
            ptx_isa: "7.8".into(),
            target: "sm_80".into(),
            cuda: "11.8".into(),
            lowest_driver: "520.61".into(),
            kernels: Vec::new(),
        };
        Manifest { files: [("scale_sm_80.ptx".into(), record)].into() }.write(&ptx).unwrap();
        move || stale(&CRATE, &ptx, &Manifest::read(&ptx).unwrap(), &hash())
    }

    #[test]
    fn a_changed_line_of_a_kernel_is_found_and_the_command_named() {
        let root = tempfile::tempdir().unwrap();
        let faults = workspace(root.path());
        assert_eq!(faults(), [""; 0]);
        std::fs::write(root.path().join("kernels-rs/tools/scale/src/lib.rs"), "// three\n").unwrap();
        let expected = "kernels-rs/tools/scale/ptx/scale_sm_80.ptx is stale: its sources have changed; run `cargo xtask kernels tools/scale`";
        assert_eq!(faults(), [expected]);
        std::fs::write(root.path().join("kernels-rs/tools/scale/src/lib.rs"), "// two\n").unwrap();
        assert_eq!(faults(), [""; 0]);
    }

    #[test]
    fn a_crate_is_meant_by_its_folder_and_by_those_above_it() {
        assert!(CRATE.is_meant_by("tools/scale") && CRATE.is_meant_by("tools"));
        assert!(!CRATE.is_meant_by("scale") && !CRATE.is_meant_by("tool") && !CRATE.is_meant_by("tools/scale/src"));
    }

    #[test]
    fn ptx_changed_by_hand_or_lost_or_left_over_is_found() {
        let root = tempfile::tempdir().unwrap();
        let faults = workspace(root.path());
        let ptx = root.path().join(CRATE.destination);
        std::fs::write(ptx.join("scale_sm_80.ptx"), "// other\n").unwrap();
        assert!(faults()[0].contains("is not what its manifest says"));
        std::fs::rename(ptx.join("scale_sm_80.ptx"), ptx.join("scale_sm_75.ptx")).unwrap();
        let faults = faults();
        assert!(faults[0].contains("cannot be read") && faults[1].contains("scale_sm_75.ptx is of no kernel crate"));
        assert_eq!(faults.len(), 2);
    }
}
