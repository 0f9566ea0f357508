//! The second pass: the transform over the rest of the points as two products of matrices, of which the second is the
//! step from complex to real transforms as well; gain, phase, quantisation, output.
//!
//! With `e(x) = exp(-2 pi i x)`, `n2 = L i + m` and `k2 = c + 16 d`, `i, c < 16` and `m, d < L`:
//!
//! ```text
//! u[c][m]     = sum_i e(i (k1 + R c) / (16 R)) y[k1][L i + m]
//! Z[k1 + R k2] = sum_m e(m (k1 + R k2) / N) u[c][m]
//! 2 X[k]      = Z[k] + conj Z[N - k] - i e(k / (2 N)) (Z[k] - conj Z[N - k])
//! ```
//!
//! The first line is a real matrix of 32 by 32 for every row `k1`, the twiddles in it. The last two are one of `4 L` by
//! `4 L` for every `k1` and `c`: of the points of place `c` of row `k1`, and of place `15 - c` of row `R - k1`, where
//! the mirror images are. Columns of both are slots, so that matrices are the factors `A` of `mma.sync`, loaded once
//! for many spectra, and points the factors `B`. Rows of a fragment are the real parts of eight values and their
//! imaginary parts: a lane has both.
//!
//! # A block
//! has rows `k1` and `R - k1` of some slots; rows 0 and `R / 2` go together. Its points, all of them, are in shared
//! memory between the products, in pieces of 16 bytes `[row][c][m][term][spectrum / 4][job]` of four spectra. The place
//! of a piece is turned by `c` and `m` so that no two of eight lanes meet one bank, writing or reading.
//!
//! # After it
//! A lane has one channel of a fragment, and spectra of both jobs, four at a time that follow each other; four lanes
//! have sixteen. The factor of the first one, gain and phase, comes from fixed point, the others by a multiplication
//! each. Values leave as pieces of eight, those of four lanes side by side.
//!
//! # Complex samples
//! Points are those of complex samples there, and the last matrix makes no step to real transforms: it has the order of
//! channels in it, from the lowest to the highest frequency, and nothing of the one row for the other. Of half of the
//! channels it has another form: `inner.rs`.
//!
//! # Precision
//! Of one term, a number of the matrices and one between the products is within `2^-11` of itself. Sums are f32.

use fringes_device::barrier::bar_sync_0;
use fringes_device::mma::mma_m16n8k8_f32_f16;
use fringes_device::warp::redux_sync_add_u32;
use fringes_device::{Global, GlobalMut, Shared, Value, opaque, unroll};

use super::eight::Eight;
use super::inner;
use super::post::{Keys, Post};
use super::terms;
use crate::job::{JOB_PIECES, Launch};

use fringes_kernel_abi::f_engine::tensor::{
    DIGIT, FIRST, FRAGMENT, SPAN, TASKS, first_pieces, last, point_bytes, rows_of, second_pieces, side, task,
    workspace_pieces,
};
pub use fringes_kernel_abi::f_engine::tensor::{THREADS, shared_bytes, slots};

/// Everything that the kernels get.
#[derive(Clone, Copy)]
pub struct Arguments<T> {
    /// What the [first pass](super::columns) wrote.
    pub workspace: GlobalMut<[u32; 4]>,
    /// Fragments of the matrices of the first digit, `[k1][fragment][term][lane]`, row of fragments by row.
    pub first: Global<[u32; 4]>,
    /// Those of the last digit, `[pair][task][fragment][term][lane]`.
    pub second: Global<[u32; 4]>,
    /// Gains, `[input][channel]`, scaled.
    pub gains: Global<[f32; 2]>,
    /// Jobs.
    pub jobs: Global<[u32; 4]>,
    /// Output: of the frames that are complete, and of those that come next.
    pub out: [GlobalMut<T>; 2],
    /// Counts of saturated values, likewise.
    pub saturated: [GlobalMut<u32>; 2],
    /// Number of jobs.
    pub count: u32,
    /// Channels of the gains.
    pub channels: u32,
    /// First group of this launch.
    pub first_group: u32,
    /// Where values lie, and their dither.
    pub launch: Launch,
    /// Shares of the channels, which may lie apart.
    pub shares: Shares,
}

/// Shares of the channels: channel `c` of the range lies `(c >> bits) jump` elements behind where it lies otherwise, on
/// another device for example.
#[derive(Clone, Copy)]
pub struct Shares {
    /// Of `2^bits` channels each; 31 for one share.
    pub bits: u32,
    /// From the end of a share to the next.
    pub jump: u64,
}

