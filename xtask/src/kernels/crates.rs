//! Kernel crates: which there are, what they are built for, and where their PTX lies.
//!
//! Each says it in its own `Cargo.toml`:
//!
//! ```toml
//! [package.metadata.fringes]
//! stem = "correlator"          # what the names of the PTX begin with
//! archs = ["sm_80"]
//! host = "fringes-correlator"  # the package with the PTX; without it the crate itself
//! ptx = "ptx/mma"              # folder there; `ptx` unless given
//! texts = "src/gpu/texts.rs"   # generated source there that embeds the PTX; none unless given
//! measured = true              # the host measures which kernel is best, anew when these change
//!
//! [package.metadata.fringes.parts]  # a PTX for each of these features, in this folder below `ptx`; one of all unless
//! given i8 = "i8"
//! ```

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use fringes_kernel_builder::Arch;
use serde::Deserialize;

/// What the names of kernel crates begin with.
const PREFIX: &str = "fringes-kernels-";

/// A kernel crate, or a part of one: what one PTX for each architecture is made from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KernelCrate {
    /// Its folder under kernels-rs, by which commands call it.
    pub(crate) name: String,
    /// What the names of its PTX, and of what embeds it, begin with.
    pub(crate) stem: String,
    /// Its folder, relative to the root as all of these.
    pub(crate) folder: PathBuf,
    /// Architectures.
    pub(crate) archs: Vec<Arch>,
    /// Folder of the PTX.
    pub(crate) destination: PathBuf,
    /// The part of its kernels that the PTX has, which a feature of the crate chooses; all of them if there is none.
    pub(crate) part: Option<String>,
    /// Folder of the package with the PTX.
    pub(crate) host: PathBuf,
    /// Generated source that embeds the PTX, if there is one.
    pub(crate) texts: Option<PathBuf>,
    /// Whether the host measures these kernels.
    pub(crate) measured: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Declared {
    stem: String,
    archs: Vec<String>,
    host: Option<String>,
    ptx: Option<String>,
    texts: Option<PathBuf>,
    #[serde(default)]
    measured: bool,
    #[serde(default)]
    parts: BTreeMap<String, String>,
}

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    manifest_path: PathBuf,
    features: BTreeMap<String, Vec<String>>,
    metadata: Option<serde_json::Value>,
}

/// Every kernel crate of the workspace with its parts, in order of stems and parts. How deep they lie has no meaning.
///
/// # Errors
/// What cargo says, and what is wrong in a crate's metadata, with the crate.
pub(crate) fn find(root: &Path) -> Result<Vec<KernelCrate>, String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["metadata", "--no-deps", "--format-version", "1", "--manifest-path"]).arg(root.join("Cargo.toml"));
    let output = command.output().map_err(|error| format!("cargo metadata: {error}"))?;
    if !output.status.success() {
        return Err(format!("cargo metadata: {}", String::from_utf8_lossy(&output.stderr).trim()));
    }
    let metadata: Metadata =
        serde_json::from_slice(&output.stdout).map_err(|error| format!("cargo metadata: {error}"))?;
    let mut crates = Vec::new();
    for package in &metadata.packages {
        let folder = package.manifest_path.parent().unwrap_or(root);
        match package.metadata.as_ref().and_then(|metadata| metadata.get("fringes")) {
            Some(value) => {
                let declared: Declared = serde_json::from_value(value.clone())
                    .map_err(|error| format!("{}: [package.metadata.fringes]: {error}", package.name))?;
                crates.extend(parts(root, package, &declared, &metadata.packages)?);
            }
            None if package.name.starts_with(PREFIX) && has_kernels(&folder.join("src")) => {
                return Err(format!(
                    "{} has kernels, and no [package.metadata.fringes] in its Cargo.toml that says how they are built",
                    package.name
                ));
            }
            None => {}
        }
    }
    crates.sort_by(|a, b| (&a.stem, &a.part).cmp(&(&b.stem, &b.part)));
    for (index, each) in crates.iter().enumerate() {
        let before = &crates[..index];
        if let Some(other) = before.iter().find(|other| other.destination == each.destination) {
            return Err(format!("{each} and {other} both have their PTX in {}", each.destination.display()));
        }
        if let Some(other) = before.iter().find(|other| other.stem == each.stem && other.name != each.name) {
            return Err(format!("{each} and {other} both have the stem `{}`", each.stem));
        }
    }
    Ok(crates)
}

