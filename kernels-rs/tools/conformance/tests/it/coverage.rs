//! Every intrinsic of `fringes-device` is named by a case. Intrinsics are found in the sources: the functions of
//! `intrinsic!` blocks, and the rows of macros that make such blocks.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use fringes_device::layout::atoms::matrix::{MOVES, MOVMATRIX};
use fringes_device::layout::atoms::mma::MMAS;
use fringes_device::layout::atoms::wgmma::{WGMMAS, Wgmma};
use fringes_kernels_tools_conformance::{cases, emulate};

/// Blanks comments, strings and character literals; offsets stay.
fn code_only(source: &str) -> Vec<u8> {
    let bytes = source.as_bytes();
    let mut code = bytes.to_vec();
    let mut at = 0;
    while at < bytes.len() {
        let end = match bytes[at] {
            b'/' if bytes[at + 1..].starts_with(b"/") => {
                at + bytes[at..].iter().position(|&b| b == b'\n').unwrap_or(bytes.len() - at)
            }
            b'"' => {
                let mut end = at + 1;
                while bytes[end] != b'"' {
                    end += if bytes[end] == b'\\' { 2 } else { 1 };
                }
                end + 1
            }
            b'\'' if bytes.get(at + 2) == Some(&b'\'') => at + 3,
            _ => {
                at += 1;
                continue;
            }
        };
        code[at..end].fill(b' ');
        at = end;
    }
    code
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// The text inside of the bracket that opens at or after `from`, and the offset behind it.
fn bracketed(code: &[u8], from: usize) -> Option<(&[u8], usize)> {
    let open = from + code[from..].iter().position(|b| b"({[".contains(b))?;
    let mut depth = 0;
    for (at, byte) in code.iter().enumerate().skip(open) {
        match byte {
            b'(' | b'{' | b'[' => depth += 1,
            b')' | b'}' | b']' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some((&code[open + 1..at], at + 1));
        }
    }
    None
}

/// Splits outside of brackets.
fn split(code: &[u8], separator: u8) -> Vec<&[u8]> {
    let (mut depth, mut start, mut parts) = (0, 0, Vec::new());
    for (at, &byte) in code.iter().enumerate() {
        match byte {
            b'(' | b'{' | b'[' => depth += 1,
            b')' | b'}' | b']' => depth -= 1,
            _ if byte == separator && depth == 0 => {
                parts.push(&code[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&code[start..]);
    parts
}

/// Offsets of `word` in `code` where it is no part of a longer word.
fn find(code: &[u8], word: &str) -> Vec<usize> {
    let word = word.as_bytes();
    (0..code.len().saturating_sub(word.len() - 1))
        .filter(|&at| code[at..].starts_with(word))
        .filter(|&at| at == 0 || !is_word(code[at - 1]))
        .filter(|&at| !is_word(word[word.len() - 1]) || code.get(at + word.len()).is_none_or(|&byte| !is_word(byte)))
        .collect()
}

/// The word that begins at the start of `code`.
fn word(code: &[u8]) -> String {
    String::from_utf8_lossy(&code[..code.iter().position(|&byte| !is_word(byte)).unwrap_or(code.len())]).into_owned()
}

/// The last word before the first parenthesis.
fn name_of_field(field: &[u8]) -> String {
    let field = &field[..field.iter().position(|&byte| byte == b'(').unwrap_or(field.len())];
    String::from_utf8_lossy(field)
        .split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .rfind(|word| !word.is_empty())
        .unwrap_or_default()
        .to_owned()
}

/// Names of functions in `code`, `$name` with its sign.
fn functions(code: &[u8]) -> Vec<String> {
    let name = |at: usize| {
        let rest = &code[at + 3..];
        if rest.first() == Some(&b'$') { format!("${}", word(&rest[1..])) } else { word(rest) }
    };
    let starts = |at: &usize| {
        let before = String::from_utf8_lossy(&code[..*at]);
        before.trim_end().ends_with("pub") || before.trim_end().ends_with("pub unsafe")
    };
    find(code, "fn ").into_iter().filter(starts).map(name).collect()
}

/// Numbers of the comma-separated fields that hold the names of intrinsics, in a row of the macro whose definition is
/// `code`.
fn name_fields(code: &[u8]) -> Vec<usize> {
    let mut fields: Vec<usize> = functions(code)
        .into_iter()
        .filter(|name| name.starts_with('$'))
        .map(|name| {
            let at = *find(code, &format!("{name}:ident"))
                .first()
                .expect("a function's name is an identifier of the pattern");
            // Back to the bracket that the pattern's row opens with.
            let (mut depth, mut commas) = (0, 0);
            for &byte in code[..at].iter().rev() {
                match byte {
                    b')' | b'}' | b']' => depth += 1,
                    b'(' | b'{' | b'[' if depth == 0 => break,
                    b'(' | b'{' | b'[' => depth -= 1,
                    b',' if depth == 0 => commas += 1,
                    _ => {}
                }
            }
            commas
        })
        .collect();
    fields.dedup();
    fields
}

/// Intrinsics of one source file.
fn intrinsics_of(source: &str) -> BTreeSet<String> {
    let mut code = code_only(source);
    let mut names = BTreeSet::new();
    // Macros first; their definitions are blanked then.
    let mut macros = BTreeMap::new();
    for at in find(&code.clone(), "macro_rules!") {
        let copy = code.clone();
        let name = word(&copy[at + "macro_rules! ".len()..]);
        let Some((body, end)) = bracketed(&copy, at) else { continue };
        if !find(body, "intrinsic!").is_empty() && name != "intrinsic" {
            macros.insert(name, name_fields(body));
        }
        code[at..end].fill(b' ');
    }
    for at in find(&code, "intrinsic!") {
        names.extend(bracketed(&code, at).into_iter().flat_map(|(body, _)| functions(body)));
    }
    for (name, fields) in &macros {
        // Called by name, or named to another macro that calls it, `registers!(8 product (...))`; an item, so not
        // indented.
        let item = |at: &usize| {
            let line = code[..*at].iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
            is_word(code[line])
        };
        let calls: Vec<_> = find(&code, name).into_iter().filter(item).filter_map(|at| bracketed(&code, at)).collect();
        assert!(!calls.is_empty(), "no call of {name}!");
        for (body, _) in calls {
            for row in split(body, b';').into_iter().filter(|row| !row.iter().all(u8::is_ascii_whitespace)) {
                let row = split(row, b',');
                names.extend(fields.iter().map(|&field| name_of_field(row[field])));
            }
        }
    }
    names
}

/// Files of a folder and of those in it.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

/// Intrinsics of `fringes-device`.
fn intrinsics() -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for path in files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../device/src")) {
        if path.extension().is_some_and(|extension| extension == "rs")
            && path.file_name().is_none_or(|name| name != "intrinsic.rs")
        {
            names.extend(intrinsics_of(&std::fs::read_to_string(path).unwrap()));
        }
    }
    names
}

#[test]
fn functions_of_blocks_and_rows_of_macros_are_found() {
    let source = r#"
intrinsic! { /// Doc: pub fn no() {}
    pub fn plain(a: u32) -> u32 { device => { concat!("pub fn string()") } emulator => { helper(a) } }
    pub unsafe fn constant<const N: u32>() { device => {} emulator => {} } }
fn helper() {}
macro_rules! rows { ($space:tt $($(#[$m:meta])* $one:ident, $t:ty, $two:ident(x), $w:literal;)*) => { intrinsic! { $(
    pub fn $one() {} pub unsafe fn $two() {} )* } }; }
rows! { global first_one, [i32; 4], first_two(a: u32, b), "x, y; z"; second_one, (), second_two, 'x'; }
macro_rules! single { ($n:literal ($name:ident, $k:literal)) => { intrinsic! { pub fn $name() {} } }; }
each!(8 single (by_callback, 3));
macro_rules! other { ($f:ident) => { pub fn $f() {} }; }
other!(no_intrinsic);
"#;
    let expected = ["plain", "constant", "first_one", "first_two", "second_one", "second_two", "by_callback"];
    assert_eq!(intrinsics_of(source), expected.map(String::from).into());
}

/// `trap` ends the launch with an error: no case can come back from it.
const WITHOUT_CASE: [&str; 1] = ["trap"];

#[test]
fn every_intrinsic_has_a_case() {
    let all = cases();
    let named: BTreeSet<&str> = all.iter().flat_map(|case| case.intrinsics).copied().collect();
    let missing: Vec<_> = intrinsics()
        .into_iter()
        .filter(|name| !named.contains(name.as_str()) && !WITHOUT_CASE.contains(&name.as_str()))
        .collect();
    assert!(missing.is_empty(), "{} intrinsics without a case: {}", missing.len(), missing.join(" "));
}

#[test]
fn layout_atoms_are_those_of_the_intrinsics() {
    let of = |stems: &[&str]| -> BTreeSet<String> {
        intrinsics().into_iter().filter(|name| stems.iter().any(|stem| name.starts_with(stem))).collect()
    };
    assert_eq!(of(&["mma_"]), MMAS.iter().map(|mma| mma.name.to_owned()).collect());
    let moves = MOVES.iter().map(|form| form.name).chain([MOVMATRIX.name]);
    assert_eq!(of(&["ldmatrix_", "stmatrix_", "movmatrix_"]), moves.map(str::to_owned).collect());
    // A name is `wgmma_mma_async_`, shape, types, and of half of them `_a_registers`.
    let products = of(&["wgmma_mma_async_"]);
    let named = |n: usize, product: &Wgmma| {
        format!("wgmma_mma_async_m64n{n}k{}_{}", product.k, product.types.replace('.', "_"))
    };
    let mut left: BTreeSet<&str> = products.iter().map(String::as_str).collect();
    for product in &WGMMAS {
        for n in (8..=256).step_by(8).filter(|&n| products.contains(&named(n, product))) {
            assert!(left.remove(named(n, product).as_str()));
            assert!(left.remove(format!("{}_a_registers", named(n, product)).as_str()), "{}", named(n, product));
        }
        assert!(products.contains(&named(256, product)), "{}", product.types);
    }
    assert!(left.is_empty(), "no atom of {left:?}");
}

#[test]
fn cases_name_intrinsics_that_exist() {
    let known = intrinsics();
    for case in cases() {
        for name in case.intrinsics {
            assert!(known.contains(*name), "case {}: no intrinsic {name}", case.name);
        }
    }
}

#[test]
fn what_cases_execute_was_found_in_the_sources() {
    let known = intrinsics();
    for case in cases() {
        for name in emulate(&case, &case.input_of(0)).1.instructions.keys() {
            assert!(known.contains(*name), "case {} executes {name}, which no source declares", case.name);
        }
    }
}
