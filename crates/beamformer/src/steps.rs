//! How much is sent to a device at once.

use fringes_backend::MemoryNeed;
use fringes_cpu::blocks::parallel_units;
use fringes_types::{Inputs, VoltageSample, row_times};

use crate::BeamSet;

/// Device memory for voltages, flags and beams of one step where the backend sets no limit.
const WORKSPACE_BYTES: u64 = 1 << 30;

/// Sizes of a channel and time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Sizes {
    pub(crate) inputs: usize,
    pub(crate) beams: usize,
    /// Bytes of a voltage and of a beam.
    bytes: [usize; 2],
    /// What a launch counts of a channel and time.
    rows: usize,
    /// Times of a row, if voltages become rows first.
    row_times: Option<usize>,
}

impl Sizes {
    /// Of a set's beams of voltages `V`.
    pub(crate) fn of<V: VoltageSample, B: BeamSet + ?Sized>(set: &B, inputs: Inputs) -> Self {
        let bytes = [size_of::<V>(), size_of::<B::Output>()];
        let row_times = set.packs().then(|| row_times(V::FORMAT));
        Self { inputs: inputs.len(), beams: set.beams(inputs), bytes, rows: set.launch_rows().max(1), row_times }
    }

    /// What the CPU needs, with so much scratch for a unit of work.
    pub(crate) fn cpu_memory(&self, channels: usize, times: usize, unit: u64) -> MemoryNeed {
        let workspace_bytes = unit.saturating_mul(parallel_units(None, unit) as u64);
        MemoryNeed { workspace_bytes, smallest_step_bytes: unit, ..self.arrays(channels, times) }
    }

    /// Device memory that is taken, but for gains and phases. The workspace is what steps of at most 1 GiB need; a
    /// limit makes steps smaller.
    pub(crate) fn gpu_memory(&self, channels: usize, times: usize) -> MemoryNeed {
        MemoryNeed {
            workspace_bytes: Step::new(self, channels, times, None).bytes(self),
            smallest_step_bytes: Step { channels: 1, times: 1 }.bytes(self),
            ..self.arrays(channels, times)
        }
    }

    /// Whether voltages become rows first.
    pub(crate) fn packs(&self) -> bool {
        self.row_times.is_some()
    }

    /// Bytes of the times that fill a channel's last row, of so many times.
    fn padding(&self, times: u64) -> u64 {
        let times = self.row_times.map_or(0, |row| times.next_multiple_of(row as u64) - times);
        times.saturating_mul((self.inputs as u64).saturating_mul(self.bytes[0] as u64))
    }

    /// Input and output.
    fn arrays(&self, channels: usize, times: usize) -> MemoryNeed {
        let bytes = |each: usize, bytes: usize| {
            [channels, times, each, bytes].iter().fold(1u64, |product, &n| product.saturating_mul(n as u64))
        };
        MemoryNeed {
            input_bytes: bytes(self.inputs, self.bytes[0]),
            output_bytes: bytes(self.beams, self.bytes[1]),
            ..MemoryNeed::default()
        }
    }
}

/// What is sent at once: all times of some channels, or some times of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Step {
    pub(crate) channels: usize,
    pub(crate) times: usize,
}

/// A step's place among all channels and times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) channels: [usize; 2],
    pub(crate) times: [usize; 2],
}

impl Step {
    /// The largest step within the limit; the smallest there is if not even that fits.
    pub(crate) fn new(sizes: &Sizes, channels: usize, times: usize, limit: Option<u64>) -> Self {
        let limit = limit.unwrap_or(WORKSPACE_BYTES);
        // Units of a launch are counted in 32 bits.
        let units = u32::MAX as usize / sizes.rows;
        let all = times;
        // What a time takes, but for times that only fill a row.
        let time = Self { channels: 1, times: 1 }.bytes(sizes) - sizes.padding(1);
        let left = limit.saturating_sub(sizes.padding(1));
        let times = usize::try_from(left / time.max(1)).unwrap_or(all).clamp(1, all.min(units).max(1));
        let whole = Self { channels: 1, times };
        let flags = (times as u64).saturating_mul(sizes.inputs as u64);
        let each = whole.bytes(sizes).saturating_sub(flags).max(1);
        let left = usize::try_from(limit.saturating_sub(flags) / each).unwrap_or(usize::MAX);
        let whole = left.min(units / times).clamp(1, channels.max(1));
        Self { channels: if times < all { 1 } else { whole }, times }
    }

