//! Sums of powers or coherencies, over more times and channels, to the products that are asked for.
//!
//! A thread makes one beam of one sum. What earlier launches left of it comes first, then channels in their order, in
//! each its times: so results have the same bits on any grid.

use fringes_device::control::trap;
use fringes_device::index::{ctaid_x, nctaid_x, tid_x};
use fringes_device::{Global, GlobalMut, unroll};

/// Powers of single beams.
const POWER: u32 = 0;
/// Stokes I of pairs of powers.
const STOKES_I: u32 = 1;
/// Stokes I, Q, U, V of coherencies.
const STOKES: u32 = 2;
/// Coherencies as they are.
const COHERENCY: u32 = 3;

/// What is summed.
pub(crate) struct Detect {
    /// `[channel][time][beam]`, with `beams` single beams or four numbers of each pair.
    pub(crate) sums: Global<f32>,
    /// `[channel / m][sum][row of beams]`, of which the beams begin at `first`.
    pub(crate) out: GlobalMut<f32>,
    /// What earlier launches left of the first sum, `[channel / m][beam][numbers]`.
    pub(crate) carried: Global<f32>,
    /// What is left of the sum that this one does not end; not the same memory.
    pub(crate) left: GlobalMut<f32>,
    pub(crate) channels: u32,
    pub(crate) times: u32,
    /// Beams of the output: single ones of powers, else pairs.
    pub(crate) beams: u32,
    /// Channels and times of a sum.
    pub(crate) channel_sum: u32,
    pub(crate) time_sum: u32,
    /// Times that earlier launches have added of the first sum.
    pub(crate) pending: u32,
    /// The first beam of a row of the output, and all beams of a row.
    pub(crate) first: u32,
    pub(crate) row: u32,
    /// What is made: see the constants.
    pub(crate) products: u32,
}

/// Quotient and remainder; in 32 bits where they do, which takes a fifth of the instructions.
#[inline(always)]
fn divided(number: u64, by: u32) -> (u64, u64) {
    let quotient = match u32::try_from(number) {
        Ok(number) => u64::from(number.checked_div(by).unwrap_or_default()),
        Err(_) => number.checked_div(u64::from(by)).unwrap_or_default(),
    };
    (quotient, number - quotient * u64::from(by))
}

impl Detect {
    /// Numbers of a beam that are read, and that are written.
    #[inline(always)]
    fn numbers(&self) -> [u32; 2] {
        match self.products {
            POWER => [1, 1],
            STOKES_I => [2, 1],
            _ => [4, 4],
        }
    }

    #[inline(always)]
    fn fits(&self) -> bool {
        let [read, written] = self.numbers();
        let spectra = u64::from(self.channels) * u64::from(self.times);
        let ok = self.products <= COHERENCY
            && self.channel_sum >= 1
            && self.time_sum >= 1
            && self.beams <= 1 << 24
            && self.row <= 1 << 24
            && u64::from(self.first) + u64::from(self.beams) <= u64::from(self.row)
            && self.pending < self.time_sum;
        if !ok || spectra >= 1 << 36 {
            return false;
        }
        let [channels, times] = self.shape();
        let partial = u64::from(channels) * u64::from(self.beams) * u64::from(read);
        let left = self.rest() > 0;
        spectra * u64::from(self.beams) * u64::from(read) <= self.sums.len() as u64
            && u64::from(channels) * u64::from(times) * u64::from(self.row) * u64::from(written)
                <= self.out.len() as u64
            && (self.pending == 0 || partial <= self.carried.len() as u64)
            && (!left || partial <= self.left.len() as u64)
    }

    /// Whole sums of channels, and sums of times that end.
    #[inline(always)]
    fn shape(&self) -> [u32; 2] {
        let times = u64::from(self.pending) + u64::from(self.times);
        [
            self.channels.checked_div(self.channel_sum).unwrap_or_default(),
            times.checked_div(u64::from(self.time_sum)).unwrap_or_default() as u32,
        ]
    }

    /// Times of the sum that does not end.
    #[inline(always)]
    fn rest(&self) -> u32 {
        let times = u64::from(self.pending) + u64::from(self.times);
        (times - u64::from(self.shape()[1]) * u64::from(self.time_sum)) as u32
    }

    #[inline(always)]
    pub(crate) fn run(&self) {
        if !self.fits() {
            trap();
            return;
        }
        let [channels, whole] = self.shape();
        let times = whole + u32::from(self.rest() > 0);
        let all = u64::from(channels) * u64::from(times) * u64::from(self.beams);
        let mut index = u64::from(ctaid_x()) * 256 + u64::from(tid_x());
        let step = u64::from(nctaid_x()) * 256;
        while index < all {
            let (row, beam) = divided(index, self.beams);
            let (channel, time) = divided(row, times);
            // SAFETY: the sum is among those that there are.
            unsafe { self.one(channel, time, beam, time == u64::from(whole)) }
            index += step;
        }
    }

    /// # Safety
    /// The numbers fit; the beam and the sum exist, and are no other thread's.
    #[inline(always)]
    unsafe fn one(&self, channel: u64, time: u64, beam: u64, partial: bool) {
        let [read, written] = self.numbers();
        let row = u64::from(self.beams) * u64::from(read);
        let mut sums = [0.0f32; 4];
        let of_beam = (channel * u64::from(self.beams) + beam) * u64::from(read);
        if time == 0 && self.pending > 0 {
            unroll!(k in 0 1 2 3 {
                if (k as u32) < read { sums[k] = self.carried.load(of_beam as usize + k); }
            });
        }
        // Those before the launch's first time are in the sum already, those after its last one follow.
        let pending = u64::from(self.pending);
        let start = (time * u64::from(self.time_sum)).max(pending) - pending;
        let end = ((time + 1) * u64::from(self.time_sum) - pending).min(u64::from(self.times));
        let mut c = 0;
        while c < self.channel_sum {
            let first = (channel * u64::from(self.channel_sum) + u64::from(c)) * u64::from(self.times) + start;
            let mut at = first * row + beam * u64::from(read);
            let mut t = start;
            while t < end {
                unroll!(k in 0 1 2 3 {
                    if (k as u32) < read { sums[k] += self.sums.load(at as usize + k); }
                });
                at += row;
                t += 1;
            }
            c += 1;
        }
        if partial {
            unroll!(k in 0 1 2 3 {
                if (k as u32) < read { self.left.store(of_beam as usize + k, sums[k]); }
            });
            return;
        }
        let [xx, yy, re, im] = sums;
        let values = match self.products {
            POWER => sums,
            STOKES_I => [xx + yy, 0.0, 0.0, 0.0],
            STOKES => [xx + yy, xx - yy, 2.0 * re, -2.0 * im],
            _ => sums,
        };
        let sum = channel * u64::from(self.shape()[1]) + time;
        let index = sum * u64::from(self.row) + u64::from(self.first) + beam;
        unroll!(k in 0 1 2 3 {
            if (k as u32) < written {
                self.out.store((index * u64::from(written)) as usize + k, values[k]);
            }
        });
    }
}
