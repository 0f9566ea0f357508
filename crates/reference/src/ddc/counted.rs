//! Which samples a stream of outputs has counted: those of whole blocks, with the output that begins each.

use std::ops::Range;

/// Outputs of a block.
const BLOCK: u64 = 16;

/// Samples that are counted of a stretch without gaps, absolute samples `stretch`, `taps` taps and a decimation.
///
/// Block `b` is samples `16 S b .. 16 S (b + 1)`, and is counted if output `16 b` was made, as far as its samples have
/// come: if `16 S b` is in the stretch, and so are all samples `16 S b .. 16 S b + K`.
///
/// # Panics
/// If `decimation` is 0, or counters overflow.
pub fn counted_samples(stretch: Range<u64>, taps: u64, decimation: u64) -> Range<u64> {
    let samples = BLOCK * decimation;
    let mut counted = 0..0;
    for block in stretch.start / samples..=stretch.end / samples {
        let (first, end) = (block * samples, (block + 1) * samples);
        if first >= stretch.start && first + taps <= stretch.end {
            let end = end.min(stretch.end);
            counted = if counted.is_empty() { first..end } else { counted.start..end };
        }
    }
    counted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_counted_with_the_output_that_begins_them() {
        // 128 samples a block: of samples 5 .. 1000, blocks 1 to 6 begin with an output that is made of 128 samples.
        assert_eq!(counted_samples(5..1000, 128, 8), 128..896);
        assert_eq!(counted_samples(0..128, 128, 8), 0..128);
        assert!(counted_samples(0..127, 128, 8).is_empty());
        // Outputs of 10 samples: block 7 is begun by output 112, and 104 of its samples have come.
        assert_eq!(counted_samples(0..1000, 10, 8), 0..1000);
        assert_eq!(counted_samples(0..905, 10, 8), 0..896);
        assert!(counted_samples(1..100, 10, 8).is_empty());
    }
}
