//! How the general kernels cut the transform of many points in two launches, and the tables of it.
//!
//! `N` points are `R` rows of `N'`. The passes of the first launch have radices whose product is `R`, those of the
//! second one make `N'`; together they are those of [`Passes`], and so are twiddles and the order of the bins. Rows are
//! given out to blocks of the second launch, and positions, pairs and gains lie in the order of the blocks:
//!
//! ```text
//! real samples      block 0   the row of bins 0 modulo R, and if R is even that of R / 2: they have their own mirrors
//!                   others    rows of bins kappa and R - kappa modulo R
//! complex samples   block b   row b
//! ```

use num_complex::Complex64;

use super::one_pass_plan::{MOST_TAPS, Passes, RADICES, RADICES_OF_ROWS, cheapest, pair, reversed, root};
use super::strided::greatest_common_divisor;
use fringes_kernel_abi::f_engine::one_pass as abi;

/// Most points of a spectrum.
pub const MOST_POINTS: usize = 1 << 16;

/// Fewest points of a spectrum that can be cut.
pub const LEAST_POINTS: usize = 48;

/// Fewest points that are, of critically sampled spectra: from 1180 on a block of one launch has no room for the twelve
/// spectra that a thread filters together; 1500 were as fast either way.
const LEAST_CRITICAL: usize = 1536;

/// Fewest points that are, where spectra have rows in common in two launches alone ([`Spread`]): 240 channels had 80
/// Gsamples/s and 67 in one launch, 192 had 59 and 64.
const LEAST_SPREAD: usize = 216;

/// Fewest points that are, of other oversampled spectra whose rows are whole words of packed integers: 720 channels had
/// 74 and 66, 240 had 72 and 73. Of others, whose samples take longer there, 900 had 64 and 67.
const LEAST_APART: usize = 480;

/// Whether spectra of so many points are made in two launches, by what is faster.
pub fn is_faster(points: usize, step: usize, stride: usize) -> bool {
    points
        >= if stride == step {
            LEAST_CRITICAL
        } else if Spread::new(step, stride, SPECTRA).period > 1 {
            LEAST_SPREAD
        } else if step.is_multiple_of(32) {
            LEAST_APART
        } else {
            LEAST_CRITICAL
        }
}

/// Most spectra that a block of the first launch has.
pub const PART: usize = abi::MANY;

/// Most spectra from one of a block to its next: a job has 6 of each then.
const MOST_PERIOD: usize = SPECTRA / 6;

/// Most steps from one spectrum of a block to its next.
const MOST_STEPS: usize = abi::MOST_STEPS as usize;

/// Most spectra of a job.
pub const SPECTRA: usize = 4 * PART;

/// Most rows.
pub const MOST_ROWS: usize = 96;

/// Bytes of shared memory that a block of the second launch has on a GPU of compute capability 9.0, by which plans are
/// compared.
const BYTES_OF_ROWS: usize = 75 << 10;

/// Most bytes of a block of the first launch: any GPU has them.
const MOST_STRIP_BYTES: usize = 96 << 10;

/// In place of a second row.
const NONE: usize = 0xffff;

/// Which spectra of a job a block of the first launch has: every so many, so that they are a few whole steps apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spread {
    /// Spectra from one of a block to its next.
    pub period: usize,
    /// Spectra of a block.
    pub part: usize,
}

impl Spread {
    /// That of a plan's step and stride, for jobs of so many spectra.
    ///
    /// Spectra oversampled by `P / B`, in lowest terms, are `B` steps apart if they are `P` from each other. With more
    /// than five steps, or so large a `P` that a job has few of each, they are neighbours.
    pub fn new(step: usize, stride: usize, spectra: usize) -> Self {
        let common = greatest_common_divisor(step, stride);
        let (period, steps) = (step / common, stride / common);
        let period = if period <= MOST_PERIOD && steps <= MOST_STEPS { period } else { 1 };
        let of_period = spectra.div_ceil(period);
        Self { period, part: of_period.div_ceil(of_period.div_ceil(PART)) }
    }

    /// Blocks that have the spectra of a job.
    pub fn blocks(&self, spectra: usize) -> usize {
        self.period * spectra.div_ceil(self.period).div_ceil(self.part)
    }
}

/// A cut transform of complex points, and whether samples are complex.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CutPlan {
    passes: Passes,
    /// Passes of the first launch.
    first: usize,
    rows: usize,
    width: usize,
}

/// Bytes of shared memory of a block of the first launch.
fn strip_bytes(rows: usize, width: usize) -> usize {
    PART * 8 * abi::slot((rows * width) as u32) as usize
}

