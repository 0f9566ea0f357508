//! Correlation of heaps `[batch][antenna][channel][spectrum][pol]`: copied to `[channel][time][input]` in pieces, and
//! summed.
//!
//! A piece is whole batches of at most 8192 spectra together (at least one batch) and as many channels as the memory
//! limit allows, so that neither threads nor the limit change where float sums are cut. Absent heaps become zeros on
//! the way.

use fringes_types::VoltageSample;
use ndarray::parallel::prelude::*;
use ndarray::{Array2, Array3, ArrayView2, ArrayView5, ArrayViewMut2, Axis, s};

use super::plan::SEGMENT;
use super::{Workspace, accumulate, count_valid, workspace};

/// Bytes of a piece where there is no limit.
const PIECE_BYTES: u64 = 64 << 20;

/// Adds `sum_t x_a(t) conj(x_b(t))` of heaps to `sums`.
///
/// Shapes: `heaps [batch][antenna][channel][spectrum][pol]`, `presence [batch][antenna]`, `sums [channel][baseline]`,
/// of inputs `antenna * pols + pol`. Absent heaps count as zero, whatever the array holds. With `memory_limit_bytes`,
/// temporary memory stays below it (or at the smallest that is possible, see [`heaps_workspace`]); the result is the
/// same.
///
/// # Precision
/// As [`accumulate`], each piece of whole batches of at most 8192 spectra together being a call of its own.
///
/// # Panics
/// If a shape does not agree with the heaps', or the sums are not in standard layout.
pub fn accumulate_heaps<V: VoltageSample>(
    heaps: ArrayView5<'_, V>,
    presence: Option<ArrayView2<'_, bool>>,
    mut sums: ArrayViewMut2<'_, V::Accumulator>,
    memory_limit_bytes: Option<u64>,
) {
    let (batches, antennas, channels, spectra, pols) = heaps.dim();
    if let Some(presence) = presence {
        assert_eq!(presence.dim(), (batches, antennas), "shape of the presence flags");
    }
    assert_eq!(sums.nrows(), channels, "channels of the sums");
    if batches == 0 || channels == 0 || spectra == 0 {
        return;
    }
    let together = (SEGMENT / spectra).clamp(1, batches);
    let one_channel = piece_bytes::<V>(together * spectra, antennas * pols, 1);
    let smallest = workspace(V::FORMAT, 1, together * spectra, antennas * pols).smallest_bytes;
    // Half of a limit at most, and less if the sums could not be worked on in the rest.
    let share =
        memory_limit_bytes.map_or(PIECE_BYTES, |limit| PIECE_BYTES.min(limit / 2).min(limit.saturating_sub(smallest)));
    let channel_step = usize::try_from(share / one_channel.max(1)).unwrap_or(usize::MAX).clamp(1, channels);
    let rest = memory_limit_bytes.map(|limit| limit.saturating_sub(one_channel * channel_step as u64));
    for first in (0..batches).step_by(together) {
        let piece = first..batches.min(first + together);
        let flags = presence.map(|flags| flags.slice_move(s![piece.clone(), ..]));
        for channel in (0..channels).step_by(channel_step) {
            let range = channel..channels.min(channel + channel_step);
            let voltages = to_voltages(heaps.slice(s![piece.clone(), .., range.clone(), .., ..]), flags);
            accumulate(voltages.view(), None, sums.slice_mut(s![range, ..]), rest);
        }
    }
}

/// Voltages `[channel][time][input]` of heaps, zero where absent.
fn to_voltages<V: VoltageSample>(heaps: ArrayView5<'_, V>, presence: Option<ArrayView2<'_, bool>>) -> Array3<V> {
    let (batches, antennas, channels, spectra, pols) = heaps.dim();
    let mut voltages = Array3::from_elem((channels, batches * spectra, antennas * pols), V::zeroed());
    voltages.axis_iter_mut(Axis(0)).into_par_iter().enumerate().for_each(|(channel, mut voltages)| {
        for batch in 0..batches {
            let mut rows = voltages.slice_mut(s![batch * spectra..(batch + 1) * spectra, ..]);
            for antenna in 0..antennas {
                if presence.is_none_or(|flags| flags[(batch, antenna)]) {
                    let heap = heaps.slice(s![batch, antenna, channel, .., ..]);
                    rows.slice_mut(s![.., antenna * pols..(antenna + 1) * pols]).assign(&heap);
                }
            }
        }
    });
    voltages
}

/// Bytes of a piece.
fn piece_bytes<V>(times: usize, inputs: usize, channels: usize) -> u64 {
    (times as u64).saturating_mul(inputs as u64).saturating_mul(channels as u64).saturating_mul(size_of::<V>() as u64)
}

/// Temporary memory that [`accumulate_heaps`] takes, and the least that it can do with.
pub fn heaps_workspace<V: VoltageSample>(channels: usize, batches: usize, spectra: usize, inputs: usize) -> Workspace {
    let times = (SEGMENT / spectra.max(1)).clamp(1, batches.max(1)).saturating_mul(spectra);
    let piece = piece_bytes::<V>(times, inputs, 1);
    let full = usize::try_from(PIECE_BYTES / piece.max(1)).unwrap_or(usize::MAX).clamp(1, channels.max(1));
    let sums = workspace(V::FORMAT, full, times, inputs);
    Workspace {
        full_bytes: sums.full_bytes.saturating_add(piece.saturating_mul(full as u64)),
        smallest_bytes: sums.smallest_bytes.saturating_add(piece),
    }
}

/// Adds to `counts [baseline]` (packed lower triangle of inputs `antenna * pols + pol`) the spectra of heaps of
/// `spectra` spectra at which both inputs are present. `presence` is `[batch][antenna]`.
///
/// # Panics
/// If `counts` does not have one element for every pair of inputs.
pub fn count_valid_heaps(presence: ArrayView2<'_, bool>, pols: usize, spectra: u64, counts: &mut [u64]) {
    let (batches, antennas) = presence.dim();
    let of_inputs = Array2::from_shape_fn((batches, antennas * pols), |(batch, input)| presence[(batch, input / pols)]);
    let mut heaps = vec![0; counts.len()];
    count_valid(of_inputs.view(), &mut heaps);
    for (count, heaps) in counts.iter_mut().zip(heaps) {
        *count += heaps * spectra;
    }
}
