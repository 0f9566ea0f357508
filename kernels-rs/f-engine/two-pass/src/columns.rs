//! The first pass: the polyphase filter on tensor cores, and the transform over the first digit of the points.
//!
//! ```text
//! z[s][n] = x'[s][2 n] + i x'[s][2 n + 1]             x'[s][p] = sum_t w[t][p] x[(s + t) step + p]
//! y[s][k1][n2] = sum_n1 z[s][N' n1 + n2] exp(-2 pi i n1 k1 / R)          n1, k1 < R, n2 < N' = N / R
//! ```
//!
//! # The filter as a product of matrices
//! Of one column `p`, eight spectra that follow each other are a product with a Toeplitz matrix of the weights, and
//! sixteen times eight spectra one with sixteen rows:
//!
//! ```text
//! D[j][i] = sum_k A[j][k] B[k][i]        A[j][k] = x of row 8 j + k        B[k][i] = w[k - s(i)], 0 beyond the taps
//! ```
//!
//! With up to `16 M` taps, `k < 16 M + 8`: `M` products of depth 16 and one of depth 8. Samples are exact in f16;
//! weights are the sum of two f16, 22 bits. Fragments of `B` are pairs `w[d], w[d + 1]` with `d = 2 t - s(g) + 8 i` in
//! lane `4 g + t`; tables have them for every `d`. Column `i` is spectrum `s(i) = i / 2 + 4 (i % 2)` of the eight, so
//! that lanes `t` store four neighbours.
//!
//! All columns `2 (N' n1 + n2) + {0, 1}` of one `n2` are accumulators of one warp, in which every lane has the same
//! spectra: the transform over `n1` takes registers only.
//!
//! # A block
//! has a *group* of two jobs of up to 64 spectra, usually the polarisations of an antenna, and a strip of 16 `n2`. Rows
//! 0 to 7 of `A` are of the first job, rows 8 to 15 of the second, so that a lane has both jobs' values of a spectrum.
//! Samples are decoded into shared memory, `[job][column][row]`, once for all 64 spectra: `(64 + 16 M) / 64` times. The
//! spectra of a job begin in slot `spectrum mod 8`, so that sums of one spectrum have the same order, and the same
//! bits, whatever job it is in.
//!
//! # Workspace
//! `[group][n2][k1][spectrum][job]`, complex f32: 8 bytes a point, written and read once while they are in L2.
//!
//! # Precision
//! With `A = 2^(B-1) sum_t |w[t][p]|`, which is above all terms and sums: a weight is within `2^-24` of itself (and
//! `2^-34` of the largest one), tensor cores truncate each term, and the sum so far in steps of four terms or more
//! ([`fringes_device::tensor_core`]), to 24 bits of the largest of them. Of `T` taps that is `2 T` products and at most
//! `8 M + 4` sums: `|dz| <= (T + 4 M + 3) 2^-22 A`.

use fringes_device::barrier::{bar_red_or_pred_0, bar_sync_0};
use fringes_device::control::trap;
use fringes_device::index::tid_x;
use fringes_device::{Global, GlobalMut, Shared, opaque, unroll};
use fringes_kernels_common::complex::Complex;
pub(crate) use fringes_kernels_common::decode::eight::GROUP;

use crate::butterfly::Radix;
use crate::job::{JOB_PIECES, Job, Launch, NEXT};
use crate::sources::Sources;

pub use fringes_kernel_abi::f_engine::columns::{STRIP, THREADS, shared_bytes};
pub(crate) use fringes_kernel_abi::f_engine::columns::{group_pieces, job_pieces, pieces};
pub use fringes_kernel_abi::f_engine::{SLOTS, SPECTRA};

const _: () = assert!(GROUP as u32 == fringes_kernel_abi::f_engine::columns::GROUP);

/// Everything that the kernels get.
#[derive(Clone, Copy)]
pub struct Arguments {
    /// Packed samples of the chunk, and 16 bytes after them.
    pub samples: Global<u32>,
    /// Those that are held, likewise.
    pub held: Global<u32>,
    /// Fragments of weights `[column][q][e % 2][e / 2]`, `e = d + 7 - 16 q`: `w[d], w[d + 1]` in f16, the same 8
    /// further on, and what is left of both. Eight lanes that load at once have entries of one parity, which are one
    /// line.
    pub weights: Global<[u32; 4]>,
    /// Those of the last product, `[column][e % 2][e / 2]`, `e = d + 7 - 16 M`: `w[d], w[d + 1]`, and what is left of
    /// them.
    pub tails: Global<[u32; 2]>,
    /// Jobs.
    pub jobs: Global<[u32; 4]>,
    /// Workspace, `[group of the launch][n2][k1][spectrum]`, values of both jobs.
    pub workspace: GlobalMut<[f32; 4]>,
    /// What jobs are checked against.
    pub limits: Limits,
    /// Taps.
    pub taps: u32,
    /// Number of jobs.
    pub count: u32,
    /// First group of this launch.
    pub first_group: u32,
    /// Points of a row, `N'`.
    pub rows: u32,
}