/// Which rows and slots a block has.
#[derive(Clone, Copy)]
pub struct Tile {
    /// Which [`slots`] of the group.
    pub tile: u32,
    /// Which two rows.
    pub pair: u32,
    /// Group of the launch.
    pub local: u32,
    /// Number of the thread.
    pub thread: u32,
}

/// Whether the views hold what tiles of the first `places` groups of a workspace need, jobs apart.
#[inline(always)]
pub fn holds<const ROWS: u32, const RADIX: u32, const TERMS: usize, const INNER: bool, T>(
    arguments: &Arguments<T>,
    places: u32,
) -> bool {
    let Arguments { workspace, first, second, jobs, count, .. } = arguments;
    let terms = TERMS as u32;
    let pieces = if INNER { inner::pieces(ROWS, RADIX, terms) } else { second_pieces(ROWS, RADIX, terms) };
    (places * workspace_pieces(ROWS * RADIX, terms)) as usize <= workspace.len()
        && first.len() as u32 >= first_pieces(RADIX, terms)
        && second.len() as u32 >= pieces
        && *count as usize * JOB_PIECES <= jobs.len()
        && Shared::<u8>::dynamic().len() >= shared_bytes(ROWS, terms) as usize
}

/// A sum of products of a fragment and two registers of points: of numbers of one or two terms.
///
/// As two products of depth 8: those of depth 16 want both registers side by side, which takes more moves than that.
///
/// # Safety
/// All lanes of the warp call it together.
#[inline(always)]
pub(super) unsafe fn product<const TERMS: usize>(
    a: [[u32; 4]; TERMS],
    b: [[u32; 2]; TERMS],
    sum: [f32; 4],
) -> [f32; 4] {
    let mut sum = sum;
    unroll!(half in 0 1 {
        let left = |term: usize| [a[term][2 * half], a[term][2 * half + 1]];
        if TERMS == 2 {
            sum = mma_m16n8k8_f32_f16(left(TERMS - 1), [b[0][half]], sum);
            sum = mma_m16n8k8_f32_f16(left(0), [b[TERMS - 1][half]], sum);
        }
        sum = mma_m16n8k8_f32_f16(left(0), [b[0][half]], sum);
    });
    sum
}

/// Loads a fragment.
///
/// # Safety
/// - The table has it.
#[inline(always)]
pub(super) unsafe fn fragment<const TERMS: usize>(table: Global<[u32; 4]>, index: u32, lane: u32) -> [[u32; 4]; TERMS] {
    let mut terms = [[0; 4]; TERMS];
    unroll!(term in 0 1 {
        if term < TERMS {
            terms[term] = table.load(((index * TERMS as u32 + term as u32) * FRAGMENT + lane) as usize);
        }
    });
    terms
}

/// Piece of the first term of the points of place `c` and point `m` of a row, and by what the numbers of pieces are
/// turned.
#[inline(always)]
fn pieces<const ROWS: u32, const TERMS: usize>(row: u32, c: u32, m: u32) -> (u32, u32) {
    let of_point = slots(ROWS, TERMS as u32) / 4 * TERMS as u32;
    (((row * DIGIT + c) * last(ROWS) + m) * of_point, (c & 1) ^ ((m & 3) << 1))
}

/// The channel of value `8 row + g` of the fragments of a task, of `2 L` values each: first those of its low place.
#[inline(always)]
fn channel_of<const ROWS: u32, const RADIX: u32>(pair: u32, value: u32) -> u32 {
    let l = last(ROWS);
    let [low, high] = task(pair == 0, value / (2 * l));
    let value = value % (2 * l);
    let (which, place) = if value < l { low } else { high };
    let [first, second] = rows_of(RADIX, pair);
    (if which == 0 { first } else { second }) + RADIX * (place + DIGIT * (value % l))
}

