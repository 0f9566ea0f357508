//! From sums to values of channels: gain and phase, dither, quantisation, output.

use fringes_device::arithmetic::{mul_hi_u32, popc_b32};
use fringes_device::warp::{shfl_sync_idx_b32, vote_sync_ballot_b32};
use fringes_device::{GlobalMut, Shared, Value, opaque, unroll};
use fringes_kernels_common::complex::{Complex, mul, mul_add};
use fringes_kernels_common::dither;
use fringes_kernels_common::rotation::unit_approx;

use super::eight::Eight;
use super::rows::{Arguments, Shares};
use crate::job::{self, NEXT};

/// Spectra from a quad to the next that a lane has: those between are of the lanes beside it, so that four lanes store
/// pieces of memory that follow each other.
const NEXT_QUAD: u64 = 16;

/// Values of four slots are no neighbours, or not all there.
const APART: u32 = 0;
/// Those of both jobs lie as one piece, `[spectrum][job]`.
const TOGETHER: u32 = 1;
/// Those of a job lie behind each other.
const BY_JOB: u32 = 2;

/// What a block knows of its slots. Four spectra of both jobs that follow each other are a *quad*.
#[derive(Clone, Copy)]
pub(super) struct Keys {
    /// Words of the dither of value `2 spectrum + job` of a quad, `[value][quad]`.
    dither: Shared<[u32; 2]>,
    /// Addresses of their places, 0 where there is none, likewise.
    places: Shared<[u32; 2]>,
    /// Phase and slope of the first spectrum, high word of the one and both of the other, and how values lie,
    /// `[job][quad]`.
    phases: Shared<[u32; 4]>,
    /// Gains of both jobs of a value of a task, what phases change by from spectrum to spectrum, and from a quad to the
    /// next that a lane has, `[value][3]`.
    factors: Shared<[f32; 4]>,
    /// The channel of a value.
    channels: Shared<u32>,
    /// Of a job its count, and whether it is of those that come next.
    counts: Shared<[u32; 4]>,
    quads: u32,
}

/// The upper word of `x k`.
#[inline(always)]
fn upper(low: u32, high: u32, k: u32) -> u32 {
    high.wrapping_mul(k).wrapping_add(mul_hi_u32(low, k))
}

#[inline(always)]
fn unit(turns: u32) -> Complex {
    unit_approx((turns as u64) << 32)
}

impl Keys {
    /// Those of `slots` slots and two rows of `rows` points, in memory of their own.
    ///
    /// # Safety
    /// - It has 20 bytes a slot, 104 a point of a row, and 32.
    #[inline(always)]
    pub(super) unsafe fn of(memory: Shared<[u32; 4]>, slots: u32, rows: u32) -> Self {
        let part = |first: u32, pieces: u32| memory.part(first as usize, pieces as usize);
        Self {
            dither: part(0, slots / 2).cast::<[u32; 2]>(),
            places: part(slots / 2, slots / 2).cast::<[u32; 2]>(),
            phases: part(slots, slots / 4),
            factors: part(slots / 4 * 5, 6 * rows).cast::<[f32; 4]>(),
            channels: part(slots / 4 * 5 + 6 * rows, rows / 2).cast::<u32>(),
            counts: part(slots / 4 * 5 + 6 * rows + rows / 2, 2),
            quads: slots / 8,
        }
    }

    /// Writes the factors of value `value` of the tasks, which is of a channel.
    ///
    /// # Safety
    /// - There is the first job, the value and the channel; a barrier follows.
    #[inline(always)]
    pub(super) unsafe fn write_factors<T: Value>(
        self,
        Arguments { jobs, gains, channels, .. }: &Arguments<T>,
        (first_job, count): (u32, u32),
        value: u32,
        channel: u32,
    ) {
        let mut both = [[0.0f32; 2]; 6];
        unroll!(which in 0 1 {
            let missing = first_job + which as u32 >= count;
            let job = job::load(*jobs, (if missing { first_job } else { first_job + which as u32 }) as usize);
            both[which] = gains.load((job.input * channels + channel) as usize);
            let turns = |spectra: u64| {
                let (slope, rate) = (job.slope_rate.wrapping_mul(spectra), job.phase_rate.wrapping_mul(spectra));
                unit(((rate >> 32) as u32).wrapping_add(upper(slope as u32, (slope >> 32) as u32, channel)))
            };
            both[2 + which] = turns(1);
            both[4 + which] = turns(NEXT_QUAD);
        });
        let piece = |i: usize| [both[i][0], both[i][1], both[i + 1][0], both[i + 1][1]];
        self.factors.store(3 * value as usize, piece(0));
        self.factors.store(3 * value as usize + 1, piece(2));
        self.factors.store(3 * value as usize + 2, piece(4));
        self.channels.store(value as usize, channel);
    }

