//! The kernels on one device, and where their samples lie.

use std::marker::PhantomData;
use std::ops::Range;

use fringes_backend::{DeviceError, DeviceSamples, Expect, Staging};
use fringes_gpu::{Buffer, BufferPool, BufferView, BufferViewMut, Device, Kernel, LaunchConfig, Stream, args};
use fringes_kernel_abi::down_convert::general as abi;
use fringes_types::{Complex, SampleFormat};

use super::mma_kernels::MmaKernels;
use super::phases::Phases;
use super::tensor_kernels::{Target, TensorKernels, TensorSources, Windows};
use super::{DownConvertedSample, DownConverter, texts};
use crate::internals::chunk;
use crate::internals::format::Numbers;
use crate::internals::samples::SampleWords;
use crate::{ChannelizerError, Precision};

/// Rows of samples on a device that windows are taken of, `times` samples of each input from `first_sample` on.
#[derive(Debug, Clone, Copy)]
pub struct WindowRows<'a> {
    /// The words that hold them, and [`DeviceSamples::PADDING_WORDS`] behind the last one.
    pub samples: BufferView<'a, u32>,
    /// Rows.
    pub inputs: usize,
    /// Bits from row to row.
    pub row_bits: u64,
    /// Bit of sample `first_sample` of input 0.
    pub first_bit: u64,
    /// Counter of the first sample.
    pub first_sample: u64,
    /// Samples of a row.
    pub times: usize,
    /// Their format.
    pub numbers: Numbers,
}

/// Where outputs that saturate are counted.
#[derive(Debug)]
pub struct Saturated<'a> {
    /// A count of each input, to which more is added.
    pub counts: BufferViewMut<'a, u64>,
    /// Flags `[input][row]` of the outputs of a launch, 0 of those that do not count; none if all do.
    pub present: BufferView<'a, u8>,
    /// Flags from row to row.
    pub present_row: usize,
}

/// The kernels of a plan on one device, to outputs of a type.
///
/// A launch is queued on a stream and returns at once; nothing is allocated. Sizes are checked before anything is
/// queued.
///
/// # Precision
/// That of the GPU in [`down_convert`](crate::down_convert()). An output has the same bits in whichever launch it is,
/// and from whichever bit its samples begin.
#[derive(Debug)]
pub struct DownConvertKernels<T = Complex<f32>> {
    /// Those on tensor cores that the device and the plan have, those that are tried first first.
    tensor: Vec<TensorKernels>,
    /// Those of compute capability 8.0 and higher, for what the former do not take, of outputs in f32.
    mma: Option<MmaKernels>,
    integers: Kernel,
    floats: Kernel,
    weights: Buffer<[f32; 2]>,
    taps: u32,
    decimation: usize,
    phases: Phases,
    gain: f32,
    outputs: PhantomData<T>,
}

/// Which kernels on tensor cores a launch may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TensorCores {
    /// The best ones for the device.
    Best,
    /// Those of compute capability 8.0 and higher, on any device.
    Mma,
    /// None.
    Unused,
}

/// What a launch is, in numbers.
#[derive(Debug, PartialEq, Eq)]
struct Work {
    blocks: u32,
    /// Bit of the first sample of the first window of input 0.
    first_bit: u64,
    decimation: u32,
    inputs: u32,
    outputs: u32,
}

/// A plan's weights, with the mixer folded in.
fn weights(plan: &DownConverter) -> Vec<[f32; 2]> {
    plan.phases().weights(&plan.filter).iter().map(|c| [c.re as f32, c.im as f32]).collect()
}

/// Terms of the weights of a plan's kernels on tensor cores, those that are tried first first.
fn terms(plan: &DownConverter) -> impl Iterator<Item = u32> {
    let half = (plan.precision == Precision::Half).then_some(1);
    half.into_iter().chain([2])
}

