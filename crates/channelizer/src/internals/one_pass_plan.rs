//! Tables of a plan as the general kernels of the F-engine read them, computed in f64: any number of channels `N = 2^a
//! 3^b 5^c`.
//!
//! A spectrum is a transform of `N` complex points in passes of radices `r1, r2, ..., rm`. It ends with its digits
//! reversed: position `s1 N/r1 + s2 N/(r1 r2) + ...` has bin `s1 + r1 s2 + r1 r2 s3 + ...`.

use std::f64::consts::TAU;

use fringes_kernel_abi::f_engine::one_pass;
use num_complex::Complex64;

/// Most points of a spectrum in shared memory, whatever the GPU has of it.
pub const MOST_POINTS: usize = one_pass::MOST_POINTS as usize;

/// Most taps.
pub const MOST_TAPS: usize = one_pass::MOST_TAPS as usize;

/// Most spectra of a job.
pub const MOST_SLOTS: usize = one_pass::MOST_SLOTS as usize;

/// The passes of a transform of complex points, and whether samples are complex.
///
/// Real samples are two to a point, so that there are as many points as channels either way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Passes {
    points: usize,
    complex: bool,
    radices: Vec<usize>,
}

/// Radices, and instructions of a pass for each complex point, in tenths (`sm_90a`).
pub(super) const RADICES: [(usize, u32); 12] = [
    (25, 281),
    (16, 216),
    (15, 225),
    (12, 207),
    (10, 214),
    (9, 205),
    (8, 224),
    (6, 185),
    (5, 192),
    (4, 208),
    (3, 177),
    (2, 215),
];

/// Those of the second launch of two, which has fewer registers.
pub(super) const RADICES_OF_ROWS: &[(usize, u32)] = RADICES.split_at(1).1;

/// The cheapest radices whose product is `points`, in the order of the list, and what they cost; the first ones if
/// there are several.
pub(super) fn cheapest(points: usize, radices: &[(usize, u32)]) -> Option<(u32, Vec<usize>)> {
    if points == 1 {
        return Some((0, Vec::new()));
    }
    let with = |(index, &(radix, cost)): (usize, &(usize, u32))| {
        let (rest, mut passes) = cheapest(points / radix, &radices[index..])?;
        passes.insert(0, radix);
        Some((rest + cost, passes))
    };
    let divide = radices.iter().enumerate().filter(|(_, (radix, _))| points.is_multiple_of(*radix));
    divide.filter_map(with).min_by_key(|&(cost, _)| cost)
}

/// `exp(-2 pi i n / d)`.
pub(super) fn root(n: usize, d: usize) -> [f32; 2] {
    let (sin, cos) = (TAU * (n % d) as f64 / d as f64).sin_cos();
    [cos as f32, -sin as f32]
}

pub(super) fn pair(value: Complex64) -> [f32; 2] {
    [value.re as f32, value.im as f32]
}

impl Passes {
    /// The passes for a number of channels; `None` if it has a factor other than 2, 3 and 5 or is beyond
    /// [`MOST_POINTS`].
    ///
    /// They are those with the fewest instructions ([`RADICES`]), larger radices first.
    pub fn new(channels: usize, complex: bool) -> Option<Self> {
        if channels == 0 || channels > MOST_POINTS {
            return None;
        }
        Some(Self { points: channels, complex, radices: cheapest(channels, &RADICES)?.1 })
    }

    /// Those of radices whose product is the number of channels.
    pub(super) fn of(channels: usize, complex: bool, radices: Vec<usize>) -> Self {
        Self { points: channels, complex, radices }
    }

    /// Complex points of a spectrum: channels.
    pub fn points(&self) -> usize {
        self.points
    }

    /// Whether samples are complex.
    pub fn complex(&self) -> bool {
        self.complex
    }

    /// Radices, first pass first.
    pub fn radices(&self) -> &[usize] {
        &self.radices
    }

    /// Radices as the kernels take them: `radix - 1` in [`RADIX_BITS`](one_pass::RADIX_BITS) each, the first in the
    /// lowest.
    pub fn packed_radices(&self) -> u64 {
        Self::packed(&self.radices)
    }

