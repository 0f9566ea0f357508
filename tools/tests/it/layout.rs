//! The tool `layout`, as a user runs it: every claim holds, pictures are whole, bad arguments are named.

use std::process::Output;

fn run(arguments: &[&str]) -> Output {
    crate::run("layout", arguments)
}

#[test]
fn it_verifies_plans_solves_and_draws() {
    let folder = tempfile::tempdir().unwrap();
    let output = run(&["--transform", "64,128", "--costs", "note", "--svg", &folder.path().to_string_lossy()]);
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(text.lines().filter(|line| line.starts_with("holds  ")).count(), 9);
    assert!(!text.contains("FAILS"));
    // The published transposes under the published costs, and the assignment's price: 160 and half a cycle for each of
    // 48 selects.
    assert!(text.contains("16 permutes, 16 shuffles, 48 selects; 64.00 SM-cycles"), "{text}");
    let price = text.lines().find(|line| line.starts_with("the published assignment")).unwrap();
    assert!(price.contains(" 184.00 SM-cycles"), "{price}");
    assert!(text.contains("# 64 -> 128, solved"));

    let drawings: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(drawings.len() >= 9, "{drawings:?}");
    for drawing in drawings {
        let svg = std::fs::read_to_string(&drawing).unwrap();
        assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"), "{}", drawing.display());
    }
}

#[test]
fn ends_as_memory_has_them_and_splits_are_solved_as_asked_for() {
    let line = |arguments: &[&str]| {
        let output = run(&[&["--transform", "64,128"], arguments].concat());
        assert!(output.status.success(), "{output:?}");
        let text = String::from_utf8(output.stdout).unwrap();
        text.lines().find(|line| line.starts_with("| 64 -> 128 |")).unwrap().to_owned()
    };
    // Factors, products, half2 operations, permutes, others, cost: 2 k8 at 1.02, 2 k16 at 1.56, 10 half2 at 0.28.
    let split = line(&["--ends", "memory"]);
    assert!(split.starts_with("| 64 -> 128 | 3 + 3 | 4 | 10 | 0 | 0 | 7.96 |"), "{split}");
    assert!(!line(&["--ends", "memory", "--no-split"]).contains("| 10 |"));
    assert_eq!(line(&["--split"]), line(&[]));
}

#[test]
fn what_is_no_transform_is_named() {
    for (transform, reason) in [
        ("100,200", "100 is no power of two"),
        ("64", "two numbers with a comma"),
        ("128,64", "as many outputs as inputs"),
        ("2048,4096", "2048 is no power of two from 2 to 1024"),
        ("x,64", "`x` is no number"),
    ] {
        let output = run(&["--transform", transform]);
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{error}");
        assert!(error.contains(reason) && error.trim_end().lines().count() == 1, "{error}");
    }
}
