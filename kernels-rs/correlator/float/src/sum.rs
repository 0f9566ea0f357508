//! Where sums go: `[f32; 2]` are overwritten, `[f64; 2]` added to.
//!
//! Registers hold sums of [`FLUSH_ROWS`](crate::job::FLUSH_ROWS) rows of time at most. Then they are added to what lies
//! in global memory, and start from zero again: sums in f32 have few roundings each, and those that are added to f64 no
//! more than that.

use fringes_device::{GlobalMut, Value, unroll};

use crate::job::Job;

/// A complex sum in global memory.
pub trait Sum: Value {
    /// Whether what was there before the launch is added to.
    const ADDS: bool;
    /// No sum.
    const ZERO: Self;
    /// `self + new`.
    fn plus(self, new: [f32; 2]) -> Self;
}

impl Sum for [f32; 2] {
    const ADDS: bool = false;
    const ZERO: Self = [0.0; 2];

    #[inline(always)]
    fn plus(self, new: [f32; 2]) -> Self {
        [self[0] + new[0], self[1] + new[1]]
    }
}

impl Sum for [f64; 2] {
    const ADDS: bool = true;
    const ZERO: Self = [0.0; 2];

    #[inline(always)]
    fn plus(self, new: [f32; 2]) -> Self {
        [self[0] + f64::from(new[0]), self[1] + f64::from(new[1])]
    }
}

/// The sums of one accumulator.
#[derive(Clone, Copy)]
pub struct Triangle<S> {
    /// All sums.
    pub sums: GlobalMut<S>,
    /// The first one of this accumulator.
    pub first: usize,
    /// Inputs whose sums are kept: all, or none where there is no place for sums.
    pub inputs: u32,
    /// This launch has written them before.
    pub again: bool,
}

impl<S: Sum> Triangle<S> {
    /// The sums of an accumulator of a job, none of which has been written.
    #[inline(always)]
    pub fn new(sums: GlobalMut<S>, job: &Job, slot: u32) -> Self {
        let inputs = if sums.is_empty() { 0 } else { job.inputs };
        Self { sums, first: slot as usize * job.baselines() as usize, inputs, again: false }
    }

    /// Adds `new(i)` to the sums of inputs `a + i` and `b`, four of them, where they are kept: `a + i >= b`. All are
    /// read before one is written.
    ///
    /// # Safety
    /// The sums hold the accumulator's triangle, and no other thread uses these.
    #[inline(always)]
    pub unsafe fn add(&self, a: u32, b: u32, new: impl Fn(u32) -> [f32; 2]) {
        let index = |a: u32| self.first + (u64::from(a) * (u64::from(a) + 1) / 2) as usize + b as usize;
        let kept = |a: u32| b <= a && a < self.inputs;
        let mut old = [S::ZERO; 4];
        if S::ADDS || self.again {
            unroll!(i in 0 1 2 3 {
                if kept(a + i as u32) {
                    old[i] = self.sums.load(index(a + i as u32));
                }
            });
        }
        unroll!(i in 0 1 2 3 {
            if kept(a + i as u32) {
                self.sums.store(index(a + i as u32), old[i].plus(new(i as u32)));
            }
        });
    }
}
