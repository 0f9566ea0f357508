//! Stretches of numbers: sums of those that a thread has.
//!
//! ```text
//! stretch   | head, up to 15 numbers | run of 16, in whole words | run of 16 | ... | rest, up to 15 numbers |
//! ```
//!
//! Of a stretch whose numbers all count, integers of the usual widths are looked at in runs of sixteen from the first
//! whole word on ([`sixteen`](crate::sixteen), [`squares`]), others in groups of four ([`whole`]), and what is before
//! and behind them number by number.

use fringes_device::warp::bar_warp_sync;
use fringes_device::{Global, opaque, unroll};
use fringes_kernels_common::decode::{BIG_ENDIAN, in_order};

use crate::statistics::{Source, samples_of};
use crate::{squares, whole};

/// Numbers in memory.
#[derive(Clone, Copy)]
pub struct Numbers {
    /// Words of them; what is behind them is 0.
    pub samples: Global<u32>,
    /// Bits of one.
    pub bits: u32,
    /// Numbers of a sample.
    pub parts: u32,
    /// Bytes of a word, as [`in_order`] takes them.
    pub order: u32,
}

/// Numbers one after another.
#[derive(Clone, Copy)]
pub struct Stretch {
    /// Bit of the first one.
    pub first_bit: u64,
    /// How many.
    pub numbers: u64,
}

/// Which of the threads of a stretch this one is. Threads of a warp follow one another.
#[derive(Clone, Copy)]
pub struct Share {
    /// Its number.
    pub index: u64,
    /// How many there are.
    pub of: u64,
}

/// Sums of a thread.
#[derive(Clone, Copy)]
pub struct Total<S> {
    /// Sum of squares.
    pub sum: S,
    /// Samples that are clipped.
    pub clipped: u64,
}

/// Runs of sixteen numbers in whole words.
#[derive(Clone, Copy)]
pub struct Runs {
    /// The first word.
    pub first_word: u64,
    /// How many runs.
    pub count: u64,
}

impl Numbers {
    /// A word in the order of bits.
    #[inline(always)]
    fn word(&self, index: u64) -> u32 {
        let Self { samples, order, .. } = *self;
        if index < samples.len() as u64 {
            // SAFETY: the word is there.
            in_order(unsafe { samples.load(index as usize) }, order)
        } else {
            0
        }
    }

    /// Numbers before the first sample that begins a word, 15 at most; `None` if none does.
    #[inline(always)]
    fn head(&self, first_bit: u64) -> Option<u64> {
        let mut head = 0;
        while head < 16 {
            if (first_bit as u32).wrapping_add(head * self.bits).is_multiple_of(32) {
                return Some(head as u64);
            }
            head += self.parts;
        }
        None
    }

    /// Runs of sixteen of a stretch that lie inside the words, and how many numbers are before them.
    #[inline(always)]
    fn runs(&self, stretch: Stretch) -> Option<(u64, Runs)> {
        let Stretch { first_bit, numbers } = stretch;
        let head = self.head(first_bit).filter(|&head| head + 16 <= numbers)?;
        let first_word = first_bit.checked_add(head * self.bits as u64)? / 32;
        let words = (numbers - head) / 16 * (self.bits / 2) as u64;
        let inside = first_word.checked_add(words)? <= self.samples.len() as u64;
        inside.then_some((head, Runs { first_word, count: (numbers - head) / 16 }))
    }

    /// Adds numbers of a stretch from `from` to `end`, four of every `step`, if they are `counted`.
    #[inline(always)]
    pub fn few<I: Source>(
        &self,
        first_bit: u64,
        (from, end, step): (u64, u64, u64),
        counted: impl Fn(u64) -> bool,
        total: Total<I::Sum>,
    ) -> Total<I::Sum> {
        let Total { mut sum, mut clipped } = total;
        let mut first = from;
        while first < end {
            let bit = first_bit.wrapping_add(first.wrapping_mul(self.bits as u64));
            let at = bit / 32;
            let words = [self.word(at), self.word(at + 1), self.word(at + 2), self.word(at + 3)];
            let mut all = [false; 4];
            unroll!(i in 0 1 2 3 {
                let number = first + (i as u64);
                all[i] = number < end && counted(number);
            });
            let (more, ends) = I::add(sum, words, bit as u32 & 31, self.bits, all);
            sum = more;
            clipped += samples_of(ends, self.parts) as u64;
            first = first.saturating_add(step);
        }
        Total { sum, clipped }
    }

    /// Adds a thread's numbers of a stretch of which all count.
    #[inline(always)]
    pub fn all<I: Source>(&self, stretch: Stretch, share: Share, mut total: Total<I::Sum>) -> Total<I::Sum> {
        let Stretch { first_bit, numbers } = stretch;
        // What does not change would else be computed before the loops, of all of them, and take registers.
        let anew = |value: u64| opaque(value as u32 as i32) as u32 as u64;
        let this = Self { bits: anew(self.bits as u64) as u32, ..*self };
        let share_anew = || Share { index: anew(share.index), of: anew(share.of) };
        let share = share_anew();
        let step = share.of.saturating_mul(4);
        let usual = I::has_runs(this.bits) && (this.bits == 16 || this.order == BIG_ENDIAN);
        let runs = if usual { this.runs(stretch) } else { None };
        // What is before the runs, and behind them.
        let (head, mut next);
        (head, next) = match runs {
            Some((head, Runs { mut first_word, mut count })) => {
                let next = head + 16 * count + 4 * share.index;
                let most = share.of.saturating_mul(squares::MOST_RUNS).min(squares::MOST_OF_ALL);
                while count > 0 {
                    let of_these = Runs { first_word, count: count.min(most) };
                    // SAFETY: all lanes come here.
                    unsafe { bar_warp_sync(u32::MAX) };
                    // SAFETY: the words are there, and all lanes here.
                    total = unsafe { I::add_runs(&this, of_these, share_anew(), total) };
                    first_word += of_these.count * (this.bits / 2) as u64;
                    count -= of_these.count;
                }
                (head, next)
            }
            None => {
                let group;
                (total, group) = whole::add::<I>(&this, stretch, share_anew(), total);
                (0, group.saturating_mul(4))
            }
        };
        let mut end = numbers;
        loop {
            total = this.few::<I>(first_bit, (next, end, step), |_| true, total);
            if end == head || head == 0 {
                return total;
            }
            (next, end) = (4 * share.index, head);
        }
    }
}
