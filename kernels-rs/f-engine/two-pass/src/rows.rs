//! The second pass: the transform over the rest of the points, of real samples the step from complex to real
//! transforms, gain, phase, quantisation, output.
//!
//! A row `k1` of the workspace has the points `n2 < N'` of which channels `k1 + R k2` are made:
//!
//! ```text
//! Z[s][k1 + R k2] = sum_n2 exp(-2 pi i n2 (k1 + R k2) / N) y[s][k1][n2]
//!
//! N' = 16 L            n2 = L i + m                k2 = c + 16 d               c, i < 16
//! N' = 256 L           n2 = 16 L i + L j + m       k2 = c1 + 16 c2 + 256 d     c1, c2, i, j < 16
//! L = 2, 4, 8, 16      m, d < L
//! ```
//!
//! Where a digit was made [between](crate::between) the passes, `R` is 16 times the first pass's `R'`, and row
//! `k1 + R' c` lies in the workspace as `[c][n2][k1]`.
//!
//! Every digit's transform is twiddled ([`crate::butterfly`]) by powers of `exp(-2 pi i k / (R 16^p))` with the digits
//! of `k` that are known by then, so that the twiddles cost nothing but their loads; all lanes of a row and of a digit
//! share them.
//!
//! # A block
//! has rows `k1` and `R - k1`, so that a channel and its mirror image, which the step to real transforms needs, are in
//! one thread; rows 0 and `R / 2` are their own mirror images and go together. Of complex samples, which need no such
//! step ([`crate::complex`]), a block has rows `k1` and `k1 + R / 2`. Of these it has 32 slots (fewer for long
//! rows): 16 spectra of both jobs of a group. Lanes are slots. So every access to the workspace and to shared memory is
//! of whole lines without bank conflicts, tables are read once for all slots, and 16 spectra of two polarisations are
//! 32 neighbours in a frame: values go from registers to memory as whole sectors.

use fringes_device::barrier::bar_sync_0;
use fringes_device::warp::redux_sync_add_u32;
use fringes_device::{Global, GlobalMut, Shared, Value, opaque, unroll};
use fringes_kernels_common::complex::Complex;
use fringes_kernels_common::dither;
use fringes_kernels_common::quantise::Output;
use fringes_kernels_common::rotation::unit_approx;

use crate::butterfly::{Radix, Twiddled, sixteen_twiddled};
use crate::columns;
use crate::complex;
use crate::job::{self, JOB_PIECES, Launch, NEXT};
use crate::post::{Post, Values};

use fringes_kernel_abi::f_engine::rows::{DIGIT, ENTRY, pitch};
pub use fringes_kernel_abi::f_engine::rows::{last, shared_bytes, slots, threads};

/// Everything that the kernels get.
#[derive(Clone, Copy)]
pub struct Arguments<T> {
    /// What [`columns`] wrote.
    pub workspace: GlobalMut<[f32; 2]>,
    /// Factors of the first digit, `[k1]`, and of the second one, `[k1 + R c1]`, pairs of complex numbers.
    pub digits: (Global<[f32; 4]>, Global<[f32; 4]>),
    /// Factors of the last digit, `[k]`.
    pub last: Global<[f32; 2]>,
    /// `exp(-pi i k / N)`; of complex samples none.
    pub roots: Global<[f32; 2]>,
    /// Gains, `[input][channel]`; of real samples halves of them.
    pub gains: Global<[f32; 2]>,
    /// Jobs.
    pub jobs: Global<[u32; 4]>,
    /// Output: of the frames that are complete, and of those that come next.
    pub out: [GlobalMut<T>; 2],
    /// Counts of saturated values, likewise.
    pub saturated: [GlobalMut<u32>; 2],
    /// Number of jobs.
    pub count: u32,
    /// First group of this launch.
    pub first_group: u32,
    /// Rows `R`, where they are not a constant of the kernel: up to 16, or 16 times as many.
    pub radix: u32,
    /// Where values lie, and their dither.
    pub launch: Launch,
}

impl<T> Arguments<T> {
    /// Rows `R`: `RADIX`, if that is not 0.
    #[inline(always)]
    pub(crate) fn rows<const RADIX: u32>(&self) -> u32 {
        if RADIX > 0 { RADIX } else { self.radix }
    }
}

/// Loads factors of 16 points.
///
/// # Safety
/// - The table has those of `index`.
#[inline(always)]
pub(crate) unsafe fn factors(table: Global<[f32; 4]>, index: u32) -> [Complex; 8] {
    let mut w = [[0.0; 2]; 8];
    unroll!(i in 0 1 2 3 {
        let pair = table.load((index * 4) as usize + i);
        w[2 * i] = [pair[0], pair[1]];
        w[2 * i + 1] = [pair[2], pair[3]];
    });
    w
}

