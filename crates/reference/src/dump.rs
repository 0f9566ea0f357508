//! Dumps: which spectra are summed together, what a dump is stamped, and how sums become 32 bits.
//!
//! An F-engine sends *heaps* of [`Schedule::spectra_per_heap`] spectra; heaps of all antennas with the same timestamp
//! are a *batch*; a dump sums `heaps_per_dump` batches. Timestamps are ADC samples:
//!
//! ```text
//! heap_timestamp_step  = spectra_per_heap * samples_between_spectra
//! timestamp_difference = heap_timestamp_step * heaps_per_dump
//! accumulation_time    = timestamp_difference / adc_sample_rate          (seconds; samples / (samples / second))
//! ```
//!
//! Dump `d` is stamped `d * timestamp_difference` and holds the spectra whose stamps `s` satisfy
//! `d * timestamp_difference <= s < (d + 1) * timestamp_difference`. For `samples_between_spectra` 4,
//! `spectra_per_heap` 2, `heaps_per_dump` 3 (`timestamp_difference` 24), a stream that starts at spectrum 20:
//!
//! | stamp of the spectrum | 20 | 24 | 28 | 32 | ... | 44 | 48 | ... |
//! |---|---|---|---|---|---|---|---|---|
//! | dump | 0 | 1 | 1 | 1 | ... | 1 | 2 | ... |
//! | stamp of the dump | 0 | 24 | | | | | 48 | |
//!
//! Here dump 0 covers six spectra of which one arrived.

use std::collections::BTreeMap;

use ndarray::{Array1, Array2, ArrayView2, ArrayView3, Axis};
use num_complex::Complex;

use crate::correlator::correlate_int;

/// The lengths that make up a dump.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Schedule {
    /// ADC samples from one spectrum to the next.
    pub samples_between_spectra: u64,
    /// Spectra in a heap.
    pub spectra_per_heap: u64,
    /// Heaps (of each antenna) in a dump.
    pub heaps_per_dump: u64,
}

impl Schedule {
    /// ADC samples from one heap to the next: `spectra_per_heap * samples_between_spectra`.
    pub fn heap_timestamp_step(&self) -> u64 {
        self.spectra_per_heap * self.samples_between_spectra
    }

    /// ADC samples from one dump to the next: `heap_timestamp_step * heaps_per_dump`.
    pub fn timestamp_difference(&self) -> u64 {
        self.heap_timestamp_step() * self.heaps_per_dump
    }

    /// Spectra that a dump covers.
    pub fn spectra_per_dump(&self) -> u64 {
        self.spectra_per_heap * self.heaps_per_dump
    }

    /// Seconds that a dump covers: `timestamp_difference / adc_sample_rate`.
    pub fn accumulation_seconds(&self, adc_sample_rate_hz: f64) -> f64 {
        self.timestamp_difference() as f64 / adc_sample_rate_hz
    }

    /// The dump that a spectrum belongs to: `floor(stamp / timestamp_difference)`.
    pub fn dump_of(&self, stamp: u64) -> u64 {
        stamp / self.timestamp_difference()
    }

    /// Stamp of a dump: a whole multiple of the timestamp difference.
    pub fn stamp_of(&self, dump: u64) -> u64 {
        dump * self.timestamp_difference()
    }
}

/// One dump.
#[derive(Debug, Clone, PartialEq)]
pub struct Dump {
    /// ADC sample that the dump is stamped with.
    pub timestamp: u64,
    /// Exact sums `[channel][baseline]`, packed lower triangle.
    pub sums: Array2<Complex<i64>>,
    /// Spectra of each baseline with both inputs present.
    pub valid: Array1<u64>,
}

/// Sums spectra into dumps: every dump from the first spectrum's to the last's, those without a spectrum included.
///
/// Shapes: `stamps [time]`, in any order, `voltages [channel][time][input]`, `presence [time][input]`.
///
/// # Panics
/// If a length of the schedule is 0, if two spectra have the same stamp, or if the shapes do not agree.
pub fn integrate(
    schedule: &Schedule,
    stamps: &[u64],
    voltages: ArrayView3<'_, Complex<i64>>,
    presence: Option<ArrayView2<'_, bool>>,
) -> Vec<Dump> {
    let mut members: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
    for (time, &stamp) in stamps.iter().enumerate() {
        assert!(!stamps[..time].contains(&stamp), "two spectra are stamped {stamp}");
        members.entry(schedule.dump_of(stamp)).or_default().push(time);
    }
    let (Some((&first, _)), Some((&last, _))) = (members.first_key_value(), members.last_key_value()) else {
        return Vec::new();
    };
    (first..=last)
        .map(|dump| {
            let times = members.get(&dump).cloned().unwrap_or_default();
            let selected = voltages.select(Axis(1), &times);
            let flags = presence.map(|flags| flags.select(Axis(0), &times));
            let sums = correlate_int(selected.view(), flags.as_ref().map(|flags| flags.view()));
            Dump { timestamp: schedule.stamp_of(dump), sums: sums.sums, valid: sums.valid }
        })
        .collect()
}

/// Largest magnitude of a part of a 32-bit visibility: `2^31 - 1`.
pub const LIMIT_32: i64 = (1 << 31) - 1;

/// MeerKAT's mark of a baseline that is affected by missing data. Clamped sums never reach its real part.
pub const MISSING_MARK: Complex<i32> = Complex::new(i32::MIN, 1);

