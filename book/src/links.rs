//! Every link of the pages leads somewhere: files, pictures and headings exist. Addresses of other sites are not asked
//! for.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use crate::markdown;

/// Pages that a program writes, with the dimensions of arrays, `[channel][time]`, in what it quotes.
const GENERATED: &str = "docs/performance";

/// Links of the pages that lead nowhere. Pages are named from the root.
pub(crate) fn faults(root: &Path, pages: &[String]) -> Vec<String> {
    let mut faults = Vec::new();
    let mut anchors: BTreeMap<PathBuf, Vec<String>> = BTreeMap::new();
    for page in pages {
        let text = match std::fs::read_to_string(root.join(page)) {
            Ok(text) => text,
            Err(error) => {
                faults.push(format!("{page}: {error}"));
                continue;
            }
        };
        let undefined = if page.starts_with(GENERATED) { Vec::new() } else { markdown::undefined(&text) };
        faults.extend(undefined.into_iter().map(|name| format!("{page}: `[{name}]` is not defined")));
        for address in markdown::addresses(&text).into_iter().filter(|address| !is_elsewhere(address)) {
            let (path, anchor) = match address.split_once('#') {
                Some((path, anchor)) => (path, Some(anchor)),
                None => (address.as_str(), None),
            };
            let target = if path.is_empty() { PathBuf::from(page) } else { resolved(page, path) };
            if !root.join(&target).exists() {
                faults.push(format!("{page}: links to {address}, which is not there"));
            } else if let Some(anchor) = anchor {
                let known = anchors.entry(target.clone()).or_insert_with(|| {
                    markdown::anchors(&std::fs::read_to_string(root.join(&target)).unwrap_or_default())
                });
                if !known.iter().any(|name| name == anchor) {
                    faults.push(format!("{page}: links to {address}, a heading that {} has not", target.display()));
                }
            }
        }
    }
    faults
}

/// Whether an address is one of another site.
pub(crate) fn is_elsewhere(address: &str) -> bool {
    address.contains("://") || address.starts_with("mailto:")
}

/// The path from the root of what a page links to.
pub(crate) fn resolved(page: &str, path: &str) -> PathBuf {
    let mut resolved = Path::new(page).parent().map(Path::to_owned).unwrap_or_default();
    for part in Path::new(path).components() {
        match part {
            Component::ParentDir if resolved.pop() => {}
            Component::CurDir => {}
            other => resolved.push(other),
        }
    }
    resolved
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(page: &str) -> Vec<String> {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(root.path().join("docs/operations")).unwrap();
        std::fs::write(root.path().join("docs/fx.md"), "# The FX correlator `fx`\n").unwrap();
        std::fs::write(root.path().join("docs/operations/fft.md"), page).unwrap();
        faults(root.path(), &["docs/operations/fft.md".to_owned()])
    }

    #[test]
    fn what_is_there_may_be_linked_to() {
        assert_eq!(of("# Own\n[a](../fx.md) [b](../fx.md#the-fx-correlator-fx) [c](#own) [d](https://x.y/z)"), [""; 0]);
    }

    #[test]
    fn missing_files_pictures_headings_and_names_are_faults() {
        for page in ["[a](../no.md)", "![a](no.png)", "[a](../fx.md#no)", "[a](#no)", "[a b][no]"] {
            assert_eq!(of(page).len(), 1, "{page}");
        }
    }
}