    /// Some radices in that way.
    pub(super) fn packed(radices: &[usize]) -> u64 {
        radices.iter().rev().fold(0, |packed, &radix| packed << one_pass::RADIX_BITS | (radix as u64 - 1))
    }

    /// Bytes of shared memory for `slots` spectra; `usize::MAX` for more than [`MOST_SLOTS`].
    pub fn shared_bytes(&self, slots: usize) -> usize {
        // More are no job's, and those fit 32 bits.
        if slots > MOST_SLOTS {
            return usize::MAX;
        }
        one_pass::shared_bytes(self.points as u32, slots as u32) as usize
    }

    /// Most spectra of a job that `bytes` bytes of shared memory hold; 0 if there is no room for one.
    pub fn slots(&self, bytes: usize) -> usize {
        (bytes / self.shared_bytes(1)).min(MOST_SLOTS)
    }

    /// Bin of each position at the end of the transform.
    pub fn bins(&self) -> Vec<usize> {
        reversed(&self.radices)
    }

    /// Channel of each position. Of complex samples, channel `k` is bin `k - floor(N / 2)`.
    pub fn channels(&self) -> Vec<u32> {
        let middle = if self.complex { self.points / 2 } else { 0 };
        self.bins().iter().map(|bin| ((bin + middle) % self.points) as u32).collect()
    }

    /// Twiddles of all passes but the first, in pairs: `[q - 1][block]`, of radix 16 the factors of its butterflies,
    /// `[4][block]` pairs. Each pass begins with a pair.
    pub fn twiddles(&self) -> Vec<[f32; 4]> {
        let mut table = Vec::with_capacity(self.points);
        let mut blocks = 1;
        for (pass, &radix) in self.radices.iter().enumerate() {
            let bins = reversed(&self.radices[..pass]);
            let d = blocks * radix;
            // Factors of 16 points as multiples of the twiddle of point 1, and sixteenths of a turn.
            let factors = [[(8, 0), (4, 0)], [(2, 0), (2, 2)], [(1, 0), (1, 1)], [(1, 2), (1, 3)]];
            match (pass, radix) {
                (0, _) => {}
                (_, 16) => {
                    for pair in factors {
                        table.extend(
                            bins.iter().flat_map(|&bin| pair.map(|(n, part)| root(n * bin + part * blocks, d))),
                        );
                    }
                }
                _ => table.extend((1..radix).flat_map(|q| bins.iter().map(move |&bin| root(q * bin, d)))),
            }
            table.resize(table.len().next_multiple_of(2), [0.0; 2]);
            blocks *= radix;
        }
        table.chunks_exact(2).map(|pair| [pair[0][0], pair[0][1], pair[1][0], pair[1][1]]).collect()
    }

    /// Channel `k` of the pairs `k`, `N - k` of real samples, in the order of the lower of their positions.
    fn pairs_in_order(&self) -> Vec<(usize, usize, usize)> {
        let bins = self.bins();
        let mut positions = vec![0; self.points];
        for (position, &bin) in bins.iter().enumerate() {
            positions[bin] = position;
        }
        let pairs = bins.iter().enumerate().map(|(position, &bin)| {
            let partner = positions[(self.points - bin) % self.points];
            (position, partner, bin)
        });
        pairs.filter(|&(position, partner, _)| position <= partner).collect()
    }

    /// Pairs of channels of real samples, `N / 2 + 1` entries: both positions in halves of a word, channel, `exp(-pi i
    /// k / N)` as bits of f32. The positions of channels 0 and `N / 2` are equal. Empty of complex samples.
    pub fn pairs(&self) -> Vec<[u32; 4]> {
        if self.complex {
            return Vec::new();
        }
        let entry = |&(a, b, k): &(usize, usize, usize)| {
            let [re, im] = root(k, 2 * self.points);
            [a as u32 | (b as u32) << 16, k as u32, re.to_bits(), im.to_bits()]
        };
        self.pairs_in_order().iter().map(entry).collect()
    }

