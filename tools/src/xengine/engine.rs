//! What is measured: correlation kernels of one format each, on random rows.

use fringes::correlator::internals::float::{FloatJob, FloatKernels, Variant};
use fringes::correlator::kernels::{CorrelatorKernels, Work as Task};
use fringes::{Complex, Inputs};
use fringes_gpu::{Buffer, Device, GpuError, PtxTarget, Stream};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::end::End;
use crate::xengine::record::Size;

/// Bytes of random rows that are made; they are repeated.
const PIECE: usize = 16 << 20;

/// A kernel with its format.
pub(crate) trait Engine {
    /// Name of the kernel.
    fn name(&self) -> &'static str;
    /// Stations on a side of a tile.
    fn tile_stations(&self) -> usize;
    /// Bytes of voltages.
    fn row_bytes(&self, size: Size) -> usize;
    /// Bytes of visibilities.
    fn sum_bytes(&self, size: Size) -> usize {
        8 * size.channels * size.baselines()
    }
    /// Whether the kernel can be run without writing its visibilities.
    fn can_leave_out_output(&self) -> bool;
    /// Rows of a size, ready to be correlated.
    fn prepare(&self, device: &Device, size: Size) -> Result<Box<dyn Work>, End>;
}

/// A kernel at a size.
pub(crate) trait Work {
    /// The stream that it runs on.
    fn stream(&self) -> &Stream;
    /// Pairs of inputs that the kernel of this size computes for each channel and time.
    fn computed_pairs(&self) -> usize;
    /// Queues it once.
    fn run(&mut self, output: bool) -> Result<(), Failure>;
    /// Whether the visibilities can be what they should.
    fn check(&self) -> Result<(), Failure>;
}

/// What the GPU or the correlator says.
#[derive(Debug)]
pub(crate) struct Failure(String);

impl Failure {
    pub(crate) fn of(error: impl std::fmt::Display) -> Self {
        Self(error.to_string())
    }
}

impl From<fringes::backend::DeviceError> for Failure {
    fn from(error: fringes::backend::DeviceError) -> Self {
        Self(error.to_string())
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<GpuError> for Failure {
    fn from(error: GpuError) -> Self {
        Self(error.to_string())
    }
}

impl From<fringes::CorrelatorError> for Failure {
    fn from(error: fringes::CorrelatorError) -> Self {
        Self(error.to_string())
    }
}

/// The kernels that this GPU has.
pub(crate) fn engines(device: &Device) -> Result<Vec<Box<dyn Engine>>, End> {
    let floats = FloatKernels::load(device).map_err(End::failed)?;
    let tensor = floats.tensor();
    Ok(vec![
        Box::new(Integers { can_leave_out_output: PtxTarget::Sm90a.runs_on(device.info().compute_capability) }),
        Box::new(Floats { kernels: floats.clone(), variant: Variant::Plain }),
        Box::new(Floats { kernels: floats, variant: tensor }),
    ])
}

/// A buffer of random bytes of so many, made of repeated pieces that `fill` makes.
fn rows(stream: &Stream, bytes: usize, fill: impl Fn(&mut Xoshiro256PlusPlus) -> [u8; 8]) -> Result<Buffer<u8>, End> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
    let piece: Vec<u8> = (0..PIECE.min(bytes).div_ceil(8)).flat_map(|_| fill(&mut random)).collect();
    let piece = Buffer::from_slice(stream, &piece)?;
    let mut rows = Buffer::<u8>::alloc(stream.device(), bytes)?;
    for start in (0..bytes).step_by(piece.len()) {
        let length = piece.len().min(bytes - start);
        rows.slice_mut(start..start + length)?.copy_from(stream, piece.slice(..length)?)?;
    }
    Ok(rows)
}

/// Makes bytes random, none of them -128; repeated pieces.
pub(crate) fn legal_bytes(bytes: &mut [u8]) {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(2);
    let (piece, rest) = bytes.split_at_mut(PIECE.min(bytes.len()));
    random.fill(&mut piece[..]);
    piece.iter_mut().for_each(|byte| *byte |= u8::from(*byte == 0x80));
    for part in rest.chunks_mut(PIECE) {
        part.copy_from_slice(&piece[..part.len()]);
    }
}

/// 8-bit voltages.
struct Integers {
    can_leave_out_output: bool,
}

struct IntegerWork {
    kernels: CorrelatorKernels<Complex<i8>>,
    stream: Stream,
    task: Task,
    rows: Buffer<u8>,
    sums: Buffer<Complex<i32>>,
    written: bool,
}

impl Engine for Integers {
    fn name(&self) -> &'static str {
        "correlate_i8"
    }

    fn tile_stations(&self) -> usize {
        64
    }

    fn row_bytes(&self, size: Size) -> usize {
        size.channels * size.times.div_ceil(64) * size.inputs() * 128
    }

