//! Which inputs beams sum, and how many of them were there.

use fringes_types::{InputCounts, Inputs, TypesError};
use ndarray::{Array2, ArrayView2, Axis};

use crate::BeamSet;

/// Which inputs each beam sums: a bit each, 64 to a word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Members {
    words: Vec<Vec<u64>>,
}

/// Bits of those that are true.
fn bits(flags: impl Iterator<Item = bool>) -> Vec<u64> {
    let mut words = Vec::new();
    for (index, flag) in flags.enumerate() {
        if index % 64 == 0 {
            words.push(0);
        }
        if let Some(word) = words.last_mut() {
            *word |= u64::from(flag) << (index % 64);
        }
    }
    words
}

/// Bits that two have in common.
fn common(a: &[u64], b: &[u64]) -> u32 {
    a.iter().zip(b).map(|(a, b)| (a & b).count_ones()).sum()
}

impl Members {
    /// Of a set of beams of these inputs.
    pub(crate) fn of<B: BeamSet>(set: &B, inputs: Inputs) -> Self {
        let of_beam = |beam| bits((0..inputs.len()).map(|input| set.uses(beam, input, inputs)));
        Self { words: (0..set.beams(inputs)).map(of_beam).collect() }
    }

    /// Inputs that beams sum.
    fn expected(&self) -> Vec<u32> {
        self.words.iter().map(|words| words.iter().map(|word| word.count_ones()).sum()).collect()
    }

    /// How many were there, with flags `[row][input]`, of which each row is that of `repeat` times.
    pub(crate) fn count(&self, flags: ArrayView2<'_, bool>, repeat: usize) -> Result<InputCounts, TypesError> {
        let mut absent = Array2::zeros((flags.nrows() * repeat, self.words.len()));
        let mut of_row = vec![0u32; self.words.len()];
        for (row, flags_of_row) in flags.outer_iter().enumerate() {
            // Mostly flags are those of the time before.
            if row == 0 || flags_of_row != flags.row(row - 1) {
                let missing = bits(flags_of_row.iter().map(|&flag| !flag));
                of_row.iter_mut().zip(&self.words).for_each(|(count, words)| *count = common(words, &missing));
            }
            for time in row * repeat..(row + 1) * repeat {
                absent.row_mut(time).iter_mut().zip(&of_row).for_each(|(to, &count)| *to = count);
            }
        }
        InputCounts::new(self.expected(), absent)
    }

    /// The same with flags `[batch][antenna]` of heaps of so many spectra.
    pub(crate) fn count_heaps(
        &self,
        flags: ArrayView2<'_, bool>,
        inputs: Inputs,
        spectra: usize,
    ) -> Result<InputCounts, TypesError> {
        let of_input = |(batch, input)| flags[(batch, input / inputs.pols())];
        let flags = Array2::from_shape_fn((flags.nrows(), inputs.len()), of_input);
        self.count(flags.view(), spectra)
    }
}

/// Counts of detected beams that are made of `pols` beams each.
pub(crate) fn paired(counts: &InputCounts, pols: usize) -> Result<InputCounts, TypesError> {
    let of_pair = |pair: &[u32]| pair.iter().fold(0u32, |sum, &count| sum.saturating_add(count));
    let expected: Vec<u32> = counts.expected().chunks_exact(pols).map(of_pair).collect();
    let mut absent = Array2::zeros((counts.times(), expected.len()));
    for (mut to, from) in absent.outer_iter_mut().zip(counts.absent().outer_iter()) {
        let pairs = from.exact_chunks(pols);
        to.iter_mut().zip(pairs).for_each(|(to, pair)| *to = pair.iter().fold(0, |sum, &n| n.saturating_add(sum)));
    }
    InputCounts::new(expected, absent)
}

/// Counts of beams, and of others after them.
pub(crate) fn joined(first: &InputCounts, second: &InputCounts) -> Result<InputCounts, TypesError> {
    let (times, beams) = (first.times().min(second.times()), first.expected().len());
    let mut absent = Array2::zeros((times, beams + second.expected().len()));
    for (time, mut to) in absent.outer_iter_mut().enumerate() {
        let both = first.absent().index_axis_move(Axis(0), time).into_iter();
        let both = both.chain(second.absent().index_axis_move(Axis(0), time));
        to.iter_mut().zip(both).for_each(|(to, &count)| *to = count);
    }
    InputCounts::new([first.expected(), second.expected()].concat(), absent)
}

/// Counts of sums of spectra, carried from chunk to chunk.
#[derive(Debug, Clone, Default)]
pub(crate) struct SummedCounts {
    /// Of the sum under way, of each detected beam; nothing if all came.
    pending: Vec<u32>,
    /// Inputs of a detected beam at one spectrum, once some chunk had counts.
    expected: Option<Vec<u32>>,
}