/// Loads `L` points, `stride` apart.
///
/// # Safety
/// - Points `at`, `at + stride` and so on, of `L`, are in `shared` and have been written.
#[inline(always)]
unsafe fn points<L: Radix>(shared: Shared<[f32; 2]>, at: u32, stride: u32) -> L::Points {
    let mut x = L::ZERO;
    unroll!(i in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 {
        if i < L::POINTS {
            x.as_mut()[i] = shared.load((at + i as u32 * stride) as usize);
        }
    });
    x
}

/// Factors of the last digit of the values that begin with bin `first`.
///
/// # Safety
/// - The table has the bin, which is below `N / L`.
#[inline(always)]
pub(crate) unsafe fn last_factors<T, L: Twiddled>(arguments: &Arguments<T>, first: u32) -> L::Factors {
    let mut w = L::NO_FACTORS;
    unroll!(f in 0 1 2 3 4 5 6 7 {
        if f < L::FACTORS {
            w.as_mut()[f] = arguments.last.load((first * L::FACTORS as u32) as usize + f);
        }
    });
    w
}

/// The last digit's points of value `e` of the digits before, of the one or the other row.
///
/// # Safety
/// - They have been exchanged, and a barrier followed.
#[inline(always)]
pub(crate) unsafe fn last_points<const ROWS: u32, L: Radix>(
    exchange: Shared<[f32; 2]>,
    row: u32,
    e: u32,
    slot: u32,
) -> L::Points {
    let (slots, l) = (slots(ROWS), L::POINTS as u32);
    let (c1, rest) = (e % 16, e / 16);
    points::<L>(exchange, ((row * DIGIT + c1) * pitch(ROWS) + rest * l) * slots + slot, slots)
}

/// Points of the first pass's digit, of `radix` rows: the rest is from [`between`](crate::between).
const fn first_digit(radix: u32) -> u32 {
    if radix > 16 { radix / DIGIT } else { radix }
}

/// Which rows and slots some threads have.
#[derive(Clone, Copy)]
pub struct Tile {
    /// Which [`slots`] of the group.
    pub tile: u32,
    /// Which two rows.
    pub pair: u32,
    /// Group of the launch.
    pub local: u32,
    /// Number of the thread among [`threads`].
    pub thread: u32,
}

/// Whether the views hold what tiles of the first `places` groups of a workspace need, jobs apart, and a block's shared
/// memory a tile.
#[inline(always)]
pub fn holds<const ROWS: u32, const RADIX: u32, L: Twiddled, T, const COMPLEX: bool>(
    arguments: &Arguments<T>,
    places: u32,
) -> bool {
    let Arguments { workspace, digits, last, roots, jobs, count, .. } = arguments;
    let radix = arguments.rows::<RADIX>();
    let few = radix <= DIGIT || radix <= DIGIT * DIGIT && radix.is_multiple_of(DIGIT);
    if RADIX == 0 && (!radix.is_multiple_of(2) || radix == 0 || !few) {
        return false;
    }
    let channels = ROWS * radix;
    (places * channels * columns::SLOTS) as usize <= workspace.len()
        && digits.0.len() as u32 >= 4 * radix
        && (ROWS <= 256 || digits.1.len() as u32 >= 4 * 16 * radix)
        && last.len() as u32 >= channels / L::POINTS as u32 * L::FACTORS as u32
        && (COMPLEX || roots.len() as u32 > channels)
        && *count as usize * JOB_PIECES <= jobs.len()
        && Shared::<u8>::dynamic().len() >= shared_bytes(ROWS) as usize
}

