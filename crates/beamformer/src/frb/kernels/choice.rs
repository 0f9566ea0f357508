//! Which kernel makes which beams.

use fringes_backend::DeviceError;
use fringes_fft::Size;
use fringes_gpu::{Kernel, Module, PtxSet};
use fringes_kernel_abi::frb::{WARPS, row_words};
use fringes_types::SampleFormat;

use super::launch::Layout;
use super::tables::time_transform;
use super::texts;
use crate::FrbBeams;
use crate::fft::kernels::transform_size;

/// Formats of which there are kernels.
const FORMATS: &str = "8-bit or 4+4-bit voltages";

/// Times of the transform over time.
const TIMES: usize = 128;

/// Lines whose weights a kernel keeps in registers.
const LINES: usize = 4;

/// What the kernels of some beams have in common.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Family {
    /// The transform of a line.
    pub(super) size: Size,
    /// Times of the transform over time.
    pub(super) times: usize,
    /// The voltages.
    pub(super) format: SampleFormat,
    /// Largest absolute value of a voltage.
    pub(super) most: f64,
}

/// A kernel that is loaded, and how it is launched.
#[derive(Debug)]
pub(super) struct Loaded {
    pub(super) kernel: Kernel,
    /// Warps of a block.
    pub(super) warps: u32,
    /// Blocks that the device holds at once.
    pub(super) blocks: u32,
}

/// Kernels of a family, on a device.
#[derive(Debug)]
pub(super) struct Choice {
    /// Of exactly four full lines.
    four: Option<Loaded>,
    /// Of any lines.
    any: Loaded,
}

impl Family {
    /// The kernels of these beams of voltages of this format.
    ///
    /// # Errors
    /// [`DeviceError::NoKernel`] with what the kernels take.
    pub(super) fn of(format: SampleFormat, beams: &FrbBeams) -> Result<Self, DeviceError> {
        let missing = |expected, actual| DeviceError::NoKernel { expected, actual };
        let most = most_of(format)?;
        let line = || format!("{} feeds padded to {}", beams.feeds(), beams.padded());
        let expected = "lines of up to 256 feeds padded to 256 or 512";
        let size = transform_size(beams.feeds(), beams.padded()).ok_or_else(|| missing(expected, line()))?;
        let times = beams.upchannelisation();
        let family = Self { size, times, format, most };
        match family.texts() {
            Some(_) => Ok(family),
            None if time_transform(times) => Err(missing(expected, line())),
            None => Err(missing("an upchannelisation of 128", times.to_string())),
        }
    }

    /// The kernels of lines such as these of voltages of this format, whatever becomes of their transforms.
    ///
    /// # Errors
    /// As [`of`](Self::of).
    pub(super) fn of_lines(format: SampleFormat, beams: &FrbBeams) -> Result<Self, DeviceError> {
        let missing =
            || DeviceError::NoKernel { expected: "lines with a kernel", actual: format!("{}", beams.feeds()) };
        let most = most_of(format)?;
        let size = transform_size(beams.feeds(), beams.padded()).ok_or_else(missing)?;
        Ok(Self { size, times: TIMES, format, most })
    }

    /// The kernels' PTX.
    pub(super) fn texts(&self) -> Option<&'static PtxSet> {
        texts::frb_beams(&self.part()).filter(|_| time_transform(self.times))
    }

    /// Words of a row of shared memory.
    pub(super) fn row_words(&self) -> u32 {
        row_words(self.times as u32, 1)
    }

    /// The part of the kernel crate: `256_512_128`.
    fn part(&self) -> String {
        format!("{}_{}_{}", self.size.inputs(), self.size.outputs(), self.times)
    }

    /// The name of a kernel: `frb_256_512_128_i4_any`.
    fn name(&self, lines: &str) -> String {
        format!("frb_{}_{}_{lines}", self.part(), format_name(self.format).unwrap_or_default())
    }

    /// Whether there may be four full lines of 4+4 bits.
    pub(super) fn four(&self, beams: &FrbBeams) -> bool {
        let full = (self.size.inputs(), self.size.outputs()) == (beams.feeds(), 512);
        self.format == SampleFormat::Int4 && beams.lines() == LINES && full
    }
}

impl Choice {
    /// Takes the kernels that may make these beams, in blocks of so many bytes of shared memory.
    pub(super) fn new(
        family: &Family,
        beams: &FrbBeams,
        module: &Module,
        shared_bytes: u32,
    ) -> Result<Self, DeviceError> {
        let load = |lines: &str| -> Result<Loaded, DeviceError> {
            let kernel = module.kernel(&family.name(lines))?;
            let resident = kernel.blocks_per_multiprocessor(32 * WARPS, shared_bytes)?.max(1);
            let blocks = resident.saturating_mul(kernel.device().info().multiprocessors).max(1);
            Ok(Loaded { kernel, warps: WARPS, blocks })
        };
        let four = if family.four(beams) { Some(load("4")?) } else { None };
        Ok(Self { four, any: load("any")? })
    }

    /// The kernel of voltages that lie so.
    pub(super) fn of(&self, layout: &Layout) -> &Loaded {
        self.four.as_ref().filter(|_| layout.in_pairs()).unwrap_or(&self.any)
    }

    /// Without kernels of particular lines.
    pub(super) fn without_particular(self) -> Self {
        Self { four: None, ..self }
    }
}

/// Largest absolute value of a voltage of a format.
///
/// # Errors
/// [`DeviceError::NoKernel`] for a format of which there are no kernels.
pub(super) fn most_of(format: SampleFormat) -> Result<f64, DeviceError> {
    let part = match format {
        SampleFormat::Int4 => 8.0,
        SampleFormat::Int8 => 128.0,
        _ => return Err(DeviceError::NoKernel { expected: FORMATS, actual: format.to_string() }),
    };
    Ok(part * 2f64.sqrt())
}

/// The kernels' name of a format of voltages, if there are some.
fn format_name(format: SampleFormat) -> Option<&'static str> {
    match format {
        SampleFormat::Int4 => Some("i4"),
        SampleFormat::Int8 => Some("i8"),
        _ => None,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use fringes_gpu::declaration::KernelDeclaration;

    use super::*;

    #[test]
    #[cfg_attr(not(feature = "gpu"), ignore = "reads the kernels' PTX")]
    fn every_name_is_a_kernel_that_checks_its_views() {
        for (inputs, outputs, format, lines) in [
            (256, 512, SampleFormat::Int4, "4"),
            (256, 512, SampleFormat::Int4, "any"),
            (256, 512, SampleFormat::Int8, "any"),
            (256, 256, SampleFormat::Int4, "any"),
            (256, 256, SampleFormat::Int8, "any"),
            (128, 256, SampleFormat::Int4, "any"),
            (128, 256, SampleFormat::Int8, "any"),
        ] {
            let family = Family { size: Size::new(inputs, outputs).unwrap(), times: 128, format, most: 1.0 };
            let texts = family.texts().unwrap().get(fringes_gpu::PtxTarget::Sm80).unwrap();
            let declared = KernelDeclaration::all(&texts.read().unwrap()).unwrap();
            let name = family.name(lines);
            let kernel = declared.iter().find(|declared| declared.name == name).unwrap();
            assert!(kernel.safe && kernel.bounds.threads == Some([32 * WARPS, 1, 1]), "{name}");
        }
    }
}
