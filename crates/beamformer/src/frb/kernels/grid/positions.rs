//! Powers at positions between beams, on a device.

use fringes_backend::{DeviceError, Expect};
use fringes_gpu::{Buffer, BufferView, BufferViewMut, Device, Kernel, LaunchConfig, Stream, args};

use super::super::launch::{check_u32, product};
use super::texts;
use crate::{BeamformerError, FrbInterpolation};

/// Threads of a block, and times that it takes at once: those of the kernel.
const THREADS: u32 = 512;
const TIMES: usize = 4;

/// The kernel of [`FrbInterpolation`] on one device, with its positions there.
///
/// Every operation is queued on a stream and returns at once; nothing is allocated. Sizes are checked before anything
/// is queued.
///
/// ```no_run
/// use fringes_beamformer::{FrbBeams, FrbInterpolation, FrbInterpolationKernels, FrbKernels, FrbLayout, Offset};
/// use fringes_gpu::{Buffer, Device};
/// use fringes_types::{Complex, Complex4};
/// use ndarray::Array4;
///
/// let device = Device::best()?;
/// let stream = device.new_stream()?;
/// let beams = FrbBeams::casm(&[450e6], Array4::from_elem((1, 2, 6, 43), Complex::new(1f32, 0.0)))?;
/// let kernels = FrbKernels::<Complex4>::load(&device, &beams)?;
/// let between = FrbInterpolation::casm(&[450e6], &[[0.0, 0.0], [0.3, 0.1]])?;
/// let between = FrbInterpolationKernels::load(&device, &between)?;
/// let times = 100 * beams.sum_times();
/// let voltages = Buffer::<Complex4>::zeroed(&stream, times * 2 * 6 * 43)?;
/// let mut powers = Buffer::<f32>::alloc(&device, kernels.powers(times)?)?;
/// kernels.detect(&stream, voltages.view(), times, None, &mut powers.view_mut())?;
/// let sizes = [1, 100, 1]; // fine channels, sums over time, products
/// let mut out = Buffer::<f32>::alloc(&device, between.powers(sizes))?;
/// // [frequency][fine][time][position][product]
/// between.interpolate(&stream, powers.view(), sizes, &mut out.view_mut())?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Kernels
/// Powers of all beams and products of four times fit into a block's shared memory: up to 14 thousand on an H100.
///
/// # Precision
/// Weights and sums in f32: off by at most `40 u sum abs(L_i L_j P)`, `u = 2^-24`, for positions that are rounded to
/// `2^-24` of a beam.
#[derive(Debug)]
pub struct FrbInterpolationKernels {
    kernel: Kernel,
    positions: Buffer<[u32; 4]>,
    frequencies: usize,
    count: usize,
    outs: usize,
    north_beams: usize,
    shared_bytes: u32,
}

impl FrbInterpolationKernels {
    /// Loads the kernel and sends the positions, and waits for that.
    ///
    /// # Errors
    /// [`DeviceError::NoKernel`] for more beams than fit, [`DeviceError::Gpu`] with what the driver says.
    pub fn load(device: &Device, interpolation: &FrbInterpolation) -> Result<Self, BeamformerError> {
        let (frequencies, count, _) = interpolation.positions().dim();
        let (outs, north_beams) = interpolation.grid();
        let shared_bytes = device.info().limits.shared_bytes_per_block;
        let kernels = Self {
            kernel: device.load(&texts::FRB_GRID)?.kernel("interpolate_powers")?,
            positions: Buffer::from_slice(&device.new_stream()?, &interpolation.places())?,
            frequencies,
            count,
            outs,
            north_beams,
            shared_bytes,
        };
        kernels.block_bytes(1)?;
        check_u32("positions", count)?;
        Ok(kernels)
    }

    /// The device.
    pub fn device(&self) -> &Device {
        self.positions.device()
    }

    /// Bytes of shared memory of a block.
    fn block_bytes(&self, products: usize) -> Result<u32, DeviceError> {
        let bytes = product(&[4 * TIMES, self.outs, self.north_beams, products]);
        if bytes > self.shared_bytes as usize {
            let expected = "powers of four times that fit into shared memory";
            let actual = format!("{bytes} bytes, of {} that there are", self.shared_bytes);
            return Err(DeviceError::NoKernel { expected, actual });
        }
        Ok(bytes as u32)
    }

    /// Number of powers at the positions, for so many fine channels, times and products; the largest number where it
    /// does not fit.
    pub fn powers(&self, [fine, times, products]: [usize; 3]) -> usize {
        product(&[self.frequencies, fine, times, self.count, products])
    }

    /// Powers `[frequency][fine][time][position][product]` of powers `[frequency][fine][time][beam][product]`, for so
    /// many fine channels, times and products. Elements of the buffers past the last ones are neither read nor written;
    /// for no powers nothing is queued.
    ///
    /// # Errors
    /// [`DeviceError::Length`] if a buffer is too short; [`DeviceError::TooLarge`] for sizes beyond what a launch can
    /// count, [`DeviceError::NoKernel`] for products that do not fit; [`DeviceError::Gpu`] with what the driver says.
    pub fn interpolate(
        &self,
        stream: &Stream,
        powers: BufferView<'_, f32>,
        [fine, times, products]: [usize; 3],
        out: &mut BufferViewMut<'_, f32>,
    ) -> Result<(), BeamformerError> {
        let sizes = [fine, times, products];
        let rows = product(&[self.frequencies, fine, times]);
        powers.expect("powers of beams", product(&[rows, self.outs, self.north_beams, products]), 4)?;
        out.expect("powers at positions", self.powers(sizes), 4)?;
        if self.powers(sizes) == 0 {
            return Ok(());
        }
        check_u32("frequencies x fine channels x times of a launch", rows)?;
        let blocks = product(&[self.frequencies, fine, times.div_ceil(TIMES)]).min(1 << 20) as u32;
        let config = LaunchConfig::new([blocks, 1, 1], [THREADS, 1, 1]).with_shared_bytes(self.block_bytes(products)?);
        let [frequencies, fine, times, outs, beams, products, positions] =
            [self.frequencies, fine, times, self.outs, self.north_beams, products, self.count].map(|size| size as u32);
        let out = out.reborrow().slice(..self.powers(sizes))?;
        let arguments = args![powers, &self.positions, out, frequencies, fine, times, outs, beams, products, positions];
        Ok(self.kernel.launch_safe(stream, &config, arguments)?)
    }
}
