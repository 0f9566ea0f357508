//! Groups of four numbers that all count and lie inside the words: four groups of a thread at a time, so that their
//! words come together. All others are looked at number by number.

use fringes_device::{Global, unroll};
use fringes_kernels_common::decode::in_order;

use crate::statistics::Source;

/// Where groups lie, and which of them a thread has.
#[derive(Clone, Copy)]
pub struct Groups {
    /// Bit of the first group.
    pub first_bit: u64,
    /// How many there are, all of whose numbers count.
    pub count: u64,
    /// From a group of the thread to its next.
    pub step: u64,
}

/// Sums of a thread.
#[derive(Clone, Copy)]
pub struct Summed<S> {
    /// Sum of squares.
    pub sum: S,
    /// Samples that are clipped.
    pub clipped: u64,
    /// The thread's next group.
    pub group: u64,
}

/// Numbers in memory.
#[derive(Clone, Copy)]
pub struct Numbers {
    /// Words of them.
    pub samples: Global<u32>,
    /// Bits of one.
    pub bits: u32,
    /// Numbers of a sample.
    pub parts: u32,
    /// Bytes of a word, as [`in_order`] takes them.
    pub order: u32,
}

impl Groups {
    /// The same without those that reach behind the words.
    #[inline(always)]
    fn inside(self, numbers: &Numbers) -> Self {
        // A group has up to four words from the one of its first bit on.
        let bits = (numbers.samples.len() as u64).saturating_mul(32);
        let (room, width) = (bits.saturating_sub(128).saturating_sub(self.first_bit), 4 * numbers.bits as u64);
        let fit = if room == 0 || width == 0 { 0 } else { room / width };
        Self { count: if fit < self.count { fit } else { self.count }, ..self }
    }
}

/// Adds a thread's groups, as long as there are four more.
#[inline(always)]
pub fn add<I: Source>(numbers: &Numbers, groups: Groups, summed: Summed<I::Sum>) -> Summed<I::Sum> {
    let Numbers { samples, bits, parts, order } = *numbers;
    let Groups { first_bit, count, step } = groups.inside(numbers);
    let Summed { mut sum, mut clipped, mut group } = summed;
    let (width, ahead) = (4 * bits as u64, step.wrapping_mul(4 * bits as u64));
    let mut bit = first_bit.wrapping_add(group.wrapping_mul(width));
    while group.saturating_add(3 * step) < count {
        let mut words = [[0u32; 4]; 4];
        unroll!(i in 0 1 2 3 {
            let at = (bit.wrapping_add(ahead.wrapping_mul(i as u64)) / 32) as usize;
            unroll!(k in 0 1 2 3 {
                if k < I::WORDS {
                    // SAFETY: groups are inside of the words.
                    words[i][k] = in_order(unsafe { samples.load(at + k) }, order);
                }
            });
        });
        unroll!(i in 0 1 2 3 {
            let shift = bit.wrapping_add(ahead.wrapping_mul(i as u64)) as u32 & 31;
            let (more, ends) = I::add_whole(sum, words[i], shift, bits, parts);
            sum = more;
            clipped += ends as u64;
        });
        bit = bit.wrapping_add(ahead.wrapping_mul(4));
        group += 4 * step;
    }
    Summed { sum, clipped, group }
}
