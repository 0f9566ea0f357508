//! Products of f32: a block of rows times panels of columns, of numbers of `P` parts, complex ones (2) or real ones
//! (1).
//!
//! ```text
//! left    [time][input][P]
//! panels  [panel][input][16 numbers]        8 complex or 16 real columns of the right factor, zeros beyond the last
//! out     [time][column][P]                 a panel's columns are 16 numbers here too
//! ```
//!
//! A *tile* is three rows and one panel, with registers of 512 bits six rows and two panels. Each part of a left number
//! multiplies all 16 numbers of a panel's row: the sums of `(re, im)` of the weights times real parts, and times
//! imaginary parts, stay in 12 vector registers, or 24, and are put together once, at the end. Panels of [`DEPTH`]
//! inputs stay in the first cache while the rows of a block go by.

#[cfg(target_arch = "x86_64")]
mod x86;

#[cfg(test)]
mod tests;

use bytemuck::Pod;
use ndarray::ArrayView2;

use crate::correlator::InstructionSet;

/// Numbers of a panel's row.
const LANES: usize = 16;

/// Most rows and panels of a tile.
const ROWS: usize = 6;
const PANELS: usize = 2;

/// Inputs of a panel that are multiplied before the next panel is.
const DEPTH: usize = 256;

/// A row of a panel, or of the product.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(64))]
struct Lanes([f32; LANES]);

/// The products of the rows and panels of a tile.
type Tile = [[Lanes; ROWS]; PANELS];

/// No products.
const NO_TILE: Tile = [[Lanes([0.0; LANES]); ROWS]; PANELS];

/// An inner loop.
trait Kernel: Copy {
    /// Rows and panels of a tile, at most [`ROWS`] and [`PANELS`].
    const TILE: [usize; 2];

    /// The products of the rows of a tile and of its panels, or of one.
    fn tile<const P: usize>(self, panels: &[&[Lanes]], rows: [&[[f32; P]]; ROWS], tile: &mut Tile);

    /// [`Panels::product`], compiled for the same instructions where what is around the tiles gains by that.
    fn product<const P: usize>(self, panels: &Panels<P>, left: &[[f32; P]], out: &mut [f32]) {
        panels.product(self, left, out);
    }
}

/// Plain Rust: products and sums each rounded, or where every processor has that as one instruction, fused.
#[derive(Debug, Clone, Copy)]
struct Portable;

impl Kernel for Portable {
    const TILE: [usize; 2] = [3, 1];

    #[inline(always)]
    fn tile<const P: usize>(self, panels: &[&[Lanes]], rows: [&[[f32; P]]; ROWS], tile: &mut Tile) {
        let Some(panel) = panels.first() else { return };
        for (row, to) in rows.into_iter().zip(&mut tile[0]).take(Self::TILE[0]) {
            let mut sums = [[0f32; LANES]; P];
            for (Lanes(weights), parts) in panel.iter().zip(row) {
                for (sums, &part) in sums.iter_mut().zip(parts) {
                    for (sum, &weight) in sums.iter_mut().zip(weights) {
                        let fused = cfg!(target_arch = "aarch64");
                        *sum = if fused { weight.mul_add(part, *sum) } else { weight * part + *sum };
                    }
                }
            }
            *to = match sums.as_slice() {
                [re, im] => {
                    Lanes(std::array::from_fn(|n| if n % 2 == 0 { re[n] - im[n + 1] } else { re[n] + im[n - 1] }))
                }
                _ => Lanes(sums[0]),
            };
        }
    }
}

/// The right factor of products of numbers of `P` parts, packed.
#[derive(Debug, Default)]
pub(super) struct Panels<const P: usize> {
    rows: Vec<Lanes>,
    inputs: usize,
    columns: usize,
}

impl<const P: usize> Panels<P> {
    /// Bytes of a factor of so many inputs and columns.
    pub(super) fn bytes(inputs: usize, columns: usize) -> u64 {
        let panels = (columns as u64).div_ceil((LANES / P) as u64);
        panels.saturating_mul(inputs as u64).saturating_mul(size_of::<Lanes>() as u64)
    }