/// What so many rows with strips of so many points cost, in tenths of an instruction for each point: what numbers of
/// channels were timed by.
fn cost(points: usize, rows: usize, width: usize, complex: bool) -> u32 {
    let threads = abi::THREADS as usize;
    let (size, row) = (rows * width, points / rows);
    // Threads without a point, and lines of samples and weights that strips share.
    let filter = 800 * size.next_multiple_of(threads) / size + 800 * 4 / width;
    // Tables of a block are loaded for its spectra alone.
    let slot = abi::shared_bytes((if complex { row } else { 2 * row }) as u32, 1) as usize;
    let spectra = (BYTES_OF_ROWS / slot).clamp(1, PART);
    (filter + 2000 / spectra) as u32
}

impl CutPlan {
    /// The plan for a number of channels; `None` if it has a factor other than 2, 3 and 5, is beyond [`MOST_POINTS`] or
    /// below [`LEAST_POINTS`].
    pub fn new(channels: usize, complex: bool) -> Option<Self> {
        if !(LEAST_POINTS..=MOST_POINTS).contains(&channels) {
            return None;
        }
        let divide = |of: usize, most: usize| (2..=most).filter(move |part| of.is_multiple_of(*part));
        let with = |rows: usize| {
            let row = channels / rows;
            let widths = divide(row, row).filter(move |&width| strip_bytes(rows, width) <= MOST_STRIP_BYTES);
            let width = widths.min_by_key(|&width| cost(channels, rows, width, complex))?;
            let passes = cheapest(rows, &RADICES)?.0 + cheapest(row, RADICES_OF_ROWS)?.0;
            Some((passes + cost(channels, rows, width, complex), rows, width))
        };
        let (_, rows, width) = divide(channels, MOST_ROWS).filter_map(with).min()?;
        Self::of(channels, complex, rows, width)
    }

    /// The plan with so many rows and points of a strip; `None` if they do not divide what they are to divide, or there
    /// is another factor than 2, 3 and 5.
    pub fn of(channels: usize, complex: bool, rows: usize, width: usize) -> Option<Self> {
        let row = channels / rows.max(1);
        if rows < 2 || row < 2 || rows * row != channels || !row.is_multiple_of(width.max(1)) {
            return None;
        }
        let (first, last) = (cheapest(rows, &RADICES)?.1, cheapest(row, RADICES_OF_ROWS)?.1);
        let radices: Vec<usize> = first.iter().chain(&last).copied().collect();
        Some(Self { passes: Passes::of(channels, complex, radices), first: first.len(), rows, width })
    }

    /// All passes.
    pub fn passes(&self) -> &Passes {
        &self.passes
    }

    /// Rows, `R`.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Points of a row, `N'`.
    pub fn row(&self) -> usize {
        self.passes.points() / self.rows
    }

    /// Points of a strip.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Radices of both launches, as the kernels take them.
    pub fn packed_radices(&self) -> [u64; 2] {
        let (first, last) = self.passes.radices().split_at(self.first);
        [first, last].map(Passes::packed)
    }

    /// Pairs of twiddles of the first launch.
    pub fn first_twiddles(&self) -> usize {
        Passes::of(self.rows, true, self.passes.radices()[..self.first].to_vec()).twiddles().len()
    }

    /// Bytes of shared memory of a block of the first launch.
    pub fn strip_bytes(&self) -> usize {
        strip_bytes(self.rows, self.width).next_multiple_of(16)
    }

    /// Bytes of shared memory of a block of the second launch with so many spectra.
    pub fn rows_bytes(&self, spectra: usize) -> usize {
        let rows = if self.passes.complex() { 1 } else { 2 };
        abi::shared_bytes((rows * self.row()) as u32, spectra as u32) as usize
    }

    /// Rows of each block of the second launch.
    fn blocks(&self) -> Vec<Vec<usize>> {
        let kappa = reversed(&self.passes.radices()[..self.first]);
        if self.passes.complex() {
            return (0..self.rows).map(|row| vec![row]).collect();
        }
        let mut row_of = vec![0; self.rows];
        kappa.iter().enumerate().for_each(|(row, &kappa)| row_of[kappa] = row);
        let own: Vec<usize> = [Some(0), self.rows.is_multiple_of(2).then_some(self.rows / 2)]
            .into_iter()
            .flatten()
            .map(|kappa| row_of[kappa])
            .collect();
        let others = (1..self.rows.div_ceil(2)).map(|kappa| vec![row_of[kappa], row_of[self.rows - kappa]]);
        std::iter::once(own).chain(others).collect()
    }

