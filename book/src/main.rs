//! Builds the book: the pages of `docs/` as HTML in `target/book`.
//!
//! ```text
//! fringes-book            checks the pages and builds the book
//! fringes-book --check    only checks them
//! ```
//!
//! mdBook makes the pages (as a library, so nothing is installed); formulas become MathML before ([`formulas`]), and
//! links to sources lead to the repository ([`sources`]). Checked are all links and headings ([`links`]), and that
//! every page is listed, kept true by something that is named, and has its Rust compiled ([`pages`]). Run it at the
//! workspace's root; `cargo xtask book` does.

mod formulas;
mod links;
mod markdown;
mod pages;
mod sources;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use mdbook_driver::MDBook;
use mdbook_driver::book::{Book, BookItem};
use mdbook_driver::errors::{Error, Result};
use mdbook_preprocessor::{Preprocessor, PreprocessorContext};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let check = arguments == ["--check"];
    if !check && !arguments.is_empty() {
        eprintln!("fringes-book: takes --check or nothing");
        return ExitCode::from(2);
    }
    let root = Path::new(".");
    let result = checked(root).and_then(|pages| if check { Ok(format!("{pages} pages")) } else { built(root, pages) });
    match result {
        Ok(done) => {
            println!("{done}");
            ExitCode::SUCCESS
        }
        Err(message) => {
            eprintln!("fringes-book: {message}");
            ExitCode::FAILURE
        }
    }
}

/// The number of pages, if all are as they must be.
fn checked(root: &Path) -> std::result::Result<usize, String> {
    let pages = found(root).map_err(|error| format!("docs: {error}"))?;
    let mut faults = links::faults(root, &pages);
    faults.extend(pages::faults(root, &pages));
    if faults.is_empty() { Ok(pages.len()) } else { Err(format!("{} faults\n{}", faults.len(), faults.join("\n"))) }
}

/// Builds the book and says where it is.
fn built(root: &Path, pages: usize) -> std::result::Result<String, String> {
    let mut book = MDBook::load(root).map_err(|error| format!("{error:#}"))?;
    book.with_preprocessor(Pages);
    book.build().map_err(|error| format!("{error:#}"))?;
    Ok(format!("{pages} pages in {}", book.build_dir_for("html").display()))
}

/// The pages: README, changelog and all of docs/, named from the root and in order.
fn found(root: &Path) -> std::io::Result<Vec<String>> {
    let mut pages = vec!["CHANGELOG.md".to_owned(), "README.md".to_owned()];
    let mut folders = vec![PathBuf::from("docs")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(root.join(&folder))? {
            let entry = entry?;
            let path = folder.join(entry.file_name());
            if entry.file_type()?.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                pages.push(path.to_string_lossy().replace('\\', "/"));
            }
        }
    }
    pages.sort();
    Ok(pages)
}

/// What is done to pages before mdBook makes HTML of them.
struct Pages;

impl Preprocessor for Pages {
    fn name(&self) -> &'static str {
        "pages"
    }

    fn run(&self, context: &PreprocessorContext, mut book: Book) -> Result<Book> {
        let repository: Option<String> = context.config.get("output.html.git-repository-url")?;
        let mut fault = None;
        book.for_each_mut(|item| {
            let BookItem::Chapter(chapter) = item else { return };
            let Some(path) = chapter.source_path.as_ref() else { return };
            let page = format!("docs/{}", path.to_string_lossy().replace('\\', "/"));
            let text = sources::rewritten(&page, &chapter.content, repository.as_deref());
            match formulas::to_mathml(&text) {
                Ok(text) => chapter.content = text,
                Err(error) => fault = Some(format!("{page}: {error}")),
            }
        });
        match fault {
            Some(fault) => Err(Error::msg(fault)),
            None => Ok(book),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The workspace's own pages.
    #[test]
    fn every_link_leads_somewhere_and_every_page_is_kept_true() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let pages = found(&root).unwrap();
        assert!(pages.len() > 10);
        assert_eq!(checked(&root), Ok(pages.len()));
    }

    /// Every formula of them.
    #[test]
    fn every_formula_becomes_mathml() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        for page in found(&root).unwrap() {
            let text = std::fs::read_to_string(root.join(&page)).unwrap();
            assert!(formulas::to_mathml(&text).is_ok(), "{page}: {:?}", formulas::to_mathml(&text));
        }
    }
}
