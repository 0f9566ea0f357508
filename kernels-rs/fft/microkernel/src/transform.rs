//! What a microkernel is to the kernel that calls it.

use fringes_device::Global;
use fringes_device::layout::Layout;

use crate::{Format, Spectra, Sums};

/// `Y[q] = sum over n < 2^INPUT_BITS of exp(sign 2 pi i q n / 2^OUTPUT_BITS) X[n]` in the registers of a warp.
///
/// The sign, and a scale, are in the phases.
///
/// # Layout
/// A warp holds one transform, two numbers of f16 in a register. [`INPUT`](Self::INPUT) and [`OUTPUT`](Self::OUTPUT)
/// say which: of each complex number one register has both parts, the real one in the low half, and registers 2 i and 2
/// i + 1 have neighbours, `n` and `n + 1`.
///
/// # Precision
/// The phases are rounded to f16. [`Sums`] says how the sums of products are; each product with phases between two
/// contractions rounds twice. See `fringes_fft::Plan` for the errors.
pub trait Transform {
    /// Bits of `n`.
    const INPUT_BITS: u32;
    /// Bits of `q`.
    const OUTPUT_BITS: u32;
    /// Where the input is.
    const INPUT: Layout;
    /// Where the output is.
    const OUTPUT: Layout;
    /// Registers of phases of a lane.
    const PHASE_REGISTERS: usize;
    /// Values of the input, one a register: `[u32; N]`.
    type Input: Copy;
    /// Values of the output, one a register: `[R; N]`.
    type Output<R: Copy>: Copy;
    /// The phases of a lane.
    type Phases: Copy;
    /// What is loaded of an input, two complex samples each: `[P; N]`.
    type Pairs<P: Copy>: Copy;

    /// Loads the phases of lane `lane` from a table `[register][lane]`.
    ///
    /// # Safety
    /// The table has [`PHASE_REGISTERS`](Self::PHASE_REGISTERS) x 32 values, and `lane` is below 32.
    unsafe fn phases(table: Global<u32>, lane: u32) -> Self::Phases;

    /// The transform, with sums `S` in all contractions but the last and `L` in that.
    ///
    /// # Safety
    /// All 32 lanes of the warp execute it together.
    unsafe fn transform<S: Sums<Register = u32>, L: Sums>(
        x: Self::Input,
        phases: &Self::Phases,
    ) -> Self::Output<L::Register>;

    /// Pair of samples, relative to the transform's first, from which on the lane loads.
    fn input_pair(lane: u32) -> u32;

    /// Pair of results, relative to the transform's first, from which on the lane stores.
    fn output_pair(lane: u32) -> u32;

    /// Loads the lane's samples of a transform. `first` is the number of the pair of samples that the transform begins
    /// with, plus [`input_pair`](Self::input_pair).
    ///
    /// # Safety
    /// All samples of the transform are in the view.
    unsafe fn load<F: Format>(samples: Global<F::Pair>, first: usize) -> Self::Pairs<F::Pair>;

    /// The samples as f16.
    fn unpack<F: Format>(pairs: Self::Pairs<F::Pair>) -> Self::Input;

    /// Stores the lane's results. `first` is the number of the pair of results that the transform begins with, plus
    /// [`output_pair`](Self::output_pair).
    ///
    /// # Safety
    /// All results of the transform are in the spectra, and no other warp stores them.
    unsafe fn store<O: Spectra>(y: Self::Output<<O::Sums as Sums>::Register>, spectra: O, first: usize);
}
