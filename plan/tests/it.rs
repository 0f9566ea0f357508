//! The program: what it prints, how it ends, and that the page of the book has what it prints.
#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::process::{Command, Output};

fn run(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_fringes-plan")).args(arguments).output().unwrap()
}

/// What the program prints when all is well.
fn printed(arguments: &[&str]) -> String {
    let output = run(arguments);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    assert!(output.stderr.is_empty());
    String::from_utf8(output.stdout).unwrap()
}

/// The one line of a failure, with its exit status.
fn failed(arguments: &[&str]) -> String {
    let output = run(arguments);
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), text.lines().count()), (Some(1), 1), "{arguments:?}: {text}");
    assert!(output.stdout.is_empty());
    text.trim_end().to_owned()
}

fn page() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/plan.md");
    std::fs::read_to_string(path).unwrap()
}

fn is_on_the_page(arguments: &[&str]) {
    let text = printed(arguments);
    let page = page();
    for line in text.lines() {
        assert!(page.lines().any(|other| other == line), "docs/plan.md lacks a line of {arguments:?}:\n{line}");
    }
    assert!(page.contains(text.trim_end()), "docs/plan.md has the lines of {arguments:?} in another order");
}

const QUESTION: [&str; 8] = ["--antennas", "2000", "--bandwidth", "1.3e9", "--channels", "65536", "--bits", "8"];

#[test]
fn a_question_is_answered() {
    let text = printed(&QUESTION);
    for part in [
        "\nF: ",
        "\nX and beams: ",
        "all-to-all                 10.4 TB/s",
        "F                          not measured; at most ",
        "X                          72.6 kW, 295 W a GPU, by energy measured on an H200",
        "\nbottleneck: ",
        "one more GPU for F: ",
        "one more GPU for X and beams: ",
    ] {
        assert!(text.contains(part), "{part:?} is not in:\n{text}");
    }
    let more = [&QUESTION[..], &["--beams", "256", "--roles", "together", "--precision", "half"]].concat();
    let text = printed(&more);
    assert!(text.contains("F, X and beams: ") && !text.contains("not measured; at most"), "{text}");
    for part in ["  F  ", "  X  "] {
        let power = text.lines().find(|line| line.starts_with(part) && line.contains(" a GPU"));
        assert!(power.is_some_and(|line| line.ends_with("measured on an H200")), "{text}");
    }
    assert!(text.lines().any(|line| line.starts_with("  beams  ") && line.ends_with("measured on an H200")), "{text}");
}

#[test]
fn a_machine_that_is_too_small_is_said_to_be() {
    let text = printed(&[&QUESTION[..], &["--antennas-per-f", "100"]].concat());
    assert!(
        text.contains("F: 20 GPUs in 3 hosts, 100 antennas each") && text.contains("it does not keep up"),
        "{text}"
    );
}

#[test]
fn json_has_the_numbers_of_the_text() {
    let text = printed(&QUESTION);
    let json: serde_json::Value = serde_json::from_str(&printed(&[&QUESTION[..], &["--json"]].concat())).unwrap();
    let gpus: u64 = json["ranks"].as_array().unwrap().iter().map(|rank| rank["gpus"].as_u64().unwrap()).sum();
    assert!(text.contains(&format!("on {gpus} GPUs (NVIDIA H200)")), "{text}");
    assert_eq!(json["rates"]["voltages"].as_f64(), Some(4000.0 * 1.3e9 * 2.0));
    let published: serde_json::Value = serde_json::from_str(&printed(&["--published", "--json"])).unwrap();
    assert!(published.as_array().unwrap().len() > 10);
    let scaling: serde_json::Value = serde_json::from_str(&printed(&["--scaling", "100", "--json"])).unwrap();
    assert_eq!(scaling["rows"][0]["simulation"]["messages"].as_u64(), Some(16 * 15));
}

#[test]
fn questions_without_an_answer_end_with_one_line() {
    let with = |name: &'static str, value: &'static str| {
        let mut arguments = QUESTION.to_vec();
        match arguments.iter().position(|other| *other == name) {
            Some(index) => arguments[index + 1] = value,
            None => arguments.extend([name, value]),
        }
        failed(&arguments)
    };
    assert_eq!(with("--antennas", "0"), "error: antennas: expected a number from 1 to 100000, found 0");
    assert_eq!(with("--bits", "7"), "error: bits of voltages: expected 4, 8 or 16, found 7");
    assert_eq!(
        with("--bandwidth", "nan"),
        "error: bandwidth in Hz: expected a number from 1 to 1000000000000, found NaN"
    );
    assert!(with("--channels", "100000").contains("channels of the F-engine: expected a number from 1 to 65536"));
    assert!(with("--bandwidth", "1e12").contains("an antenna is the least that a GPU can have"));
    assert!(with("--gpus-per-host", "0").contains("GPUs of a host"));
    assert!(failed(&["--scaling", "100001"]).contains("ranks: expected a number from 1 to 100000"));
    let few = failed(&["--scaling", "3000", "--levels", "2"]);
    assert_eq!(few, "error: ranks on the fat tree: expected at most 2048, found 3000");
}

#[test]
fn arguments_that_are_none_end_with_status_2_and_help_with_0() {
    for arguments in [&["--antennas", "many"][..], &["--antennas", "64"], &[], &["--published", "--scaling", "16"]] {
        assert_eq!(run(arguments).status.code(), Some(2), "{arguments:?}");
    }
    let help = printed(&["--help"]);
    for option in ["--antennas", "--bandwidth", "--published", "--scaling", "--json", "--oversubscription"] {
        assert!(help.contains(option), "{option}");
    }
}

#[test]
fn the_page_has_the_answer_the_designs_and_the_coefficients() {
    is_on_the_page(&QUESTION);
    is_on_the_page(&["--published"]);
    is_on_the_page(&["--coefficients"]);
}

#[test]
fn the_page_has_the_exchange_of_ten_thousand_ranks() {
    is_on_the_page(&["--scaling", "10000"]);
    is_on_the_page(&["--scaling", "4096", "--oversubscription", "3"]);
}
