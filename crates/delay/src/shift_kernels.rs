//! Coarse shift on a device.

use fringes_backend::DeviceError;
use fringes_gpu::{BufferView, BufferViewMut, Device, Stream, args};

use super::kernels::{Stepping, length, numbers};
use super::layout::{ShiftShape, product};
use super::texts;
use crate::DelayError;

/// Samples of a row, at most.
const MOST_TIMES: usize = fringes_kernel_abi::delay::MOST_SHIFT_TIMES as usize;

/// Bytes of a tile of the kernel that moves 16 bytes at a time, and of the one that moves single bytes.
const TILES: [usize; 2] = fringes_kernel_abi::delay::SHIFT_TILES;

/// The shift kernels on one device: `y[input][n] = x[input][n - coarse[input]]`, zero where `x` has no sample. Cheap to
/// clone.
///
/// Every operation is queued on a stream and returns at once; nothing is allocated. Sizes are checked before anything
/// is queued.
///
/// Rows of `y` at multiples of 16 bytes are written at the memory's rate, whatever the samples' width and the delays,
/// and wherever rows of `x` begin, if both buffers do at multiples of 16 bytes. Others are moved byte by byte.
///
/// # Precision
/// Exact.
#[derive(Debug, Clone)]
pub struct ShiftKernels {
    pieces: Stepping,
    bytes: Stepping,
}

impl ShiftKernels {
    /// Loads the kernels; the first time on a machine the driver compiles them.
    ///
    /// # Errors
    /// [`DeviceError::Gpu`](fringes_backend::DeviceError::Gpu) with what the driver says.
    pub fn load(device: &Device) -> Result<Self, DelayError> {
        let module = device.load(&texts::DELAY_SHIFT)?;
        Ok(Self { pieces: Stepping::load(&module, "shift")?, bytes: Stepping::load(&module, "shift_any")? })
    }

    /// Shifts rows of samples; `coarse` is `[input]`, in samples. Bytes between the rows of `y` are left as they are;
    /// bits of a row's last byte behind its last sample become 0.
    ///
    /// # Errors
    /// [`DelayError::SampleBits`] unless samples have 1 to 64 bits, [`DelayError::RowStride`] where rows of `y` would
    /// overlap, [`DeviceError::Length`](fringes_backend::DeviceError::Length) if a buffer is too short,
    /// [`DeviceError::TooLarge`](fringes_backend::DeviceError::TooLarge) for sizes that the kernels cannot count,
    /// [`DeviceError::Gpu`](fringes_backend::DeviceError::Gpu) with what the driver says.
    pub fn shift(
        &self,
        stream: &Stream,
        shape: ShiftShape,
        coarse: BufferView<'_, i64>,
        from: BufferView<'_, u8>,
        to: &mut BufferViewMut<'_, u8>,
    ) -> Result<(), DelayError> {
        let row = shape.check()?;
        length("x", shape.from_bytes()?, from.len())?;
        length("y", shape.to_bytes()?, to.len())?;
        length("delays", shape.inputs, coarse.len())?;
        for actual in [shape.from_times, shape.to_times] {
            if actual > MOST_TIMES {
                return Err(DelayError::Device(DeviceError::TooLarge {
                    what: "samples of a row",
                    actual,
                    limit: MOST_TIMES,
                }));
            }
        }
        if row == 0 || shape.inputs == 0 {
            return Ok(());
        }
        let wide = (shape.to_stride.is_multiple_of(16) || shape.inputs == 1)
            && from.address().is_multiple_of(16)
            && to.address().is_multiple_of(16);
        let (kernel, tile) = if wide { (&self.pieces, TILES[0]) } else { (&self.bytes, TILES[1]) };
        let [inputs, tiles] =
            numbers("samples", [shape.inputs, product("samples", &[row.div_ceil(tile), shape.inputs])?])?;
        let ShiftShape { bits, from_times, to_times, from_stride, to_stride, .. } = shape;
        let [from_times, to_times, from_stride, to_stride] =
            [from_times, to_times, from_stride, to_stride].map(|size| size as u64);
        let to = to.reborrow();
        kernel.launch(
            stream,
            tiles,
            args![from, to, coarse, inputs, bits, from_times, to_times, from_stride, to_stride],
        )
    }
}
