//! What a kernel crate's PTX is made from, and a hash of it.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;
use sha2::{Digest, Sha256};

use crate::BuildError;

/// A kernel crate and the packages that are compiled with it for the device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sources {
    /// Name of the kernel crate's package.
    pub package: String,
    /// Root of its workspace.
    pub workspace: PathBuf,
    /// Folders of the packages at hand, the kernel crate first, then its path dependencies in order of their names.
    pub folders: Vec<PathBuf>,
    /// Name of its library as rustc writes it.
    pub(crate) library: String,
    /// Cargo's target folder of the workspace.
    pub(crate) target: PathBuf,
    /// Names and folders of the packages, and names and versions of those from registries.
    local: BTreeMap<String, PathBuf>,
    remote: Vec<String>,
    /// What the manifests of the packages say of their compilation, by name.
    manifests: BTreeMap<String, String>,
}

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
    resolve: Resolve,
    workspace_root: PathBuf,
    target_directory: PathBuf,
}

#[derive(Deserialize)]
struct Package {
    id: String,
    name: String,
    version: String,
    source: Option<String>,
    manifest_path: PathBuf,
    targets: Vec<Target>,
    edition: String,
    features: BTreeMap<String, Vec<String>>,
    dependencies: Vec<Requirement>,
}

/// A line under `[dependencies]`. Which version it became is known from the packages.
#[derive(Deserialize)]
struct Requirement {
    name: String,
    rename: Option<String>,
    kind: Option<String>,
    target: Option<String>,
    optional: bool,
    uses_default_features: bool,
    features: Vec<String>,
}

#[derive(Deserialize)]
struct Target {
    name: String,
    kind: Vec<String>,
}

impl Package {
    /// What the manifest says of the compilation, workspace inheritance resolved: edition, features, dependencies. Not
    /// what has no part in it: descriptions, lints, metadata, development dependencies, and where path dependencies
    /// lie.
    fn compilation(&self) -> String {
        let mut text = format!("edition {}\n", self.edition);
        for (feature, needs) in &self.features {
            let _ = writeln!(text, "feature {feature}: {needs:?}"); // writing to a String cannot fail
        }
        let compiled = self.dependencies.iter().filter(|dependency| dependency.kind.as_deref() != Some("dev"));
        let mut lines: Vec<String> = compiled.map(Requirement::line).collect();
        lines.sort();
        text + &lines.concat()
    }
}

impl Requirement {
    fn line(&self) -> String {
        let mut features = self.features.clone();
        features.sort();
        let Self { name, rename, kind, target, optional, uses_default_features, .. } = self;
        format!(
            "dependency {name} as {rename:?}, kind {kind:?}, target {target:?}, optional {optional}, \
             default features {uses_default_features}, features {features:?}\n"
        )
    }
}

#[derive(Deserialize)]
struct Resolve {
    nodes: Vec<Node>,
}

#[derive(Deserialize)]
struct Node {
    id: String,
    deps: Vec<Dependency>,
}

#[derive(Deserialize)]
struct Dependency {
    pkg: String,
    dep_kinds: Vec<DependencyKind>,
}

#[derive(Deserialize)]
struct DependencyKind {
    kind: Option<String>,
}

impl Sources {
    /// The sources of the kernel crate in a folder, as `cargo metadata` tells them. No kernel compiler is needed.
    ///
    /// # Errors
    /// [`BuildError::NoPackage`] if the folder has no package; otherwise cargo's own.
    pub fn of(folder: &Path) -> Result<Self, BuildError> {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut command = Command::new(cargo);
        crate::cargo::clean(&mut command);
        Self::ask(&mut command, folder)
    }

