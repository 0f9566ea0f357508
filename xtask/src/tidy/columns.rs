//! Lines of prose end where code does, at 120 columns. rustfmt wraps neither comments nor what macros are called with,
//! and nothing wraps Markdown.
//!
//! Held are comments of Rust files and the Markdown files. Not held are rows of tables, whose cells cannot be wrapped,
//! lines that are one word behind their mark (an address), and in Markdown what programs print (blocks of `text`).

/// Columns of a line, as rustfmt.toml has it.
const COLUMNS: usize = 120;

/// Pages that a program writes, which says itself how wide they are.
const GENERATED: [&str; 1] = ["docs/performance"];

/// Lines of a file that are too wide.
pub(super) fn faults(file: &str, text: &str) -> Vec<String> {
    let held: fn(&str) -> bool = if file.ends_with(".rs") {
        |line| line.trim_start().starts_with("//")
    } else if file.ends_with(".md") && !GENERATED.iter().any(|folder| file.starts_with(folder)) {
        |_| true
    } else {
        return Vec::new();
    };
    let mut printed = false;
    let long = text.lines().enumerate().filter(|(_, line)| {
        if line.starts_with("```") && file.ends_with(".md") {
            printed = *line == "```text";
        }
        let may_be_wide = printed || is_row_of_a_table(line) || is_one_word(line);
        line.chars().count() > COLUMNS && held(line) && !may_be_wide
    });
    long.map(|(index, line)| {
        format!("{file}:{}: {} columns of prose; {COLUMNS} are allowed", index + 1, line.chars().count())
    })
    .collect()
}

/// The text behind the marks of comments, lists and quotations.
fn content(line: &str) -> &str {
    line.trim_start_matches([' ', '/', '!', '-', '*', '>'])
}

fn is_row_of_a_table(line: &str) -> bool {
    content(line).starts_with('|')
}

fn is_one_word(line: &str) -> bool {
    let text = content(line);
    let text = text.split_once("]: ").map_or(text, |(_, address)| address);
    !text.contains(' ')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_end_where_code_does() {
        let text = |columns: usize| format!("//! Fits.\n    // {} y\n", "x".repeat(columns - 9));
        assert_eq!(faults("crates/types/src/lib.rs", &text(120)), [""; 0]);
        let found = faults("crates/types/src/lib.rs", &text(121));
        assert_eq!(found, ["crates/types/src/lib.rs:2: 121 columns of prose; 120 are allowed"]);
        let code = format!("let x = \"{} y\";", "x".repeat(200));
        assert_eq!(faults("crates/types/src/lib.rs", &code), [""; 0]);
    }

    #[test]
    fn pages_end_there_too_but_for_tables_and_addresses() {
        let wide = "x ".repeat(61);
        assert_eq!(faults("docs/kernels.md", &wide).len(), 1);
        assert_eq!(faults("docs/kernels.md", &format!("| {wide} |")), [""; 0]);
        assert_eq!(faults("docs/kernels.md", &format!("[a]: {}", "x".repeat(200))), [""; 0]);
        assert_eq!(faults("docs/kernels.md", &format!("```text\n{wide}\n```\n")), [""; 0]);
        assert_eq!(faults("docs/kernels.md", &format!("```text\n```\n{wide}\n")).len(), 1);
        assert_eq!(faults("docs/performance/fft.md", &wide), [""; 0]);
        assert_eq!(faults("Cargo.toml", &wide), [""; 0]);
        assert_eq!(faults("crates/types/src/lib.rs", &format!("//! | {wide} |")), [""; 0]);
    }
}
