//! What every page of the book must have: a place in SUMMARY.md, a row in the table of what keeps it true, and doctests
//! for its Rust.

use std::path::Path;

use crate::links::resolved;
use crate::markdown;

/// The list of pages.
const SUMMARY: &str = "docs/SUMMARY.md";
/// The table of what keeps each page true.
const KEPT: &str = "docs/kept-true.md";
/// The source that makes doctests of pages.
const DOCTESTS: &str = "crates/fringes/src/pages.rs";
/// A folder of pages that a program writes: one row of the table stands for all.
const GENERATED: &str = "docs/performance/";
/// The page whose snippets are compared with the sources that they show, by tests/kernels_page.rs.
const COMPARED: &str = "docs/kernels.md";

/// What pages lack.
pub(crate) fn faults(root: &Path, pages: &[String]) -> Vec<String> {
    let read = |name: &str| std::fs::read_to_string(root.join(name)).unwrap_or_default();
    let linked = |page: &str| -> Vec<String> {
        let targets = markdown::addresses(&read(page)).into_iter();
        targets.map(|address| resolved(page, &address).to_string_lossy().into_owned()).collect()
    };
    let mut faults = Vec::new();
    for path in markdown::paths(&read(KEPT)).into_iter().filter(|path| !root.join(path).exists()) {
        faults.push(format!("{KEPT}: names {path}, which is not there"));
    }
    let (listed, kept, doctests) = (linked(SUMMARY), linked(KEPT), read(DOCTESTS));
    for page in pages.iter().filter(|page| page.starts_with("docs/") && *page != SUMMARY) {
        if !listed.contains(page) {
            faults.push(format!("{page} is not in {SUMMARY}"));
        }
        if page != KEPT && !page.starts_with(GENERATED) && !kept.contains(page) {
            faults.push(format!("{page} has no row in {KEPT}"));
        }
        let text = read(page);
        let blocks = || text.lines().filter_map(|line| line.trim_start().strip_prefix("```rust"));
        if blocks().any(|rest| !rest.contains("ignore")) && !doctests.contains(&format!("../{page}\"")) {
            faults.push(format!("{page} has Rust that is not compiled; name it in {DOCTESTS}"));
        }
        if page != COMPARED && blocks().any(|rest| rest.contains("ignore")) {
            faults.push(format!(
                "{page} has Rust that nothing compiles; only {COMPARED} may, whose snippets are compared"
            ));
        }
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(page: &str, summary: &str, kept: &str, doctests: &str) -> Vec<String> {
        let root = tempfile::tempdir().unwrap();
        for (name, text) in [("docs/fx.md", page), (SUMMARY, summary), (KEPT, kept), (DOCTESTS, doctests)] {
            let path = root.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        faults(root.path(), &["docs/fx.md".to_owned()])
    }

    #[test]
    fn pages_are_listed_kept_and_compiled() {
        let (page, link) = ("```rust\nf();\n```\n", "[fx](fx.md)");
        let included = "include_str!(\"../../../docs/fx.md\")";
        assert_eq!(of(page, link, link, included), [""; 0]);
        let named = format!("{link} `docs/fx.md` `crates/fringes/src`, `cargo xtask book --check`");
        assert_eq!(of(page, link, &named, included), [""; 0]);
        assert_eq!(of(page, link, &format!("{link} `tests/no.rs`"), included).len(), 1);
        assert_eq!(of(page, "", link, included).len(), 1);
        assert_eq!(of(page, link, "", included).len(), 1);
        assert_eq!(of(page, link, link, "").len(), 1);
        assert_eq!(of("```rust,ignore\nf();\n```\n", link, link, included).len(), 1);
    }
}
