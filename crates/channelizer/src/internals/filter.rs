//! The polyphase filter by itself on a device: packed samples to filtered f32 samples, without a transform.

use fringes_backend::DeviceError;
use fringes_gpu::{Buffer, BufferView, BufferViewMut, Device, Kernel, LaunchConfig, Stream, args};
use fringes_kernel_abi::f_engine::filter as abi;

use super::texts;
use crate::{Channelizer, ChannelizerError};

/// Threads of a block.
const THREADS: u32 = abi::THREADS;
/// Columns of a block.
const STRIP: usize = abi::STRIP as usize;
/// Columns that are whole pieces of 16 bytes.
const PIECE: usize = abi::PIECE as usize;
/// Most columns.
const MOST_COLUMNS: usize = abi::MOST_COLUMNS as usize;
/// Bits of a sample.
const BITS: std::ops::RangeInclusive<u32> = abi::LEAST_BITS..=abi::MOST_BITS;
/// Most passes of a block.
const MOST_PASSES: usize = 256;
/// Most passes of a block of few taps where rows are several strips: blocks that run together then write to fewer parts
/// of the memory, which gains more than the history costs that is read again (`bench_gpu --only filter`, *by*).
const FEW_PASSES: usize = 8;
/// Passes that a block's beginning takes as long as: its weights and first rows come.
const BEGINNING: usize = 2;

/// What the kernels know of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FilterShape {
    bits: u32,
    columns: usize,
    taps: usize,
    /// Taps of the kernel, and blocks that a multiprocessor holds.
    kernel: (usize, usize),
}

impl FilterShape {
    /// That of a plan's filter of packed samples of `bits` bits.
    ///
    /// # Errors
    /// [`ChannelizerError::SampleKind`] for a plan of complex samples,
    /// [`DeviceError::NoKernel`](fringes_backend::DeviceError::NoKernel) with what the kernels ask for: samples of 2 to
    /// 11 bits, a critically sampled plan of up to 32 taps whose channels are a multiple of 64, at most 524288.
    pub fn new(plan: &Channelizer, bits: u32) -> Result<Self, ChannelizerError> {
        let no_kernel = |expected, actual| Err(ChannelizerError::Device(DeviceError::NoKernel { expected, actual }));
        plan.check_kind(false)?;
        let (columns, taps) = (plan.step(), plan.taps());
        if !BITS.contains(&bits) {
            return no_kernel("packed samples of 2 to 11 bits", format!("{bits} bits"));
        }
        if plan.stride() != columns {
            return no_kernel("a critically sampled plan", format!("a stride of {} of {columns}", plan.stride()));
        }
        if !columns.is_multiple_of(PIECE) || columns > MOST_COLUMNS {
            return no_kernel("a multiple of 64 channels, at most 524288", format!("{} channels", plan.channels()));
        }
        match abi::KERNELS.into_iter().find(|&(most, _)| taps <= most) {
            Some(kernel) => Ok(Self { bits, columns, taps, kernel }),
            None => no_kernel("at most 32 taps", format!("{taps} taps")),
        }
    }

    /// Name of the kernel.
    pub fn kernel(&self) -> String {
        format!("filter_{}", self.kernel.0)
    }

    /// Bits of a sample.
    pub fn bits(&self) -> u32 {
        self.bits
    }

    /// Filtered samples of a spectrum: those of a step.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Taps.
    pub fn taps(&self) -> usize {
        self.taps
    }

    /// Rows that a pass of the kernel's loop takes.
    pub fn rows(&self) -> usize {
        abi::rows(self.kernel.0) as usize
    }

    /// Samples of an input that are needed for so many spectra, saturating.
    pub fn samples(&self, spectra: usize) -> usize {
        if spectra == 0 { 0 } else { (spectra.saturating_add(self.taps - 1)).saturating_mul(self.columns) }
    }

