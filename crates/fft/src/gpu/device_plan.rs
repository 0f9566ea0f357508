//! A plan, loaded on a device.

use fringes_backend::DeviceError;
use fringes_gpu::{Buffer, BufferView, BufferViewMut, Device, Kernel, LaunchConfig, Stream, args};

use crate::gpu::ptx;
use crate::{FftError, FftOutput, FftSample, Plan, phase_table};

/// Most transforms of one launch.
pub const MAX_LAUNCH_TRANSFORMS: usize = u32::MAX as usize;

/// What the kernels' accesses need of an address.
const ALIGNMENT: u64 = 16;

/// Threads of a warp, which does one transform at a time.
const WARP: u32 = 32;

/// Threads of a block where a kernel declares none.
const THREADS: u32 = 128;

/// Blocks of a launch for each that the device holds at once. With more than one round the multiprocessors that are faster do more of the
/// work: on an H200 eight rounds in place of one save 1 to 4 % of the time for sizes up to 512, and change nothing for 1024 points.
const ROUNDS: u32 = 8;

/// A plan's kernel on one device, with its table of phases there.
///
/// Every operation is queued on a stream and returns at once; nothing is allocated. Sizes are checked before anything is queued.
#[derive(Debug)]
pub struct DevicePlan<S, O> {
    plan: Plan<S, O>,
    kernel: Kernel,
    phases: Buffer<u32>,
    /// Threads of a block.
    threads: u32,
    /// Most blocks of a launch.
    blocks: u32,
}

impl<S: FftSample, O: FftOutput> DevicePlan<S, O> {
    /// Loads the kernel and sends the phases, and waits for that; the first time on a machine the driver compiles the kernel.
    ///
    /// # Errors
    /// [`FftError::NoKernel`] if there is none of the plan's size, [`DeviceError::Gpu`](fringes_backend::DeviceError::Gpu) with what the driver says.
    pub fn load(device: &Device, plan: &Plan<S, O>) -> Result<Self, FftError> {
        let missing = FftError::NoKernel { inputs: plan.inputs(), outputs: plan.outputs() };
        let module = device.load(ptx::batch(plan.size()).ok_or(missing)?)?;
        let kernel = module.kernel(&kernel_name(plan))?;
        let table = phase_table(plan.size(), plan.sign(), plan.scale_exponent());
        let phases = Buffer::from_slice(&device.new_stream()?, &table)?;
        let threads = kernel.threads().map_or(THREADS, |[x, y, z]| x * y * z);
        let resident = kernel.blocks_per_multiprocessor(threads, 0)?.max(1);
        let blocks = resident.saturating_mul(device.info().multiprocessors).saturating_mul(ROUNDS).max(1);
        Ok(Self { plan: *plan, kernel, phases, threads, blocks })
    }

    /// The plan.
    pub fn plan(&self) -> &Plan<S, O> {
        &self.plan
    }

    /// The kernel, for its attributes.
    pub fn kernel(&self) -> &Kernel {
        &self.kernel
    }

    /// The launch for so many transforms: eight times as many blocks as the device holds at once, or as there is work for.
    pub fn launch(&self, transforms: usize) -> LaunchConfig {
        let warps = (self.threads / WARP).max(1) as usize;
        let blocks = transforms.div_ceil(warps).clamp(1, self.blocks as usize);
        LaunchConfig::new([blocks as u32, 1, 1], [self.threads, 1, 1])
    }

