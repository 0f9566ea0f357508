//! The first pass for the tensor cores of the second one: [`columns`](crate::columns) with another workspace, and with
//! as many terms to a weight as the second pass has to a number.
//!
//! Column `i` of a product is spectrum `i` of the eight, so that a lane has spectra that follow each other: two of both
//! jobs, which are a piece of the workspace, and the lanes of a warp store neighbours.
//!
//! # Range
//! Weights are multiplied by a power of two with which no samples make a point beyond 60000. With the first digit's
//! matrix divided by its number of points, what the second pass keeps as f16 is within the same limit.
//!
//! # Precision
//! Of one term, a weight is within `2^-11` of itself, and so is a point that is stored; of two terms as
//! [`columns`](crate::columns) says, and a point within `2^-22`.

use fringes_device::barrier::{bar_red_or_pred_0, bar_sync_0};
use fringes_device::control::trap;
use fringes_device::index::tid_x;
use fringes_device::matrix::ldmatrix_x4_shared_b16;
use fringes_device::mma::{mma_m16n8k8_f32_f16, mma_m16n8k16_f32_f16};
use fringes_device::{Global, GlobalMut, Shared, opaque, unroll};

use super::terms;
use crate::butterfly::Radix;
use crate::columns::{GROUP, Limits, STRIP, THREADS, group_pieces, pieces, shared_bytes};
use crate::job::JOB_PIECES;
use crate::packed::half_rows;
use crate::sources::Sources;

use fringes_kernel_abi::f_engine::tensor::workspace_pieces;

/// Everything that the kernels get.
#[derive(Clone, Copy)]
pub struct Arguments {
    /// Packed samples of the chunk, and 16 bytes after them.
    pub samples: Global<u32>,
    /// Those that are held, likewise.
    pub held: Global<u32>,
    /// Fragments of weights `[n2][n1][part][q][e]`, one part of complex samples, `e = d + 7 - 16 q`, `e < 16`: `w[d],
    /// w[d + 1]` in f16 and the same 8 further on, of each term.
    pub weights: Global<[u32; 2]>,
    /// Those of the last product, `[n2][n1][part][e]`, `e = d + 7 - 16 M`: `w[d], w[d + 1]` of each term.
    pub tails: Global<u32>,
    /// Jobs.
    pub jobs: Global<[u32; 4]>,
    /// Workspace, `[group of the launch][n2][k1][term][spectrum / 2]`, of both jobs.
    pub workspace: GlobalMut<[u32; 4]>,
    /// What jobs are checked against.
    pub limits: Limits,
    /// Taps.
    pub taps: u32,
    /// Number of jobs.
    pub count: u32,
    /// First group of this launch.
    pub first_group: u32,
    /// Points of a row, `N / R`; of a digit that has two transforms, half of those.
    pub rows: u32,
    /// Bits of the number of a point of a row after the pass [between](super::middle), if there is one, else of `rows`:
    /// point `n2` is the `n2 / 2^bits`th of `n2 % 2^bits`.
    pub row_bits: u32,
}

/// Entries of the tables to a column, and sixteen taps.
const ENTRIES: usize = 16;

/// How samples come to shared memory.
pub trait Samples: Copy {
    /// Columns of the tables of weights to a point: both parts of a complex sample have the same weights.
    const COLUMNS: usize;

    /// Whether every warp has entries of its own.
    const EACH: bool;

    /// Bits of a number, of which two are a point.
    fn bits(self) -> u32;

    /// What a job's first bit must be a multiple of.
    fn multiple(self) -> u32;

    /// Blocks from one to that whose samples it asks for; 0 for none.
    fn ahead(self) -> u32;

    /// Brings the strip's columns of both jobs into shared memory, `[job][column][row]`; `rows` are the points of a row
    /// and the bytes from row to row.
    ///
    /// # Safety
    /// - All threads of the block call it, and the samples of the entries' jobs are there; their first bits are
    ///   multiples of [`multiple`](Self::multiple).
    /// - The entries have been written; a barrier is after, before columns are read.
    unsafe fn bring<const M: usize, R: Radix>(
        self,
        thread: u32,
        rows: (u32, u32),
        strip: u32,
        shared: Shared<[u32; 4]>,
    );
}

