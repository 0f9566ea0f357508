//! Listings of the public items of the published crates, `docs/api/<crate>.txt`: what a release promises, so that a
//! change of it is a line of a diff. Read from rustdoc's pages, whose names and anchors are addresses and therefore
//! stable.
//!
//! A line is `kind path`, and for what has one, its signature. Signatures are as rustdoc of one compiler prints them:
//! with another compiler, kinds and paths alone are compared.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::package::remove;
use super::runner::Runner;

/// Kinds of items, as rustdoc names their pages.
const KINDS: [&str; 9] = ["struct", "enum", "union", "trait", "fn", "macro", "type", "constant", "static"];
/// Kinds of what belongs to an item, as rustdoc names their anchors.
const MEMBERS: [&str; 6] = ["variant", "structfield", "tymethod", "method", "associatedtype", "associatedconstant"];
/// Where what a type has from traits begins: no part of what its crate promises by itself.
const TRAITS: [&str; 5] = [
    "id=\"trait-implementations\"",
    "id=\"synthetic-implementations\"",
    "id=\"blanket-implementations\"",
    "id=\"implementors\"",
    "id=\"foreign-impls\"",
];

/// Writes the listings, or compares. The documentation must be built (`cargo doc --workspace --no-deps`).
pub(crate) fn run(runner: &Runner, check: bool) -> Result<(), String> {
    let folder = runner.root.join("docs").join("api");
    let compiler = compiler()?;
    let mut texts = BTreeMap::new();
    for name in published(&runner.root)? {
        let pages = runner.target().join("doc").join(name.replace('-', "_"));
        if !pages.join("all.html").exists() {
            return Err(format!("{} is not there; run `cargo doc --workspace --no-deps` first", pages.display()));
        }
        // The facade shows the items of other crates: their members are listed there.
        let items = items(&pages, &name, name != "fringes")?;
        texts.insert(format!("{name}.txt"), format!("# {compiler}\n{}\n", items.join("\n")));
    }
    if !check {
        remove(&folder)?;
        std::fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        for (file, text) in &texts {
            std::fs::write(folder.join(file), text).map_err(|error| format!("{file}: {error}"))?;
        }
        return Ok(());
    }
    let committed: Vec<String> = entries(&folder)?.iter().map(|path| file_name(path)).collect();
    if let Some(other) = committed.iter().find(|file| !texts.contains_key(*file)) {
        return Err(format!("docs/api/{other} is of no published crate; run `cargo xtask api`"));
    }
    let faults: Vec<String> = texts
        .iter()
        .filter_map(|(file, text)| {
            let before = std::fs::read_to_string(folder.join(file)).unwrap_or_default();
            difference(&before, text).map(|line| format!("docs/api/{file}: {line}"))
        })
        .collect();
    if faults.is_empty() {
        Ok(())
    } else {
        Err(format!(
            "{}\nrun `cargo xtask api` if the change is meant; pages of items that are gone stay in target/doc until it is removed",
            faults.join("\n")
        ))
    }
}

/// The first line that one of two listings has alone.
fn difference(before: &str, now: &str) -> Option<String> {
    let whole = before.lines().next() == now.lines().next();
    let lines = |text: &str| -> Vec<String> {
        let cut = |line: &str| if whole { line.to_owned() } else { line.split(": ").next().unwrap_or(line).to_owned() };
        text.lines().skip(1).map(cut).collect()
    };
    let (before, now) = (lines(before), lines(now));
    let gone = before.iter().find(|line| !now.contains(line)).map(|line| format!("gone: {line}"));
    gone.or_else(|| now.iter().find(|line| !before.contains(line)).map(|line| format!("new: {line}")))
}

/// The names of the crates that are published.
fn published(root: &Path) -> Result<Vec<String>, String> {
    let mut manifests: Vec<PathBuf> = entries(&root.join("crates"))?;
    manifests.extend(["device", "emulator"].map(|name| root.join("kernels-rs").join(name)));
    let mut names = Vec::new();
    for path in manifests.iter().map(|folder| folder.join("Cargo.toml")).filter(|path| path.exists()) {
        let text = std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        let name = text.lines().find_map(|line| line.strip_prefix("name = \"")?.strip_suffix('"'));
        names.push(name.ok_or_else(|| format!("{}: no name", path.display()))?.to_owned());
    }
    names.sort();
    Ok(names)
}

/// The compiler's version, as rustdoc's pages are made with.
fn compiler() -> Result<String, String> {
    let output = Command::new("rustc").arg("--version").output().map_err(|error| format!("rustc: {error}"))?;
    Ok(String::from_utf8_lossy(&output.stdout).split_whitespace().take(2).collect::<Vec<_>>().join(" "))
}

