//! The chain's voltages: chosen beams after the map.

use fringes_types::VoltageSample;
use ndarray::ArrayView5;
use num_complex::Complex;

use super::FrbChain;
use crate::blocks::{do_units, time_blocks};

type C32 = Complex<f32>;

/// Times of a unit of work.
const UNIT_TIMES: usize = 64;

/// Writes the voltages `[frequency][time][chosen][pol]` of the chosen beams to `out`, of voltages
/// `[time][frequency][pol][line][feed]`. Any number of times; beams may be chosen twice.
///
/// # Precision
/// With the names of [`frb_powers_into`](super::frb_powers_into), each is off by at most
/// `(lines + 5 + 7 log2(padded)) u sqrt(padded)` times the norm of `a` over the feeds.
///
/// # Panics
/// If shapes do not fit, or a beam is not there.
pub fn frb_voltages_into<V: VoltageSample>(
    chain: &FrbChain<'_>,
    voltages: ArrayView5<'_, V>,
    chosen: &[usize],
    parallel: usize,
    out: &mut [C32],
) {
    let (times, pols, northern) = (voltages.dim().0, chain.pols(), chain.map.ncols());
    let row = chosen.len() * pols;
    assert_eq!(out.len(), chain.frequencies() * times * row, "[frequency][time][chosen][pol]");
    // Those of one `out` beside each other: one transform serves them all.
    let mut order: Vec<usize> = (0..chosen.len()).collect();
    order.sort_by_key(|&number| chosen[number]);
    let of_out = |&number: &usize| chosen[number] / northern;
    let fft = chain.line_fft();
    let beside = fft.get_inplace_scratch_len();
    let new = || vec![C32::default(); chain.padded + beside];
    do_units(time_blocks(out, times, row, UNIT_TIMES), parallel, new, |scratch, unit| {
        let (line, beside) = scratch.split_at_mut(chain.padded);
        let map = chain.map.row(unit.channel);
        for (number, values) in unit.out.chunks_mut(row).enumerate() {
            for pol in 0..pols {
                for same in order.chunk_by(|a, b| of_out(a) == of_out(b)) {
                    let place = [unit.first_time + number, unit.channel, pol, of_out(&same[0])];
                    chain.line_beams(&voltages, place, &*fft, line, beside);
                    for &beam in same {
                        values[beam * pols + pol] = line[map[chosen[beam] % northern] as usize];
                    }
                }
            }
        }
    });
}