    /// Bins of each block's positions.
    fn bins(&self) -> Vec<Vec<usize>> {
        let (bins, row) = (self.passes.bins(), self.row());
        let of = |rows: Vec<usize>| rows.iter().flat_map(|&b| bins[b * row..][..row].iter().copied()).collect();
        self.blocks().into_iter().map(of).collect()
    }

    /// Positions of `k` and `N - k` within the slots of a block, and `k`, of each block, in the order of the lower one.
    fn pairs_of_blocks(&self) -> Vec<Vec<(usize, usize, usize)>> {
        let points = self.passes.points();
        let mut positions = vec![0; points];
        let of = |bins: &Vec<usize>| {
            bins.iter().enumerate().for_each(|(position, &bin)| positions[bin] = position);
            let pairs = bins.iter().enumerate().map(|(position, &k)| (position, positions[(points - k) % points], k));
            pairs.filter(|&(position, partner, _)| position <= partner).collect()
        };
        self.bins().iter().map(of).collect()
    }

    /// What the second launch is told of each block: rows, first position, first pair, number of pairs (of complex
    /// samples, of positions).
    pub fn table_of_blocks(&self) -> Vec<[u32; 4]> {
        let mut items = self.pairs_of_blocks().iter().map(Vec::len).collect::<Vec<_>>();
        if self.passes.complex() {
            items = vec![self.row(); self.rows];
        }
        let (mut position, mut first) = (0, 0);
        let of = |(rows, items): (Vec<usize>, usize)| {
            let word = rows[0] | rows.get(1).copied().unwrap_or(NONE) << 16;
            let entry = [word, position, if self.passes.complex() { 0 } else { first }, items].map(|n| n as u32);
            position += rows.len() * self.row();
            first += items;
            entry
        };
        self.blocks().into_iter().zip(items).map(of).collect()
    }

    /// Channel of each position.
    pub fn channels(&self) -> Vec<u32> {
        let (points, middle) = (self.passes.points(), if self.passes.complex() { self.passes.points() / 2 } else { 0 });
        self.bins().iter().flatten().map(|bin| ((bin + middle) % points) as u32).collect()
    }

    /// Pairs of channels of real samples, as [`Passes::pairs`] has them, with positions within the slots of a block.
    /// Empty of complex samples.
    pub fn pairs(&self) -> Vec<[u32; 4]> {
        if self.passes.complex() {
            return Vec::new();
        }
        let entry = |&(a, b, k): &(usize, usize, usize)| {
            let [re, im] = root(k, 2 * self.passes.points());
            [a as u32 | (b as u32) << 16, k as u32, re.to_bits(), im.to_bits()]
        };
        self.pairs_of_blocks().iter().flatten().map(entry).collect()
    }

    /// Gains of an input, as [`Passes::gains`] has them.
    pub fn gains(&self, gain: impl Fn(usize) -> Complex64) -> Vec<[f32; 2]> {
        if self.passes.complex() {
            return self.channels().iter().map(|&channel| pair(gain(channel as usize))).collect();
        }
        self.pairs_of_blocks().iter().flatten().flat_map(|&entry| self.passes.gains_of_pair(entry, &gain)).collect()
    }