/// The items on the pages of a folder and the folders in it.
fn items(folder: &Path, path: &str, members: bool) -> Result<Vec<String>, String> {
    let path = path.replace('-', "_");
    let mut lines = Vec::new();
    for entry in entries(folder)? {
        let file = file_name(&entry);
        if entry.is_dir() {
            let inner = items(&entry, &format!("{path}::{file}"), members)?;
            if entry.join("index.html").exists() {
                lines.push(format!("mod {path}::{file}"));
            }
            lines.extend(inner);
        } else if let [kind, name, "html"] = file.split('.').collect::<Vec<_>>()[..]
            && KINDS.contains(&kind)
        {
            let page = std::fs::read_to_string(&entry).map_err(|error| format!("{}: {error}", entry.display()))?;
            lines.extend(of_page(&page, kind, &format!("{path}::{name}"), members));
        }
    }
    lines.sort();
    Ok(lines)
}

/// An item and its members.
fn of_page(page: &str, kind: &str, path: &str, members: bool) -> Vec<String> {
    let end = TRAITS.iter().filter_map(|mark| page.find(mark)).min().unwrap_or(page.len());
    let page = &page[..end];
    let declaration = between(page, "<pre class=\"rust item-decl\"><code>", "</code></pre>").map(plain);
    let mut lines = match declaration {
        Some(text) if members && matches!(kind, "fn" | "type" | "constant" | "static") => {
            vec![format!("{kind} {path}: {text}")]
        }
        _ => vec![format!("{kind} {path}")],
    };
    if members {
        for part in page.split(" id=\"").skip(1) {
            let Some((anchor, rest)) = part.split_once('"') else { continue };
            let Some((member, name)) = anchor.split_once('.') else { continue };
            if !MEMBERS.contains(&member) {
                continue;
            }
            let signature = match member {
                "variant" | "structfield" => between(rest, "<code>", "</code>"),
                _ => between(rest, "<h4 class=\"code-header\">", "</h4>"),
            };
            lines.push(match signature {
                Some(text) => format!("{member} {path}::{name}: {}", plain(text)),
                None => format!("{member} {path}::{name}"),
            });
        }
    }
    lines
}

fn between<'a>(text: &'a str, from: &str, to: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(from)?;
    rest.split_once(to).map(|(inside, _)| inside)
}

/// The text of a piece of HTML, on one line.
fn plain(html: &str) -> String {
    let mut text = String::new();
    let mut inside = false;
    for character in html.chars() {
        match character {
            '<' => inside = true,
            '>' if inside => inside = false,
            _ if !inside => text.push(character),
            _ => {}
        }
    }
    let text = text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&#39;", "'");
    text.replace("&nbsp;", " ").replace("&amp;", "&").split_whitespace().collect::<Vec<_>>().join(" ")
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// What lies in a folder, by name; nothing, if there is no folder.
fn entries(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Ok(Vec::new()) };
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| entry.ok().map(|entry| entry.path())).collect();
    paths.sort();
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "<pre class=\"rust item-decl\"><code>pub struct Pair&lt;T&gt; { /* private */ }</code></pre>\
        <section id=\"method.swap\" class=\"method\"><h4 class=\"code-header\">pub fn <a href=\"#\">swap</a>(self) -&gt; Self\
        </h4></section><span id=\"structfield.left\"><code>left: T</code></span><h2 id=\"trait-implementations\">\
        <section id=\"method.clone\"><h4 class=\"code-header\">fn clone(&amp;self)</h4></section>";

    #[test]
    fn a_page_gives_its_item_and_members_without_those_of_traits() {
        let lines = of_page(PAGE, "struct", "a::Pair", true);
        let expected =
            ["struct a::Pair", "method a::Pair::swap: pub fn swap(self) -> Self", "structfield a::Pair::left: left: T"];
        assert_eq!(lines, expected);
        assert_eq!(of_page(PAGE, "struct", "a::Pair", false), ["struct a::Pair"]);
    }

    #[test]
    fn a_changed_signature_is_found_with_the_same_compiler_and_a_lost_item_always() {
        let listing = |compiler: &str, lines: &str| format!("# {compiler}\n{lines}\n");
        let before = listing("rustc 1", "fn a::f: pub fn f()\nstruct a::S");
        assert_eq!(difference(&before, &before), None);
        let changed = "fn a::f: pub fn f(x: u8)\nstruct a::S";
        assert_eq!(difference(&before, &listing("rustc 1", changed)), Some("gone: fn a::f: pub fn f()".into()));
        assert_eq!(difference(&before, &listing("rustc 2", changed)), None);
        assert_eq!(difference(&before, &listing("rustc 2", "fn a::f: pub fn f()")), Some("gone: struct a::S".into()));
        let more = format!("{before}fn a::g: pub fn g()\n");
        assert_eq!(difference(&before, &more), Some("new: fn a::g: pub fn g()".into()));
    }
}