    /// As [`Sources::of`], with a command that is a cargo.
    pub(crate) fn ask(cargo: &mut Command, folder: &Path) -> Result<Self, BuildError> {
        let manifest = folder.join("Cargo.toml");
        let manifest = manifest.canonicalize().map_err(|_| BuildError::NoPackage { path: folder.into() })?;
        let text = crate::cargo::output(
            cargo
                .args(["metadata", "--format-version", "1", "--filter-platform", crate::TARGET, "--manifest-path"])
                .arg(&manifest),
        )?;
        let metadata: Metadata = serde_json::from_str(&text)
            .map_err(|error| BuildError::Unexpected { program: "cargo metadata".into(), reason: error.to_string() })?;
        let no_package = || BuildError::NoPackage { path: folder.into() };
        let package =
            metadata.packages.iter().find(|package| package.manifest_path == manifest).ok_or_else(no_package)?;
        let is_library = |target: &&Target| target.kind.iter().any(|kind| kind.ends_with("lib"));
        let library = package.targets.iter().find(is_library).ok_or_else(no_package)?.name.replace('-', "_");
        let (mut local, mut remote, mut manifests) = (BTreeMap::new(), Vec::new(), BTreeMap::new());
        let (mut pending, mut seen) = (vec![package.id.as_str()], Vec::new());
        while let Some(id) = pending.pop() {
            if seen.contains(&id) {
                continue;
            }
            seen.push(id);
            if let Some(package) = metadata.packages.iter().find(|package| package.id == id) {
                match (&package.source, package.manifest_path.parent()) {
                    (None, Some(folder)) => {
                        local.insert(package.name.clone(), folder.to_path_buf());
                        manifests.insert(package.name.clone(), package.compilation());
                    }
                    _ => remote.push(format!("{} {}", package.name, package.version)),
                }
            }
            let node = metadata.resolve.nodes.iter().find(|node| node.id == id);
            let compiled =
                |dependency: &&Dependency| dependency.dep_kinds.iter().any(|kind| kind.kind.as_deref() != Some("dev"));
            pending.extend(node.iter().flat_map(|node| node.deps.iter().filter(compiled)).map(|dep| dep.pkg.as_str()));
        }
        remote.sort();
        let own = local.get(&package.name).ok_or_else(no_package)?.clone();
        let others = local.values().filter(|folder| **folder != own).cloned();
        Ok(Self {
            package: package.name.clone(),
            workspace: metadata.workspace_root,
            folders: std::iter::once(own.clone()).chain(others).collect(),
            library,
            target: metadata.target_directory,
            local,
            remote,
            manifests,
        })
    }

    /// Files that the PTX is made from, with the names that the hash knows them by: `Cargo.toml`, `build.rs` and
    /// everything under `src` of each package, but for modules that are declared under
    /// `#[cfg(not(target_arch = "nvptx64"))]` or `#[cfg(test)]`.
    ///
    /// # Errors
    /// [`BuildError::File`] for what cannot be read.
    pub fn files(&self) -> Result<BTreeMap<String, PathBuf>, BuildError> {
        let mut files = BTreeMap::new();
        for (name, folder) in &self.local {
            for file in ["Cargo.toml", "build.rs"] {
                if folder.join(file).is_file() {
                    files.insert(format!("{name}/{file}"), folder.join(file));
                }
            }
            collect(&folder.join("src"), &format!("{name}/src"), &mut files)?;
        }
        let mut elsewhere = Vec::new();
        for path in files.values() {
            elsewhere.extend(modules_elsewhere(path)?);
        }
        files.retain(|_, path| !elsewhere.iter().any(|module| path.starts_with(module)));
        Ok(files)
    }

    /// SHA-256 over names and contents of [`files`](Self::files), versions of dependencies from registries, and the
    /// version of the directives that the builder writes. Of each `Cargo.toml` it takes what has a part in the
    /// compilation, as cargo reads it: edition, features and dependencies with their features. So packages may move,
    /// and be described anew. Of sources it takes all lines but those of comments alone, which change no machine code.
    ///
    /// # Errors
    /// [`BuildError::File`] for what cannot be read.
    pub fn hash(&self) -> Result<String, BuildError> {
        let mut hash = Sha256::new();
        hash.update(format!("directives {}\n", crate::directives::VERSION));
        for package in &self.remote {
            hash.update(format!("package {package}\n"));
        }
        for (name, text) in &self.manifests {
            hash.update(format!("manifest {name} {}\n{text}", text.len()));
        }
        for (name, path) in self.files()? {
            if self.local.contains_key(name.strip_suffix("/Cargo.toml").unwrap_or_default()) {
                continue; // its part in the compilation is above
            }
            let contents = without_comments(std::fs::read(&path).map_err(BuildError::file(&path))?);
            hash.update(format!("file {name} {}\n", contents.len()));
            hash.update(contents);
        }
        Ok(hexadecimal(&hash.finalize()))
    }
}

