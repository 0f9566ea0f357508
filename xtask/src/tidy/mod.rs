//! House rules that neither rustc nor clippy checks.
//!
//! - every Rust file opens with a `//!` paragraph that says what it holds;
//! - a crate that is compiled for GPUs says `no_std` for them in its first line, and kernels reach hardware and memory
//!   only through `fringes-device`: no `asm!` and no raw pointer in them;
//! - comments and pages keep to the width of the code, 120 columns, which rustfmt does not see to ([`columns`]);
//! - docs/architecture.md names the folders that are there, and crates depend on lower floors alone ([`architecture`]);
//! - figures that pages quote of a record are in it ([`figures`]);
//! - no file names a path of somebody's machine or a package registry's host;
//! - every published crate has the licences' texts, which are the workspace's, a description and a README;
//! - no published crate depends on a crate that needs a newer Rust than the workspace promises.

mod architecture;
mod columns;
mod figures;

use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;

/// Runs every rule and reports all that fail.
pub(crate) fn run(root: &Path) -> Result<(), String> {
    let mut faults = Vec::new();
    let files = tracked_files(root)?;
    for file in &files {
        let Ok(bytes) = std::fs::read(root.join(file)) else { continue };
        let Ok(text) = String::from_utf8(bytes) else { continue };
        if file.ends_with(".rs") && !text.starts_with("//!") && !text.starts_with("#!") {
            faults.push(format!("{file}: does not open with a `//!` paragraph"));
        }
        faults.extend(device_code(file, &text));
        faults.extend(columns::faults(file, &text));
        faults.extend(figures::faults(root, file, &text));
        if !file.ends_with("Cargo.lock") {
            faults.extend(forbidden(&text).map(|(line, what)| format!("{file}:{line}: names {what}")));
        }
    }
    let metadata = metadata(root)?;
    for package in metadata.packages.iter().filter(|package| metadata.workspace_members.contains(&package.id)) {
        if let Some(folder) = package.manifest_path.parent().filter(|_| package.publish.is_none()) {
            faults.extend(without_licences(root, folder));
            faults.extend(unready(package, folder));
        }
    }
    faults.extend(newer_dependencies(&metadata)?);
    let page = std::fs::read_to_string(root.join(architecture::PAGE)).unwrap_or_default();
    faults.extend(architecture::faults(&page, &members(root, &metadata), &files));
    if faults.is_empty() { Ok(()) } else { Err(format!("{} faults\n{}", faults.len(), faults.join("\n"))) }
}

/// Files that git tracks, relative to the root.
fn tracked_files(root: &Path) -> Result<Vec<String>, String> {
    let text = output(Command::new("git").current_dir(root).args(["ls-files", "-z"]))?;
    Ok(text.split('\0').filter(|name| !name.is_empty()).map(str::to_owned).collect())
}

/// What a file of a crate under kernels-rs must not be. The emulator is a program of the host.
fn device_code(file: &str, text: &str) -> Vec<String> {
    let Some((name, rest)) = file.strip_prefix("kernels-rs/").and_then(|file| file.split_once("/src/")) else {
        return Vec::new();
    };
    let mut faults = Vec::new();
    if name == "emulator" {
        return faults;
    }
    if rest == "lib.rs" && !text.starts_with("#![cfg_attr(target_arch = \"nvptx64\", no_std)]") {
        faults.push(format!("{file}: does not open with `#![cfg_attr(target_arch = \"nvptx64\", no_std)]`"));
    }
    if name != "device" {
        for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.trim_start().starts_with("//")) {
            if let Some(what) = ["asm!", "*const ", "*mut "].into_iter().find(|what| line.contains(what)) {
                faults.push(format!(
                    "{file}:{}: `{}` in a kernel; fringes-device has what it needs",
                    index + 1,
                    what.trim()
                ));
            }
        }
    }
    faults
}