    /// Bytes of the tables for a number of channels, taps and inputs, at most; nothing is computed for it.
    pub fn table_bytes(channels: usize, taps: usize, inputs: usize) -> u64 {
        let channels = channels as u64;
        // Twiddles, pairs or their like, channels, and the numbers of rows.
        let fixed = (16 + 8 + 4) * channels + 16 * (MOST_ROWS as u64 + 64);
        let weights = 8 * (channels + 1) * taps.min(MOST_TAPS) as u64;
        let gains = (8 * (channels + 2)).saturating_mul(inputs as u64);
        (fixed + weights).saturating_add(gains)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers of channels of factors 2, 3 and 5 that are cut.
    fn smooth() -> Vec<usize> {
        let is = |mut n: usize| {
            [2, 3, 5].into_iter().for_each(|factor| {
                while n.is_multiple_of(factor) {
                    n /= factor;
                }
            });
            n == 1
        };
        (LEAST_POINTS..=MOST_POINTS).filter(|&n| is(n)).collect()
    }

    #[test]
    fn blocks_have_every_spectrum_of_a_job_once_and_their_spectra_are_whole_steps_apart() {
        for (step, stride, period, part) in [
            (2000, 2000, 1, 12),
            (2000, 1500, 4, 12),
            (2000, 1000, 2, 12),
            (150, 100, 3, 8),
            (120, 96, 5, 10),
            (120, 45, 8, 6),
            (120, 100, 6, 8),
            // Seven steps; nine of a period; more than that.
            (128, 112, 1, 12),
            (90, 10, 1, 12),
            (3072, 2592, 1, 12),
        ] {
            let spread = Spread::new(step, stride, SPECTRA);
            assert_eq!(spread, Spread { period, part });
            assert!(period == 1 || (period * stride).is_multiple_of(step));
            let mut seen = [0; SPECTRA];
            for block in 0..spread.blocks(SPECTRA) {
                let first = block / period * part * period + block % period;
                (0..part).map(|i| first + i * period).filter(|&s| s < SPECTRA).for_each(|s| seen[s] += 1);
            }
            assert_eq!(seen, [1; SPECTRA], "{step} {stride}");
        }
    }

    #[test]
    fn spectra_with_rows_in_common_are_cut_from_fewer_points_on() {
        // Points, step, stride: critically sampled; by 4 / 3; by 32 / 27.
        assert!(!is_faster(1500, 3000, 3000) && is_faster(1536, 3072, 3072));
        assert!(is_faster(1000, 2000, 1500) && is_faster(1000, 1000, 750) && !is_faster(96, 192, 144));
        assert!(!is_faster(240, 480, 405) && is_faster(720, 1440, 1215) && is_faster(900, 1800, 1500));
        // By 8 / 7: rows that are no whole words of samples.
        assert!(!is_faster(900, 1800, 1575));
    }

    #[test]
    fn every_number_of_channels_has_blocks_that_fit_the_smallest_gpu() {
        for (channels, complex) in smooth().into_iter().flat_map(|n| [(n, false), (n, true)]) {
            let plan = CutPlan::new(channels, complex).unwrap();
            assert_eq!(plan.rows() * plan.row(), channels);
            assert_eq!(plan.passes().radices().iter().product::<usize>(), channels);
            assert!(plan.row().is_multiple_of(plan.width()) && plan.rows() <= MOST_ROWS);
            assert!(plan.strip_bytes() <= 96 << 10 && plan.rows_bytes(1) <= 96 << 10, "{plan:?}");
        }
        assert_eq!([7 * 1024, 45, 131_072, 0].map(|n| CutPlan::new(n, false)), [const { None }; 4]);
    }

    #[test]
    fn positions_and_pairs_are_every_channel_once_and_lie_block_by_block() {
        for channels in [2048, 2187, 2250, 3125, 5000, 10_000, 50_000] {
            let plan = CutPlan::new(channels, false).unwrap();
            let mut all = plan.channels();
            let (pairs, blocks) = (plan.pairs(), plan.table_of_blocks());
            let mut seen = vec![0; channels];
            for [rows, position, first, items] in blocks {
                let size = plan.row() as u32 * if rows >> 16 == NONE as u32 { 1 } else { 2 };
                let of_slot = &all[position as usize..][..size as usize];
                for &[positions, k, ..] in &pairs[first as usize..][..items as usize] {
                    let [a, b] = [positions & 0xffff, positions >> 16].map(|at| of_slot[at as usize] as usize);
                    assert_eq!((a, b), (k as usize, (channels - k as usize) % channels));
                    seen[a] += 1;
                    seen[b] += usize::from(a != b);
                }
            }
            assert!(seen.iter().all(|&times| times == 1), "{channels}");
            assert_eq!((pairs.len(), plan.gains(|_| Complex64::ONE).len()), (channels / 2 + 1, 2 * (channels / 2 + 1)));
            all.sort_unstable();
            assert!(all.into_iter().eq(0..channels as u32));
        }
    }

    #[test]
    fn tables_are_within_what_is_said_of_them() {
        for (channels, complex) in smooth().into_iter().step_by(7).flat_map(|n| [(n, false), (n, true)]) {
            let plan = CutPlan::new(channels, complex).unwrap();
            let tables = [plan.passes().twiddles().len(), plan.table_of_blocks().len(), plan.pairs().len()];
            let step = if complex { channels } else { 2 * channels };
            let weights = plan.passes().weights(&vec![0.0; 3 * step], 0).len();
            let gains = plan.gains(|_| Complex64::ONE).len();
            let bytes = 16 * (tables.iter().sum::<usize>() + weights) + 4 * channels + 8 * 2 * gains;
            assert!(bytes as u64 <= CutPlan::table_bytes(channels, 3, 2), "{channels}");
        }
    }
}
