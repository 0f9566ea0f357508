//! The correlation kernels at the sizes of arrays of 32 to 1024 dual-polarisation stations.

use fringes::correlator::internals::Shape;
use fringes::correlator::kernels::{CorrelatorKernels, Work};
use fringes::{Complex, CorrelatorError, Inputs};
use fringes_gpu::{Buffer, BufferView, Stream};
use fringes_kernels_correlator_mma::tile;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::bench::ceilings::Ceilings;
use crate::bench::random::Source;
use crate::bench::timing::{Bench, Bound, Measured, copies};
use crate::end::End;
use crate::gpu_report::params;

/// Stations, channels and times.
const SIZES: [[usize; 3]; 8] = [
    [32, 2048, 4096],
    [64, 1024, 4096],
    [128, 512, 4096],
    [256, 256, 4096],
    [512, 128, 4096],
    [1024, 64, 4096],
    [512, 64, 16384],
    [64, 64, 4096],
];

/// Stations, channels and times of sums in 64 bits.
const ADDING: [[usize; 3]; 2] = [[80, 64, 8192], [512, 128, 4096]];

/// Visibilities that are checked, of each of two channels.
const CHECKED: usize = 64;

pub(crate) fn run(bench: &mut Bench, ceilings: &Ceilings) -> Result<(), End> {
    if !bench.wants("correlate_i8") && !bench.wants("correlate_i8_add") {
        return Ok(());
    }
    let source = Source::bytes(&bench.stream)?;
    for [stations, channels, times] in SIZES {
        let case = Case::new(bench, &source, [stations, channels, times])?;
        case.run(bench, ceilings, ("correlate_i8", 8), |stream, rows, sums| {
            case.kernels.correlate(stream, &case.work, rows.cast()?, &mut sums.view_mut())
        })?;
    }
    for [stations, channels, times] in ADDING {
        let case = Case::new(bench, &source, [stations, channels, times])?;
        case.run(bench, ceilings, ("correlate_i8_add", 16), |stream, rows, sums| {
            case.kernels.accumulate(stream, &case.work, rows.cast()?, &mut sums.view_mut(), 1)
        })?;
    }
    Ok(())
}

/// A size.
struct Case<'a> {
    stations: usize,
    shape: Shape,
    kernels: CorrelatorKernels<Complex<i8>>,
    work: Work,
    source: &'a Source<u8>,
}

impl<'a> Case<'a> {
    fn new(bench: &Bench, source: &'a Source<u8>, [stations, channels, times]: [usize; 3]) -> Result<Self, End> {
        let shape = Shape::new(channels, times, 2 * stations).ok_or_else(|| End::failed("no such shape"))?;
        let inputs = Inputs::new(stations, 2).map_err(End::failed)?;
        let kernels = CorrelatorKernels::load(&bench.device, inputs).map_err(End::failed)?;
        Ok(Self { stations, shape, kernels, work: Work::rows(channels, times), source })
    }

