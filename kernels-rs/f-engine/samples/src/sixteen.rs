//! Sixteen packed integers at a time, of a width that is known and in whole words. A thread loads words once, and what
//! lies in one word is moved by constants.

use fringes_device::arithmetic::shf_l_wrap_b32;
use fringes_device::unroll;
use fringes_kernels_common::decode::in_order;

use crate::statistics::{clipped_of, square};
use crate::stretch::{Numbers, Runs, Share, Total};

/// Adds integers in runs of sixteen: a thread's are the one of its number, and those `share.of` further on.
///
/// # Safety
/// The words are there; `BITS` is even and the numbers'.
#[inline(always)]
pub unsafe fn add<const BITS: usize>(numbers: &Numbers, runs: Runs, share: Share, total: Total<u64>) -> Total<u64> {
    let Numbers { samples, parts, order, .. } = *numbers;
    let Total { mut sum, mut clipped } = total;
    let mut run = share.index;
    while run < runs.count {
        let at = runs.first_word as usize + run as usize * (BITS / 2);
        let mut words = [0u32; 8];
        unroll!(k in 0 1 2 3 4 5 6 7 {
            if k < BITS / 2 {
                words[k] = in_order(samples.load(at + k), order);
            }
        });
        let mut values = [0i32; 16];
        unroll!(i in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 {
            let (word, shift) = (i * BITS / 32, i * BITS % 32);
            let top = if shift + BITS <= 32 {
                words[word] << shift
            } else {
                shf_l_wrap_b32(words[(word + 1) % 8], words[word], shift as u32)
            };
            values[i] = (top as i32) >> (32 - BITS);
        });
        // Squares of 12 bits have room for sixteen, of 16 bits for two.
        let (mut squares, mut bits) = (0u32, 0u32);
        unroll!(two in 0 1 2 3 4 5 6 7 {
            let [a, b] = [square(values[2 * two]), square(values[2 * two + 1])];
            bits |= a | b;
            squares = squares.wrapping_add(a.wrapping_add(b));
            if BITS > 12 {
                sum = sum.wrapping_add(squares as u64);
                squares = 0;
            }
        });
        if BITS <= 12 {
            sum = sum.wrapping_add(squares as u64);
        }
        // A number at an end is farther from 0 than 0.7 of it, as few are; then all are looked at.
        if bits >> (2 * BITS - 3) != 0 && at_end(values, BITS as u32) {
            unroll!(four in 0 1 2 3 {
                let v = [values[4 * four], values[4 * four + 1], values[4 * four + 2], values[4 * four + 3]];
                clipped += clipped_of(v, BITS as u32, parts) as u64;
            });
        }
        run += share.of;
    }
    Total { sum, clipped }
}

/// Whether one of sixteen integers is the largest or the smallest of so many bits.
#[inline(always)]
fn at_end(values: [i32; 16], bits: u32) -> bool {
    let most = (u32::MAX >> (33 - bits)) as i32;
    let (mut high, mut low) = (values[0], values[0]);
    unroll!(i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 {
        high = high.max(values[i]);
        low = low.min(values[i]);
    });
    high == most || low == !most
}
