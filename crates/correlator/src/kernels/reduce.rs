//! Parts of sums into visibilities of any order, on a device.

use fringes_backend::{DeviceError, Expect};
use fringes_gpu::{BufferView, BufferViewMut, Device, Kernel, KernelElement, LaunchConfig, Module, Stream, args};
use fringes_kernel_abi::correlator::{REDUCE_POSITIONS, REDUCE_TILE};
use fringes_types::{BaselineOrder, Complex, Inputs};

use super::pack::{Stepping, THREADS, numbers};
use super::texts;
use crate::CorrelatorError;
use crate::layout::product;

/// Positions of a block.
const BLOCK_POSITIONS: usize = (REDUCE_POSITIONS * THREADS) as usize;

/// Rows and columns of a tile of the full order.
const TILE: usize = REDUCE_TILE as usize;

/// Most blocks in the second dimension of a grid.
const GRID_Y: usize = 65535;

/// Most inputs.
const MOST_INPUTS: usize = fringes_kernel_abi::correlator::MOST_INPUTS as usize;

/// A sum of parts, and the order that it is wanted in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reduction {
    /// Channels.
    pub channels: usize,
    /// Antennas and polarisations.
    pub inputs: Inputs,
    /// Accumulators `[part][channel][baseline]`, packed lower triangles, at least 1.
    pub parts: usize,
    /// Order of the baselines that come out.
    pub order: BaselineOrder,
}

impl Reduction {
    /// Complex sums of all parts.
    ///
    /// # Errors
    /// [`TypesError::TooLarge`](fringes_types::TypesError::TooLarge) where no memory can be as large.
    pub fn sums(&self) -> Result<usize, CorrelatorError> {
        product("sums", &[self.parts, self.channels, self.inputs.triangle_len()])
    }

    /// Complex visibilities that come out, `[channel][baseline]`.
    ///
    /// # Errors
    /// [`TypesError::TooLarge`](fringes_types::TypesError::TooLarge) where no memory can be as large.
    pub fn visibilities(&self) -> Result<usize, CorrelatorError> {
        product("visibilities", &[self.channels, self.order.len(self.inputs)])
    }

    fn check(&self) -> Result<(), CorrelatorError> {
        self.order.check(self.inputs)?;
        if self.parts == 0 {
            return Err(CorrelatorError::NoParts);
        }
        let actual = self.inputs.len();
        if actual > MOST_INPUTS {
            return Err(CorrelatorError::Device(DeviceError::TooLarge { what: "inputs", actual, limit: MOST_INPUTS }));
        }
        Ok(())
    }

    /// What the kernel of the order takes: parts, channels, and baselines, antennas or inputs.
    ///
    /// Triangles of which nothing but the number of sums matters are one channel with that many baselines, so that
    /// every block is full.
    fn numbers(&self, flat: bool) -> Result<[u32; 3], CorrelatorError> {
        let triangle = self.inputs.triangle_len();
        let side = match self.order {
            BaselineOrder::Triangle => match u32::try_from(self.channels.saturating_mul(triangle)) {
                Ok(all) if flat => return Ok([numbers("parts", [self.parts])?[0], 1, all]),
                _ => triangle,
            },
            BaselineOrder::AntennaPairs => self.inputs.antennas(),
            BaselineOrder::Full => self.inputs.len(),
        };
        numbers("sums", [self.parts, self.channels, side])
    }
}

/// Kernels that write the three orders.
#[derive(Debug, Clone)]
struct Orders {
    triangle: Stepping,
    pairs: Stepping,
    full: Stepping,
    /// Shared memory of the last one.
    full_bytes: u32,
}

impl Orders {
    /// Loads `name`, `name_pairs` and `name_full`; a visibility that comes out has `bytes` bytes.
    fn load(module: &Module, [triangle, pairs, full]: [&str; 3], bytes: usize) -> Result<Self, CorrelatorError> {
        let full_bytes = (TILE * TILE * bytes) as u32;
        let load = |name| Stepping::load(module, name, 0);
        let full = Stepping::load(module, full, full_bytes)?;
        Ok(Self { triangle: load(triangle)?, pairs: load(pairs)?, full, full_bytes })
    }