    /// Weights `[tap][column]`, scaled as the kernel's samples ask for, with zeros for taps that the plan has not;
    /// pairs of columns.
    ///
    /// # Errors
    /// [`ChannelizerError::Coefficient`] for a weight that becomes no finite f32, [`ChannelizerError::Length`] if they
    /// are not the plan's.
    pub fn weights(&self, weights: &[f64]) -> Result<Vec<[f32; 2]>, ChannelizerError> {
        let expected = self.taps * self.columns;
        if weights.len() != expected {
            return Err(ChannelizerError::Length { quantity: "weights", expected, actual: weights.len() });
        }
        let scale = |index: usize| 2f64.powi(self.bits as i32 * (1 + (index % 2) as i32));
        let scaled: Vec<f32> = weights.iter().enumerate().map(|(index, w)| (w * scale(index)) as f32).collect();
        if let Some(index) = scaled.iter().position(|w| !w.is_finite()) {
            return Err(ChannelizerError::Coefficient { quantity: "weights", actual: weights[index], index });
        }
        let mut pairs: Vec<[f32; 2]> = scaled.chunks_exact(2).map(|pair| [pair[0], pair[1]]).collect();
        pairs.resize(self.kernel.0 * self.columns / 2, [0.0; 2]);
        Ok(pairs)
    }

    /// Spectra of a block of a launch, on a device of so many multiprocessors: with their history, a whole number of
    /// passes.
    ///
    /// Blocks that are resident together take as long as one, so of all numbers of passes it is that which has the
    /// least sum over such waves of blocks.
    pub fn section(&self, spectra: usize, inputs: usize, multiprocessors: usize) -> usize {
        let ((most_taps, resident), rows) = (self.kernel, self.rows());
        let of_passes = |passes: usize| passes * rows - (most_taps - 1);
        let strips = self.columns.div_ceil(STRIP).saturating_mul(inputs);
        let time = |passes: usize| {
            let blocks = strips.saturating_mul(spectra.div_ceil(of_passes(passes)));
            blocks.div_ceil(resident * multiprocessors.max(1)).saturating_mul(passes + BEGINNING)
        };
        let few = most_taps <= 16 && self.columns > STRIP;
        let most = if few { FEW_PASSES } else { MOST_PASSES };
        let most = spectra.saturating_add(most_taps - 1).div_ceil(rows).clamp(2, most);
        of_passes((2..=most).min_by_key(|&passes| time(passes)).unwrap_or(2))
    }

    /// A launch of blocks of `section` spectra.
    ///
    /// # Errors
    /// [`DeviceError::TooLarge`](fringes_backend::DeviceError::TooLarge) for 2^31 blocks or 2^32 spectra or inputs,
    /// [`ChannelizerError::Zero`] for a section of none.
    pub fn launch(&self, spectra: usize, inputs: usize, section: usize) -> Result<LaunchConfig, ChannelizerError> {
        if section == 0 {
            return Err(ChannelizerError::Zero { quantity: "spectra of a section" });
        }
        let limit = u32::MAX as usize;
        for (layout, actual) in [("spectra", spectra), ("inputs", inputs), ("spectra of a section", section)] {
            if actual > limit {
                return Err(ChannelizerError::Device(DeviceError::TooLarge { what: layout, actual, limit }));
            }
        }
        let blocks = (self.columns.div_ceil(STRIP) * spectra.div_ceil(section)).saturating_mul(inputs);
        let limit = i32::MAX as usize;
        if blocks > limit {
            return Err(ChannelizerError::Device(DeviceError::TooLarge {
                what: "blocks of filters",
                actual: blocks,
                limit,
            }));
        }
        let bytes = abi::shared_bytes(self.kernel.0);
        Ok(LaunchConfig::new([blocks as u32, 1, 1], [THREADS, 1, 1]).with_shared_bytes(bytes))
    }
}

/// A plan's polyphase filter on one device: `out[input][s][p] = sum_t w[t][p] x[input][(s + t) step + p]`, `p < step`,
/// for packed real samples of 2 to 11 bits (8: bytes), up to 32 taps and channels that are a multiple of 64, critically
/// sampled.
///
/// A launch is queued on a stream and returns at once; nothing is allocated.
///
/// # Precision
/// Samples are exact, weights and sums f32: with `u = 2^-24`, errors are at most `u (taps + 1) sum_t |w[t][p] x[t][p]|`
/// to first order in `u`.
#[derive(Debug)]
pub struct FilterKernels {
    shape: FilterShape,
    kernel: Kernel,
    weights: Buffer<[f32; 2]>,
    multiprocessors: usize,
    section: Option<usize>,
}