    /// Writes the keys of slots of the jobs from `first_job` on, from place `first` of their spectra on.
    ///
    /// # Safety
    /// - All threads of the block call it; a barrier follows. There is the first job.
    #[inline(always)]
    pub(super) unsafe fn write<O: Eight>(
        self,
        Arguments { jobs, launch, out, shares, .. }: &Arguments<O::Stored>,
        (first_job, count): (u32, u32),
        first: u32,
        thread: u32,
    ) {
        if thread >= 8 * self.quads {
            return;
        }
        // Whole warps.
        let (quad, which, ahead) = (thread / 8, thread / 4 % 2, thread % 4);
        let linear = first + 4 * quad + ahead;
        let missing = first_job + which >= count;
        let job = job::load(*jobs, if missing { first_job } else { first_job + which } as usize);
        // Slots before the job's first spectrum and after its last one are of none.
        let s = linear.wrapping_sub(job.lead());
        let valid = !missing && s < job.spectra;
        let [a, b] = dither::words_looped(launch.seed, job.spectrum.wrapping_add(s as i32 as u64), job.input);
        let time = job.time.wrapping_add(s);
        let period = launch.period.max(1);
        let place = job
            .place
            .wrapping_add((time / period) as u64 * launch.period_stride)
            .wrapping_add((time % period) as u64 * launch.time_stride as u64);
        let next = job.flags & NEXT;
        let target = if next == 0 { out[0] } else { out[1] };
        let place = if valid { target.address(place as usize) } else { 0 };
        let at = ((2 * ahead + which) * self.quads + quad) as usize;
        self.dither.store(at, [a, b]);
        self.places.store(at, [place as u32, (place >> 32) as u32]);
        // How far they are from the quad's first one, and the job's.
        let bytes = O::Stored::BYTES as u64;
        let shuffled = |lane: u32| {
            let low = shfl_sync_idx_b32(place as u32, lane, 31, u32::MAX);
            low as u64 | (shfl_sync_idx_b32((place >> 32) as u32, lane, 31, u32::MAX) as u64) << 32
        };
        let (of_quad, of_job) = (shuffled(thread % 32 / 8 * 8), shuffled(thread % 32 / 4 * 4));
        let stride = bytes.wrapping_mul(launch.channel_stride) | bytes.wrapping_mul(shares.jump);
        let piece = if 8 * bytes < 16 { 8 * bytes } else { 16 };
        let half = if 4 * bytes < 16 { 4 * bytes } else { 16 };
        let together = valid
            && place.wrapping_sub(of_quad) == (2 * ahead + which) as u64 * bytes
            && (of_quad | stride) % piece == 0;
        let by_job = valid && place.wrapping_sub(of_job) == ahead as u64 * bytes && (of_job | stride) % half == 0;
        let (together, by_job) = (vote_sync_ballot_b32(together, u32::MAX), vote_sync_ballot_b32(by_job, u32::MAX));
        let all = |ballot: u32| ballot >> (thread % 32 / 8 * 8) & 0xff == 0xff;
        let mode = if all(together) {
            TOGETHER
        } else if all(by_job) {
            BY_JOB
        } else {
            APART
        };
        if ahead == 0 {
            let signed = s as i32 as i64 as u64;
            let slope = job.slope.wrapping_add(job.slope_rate.wrapping_mul(signed));
            let phase = job.phase.wrapping_add(job.phase_rate.wrapping_mul(signed));
            let words = [(phase >> 32) as u32, slope as u32, (slope >> 32) as u32, mode];
            self.phases.store((which * self.quads + quad) as usize, words);
            if quad == 0 {
                self.counts.store(which as usize, [job.count, next, 0, 0]);
            }
        }
    }

    /// Which count a job's values are of, and whether it is of those that come next.
    ///
    /// # Safety
    /// - They have been written, and a barrier followed.
    #[inline(always)]
    pub(super) unsafe fn count(self, job: u32) -> (u32, bool) {
        let [count, next, _, _] = self.counts.load(job as usize);
        (count, next != 0)
    }
}

/// What a lane makes the values of a channel with.
#[derive(Clone, Copy)]
pub(super) struct Post {
    value: u32,
    channel: u32,
    /// Gain and phase of the first spectrum of the next quad of both jobs.
    factors: [Complex; 2],
}

impl Post {
    /// Of no channel.
    pub(super) const NONE: Self = Self { value: 0, channel: 0, factors: [[0.0; 2]; 2] };

    /// Of a value of a task, from the first spectrum of a quad on.
    ///
    /// # Safety
    /// - There are the value and the quad, the keys have been written, and a barrier followed.
    #[inline(always)]
    pub(super) unsafe fn new(keys: Keys, value: u32, quad: u32) -> Self {
        let channel = keys.channels.load(value as usize);
        let [a, b, c, d] = keys.factors.load(3 * value as usize);
        let mut post = Self { value, channel, factors: [[a, b], [c, d]] };
        unroll!(job in 0 1 {
            let [phase, low, high, _] = keys.phases.load((job as u32 * keys.quads + quad) as usize);
            post.factors[job] = mul(post.factors[job], unit(phase.wrapping_add(upper(low, high, channel))));
        });
        post
    }