/// Lines with a machine's path or a registry's host. The words are put together here so that this file passes.
fn forbidden(text: &str) -> impl Iterator<Item = (usize, &'static str)> {
    let home = ["/ho", "me/"].concat();
    let root = ["/ro", "ot/"].concat();
    let registries = [
        ["pypi", ".org"].concat(),
        ["static.crates", ".io"].concat(),
        ["index.crates", ".io"].concat(),
        ["deb.debian", ".org"].concat(),
    ];
    text.lines().enumerate().filter_map(move |(index, line)| {
        if line.contains(&home) || line.contains(&root) {
            Some((index + 1, "a path of one machine"))
        } else if registries.iter().any(|host| line.contains(host)) {
            Some((index + 1, "a package registry's host"))
        } else {
            None
        }
    })
}

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
    workspace_members: Vec<String>,
    resolve: Resolve,
}

#[derive(Deserialize)]
struct Package {
    id: String,
    manifest_path: PathBuf,
    name: String,
    version: String,
    rust_version: Option<String>,
    #[serde(default)]
    description: Option<String>,
    #[serde(default)]
    documentation: Option<String>,
    #[serde(default)]
    readme: Option<PathBuf>,
    publish: Option<Vec<String>>,
    dependencies: Vec<Declared>,
}

/// A dependency as a manifest declares it.
#[derive(Deserialize)]
struct Declared {
    kind: Option<String>,
    path: Option<PathBuf>,
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

/// What cargo knows of the workspace and its dependencies.
fn metadata(root: &Path) -> Result<Metadata, String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let text = output(Command::new(cargo).current_dir(root).args(["metadata", "--format-version", "1"]))?;
    serde_json::from_str(&text).map_err(|error| format!("cargo metadata: {error}"))
}

/// The workspace's packages, and what of the workspace each is built with.
fn members(root: &Path, metadata: &Metadata) -> Vec<architecture::Member> {
    let folder = |path: &Path| match path.strip_prefix(root).unwrap_or(path).to_string_lossy().into_owned() {
        empty if empty.is_empty() => ".".to_owned(),
        folder => folder,
    };
    let own = metadata.packages.iter().filter(|package| metadata.workspace_members.contains(&package.id));
    own.map(|package| architecture::Member {
        folder: package.manifest_path.parent().map(folder).unwrap_or_default(),
        published: package.publish.is_none(),
        dependencies: package
            .dependencies
            .iter()
            .filter(|dependency| dependency.kind.as_deref() != Some("dev"))
            .filter_map(|dependency| dependency.path.as_deref().map(folder))
            .collect(),
    })
    .collect()
}

/// Licences that a published crate lacks, or has other texts of than the workspace.
fn without_licences(root: &Path, folder: &Path) -> Vec<String> {
    let texts = ["LICENSE-MIT", "LICENSE-APACHE"].into_iter();
    let other = |name: &&str| {
        let own = std::fs::read(folder.join(name)).ok();
        own.is_none() || own != std::fs::read(root.join(name)).ok()
    };
    let shown = folder.strip_prefix(root).unwrap_or(folder).display();
    texts.filter(other).map(|name| format!("{shown}/{name} is not the workspace's text; link it to that")).collect()
}

/// What a published crate lacks for its page: a description, the address of its documentation, a README of its name.
fn unready(package: &Package, folder: &Path) -> Vec<String> {
    let name = &package.name;
    let mut lacks = Vec::new();
    if package.description.is_none() {
        lacks.push(format!("{name} has no description"));
    }
    if package.documentation.as_deref() != Some(&format!("https://docs.rs/{name}")) {
        lacks.push(format!("{name}: `documentation` is not https://docs.rs/{name}"));
    }
    let readme = package.readme.as_ref().and_then(|file| std::fs::read_to_string(folder.join(file)).ok());
    let title = readme.as_deref().and_then(|text| text.lines().next()).unwrap_or_default();
    if !title.trim_start_matches("# ").eq_ignore_ascii_case(name) {
        lacks.push(format!("{name}: its README is missing or opens with `{title}`, not with `# {name}`"));
    }
    lacks
}