impl<T: DownConvertedSample> DownConvertKernels<T> {
    /// Loads the kernels and a plan's weights; the first time on a machine the driver compiles them.
    ///
    /// # Errors
    /// [`DeviceError::TooLarge`] for more taps than the kernel counts, [`DeviceError::Gpu`] with what the driver says.
    pub fn load(device: &Device, plan: &DownConverter) -> Result<Self, ChannelizerError> {
        Self::load_of(device, plan, TensorCores::Best)
    }

    /// The same, of which launches take no other kernels on tensor cores than those of a choice: to compare them on one
    /// device.
    ///
    /// # Errors
    /// Those of [`load`](Self::load).
    pub fn load_of(device: &Device, plan: &DownConverter, choice: TensorCores) -> Result<Self, ChannelizerError> {
        let taps = count("taps", plan.filter.len(), u32::MAX)?;
        let module = device.load(&texts::DOWN_CONVERT)?;
        let kernel = |numbers: &str| module.kernel(&format!("down_convert_{numbers}_{}", T::NAME));
        let (floats, best) = (T::FORMAT == SampleFormat::Float32, choice == TensorCores::Best);
        let mut tensor = Vec::new();
        for terms in terms(plan).filter(|_| best) {
            tensor.extend(TensorKernels::load(device, plan, terms)?);
        }
        Ok(Self {
            tensor,
            mma: if floats && choice != TensorCores::Unused { MmaKernels::load(device, plan)? } else { None },
            integers: kernel("integers")?,
            floats: kernel("floats")?,
            weights: Buffer::from_slice(&device.new_stream()?, &weights(plan))?,
            taps,
            decimation: plan.decimation,
            phases: plan.phases(),
            gain: plan.gain as f32,
            outputs: PhantomData,
        })
    }

    /// The same kernels with the weights of another tuning of the plan, copied in the order of a stream to memory of a
    /// pool.
    pub(super) fn retuned(
        &self,
        plan: &DownConverter,
        (stream, pool, staging): (&Stream, &BufferPool, &mut Staging),
    ) -> Result<Self, ChannelizerError> {
        let mut tensor = Vec::new();
        for kernels in &self.tensor {
            tensor.extend(kernels.retuned(plan, |table| staging.send(stream, pool, table))?);
        }
        let mma = match &self.mma {
            None => None,
            Some(mma) => mma.retuned(plan, |table| staging.send(stream, pool, table))?,
        };
        Ok(Self {
            tensor,
            mma,
            integers: self.integers.clone(),
            floats: self.floats.clone(),
            weights: staging.send(stream, pool, &weights(plan))?,
            phases: plan.phases(),
            ..*self
        })
    }

    /// Whether samples of so many bits that are real, packed and begin at a multiple of 16 bytes have a kernel of
    /// [`TensorCores::Mma`].
    pub fn has_mma(&self, bits: u32) -> bool {
        self.mma.as_ref().is_some_and(|mma| mma.has(bits))
    }

    /// Bytes of device memory of a plan's weights, at most.
    pub fn bytes(plan: &DownConverter) -> u64 {
        (plan.filter.len() as u64)
            .saturating_mul(size_of::<[f32; 2]>() as u64)
            .saturating_add(terms(plan).map(|terms| TensorKernels::bytes(plan, terms)).sum())
            .saturating_add(MmaKernels::bytes(plan))
    }

