//! docs/performance and docs/pictures/rates.svg from the measurement records.
//!
//! A record is a JSON object `{"date", "machine" | "gpu", "commit", "rows": [{"kernel", "variant", "params", "value",
//! "unit", "floor", "bound_by", "check"}]}`. docs/performance/README.md is one page: ours beside the best peer. Each
//! topic has a page of its own with all rows, newest record first. The chart is drawn from the lines of the summary.

mod chart;
mod numbers;
mod peers;
mod record;
mod summary;
mod tables;
mod topics;

use std::path::{Path, PathBuf};

/// Folder of the pages, and file of the chart.
const PAGES: &str = "docs/performance";
const CHART: &str = "docs/pictures/rates.svg";
/// What mends a stale file.
const MEND: &str = "run `cargo xtask performance`";

/// Writes the pages and the chart, or with `check` fails if one differs from what would be written.
pub(crate) fn run(root: &Path, check: bool) -> Result<(), String> {
    let files = files(&root.join("docs/measurements"))?;
    let unknown = others(&root.join(PAGES), &files)?;
    if check {
        let stale =
            files.iter().find(|(path, text)| std::fs::read_to_string(root.join(path)).ok().as_ref() != Some(text));
        return match (stale, unknown.first()) {
            (Some((path, _)), _) => Err(format!("{} is stale; {MEND}", path.display())),
            (None, Some(path)) => Err(format!("{} is no page of a topic; {MEND}", path.display())),
            (None, None) => Ok(()),
        };
    }
    for (path, text) in files {
        let path = root.join(path);
        let failed = |error| format!("{}: {error}", path.display());
        path.parent().map_or(Ok(()), std::fs::create_dir_all).map_err(failed)?;
        std::fs::write(&path, text).map_err(failed)?;
    }
    unknown
        .iter()
        .try_for_each(|path| std::fs::remove_file(path).map_err(|error| format!("{}: {error}", path.display())))
}

/// All files with their texts, paths relative to the root.
fn files(measurements: &Path) -> Result<Vec<(PathBuf, String)>, String> {
    let records = record::load(measurements)?;
    let peers = peers::load(&measurements.join("peers.json"))?;
    let lines = summary::lines(&records, &peers)?;
    let mut files = vec![
        (PathBuf::from(PAGES).join("README.md"), summary::page(&lines)),
        (PathBuf::from(CHART), chart::draw(&lines)?),
    ];
    files.extend(topics::TOPICS.iter().map(|topic| {
        let page = tables::page(topic, &records, &peers);
        (PathBuf::from(PAGES).join(format!("{}.md", topic.file)), page)
    }));
    let lost = topics::without_topic(&records);
    if lost.is_empty() { Ok(files) } else { Err(format!("no topic shows the rows of {}", lost.join(", "))) }
}

/// Files of the pages' folder that are not among those that are written.
fn others(folder: &Path, files: &[(PathBuf, String)]) -> Result<Vec<PathBuf>, String> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Ok(Vec::new()) };
    let ours = |path: &PathBuf| files.iter().any(|(file, _)| file.file_name() == path.file_name());
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| entry.ok().map(|entry| entry.path())).collect();
    paths.retain(|path| !ours(path));
    paths.sort();
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_written_once_and_a_changed_record_makes_them_stale() {
        let root = tempfile::tempdir().unwrap();
        let real = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join("docs/measurements");
        let folder = root.path().join("docs/measurements");
        std::fs::create_dir_all(folder.join("checks")).unwrap();
        for part in ["", "checks"] {
            for entry in std::fs::read_dir(real.join(part)).unwrap().map(Result::unwrap) {
                if entry.path().is_file() {
                    std::fs::copy(entry.path(), folder.join(part).join(entry.file_name())).unwrap();
                }
            }
        }
        assert!(run(root.path(), true).unwrap_err().contains("is stale; run `cargo xtask performance`"));
        std::fs::create_dir_all(root.path().join(PAGES)).unwrap();
        std::fs::write(root.path().join(PAGES).join("old.md"), "old").unwrap();
        run(root.path(), false).unwrap();
        assert!(!root.path().join(PAGES).join("old.md").exists());
        run(root.path(), true).unwrap();
        let peers = folder.join("peers.json");
        let text = std::fs::read_to_string(&peers).unwrap();
        std::fs::write(&peers, text.replace("\"value\": 436", "\"value\": 536")).unwrap();
        assert!(run(root.path(), true).unwrap_err().contains("docs/performance/README.md is stale"));
    }
}