/// Runs two rows of some slots.
///
/// # Safety
/// A block of [`THREADS`] threads, all of which call it. [`holds`] for more places than the tile's; there are the tile
/// and the pair. The [first pass](super::columns) has checked the jobs.
#[inline(always)]
pub unsafe fn run<const ROWS: u32, const RADIX: u32, const TERMS: usize, const INNER: bool, O: Eight>(
    arguments: Arguments<O::Stored>,
    Tile { tile, pair, local, thread }: Tile,
) {
    let Arguments { count, first_group, .. } = arguments;
    let slots = slots(ROWS, TERMS as u32);
    let group = first_group + local;
    if group * 2 >= count {
        return;
    }
    let shared = Shared::<[u32; 4]>::dynamic();
    let of_points = (point_bytes(ROWS, TERMS as u32) / 16) as usize;
    let points = shared.part(0, of_points);
    let rest = (shared_bytes(ROWS, TERMS as u32) / 16) as usize - of_points;
    let keys = Keys::of(shared.part(of_points, rest), slots, ROWS);
    keys.write::<O>(&arguments, (group * 2, count), tile * slots / 2, thread);
    let mut value = thread;
    while value < if INNER { ROWS } else { 2 * ROWS } {
        let channel =
            if INNER { inner::channel_of(ROWS, RADIX, pair, value) } else { channel_of::<ROWS, RADIX>(pair, value) };
        keys.write_factors::<O::Stored>(&arguments, (group * 2, count), value, channel);
        value += THREADS;
    }
    transform_first::<ROWS, RADIX, TERMS, O::Stored>(&arguments, (tile, pair, local), thread, points);
    bar_sync_0();
    let beyond = transform_last::<ROWS, TERMS, INNER, O>(&arguments, pair, thread, points, keys);
    if O::INTEGER {
        unroll!(job in 0 1 {
            let sum = redux_sync_add_u32(beyond >> (16 * job) & 0xffff, u32::MAX);
            if sum > 0 && thread % 32 == job as u32 {
                let (count, next) = keys.count(job as u32);
                let counts = if next { arguments.saturated[1] } else { arguments.saturated[0] };
                counts.atomic_add(count as usize, sum);
            }
        });
    }
}

/// The product of the first digit, from the workspace to shared memory.
///
/// # Safety
/// As [`run`]; a barrier follows.
#[inline(always)]
unsafe fn transform_first<const ROWS: u32, const RADIX: u32, const TERMS: usize, T: Value>(
    arguments: &Arguments<T>,
    (tile, pair, local): (u32, u32, u32),
    thread: u32,
    points: Shared<[u32; 4]>,
) {
    let (warp, lane) = (thread / 32, thread % 32);
    let (g, t) = (lane / 4, lane % 4);
    let spans = slots(ROWS, TERMS as u32) / SPAN;
    // Every warp has one of the rows, whose matrix stays in registers.
    let which = warp % 2;
    let row = if which == 0 { rows_of(RADIX, pair)[0] } else { rows_of(RADIX, pair)[1] };
    let mut a = [[[0u32; 4]; TERMS]; 4];
    unroll!(f in 0 1 2 3 {
        a[f] = fragment::<TERMS>(arguments.first, row * FIRST + f as u32, lane);
    });
    // Of points `t`, 4, 8 and 12 further on of an item: a piece, a word to each of four products.
    let load = |item: u32| {
        let (m, span) = (item / spans, item % spans);
        let at = ((local * ROWS + last(ROWS) * t + m) * RADIX + row) * 32 * TERMS as u32
            + (tile * spans + span) * (SPAN / 4)
            + g;
        let here = arguments.workspace.part(at as usize, arguments.workspace.len() - at as usize);
        let mut b = [[[0u32; 4]; TERMS]; 4];
        unroll!(i in 0 1 2 3 {
            unroll!(term in 0 1 {
                if term < TERMS {
                    let ahead = i * (4 * last(ROWS) * RADIX) as usize * TERMS + term;
                    b[i][term] = here.load(ahead * 32);
                }
            });
        });
        b
    };
    let step = THREADS / 32 / 2;
    // Whole pairs of them for every warp.
    const {
        let items = last(ROWS) * (slots(ROWS, TERMS as u32) / SPAN);
        assert!(items & (THREADS / 32 - 1) == 0);
    }
    let mut item = warp / 2;
    let multiply = |b: [[[u32; 4]; TERMS]; 4], item: u32| {
        let (m, span) = (item / spans, item % spans);
        unroll!(half in 0 1 {
            let mut sums = [[0.0f32; 4]; 4];
            unroll!(j in 0 1 2 3 {
                unroll!(k in 0 1 {
                    let mut factor = [[0; 2]; TERMS];
                    unroll!(term in 0 1 {
                        if term < TERMS {
                            factor[term] = [b[2 * k][term][j], b[2 * k + 1][term][j]];
                        }
                    });
                    sums[j] = product::<TERMS>(a[2 * half + k], factor, sums[j]);
                });
            });
            let (first, turn) = pieces::<ROWS, TERMS>(which, 8 * half as u32 + g, m);
            unroll!(job in 0 1 {
                // Columns 2 t and 2 t + 1 of products 2 job and 2 job + 1: four spectra.
                let mut words = [[0u32; 4]; TERMS];
                unroll!(s in 0 1 2 3 {
                    let sum = sums[2 * job + s % 2];
                    let word = terms::<TERMS>([sum[s / 2], sum[2 + s / 2]]);
                    unroll!(term in 0 1 {
                        if term < TERMS {
                            words[term][s] = word[term];
                        }
                    });
                });
                let piece = first + 8 * span + ((2 * t + job as u32) ^ turn);
                unroll!(term in 0 1 {
                    if term < TERMS {
                        points.store((piece + term as u32 * (8 * spans)) as usize, words[term]);
                    }
                });
            });
        });
    };
    // Two by two, so that no register moves: those of the next item come meanwhile, after the last one its own again.
    let mut next = load(item);
    while item < last(ROWS) * spans {
        let b = next;
        let other = load(item + step);
        multiply(b, item);
        item += step;
        next = load(if item + step < last(ROWS) * spans { item + step } else { item });
        multiply(other, item);
        item += step;
    }
}

