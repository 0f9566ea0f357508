//! What the model says of published designs.

use fringes_plan_model::published::{SOURCES, comparisons};

#[test]
fn rates_and_operations_that_follow_from_a_design_agree_within_a_fifth() {
    let mut compared = 0;
    for comparison in comparisons().unwrap() {
        let exact = ["Gbit/s", "Tbit/s", "TOPS", "T/s", "bytes"].contains(&comparison.unit);
        if let Some(ratio) = comparison.ratio().filter(|_| exact) {
            assert!((ratio - 1.0).abs() < 0.2, "{} {}: {ratio}", comparison.design, comparison.quantity);
            compared += 1;
        }
    }
    assert!(compared >= 8, "{compared}");
}

#[test]
fn what_disagrees_says_why_and_every_number_has_a_source() {
    let all = comparisons().unwrap();
    for comparison in &all {
        let label = format!("{} {}", comparison.design, comparison.quantity);
        assert!(comparison.ours.is_finite() && comparison.ours > 0.0, "{label}");
        assert!(comparison.published.is_none() || !comparison.sources.is_empty(), "{label}");
        assert!(comparison.sources.iter().all(|&source| (1..=SOURCES.len()).contains(&source)), "{label}");
        let far = comparison.ratio().is_none_or(|ratio| !(1.0 / 1.5..=1.5).contains(&ratio));
        assert!(!far || !comparison.why.is_empty(), "{label}");
    }
    for design in ["MeerKAT 64", "MeerKAT 80", "LOFAR COBALT", "MWAX", "CHORD 512", "DSA-2000", "SKA-Low"] {
        assert!(all.iter().any(|comparison| comparison.design == design), "{design}");
    }
    for (index, source) in SOURCES.iter().enumerate() {
        let used = all.iter().any(|comparison| comparison.sources.contains(&(index + 1)));
        assert!(used, "{}", source.citation);
    }
}