/// What the jobs of a launch must keep to.
#[derive(Clone, Copy)]
pub struct Limits {
    /// Elements of the output, and of that of the frames that come next.
    pub out: [u64; 2],
    /// Counts of saturated values, likewise.
    pub saturated: [u32; 2],
    /// Inputs that have gains.
    pub inputs: u32,
    /// Where values lie.
    pub launch: Launch,
}

impl Limits {
    /// Whether a job's values, gains and counts are where they may be.
    ///
    /// # Safety
    /// - Nothing but numbers is looked at: safe for every job.
    #[inline(always)]
    pub(crate) unsafe fn hold(&self, job: &Job) -> bool {
        let (out, saturated) =
            if job.flags & NEXT == 0 { (self.out[0], self.saturated[0]) } else { (self.out[1], self.saturated[1]) };
        job.spectra == 0
            || job.spectra <= SPECTRA - job.lead()
                && job.first_bit < 1 << 60
                && job.input < self.inputs
                && job.count < saturated
                && self.launch.holds(job, out as usize)
    }
}

/// How samples come to shared memory, and what products of them and the weights are.
pub trait Filter: Copy {
    /// Points `n2` of a block.
    const STRIP: u32;
    /// Columns of shared memory to a point.
    const PLACES: u32;
    /// Columns of the tables of weights to a point.
    const COLUMNS: u32;
    /// Entries of the table of weights to a column, for 16 taps.
    const ENTRIES: usize;
    /// Those behind them.
    const MORE: usize;
    /// Entries to a column of the table of the last product.
    const TAILS: usize;

    /// Whether every warp has entries of its own.
    const EACH: bool;

    /// Bits of a number, of which two are a point.
    fn bits(self) -> u32;

    /// Pieces that a lane loads of the first column of a place, and of its last rows, from those of the place on; the
    /// lane's entry of the tables.
    fn lane<const M: usize, R: Radix>(lane: u32) -> ((u32, u32), u32);

    /// Brings the strip's columns of both jobs into shared memory, `[job][column][row]`. The entries of the jobs are
    /// there.
    ///
    /// # Safety
    /// - All threads of the block call it, and the samples of the entries' jobs are there.
    /// - The entries have been written; a barrier is after, before columns are read.
    unsafe fn bring<const M: usize, R: Radix>(
        self,
        thread: u32,
        rows: (u32, u32),
        strip: u32,
        shared: Shared<[u32; 4]>,
    );

    /// Sums of both parts of a point: eight spectra of sixteen rows. `column` is the point's first column of the
    /// tables, `piece` is the lane's of the first column, and of the last rows.
    ///
    /// # Safety
    /// - All lanes of the warp call it together, with this lane's `entry` and `piece`.
    /// - The columns of both jobs are in shared memory, and a barrier followed; the tables have the point.
    unsafe fn products<const M: usize>(
        tables: (Global<[u32; 4]>, Global<[u32; 2]>),
        column: u32,
        entry: u32,
        shared: Shared<[u32; 4]>,
        piece: (u32, u32),
    ) -> [[f32; 4]; 2];
}

/// Whether the views hold what strips of the first `places` groups of a workspace need, jobs apart.
#[inline(always)]
pub fn holds<const M: usize, R: Radix, F: Filter>(arguments: &Arguments, places: u32) -> bool {
    let Arguments { weights, tails, jobs, workspace, taps, count, rows, .. } = arguments;
    let radix = R::POINTS as u32;
    let step = (F::COLUMNS * radix * rows) as usize;
    let points = (places * rows * radix) as usize * SPECTRA as usize;
    *taps > 0
        && *taps <= 16 * M as u32
        && points <= workspace.len()
        && step * (F::ENTRIES * M + F::MORE) <= weights.len()
        && step * F::TAILS <= tails.len()
        && *count as usize * JOB_PIECES <= jobs.len()
        && Shared::<u8>::dynamic().len() >= shared_bytes(M as u32, radix) as usize
}