/// Runs two rows of some slots.
///
/// # Safety
/// A block has [`threads`] threads, all of which call it. [`holds`] for more places than the tile's; there are the tile
/// and the pair. [`columns`] has checked the jobs.
#[inline(always)]
pub unsafe fn run<const ROWS: u32, const RADIX: u32, L: Twiddled, O: Output, const COMPLEX: bool>(
    arguments: Arguments<O::Stored>,
    Tile { tile, pair, local, thread }: Tile,
) {
    let Arguments { workspace, digits, count, first_group, launch, .. } = arguments;
    let radix = arguments.rows::<RADIX>();
    let slots = slots(ROWS);
    let long = ROWS > 256;
    let channels = ROWS * radix;
    let group = first_group + local;
    if group * 2 >= count {
        return;
    }
    let (slot, q) = (thread % slots, thread / slots);
    let linear = tile * slots + slot;
    // Rows 0 and R / 2 go together.
    let own = pair == 0;
    let rows = if COMPLEX {
        [pair, pair + radix / 2]
    } else if own {
        [0, radix / 2]
    } else {
        [pair, radix - pair]
    };
    let mut x = [[[0.0f32; 2]; 16]; 2];
    unroll!(r in 0 1 {
        let first = first_digit(radix);
        let row = if radix <= DIGIT || RADIX == first {
            (local * ROWS + q) * first + rows[r]
        } else {
            ((local * (radix / first) + rows[r] / first) * ROWS + q) * first + rows[r] % first
        };
        let at = (row * columns::SLOTS + linear) as usize;
        // From one place the others are constants away.
        let here = workspace.part(at, workspace.len() - at);
        unroll!(i in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 {
            x[r][i] = here.load(i * (ROWS / 16 * first * columns::SLOTS) as usize);
        });
    });
    let shared = Shared::<[f32; 2]>::dynamic();
    let exchanged = (2 * DIGIT * pitch(ROWS) * slots) as usize;
    let exchange = shared.part(0, exchanged);
    let powers = shared.part(exchanged, (L::POINTS as u32 * slots) as usize);
    let entries =
        shared.part(exchanged + (L::POINTS as u32 * slots) as usize, (ENTRY * 2 * slots) as usize).cast::<[u32; 4]>();
    prepare::<ROWS, RADIX, L, O::Stored>(&arguments, (group * 2, count), tile * slots, thread, (powers, entries));
    unroll!(r in 0 1 {
        let y = sixteen_twiddled(x[r], factors(digits.0, rows[r]));
        let at = ((r as u32 * DIGIT) * pitch(ROWS) + q) * slots + slot;
        unroll!(c in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 {
            exchange.store((at + c as u32 * pitch(ROWS) * slots) as usize, y[c]);
        });
    });
    bar_sync_0();
    if long {
        let l = L::POINTS as u32;
        let (c, m) = (q / l, q % l);
        unroll!(r in 0 1 {
            let at = ((r as u32 * DIGIT + c) * pitch(ROWS) + m) * slots + slot;
            let mut x = [[0.0; 2]; 16];
            unroll!(j in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 {
                x[j] = exchange.load((at + j as u32 * l * slots) as usize);
            });
            let y = sixteen_twiddled(x, factors(digits.1, rows[r] + radix * c));
            unroll!(j in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 {
                exchange.store((at + j as u32 * l * slots) as usize, y[j]);
            });
        });
        bar_sync_0();
    }
    let valid = entries.load((slot * ENTRY + 2) as usize)[2] != 0;
    let mut beyond = 0;
    if valid && COMPLEX {
        let inner = channels / 4;
        let within = launch.first_channel >= inner
            && launch.first_channel < 3 * inner
            && launch.channels <= 3 * inner - launch.first_channel;
        beyond = if within {
            complex::finish::<ROWS, RADIX, L, O, true>(&arguments, rows, q, slot, exchange, powers, entries)
        } else {
            complex::finish::<ROWS, RADIX, L, O, false>(&arguments, rows, q, slot, exchange, powers, entries)
        };
    } else if valid {
        let all = launch.first_channel == 0 && launch.channels == channels;
        beyond = if all {
            finish::<ROWS, RADIX, L, O, true>(&arguments, rows, own, q, slot, exchange, powers, entries)
        } else {
            finish::<ROWS, RADIX, L, O, false>(&arguments, rows, own, q, slot, exchange, powers, entries)
        };
    }
    if O::INTEGER {
        // Lanes of even numbers are of the first job, unless the block has a single slot.
        unroll!(which in 0 1 {
            if which < slots as usize {
                let mine = slots == 1 || thread % 2 == which as u32;
                let sum = redux_sync_add_u32(if mine { beyond } else { 0 }, u32::MAX);
                if sum > 0 && thread % 32 == which as u32 {
                    let entry = entries.load((which as u32 * ENTRY + 2) as usize);
                    let counts = if entry[3] == 0 { arguments.saturated[0] } else { arguments.saturated[1] };
                    counts.atomic_add(entry[1] as usize, sum);
                }
            }
        });
    }
}