impl FilterKernels {
    /// Loads the kernel and sends the weights, and waits for that; the first time on a machine the driver compiles the
    /// kernels.
    ///
    /// # Errors
    /// As [`FilterShape::new`] and [`FilterShape::weights`], and [`ChannelizerError::Types`] with what the driver says.
    pub fn load(device: &Device, plan: &Channelizer, bits: u32) -> Result<Self, ChannelizerError> {
        let shape = FilterShape::new(plan, bits)?;
        let weights = shape.weights(plan.weights())?;
        let kernel = device.load(&texts::CHANNELIZER_FIR)?.kernel(&shape.kernel())?;
        let weights = Buffer::from_slice(&device.new_stream()?, &weights)?;
        let multiprocessors = device.info().multiprocessors as usize;
        Ok(Self { shape, kernel, weights, multiprocessors, section: None })
    }

    /// With blocks of so many spectra in place of those that the shape of a launch suggests.
    ///
    /// # Errors
    /// [`ChannelizerError::Zero`] for none.
    pub fn with_section(mut self, spectra: usize) -> Result<Self, ChannelizerError> {
        if spectra == 0 {
            return Err(ChannelizerError::Zero { quantity: "spectra of a section" });
        }
        self.section = Some(spectra);
        Ok(self)
    }

    /// What the kernel knows of the plan.
    pub fn shape(&self) -> &FilterShape {
        &self.shape
    }

    /// The kernel, for its attributes.
    pub fn kernel(&self) -> &Kernel {
        &self.kernel
    }