    /// The kernel and the launch of an order.
    fn launch(&self, order: BaselineOrder, [_, channels, side]: [u32; 3]) -> (&Kernel, LaunchConfig) {
        let side = side as usize;
        let (stepping, across, shared_bytes) = match order {
            BaselineOrder::Triangle => (&self.triangle, side.div_ceil(BLOCK_POSITIONS), 0),
            BaselineOrder::AntennaPairs => (&self.pairs, (2 * side * (side + 1)).div_ceil(BLOCK_POSITIONS), 0),
            BaselineOrder::Full => {
                let tiles = side.div_ceil(TILE);
                (&self.full, tiles * (tiles + 1) / 2, self.full_bytes)
            }
        };
        (&stepping.kernel, grid(stepping, across, channels).with_shared_bytes(shared_bytes))
    }
}

/// A grid of `across` blocks for each channel, or of as many as pay; the kernel steps through the rest.
fn grid(stepping: &Stepping, across: usize, channels: u32) -> LaunchConfig {
    let most = stepping.most_blocks as usize;
    let x = across.clamp(1, most);
    let y = (most / x).clamp(1, (channels as usize).clamp(1, GRID_Y));
    LaunchConfig::new([x as u32, y as u32, 1], [THREADS, 1, 1])
}

mod sealed {
    pub trait Sealed {}
}

/// A part of a sum that is added up over parts: `i32` and `i64` in `i64` (exact, modulo 2^64), or `f64` in `f64` (in
/// the order of the parts).
pub trait DeviceSum: sealed::Sealed + Copy {
    /// What parts are added up in.
    type Wide: Copy;
    /// Which kernels.
    #[doc(hidden)]
    const KERNELS: usize;
}

/// A part of a sum of which several launches' are added to wider sums: `i32` to `i64`, `f32` to `f64`.
pub trait NarrowSum: sealed::Sealed + Copy {
    /// The wider sum.
    type Wide: Copy;
    /// Which kernels.
    #[doc(hidden)]
    const KERNELS: usize;
}

macro_rules! sums {
    ($($type:ty: $trait:ident, $kernels:literal, $wide:ty;)*) => { $(
        impl $trait for $type {
            type Wide = $wide;
            const KERNELS: usize = $kernels;
        }
    )* };
}

impl sealed::Sealed for i32 {}
impl sealed::Sealed for i64 {}
impl sealed::Sealed for f32 {}
impl sealed::Sealed for f64 {}

sums! {
    i64: DeviceSum, 0, i64;
    i32: DeviceSum, 1, i64;
    f64: DeviceSum, 2, f64;
    i32: NarrowSum, 0, i64;
    f32: NarrowSum, 1, f64;
}

/// What becomes of sums that are clamped to 32 bits.
#[derive(Debug)]
pub struct Clamp<'a> {
    /// Flags `[baseline]`, packed lower triangle: baselines where it is not zero hold
    /// [`MISSING_MARK`](crate::MISSING_MARK) in every channel.
    pub missing: Option<BufferView<'a, u8>>,
    /// One number, to which the number of visibilities that did not fit is added: one per complex value that comes
    /// out, marked ones not counted.
    pub saturated: BufferViewMut<'a, u64>,
}

/// The reduction kernels on one device: sums of parts, in any order, clamped or as they are. Cheap to clone.
///
/// Every operation is queued on a stream and returns at once; nothing is allocated. Sizes are checked before anything
/// is queued.
///
/// # Precision
/// Integers are exact. Floats are added in the order of the parts, each addition rounded to nearest.
#[derive(Debug, Clone)]
pub struct ReduceKernels {
    /// By [`DeviceSum::KERNELS`].
    sums: [Orders; 3],
    /// Of integers, as above.
    clamp: [Orders; 2],
    reorder: [[Stepping; 2]; 2],
    add: [Stepping; 2],
}