/// The parts of a crate.
fn parts(
    root: &Path,
    package: &Package,
    declared: &Declared,
    packages: &[Package],
) -> Result<Vec<KernelCrate>, String> {
    let wrong = |what: String| format!("{}: [package.metadata.fringes]: {what}", package.name);
    let folder = |package: &Package| {
        let folder = package.manifest_path.parent().unwrap_or(root);
        folder.strip_prefix(root).unwrap_or(folder).to_path_buf()
    };
    let own = folder(package);
    let name = own.strip_prefix("kernels-rs").unwrap_or(&own);
    let name = name.components().map(|part| part.as_os_str().to_string_lossy()).collect::<Vec<_>>().join("/");
    let host = match &declared.host {
        None => own.clone(),
        Some(name) => {
            let host = packages.iter().find(|host| host.name == *name);
            folder(host.ok_or_else(|| wrong(format!("no package is called `{name}`")))?)
        }
    };
    let ptx = declared.ptx.as_deref().unwrap_or("ptx");
    if ptx != "ptx" && !ptx.starts_with("ptx/") {
        return Err(wrong(format!("ptx = \"{ptx}\" is not in the folder `ptx`")));
    }
    let archs = declared.archs.iter().map(|name| {
        let arch = Arch::from_name(name).ok_or_else(|| wrong(format!("`{name}` is no architecture")))?;
        // The two that the library chooses between.
        let embedded = declared.texts.is_none() || matches!(arch, Arch::Sm80 | Arch::Sm90a);
        embedded.then_some(arch).ok_or_else(|| wrong(format!("no text is loaded for {name}")))
    });
    let archs = archs.collect::<Result<Vec<_>, _>>()?;
    if archs.is_empty() {
        return Err(wrong("archs is empty".into()));
    }
    let of = |part: Option<&String>, below: &Path| KernelCrate {
        name: name.clone(),
        stem: declared.stem.clone(),
        folder: own.clone(),
        archs: archs.clone(),
        destination: host.join(below),
        part: part.cloned(),
        host: host.clone(),
        texts: declared.texts.as_ref().map(|texts| host.join(texts)),
        measured: declared.measured,
    };
    if declared.parts.is_empty() {
        return Ok(vec![of(None, Path::new(ptx))]);
    }
    let parts = declared.parts.iter().map(|(part, below)| {
        let known = package.features.contains_key(part);
        known
            .then(|| of(Some(part), &Path::new(ptx).join(below)))
            .ok_or_else(|| wrong(format!("the crate has no feature `{part}`")))
    });
    parts.collect()
}

/// Whether a source below a folder declares a kernel.
fn has_kernels(folder: &Path) -> bool {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).any(|path| {
        if path.is_dir() {
            has_kernels(&path)
        } else {
            std::fs::read_to_string(&path)
                .is_ok_and(|text| text.lines().any(|line| line.trim_start().starts_with("kernel! {")))
        }
    })
}

impl KernelCrate {
    /// Name of the PTX for an architecture.
    pub(crate) fn file(&self, arch: Arch) -> String {
        format!("{}_{arch}.ptx", self.stem)
    }

    /// Whether a name on the command line means it: its own folder, or one above it.
    pub(crate) fn is_meant_by(&self, name: &str) -> bool {
        self.name.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }

    /// The command that builds it anew.
    pub(crate) fn remedy(&self) -> String {
        format!("cargo xtask kernels {}", self.name)
    }
}