    /// Queues `outputs`, numbered from sample 0 of the run, to `[input][out_row]`: output `j` of the range to column
    /// `j - outputs.start`. Output `j` is made of absolute samples `S j .. S j + K`.
    ///
    /// # Errors
    /// [`DeviceError::Length`] for samples that the rows do not have, or a buffer that is too short,
    /// [`DeviceError::Alignment`], [`DeviceError::TooLarge`] for sizes that the kernel cannot count,
    /// [`DeviceError::Gpu`] with what the driver says.
    pub fn launch(
        &self,
        stream: &Stream,
        rows: &WindowRows<'_>,
        outputs: Range<u64>,
        out: BufferViewMut<'_, T>,
        out_row: usize,
    ) -> Result<(), ChannelizerError> {
        let device = rows.samples.device();
        // Nothing is asked of the driver for no bytes.
        let (mut counts, present) = (Buffer::alloc(device, 0)?, Buffer::alloc(device, 0)?);
        let saturated = Saturated { counts: counts.view_mut(), present: present.view(), present_row: 0 };
        self.launch_counted(stream, [None, Some((*rows, outputs))], (out, out_row), saturated, 1)
    }

    /// As [`DownConvertKernels::launch`], of outputs that are made of two rows of samples, held ones and a chunk, the
    /// second ones of those that follow the first; with a count of outputs that saturate. On tensor cores it takes one
    /// of `parts_of_device` parts of the multiprocessors, so that as many such launches have room at a time.
    ///
    /// # Errors
    /// As [`DownConvertKernels::launch`].
    pub fn launch_counted(
        &self,
        stream: &Stream,
        parts: [Option<(WindowRows<'_>, Range<u64>)>; 2],
        (mut out, out_row): (BufferViewMut<'_, T>, usize),
        saturated: Saturated<'_>,
        parts_of_device: usize,
    ) -> Result<(), ChannelizerError> {
        let mut works = [None, None];
        for (work, part) in works.iter_mut().zip(&parts) {
            if let Some((rows, outputs)) = part {
                *work = rows.extent().work(outputs, self.taps, self.decimation)?.map(|work| (*rows, outputs, work));
            }
        }
        let Some((rows, first, _)) = works.iter().flatten().next() else { return Ok(()) };
        let (inputs, start) = (rows.inputs, first.start);
        let end = works.iter().flatten().map(|(_, outputs, _)| outputs.end).max().unwrap_or(start);
        let columns = (end - start) as usize;
        if out_row < columns && inputs > 1 {
            return Err(length("row of outputs", columns, out_row).into());
        }
        let values = |row: usize| (inputs - 1).saturating_mul(row).saturating_add(columns);
        out.expect("down-converted samples", values(out_row), size_of::<T>() as u64)?;
        let Saturated { mut counts, present, present_row } = saturated;
        if !counts.is_empty() {
            counts.expect("counts of saturated outputs", inputs, 8)?;
        }
        if !present.is_empty() {
            present.expect("flags of outputs", values(present_row), 1)?;
        }

        let held = works[0].as_ref().map(|(rows, outputs, work)| {
            (Windows { rows: *rows, first_bit: work.first_bit }, outputs.end - outputs.start)
        });
        let chunk = works[1].as_ref().map(|(rows, _, work)| Windows { rows: *rows, first_bit: work.first_bit });
        for tensor in &self.tensor {
            let mut to = Target {
                values: out.reborrow().cast::<u16>()?,
                row: out_row,
                format: T::FORMAT,
                saturated: Saturated { counts: counts.reborrow(), present, present_row },
            };
            let sources = TensorSources { held, chunk };
            if tensor.launch(stream, &sources, &(start..end), &mut to, parts_of_device)? {
                return Ok(());
            }
        }
        for (rows, outputs, work) in works.iter().flatten() {
            let column = (outputs.start - start) as usize;
            let mut out = out.reborrow().slice(column..)?;
            if let Some(mma) = &self.mma {
                let to = (out.reborrow().cast::<[f32; 2]>()?, out_row);
                if mma.launch(stream, rows, work.first_bit, outputs, to, parts_of_device)? {
                    continue;
                }
            }
            let Numbers { bits, parts, floats, little_endian } = rows.numbers;
            let kernel = if floats { &self.floats } else { &self.integers };
            let config = LaunchConfig::new([work.blocks, 1, 1], [abi::THREADS, 1, 1]);
            let arguments = args![
                rows.samples,
                &self.weights,
                out.cast::<T::Stored>()?,
                if present.is_empty() { present } else { present.slice(column..)? },
                counts.reborrow(),
                work.first_bit,
                rows.row_bits,
                bits,
                parts,
                u32::from(little_endian),
                self.taps,
                work.decimation,
                work.inputs,
                work.outputs,
                out_row as u64,
                present_row as u64,
                self.phases.turn(),
                self.phases.of_output(outputs.start),
                self.gain,
            ];
            kernel.launch_safe(stream, &config, arguments)?;
        }
        Ok(())
    }
}

/// What is too short.
fn length(buffer: &'static str, expected: usize, actual: usize) -> DeviceError {
    DeviceError::Length { buffer, expected, actual }
}

/// A size as the kernel takes it.
fn count(what: &'static str, actual: usize, limit: u32) -> Result<u32, DeviceError> {
    let number = u32::try_from(actual).ok().filter(|&number| number <= limit);
    number.ok_or(DeviceError::TooLarge { what, actual, limit: limit as usize })
}

/// Where samples lie, in numbers: [`WindowRows`] without the memory.
#[derive(Debug, Clone, Copy)]
struct Extent {
    words: usize,
    inputs: usize,
    row_bits: u64,
    first_bit: u64,
    first_sample: u64,
    times: usize,
    sample_bits: u64,
}

impl<'a> WindowRows<'a> {
    /// Those of a chunk, of which `samples` is the array.
    ///
    /// # Errors
    /// [`DeviceError::NoKernel`] for a format that the kernels do not read.
    pub fn of_chunk(chunk: &DeviceSamples<'_>, samples: BufferView<'a, u32>) -> Result<Self, ChannelizerError> {
        let SampleWords { samples, inputs, row_bits, times, numbers } = chunk::rows(chunk, samples)?;
        Ok(Self { samples, inputs, row_bits, first_bit: 0, first_sample: chunk.first_sample(), times, numbers })
    }

    fn extent(&self) -> Extent {
        let Self { samples, inputs, row_bits, first_bit, first_sample, times, numbers } = *self;
        let (words, sample_bits) = (samples.len(), numbers.sample_bits());
        Extent { words, inputs, row_bits, first_bit, first_sample, times, sample_bits }
    }
}

impl Extent {
    /// The work of some outputs; `None` if there is none.
    fn work(&self, outputs: &Range<u64>, taps: u32, decimation: usize) -> Result<Option<Work>, DeviceError> {
        let Self { words, inputs, row_bits, first_bit, first_sample, times, sample_bits } = *self;
        if outputs.is_empty() || inputs == 0 {
            return Ok(None);
        }
        let size = |number: u128| usize::try_from(number).unwrap_or(usize::MAX);
        let number = size(u128::from(outputs.end - outputs.start));
        // In 128 bits there is room for products of counters.
        let sample = |output: u64| u128::from(output) * decimation as u128;
        let (begin, first) = (sample(outputs.start), u128::from(first_sample));
        let end = sample(outputs.end - 1) + u128::from(taps);
        let there = end.min(first + times as u128).saturating_sub(begin.max(first));
        if there < end - begin {
            return Err(length("samples of windows", size(end - begin), size(there)));
        }
        let bits = u128::from(sample_bits);
        let last = u128::from(first_bit) + (inputs as u128 - 1) * u128::from(row_bits) + (end - first) * bits;
        let expected = size(last.div_ceil(32)).saturating_add(DeviceSamples::PADDING_WORDS);
        if expected > words {
            return Err(length("samples", expected, words));
        }
        let blocks = number.div_ceil(abi::BLOCK_OUTPUTS as usize).saturating_mul(inputs);
        Ok(Some(Work {
            blocks: count("blocks of outputs", blocks, i32::MAX as u32)?,
            // Below the last bit, which the words have.
            first_bit: first_bit + ((begin - first) * bits) as u64,
            // One output takes no step, however large that is.
            decimation: if number == 1 { 1 } else { count("decimation", decimation, u32::MAX)? },
            inputs: count("inputs", inputs, u32::MAX)?,
            outputs: count("outputs", number, u32::MAX)?,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two rows of 1000 samples of 10 bits from sample 800 on, at bit 30 of rows of 10 240 bits.
    const ROWS: Extent = Extent {
        words: (30 + 10_240 + 10_000_usize).div_ceil(32) + DeviceSamples::PADDING_WORDS,
        inputs: 2,
        row_bits: 10_240,
        first_bit: 30,
        first_sample: 800,
        times: 1000,
        sample_bits: 10,
    };

    #[test]
    fn windows_begin_at_the_bits_of_their_samples() {
        let work = ROWS.work(&(101..213), 100, 8).unwrap().unwrap();
        let blocks = 2 * 112u32.div_ceil(abi::BLOCK_OUTPUTS);
        assert_eq!(work, Work { blocks, first_bit: 30 + 8 * 10, decimation: 8, inputs: 2, outputs: 112 });
        // 1000 samples have 113 windows of 100, eight apart; 99 have none.
        assert_eq!(ROWS.work(&(100..213), 100, 8).unwrap().unwrap().outputs, 113);
        assert_eq!(ROWS.work(&(7..7), 100, 8), Ok(None));
        assert_eq!(Extent { inputs: 0, ..ROWS }.work(&(7..9), 100, 8), Ok(None));
        // A counter of 10^15, and one window with a decimation that nothing counts.
        let late = Extent { first_sample: 1_000_000_000_000_000, ..ROWS };
        let first = 125_000_000_000_000;
        assert_eq!(late.work(&(first..first + 5), 100, 8).unwrap().unwrap().first_bit, 30);
        let one = Extent { first_sample: 0, ..ROWS }.work(&(0..1), 100, usize::MAX).unwrap().unwrap();
        assert_eq!((one.decimation, one.outputs), (1, 1));
    }

    #[test]
    fn what_the_rows_do_not_have_is_an_error() {
        let samples = |expected, actual| Err(length("samples of windows", expected, actual));
        assert_eq!(ROWS.work(&(99..101), 100, 8), samples(108, 100));
        assert_eq!(ROWS.work(&(212..214), 100, 8), samples(108, 104));
        assert_eq!(ROWS.work(&(0..1), 100, 8), samples(100, 0));
        assert_eq!(ROWS.work(&(u64::MAX - 1..u64::MAX), 100, usize::MAX), samples(100, 0));
        // The last window ends with sample 1796, 40 bits before the last one: with the word before.
        let with = |words| Extent { words, ..ROWS }.work(&(100..213), 100, 8);
        assert!(with(ROWS.words - 1).is_ok());
        assert_eq!(with(ROWS.words - 2), Err(length("samples", ROWS.words - 1, ROWS.words - 2)));
        let far = Extent { row_bits: u64::MAX, ..ROWS };
        assert!(matches!(far.work(&(100..101), 1, 8), Err(DeviceError::Length { buffer: "samples", .. })));
    }

    #[test]
    fn sizes_that_the_kernel_cannot_count_are_errors() {
        let all = Extent { words: usize::MAX, times: usize::MAX, first_sample: 0, first_bit: 0, ..ROWS };
        let what = |extent: Extent, outputs: Range<u64>, decimation| match extent.work(&outputs, 1, decimation) {
            Err(DeviceError::TooLarge { what, .. }) => what,
            other => panic!("{other:?}"),
        };
        assert_eq!(what(all, 0..1 << 33, 1), "outputs");
        assert_eq!(what(all, 0..2, 1 << 33), "decimation");
        assert_eq!(what(Extent { inputs: 1 << 20, ..all }, 0..1 << 32, 1), "blocks of outputs");
    }
}
