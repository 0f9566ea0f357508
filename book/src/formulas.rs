//! Formulas of the pages, `$...$` and `$$...$$` in LaTeX, become MathML, which browsers draw by themselves: a book
//! needs no network and no script to be read.
//!
//! The pages keep LaTeX, which is what hosts of repositories draw.

use pulldown_cmark::{Event, Parser, Tag, TagEnd};
use pulldown_latex::config::DisplayMode;
use pulldown_latex::{Parser as LatexParser, RenderConfig, Storage, push_mathml};

use crate::markdown;

/// A page with MathML in place of its formulas, or what is wrong with one of them.
pub(crate) fn to_mathml(page: &str) -> Result<String, String> {
    let mut text = String::with_capacity(page.len());
    let (mut from, mut in_code) = (0, false);
    for (event, range) in Parser::new_ext(page, markdown::OPTIONS).into_offset_iter() {
        let (latex, display) = match &event {
            Event::InlineMath(latex) => (latex, DisplayMode::Inline),
            Event::DisplayMath(latex) => (latex, DisplayMode::Block),
            Event::Start(Tag::CodeBlock(_)) | Event::End(TagEnd::CodeBlock) => {
                in_code = !in_code;
                continue;
            }
            Event::Text(words) if !in_code && words.contains('$') => {
                return Err(format!(
                    "`{words}`: a dollar that is no formula's; Markdown took the lines for something else"
                ));
            }
            _ => continue,
        };
        let mathml = formula(latex, display).map_err(|error| format!("`{}`: {error}", latex.trim()))?;
        text.push_str(&page[from..range.start]);
        text.push_str(&unmarked(&mathml));
        from = range.end;
    }
    text.push_str(&page[from..]);
    Ok(text)
}

fn formula(latex: &str, display_mode: DisplayMode) -> Result<String, String> {
    let storage = Storage::new();
    let events: Result<Vec<_>, _> = LatexParser::new(latex, &storage).collect();
    let events = events.map_err(|error| error.to_string())?;
    let mut mathml = String::new();
    let config = RenderConfig { display_mode, ..RenderConfig::default() };
    push_mathml(&mut mathml, events.into_iter().map(Ok::<_, std::convert::Infallible>), config)
        .map_err(|error| error.to_string())?;
    Ok(mathml)
}

/// MathML on one line, with no character between its tags that Markdown would take for a mark.
fn unmarked(mathml: &str) -> String {
    let mut text = String::with_capacity(mathml.len());
    let mut in_tag = false;
    for character in mathml.chars() {
        match character {
            '<' => in_tag = true,
            '>' => in_tag = false,
            '\n' => {
                text.push(' ');
                continue;
            }
            mark if !in_tag && mark.is_ascii_punctuation() && !matches!(mark, '&' | '#' | ';') => {
                text.push_str(&format!("&#{};", u32::from(mark)));
                continue;
            }
            _ => {}
        }
        text.push(character);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formulas_become_mathml_and_the_rest_stays() {
        let text = to_mathml("A $x_a^*$ and `$code$`.\n\n$$\n\\sum_t x\n$$\n\n```sh\necho $HOME $PATH\n```\n").unwrap();
        assert_eq!(text.matches("<math").count(), 2, "{text}");
        assert!(text.contains("<msubsup>") && text.contains("display=\"block\""), "{text}");
        assert!(text.contains("`$code$`") && text.contains("echo $HOME $PATH"), "{text}");
    }

    #[test]
    fn what_is_no_latex_is_an_error_that_quotes_it() {
        let error = to_mathml("$\\frac{1}$").unwrap_err();
        assert!(error.contains("\\frac{1}"), "{error}");
        assert!(to_mathml("$\\unheardof$").is_err());
        assert!(to_mathml("$$\nx\n+ y\n$$").is_err()); // a line with a plus is the item of a list
    }

    #[test]
    fn no_mark_of_markdown_is_left_in_a_formula() {
        let text = to_mathml("$a * b * c$ and $d_e * f_g$").unwrap();
        let html = {
            let mut html = String::new();
            pulldown_cmark::html::push_html(&mut html, Parser::new_ext(&text, markdown::OPTIONS));
            html
        };
        assert!(!html.contains("<em>"), "{html}");
        assert_eq!(html.matches("<mo>*</mo>").count() + html.matches("<mo>∗</mo>").count(), 3, "{html}");
    }
}
