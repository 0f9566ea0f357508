//! How a chunk on the host is cut into the pieces that go to a device one after the other.
//!
//! The time of a chunk is counted in *granules*: rows of 128 bytes of voltages and rows, batches of heaps. A piece is
//! some channels of some granules, at most [`PIECE_BYTES`]. While one is copied to pinned memory, others are on the
//! link, packed and correlated: so many pieces of pinned memory and of device memory are taken at once,
//! [`Cutting::slots`] of each.
//!
//! Pieces have many granules before they have many channels, up to [`GOOD_TIMES`] times, so that sums are read and
//! written seldom, and then all channels if they can. Sums that are divided in parts are of all channels.

use std::ops::Range;

use fringes_types::{SampleFormat, VoltageSample};

/// Most bytes of a piece: as short as the link is still used well, since the first one waits for its copy by the host,
/// and the last one's products for nothing.
pub(crate) const PIECE_BYTES: u64 = 16 << 20;

/// Pieces of pinned memory and of device memory that are used in turn, where memory allows it.
const SLOTS: u64 = 3;

/// Times of a piece that are worth more than another channel.
const GOOD_TIMES: usize = 4096;

/// Most times of a launch, a whole number of rows: those that 32-bit sums of every integer format allow, and fewer of
/// floats, whose sums in a launch are f32.
pub(crate) const fn step_times(format: SampleFormat) -> usize {
    match format {
        SampleFormat::Int4 | SampleFormat::Int8 | SampleFormat::Int16 => 65536,
        SampleFormat::Float16 | SampleFormat::Float32 => 8192,
    }
}

/// What the time is cut into.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Granule {
    /// Times.
    pub times: usize,
    /// Bytes of a channel.
    pub bytes: u64,
    /// Bytes of flags.
    pub flag_bytes: u64,
    /// Most granules of a piece.
    pub most: usize,
}

impl Granule {
    /// Granules of so many times.
    pub(crate) fn new<V: VoltageSample>(times: usize, inputs: usize) -> Self {
        let flag_bytes = (times as u64).saturating_mul(inputs as u64);
        let bytes = flag_bytes.saturating_mul(size_of::<V>() as u64);
        Self { times, bytes, flag_bytes, most: (step_times(V::FORMAT) / times.max(1)).max(1) }
    }

    /// Pinned and device memory of pieces: samples and flags in `slots` of each, rows once; with what pools round up.
    pub(crate) fn memory(&self, channels: usize, granules: usize, slots: u64) -> u64 {
        let bytes = self.bytes.saturating_mul(channels as u64);
        let bytes = bytes.saturating_mul(2 * slots + 1).saturating_add(self.flag_bytes.saturating_mul(2 * slots));
        let bytes = bytes.saturating_mul(granules as u64);
        bytes.saturating_add(bytes / 4)
    }

    /// Memory of the smallest piece.
    pub(crate) fn smallest_memory(&self) -> u64 {
        self.memory(1, 1, 1)
    }
}

/// Sizes of pieces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cutting {
    /// Channels of a piece.
    pub channels: usize,
    /// Granules of a piece.
    pub granules: usize,
    /// Pieces of pinned memory and of device memory at once.
    pub slots: usize,
}

/// Most bytes of a piece that is copied from where it lies in pinned memory: each has a pause on the link, and there is
/// no copy by the host to wait for.
pub(crate) const PINNED_PIECE_BYTES: u64 = 2 * PIECE_BYTES;

/// Sizes of pieces of so many channels and granules within a limit of memory; `None` if no piece fits it. `whole` asks
/// for all channels.
pub fn cut(granule: Granule, channels: usize, granules: usize, whole: bool, limit: Option<u64>) -> Option<Cutting> {
    cut_by(PIECE_BYTES, granule, channels, granules, whole, limit)
}

