//! Groups of four numbers that all count and lie inside the words: four groups of a thread at a time, so that their
//! words come together. All others are looked at number by number.

use fringes_device::unroll;
use fringes_kernels_common::decode::in_order;

use crate::statistics::Source;
use crate::stretch::{Numbers, Share, Stretch, Total};

/// Adds a thread's groups of a stretch, as long as there are four more; says which is its next.
#[inline(always)]
pub fn add<I: Source>(numbers: &Numbers, stretch: Stretch, share: Share, total: Total<I::Sum>) -> (Total<I::Sum>, u64) {
    let Numbers { samples, bits, parts, order } = *numbers;
    let first_bit = stretch.first_bit;
    let (width, ahead) = (4 * bits as u64, share.of.wrapping_mul(4 * bits as u64));
    // A group has up to four words from the one of its first bit on.
    let room = (samples.len() as u64).saturating_mul(32).saturating_sub(128).saturating_sub(first_bit);
    let fit = if room == 0 || width == 0 { 0 } else { room / width };
    let count = if fit < stretch.numbers / 4 { fit } else { stretch.numbers / 4 };
    let Total { mut sum, mut clipped } = total;
    let mut group = share.index;
    let mut bit = first_bit.wrapping_add(group.wrapping_mul(width));
    while group.saturating_add(3 * share.of) < count {
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
        group += 4 * share.of;
    }
    (Total { sum, clipped }, group)
}
