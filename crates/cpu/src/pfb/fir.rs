//! The FIR part of a PFB, one tile of columns at a time.
//!
//! Spectrum `s` filtered is `z_s[p] = sum_t w[t step + p] x[start_s + t step + p]`. Write the samples as rows of `step`
//! from some base on, and spectra whose starts differ from the base by whole rows become
//! `z_s[p] = sum_t w[t][p] x[row_s + t][p]`: a filter down each column. A *tile* is [`TILE`] columns of all the rows
//! that a few spectra need:
//!
//! ```text
//!                    TILE columns, p = first ..
//! row 0              x  x  x  x  ...     each sample is converted to f32 once, into a tile that stays in the L1 cache
//! row 1              x  x  x  x  ...     (rows of a whole spectrum lie a power of two apart and would evict each
//! ...                                    other); the weights of a tile are stored together for the same reason
//! row last+taps-1    x  x  x  x  ...
//! ```
//!
//! Each output adds its taps in the order 0, 1, ..., whatever the tile or its neighbours, so results do not depend on
//! how spectra are grouped.

use super::simd::has_avx2_fma;
use super::source::SampleSource;

/// f32 columns that the kernel holds in registers.
const LANES: usize = 16;
/// f32 columns of a tile: long enough that rows are read from memory in runs worth prefetching.
const TILE: usize = 512;
/// Groups of lanes in a row of a tile, one more than are used, so that the rows of a column are on different cache
/// sets.
const LANE_GROUPS: usize = TILE / LANES + 1;
/// Spectra that the kernel works on together, so that a weight loaded serves several.
pub(super) const GROUP: usize = 4;

/// One row of a tile: its columns in groups of [`LANES`], each group a cache line.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(64))]
pub(super) struct TileRow([[f32; LANES]; LANE_GROUPS]);

/// A row of zeros.
pub(super) const ZERO_ROW: TileRow = TileRow([[0.0; LANES]; LANE_GROUPS]);

/// Weights `[tile][tap][column]`, the last tile filled with zeros.
#[derive(Debug, Clone)]
pub(super) struct TiledWeights {
    taps: usize,
    /// f32 of one sample: 1, or 2 for complex samples.
    floats: usize,
    /// f32 columns of a row: `step * floats`.
    width: usize,
    rows: Vec<TileRow>,
    /// Whether the kernel with fused multiply-add can run here.
    pub(super) fused: bool,
}

/// Spectra of one input whose windows start whole rows apart.
#[derive(Debug, Default)]
pub(super) struct Run {
    /// Position of the first sample of row 0.
    pub(super) base: i64,
    /// For each spectrum: its first row (ascending), and which row of the output it goes to.
    pub(super) spectra: Vec<(usize, usize)>,
}

impl TiledWeights {
    /// Rows of tiles of `taps` taps of `width` f32.
    fn rows(width: usize, taps: usize) -> usize {
        width.div_ceil(TILE).saturating_mul(taps)
    }

    /// Bytes of `taps` taps of `step` weights, saturating.
    pub(super) fn bytes(step: usize, taps: usize, floats: usize) -> u64 {
        (Self::rows(step.saturating_mul(floats), taps) as u64).saturating_mul(size_of::<TileRow>() as u64)
    }

    /// Arranges `taps * step` weights; each serves `floats` neighbouring columns. `None` if there is no memory.
    pub(super) fn new(weights: &[f64], taps: usize, floats: usize) -> Option<Self> {
        let step = weights.len() / taps;
        let width = step * floats;
        let length = Self::rows(width, taps);
        let mut rows = Vec::new();
        rows.try_reserve_exact(length).ok()?;
        rows.resize(length, ZERO_ROW);
        for (tap, weights) in weights.chunks_exact(step).enumerate() {
            for column in 0..width {
                let row = &mut rows[column / TILE * taps + tap];
                row.0[column % TILE / LANES][column % LANES] = weights[column / floats] as f32;
            }
        }
        Some(Self { taps, floats, width, rows, fused: has_avx2_fma() })
    }

