//! A plan, loaded on a device.

use fringes_backend::{DeviceError, Expect};
use fringes_gpu::{Buffer, BufferView, BufferViewMut, Device, Kernel, LaunchConfig, Stream, args};

use super::ptx;
use crate::phases::phase_table;
use crate::{Fft, FftError, FftOutput, FftSample};

/// Most transforms of one launch.
pub(crate) const MAX_LAUNCH_TRANSFORMS: usize = u32::MAX as usize;

/// What the kernels' accesses need of an address.
const ALIGNMENT: u64 = 16;

/// Threads of a warp, which does one transform at a time.
const WARP: u32 = 32;

/// Threads of a block where a kernel declares none.
const THREADS: u32 = 128;

/// Blocks of a launch for each that the device holds at once. With more than one round the faster multiprocessors do
/// more of the work: on an H200 eight rounds in place of one save 1 to 4 % of the time for sizes up to 512, and change
/// nothing for 1024 points.
const ROUNDS: u32 = 8;

/// A plan's kernel on one device, with its table of phases there.
///
/// Every operation is queued on a stream and returns at once; nothing is allocated. Sizes are checked before anything
/// is queued. [`Fft::transform`] uses it; software that has its samples on the device calls it itself:
///
/// ```no_run
/// use fringes_fft::{Fft, FftKernels};
/// use fringes_gpu::{Buffer, Device};
/// use fringes_types::{Complex, Complex4, f16};
///
/// let device = Device::best()?;
/// let stream = device.new_stream()?;
/// let fft = Fft::<Complex4, Complex<f16>>::new(256, 512)?;
/// let kernels = FftKernels::load(&device, &fft)?; // once
/// let samples = Buffer::<Complex4>::zeroed(&stream, 1000 * 256)?; // [transform][n]
/// let mut spectra = Buffer::<Complex<f16>>::alloc(&device, 1000 * 512)?; // [transform][q]
/// kernels.transform(&stream, samples.view(), &mut spectra.view_mut(), 1000)?;
/// let spectra = spectra.to_vec(&stream)?; // waits for the stream
/// # let _ = spectra;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Precision
/// See [`Fft::relative_error`].
#[derive(Debug)]
pub struct FftKernels<S, O> {
    plan: Fft<S, O>,
    kernel: Kernel,
    phases: Buffer<u32>,
    /// Threads of a block.
    threads: u32,
    /// Most blocks of a launch.
    blocks: u32,
}

impl<S: FftSample, O: FftOutput> FftKernels<S, O> {
    /// Loads the kernel and sends the phases, and waits for that; the first time on a machine the driver compiles the
    /// kernel.
    ///
    /// # Errors
    /// [`DeviceError::NoKernel`] if there is none of the plan's size, [`DeviceError::Gpu`] with what the driver says.
    pub fn load(device: &Device, plan: &Fft<S, O>) -> Result<Self, FftError> {
        let missing = || DeviceError::NoKernel { expected: "a size of SIZES", actual: plan.size().to_string() };
        let module = device.load(ptx::set(plan.size()).ok_or_else(missing)?)?;
        let kernel = module.kernel(&kernel_name(plan))?;
        let table = phase_table(plan.size(), plan.sign(), plan.scale_exponent());
        let phases = Buffer::from_slice(&device.new_stream()?, &table)?;
        let threads = kernel.threads().map_or(THREADS, |[x, y, z]| x * y * z);
        let resident = kernel.blocks_per_multiprocessor(threads, 0)?.max(1);
        let blocks = resident.saturating_mul(device.info().multiprocessors).saturating_mul(ROUNDS).max(1);
        Ok(Self { plan: *plan, kernel, phases, threads, blocks })
    }

    /// The plan.
    pub fn plan(&self) -> &Fft<S, O> {
        &self.plan
    }

    /// The kernel, for its attributes.
    pub fn kernel(&self) -> &Kernel {
        &self.kernel
    }

    /// The launch for so many transforms: eight times as many blocks as the device holds at once, or as there is work
    /// for.
    pub fn launch(&self, transforms: usize) -> LaunchConfig {
        let warps = (self.threads / WARP).max(1) as usize;
        let blocks = transforms.div_ceil(warps).clamp(1, self.blocks as usize);
        LaunchConfig::new([blocks as u32, 1, 1], [self.threads, 1, 1])
    }