    /// Filters `spectra` spectra of each input to `out[input][spectrum][column]`. `samples` are packed samples as
    /// words, whole pieces of 16 bytes that begin at a multiple of 16 bytes; input `i` begins with bit `starts[i]`
    /// of them (the highest bit of the first byte is bit 0), wherever that is, and has [`FilterShape::samples`]
    /// samples.
    ///
    /// An input that does not keep to the samples ends the launch with an error of the driver.
    ///
    /// # Errors
    /// [`DeviceError::Length`](fringes_backend::DeviceError::Length) for an output that is too short, or samples that
    /// one input does not fit into, [`DeviceError::TooLarge`](fringes_backend::DeviceError::TooLarge) for sizes that
    /// the kernel cannot count, [`ChannelizerError::Types`] for buffers at other addresses (`out`: multiples of 8), and
    /// with what the driver says.
    pub fn launch(
        &self,
        stream: &Stream,
        samples: BufferView<'_, u32>,
        starts: BufferView<'_, u64>,
        spectra: usize,
        out: BufferViewMut<'_, f32>,
    ) -> Result<(), ChannelizerError> {
        let (shape, inputs) = (self.shape, starts.len());
        if spectra == 0 || inputs == 0 {
            return Ok(());
        }
        let section = self.section.unwrap_or_else(|| shape.section(spectra, inputs, self.multiprocessors));
        let section = section.min(spectra);
        let config = shape.launch(spectra, inputs, section)?;
        let expected = spectra.saturating_mul(inputs).saturating_mul(shape.columns);
        if out.len() < expected {
            return Err(ChannelizerError::Device(DeviceError::Length {
                buffer: "filtered samples",
                expected,
                actual: out.len(),
            }));
        }
        // Bits of a row are a multiple of 32.
        let row = shape.columns * shape.bits as usize / 32;
        let (expected, actual) = (row.saturating_mul(spectra.saturating_add(shape.taps - 1)), samples.len());
        if actual < expected {
            return Err(ChannelizerError::Device(DeviceError::Length { buffer: "samples", expected, actual }));
        }
        let samples = samples.cast::<[u32; 4]>()?;
        let out = out.slice(..spectra * inputs * shape.columns)?.cast::<[f32; 2]>()?;
        let arguments = args![
            samples,
            &self.weights,
            starts,
            out,
            shape.bits,
            shape.columns as u32,
            shape.taps as u32,
            spectra as u32,
            section as u32,
            inputs as u32,
        ];
        Ok(self.kernel.launch_safe(stream, &config, arguments)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plans_without_a_kernel_say_why() {
        let plan = |channels: usize| Channelizer::real(channels).taps(4);
        let error = |plan: &Channelizer, bits| FilterShape::new(plan, bits).unwrap_err().to_string();
        for (channels, taps, bits, expected) in
            [(64, 4, 12, "12 bits"), (64, 4, 1, "1 bits"), (65, 4, 10, "65 channels"), (64, 33, 10, "33 taps")]
        {
            let error = error(&plan(channels).taps(taps).build().unwrap(), bits);
            assert!(error.contains(expected), "{error}");
        }
        let oversampled = plan(64).oversampling(4, 3).build().unwrap();
        assert!(error(&oversampled, 10).contains("a stride of 96 of 128"));
        let complex = Channelizer::complex(128).taps(4).build().unwrap();
        assert!(matches!(FilterShape::new(&complex, 10), Err(ChannelizerError::SampleKind { .. })));
    }

    #[test]
    fn sections_and_their_history_are_whole_passes() {
        for (taps, rows, history) in [(1, 16, 3), (4, 16, 3), (7, 16, 7), (16, 16, 15), (17, 32, 31)] {
            let shape = FilterShape::new(&Channelizer::real(1024).taps(taps).build().unwrap(), 10).unwrap();
            for (spectra, inputs) in [(1, 1), (1000, 2), (1 << 17, 2), (1 << 22, 100), (usize::MAX, usize::MAX)] {
                let section = shape.section(spectra, inputs, 132);
                assert!((section + history).is_multiple_of(rows) && section > 0, "{taps} {spectra} {section}");
            }
        }
    }

    #[test]
    fn blocks_of_a_launch_fill_a_device() {
        for channels in [64, 1024, 4096, 32768, 65536] {
            let shape = FilterShape::new(&Channelizer::real(channels).taps(16).build().unwrap(), 10).unwrap();
            let spectra = (1 << 27) / shape.columns() - 16;
            let section = shape.section(spectra, 2, 132);
            let blocks = shape.launch(spectra, 2, section).unwrap().grid[0] as usize;
            // Of all rows that multiprocessors have time for, at most a fifth are none of a spectrum's own.
            let rows = blocks.div_ceil(5 * 132) * 5 * 132 * (section + 15);
            let own = 2 * spectra * shape.columns().div_ceil(STRIP);
            assert!(own * 5 > rows * 4, "{channels}: {section} spectra, {blocks} blocks");
        }
    }

    #[test]
    fn sizes_that_cannot_be_counted_are_errors() {
        let shape = FilterShape::new(&Channelizer::real(1024).build().unwrap(), 10).unwrap();
        assert_eq!(shape.launch(1000, 2, 100).unwrap().grid, [160, 1, 1]);
        assert!(matches!(shape.launch(1000, 2, 0), Err(ChannelizerError::Zero { .. })));
        for (spectra, inputs) in [(1 << 33, 1), (1, 1 << 33), (1 << 31, 1 << 31), (1 << 20, 1 << 20)] {
            let error = shape.launch(spectra, inputs, 1).unwrap_err();
            assert!(matches!(error, ChannelizerError::Device(DeviceError::TooLarge { .. })), "{error}");
        }
        assert_eq!(shape.samples(usize::MAX), usize::MAX);
    }

    #[test]
    fn weights_are_scaled_exactly_or_refused() {
        let weights: Vec<f64> = (0..128).map(|index| (1.0 + index as f64) / 256.0).collect();
        let plan = |weights| Channelizer::real(64).taps(1).weights(weights).build().unwrap();
        let shape = FilterShape::new(&plan(weights.clone()), 10).unwrap();
        let scaled = shape.weights(&weights).unwrap();
        assert_eq!((scaled.len(), scaled[3], scaled[64]), (256, [28.0, 32768.0], [0.0; 2]));
        let mut large = weights.clone();
        large[5] = 1e38;
        let error = shape.weights(&large).unwrap_err();
        assert_eq!(error, ChannelizerError::Coefficient { quantity: "weights", actual: 1e38, index: 5 });
        assert!(matches!(shape.weights(&weights[1..]), Err(ChannelizerError::Length { .. })));
    }
}
