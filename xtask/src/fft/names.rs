//! Layouts by names: which bit is at which place.

use fringes_layout::{Layout, Name};

/// The logical bits of the register bits, lowest first; `0` where a register bit holds nothing.
pub(crate) fn register_names(layout: &Layout) -> Vec<Name> {
    let mut names: Vec<(usize, Name)> = (0..layout.physical().len())
        .filter(|&at| layout.physical().get(at).stem() == "r" && layout.column(at) != 0)
        .map(|at| (layout.physical().get(at).number().unwrap_or(0), held(layout, at)))
        .collect();
    names.sort_by_key(|(number, _)| *number);
    names.into_iter().map(|(_, name)| name).collect()
}

/// The logical bit that a physical bit of a permutation holds.
pub(crate) fn held(layout: &Layout, at: usize) -> Name {
    layout.logical().get(layout.column(at).trailing_zeros() as usize)
}

/// The lane bits and what they hold.
pub(crate) fn lanes(layout: &Layout) -> Vec<(usize, Name)> {
    (0..layout.physical().len())
        .filter(|&at| layout.physical().get(at).stem() == "t" && layout.column(at) != 0)
        .map(|at| (layout.physical().get(at).number().unwrap_or(0), held(layout, at)))
        .collect()
}

/// Registers of a layout.
pub(crate) fn registers(layout: &Layout) -> usize {
    1 << layout.physical().iter().filter(|name| name.stem() == "r").count()
}

/// The register of `to` (names of its register bits) that has the values of register `register` of `from`; bits that
/// `to` lacks are left out.
pub(crate) fn translated(register: usize, from: &[Name], to: &[Name]) -> usize {
    to.iter().enumerate().fold(0, |found, (bit, name)| {
        let at = from.iter().position(|other| other == name);
        found | at.map_or(0, |at| register >> at & 1) << bit
    })
}