    /// Filters a run into `out`: the spectrum of place `i` to `out[i * out_stride ..][.. width]`, with `out_stride` at
    /// least `width` rounded up to whole lanes; what lies up to there is overwritten.
    ///
    /// `tile` is scratch; it grows to the run's rows if it is shorter.
    pub(super) fn filter<P: SampleSource + ?Sized>(
        &self,
        source: &P,
        input: usize,
        run: &Run,
        tile: &mut Vec<TileRow>,
        out: &mut [f32],
        out_stride: usize,
    ) {
        let needed = run.spectra.last().map_or(0, |&(row, _)| row + self.taps);
        if tile.len() < needed {
            tile.resize(needed, ZERO_ROW);
        }
        let tile = &mut tile[..needed];
        #[cfg(target_arch = "x86_64")]
        if self.fused {
            // SAFETY: `fused` is true only where the processor was found to have AVX2 and FMA.
            #[allow(unsafe_code)]
            unsafe {
                return filter_avx2(self, source, input, run, tile, out, out_stride);
            }
        }
        filter::<P, false>(self, source, input, run, tile, out, out_stride);
    }
}

/// [`filter`] compiled for AVX2 with fused multiply-add.
///
/// # Safety
/// The machine must have AVX2 and FMA.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn filter_avx2<P: SampleSource + ?Sized>(
    weights: &TiledWeights,
    source: &P,
    input: usize,
    run: &Run,
    tile: &mut [TileRow],
    out: &mut [f32],
    out_stride: usize,
) {
    filter::<P, true>(weights, source, input, run, tile, out, out_stride);
}

/// Fills and filters one tile after the other.
#[inline(always)]
fn filter<P: SampleSource + ?Sized, const FUSED: bool>(
    weights: &TiledWeights,
    source: &P,
    input: usize,
    run: &Run,
    tile: &mut [TileRow],
    out: &mut [f32],
    out_stride: usize,
) {
    let step = (weights.width / weights.floats) as i64;
    let (groups, rest) = run.spectra.as_chunks::<GROUP>();
    for (index, rows) in weights.rows.chunks_exact(weights.taps).enumerate() {
        let first = index * TILE;
        let columns = TILE.min(weights.width - first);
        let lane_groups = columns.div_ceil(LANES);
        for (row, values) in tile.iter_mut().enumerate() {
            let start = run.base + row as i64 * step + (first / weights.floats) as i64;
            let values = &mut values.0.as_flattened_mut()[..lane_groups * LANES];
            source.fill(input, start, &mut values[..columns]);
            values[columns..].fill(0.0);
        }
        let out = &mut out[first..];
        for group in groups {
            filter_group::<FUSED, GROUP>(tile, rows, lane_groups, group, out, out_stride);
        }
        let (pairs, rest) = rest.as_chunks::<2>();
        for pair in pairs {
            filter_group::<FUSED, 2>(tile, rows, lane_groups, pair, out, out_stride);
        }
        for one in rest {
            filter_group::<FUSED, 1>(tile, rows, lane_groups, &[*one], out, out_stride);
        }
    }
}

/// Filters `N` spectra in one tile of columns, each weight loaded once for all of them.
#[inline(always)]
fn filter_group<const FUSED: bool, const N: usize>(
    tile: &[TileRow],
    weights: &[TileRow],
    lane_groups: usize,
    spectra: &[(usize, usize); N],
    out: &mut [f32],
    out_stride: usize,
) {
    let rows: [&[TileRow]; N] = std::array::from_fn(|n| &tile[spectra[n].0..][..weights.len()]);
    for lane in 0..lane_groups.min(TILE / LANES) {
        let mut sums = [[0.0f32; LANES]; N];
        for (tap, weights) in weights.iter().enumerate() {
            let weights = weights.0[lane];
            for (sum, rows) in sums.iter_mut().zip(&rows) {
                let samples = &rows[tap].0[lane];
                for ((sum, weight), &sample) in sum.iter_mut().zip(weights).zip(samples) {
                    *sum = if FUSED { weight.mul_add(sample, *sum) } else { *sum + weight * sample };
                }
            }
        }
        for (sum, &(_, place)) in sums.iter().zip(spectra) {
            out[place * out_stride + lane * LANES..][..LANES].copy_from_slice(sum);
        }
    }
}