    fn can_leave_out_output(&self) -> bool {
        self.can_leave_out_output
    }

    fn prepare(&self, device: &Device, size: Size) -> Result<Box<dyn Work>, End> {
        let inputs = Inputs::new(size.stations, 2).map_err(End::failed)?;
        let kernels = CorrelatorKernels::load(device, inputs).map_err(End::failed)?;
        let stream = device.new_stream()?;
        // No byte is -128.
        let rows =
            rows(&stream, self.row_bytes(size), |random| random.random::<[i8; 8]>().map(|byte| byte.max(-127) as u8))?;
        let sums = Buffer::zeroed(&stream, size.channels * size.baselines())?;
        let task = Task::rows(size.channels, size.times);
        Ok(Box::new(IntegerWork { kernels, stream, task, rows, sums, written: false }))
    }
}

impl Work for IntegerWork {
    fn stream(&self) -> &Stream {
        &self.stream
    }

    fn computed_pairs(&self) -> usize {
        self.kernels.computed_pairs(&self.task)
    }

    fn run(&mut self, output: bool) -> Result<(), Failure> {
        self.written |= output;
        let (rows, sums) = (self.rows.view().cast()?, &mut self.sums.view_mut());
        if output {
            self.kernels.correlate(&self.stream, &self.task, rows, sums)?;
        } else {
            self.kernels.multiply(&self.stream, &self.task, rows, sums)?;
        }
        Ok(())
    }

    fn check(&self) -> Result<(), Failure> {
        let power = self.sums.slice(..1)?.to_vec(&self.stream)?;
        let times = self.task.times() as i32;
        // Bytes of a variance of about 5400; nothing where nothing was written.
        let right = |sum: i32| if self.written { sum > times * 2 * 1000 / 4 } else { sum == 0 };
        let fits = power.first().is_some_and(|sum| sum.im == 0 && right(sum.re));
        if fits { Ok(()) } else { Err(Failure(format!("the first autocorrelation is {power:?}"))) }
    }
}

/// Voltages of 32-bit floats.
struct Floats {
    kernels: FloatKernels,
    variant: Variant,
}

struct FloatWork {
    kernels: FloatKernels,
    variant: Variant,
    stream: Stream,
    job: FloatJob,
    rows: Buffer<u8>,
    sums: Buffer<Complex<f32>>,
    written: bool,
}

impl Engine for Floats {
    fn name(&self) -> &'static str {
        self.variant.kernel()
    }

    fn tile_stations(&self) -> usize {
        32
    }

    fn row_bytes(&self, size: Size) -> usize {
        FloatJob::new(size.channels, size.times, size.inputs()).row_bytes()
    }

    fn can_leave_out_output(&self) -> bool {
        true
    }

    fn prepare(&self, device: &Device, size: Size) -> Result<Box<dyn Work>, End> {
        let job = FloatJob::new(size.channels, size.times, size.inputs());
        let stream = device.new_stream()?;
        let rows = rows(&stream, job.row_bytes(), |random| {
            let [re, im] = [random.random_range(-1.0..1.0f32), random.random_range(-1.0..1.0f32)].map(f32::to_le_bytes);
            [re[0], re[1], re[2], re[3], im[0], im[1], im[2], im[3]]
        })?;
        let sums = Buffer::zeroed(&stream, job.visibilities())?;
        let (kernels, variant) = (self.kernels.clone(), self.variant);
        Ok(Box::new(FloatWork { kernels, variant, stream, job, rows, sums, written: false }))
    }
}

impl Work for FloatWork {
    fn stream(&self) -> &Stream {
        &self.stream
    }

    fn computed_pairs(&self) -> usize {
        self.variant.computed_pairs(self.job.inputs)
    }

    fn run(&mut self, output: bool) -> Result<(), Failure> {
        self.written |= output;
        let (rows, sums) = (self.rows.view(), &mut self.sums.view_mut());
        if output {
            self.kernels.correlate(&self.stream, self.variant, &self.job, rows, sums)?;
        } else {
            self.kernels.multiply(&self.stream, self.variant, &self.job, rows, sums)?;
        }
        Ok(())
    }

    fn check(&self) -> Result<(), Failure> {
        let power = self.sums.slice(..1)?.to_vec(&self.stream)?;
        // Parts of a variance of a third.
        let expected = if self.written { self.job.times as f32 * 2.0 / 3.0 } else { 0.0 };
        let fits = power.first().is_some_and(|sum| {
            sum.im.abs() < 0.01 * self.job.times as f32 && (sum.re - expected).abs() <= 0.5 * expected
        });
        if fits {
            Ok(())
        } else {
            Err(Failure(format!("the first autocorrelation is {power:?}, not about {expected}")))
        }
    }
}