/// Whether the views hold what strips of the first `places` groups of a workspace need, jobs apart.
#[inline(always)]
pub fn holds<const M: usize, R: Radix, S: Samples, const TERMS: usize>(arguments: &Arguments, places: u32) -> bool {
    let Arguments { weights, tails, jobs, workspace, taps, count, rows, row_bits, .. } = arguments;
    let radix = R::POINTS as u32;
    let step = S::COLUMNS * (radix * rows) as usize;
    *taps > 0
        && *taps <= 16 * M as u32
        && *row_bits < 16
        && *rows % (1 << (*row_bits % 32)) == 0
        && (R::TRANSFORMS == 1 || *rows == 1 << (*row_bits % 32))
        && (places * workspace_pieces(radix * rows, TERMS as u32)) as usize <= workspace.len()
        && step * 16 * M * TERMS <= weights.len()
        && step * 16 * TERMS <= tails.len()
        && *count as usize * JOB_PIECES <= jobs.len()
        && Shared::<u8>::dynamic().len() >= shared_bytes(M as u32, radix) as usize
}

/// Points whose fragments are loaded before their place begins: of the first one, before samples are there.
const fn ahead_of<R: Radix>(m: usize, terms: usize) -> usize {
    if m * terms == 1 && R::POINTS == 8 { 4 } else { 0 }
}

/// A lane's fragments of weights of a point, of both parts or of one that both have.
#[derive(Clone, Copy)]
struct Fragments<const M: usize, const TERMS: usize> {
    pairs: [[[[u32; 2]; TERMS]; M]; 2],
    tails: [[u32; TERMS]; 2],
}

impl<const M: usize, const TERMS: usize> Fragments<M, TERMS> {
    const NONE: Self = Self { pairs: [[[[0; 2]; TERMS]; M]; 2], tails: [[0; TERMS]; 2] };

    /// Loads those of point `n1`. The tables begin with the lane's entries of the first one.
    ///
    /// # Safety
    /// The tables have the point.
    #[inline(always)]
    unsafe fn load<S: Samples>((weights, tails): (Global<[u32; 2]>, Global<u32>), n1: usize) -> Self {
        let mut all = Self::NONE;
        unroll!(part in 0 1 {
            if part < S::COLUMNS {
                let column = S::COLUMNS * n1 + part;
                unroll!(term in 0 1 {
                    if term < TERMS {
                        unroll!(q in 0 1 {
                            if q < M {
                                all.pairs[part][q][term] = weights.load(((column * M + q) * ENTRIES) * TERMS + term);
                            }
                        });
                        all.tails[part][term] = tails.load(column * ENTRIES * TERMS + term);
                    }
                });
            }
        });
        all
    }
}

/// Sums of both parts of a point: eight spectra of sixteen rows.
///
/// # Safety
/// - All lanes of the warp call it together, with this lane's `fragments` and `piece`.
/// - The columns of both jobs are in shared memory, and a barrier followed.
#[inline(always)]
unsafe fn products<const M: usize, S: Samples, const TERMS: usize>(
    fragments: Fragments<M, TERMS>,
    shared: Shared<[u32; 4]>,
    piece: (u32, u32),
) -> [[f32; 4]; 2] {
    let mut sums = [[0.0f32; 4]; 2];
    let ends = ldmatrix_x4_shared_b16(shared.address(piece.1 as usize));
    unroll!(part in 0 1 {
        let piece = piece.0 + part as u32 * pieces(M as u32);
        let mut sum = [0.0f32; 4];
        unroll!(q in 0 1 {
            if q < M {
                let a = ldmatrix_x4_shared_b16(shared.address(piece as usize + 2 * q));
                unroll!(term in 0 1 {
                    if term < TERMS {
                        sum = mma_m16n8k16_f32_f16(a, fragments.pairs[part % S::COLUMNS][q][term], sum);
                    }
                });
            }
        });
        let a = [ends[2 * part], ends[2 * part + 1]];
        unroll!(term in 0 1 {
            if term < TERMS {
                sum = mma_m16n8k8_f32_f16(a, [fragments.tails[part % S::COLUMNS][term]], sum);
            }
        });
        sums[part] = sum;
    });
    sums
}