/// As [`cut`], of pieces of at most so many bytes.
pub(crate) fn cut_by(
    most_bytes: u64,
    granule: Granule,
    channels: usize,
    granules: usize,
    whole: bool,
    limit: Option<u64>,
) -> Option<Cutting> {
    let limit = limit.unwrap_or(u64::MAX);
    let slots = (1..=SLOTS).rev().find(|&slots| granule.memory(1, 1, slots) <= limit)?;
    let fits = |channels: usize, granules: usize| {
        let bytes = granule.bytes.saturating_mul(channels as u64).saturating_mul(granules as u64);
        let is_smallest = (channels, granules) == (1, 1);
        (is_smallest || bytes <= most_bytes) && granule.memory(channels, granules, slots) <= limit
    };
    let most = granules.clamp(1, granule.most);
    let good = GOOD_TIMES.div_ceil(granule.times.max(1)).min(most);
    // As many granules of one channel as are good, and then as many channels as fit beside.
    let good = largest(good, |granules| fits(1, granules));
    let of_good = largest(channels.max(1), |channels| fits(channels, good));
    let channels = if whole && fits(channels, 1) { channels.max(1) } else { of_good };
    let granules = largest(most, |granules| fits(channels, granules));
    Some(Cutting { channels, granules, slots: slots as usize })
}

/// The largest number from 1 to `most` that fits, if smaller ones fit where larger ones do; 1 if none does.
fn largest(most: usize, fits: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (1, most.max(1));
    while low < high {
        let middle = low + (high - low).div_ceil(2);
        if fits(middle) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    low
}

/// A piece of a chunk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) channels: Range<usize>,
    /// Times, batches or rows of time: what a granule is or is made of.
    pub(crate) span: Range<usize>,
}

/// The pieces of `channels` channels and a span, channels fastest, of `channel_step` and `span_step` at most.
pub(crate) fn pieces(
    channels: usize,
    span: Range<usize>,
    channel_step: usize,
    span_step: usize,
) -> impl Iterator<Item = Piece> {
    spans(span, span_step).flat_map(move |span| {
        let blocks = spans(0..channels, channel_step);
        blocks.map(move |channels| Piece { channels, span: span.clone() })
    })
}

/// The same pieces with the span fastest: channels are complete one after the other.
pub(crate) fn pieces_by_channels(
    channels: usize,
    span: Range<usize>,
    channel_step: usize,
    span_step: usize,
) -> impl Iterator<Item = Piece> {
    spans(0..channels, channel_step).flat_map(move |channels| {
        spans(span.clone(), span_step).map(move |span| Piece { channels: channels.clone(), span })
    })
}

/// Most parts that sums of one chunk on the host are worth: one, where pieces have so many channels that their products
/// take less time in one part than the pieces on the link.
///
/// A piece of [`GOOD_TIMES`] times of 8-bit or 4-bit samples takes 0.3 ms on a link of 55 GB/s. In one part, a block of
/// the kernels adds its tile's products of as many times in less than 0.1 ms, and each channel has a block. Sums of one
/// part need no step that adds parts, and channels that are complete go back while others come.
pub(crate) fn parts_from_host<V: VoltageSample>(channels: usize, inputs: usize) -> usize {
    let is_fast = matches!(V::FORMAT, SampleFormat::Int4 | SampleFormat::Int8);
    let time_bytes = (channels as u64).saturating_mul(inputs as u64).saturating_mul(size_of::<V>() as u64);
    if is_fast && time_bytes.saturating_mul(GOOD_TIMES as u64) >= PIECE_BYTES { 1 } else { usize::MAX }
}

/// A range in ranges of `step`, the last one shorter.
pub(crate) fn spans(range: Range<usize>, step: usize) -> impl Iterator<Item = Range<usize>> {
    let end = range.end;
    range.step_by(step.max(1)).map(move |start| start..end.min(start.saturating_add(step.max(1))))
}

#[cfg(test)]
mod tests {
    use fringes_types::{Complex, Complex4, f16, row_times};
    use proptest::prelude::*;

    use super::*;

    fn rows<V: VoltageSample>(inputs: usize) -> Granule {
        Granule::new::<V>(row_times(V::FORMAT), inputs)
    }

    #[test]
    fn pieces_of_a_large_chunk_fill_the_link_and_the_device() {
        // 64 stations, 64 channels x 65536 spectra of 8 bits: 16 channels x 4096 times, 1 MiB of each.
        let cutting = cut(rows::<Complex<i8>>(128), 64, 1024, false, None);
        assert_eq!(cutting, Some(Cutting { channels: 16, granules: 64, slots: 3 }));
        // Sums in parts: all channels, fewer times.
        let cutting = cut(rows::<Complex<i8>>(128), 64, 1024, true, None);
        assert_eq!(cutting, Some(Cutting { channels: 64, granules: 16, slots: 3 }));
        // One channel: as many times as a launch may have.
        let cutting = cut(rows::<Complex4>(8), 1, 1 << 20, true, None);
        assert_eq!(cutting, Some(Cutting { channels: 1, granules: 512, slots: 3 }));
        // Heaps of 256 spectra of 64 antennas: 16 batches of 16 channels.
        let heaps = Granule::new::<Complex<i8>>(256, 128);
        assert_eq!(cut(heaps, 1024, 100, false, None), Some(Cutting { channels: 16, granules: 16, slots: 3 }));
    }

