//! docs/kernels.md shows code that is compiled and tested: every Rust snippet is, letter for letter, in the file that
//! it names.
#![allow(clippy::panic)] // helper functions of tests

use std::path::Path;

/// The repository.
fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}

/// Files and snippets of the page: a comment `<!-- file -->` stands before each block of Rust.
fn snippets(page: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut file = None;
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        if let Some(name) = line.strip_prefix("<!-- ").and_then(|rest| rest.strip_suffix(" -->")) {
            file = Some(name.to_owned());
        } else if line.starts_with("```rust") {
            let text: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
            let file = file.take().unwrap_or_else(|| panic!("no file is named before the snippet `{}`", text[0]));
            found.push((file, text.join("\n")));
        }
    }
    found
}

#[test]
fn every_snippet_is_in_the_file_that_it_names() {
    let root = root();
    let page = std::fs::read_to_string(root.join("docs/kernels.md")).unwrap();
    let snippets = snippets(&page);
    assert_eq!(snippets.len(), page.matches("```rust").count());
    assert!(snippets.len() >= 5);
    for (file, snippet) in snippets {
        let source = std::fs::read_to_string(root.join(&file)).unwrap();
        assert!(source.contains(&snippet), "docs/kernels.md shows what {file} does not have:\n{snippet}");
    }
}