/// Runs strip `strip` of [`STRIP`] `n2`, which there must be, of a group of the launch.
///
/// Traps if a job does not keep to the views.
///
/// # Safety
/// A block of [`THREADS`] threads, all of which call it; [`holds`] for more places than `local`.
#[inline(always)]
pub unsafe fn run<const M: usize, R: Radix, S: Samples, const TERMS: usize>(
    given: S,
    arguments: Arguments,
    (strip, local): (u32, u32),
) {
    let Arguments {
        samples,
        held,
        weights,
        tails,
        jobs,
        workspace,
        limits,
        taps,
        count,
        first_group,
        rows,
        row_bits,
        ..
    } = arguments;
    let radix = R::POINTS as u32;
    // A row is a multiple of 32 bits.
    let row_words = given.bits() * (2 * radix * rows / 32);
    let group = first_group + local;
    if group * 2 >= count {
        return;
    }
    let thread = opaque(tid_x() as i32) as u32;
    let shared = Shared::<[u32; 4]>::dynamic();
    let sources = Sources {
        samples: [samples, held],
        jobs: (jobs, count),
        limits: &limits,
        taps,
        row_words,
        // Samples that are whole bytes from the start of a row begin so.
        multiple: given.multiple(),
    };
    if !S::EACH && sources.write_for_all::<M, R>(group, thread, shared) {
        trap();
        return;
    }
    // The tables from the lane's entries of a place on.
    let tables = |place: u32| {
        // Fragments of column `g`: 2 t - g + 7.
        let lane = opaque(thread as i32) as u32 % 32;
        let entry = (2 * (lane % 4) + 7 - lane / 4) as usize;
        let from = S::COLUMNS * (radix * (strip * STRIP + place)) as usize * ENTRIES;
        let len = |m: usize| (S::COLUMNS * R::POINTS * ENTRIES * m - entry) * TERMS;
        (weights.part((from * M + entry) * TERMS, len(M)), tails.part((from + entry) * TERMS, len(1)))
    };
    let mut place = thread / 32;
    // Meanwhile samples are brought.
    let mut ahead = [Fragments::<M, TERMS>::NONE; 16];
    let from = tables(place);
    unroll!(n1 in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 {
        if n1 < ahead_of::<R>(M, TERMS) {
            ahead[n1] = Fragments::load::<S>(from, n1);
        }
    });
    let fault = S::EACH && sources.write_each::<M, R>(group, thread, shared);
    given.bring::<M, R>(thread, (rows, 4 * row_words), strip, shared);
    if !S::EACH {
        bar_sync_0();
    } else if bar_red_or_pred_0(fault) {
        trap();
        return;
    }
    sources.ask_ahead(given.ahead(), group, (strip, rows / STRIP), thread);
    while place < STRIP {
        // Computed anew for every place, and again for the stores, so that it takes no registers meanwhile.
        let lane = opaque(thread as i32) as u32 % 32;
        let (row, end) = half_rows(M as u32, radix, lane);
        let column = 2 * place;
        let column = column / GROUP as u32 * group_pieces(M as u32) + column % GROUP as u32 * pieces(M as u32);
        let (first, ends) = (row + column, end + column);
        let here = tables(place);
        let mut sums = [[[0.0f32; 4]; 2]; 16];
        unroll!(n1 in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 {
            if n1 < R::POINTS {
                let far = n1 as u32 * (2 * STRIP / GROUP as u32) * group_pieces(M as u32);
                let fragments = if n1 < ahead_of::<R>(M, TERMS) { ahead[n1] } else { Fragments::load::<S>(here, n1) };
                sums[n1] = products::<M, S, TERMS>(fragments, shared, (first + far, ends + far));
            }
        });
        let lane = opaque(thread as i32) as u32 % 32;
        let n2 = strip * STRIP + opaque(place as i32) as u32;
        let inner = n2 % (1 << (row_bits % 32));
        let point = inner * (rows >> (row_bits % 32)) + (n2 >> (row_bits % 32));
        // Points of the second transform, if there is one, are those of the rows behind.
        let of_one = R::POINTS / R::TRANSFORMS;
        let at = (local * rows * radix + point * of_one as u32) as usize * 32 * TERMS + lane as usize;
        // [job][spectrum % 2][k1]
        let mut words = [[[[0u32; TERMS]; 16]; 2]; 2];
        unroll!(half in 0 1 {
            unroll!(job in 0 1 {
                let mut points = R::ZERO;
                unroll!(n1 in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 {
                    if n1 < R::POINTS {
                        points.as_mut()[n1] = [sums[n1][0][2 * job + half], sums[n1][1][2 * job + half]];
                    }
                });
                let points = R::transform(points);
                unroll!(k1 in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 {
                    if k1 < R::POINTS {
                        words[job][half][k1] = terms(points.as_ref()[k1]);
                    }
                });
            });
        });
        unroll!(k1 in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 {
            if k1 < R::POINTS {
                unroll!(term in 0 1 {
                    if term < TERMS {
                        let piece = [
                            words[0][0][k1][term],
                            words[0][1][k1][term],
                            words[1][0][k1][term],
                            words[1][1][k1][term],
                        ];
                        let ahead = k1 / of_one * (rows as usize * of_one) + k1 % of_one;
                    workspace.store(at + (ahead * TERMS + term) * 32, piece);
                    }
                });
            }
        });
        place += THREADS / 32;
        if place < STRIP {
            let next = tables(place);
            unroll!(n1 in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 {
                if n1 < ahead_of::<R>(M, TERMS) {
                    ahead[n1] = Fragments::load::<S>(next, n1);
                }
            });
        }
    }
}
