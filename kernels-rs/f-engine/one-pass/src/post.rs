//! From transformed points to values: the step from a complex to a real transform, gain, phase, dither, quantisation.
//!
//! Real samples: points `z[n] = x[2 n] + i x[2 n + 1]`, transform `Z`, and the channels `k` and `N - k` of `x` come
//! from `Z[k]` and `Z[N - k]` ([`real_pair`]); channel 0 and, if `N` is even, channel `N / 2` are their own partners.
//! Complex samples: the point is the channel.
//!
//! A thread has a pair (a point), for some of the spectra: what is the same for all spectra is loaded once. Values
//! replace the points that they are made of, so that no thread waits for another.
//!
//! # Precision
//! The factor of a channel, phase and gain, has an error of `2^-19.8` of its magnitude.

use fringes_device::{Global, Shared, Value};
use fringes_kernels_common::complex::{Complex, mul, mul_add};
use fringes_kernels_common::dither;
use fringes_kernels_common::quantise::Output;
use fringes_kernels_f_engine_two_pass::post::real_pair;

use crate::entry::Entry;
use crate::shape::{Divisor, Shape, slot};

/// What values are made with.
#[derive(Clone, Copy)]
pub struct Post {
    /// Sizes: the points are those of a slot.
    pub shape: Shape,
    /// Points of a spectrum.
    pub all: u32,
    /// Pairs of a slot of real samples, points of complex ones.
    pub items: u32,
    /// Spectra of the job.
    pub spectra: u32,
    /// Slots of the spectra.
    pub points: Shared<[f32; 2]>,
    /// Entries of the spectra.
    pub entries: Shared<[u32; 4]>,
    /// Pairs of real samples: positions of `Z[k]` (low half) and `Z[N - k]`, `k`, `exp(-pi i k / N)` as bits of f32.
    pub pairs: Global<[u32; 4]>,
    /// Channel of each position.
    pub channels: Global<u32>,
    /// Gains of the job's input: of real samples half of those of channels `k` and `N - k` of each pair, of complex
    /// ones those of each position.
    pub gains: Global<[f32; 2]>,
    /// First channel that is put out.
    pub first_channel: u32,
    /// Channels that are put out.
    pub range: u32,
    /// Whether there is dither.
    pub dither: bool,
}

/// Numbers of pairs of `points` points of real samples.
#[inline(always)]
pub const fn pairs(points: u32) -> u32 {
    points / 2 + 1
}

impl Post {
    /// Makes the values of the job, as one of `threads` threads; returns how many of the channels that are put out
    /// saturated, and whether the tables were right.
    ///
    /// # Safety
    /// The views hold what the shape and the number of spectra say; barriers are before and after. Whatever positions
    /// the tables have, no place outside the slots is used.
    #[inline(always)]
    pub unsafe fn run<O: Output, const COMPLEX: bool, const FINITE: bool>(
        &self,
        thread: u32,
        threads: u32,
    ) -> (u32, bool) {
        let items = self.items.max(1);
        // Few items are shared by teams, each of which has every so many spectra.
        let (teams, team, first) = if items >= threads {
            (1, 0, thread)
        } else {
            let teams = threads / items;
            let (team, first) = Divisor::new(items).divide(thread);
            (teams, team, first)
        };
        let (mut saturated, mut right) = (0, true);
        let mut item = first;
        while item < items && team < teams {
            if COMPLEX {
                let (channel, gain) = (self.channels.load(item as usize), self.gains.load(item as usize));
                let mut s = team;
                while s < self.spectra {
                    let (points, entry) = (self.slot(s), Entry::load(self.entries, s));
                    let x = points.load(self.shape.place(item) as usize);
                    saturated += self.put::<O, FINITE>(x, channel, gain, &entry, points, item);
                    s += teams;
                }
            } else {
                let [positions, k, re, im] = self.pairs.load(item as usize);
                let (a, b, root) = (positions & 0xffff, positions >> 16, [f32::from_bits(re), f32::from_bits(im)]);
                let gains = (self.gains.load(2 * item as usize), self.gains.load(2 * item as usize + 1));
                if a >= self.shape.points || b >= self.shape.points {
                    right = false;
                } else {
                    let mut s = team;
                    while s < self.spectra {
                        let (points, entry) = (self.slot(s), Entry::load(self.entries, s));
                        let (p, q) =
                            (points.load(self.shape.place(a) as usize), points.load(self.shape.place(b) as usize));
                        let (x, y) = real_pair(p, q, root);
                        saturated += self.put::<O, FINITE>(x, k, gains.0, &entry, points, a);
                        if a != b {
                            let partner = self.all.wrapping_sub(k);
                            saturated += self.put::<O, FINITE>(y, partner, gains.1, &entry, points, b);
                        }
                        s += teams;
                    }
                }
            }
            item += threads;
        }
        (saturated, right)
    }

    /// The slot of a spectrum.
    ///
    /// # Safety
    /// - `points` holds it.
    #[inline(always)]
    unsafe fn slot(&self, s: u32) -> Shared<[f32; 2]> {
        let slot = slot(self.shape.points);
        self.points.part((s * slot) as usize, slot as usize)
    }

    /// Applies gain and phase to a value, quantises it and stores it in place of a point; returns 1 if it saturated and
    /// is put out.
    ///
    /// # Safety
    /// - `points` is the slot of a spectrum of the shape, `position` below its points, and no other thread uses the
    ///   point.
    #[inline(always)]
    unsafe fn put<O: Output, const FINITE: bool>(
        &self,
        x: Complex,
        channel: u32,
        gain: Complex,
        entry: &Entry,
        points: Shared<[f32; 2]>,
        position: u32,
    ) -> u32 {
        let factor = mul(entry.factor(channel), gain);
        let mut v = if O::INTEGER && self.dither {
            dither::add(
                mul_add(factor, x, [dither::BASE; 2]),
                dither::hash(dither::hash_start(channel, entry.key[0]), entry.key[1]),
                dither::STEP,
            )
        } else {
            mul(factor, x)
        };
        let mut lost = false;
        if O::INTEGER && !FINITE {
            lost = v[0].is_nan() || v[1].is_nan();
            v = v.map(|part| if part.is_nan() { 0.0 } else { part });
        }
        let (value, saturated) = O::store(v);
        points.cast::<O::Stored>().store(value_place::<O::Stored>(&self.shape, position), value);
        ((lost || saturated) && channel.wrapping_sub(self.first_channel) < self.range) as u32
    }
}

/// Index of the value that has the place of a point, in a slot of such values.
#[inline(always)]
pub const fn value_place<T: Value>(shape: &Shape, position: u32) -> usize {
    shape.place(position) as usize * (8 / T::BYTES)
}