    /// Makes and stores the values of a quad, four quads behind the one before; returns how many of both jobs
    /// saturated, 16 bits each.
    ///
    /// # Safety
    /// - As [`new`](Self::new); the output has the places of the slots, and no other thread stores them.
    #[allow(unused_assignments, reason = "behind the last of four spectra, which are unrolled")]
    #[inline(always)]
    pub(super) unsafe fn put<O: Eight>(
        &mut self,
        arguments: &Arguments<O::Stored>,
        keys: Keys,
        quad: u32,
        sums: [[f32; 4]; 4],
    ) -> u32 {
        let launch = arguments.launch;
        let channel = self.channel;
        // What phases change by from spectrum to spectrum.
        let both = |piece: u32| {
            let [a, b, c, d] = keys.factors.load((3 * self.value + piece) as usize);
            [[a, b], [c, d]]
        };
        let rates = both(1);
        let mode = keys.phases.cast::<u32>().load(4 * quad as usize + 3);
        let (step, base) =
            if O::INTEGER && launch.dither { (dither::STEP, dither::BASE + O::BASE) } else { (0.0, O::BASE) };
        let start = dither::hash_start(channel, 0);
        let mut values = [[[0.0f32; 2]; 2]; 4];
        let mut factors = self.factors;
        unroll!(s in 0 1 2 3 {
            unroll!(job in 0 1 {
                let x = [sums[s][job], sums[s][2 + job]];
                let factor = factors[job];
                if O::INTEGER {
                    let v = mul_add(factor, x, [base; 2]);
                    let [a, b] = keys.dither.load(((2 * s + job) as u32 * keys.quads + quad) as usize);
                    values[s][job] = dither::add(v, dither::hash(start.wrapping_add(a), b), step);
                } else {
                    values[s][job] = mul(factor, x);
                }
                if s < 3 {
                    factors[job] = mul(factor, rates[job]);
                }
            });
        });
        let further = both(2);
        unroll!(job in 0 1 {
            self.factors[job] = mul(self.factors[job], further[job]);
        });
        if channel.wrapping_sub(launch.first_channel) >= launch.channels {
            return 0;
        }
        let (words, mut which) = O::words(values);
        let bytes = O::Stored::BYTES as u64;
        let stride = bytes.wrapping_mul(launch.channel_stride);
        // Computed anew, so that it takes no registers meanwhile.
        let anew = opaque(channel as i32) as u32;
        let ahead = anew.wrapping_sub(launch.first_channel);
        let Shares { bits, jump } = arguments.shares;
        let further = (ahead as u64)
            .wrapping_mul(stride)
            .wrapping_add(((ahead >> (bits & 31)) as u64).wrapping_mul(bytes.wrapping_mul(jump)));
        let place = |value: usize| {
            let [low, high] = keys.places.load((value as u32 * keys.quads + quad) as usize);
            low as u64 | (high as u64) << 32
        };
        if mode == TOGETHER {
            write::<O>(place(0).wrapping_add(further), words, 0, O::WORDS);
        } else if mode == BY_JOB {
            let sorted = O::by_job(words);
            write::<O>(place(0).wrapping_add(further), sorted, 0, O::WORDS / 2);
            write::<O>(place(1).wrapping_add(further), sorted, O::WORDS / 2, O::WORDS / 2);
        } else {
            unroll!(value in 0 1 2 3 4 5 6 7 {
                let place = place(value);
                if place == 0 {
                    which &= !(1 << value);
                } else {
                    let here = GlobalMut::<O::Stored>::from_raw_parts(place.wrapping_add(further), 1);
                    here.store(0, O::value(words, value));
                }
            });
        }
        if O::INTEGER && which != 0 { popc_b32(which & 0x55) | popc_b32(which & 0xaa) << 16 } else { 0 }
    }
}

/// Stores `count` words from `first` on.
///
/// # Safety
/// - The memory is there, and whole pieces of up to 16 bytes are aligned; no other thread stores there.
#[inline(always)]
unsafe fn write<O: Eight>(address: u64, words: [u32; 16], first: usize, count: usize) {
    if count == 1 {
        GlobalMut::<u32>::from_raw_parts(address, 1).store(0, words[first]);
    } else if count == 2 {
        GlobalMut::<[u32; 2]>::from_raw_parts(address, 1).store(0, [words[first], words[first + 1]]);
    } else {
        unroll!(piece in 0 1 2 3 {
            if 4 * piece < count {
                let at = first + 4 * piece;
                let piece_words = [words[at % 16], words[(at + 1) % 16], words[(at + 2) % 16], words[(at + 3) % 16]];
                GlobalMut::<[u32; 4]>::from_raw_parts(address, 4).store(piece, piece_words);
            }
        });
    }
}