/// The product of the last digit and everything after it; returns how many values of both jobs saturated, 16 bits each.
///
/// # Safety
/// As [`run`]; the points and keys are there, and a barrier followed.
#[inline(always)]
unsafe fn transform_last<const ROWS: u32, const TERMS: usize, const INNER: bool, O: Eight>(
    arguments: &Arguments<O::Stored>,
    pair: u32,
    thread: u32,
    points: Shared<[u32; 4]>,
    keys: Keys,
) -> u32 {
    let (warp, lane) = (thread / 32, thread % 32);
    let (g, t) = (lane / 4, lane % 4);
    let spans = slots(ROWS, TERMS as u32) / SPAN;
    let (l, side) = (last(ROWS), side(ROWS));
    // Fragments of a row of them, and rows of a pair, eight values each.
    let (columns, rows) = if INNER { (inner::COLUMNS, inner::fragment_rows(ROWS)) } else { (side, TASKS * side) };
    // Of these, those that are computed together: they have the same points.
    let together = if !INNER && side >= 2 { 2 } else { 1 };
    let mut beyond = 0;
    let mut step = 0;
    while step < rows / together / (THREADS / 32) {
        let first = if INNER {
            warp + (THREADS / 32) * step
        } else {
            (warp + (THREADS / 32) * (step / (side / together))) * side + step % (side / together) * together
        };
        let [low, high] = task(pair == 0, first / side);
        let mut a = [[[[0u32; 4]; TERMS]; 4]; 2];
        let mut posts = [Post::NONE; 2];
        unroll!(r in 0 1 {
            if (r as u32) < together {
                let row = first + r as u32;
                unroll!(k in 0 1 2 3 {
                    if (k as u32) < columns {
                        a[r][k] = fragment::<TERMS>(arguments.second, (pair * rows + row) * columns + k as u32, lane);
                    }
                });
                posts[r] = Post::new(keys, 8 * row + g, t);
            }
        });
        let mut span = 0;
        while span < spans {
            let mut sums = [[[0.0f32; 4]; 4]; 2];
            unroll!(k in 0 1 2 3 {
                if (k as u32) < columns {
                    let mut b = [[[0u32; 4]; TERMS]; 2];
                    unroll!(half in 0 1 {
                        // Points 8 k + 4 half + t of both: first those of the low place.
                        let point = 8 * k as u32 + 4 * half as u32;
                        let (which, place) = if INNER {
                            inner::place_of(ROWS, first, point)
                        } else if point < l {
                            low
                        } else {
                            high
                        };
                        let (first, turn) = pieces::<ROWS, TERMS>(which, place, point % l + t);
                        // Job g % 2 of quad g / 2: lanes of different g / 2 take quads that follow each other.
                        let piece = first + ((2 * (4 * span + g / 2) + g % 2) ^ turn);
                        unroll!(term in 0 1 {
                            if term < TERMS {
                                b[half][term] = points.load((piece + term as u32 * (8 * spans)) as usize);
                            }
                        });
                    });
                    unroll!(j in 0 1 2 3 {
                        let mut factor = [[0; 2]; TERMS];
                        unroll!(term in 0 1 {
                            if term < TERMS {
                                factor[term] = [b[0][term][j], b[1][term][j]];
                            }
                        });
                        unroll!(r in 0 1 {
                            if (r as u32) < together {
                                sums[r][j] = product::<TERMS>(a[r][k], factor, sums[r][j]);
                            }
                        });
                    });
                }
            });
            unroll!(r in 0 1 {
                if (r as u32) < together {
                    beyond += posts[r].put::<O>(arguments, keys, 4 * span + t, sums[r]);
                }
            });
            span += 1;
        }
        step += 1;
    }
    opaque(beyond as i32) as u32
}