    /// `moved`: bytes that a visibility moves, written, or read and written.
    fn run(
        &self,
        bench: &mut Bench,
        ceilings: &Ceilings,
        (kernel, moved): (&'static str, usize),
        launch: impl Fn(&Stream, BufferView<'_, u8>, &mut Buffer<Complex<i32>>) -> Result<(), CorrelatorError>,
    ) -> Result<(), End> {
        let shape = self.shape;
        let (bytes, count) = (shape.row_bytes(), copies(&bench.device, shape.row_bytes()));
        let needed = bytes * count + shape.visibilities() * size_of::<Complex<i32>>();
        let variant = format!("{} dual-pol stations", self.stations);
        if !bench.wants(kernel) || !bench.fits(&format!("{kernel}, {variant}"), needed)? {
            return Ok(());
        }
        let stream = bench.stream.clone();
        let rows = self.source.buffer(&bench.device, &stream, bytes * count)?;
        let mut sums = Buffer::<Complex<i32>>::zeroed(&stream, shape.visibilities())?;
        launch(&stream, rows.slice(..bytes)?, &mut sums).map_err(End::failed)?;
        let check = self.check(&stream, &rows, &sums)?;
        let timing = bench.time(|run| {
            let start = run % count * bytes;
            launch(&stream, rows.slice(start..start + bytes)?, &mut sums)
        });
        bench.add(Measured {
            kernel,
            variant,
            params: params([("channels", shape.channels()), ("inputs", shape.inputs()), ("times", shape.times())]),
            timing: timing.map_err(End::failed)?,
            work: shape.operations(),
            unit: "useful TOPS",
            bound: Some(self.bound(ceilings, moved)),
            check,
        });
        Ok(())
    }

    /// Bytes that must move, or products that are computed.
    fn bound(&self, ceilings: &Ceilings, moved: usize) -> Bound {
        let shape = self.shape;
        let bytes = ceilings.bytes((shape.row_bytes() + shape.visibilities() * moved) as f64);
        let computed = computed_pairs(shape.inputs()) * shape.channels() * shape.blocks() * 64 * 8;
        let products = ceilings.products(computed as f64, shape.operations());
        if bytes.time_ms > products.time_ms { bytes } else { products }
    }

    /// Compares visibilities of the first and the last channel with sums in 64 bits.
    fn check(&self, stream: &Stream, rows: &Buffer<u8>, sums: &Buffer<Complex<i32>>) -> Result<String, End> {
        let shape = self.shape;
        let mut random = Xoshiro256PlusPlus::seed_from_u64(3);
        let bytes = shape.blocks() * shape.inputs() * 128;
        for channel in [0, shape.channels() - 1] {
            let rows = rows.slice(channel * bytes..(channel + 1) * bytes)?.to_vec(stream)?;
            let first = channel * shape.baselines();
            let sums = sums.slice(first..first + shape.baselines())?.to_vec(stream)?;
            for index in 0..CHECKED {
                let (a, b) = match index {
                    0 => (0, 0),
                    1 => (shape.inputs() - 1, 0),
                    2 => (shape.inputs() - 1, shape.inputs() - 1),
                    _ => {
                        let a = random.random_range(0..shape.inputs());
                        (a, random.random_range(0..=a))
                    }
                };
                let expected = self.sum(&rows, a, b);
                let Complex { re, im } = sums[a * (a + 1) / 2 + b];
                let actual = Complex::new(re.into(), im.into());
                if actual != expected {
                    let what = format!("V[{a}][{b}] of channel {channel}: expected {expected}, got {actual}");
                    return Err(End::failed(format!("{} inputs: {what}", shape.inputs())));
                }
            }
        }
        Ok(format!("{} visibilities equal sums in i64, error 0", 2 * CHECKED))
    }

    /// One visibility of a channel's rows.
    fn sum(&self, rows: &[u8], a: usize, b: usize) -> Complex<i64> {
        let row = |block: usize, input: usize| {
            let start = (block * self.shape.inputs() + input) * 128;
            rows[start..start + 128].chunks_exact(2).map(|pair| Complex::new(wide(pair[0]), wide(pair[1])))
        };
        let products = (0..self.shape.blocks()).flat_map(|block| row(block, a).zip(row(block, b)));
        products.take(self.shape.times()).map(|(a, b)| a * b.conj()).sum()
    }
}

fn wide(byte: u8) -> i64 {
    i64::from(byte as i8)
}

/// Pairs of inputs that the warps compute: 64 x 32 each, eight to a tile, but for those above the diagonal or past the
/// last input.
fn computed_pairs(inputs: usize) -> usize {
    let side = tile::INPUTS as usize;
    let mut warps = 0;
    for row in 0..inputs.div_ceil(side) {
        for column in 0..=row {
            warps += (0..8)
                .filter(|warp| {
                    let (a, b) = (64 * (warp / 4), 32 * (warp % 4));
                    let above = row == column && b >= a + 64;
                    !above && row * side + a < inputs && column * side + b < inputs
                })
                .count();
        }
    }
    warps * 64 * 32
}
