//! What must not be in PTX: paths of the machine that built it, and code that can panic.

use crate::BuildError;

/// Refuses PTX that can panic: calls into `core::panicking` and the functions that end there.
pub(crate) fn check_panics(ptx: &str) -> Result<(), BuildError> {
    const MARKS: [&str; 4] = ["9panicking", "13unwrap_failed", "13expect_failed", "begin_unwind"];
    let mut symbols: Vec<String> = Vec::new();
    for word in ptx.split(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '$' | '.'))) {
        if MARKS.iter().any(|mark| word.contains(mark)) && !symbols.iter().any(|symbol| symbol == word) {
            // `NAME_param_0` and the like follow the function's own name.
            if !symbols.iter().any(|symbol| word.starts_with(symbol.as_str())) {
                symbols.push(word.into());
            }
        }
    }
    if symbols.is_empty() { Ok(()) } else { Err(BuildError::Panics { symbols }) }
}

/// Refuses PTX with one of `paths` in its text or in its data (`.b8 name[4] = {47, 116, 109, 112};`).
pub(crate) fn check_paths(ptx: &str, paths: &[String]) -> Result<(), BuildError> {
    let data: Vec<String> = ptx.lines().filter_map(bytes).map(|bytes| String::from_utf8_lossy(&bytes).into()).collect();
    for path in paths.iter().filter(|path| path.len() > 1) {
        if ptx.contains(path.as_str()) || data.iter().any(|text| text.contains(path.as_str())) {
            return Err(BuildError::MachinePath { path: path.clone() });
        }
    }
    Ok(())
}

/// The bytes of a line that initialises an array of them.
fn bytes(line: &str) -> Option<Vec<u8>> {
    let (declaration, values) = line.split_once(" = {")?;
    if !declaration.contains(".b8 ") {
        return None;
    }
    // Addresses and masks of addresses may stand among the numbers; they are no text.
    Some(values.trim_end_matches("};").split(',').map(|value| value.trim().parse().unwrap_or(0)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn panic_is_refused_by_name() {
        let symbol = "_ZN4core9panicking18panic_bounds_check17h0123456789abcdefE";
        let ptx = format!(".func {symbol}(\n.param .b64 {symbol}_param_0\n)\ncall.uni {symbol}, (x);");
        let BuildError::Panics { symbols } = check_panics(&ptx).unwrap_err() else { panic!() };
        assert_eq!(symbols, [symbol]);
        check_panics(".visible .entry panicking_is_no_mangled_name()").unwrap();
    }

    #[test]
    fn path_is_found_in_text_and_in_data() {
        let paths = ["/some/where".to_owned()];
        let data: Vec<String> = "/some/where/x.rs".bytes().map(|byte| byte.to_string()).collect();
        let data = format!(".global .align 1 .b8 anon[16] = {{{}}};", data.join(", "));
        for ptx in ["// /some/where/x.rs", data.as_str()] {
            assert!(matches!(check_paths(ptx, &paths), Err(BuildError::MachinePath { path }) if path == "/some/where"));
        }
        check_paths(".global .align 1 .b8 anon[3] = {47, 115, 111};\n// /some/other", &paths).unwrap();
    }
}