/// Normal dependencies of published crates that ask for a newer Rust than the workspace does.
fn newer_dependencies(metadata: &Metadata) -> Result<Vec<String>, String> {
    let package = |id: &str| metadata.packages.iter().find(|package| package.id == id);
    let published = |id: &&String| package(id).is_some_and(|package| package.publish.is_none());
    let mut pending: Vec<&str> = metadata.workspace_members.iter().filter(published).map(String::as_str).collect();
    let promised = pending.first().and_then(|id| package(id)).and_then(|package| package.rust_version.as_deref());
    let promised = promised.map(version).ok_or("the workspace states no rust-version")?;
    let mut seen: Vec<&str> = Vec::new();
    let mut faults = Vec::new();
    while let Some(id) = pending.pop() {
        if seen.contains(&id) {
            continue;
        }
        seen.push(id);
        if let Some(package) = package(id)
            && let Some(needed) = package.rust_version.as_deref()
            && version(needed) > promised
        {
            faults
                .push(format!("{} {} needs Rust {needed}, the workspace promises less", package.name, package.version));
        }
        let node = metadata.resolve.nodes.iter().find(|node| node.id == id);
        pending.extend(node.iter().flat_map(|node| {
            let normal =
                |dependency: &&Dependency| dependency.dep_kinds.iter().any(|kind| kind.kind.as_deref() != Some("dev"));
            node.deps.iter().filter(normal).map(|dependency| dependency.pkg.as_str())
        }));
    }
    Ok(faults)
}

/// `1.88` as `[1, 88]`.
fn version(text: &str) -> Vec<u32> {
    text.split('.').take(2).map(|part| part.parse().unwrap_or(0)).collect()
}

fn output(command: &mut Command) -> Result<String, String> {
    let output = command.output().map_err(|error| format!("{command:?} did not start: {error}"))?;
    if !output.status.success() {
        return Err(format!("{command:?} failed: {}", String::from_utf8_lossy(&output.stderr)));
    }
    String::from_utf8(output.stdout).map_err(|error| format!("{command:?}: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crate_that_cannot_be_published_is_named() {
        let root = tempfile::tempdir().unwrap();
        let package = |readme: &str| {
            let text = r#"{"id": "", "manifest_path": "", "name": "some", "version": "0.1.0", "description": "It.",
                "documentation": "https://docs.rs/some", "readme": "README.md", "dependencies": []}"#;
            std::fs::write(root.path().join("README.md"), readme).unwrap();
            serde_json::from_str::<Package>(text).unwrap()
        };
        assert_eq!(unready(&package("# some\n"), root.path()), [""; 0]);
        assert_eq!(unready(&package("# Some\n"), root.path()), [""; 0]);
        assert!(unready(&package("# other\n"), root.path())[0].contains("not with `# some`"));
        let bare = Package { description: None, documentation: None, readme: None, ..package("") };
        assert_eq!(unready(&bare, root.path()).len(), 3);
    }

    #[test]
    fn a_crate_without_the_licences_texts_is_named() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("crates/some");
        std::fs::create_dir_all(&folder).unwrap();
        for name in ["LICENSE-MIT", "LICENSE-APACHE"] {
            std::fs::write(root.path().join(name), name).unwrap();
        }
        std::fs::write(folder.join("LICENSE-MIT"), "LICENSE-MIT").unwrap();
        let faults = without_licences(root.path(), &folder);
        assert_eq!(faults, ["crates/some/LICENSE-APACHE is not the workspace's text; link it to that"]);
        std::fs::write(folder.join("LICENSE-APACHE"), "other").unwrap();
        assert_eq!(without_licences(root.path(), &folder).len(), 1);
        std::fs::write(folder.join("LICENSE-APACHE"), "LICENSE-APACHE").unwrap();
        assert_eq!(without_licences(root.path(), &folder), [""; 0]);
    }

    #[test]
    fn device_code_is_held_to_no_std_and_to_the_device_crate() {
        let first = "#![cfg_attr(target_arch = \"nvptx64\", no_std)]\n";
        assert_eq!(device_code("kernels-rs/tools/saxpy/src/lib.rs", first), [""; 0]);
        assert_eq!(device_code("kernels-rs/tools/saxpy/src/lib.rs", "//! Kernels.").len(), 1);
        assert_eq!(device_code("kernels-rs/emulator/src/lib.rs", "//! Host. *mut u8").len(), 0);
        let text = "//! Not asm! itself.\nfn f(x: *const u8) {}\nasm!(\"\");";
        let faults = device_code("kernels-rs/tools/saxpy/src/inner.rs", text);
        assert!(faults[0].contains("inner.rs:2: `*const`") && faults[1].contains("inner.rs:3: `asm!`"), "{faults:?}");
        assert_eq!(device_code("kernels-rs/device/src/inner.rs", text).len(), 0);
    }
}
