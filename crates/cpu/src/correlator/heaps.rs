//! Correlation of heaps `[batch][antenna][channel][spectrum][pol]`: copied to `[channel][time][input]` in pieces, and
//! summed.
//!
//! A piece is whole batches of at most 8192 spectra together (at least one batch) and as many channels as the memory
//! limit allows, so that neither threads nor the limit change where float sums are cut. Absent heaps become zeros on
//! the way.

use std::ops::Range;

use fringes_types::VoltageSample;
use ndarray::parallel::prelude::*;
use ndarray::{Array2, Array3, ArrayView2, ArrayView5, ArrayViewMut2, Axis, s};

use super::plan::SEGMENT;
use super::{Selection, Workspace, accumulate, count_valid, workspace};

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
    sums: ArrayViewMut2<'_, V::Accumulator>,
    memory_limit_bytes: Option<u64>,
) {
    accumulate_heaps_selected(heaps, presence.into(), sums, memory_limit_bytes);
}

/// [`accumulate_heaps`] of a selection: some times, counted through all batches, and no masked channels. Its flags are
/// `[batch][antenna]`.
///
/// # Precision
/// As there; each piece is of as many times as a piece of whole batches.
///
/// # Panics
/// As there, and if the selection is of times or channels that the heaps do not have.
pub fn accumulate_heaps_selected<V: VoltageSample>(
    heaps: ArrayView5<'_, V>,
    selection: Selection<'_>,
    mut sums: ArrayViewMut2<'_, V::Accumulator>,
    memory_limit_bytes: Option<u64>,
) {
    let (batches, antennas, channels, spectra, pols) = heaps.dim();
    let all = batches * spectra;
    selection.check(channels, all, (batches, antennas));
    assert_eq!(sums.nrows(), channels, "channels of the sums");
    let times = selection.times.map_or(all, <[usize]>::len);
    if times == 0 || channels == 0 {
        return;
    }
    let together = (SEGMENT / spectra).max(1) * spectra;
    let most = together.min(times.next_multiple_of(spectra));
    let one_channel = piece_bytes::<V>(most, antennas * pols, 1);
    let smallest = workspace(V::FORMAT, 1, most, antennas * pols).smallest_bytes;
    // Half of a limit at most, and less if the sums could not be worked on in the rest.
    let share =
        memory_limit_bytes.map_or(PIECE_BYTES, |limit| PIECE_BYTES.min(limit / 2).min(limit.saturating_sub(smallest)));
    let channel_step = usize::try_from(share / one_channel.max(1)).unwrap_or(usize::MAX).clamp(1, channels);
    let rest = memory_limit_bytes.map(|limit| limit.saturating_sub(one_channel * channel_step as u64));
    for first in (0..times).step_by(together) {
        let piece = first..times.min(first + together);
        for channel in (0..channels).step_by(channel_step) {
            let range = channel..channels.min(channel + channel_step);
            let voltages = to_voltages(heaps, &selection, piece.clone(), range.clone());
            accumulate(voltages.view(), None, sums.slice_mut(s![range, ..]), rest);
        }
    }
}

/// Voltages `[channel][time][input]` of the selected times of these positions, zero where absent or masked.
fn to_voltages<V: VoltageSample>(
    heaps: ArrayView5<'_, V>,
    selection: &Selection<'_>,
    positions: Range<usize>,
    channels: Range<usize>,
) -> Array3<V> {
    let (_, antennas, _, spectra, pols) = heaps.dim();
    let mut voltages = Array3::from_elem((channels.len(), positions.len(), antennas * pols), V::zeroed());
    voltages.axis_iter_mut(Axis(0)).into_par_iter().enumerate().for_each(|(channel, mut voltages)| {
        let channel = channels.start + channel;
        for run in runs(selection, channel, spectra, positions.clone()) {
            let first = selection.time(run.start);
            let (batch, start) = (first / spectra, first % spectra);
            let times = s![batch, .., channel, start..start + run.len(), ..];
            let mut rows = voltages.slice_mut(s![run.start - positions.start..run.end - positions.start, ..]);
            let is_present = |antenna| selection.presence.is_none_or(|flags| flags[(batch, antenna)]);
            if run.len() < SHORT {
                // Views would take longer than what they show.
                for antenna in (0..antennas).filter(|&antenna| is_present(antenna)) {
                    for (offset, pol) in (0..run.len()).flat_map(|offset| (0..pols).map(move |pol| (offset, pol))) {
                        let value = heaps[(batch, antenna, channel, start + offset, pol)];
                        rows[(offset, antenna * pols + pol)] = value;
                    }
                }
                continue;
            }
            for (antenna, heap) in
                heaps.slice(times).outer_iter().enumerate().filter(|&(antenna, _)| is_present(antenna))
            {
                rows.slice_mut(s![.., antenna * pols..(antenna + 1) * pols]).assign(&heap);
            }
        }
    });
    voltages
}

/// Times of a run that are copied one by one.
const SHORT: usize = 16;

/// Positions in runs of times that follow each other in one batch and are not masked.
fn runs(
    selection: &Selection<'_>,
    channel: usize,
    spectra: usize,
    positions: Range<usize>,
) -> impl Iterator<Item = Range<usize>> {
    let is_masked = move |time| selection.mask.is_some_and(|mask| mask.is_masked(channel, time));
    let mut next = positions.start;
    std::iter::from_fn(move || {
        while next < positions.end && is_masked(selection.time(next)) {
            next += 1;
        }
        let start = next;
        if start >= positions.end {
            return None;
        }
        let first = selection.time(start);
        let left = spectra - first % spectra;
        while next < positions.end && next - start < left {
            let time = selection.time(next);
            if time != first + (next - start) || is_masked(time) {
                break;
            }
            next += 1;
        }
        Some(start..next)
    })
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