    /// Transforms samples `[transform][n]` to outputs `[transform][q]`. Elements of the buffers past the last transform are neither read nor written; for no
    /// transforms nothing is queued.
    ///
    /// # Errors
    /// [`FftError::TooManyTransforms`] above [`MAX_LAUNCH_TRANSFORMS`], [`DeviceError::Length`](fringes_backend::DeviceError::Length) if a buffer is too short,
    /// [`DeviceError::Alignment`](fringes_backend::DeviceError::Alignment) if one does not start at a multiple of 16 bytes, [`DeviceError::Gpu`](fringes_backend::DeviceError::Gpu) with what the driver says.
    pub fn execute(
        &self,
        stream: &Stream,
        samples: BufferView<'_, S>,
        outputs: &mut BufferViewMut<'_, O>,
        transforms: usize,
    ) -> Result<(), FftError> {
        let [inputs, results] =
            check(&self.plan, transforms, [(samples.address(), samples.len()), (outputs.address(), outputs.len())])?;
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
fn kernel_name<S: FftSample, O: FftOutput>(plan: &Plan<S, O>) -> String {
    format!("fft_{}_{}_{}_{}", plan.inputs(), plan.outputs(), S::KERNEL, O::kernel(plan.overflow()))
}

/// Checks addresses and lengths of samples and outputs, and returns how many elements of each the transforms take.
fn check<S: FftSample, O: FftOutput>(
    plan: &Plan<S, O>,
    transforms: usize,
    [samples, outputs]: [(u64, usize); 2],
) -> Result<[usize; 2], FftError> {
    if transforms > MAX_LAUNCH_TRANSFORMS {
        return Err(FftError::TooManyTransforms { actual: transforms, limit: MAX_LAUNCH_TRANSFORMS });
    }
    let length = |buffer, each: usize, (address, actual): (u64, usize)| {
        let expected = transforms.saturating_mul(each);
        if actual < expected {
            return Err(FftError::Device(DeviceError::Length { buffer, expected, actual }));
        }
        if !address.is_multiple_of(ALIGNMENT) {
            return Err(FftError::Device(DeviceError::Alignment { buffer, expected: ALIGNMENT, address }));
        }
        Ok(expected)
    };
    Ok([length("samples", plan.inputs(), samples)?, length("spectra", plan.outputs(), outputs)?])
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]
mod tests {
    use fringes_gpu::declaration::{Access, Element, KernelDeclaration, ParameterKind};
    use fringes_gpu::{KernelAttributes, KernelElement, LaunchLimits, PtxTarget, check_launch};
    use fringes_types::{Complex, Complex4, f16};

    use super::*;
    use crate::gpu::{has_beam_kernel, has_kernel};
    use crate::{Overflow, SIZES, Size};

    /// Checks the launch of a plan against what the kernel of its name declares.
    fn launch_fits<S: FftSample, O: FftOutput>(plan: &Plan<S, O>, text: &str) {
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
        launch_fits(&Plan::<S, f32>::of(size), text);
        for overflow in [Overflow::Infinity, Overflow::Saturate] {
            launch_fits(&Plan::<S, Complex<f16>>::of(size).with_overflow(overflow), text);
        }
    }

    #[test]
    fn every_plan_of_every_size_has_a_kernel_that_takes_its_arguments() {
        for size in SIZES {
            let set = ptx::batch(size).unwrap_or_else(|| panic!("{size} has no kernels"));
            let text = &set.get(PtxTarget::Sm80).unwrap().read().unwrap();
            assert!(has_kernel(size) && has_beam_kernel(size), "{size}");
            launches_fit::<Complex<f16>>(size, text);
            launches_fit::<Complex<i8>>(size, text);
            launches_fit::<Complex4>(size, text);
        }
    }

    /// 10 transforms of 64 samples to 128 outputs, with buffers at these addresses, of these lengths.
    fn checked(samples: (u64, usize), outputs: (u64, usize)) -> Result<[usize; 2], FftError> {
        check(&Plan::<Complex<i8>, Complex<f16>>::new(64, 128)?, 10, [samples, outputs])
    }

    #[test]
    fn buffers_may_be_longer_and_not_shorter() {
        assert_eq!(checked((256, 640), (512, 1280)), Ok([640, 1280]));
        assert_eq!(checked((256, 9999), (512, 9999)), Ok([640, 1280]));
        let short = |buffer, expected, actual| Err(FftError::Device(DeviceError::Length { buffer, expected, actual }));
        assert_eq!(checked((256, 639), (512, 1280)), short("samples", 640, 639));
        assert_eq!(checked((256, 640), (512, 1279)), short("spectra", 1280, 1279));
    }

    #[test]
    fn buffers_start_at_multiples_of_16_bytes() {
        for address in [257, 258, 260, 264] {
            let misaligned = |buffer| Err(FftError::Device(DeviceError::Alignment { buffer, expected: 16, address }));
            assert_eq!(checked((address, 640), (512, 1280)), misaligned("samples"));
            assert_eq!(checked((256, 640), (address, 1280)), misaligned("spectra"));
        }
    }

    #[test]
    fn transforms_are_counted_in_32_bits() -> Result<(), FftError> {
        let plan = Plan::<Complex<i8>, f32>::new(64, 64)?;
        let check = |transforms, length| check(&plan, transforms, [(0, length), (0, length)]);
        let limit = MAX_LAUNCH_TRANSFORMS;
        let too_many = FftError::TooManyTransforms { actual: limit + 1, limit };
        assert_eq!(check(limit + 1, usize::MAX), Err(too_many));
        assert_eq!(check(limit, usize::MAX), Ok([64 * limit, 64 * limit]));
        assert_eq!(check(0, 0), Ok([0, 0]));
        Ok(())
    }
}
