//! The text form of tables and of the cache.
//!
//! ```text
//! # a comment
//! [NVIDIA H200, 9.0]                                                    a device: name, compute capability
//! correlate_i8 channels=64 inputs=128 times=4096 -> sm_90a parts=4      kernel, sizes, choice
//! ```

use std::collections::BTreeMap;

use super::choice::is_word;
use super::table::{Entry, Section};
use super::{Choice, Sizes};

/// A line that is no line of a table.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line} of a tuning table: expected {expected}, found `{actual}`")]
pub struct TableError {
    /// Number of the line, from 1.
    pub line: usize,
    /// What it must be.
    pub expected: &'static str,
    /// What it is.
    pub actual: String,
}

/// Reads all lines; `fault` gets those that cannot be read, and says whether to go on.
pub(super) fn read(
    text: &str,
    mut fault: impl FnMut(TableError) -> Result<(), TableError>,
) -> Result<Vec<Section>, TableError> {
    let mut sections: Vec<Section> = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let content = line.split('#').next().unwrap_or_default().trim();
        if content.is_empty() {
            continue;
        }
        let mut wrong = |expected| fault(TableError { line: index + 1, expected, actual: line.trim().into() });
        if content.starts_with('[') {
            match section(content) {
                Some(section) => sections.push(section),
                None => wrong("[name, major.minor]")?,
            }
            continue;
        }
        match (entry(content), sections.last_mut()) {
            (Some(entry), Some(section)) => section.entries.push(entry),
            (Some(_), None) => wrong("a [name, major.minor] before the first entry")?,
            (None, _) => wrong("kernel size=n ... -> variant parameter=n ...")?,
        }
    }
    Ok(sections)
}

/// Writes sections as they are read.
pub(super) fn write(sections: &[Section]) -> String {
    let mut text = String::new();
    for Section { name, compute_capability: (major, minor), entries } in sections {
        text.push_str(&format!("[{name}, {major}.{minor}]\n"));
        for Entry { kernel, sizes, choice, note } in entries {
            let note = if note.is_empty() { String::new() } else { format!(" # {}", note.replace(['\n', '\r'], " ")) };
            text.push_str(&format!("{kernel} {sizes} -> {choice}{note}\n"));
        }
    }
    text
}

fn section(content: &str) -> Option<Section> {
    let (name, capability) = content.strip_prefix('[')?.strip_suffix(']')?.rsplit_once(',')?;
    let (major, minor) = capability.trim().split_once('.')?;
    let compute_capability = (number(major)?, number(minor)?);
    Some(Section { name: name.trim().into(), compute_capability, entries: Vec::new() })
}

fn entry(content: &str) -> Option<Entry> {
    let (work, choice) = content.split_once("->")?;
    let (mut work, mut choice) = (work.split_whitespace(), choice.split_whitespace());
    let kernel = work.next().filter(|name| name.chars().all(is_word))?.to_owned();
    let sizes = Sizes::from_map(pairs(work)?);
    let mut chosen = Choice::new(choice.next().filter(|name| name.chars().all(is_word))?);
    for (name, value) in pairs(choice)? {
        chosen = chosen.with(&name, value);
    }
    Some(Entry { kernel, sizes, choice: chosen, note: String::new() })
}

/// `name=n` words, each name once.
fn pairs<'a>(words: impl Iterator<Item = &'a str>) -> Option<BTreeMap<String, u64>> {
    let mut pairs = BTreeMap::new();
    for word in words {
        let (name, value) = word.split_once('=')?;
        let fits = !name.is_empty() && name.chars().all(is_word);
        let new = fits && pairs.insert(name.to_owned(), number(value)?).is_none();
        if !new {
            return None;
        }
    }
    Some(pairs)
}

/// A number of digits alone: `parse` takes a sign as well.
fn number<T: std::str::FromStr>(text: &str) -> Option<T> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
}
