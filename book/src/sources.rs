//! Links from pages to what is not in docs/: sources. A book is read without them, so they lead to the repository where
//! book.toml names one (`git-repository-url`), and are words without a link otherwise.

use pulldown_cmark::{Event, Parser, Tag, TagEnd};

use crate::links::{is_elsewhere, resolved};
use crate::markdown;

/// A page of docs/ (named from the root) with such links rewritten.
pub(crate) fn rewritten(page: &str, text: &str, repository: Option<&str>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut from = 0;
    let mut open: Option<(std::ops::Range<usize>, String, Option<std::ops::Range<usize>>)> = None;
    for (event, range) in Parser::new_ext(text, markdown::OPTIONS).into_offset_iter() {
        match event {
            Event::Start(Tag::Link { dest_url, .. }) => {
                let path = resolved(page, dest_url.split('#').next().unwrap_or_default());
                let inside = path.starts_with("docs") || is_elsewhere(&dest_url);
                open = (!inside).then(|| (range, path.to_string_lossy().into_owned(), None));
            }
            Event::End(TagEnd::Link) => {
                if let Some((whole, path, Some(inner))) = open.take() {
                    out.push_str(&text[from..whole.start]);
                    let words = &text[inner];
                    match repository {
                        Some(url) => {
                            out.push_str(&format!("[{words}]({}/blob/main/{path})", url.trim_end_matches('/')))
                        }
                        None => out.push_str(words),
                    }
                    from = whole.end;
                }
            }
            _ => {
                if let Some((.., inner)) = &mut open {
                    let start = inner.as_ref().map_or(range.start, |inner| inner.start);
                    *inner = Some(start..range.end);
                }
            }
        }
    }
    out.push_str(&text[from..]);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_out_of_the_book_lead_to_the_repository_or_are_words() {
        let text = "[`saxpy`](../kernels-rs/tools/saxpy), [fx](fx.md), [site](https://x.y), [README](../README.md#a).";
        assert_eq!(
            rewritten("docs/kernels.md", text, Some("https://host/f/")),
            "[`saxpy`](https://host/f/blob/main/kernels-rs/tools/saxpy), [fx](fx.md), [site](https://x.y), \
             [README](https://host/f/blob/main/README.md)."
        );
        let plain = rewritten("docs/kernels.md", text, None);
        assert_eq!(plain, "`saxpy`, [fx](fx.md), [site](https://x.y), README.");
    }
}
