//! Holds docs/architecture.md to the tree.
//!
//! The page's tables name folders in their first column, as `` `crates/types/` ``; where the second column is a number,
//! the folder is a package's and the number its floor. A package depends on packages of lower floors, and a published
//! one on published ones.

use std::collections::BTreeMap;

/// The page.
pub(super) const PAGE: &str = "docs/architecture.md";

/// A package of the workspace.
#[derive(Debug, Clone)]
pub(super) struct Member {
    /// Its folder from the root, without a slash at the end; `.` for the root's own.
    pub(super) folder: String,
    pub(super) published: bool,
    /// Folders of the workspace's packages that it needs when it is built, not those of its tests.
    pub(super) dependencies: Vec<String>,
}

/// What the page says that is not so, and what it leaves out.
pub(super) fn faults(page: &str, members: &[Member], tracked: &[String]) -> Vec<String> {
    let named = named(page);
    let mut faults = Vec::new();
    let there = |folder: &str| folder == "." || tracked.iter().any(|file| is_within(file, folder));
    faults.extend(
        named
            .keys()
            .filter(|folder| !there(folder))
            .map(|folder| format!("{PAGE}: names {folder}/, which is not there")),
    );
    faults.extend(unnamed(&named, tracked).into_iter().map(|folder| format!("{PAGE}: does not name {folder}/")));
    for member in members {
        let Some(Some(floor)) = named.get(&member.folder) else {
            faults.push(format!("{PAGE}: has no floor of the package in {}/", member.folder));
            continue;
        };
        for dependency in &member.dependencies {
            if let Some(Some(below)) = named.get(dependency)
                && below >= floor
            {
                faults.push(format!(
                    "{}/Cargo.toml: on floor {floor}, depends on {dependency}/ on floor {below} (floors are in {PAGE})",
                    member.folder
                ));
            }
            let unpublished = members.iter().any(|other| other.folder == *dependency && !other.published);
            if member.published && unpublished {
                faults.push(format!("{}/Cargo.toml: is published, {dependency}/ is not", member.folder));
            }
        }
    }
    let packages: Vec<&str> = members.iter().map(|member| member.folder.as_str()).collect();
    let idle = named.iter().filter(|(folder, floor)| floor.is_some() && !packages.contains(&folder.as_str()));
    faults.extend(idle.map(|(folder, _)| format!("{PAGE}: {folder}/ has a floor and is no package of the workspace")));
    faults
}

/// Folders that the page's tables name, with their floors.
fn named(page: &str) -> BTreeMap<String, Option<u32>> {
    let mut named = BTreeMap::new();
    for line in page.lines().filter(|line| line.starts_with('|')) {
        let mut cells = line.trim_matches('|').split('|').map(str::trim);
        let folder = cells.next().and_then(|cell| cell.strip_prefix('`')).and_then(|cell| cell.strip_suffix("/`"));
        if let Some(folder) = folder {
            let floor = cells.next().and_then(|cell| cell.parse().ok());
            let place = named.entry(folder.to_owned()).or_insert(floor);
            *place = place.or(floor);
        }
    }
    named
}

/// Folders of the root, of `crates/` and of `kernels-rs/` that the page ought to name: itself, or what is in it.
fn unnamed(named: &BTreeMap<String, Option<u32>>, tracked: &[String]) -> Vec<String> {
    let mut folders = Vec::new();
    for file in tracked {
        let parts: Vec<&str> = file.split('/').collect();
        let depth = if matches!(parts[0], "crates" | "kernels-rs") { 2 } else { 1 };
        if parts.len() > depth {
            folders.push(parts[..1].join("/"));
            folders.push(parts[..depth].join("/"));
        }
    }
    folders.sort();
    folders.dedup();
    folders.retain(|folder| !named.keys().any(|name| name == folder || is_within(name, folder)));
    folders
}

fn is_within(path: &str, folder: &str) -> bool {
    path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "| folder | holds |\n| `crates/` | crates |\n| `.ci/` | CI |\n\n\
        | `crates/types/` | 1 | types |\n| `crates/io/` | 2 | readers |\n| `./` | 3 | programs |\n";

    fn member(folder: &str, published: bool, dependencies: &[&str]) -> Member {
        let dependencies = dependencies.iter().map(|&folder| folder.to_owned()).collect();
        Member { folder: folder.to_owned(), published, dependencies }
    }

    fn tree() -> (Vec<Member>, Vec<String>) {
        let members =
            [member("crates/types", true, &[]), member("crates/io", true, &["crates/types"]), member(".", false, &[])];
        let files = [".ci/run", "README.md", "crates/types/src/lib.rs", "crates/io/src/lib.rs"];
        (members.to_vec(), files.map(str::to_owned).to_vec())
    }

    #[test]
    fn a_page_that_is_true_has_no_faults() {
        let (members, files) = tree();
        assert_eq!(faults(TEXT, &members, &files), [""; 0]);
    }

    #[test]
    fn a_folder_that_is_not_named_or_not_there_is_a_fault() {
        let (members, mut files) = tree();
        files.push("kernels-rs/delay/src/lib.rs".to_owned());
        let expected = ["does not name kernels-rs/", "does not name kernels-rs/delay/"];
        assert_eq!(faults(TEXT, &members, &files), expected.map(|what| format!("{PAGE}: {what}")));
        let (members, mut files) = tree();
        files.remove(0);
        assert_eq!(faults(TEXT, &members, &files), [format!("{PAGE}: names .ci/, which is not there")]);
    }

    #[test]
    fn a_package_without_a_floor_and_a_floor_without_a_package_are_faults() {
        let (mut members, mut files) = tree();
        members.push(member("crates/fft", true, &[]));
        files.push("crates/fft/src/lib.rs".to_owned());
        let found = faults(TEXT, &members, &files);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[1].ends_with("has no floor of the package in crates/fft/"));
        let (members, files) = tree();
        let found = faults(TEXT, &members[..2], &files);
        assert_eq!(found, [format!("{PAGE}: ./ has a floor and is no package of the workspace")]);
    }

    #[test]
    fn dependencies_go_down_and_published_ones_stay_published() {
        let (mut members, files) = tree();
        members[0].dependencies.push("crates/io".to_owned());
        let found = faults(TEXT, &members, &files);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with("crates/types/Cargo.toml: on floor 1, depends on crates/io/ on floor 2"));
        let (mut members, files) = tree();
        members[0].published = false;
        assert_eq!(faults(TEXT, &members, &files), ["crates/io/Cargo.toml: is published, crates/types/ is not"]);
    }
}