    #[test]
    fn sums_of_large_chunks_from_the_host_are_of_one_part() {
        assert_eq!(parts_from_host::<Complex<i8>>(64, 128), 1);
        assert_eq!(parts_from_host::<Complex<i8>>(16, 512), 1);
        assert_eq!(parts_from_host::<Complex<i8>>(16, 128), 1);
        assert_eq!(parts_from_host::<Complex<i8>>(15, 128), usize::MAX);
        assert_eq!(parts_from_host::<Complex4>(16, 128), usize::MAX);
        assert_eq!(parts_from_host::<Complex<f32>>(4096, 128), usize::MAX);
        // Pieces have good times then.
        let cutting = cut(rows::<Complex<i8>>(128), 16, 1024, true, None);
        assert_eq!(cutting, Some(Cutting { channels: 16, granules: 64, slots: 3 }));
    }

    #[test]
    fn a_row_that_is_longer_than_a_piece_goes_alone() {
        let granule = rows::<Complex<f32>>(32768);
        assert!(granule.bytes <= PIECE_BYTES);
        let heaps = Granule::new::<Complex<f16>>(8192, 4096); // 128 MiB a channel and batch
        assert_eq!(cut(heaps, 4, 10, true, None), Some(Cutting { channels: 1, granules: 1, slots: 3 }));
        assert_eq!(cut(heaps, 4, 10, true, Some(heaps.smallest_memory() - 1)), None);
    }

    fn check<V: VoltageSample>(
        [inputs, channels, granules]: [usize; 3],
        whole: bool,
        limit: Option<u64>,
    ) -> Result<(), TestCaseError> {
        let granule = rows::<V>(inputs);
        let Some(cutting) = cut(granule, channels, granules, whole, limit) else {
            prop_assert!(limit.is_some_and(|limit| limit < granule.smallest_memory()));
            return Ok(());
        };
        let Cutting { channels: step, granules: together, slots } = cutting;
        prop_assert!((1..=channels).contains(&step) && (1..=3).contains(&slots));
        prop_assert!((1..=granules.max(1)).contains(&together) && together * granule.times <= step_times(V::FORMAT));
        prop_assert!(limit.is_none_or(|limit| granule.memory(step, together, slots as u64) <= limit));
        Ok(())
    }

    proptest! {
        #[test]
        fn pieces_stay_within_the_limit_and_within_a_launch(
            sizes in [1usize..600, 1usize..5000, 1usize..5000],
            whole: bool,
            limit in proptest::option::of(0u64..1 << 26),
        ) {
            check::<Complex4>(sizes, whole, limit)?;
            check::<Complex<i8>>(sizes, whole, limit)?;
            check::<Complex<f16>>(sizes, whole, limit)?;
            check::<Complex<f32>>(sizes, whole, limit)?;
        }

        #[test]
        fn pieces_cover_every_channel_and_time_once(
            channels in 1usize..20, start in 0usize..20, length in 0usize..50, steps in [1usize..20, 1usize..20],
            by_channels: bool,
        ) {
            let mut seen = vec![0u32; channels * (start + length)];
            let span = start..start + length;
            let all: Vec<_> = if by_channels {
                pieces_by_channels(channels, span, steps[0], steps[1]).collect()
            } else {
                pieces(channels, span, steps[0], steps[1]).collect()
            };
            for pair in all.windows(2).filter(|_| by_channels) {
                // Channels are complete, up to the end of the span, before others begin.
                prop_assert!(pair[0].channels == pair[1].channels || pair[0].span.end == start + length);
            }
            for piece in all {
                prop_assert!(piece.channels.len() <= steps[0] && piece.span.len() <= steps[1]);
                for channel in piece.channels {
                    piece.span.clone().for_each(|at| seen[channel * (start + length) + at] += 1);
                }
            }
            for (place, &count) in seen.iter().enumerate() {
                prop_assert_eq!(count, u32::from(place % (start + length) >= start));
            }
        }
    }
}
