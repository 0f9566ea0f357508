//! The program as a whole: its help names every tool, every tool has help, completions are made.

use std::process::{Command, Output};

/// Runs the program itself.
fn program(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_fringes-tools")).args(arguments).output().unwrap()
}

/// The tools that help lists.
fn tools() -> Vec<String> {
    let output = program(&["--help"]);
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    let listed = text.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    listed.filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect()
}

#[test]
fn every_tool_is_listed_and_teaches_its_options() {
    let tools = tools();
    for tool in ["validate", "bench", "bench-cpu", "xengine", "soak", "tune", "conformance", "fft-model", "layout"] {
        assert!(tools.iter().any(|name| name == tool), "{tool} is not in {tools:?}");
    }
    for tool in &tools {
        let output = crate::run(tool, &["--help"]);
        assert!(output.status.success() && output.stderr.is_empty(), "{tool}: {output:?}");
        assert!(String::from_utf8(output.stdout).unwrap().contains(&format!("fringes-tools {tool}")), "{tool}");
    }
}

#[test]
fn completions_name_the_tools() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let output = crate::run("completions", &[shell]);
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success() && text.contains("fft-model") && text.contains("dump-samples"), "{shell}");
    }
    assert_eq!(crate::run("completions", &["tcsh"]).status.code(), Some(2));
}

#[test]
fn a_tool_that_is_not_there_is_one_line_and_status_2() {
    let output = program(&["benchmark"]);
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), error.trim_end().lines().count()), (Some(2), 1), "{error}");
    assert!(error.contains("benchmark"), "{error}");
    assert_eq!(program(&[]).status.code(), Some(2));
}