impl ReduceKernels {
    /// Loads the kernels; the first time on a machine the driver compiles them.
    ///
    /// # Errors
    /// [`DeviceError::Gpu`](fringes_backend::DeviceError::Gpu) with what the driver says.
    pub fn load(device: &Device) -> Result<Self, CorrelatorError> {
        let module = device.load(&texts::CORRELATOR_DATA)?;
        let load = |name, shared_bytes| Stepping::load(&module, name, shared_bytes);
        let full_bytes = (TILE * TILE * size_of::<Complex<i32>>()) as u32;
        Ok(Self {
            sums: [
                Orders::load(&module, ["reduce_i64", "reduce_i64_pairs", "reduce_i64_full"], 16)?,
                Orders::load(&module, ["reduce_i32", "reduce_i32_pairs", "reduce_i32_full"], 16)?,
                Orders::load(&module, ["reduce_f64", "reduce_f64_pairs", "reduce_f64_full"], 16)?,
            ],
            clamp: [
                Orders::load(&module, ["clamp_i64", "clamp_i64_pairs", "clamp_i64_full"], 8)?,
                Orders::load(&module, ["clamp_i32", "clamp_i32_pairs", "clamp_i32_full"], 8)?,
            ],
            reorder: [
                [load("reorder_i32_pairs", 0)?, load("reorder_i32_full", full_bytes)?],
                [load("reorder_f32_pairs", 0)?, load("reorder_f32_full", full_bytes)?],
            ],
            add: [load("add_parts_i32", 0)?, load("add_parts_f32", 0)?],
        })
    }

    /// Writes the sum of the parts, `[channel][baseline]` in the order that is wanted and in 64 bits; with one part,
    /// the same sums in that order.
    ///
    /// # Errors
    /// [`CorrelatorError::NoParts`]; [`TypesError::OrderPols`](fringes_types::TypesError::OrderPols) for antenna pairs
    /// of one polarisation; [`DeviceError::Length`](fringes_backend::DeviceError::Length) and
    /// [`DeviceError::Alignment`](fringes_backend::DeviceError::Alignment) (sums at multiples of their size) for a
    /// buffer; [`DeviceError::TooLarge`](fringes_backend::DeviceError::TooLarge) for sizes that the kernels cannot
    /// count; [`DeviceError::Gpu`](fringes_backend::DeviceError::Gpu) with what the driver says.
    pub fn reduce<T: DeviceSum>(
        &self,
        stream: &Stream,
        reduction: Reduction,
        parts: BufferView<'_, Complex<T>>,
        out: &mut BufferViewMut<'_, Complex<T::Wide>>,
    ) -> Result<(), CorrelatorError>
    where
        Complex<T>: bytemuck::Pod,
        [T; 2]: KernelElement + bytemuck::Pod,
        Complex<T::Wide>: bytemuck::Pod,
        [T::Wide; 2]: KernelElement + bytemuck::Pod,
    {
        if !checked(reduction, parts, out)? {
            return Ok(());
        }
        let sizes = reduction.numbers(true)?;
        let [number, channels, side] = sizes;
        let (kernel, config) = self.sums[T::KERNELS].launch(reduction.order, sizes);
        let (parts, out) = (parts.cast::<[T; 2]>()?, out.reborrow().cast::<[T::Wide; 2]>()?);
        Ok(kernel.launch_safe(stream, &config, args![parts, out, number, channels, side])?)
    }

    /// Writes the sum of the parts in 32 bits: each part of a complex value clamped to `+-(2^31 - 1)`, what did not fit
    /// counted, baselines that miss data marked if wanted.
    ///
    /// # Errors
    /// As [`ReduceKernels::reduce`].
    pub fn clamp<T: DeviceSum<Wide = i64>>(
        &self,
        stream: &Stream,
        reduction: Reduction,
        parts: BufferView<'_, Complex<T>>,
        out: &mut BufferViewMut<'_, Complex<i32>>,
        clamp: Clamp<'_>,
    ) -> Result<(), CorrelatorError>
    where
        Complex<T>: bytemuck::Pod,
        [T; 2]: KernelElement + bytemuck::Pod,
    {
        let Clamp { missing, saturated } = clamp;
        saturated.expect("counter", 1, 8)?;
        if let Some(missing) = &missing {
            missing.expect("missing flags", reduction.inputs.triangle_len(), 1)?;
        }
        if !checked(reduction, parts, out)? {
            return Ok(());
        }
        let sizes = reduction.numbers(missing.is_none())?;
        let [number, channels, side] = sizes;
        let (kernel, config) = self.clamp[T::KERNELS].launch(reduction.order, sizes);
        let parts = parts.cast::<[T; 2]>()?;
        let missing = match missing {
            Some(missing) => missing,
            None => parts.slice(0..0)?.cast::<u8>()?,
        };
        let out = out.reborrow().cast::<[i32; 2]>()?;
        Ok(kernel.launch_safe(stream, &config, args![parts, out, missing, saturated, number, channels, side])?)
    }

