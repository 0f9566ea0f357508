//! What the pages' Markdown is, for whoever reads it here: tables, and formulas between dollars.

use pulldown_cmark::{BrokenLink, Event, LinkType, Options, Parser, Tag, TagEnd};

/// As mdBook reads pages, with formulas.
pub(crate) const OPTIONS: Options = Options::ENABLE_TABLES
    .union(Options::ENABLE_MATH)
    .union(Options::ENABLE_FOOTNOTES)
    .union(Options::ENABLE_STRIKETHROUGH)
    .union(Options::ENABLE_HEADING_ATTRIBUTES);

/// Links and pictures of a page: where each leads.
pub(crate) fn addresses(page: &str) -> Vec<String> {
    let events = Parser::new_ext(page, OPTIONS);
    events
        .filter_map(|event| match event {
            Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => Some(dest_url.into_string()),
            _ => None,
        })
        .collect()
}

/// Words of code that are paths: with a slash, and without blanks.
pub(crate) fn paths(page: &str) -> Vec<String> {
    let code = Parser::new_ext(page, OPTIONS).filter_map(|event| match event {
        Event::Code(code) => Some(code.into_string()),
        _ => None,
    });
    code.filter(|code| code.contains('/') && !code.contains(' ')).collect()
}

/// Links by names that the page does not define, `[text][name]`.
pub(crate) fn undefined(page: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut note = |link: BrokenLink<'_>| {
        if matches!(link.link_type, LinkType::Reference) {
            names.push(link.reference.into_string());
        }
        None
    };
    Parser::new_with_broken_link_callback(page, OPTIONS, Some(&mut note)).for_each(drop);
    names
}

/// The names that links to a page's headings have, `#like-this`.
pub(crate) fn anchors(page: &str) -> Vec<String> {
    let mut anchors: Vec<String> = Vec::new();
    let mut heading: Option<String> = None;
    for event in Parser::new_ext(page, OPTIONS) {
        match event {
            Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
            Event::Text(text) | Event::Code(text) => {
                if let Some(heading) = &mut heading {
                    heading.push_str(&text);
                }
            }
            Event::End(TagEnd::Heading(_)) => {
                let name = anchor(&heading.take().unwrap_or_default());
                let before = anchors.iter().filter(|other| **other == name).count();
                anchors.push(if before == 0 { name } else { format!("{name}-{before}") });
            }
            _ => {}
        }
    }
    anchors
}

fn anchor(heading: &str) -> String {
    let kept = heading.chars().filter(|character| character.is_alphanumeric() || matches!(character, '-' | '_' | ' '));
    kept.map(|character| if character == ' ' { '-' } else { character }).flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_pictures_and_names_are_found() {
        let page = "[a](b.md#c) ![d](e.png) [f][g] `[h](i)`\n\n[g]: j.md\n\n```\n[k](l)\n```\n";
        assert_eq!(addresses(page), ["b.md#c", "e.png", "j.md"]);
    }

    #[test]
    fn headings_have_anchors() {
        let page = "# The F-engine, as a `stream`\n\n## Limits\n\n## Limits\n";
        assert_eq!(anchors(page), ["the-f-engine-as-a-stream", "limits", "limits-1"]);
    }

    #[test]
    fn names_that_are_not_defined_are_found() {
        assert_eq!(undefined("[some text][name] and [other text][known]\n\n[known]: x.md\n"), ["name"]);
        assert_eq!(undefined("`v[a][b]` of `[channel][time]`, [0, 1]"), [""; 0]);
    }
}