/// Files and folders of the modules that a source declares, and that are not compiled for the device.
fn modules_elsewhere(path: &Path) -> Result<Vec<PathBuf>, BuildError> {
    const ELSEWHERE: [&str; 2] = ["#[cfg(not(target_arch = \"nvptx64\"))]", "#[cfg(test)]"];
    let is_rust = path.extension().is_some_and(|extension| extension == "rs");
    let (Some(folder), Some(stem), true) = (path.parent(), path.file_stem(), is_rust) else { return Ok(Vec::new()) };
    let contents = std::fs::read(path).map_err(BuildError::file(path))?;
    let Ok(text) = std::str::from_utf8(&contents) else { return Ok(Vec::new()) };
    let below =
        if ["lib", "mod", "main"].map(AsRef::as_ref).contains(&stem) { folder.into() } else { folder.join(stem) };
    let lines = text.lines().map(str::trim);
    let pairs = lines.clone().zip(lines.skip(1));
    let declared = pairs.filter(|(attribute, _)| ELSEWHERE.contains(attribute)).filter_map(|(_, line)| {
        let (visibility, name) = line.strip_suffix(';')?.split_once("mod ")?;
        ["", "pub ", "pub(crate) ", "pub(super) "].contains(&visibility).then_some(())?;
        Some([below.join(name), below.join(format!("{name}.rs"))])
    });
    Ok(declared.flatten().collect())
}

/// The lines of a source that are no comments, documentation among them. What is no text stays as it is.
fn without_comments(contents: Vec<u8>) -> Vec<u8> {
    match std::str::from_utf8(&contents) {
        Err(_) => contents,
        Ok(text) => {
            let lines = text.lines().filter(|line| !line.trim_start().starts_with("//"));
            lines.flat_map(|line| [line, "\n"]).collect::<String>().into_bytes()
        }
    }
}

/// SHA-256 of some bytes, in hexadecimal.
pub fn sha256(bytes: &[u8]) -> String {
    hexadecimal(&Sha256::digest(bytes))
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}"); // writing to a String cannot fail
        text
    })
}