impl SummedCounts {
    /// Counts of the sums of `n` spectra that a chunk of so many `times` completes, where `pending` spectra of the
    /// first one came before.
    pub(crate) fn sum(
        &mut self,
        counts: Option<&InputCounts>,
        [pending, times, n]: [usize; 3],
    ) -> Result<Option<InputCounts>, TypesError> {
        if pending == 0 {
            self.pending.clear();
        }
        if let Some(counts) = counts {
            self.expected = Some(counts.expected().to_vec());
        }
        let beams = self.expected.as_ref().map_or(0, Vec::len);
        let (known, sums) = (counts.is_some() || !self.pending.is_empty(), (pending + times) / n);
        let mut absent = Array2::<u32>::zeros((sums + 1, beams));
        absent.row_mut(0).iter_mut().zip(&self.pending).for_each(|(to, &count)| *to = count);
        if let Some(counts) = counts {
            for (time, of_time) in counts.absent().outer_iter().enumerate() {
                let mut sum = absent.row_mut((pending + time) / n);
                sum.iter_mut().zip(of_time).for_each(|(sum, &count)| *sum = sum.saturating_add(count));
            }
        }
        self.pending = if known { absent.row(sums).to_vec() } else { Vec::new() };
        let Some(expected) = self.expected.as_ref().filter(|_| known && sums > 0) else { return Ok(None) };
        let expected = expected.iter().map(|&count| count.saturating_mul(n as u32)).collect();
        Ok(Some(InputCounts::new(expected, absent.slice_move(ndarray::s![..sums, ..]))?))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;
    use crate::IncoherentBeams;

    fn flags(times: usize) -> Array2<bool> {
        Array2::from_shape_fn((times, 70), |(time, input)| input != 66 || time / 3 % 2 == 0)
    }

    #[test]
    fn inputs_that_a_beam_does_not_sum_do_not_count() {
        let gains = Array2::from_shape_fn((3, 70), |(beam, input)| [1.0, f32::from(input < 66), 0.0][beam]);
        let inputs = Inputs::single_pol(70).unwrap();
        let members = Members::of(&IncoherentBeams::new(gains).unwrap(), inputs);
        let counts = members.count(flags(7).view(), 2).unwrap();
        assert_eq!((counts.times(), counts.expected()), (14, &[70, 66, 0][..]));
        for time in 0..14 {
            let here = time / 2 / 3 % 2 == 0;
            assert_eq!(counts.present(time, 0), Some(69 + u32::from(here)), "{time}");
            assert_eq!((counts.present(time, 1), counts.present(time, 2)), (Some(66), Some(0)));
        }
        let heaps = Array2::from_shape_fn((2, 35), |(batch, antenna)| batch == 0 || antenna != 33);
        let counts = members.count_heaps(heaps.view(), Inputs::new(35, 2).unwrap(), 4).unwrap();
        assert_eq!((counts.times(), counts.present(3, 0), counts.present(4, 0)), (8, Some(70), Some(68)));
        assert_eq!(counts.present(4, 1), Some(66));
    }

    #[test]
    fn counts_of_sums_go_on_from_chunk_to_chunk() {
        let inputs = Inputs::single_pol(70).unwrap();
        let members = Members::of(&IncoherentBeams::new(Array2::ones((4, 70))).unwrap(), inputs);
        let all = members.count(flags(20).view(), 1).unwrap();
        let all = paired(&all, 2).unwrap();
        let whole = SummedCounts::default().sum(Some(&all), [0, 20, 5]).unwrap().unwrap();
        assert_eq!((whole.times(), whole.expected()), (4, &[700, 700][..]));
        let of = |sum: usize| 2 * (5 * sum..5 * sum + 5).filter(|time| time / 3 % 2 == 1).count() as u32;
        (0..4).for_each(|sum| assert_eq!(whole.absent()[(sum, 1)], of(sum)));

        let (mut summed, mut done, mut rows) = (SummedCounts::default(), 0, Vec::new());
        for cut in [3usize, 1, 9, 7] {
            let part = members.count(flags(20).slice(ndarray::s![done..done + cut, ..]), 1).unwrap();
            // A chunk of which all came has no counts.
            let part = Some(paired(&part, 2).unwrap()).filter(|part| part.absent().iter().any(|&count| count > 0));
            let sums = summed.sum(part.as_ref(), [done % 5, cut, 5]).unwrap();
            rows.extend(sums.iter().flat_map(|sums| sums.absent().column(0).to_vec()));
            done += cut;
        }
        assert_eq!(rows, (0..4).map(of).collect::<Vec<_>>());
        let both = joined(&all, &members.count(flags(20).view(), 1).unwrap()).unwrap();
        assert_eq!(both.expected(), [140, 140, 70, 70, 70, 70]);
        assert_eq!((both.present(3, 1), both.present(3, 2)), (Some(138), Some(69)));
    }
}
