//! Which samples and results a lane has, as code.

use fringes_layout::{Layout, Name};

use super::names::{lanes, register_names};

/// The order of registers at an end of a transform: indices ascending.
pub(crate) fn ordered(layout: &Layout) -> Vec<Name> {
    let mut names = register_names(layout);
    names.sort_by_key(|name| name.number().unwrap_or(usize::MAX));
    names
}

/// Checks that registers 2 i and 2 i + 1 hold both parts of neighbours.
pub(crate) fn check(layout: &Layout, stem: &str) -> Result<(), String> {
    let lowest = Name::numbered(stem, 0).map_err(|error| error.to_string())?;
    let inside = layout.physical().iter().zip(0..).find(|(name, _)| name.stem() == "b");
    let parts = inside.is_some_and(|(_, at)| super::names::held(layout, at).as_str() == "ReIm");
    if ordered(layout).first() == Some(&lowest) && parts {
        Ok(())
    } else {
        Err(format!("the ends of a transform need b<->ReIm and {lowest} in a register: {layout}"))
    }
}

/// The first pair of a lane as an expression of `lane`: its bits moved to where they count in the index, halved.
pub(crate) fn lane_pair(layout: &Layout) -> String {
    let mut moves: Vec<(isize, u32)> = Vec::new();
    for (bit, name) in lanes(layout) {
        let Some(number) = name.number().filter(|number| *number > 0) else { continue };
        let shift = number as isize - 1 - bit as isize;
        match moves.iter_mut().find(|(other, _)| *other == shift) {
            Some((_, mask)) => *mask |= 1 << bit,
            None => moves.push((shift, 1 << bit)),
        }
    }
    let terms: Vec<String> = moves
        .iter()
        .map(|(shift, mask)| match shift {
            0 => format!("(lane & {mask:#x})"),
            1.. => format!("((lane & {mask:#x}) << {shift})"),
            _ => format!("((lane & {mask:#x}) >> {})", -shift),
        })
        .collect();
    match &terms[..] {
        [] => "0".into(),
        [one] => one.trim_start_matches('(').trim_end_matches(')').into(),
        many => many.join(" | "),
    }
}

/// The pair of registers `2 pair`, `2 pair + 1` relative to the lane's first.
pub(crate) fn register_pair(layout: &Layout, pair: usize) -> usize {
    ordered(layout)
        .iter()
        .enumerate()
        .skip(1)
        .filter(|(bit, _)| pair << 1 >> bit & 1 == 1)
        .map(|(_, name)| 1 << (name.number().unwrap_or(1) - 1))
        .sum()
}
