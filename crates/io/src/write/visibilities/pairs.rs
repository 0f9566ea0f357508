//! Pairs of antennas, their polarisation products, and where these lie in the packed lower triangle of inputs.

use fringes_types::{Inputs, Product};
use ndarray::{ArrayView2, Axis, s};
use num_complex::Complex;

/// Pairs of antennas `(ant1, ant2)`, `ant1 <= ant2`, from 0, in the order of files.
pub(in crate::write) fn pairs(inputs: Inputs) -> impl Iterator<Item = (usize, usize)> {
    let antennas = inputs.antennas();
    (0..antennas).flat_map(move |ant1| (ant1..antennas).map(move |ant2| (ant1, ant2)))
}

/// Number of pairs of antennas, autocorrelations included.
pub(in crate::write) fn pair_count(inputs: Inputs) -> u64 {
    let antennas = inputs.antennas() as u64;
    antennas * (antennas + 1) / 2
}

/// Where a polarisation product of a pair of antennas lies.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::write) struct PairProduct {
    /// Position in the packed lower triangle of inputs.
    pub(in crate::write) baseline: usize,
    /// Whether the value there must be conjugated to be `sum x_ant1 conj(x_ant2)`.
    pub(in crate::write) conjugate: bool,
}

/// Products XX, YY, XY, YX of a pair of antennas, the first letter of `ant1`; XX alone for one polarisation.
pub(in crate::write) fn pair_products(inputs: Inputs, ant1: usize, ant2: usize) -> impl Iterator<Item = PairProduct> {
    let pols = inputs.pols();
    [(0, 0), (1, 1), (0, 1), (1, 0)].into_iter().take(pols * pols).map(move |(pol1, pol2)| {
        let (baseline, conjugate) = Product { a: ant1 * pols + pol1, b: ant2 * pols + pol2 }.triangle();
        PairProduct { baseline, conjugate }
    })
}

/// A visibility and its weight as a file can hold them: one that is not finite becomes 0 with its weight made negative.
pub(in crate::write) fn finite_or_flagged(value: Complex<f32>, weight: f32) -> (Complex<f32>, f32) {
    if value.is_finite() { (value, weight) } else { (Complex::default(), -weight.abs()) }
}

/// Visibilities `[channel][baseline]` as `[baseline][channel]`, in tiles that stay in the cache.
pub(in crate::write) fn transpose(visibilities: ArrayView2<'_, Complex<f32>>, transposed: &mut Vec<Complex<f32>>) {
    const TILE: usize = 32;
    let (channels, baselines) = visibilities.dim();
    transposed.resize(channels * baselines, Complex::default());
    for channel in (0..channels).step_by(TILE) {
        for baseline in (0..baselines).step_by(TILE) {
            let tile = s![channel..channels.min(channel + TILE), baseline..baselines.min(baseline + TILE)];
            for (offset, column) in visibilities.slice(tile).axis_iter(Axis(1)).enumerate() {
                let start = (baseline + offset) * channels + channel;
                for (to, from) in transposed[start..].iter_mut().zip(column) {
                    *to = *from;
                }
            }
        }
    }
}