/// The last digit, and everything after it, of a slot that has a spectrum; returns how many values saturated.
///
/// # Safety
/// - As [`run`]; the slot has a spectrum, its entry and powers are there, and a barrier followed what was exchanged.
/// - With `ALL` all channels are put out.
#[inline(always)]
unsafe fn finish<const ROWS: u32, const RADIX: u32, L: Twiddled, O: Output, const ALL: bool>(
    arguments: &Arguments<O::Stored>,
    rows: [u32; 2],
    own: bool,
    q: u32,
    slot: u32,
    exchange: Shared<[f32; 2]>,
    powers: Shared<[f32; 2]>,
    entries: Shared<[u32; 4]>,
) -> u32 {
    let slots = slots(ROWS);
    let l = L::POINTS as u32;
    // Values of the digits before.
    let many = ROWS / l;
    let tasks = 16 / L::POINTS;
    let radix = arguments.rows::<RADIX>();
    let mut beyond = 0;
    // A loop, so that the code of a task stays in the instruction cache.
    let mut j = 0;
    while j < tasks {
        let e = opaque((q + j as u32 * (ROWS / 16)) as i32) as u32;
        // Of the rows that are their own mirror images, value e goes with many - e in the first and with many - 1 - e
        // in the second one; 0 and many / 2 of the first row are their own ones.
        let half = many / 2;
        let (from, to) = if !own {
            ([0, 1], [e, many - 1 - e])
        } else if e == 0 {
            ([0, 0], [0, half])
        } else if e < half {
            ([0, 0], [e, many - e])
        } else {
            ([1, 1], [e - half, many - 1 - (e - half)])
        };
        let mut values = [L::ZERO; 2];
        let mut first = [0; 2];
        unroll!(i in 0 1 {
            let (sel, e) = (from[i], to[i]);
            first[i] = if sel == 0 { rows[0] } else { rows[1] } + radix * e;
            let w = last_factors::<O::Stored, L>(arguments, first[i]);
            values[i] = L::twiddled(last_points::<ROWS, L>(exchange, sel, e, slot), w);
        });
        let post = Post { arguments, slot, slots, first, own: own && e == 0, powers, entries };
        let [a, b] = values;
        beyond += post.run::<ROWS, RADIX, L, O, ALL>(Values { a, b });
        j += 1;
    }
    beyond
}

/// Writes the entries of the block's slots: their phases, keys and the addresses of their places, and the powers of the
/// factor from a value to the next one.
///
/// # Safety
/// - The table of jobs has `count`, more than `first_job`; `powers` and `entries` hold those of the block's slots.
/// - `thread` is below [`threads`], and each of them calls it; a barrier follows.
#[inline(always)]
unsafe fn prepare<const ROWS: u32, const RADIX: u32, L: Radix, T: Value>(
    arguments: &Arguments<T>,
    (first_job, count): (u32, u32),
    first_slot: u32,
    thread: u32,
    (powers, entries): (Shared<[f32; 2]>, Shared<[u32; 4]>),
) {
    let Arguments { jobs, launch, out, .. } = arguments;
    let slots = slots(ROWS);
    let stride = ROWS * arguments.rows::<RADIX>() / L::POINTS as u32;
    let mut item = thread;
    while item < slots * L::POINTS as u32 {
        let (slot, power) = (item % slots, item / slots);
        let linear = first_slot + slot;
        let index = first_job + linear % 2;
        let missing = index >= count;
        let job = job::load(*jobs, if missing { first_job } else { index } as usize);
        // Slots before the job's first spectrum and after its last one are of none.
        let s = (linear / 2).wrapping_sub(job.lead());
        let slope = job.slope.wrapping_add(job.slope_rate.wrapping_mul(s as u64));
        let step = slope.wrapping_mul(stride as u64);
        powers.store(item as usize, unit_approx(step.wrapping_mul(power as u64)));
        if power == 0 {
            let phase = job.phase.wrapping_add(job.phase_rate.wrapping_mul(s as u64));
            let words = |long: u64| [long as u32, (long >> 32) as u32];
            let (phase, slope) = (words(phase), words(slope));
            entries.store((slot * ENTRY) as usize, [phase[0], phase[1], slope[0], slope[1]]);
            let [a, b] = dither::words_looped(launch.seed, job.spectrum.wrapping_add(s as u64), job.input);
            let time = job.time.wrapping_add(s);
            let period = launch.period.max(1);
            let place = job
                .place
                .wrapping_add((time / period) as u64 * launch.period_stride)
                .wrapping_add((time % period) as u64 * launch.time_stride as u64);
            let valid = !missing && s < job.spectra;
            let out = if job.flags & NEXT == 0 { out[0] } else { out[1] };
            let place = words(if valid { out.address(place as usize) } else { 0 });
            entries.store((slot * ENTRY + 1) as usize, [a, b, place[0], place[1]]);
            entries.store((slot * ENTRY + 2) as usize, [job.input, job.count, valid as u32, job.flags & NEXT]);
        }
        item += threads(ROWS);
    }
}