/// Crate and part, for messages.
impl std::fmt::Display for KernelCrate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.name)?;
        self.part.iter().try_for_each(|part| write!(f, " ({part})"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A workspace with a kernel crate two folders deep and a host.
    fn workspace(root: &Path, metadata: &str) {
        let write = |path: &str, text: &str| {
            let path = root.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write("Cargo.toml", "[workspace]\nmembers = [\"crates/*\", \"kernels-rs/*/*\"]\nresolver = \"3\"\n");
        let package = |name: &str| format!("[package]\nname = \"{name}\"\nedition = \"2024\"\n");
        write("crates/host/Cargo.toml", &package("host"));
        write("crates/host/src/lib.rs", "");
        let features = "[features]\none = []\ntwo = []\n";
        let kernels = format!("{}{features}{metadata}", package("fringes-kernels-scale"));
        write("kernels-rs/deep/scale/Cargo.toml", &kernels);
        write("kernels-rs/deep/scale/src/lib.rs", "mod kernels;\n");
        write("kernels-rs/deep/scale/src/kernels/mod.rs", "kernel! {\n}\n");
    }

    fn found(metadata: &str) -> Result<Vec<KernelCrate>, String> {
        let metadata = &metadata.replace("fringes]\n", "fringes]\nstem = \"scale\"\n");
        let root = tempfile::tempdir().unwrap();
        workspace(root.path(), metadata);
        find(&root.path().canonicalize().unwrap())
    }

    #[test]
    fn crates_are_found_at_any_depth_with_a_ptx_for_each_part() {
        let crates = found(
            "[package.metadata.fringes]\narchs = [\"sm_80\", \"sm_90a\"]\nhost = \"host\"\nptx = \"ptx/x\"\n\
             texts = \"src/t.rs\"\nmeasured = true\n[package.metadata.fringes.parts]\ntwo = \"2/b\"\none = \"1\"\n",
        )
        .unwrap();
        let expected = |part: &str, destination: &str| KernelCrate {
            name: "deep/scale".into(),
            stem: "scale".into(),
            folder: "kernels-rs/deep/scale".into(),
            archs: vec![Arch::Sm80, Arch::Sm90a],
            destination: destination.into(),
            part: Some(part.into()),
            host: "crates/host".into(),
            texts: Some("crates/host/src/t.rs".into()),
            measured: true,
        };
        assert_eq!(crates, [expected("one", "crates/host/ptx/x/1"), expected("two", "crates/host/ptx/x/2/b")]);
        let crates = found("[package.metadata.fringes]\narchs = [\"sm_80\"]\n").unwrap();
        assert_eq!(crates.len(), 1);
        assert_eq!(crates[0].destination, Path::new("kernels-rs/deep/scale/ptx"));
        assert_eq!((crates[0].part.as_ref(), crates[0].texts.as_ref()), (None, None));
        assert!(crates[0].is_meant_by("deep") && crates[0].is_meant_by("deep/scale"));
        assert!(!crates[0].is_meant_by("dee") && !crates[0].is_meant_by("scale"));
    }

    #[test]
    fn what_is_wrong_in_metadata_is_named_with_the_crate() {
        for (metadata, named) in [
            ("", "has kernels, and no [package.metadata.fringes]"),
            ("[package.metadata.fringes]\narchs = []\n", "archs is empty"),
            ("[package.metadata.fringes]\narchs = [\"sm_79\"]\n", "`sm_79` is no architecture"),
            ("[package.metadata.fringes]\narchs = [\"sm_120\"]\ntexts = \"t.rs\"\n", "no text is loaded for sm_120"),
            ("[package.metadata.fringes]\narchs = [\"sm_80\"]\nhosts = \"host\"\n", "unknown field `hosts`"),
            ("[package.metadata.fringes]\narchs = [\"sm_80\"]\nhost = \"guest\"\n", "no package is called `guest`"),
            ("[package.metadata.fringes]\narchs = [\"sm_80\"]\nptx = \"../x\"\n", "not in the folder `ptx`"),
            ("[package.metadata.fringes]\narchs = [\"sm_80\"]\nparts.three = \"3\"\n", "no feature `three`"),
            (
                "[package.metadata.fringes]\narchs = [\"sm_80\"]\nparts = { one = \"1\", two = \"1\" }\n",
                "both have their PTX",
            ),
        ] {
            let message = found(metadata).unwrap_err();
            assert!(message.contains(named) && message.contains("scale"), "{message}");
        }
    }
}