    /// Writes a triangle of `i32` or `f32` sums, `[channel][baseline]`, in the order that is wanted. `reduction.parts`
    /// is 1: adding up parts of so few bits is for [`ReduceKernels::add_parts`].
    ///
    /// # Errors
    /// As [`ReduceKernels::reduce`], and [`DeviceError::TooLarge`](fringes_backend::DeviceError::TooLarge) for more
    /// than one part.
    pub fn reorder<T: NarrowSum>(
        &self,
        stream: &Stream,
        reduction: Reduction,
        triangle: BufferView<'_, Complex<T>>,
        out: &mut BufferViewMut<'_, Complex<T>>,
    ) -> Result<(), CorrelatorError>
    where
        Complex<T>: bytemuck::Pod,
        [T; 2]: KernelElement + bytemuck::Pod,
    {
        if reduction.parts > 1 {
            return Err(CorrelatorError::Device(DeviceError::TooLarge {
                what: "parts to reorder",
                actual: reduction.parts,
                limit: 1,
            }));
        }
        if !checked(reduction, triangle, out)? {
            return Ok(());
        }
        let [_, channels, side] = reduction.numbers(true)?;
        let [pairs, full] = &self.reorder[T::KERNELS];
        let n = side as usize;
        let (stepping, across, shared_bytes) = match reduction.order {
            BaselineOrder::Triangle => {
                let len = reduction.visibilities()?;
                return Ok(out.reborrow().slice(..len)?.copy_from(stream, triangle.slice(..len)?)?);
            }
            BaselineOrder::AntennaPairs => (pairs, (2 * n * (n + 1)).div_ceil(BLOCK_POSITIONS), 0),
            BaselineOrder::Full => {
                let tiles = n.div_ceil(TILE);
                (full, tiles * (tiles + 1) / 2, TILE * TILE * size_of::<Complex<T>>())
            }
        };
        let config = grid(stepping, across, channels).with_shared_bytes(shared_bytes as u32);
        let (triangle, out) = (triangle.cast::<[T; 2]>()?, out.reborrow().cast::<[T; 2]>()?);
        Ok(stepping.kernel.launch_safe(stream, &config, args![triangle, out, channels, side])?)
    }

    /// Adds parts `[part][channel][baseline]` of `i32` or `f32` sums to `i64` or `f64` sums `[channel][baseline]`,
    /// triangles both. `reduction.order` does not matter.
    ///
    /// # Errors
    /// As [`ReduceKernels::reduce`].
    pub fn add_parts<T: NarrowSum>(
        &self,
        stream: &Stream,
        reduction: Reduction,
        parts: BufferView<'_, Complex<T>>,
        sums: &mut BufferViewMut<'_, Complex<T::Wide>>,
    ) -> Result<(), CorrelatorError>
    where
        Complex<T>: bytemuck::Pod,
        [T; 2]: KernelElement + bytemuck::Pod,
        Complex<T::Wide>: bytemuck::Pod,
        [T::Wide; 2]: KernelElement + bytemuck::Pod,
    {
        let reduction = Reduction { order: BaselineOrder::Triangle, ..reduction };
        if !checked(reduction, parts, sums)? {
            return Ok(());
        }
        let len = reduction.visibilities()?;
        let [number] = numbers("parts", [reduction.parts])?;
        let stepping = &self.add[T::KERNELS];
        let config = grid(stepping, len.div_ceil(BLOCK_POSITIONS), 1);
        let (parts, sums) = (parts.cast::<[T; 2]>()?, sums.reborrow().cast::<[T::Wide; 2]>()?);
        Ok(stepping.kernel.launch_safe(stream, &config, args![parts, sums, number, len as u64])?)
    }
}

/// Whether there is anything to do, once sizes and buffers are checked.
fn checked<T: bytemuck::Pod, U: bytemuck::Pod>(
    reduction: Reduction,
    parts: BufferView<'_, T>,
    out: &BufferViewMut<'_, U>,
) -> Result<bool, CorrelatorError> {
    reduction.check()?;
    parts.expect("sums", reduction.sums()?, size_of::<T>() as u64)?;
    let visibilities = reduction.visibilities()?;
    out.expect("visibilities", visibilities, size_of::<U>() as u64)?;
    Ok(visibilities > 0)
}