/// Runs strip `strip` of [`Filter::STRIP`] `n2`, which there must be, of a group of the launch.
///
/// Traps if a job does not keep to the views.
///
/// # Safety
/// A block of [`THREADS`] threads, all of which call it; [`holds`] for more places than `local`.
#[inline(always)]
pub unsafe fn run<const M: usize, R: Radix, F: Filter>(filter: F, arguments: Arguments, (strip, local): (u32, u32)) {
    let Arguments { weights, tails, jobs, workspace, taps, count, first_group, rows, .. } = arguments;
    let radix = R::POINTS as u32;
    // Columns of the tables.
    let step = F::COLUMNS * radix * rows;
    // A row is a multiple of 32 bits.
    let row_words = filter.bits() * (step / (16 * F::COLUMNS));
    let group = first_group + local;
    if group * 2 >= count {
        return;
    }
    let thread = opaque(tid_x() as i32) as u32;
    let shared = Shared::<[u32; 4]>::dynamic();
    let sources = Sources {
        samples: [arguments.samples, arguments.held],
        jobs: (jobs, count),
        limits: &arguments.limits,
        taps,
        row_words,
        multiple: 1,
    };
    let fault = if F::EACH {
        sources.write_each::<M, R>(group, thread, shared)
    } else if sources.write_for_all::<M, R>(group, thread, shared) {
        trap();
        return;
    } else {
        false
    };
    filter.bring::<M, R>(thread, (rows, 4 * row_words), strip, shared);
    if !F::EACH {
        bar_sync_0();
    } else if bar_red_or_pred_0(fault) {
        trap();
        return;
    }
    let mut place = thread / 32;
    while place < F::STRIP {
        // Computed anew for every place, and again for the stores, so that it takes no registers meanwhile.
        let lane = opaque(thread as i32) as u32 % 32;
        let ((row, end), entry) = F::lane::<M, R>(lane);
        let n2 = strip * F::STRIP + place;
        let column = F::PLACES * place;
        let column = column / GROUP as u32 * group_pieces(M as u32) + column % GROUP as u32 * pieces(M as u32);
        let (first, ends) = (row + column, end + column);
        let mut sums = [[[0.0f32; 4]; 2]; 16];
        let table = weights.part(
            (F::COLUMNS * n2) as usize * (F::ENTRIES * M + F::MORE),
            (F::ENTRIES * M + F::MORE) * (step - F::COLUMNS * n2) as usize,
        );
        let tail = tails.part((F::COLUMNS * n2) as usize * F::TAILS, F::TAILS * (step - F::COLUMNS * n2) as usize);
        unroll!(n1 in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 {
            if n1 < R::POINTS {
                // So that fragments of many columns are not loaded long before they are needed.
                let entry = opaque(entry as i32) as u32;
                let column = F::COLUMNS * rows * n1 as u32;
                let far = n1 as u32 * (F::PLACES * F::STRIP / GROUP as u32) * group_pieces(M as u32);
                sums[n1] = F::products::<M>((table, tail), column, entry, shared, (first + far, ends + far));
            }
        });
        // Spectra 8 g + t, and 4 further on.
        let lane = opaque(thread as i32) as u32 % 32;
        let (g, t) = (lane / 4, lane % 4);
        let n2 = strip * F::STRIP + opaque(place as i32) as u32;
        let at = ((local * rows + n2) * radix) as usize * SPECTRA as usize + (8 * g + t) as usize;
        unroll!(half in 0 1 {
            let (mut a, mut b) = (R::ZERO, R::ZERO);
            unroll!(n1 in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 {
                if n1 < R::POINTS {
                    a.as_mut()[n1] = [sums[n1][0][half], sums[n1][1][half]];
                    b.as_mut()[n1] = [sums[n1][0][2 + half], sums[n1][1][2 + half]];
                }
            });
            let (a, b) = (R::transform(a), R::transform(b));
            unroll!(k1 in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 {
                if k1 < R::POINTS {
                    let (a, b): (Complex, Complex) = (a.as_ref()[k1], b.as_ref()[k1]);
                    workspace.store(at + k1 * SPECTRA as usize + 4 * half, [a[0], a[1], b[0], b[1]]);
                }
            });
        });
        place += THREADS / 32;
    }
}