    /// Packs a factor `[column][input]` in place of what was there.
    pub(super) fn pack<T: Pod>(&mut self, factor: ArrayView2<'_, T>) {
        let (columns, inputs) = factor.dim();
        let of_panel = LANES / P;
        (self.inputs, self.columns) = (inputs, columns);
        self.rows.clear();
        self.rows.resize(columns.div_ceil(of_panel) * inputs, Lanes([0.0; LANES]));
        for (column, numbers) in factor.rows().into_iter().enumerate() {
            let panel = &mut self.rows[column / of_panel * inputs..][..inputs];
            let first = P * (column % of_panel);
            for (row, &number) in panel.iter_mut().zip(numbers) {
                row.0[first..first + P].copy_from_slice(&bytemuck::cast::<T, [f32; P]>(number));
            }
        }
    }

    /// `out = left right`, of standard layout `[time][input]` and `[time][column]`, with the best instructions of this
    /// machine.
    pub(super) fn multiply<T: Pod>(&self, left: &[T], out: &mut [T]) {
        self.multiply_by(InstructionSet::best(), left, out);
    }

    fn multiply_by<T: Pod>(&self, instructions: InstructionSet, left: &[T], out: &mut [T]) {
        if out.is_empty() {
            return;
        }
        let times = out.len() / self.columns;
        assert_eq!((times * self.columns, times * self.inputs), (out.len(), left.len()), "shapes of a matrix product");
        if self.inputs == 0 {
            return out.fill(T::zeroed());
        }
        let (left, out) = (bytemuck::cast_slice(left), bytemuck::cast_slice_mut(out));
        match instructions {
            InstructionSet::Portable => Portable.product(self, left, out),
            #[cfg(target_arch = "x86_64")]
            InstructionSet::Avx2 => x86::Fused::checked().product(self, left, out),
            #[cfg(target_arch = "x86_64")]
            InstructionSet::Avx512 | InstructionSet::Avx512Vnni => x86::Wide::checked().product(self, left, out),
            #[cfg(not(target_arch = "x86_64"))]
            _ => Portable.product(self, left, out),
        }
    }

    /// Writes `[time][column]`, the parts of a number one after another.
    #[inline(always)]
    fn product<K: Kernel>(&self, kernel: K, left: &[[f32; P]], out: &mut [f32]) {
        let (inputs, width, [rows, panels]) = (self.inputs, self.columns * P, K::TILE);
        let (times, mut tile) = (out.len() / width, NO_TILE);
        for from in (0..inputs).step_by(DEPTH) {
            let depth = from..inputs.min(from + DEPTH);
            for (number, of_tile) in self.rows.chunks(inputs * panels).enumerate() {
                let mut of_depth: [&[Lanes]; PANELS] = [&[]; PANELS];
                let present = of_tile.len() / inputs;
                for (to, panel) in of_depth.iter_mut().zip(of_tile.chunks_exact(inputs)) {
                    *to = &panel[depth.clone()];
                }
                for time in (0..times).step_by(rows) {
                    // Beyond the last row comes the last again, for nothing.
                    let row = |n: usize| &left[(time + n).min(times - 1) * inputs..][depth.clone()];
                    kernel.tile(&of_depth[..present], std::array::from_fn(row), &mut tile);
                    for (panel, tile) in tile.iter().enumerate().take(present) {
                        let first = (number * panels + panel) * LANES;
                        let count = LANES.min(width - first);
                        for (time, Lanes(sums)) in (time..times).zip(tile).take(rows) {
                            let out = &mut out[time * width + first..][..count];
                            if from > 0 {
                                out.iter_mut().zip(sums).for_each(|(out, sum)| *out += sum);
                            } else if let Ok(out) = <&mut [f32; LANES]>::try_from(&mut *out) {
                                *out = *sums;
                            } else {
                                out.copy_from_slice(&sums[..count]);
                            }
                        }
                    }
                }
            }
        }
    }
}
