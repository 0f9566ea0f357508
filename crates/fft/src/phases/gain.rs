//! What rounding the phases to f16 does to powers.

use fringes_types::f16;

use super::{chain, element, stage_table};
use crate::{Sign, Size};

/// The mean power of a transform's outputs with phases of f16, relative to exact phases: of each stage the sum of the
/// squares of its numbers over that of the exact ones. 1 if there is no kernel of the size.
///
/// `cos 45°` becomes `1.07e-4` less, and so with it the powers of every output that it is in: the mean of powers is
/// off by more than what is left of the rounding of the numbers themselves.
#[doc(hidden)]
pub fn phase_power(size: Size) -> f64 {
    let stages = chain(size).map_or(&[][..], |chain| chain.stages);
    let outputs = size.outputs() as u64;
    let ratio = |stage: &super::Stage| {
        let table = stage_table(&stage.layout, outputs, Sign::Positive, 1.0);
        let rounded: f64 = table
            .iter()
            .flat_map(|&word| [word as u16, (word >> 16) as u16])
            .map(|bits| f16::from_bits(bits).to_f64().powi(2))
            .sum();
        let exact: f64 = (0..2 * table.len() as u64)
            .map(|place| element(&stage.layout, stage.layout.apply(place), outputs, Sign::Positive).powi(2))
            .sum();
        rounded / exact
    };
    stages.iter().map(ratio).product()
}