/// Clamps both parts to `+-(2^31 - 1)`; the second value says whether either was outside.
pub fn clamp_32(sum: Complex<i64>) -> (Complex<i32>, bool) {
    let clamped = Complex::new(sum.re.clamp(-LIMIT_32, LIMIT_32), sum.im.clamp(-LIMIT_32, LIMIT_32));
    (Complex::new(clamped.re as i32, clamped.im as i32), clamped != sum)
}

/// A dump in 32 bits and the number of visibilities that were clamped, one per complex value.
///
/// With `covered_spectra`, a baseline with fewer valid spectra than that holds [`MISSING_MARK`] in every channel, and
/// its values are not counted as clamped.
pub fn to_32_bits(dump: &Dump, covered_spectra: Option<u64>) -> (Array2<Complex<i32>>, u64) {
    let mut saturated = 0;
    let data = Array2::from_shape_fn(dump.sums.dim(), |(channel, baseline)| {
        if covered_spectra.is_some_and(|covered| dump.valid[baseline] < covered) {
            return MISSING_MARK;
        }
        let (value, clamped) = clamp_32(dump.sums[(channel, baseline)]);
        saturated += u64::from(clamped);
        value
    });
    (data, saturated)
}

#[cfg(test)]
mod tests {
    use ndarray::Array3;

    use super::*;

    /// MeerKAT L band, 1712 MS/s, 4096 channels of a real signal, 0.5 s dumps.
    const MEERKAT: Schedule = Schedule { samples_between_spectra: 8192, spectra_per_heap: 256, heaps_per_dump: 408 };

    fn ones(times: usize) -> Array3<Complex<i64>> {
        Array3::from_elem((1, times, 1), Complex::new(1, 0))
    }

    #[test]
    fn meerkat_dumps_take_half_a_second() {
        assert_eq!(MEERKAT.heap_timestamp_step(), 2_097_152);
        assert_eq!(MEERKAT.timestamp_difference(), 855_638_016);
        let seconds = MEERKAT.accumulation_seconds(1712e6);
        assert!((seconds - 0.5).abs() < 0.5 * MEERKAT.heap_timestamp_step() as f64 / 1712e6, "{seconds}");
    }

    #[test]
    fn boundaries_are_whole_multiples_wherever_the_stream_starts() {
        let schedule = Schedule { samples_between_spectra: 4, spectra_per_heap: 2, heaps_per_dump: 3 };
        for start in [0u64, 20, 24, 26, 1_000_000_000_000_004] {
            let stamps: Vec<u64> = (0..17).map(|time| start + 4 * time).collect();
            let dumps = integrate(&schedule, &stamps, ones(17).view(), None);
            assert_eq!(dumps[0].timestamp, start / 24 * 24);
            for dump in &dumps {
                assert_eq!(dump.timestamp % 24, 0);
                let members = stamps.iter().filter(|&&s| (dump.timestamp..dump.timestamp + 24).contains(&s)).count();
                assert_eq!(dump.valid[0], members as u64);
                assert_eq!(dump.sums[(0, 0)], Complex::new(members as i64, 0));
            }
            let inner = &dumps[1..dumps.len() - 1];
            assert!(inner.iter().all(|dump| dump.valid[0] == schedule.spectra_per_dump()));
        }
    }

    #[test]
    fn a_dump_with_nothing_valid_is_still_produced() {
        let schedule = Schedule { samples_between_spectra: 1, spectra_per_heap: 1, heaps_per_dump: 4 };
        // Stamps 0..4 and 8..12: dump 1 has no spectrum; in dump 2 nothing is present.
        let stamps = [0, 1, 2, 3, 8, 9, 10, 11];
        let presence = Array2::from_shape_fn((8, 1), |(time, _)| time < 4);
        let dumps = integrate(&schedule, &stamps, ones(8).view(), Some(presence.view()));
        assert_eq!(dumps.iter().map(|dump| dump.valid[0]).collect::<Vec<_>>(), [4, 0, 0]);
        let (marked, saturated) = to_32_bits(&dumps[1], Some(4));
        assert_eq!((marked[(0, 0)], saturated), (MISSING_MARK, 0));
        assert_eq!(to_32_bits(&dumps[1], None).0[(0, 0)], Complex::new(0, 0));
    }

    #[test]
    fn clamping_is_symmetric_and_counted_once_per_complex_value() {
        let limit = LIMIT_32 as i32;
        assert_eq!(clamp_32(Complex::new(LIMIT_32, -LIMIT_32)), (Complex::new(limit, -limit), false));
        assert_eq!(clamp_32(Complex::new(LIMIT_32 + 1, 0)), (Complex::new(limit, 0), true));
        assert_eq!(clamp_32(Complex::new(0, -LIMIT_32 - 1)), (Complex::new(0, -limit), true));
        let both = Complex::new(i64::MIN, i64::MAX);
        assert_eq!(clamp_32(both), (Complex::new(-limit, limit), true));
        let dump = Dump { timestamp: 0, sums: Array2::from_elem((3, 1), both), valid: Array1::from_elem(1, 9) };
        assert_eq!(to_32_bits(&dump, None).1, 3);
    }

    #[test]
    fn the_mark_is_no_clamped_value() {
        for value in [i64::MIN, -LIMIT_32 - 1, -LIMIT_32, 0, LIMIT_32, i64::MAX] {
            assert_ne!(clamp_32(Complex::new(value, 1)).0, MISSING_MARK);
        }
    }
}