/// Every file below a folder.
fn collect(folder: &Path, name: &str, files: &mut BTreeMap<String, PathBuf>) -> Result<(), BuildError> {
    for entry in std::fs::read_dir(folder).map_err(BuildError::file(folder))? {
        let path = entry.map_err(BuildError::file(folder))?.path();
        let name = format!("{name}/{}", path.file_name().unwrap_or_default().to_string_lossy());
        if path.is_dir() {
            collect(&path, &name, files)?;
        } else {
            files.insert(name, path);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A package `kernels` with a path dependency `device`.
    fn packages(root: &Path) -> PathBuf {
        let write = |path: &str, text: &str| {
            let path = root.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write("Cargo.toml", "[workspace]\nmembers = [\"kernels\", \"device\", \"tools\"]\nresolver = \"3\"\n");
        write(
            "kernels/Cargo.toml",
            "[package]\nname = \"some-kernels\"\nedition = \"2024\"\n[dependencies]\ndevice = { path = \"../device\" }\n[dev-dependencies]\ntools = { path = \"../tools\" }\n",
        );
        write("kernels/src/lib.rs", "pub mod inner;\n");
        write("kernels/src/inner/mod.rs", "");
        for name in ["device", "tools"] {
            write(&format!("{name}/Cargo.toml"), &format!("[package]\nname = \"{name}\"\nedition = \"2024\"\n"));
            write(&format!("{name}/src/lib.rs"), "");
        }
        root.join("kernels")
    }

    #[test]
    fn sources_are_those_of_the_crate_and_its_path_dependencies() {
        let root = tempfile::tempdir().unwrap();
        let sources = Sources::of(&packages(root.path())).unwrap();
        assert_eq!((sources.package.as_str(), sources.library.as_str()), ("some-kernels", "some_kernels"));
        let names: Vec<String> = sources.files().unwrap().into_keys().collect();
        let expected = [
            "device/Cargo.toml",
            "device/src/lib.rs",
            "some-kernels/Cargo.toml",
            "some-kernels/src/inner/mod.rs",
            "some-kernels/src/lib.rs",
        ];
        assert_eq!(names, expected);
    }

    #[test]
    fn hash_follows_every_source_and_nothing_else() {
        let root = tempfile::tempdir().unwrap();
        let folder = packages(root.path());
        let hash = || Sources::of(&folder).unwrap().hash().unwrap();
        let first = hash();
        std::fs::write(root.path().join("tools/src/lib.rs"), "// changed").unwrap();
        assert_eq!(hash(), first, "a development dependency is not compiled for the device");
        for file in ["device/src/lib.rs", "kernels/src/inner/mod.rs"] {
            let before = hash();
            std::fs::write(root.path().join(file), "//! changed\n    // and changed\n").unwrap();
            assert_eq!(hash(), before, "comments are not compiled");
            std::fs::write(root.path().join(file), "fn changed() {} // and said").unwrap();
            assert_ne!(hash(), before, "{file}");
        }
        std::fs::write(root.path().join("device/src/lib.rs"), "").unwrap();
        std::fs::write(root.path().join("kernels/src/inner/mod.rs"), "").unwrap();
        assert_eq!(hash(), first);
    }

    #[test]
    fn modules_of_hosts_and_tests_are_no_sources() {
        let root = tempfile::tempdir().unwrap();
        let folder = packages(root.path());
        let hash = || Sources::of(&folder).unwrap().hash().unwrap();
        let lines = [
            "pub mod inner;",
            "#[cfg(not(target_arch = \"nvptx64\"))]",
            "pub mod twin;",
            "#[cfg(not(target_arch = \"nvptx64\"))]",
            "pub(crate) mod other;",
            "#[cfg(test)]",
            "mod tests;",
            "#[cfg(target_arch = \"nvptx64\")]",
            "mod asm;",
        ];
        std::fs::write(folder.join("src/lib.rs"), lines.join("\n")).unwrap();
        std::fs::create_dir(folder.join("src/twin")).unwrap();
        for file in ["twin/mod.rs", "twin/part.rs", "other.rs", "tests.rs", "asm.rs", "twins.rs"] {
            std::fs::write(folder.join("src").join(file), "").unwrap();
        }
        let elsewhere = ["twin/mod.rs", "twin/part.rs", "other.rs", "tests.rs"].map(|file| (file, false));
        for (file, counts) in elsewhere.into_iter().chain([("asm.rs", true), ("twins.rs", true)]) {
            let before = hash();
            std::fs::write(folder.join("src").join(file), "fn changed() {}").unwrap();
            assert_eq!(hash() != before, counts, "{file}");
        }
    }

    #[test]
    fn hash_follows_what_manifests_say_of_the_compilation() {
        let root = tempfile::tempdir().unwrap();
        let folder = packages(root.path());
        let hash = || Sources::of(&folder).unwrap().hash().unwrap();
        let (path, first) = (folder.join("Cargo.toml"), hash());
        let text = std::fs::read_to_string(&path).unwrap();
        let write = |text: &str| std::fs::write(&path, text).unwrap();
        for (from, to) in [
            ("edition = \"2024\"", "edition = \"2021\""),
            ("[dependencies]", "[features]\nwide = []\n[dependencies]"),
            ("\"../device\" }", "\"../device\", default-features = false }"),
        ] {
            assert!(text.contains(from), "{from}");
            write(&text.replacen(from, to, 1));
            assert_ne!(hash(), first, "{to}");
        }
        let described = "edition = \"2024\"\ndescription = \"Kernels\"\nmetadata.fringes.archs = [\"sm_80\"]";
        write(&text.replacen("edition = \"2024\"", described, 1));
        assert_eq!(hash(), first, "descriptions and metadata are not compiled");
        // A dependency elsewhere in the workspace is the same dependency.
        std::fs::create_dir(root.path().join("below")).unwrap();
        std::fs::rename(root.path().join("device"), root.path().join("below/device")).unwrap();
        let members = "[workspace]\nmembers = [\"kernels\", \"below/device\", \"tools\"]\nresolver = \"3\"\n";
        std::fs::write(root.path().join("Cargo.toml"), members).unwrap();
        write(&text.replace("../device", "../below/device"));
        assert_eq!(hash(), first, "the same files elsewhere");
    }

    #[test]
    fn a_folder_without_a_package_is_refused() {
        let root = tempfile::tempdir().unwrap();
        let error = Sources::of(root.path()).unwrap_err();
        assert!(matches!(&error, BuildError::NoPackage { path } if path == root.path()), "{error}");
        packages(root.path());
        let error = Sources::of(root.path()).unwrap_err(); // a workspace without a package
        assert!(matches!(error, BuildError::NoPackage { .. }), "{error}");
    }

    #[test]
    fn sha256_is_the_standard_s() {
        assert_eq!(sha256(b"abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    }
}