    /// Gains of an input: of real samples halves of those of channels `k` and `N - k` of each pair, of complex ones
    /// those of each position.
    pub fn gains(&self, gain: impl Fn(usize) -> Complex64) -> Vec<[f32; 2]> {
        if self.complex {
            return self.channels().iter().map(|&channel| pair(gain(channel as usize))).collect();
        }
        self.pairs_in_order().iter().flat_map(|&entry| self.gains_of_pair(entry, &gain)).collect()
    }

    /// Halves of those of the channels of a pair: both positions and `k`.
    pub(super) fn gains_of_pair(
        &self,
        (a, b, k): (usize, usize, usize),
        gain: impl Fn(usize) -> Complex64,
    ) -> [[f32; 2]; 2] {
        let half = |channel: usize| pair(0.5 * gain(channel));
        [half(k), if a == b { [0.0; 2] } else { half(self.points - k) }]
    }

    /// Weights `[tap][group]` of four columns, from those of the plan, `taps` times the step; `bits` of integers, 0 of
    /// floats.
    ///
    /// A spectrum has `2 N` columns: samples, or real and imaginary parts by turns. Integers come to the filter divided
    /// by `2^bits`.
    pub fn weights(&self, weights: &[f64], bits: u32) -> Vec<[f32; 4]> {
        let scale = 2f64.powi(bits as i32);
        let (step, parts) = if self.complex { (self.points, 2) } else { (2 * self.points, 1) };
        let row = |row: &[f64]| -> Vec<[f32; 4]> {
            let mut columns: Vec<f32> =
                row.iter().flat_map(|&weight| std::iter::repeat_n((weight * scale) as f32, parts)).collect();
            columns.resize(columns.len().next_multiple_of(4), 0.0);
            columns.chunks_exact(4).map(|four| [four[0], four[1], four[2], four[3]]).collect()
        };
        weights.chunks_exact(step).flat_map(row).collect()
    }
}

/// Number of each position of a transform of some radices.
pub(super) fn reversed(radices: &[usize]) -> Vec<usize> {
    let (mut bins, mut product) = (vec![0], 1);
    for &radix in radices {
        bins = bins.iter().flat_map(|&bin| (0..radix).map(move |digit| bin + product * digit)).collect();
        product *= radix;
    }
    bins
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_with_other_factors_or_too_many_points_have_no_passes() {
        for channels in [0, 7, 77, 2 * 11, MOST_POINTS + 2] {
            assert_eq!(Passes::new(channels, false), None);
        }
    }

    #[test]
    fn radices_make_the_points_and_positions_are_a_permutation() {
        for channels in (1..=MOST_POINTS).filter_map(|n| Passes::new(n, true)) {
            assert_eq!(channels.radices().iter().product::<usize>(), channels.points());
            if channels.points() > 2048 {
                continue;
            }
            let mut bins = channels.bins();
            bins.sort_unstable();
            assert!(bins.into_iter().eq(0..channels.points()));
        }
    }

    #[test]
    fn radices_are_the_cheapest_ones() {
        for (channels, radices) in
            [(675, vec![15, 9, 5]), (625, vec![25, 25]), (1250, vec![25, 10, 5]), (1000, vec![10; 3])]
        {
            assert_eq!(Passes::new(channels, false).unwrap().radices(), radices);
        }
    }

    #[test]
    fn pairs_are_every_channel_once() {
        for points in [1, 2, 3, 15, 16, 60, 96, 120, 375, 1536] {
            let general = Passes::new(points, false).unwrap();
            let mut seen = vec![0; points];
            for [positions, k, _, _] in general.pairs() {
                seen[k as usize] += 1;
                if positions & 0xffff != positions >> 16 {
                    seen[points - k as usize] += 1;
                }
            }
            assert!(seen.iter().all(|&times| times == 1), "{points}");
            assert_eq!(general.gains(|_| Complex64::ONE).len(), 2 * general.pairs().len());
        }
    }
}