    /// Device memory of voltages, flags and beams.
    pub(crate) fn bytes(&self, sizes: &Sizes) -> u64 {
        let (channels, times) = (self.channels as u64, self.times as u64);
        let of = |count: usize, bytes: usize| (count as u64).saturating_mul(bytes as u64);
        let voltages = of(sizes.inputs, sizes.bytes[0]);
        let spectrum = voltages.saturating_add(of(sizes.beams, sizes.bytes[1]));
        let flags = times.saturating_mul(sizes.inputs as u64);
        let rows = match sizes.row_times {
            Some(row) => channels.saturating_mul(times.next_multiple_of(row as u64)).saturating_mul(voltages),
            None => 0,
        };
        channels.saturating_mul(times).saturating_mul(spectrum).saturating_add(flags).saturating_add(rows)
    }

    /// The parts of so many channels and times, those of the same times one after another.
    pub(crate) fn parts(self, channels: usize, times: usize) -> impl Iterator<Item = Part> {
        let spans = |all: usize, step: usize| (0..all).step_by(step).map(move |from| [from, all.min(from + step)]);
        spans(times, self.times)
            .flat_map(move |times| spans(channels, self.channels).map(move |channels| Part { channels, times }))
    }
}

impl Part {
    /// Where the part lies in an array `[channel][time][row]` with so many times: it is contiguous.
    pub(crate) fn range(&self, times: usize, row: usize) -> std::ops::Range<usize> {
        let first = (self.channels[0] * times + self.times[0]) * row;
        first..first + self.spectra() * row
    }

    /// Channels times times.
    pub(crate) fn spectra(&self) -> usize {
        (self.channels[1] - self.channels[0]) * (self.times[1] - self.times[0])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Four lines of 256 dual-polarisation feeds padded to 512, of a byte, as complex f32.
    const SIZES: Sizes = Sizes { inputs: 2048, beams: 4096, bytes: [1, 8], rows: 4, row_times: None };

    #[test]
    fn steps_stay_within_the_limit_and_are_of_one_channel_or_of_all_times() {
        let step = |limit| Step::new(&SIZES, 16, 1000, limit);
        let bytes = |step: Step| step.bytes(&SIZES);
        // 2048 bytes of voltages and of flags, 32768 of beams.
        assert_eq!(bytes(Step { channels: 1, times: 1 }), 2048 + 2048 + 32768);
        assert_eq!(step(None), Step { channels: 16, times: 1000 });
        let least = Step { channels: 1, times: 1 };
        let need = SIZES.gpu_memory(16, 1000);
        for limit in [1, bytes(least), 3 * bytes(least), 1 << 20, 40 << 20, 100 << 20] {
            let step = step(Some(limit));
            assert!(step == least || bytes(step) <= limit, "{step:?} at {limit}");
            assert!(step.channels == 1 || step.times == 1000);
            assert!(limit < need.smallest_step_bytes || bytes(step) <= limit);
        }
        assert_eq!(need.workspace_bytes, bytes(step(None)));
    }

    #[test]
    fn rows_that_voltages_become_are_counted() {
        let sizes = Sizes { row_times: Some(128), ..SIZES };
        assert_eq!(
            Step { channels: 2, times: 129 }.bytes(&sizes),
            2 * (129 * (2048 + 32768) + 256 * 2048) + 129 * 2048
        );
        let least = Step { channels: 1, times: 1 };
        for limit in [1, least.bytes(&sizes), 1 << 20, 40 << 20, 100 << 20] {
            let step = Step::new(&sizes, 16, 1000, Some(limit));
            assert!(step == least || step.bytes(&sizes) <= limit, "{step:?} at {limit}");
            assert!(step.channels == 1 || step.times == 1000);
        }
        assert!(Step::new(&sizes, 16, 1000, Some(100 << 20)).channels >= 2);
    }

    #[test]
    fn parts_cover_every_channel_and_time_once_and_are_contiguous() {
        for (channels, times) in [(1, 1), (5, 7), (16, 1), (3, 0), (0, 4)] {
            for limit in [1, 100_000, 200_000, 500_000, u64::MAX] {
                let step = Step::new(&SIZES, channels, times, Some(limit));
                let mut seen = vec![0; channels * times];
                for part in step.parts(channels, times) {
                    assert!(part.spectra() <= step.channels * step.times);
                    seen[part.range(times, 1)].iter_mut().for_each(|count| *count += 1);
                }
                assert!(seen.iter().all(|&count| count == 1), "{channels} x {times} at {limit}");
            }
        }
    }

    #[test]
    fn a_launch_counts_in_32_bits() {
        let step = Step::new(&SIZES, 1 << 20, 1 << 12, Some(u64::MAX));
        assert!((step.channels * step.times * SIZES.rows) as u64 <= u64::from(u32::MAX), "{step:?}");
        assert_eq!(Step::new(&SIZES, 2, 1 << 40, Some(u64::MAX)), Step { channels: 1, times: (1 << 30) - 1 });
    }
}