    /// Transforms samples `[transform][n]` to outputs `[transform][q]`. Elements of the buffers past the last transform
    /// are neither read nor written; for no transforms nothing is queued.
    ///
    /// # Errors
    /// [`DeviceError::TooLarge`] for more than 2^32 - 1 transforms, [`DeviceError::Length`] if a buffer is too short,
    /// [`DeviceError::Alignment`] if one does not start at a multiple of 16 bytes, [`DeviceError::Gpu`] with what the
    /// driver says.
    pub fn transform(
        &self,
        stream: &Stream,
        samples: BufferView<'_, S>,
        outputs: &mut BufferViewMut<'_, O>,
        transforms: usize,
    ) -> Result<(), FftError> {
        let [inputs, results] = lengths(&self.plan, transforms)?;
        samples.expect("samples", inputs, ALIGNMENT)?;
        outputs.expect("spectra", results, ALIGNMENT)?;
        if transforms == 0 {
            return Ok(());
        }
        let samples = samples.slice(..inputs)?.cast::<u32>()?;
        let outputs = outputs.reborrow().slice(..results)?.cast::<O::Pair>()?;
        let config = self.launch(transforms);
        Ok(self.kernel.launch_safe(stream, &config, args![samples, &self.phases, outputs, transforms as u32])?)
    }
}

/// The name of a plan's kernel, `fft_256_512_i4_power`.
fn kernel_name<S: FftSample, O: FftOutput>(plan: &Fft<S, O>) -> String {
    format!("fft_{}_{}_{}_{}", plan.inputs(), plan.outputs(), S::KERNEL, O::kernel(plan.overflow()))
}

/// Elements of samples and of outputs that so many transforms take in one launch.
fn lengths<S: FftSample, O: FftOutput>(plan: &Fft<S, O>, transforms: usize) -> Result<[usize; 2], DeviceError> {
    if transforms > MAX_LAUNCH_TRANSFORMS {
        let what = "transforms of a launch";
        return Err(DeviceError::TooLarge { what, actual: transforms, limit: MAX_LAUNCH_TRANSFORMS });
    }
    Ok([plan.inputs(), plan.outputs()].map(|each| transforms.saturating_mul(each)))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]
mod tests {
    use fringes_gpu::declaration::{Access, Element, KernelDeclaration, ParameterKind};
    use fringes_gpu::{KernelAttributes, KernelElement, LaunchLimits, PtxTarget, check_launch};
    use fringes_types::{Complex, Complex4, f16};

    use super::*;
    use crate::gpu::has_kernel;
    use crate::{Overflow, SIZES, Size};

    /// Checks the launch of a plan against what the kernel of its name declares.
    fn launch_fits<S: FftSample, O: FftOutput>(plan: &Fft<S, O>, text: &str) {
        let declarations = KernelDeclaration::all(text).unwrap();
        let name = kernel_name(plan);
        let declaration = declarations.iter().find(|known| known.name == name).unwrap_or_else(|| panic!("no {name}"));
        let [threads, 1, 1] = declaration.bounds.threads.unwrap() else { panic!("{name} has rows of threads") };
        assert!(declaration.safe && threads.is_multiple_of(WARP), "{name}");
        let attributes =
            KernelAttributes { registers: 128, static_shared_bytes: 0, local_bytes: 0, max_threads_per_block: threads };
        let buffer = |element, access| ParameterKind::Buffer { element, access };
        let words = buffer(Element::U32, Access::Read);
        let outputs = buffer(O::Pair::ELEMENT, Access::ReadWrite);
        let arguments = [words, words, outputs, ParameterKind::Scalar(Element::U32)];
        let config = LaunchConfig::new([1000, 1, 1], [threads, 1, 1]);
        assert_eq!(check_launch(declaration, &attributes, &LaunchLimits::LOWEST, &config, &arguments), Ok(()));
    }

    fn launches_fit<S: FftSample>(size: Size, text: &str) {
        launch_fits(&Fft::<S, f32>::of(size), text);
        for overflow in [Overflow::Infinity, Overflow::Saturate] {
            launch_fits(&Fft::<S, Complex<f16>>::of(size).with_overflow(overflow), text);
        }
    }

    #[test]
    #[cfg_attr(not(feature = "gpu"), ignore = "reads the kernels' PTX")]
    fn every_plan_of_every_size_has_a_kernel_that_takes_its_arguments() {
        for size in SIZES {
            let set = ptx::set(size).unwrap_or_else(|| panic!("{size} has no kernels"));
            let text = &set.get(PtxTarget::Sm80).unwrap().read().unwrap();
            assert!(has_kernel(size), "{size}");
            launches_fit::<Complex<f16>>(size, text);
            launches_fit::<Complex<i8>>(size, text);
            launches_fit::<Complex4>(size, text);
        }
    }

    #[test]
    fn transforms_are_counted_in_32_bits() -> Result<(), FftError> {
        let plan = Fft::<Complex<i8>, f32>::new(64, 128)?;
        let limit = MAX_LAUNCH_TRANSFORMS;
        let too_many = DeviceError::TooLarge { what: "transforms of a launch", actual: limit + 1, limit };
        assert_eq!(lengths(&plan, limit + 1), Err(too_many));
        assert_eq!(lengths(&plan, limit), Ok([64 * limit, 128 * limit]));
        assert_eq!(lengths(&plan, 0), Ok([0, 0]));
        Ok(())
    }
}
