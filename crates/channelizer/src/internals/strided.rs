//! The first kernel of plans whose spectra are not a step apart, of long filters and of samples of any width: what it
//! is given, and how its blocks cut the samples.
//!
//! With `S` points from spectrum to spectrum, `N` channels and rows of `N' = N / R` points, samples lie in *units* of
//! `Q = gcd(S, N')` points. A block has the same `width` points of every unit that the spectra of a group need, so
//! columns of `N' / Q` strips that are `Q` points apart.

use fringes_backend::DeviceError;
use fringes_gpu::LaunchConfig;
use fringes_kernel_abi::f_engine::columns::THREADS;

use super::Job;
use super::format::Numbers;
use super::shape::{JOBS, SPECTRA, Shape};
use crate::{Channelizer, ChannelizerError};

/// Most taps.
const MOST_TAPS: usize = 64;
/// Most points of a unit that a block has.
const MOST_WIDTH: usize = 32;
/// Fewest: four numbers are decoded together.
const LEAST_WIDTH: usize = 2;
/// Most bits of integers that f16 has exactly.
const HALF_BITS: u32 = 12;
/// Bytes of shared memory of which a multiprocessor of compute capability 9.0 has twice as many.
const HALF_OF_BYTES: usize = 112 << 10;
/// Three times as many.
const THIRD_OF_BYTES: usize = 74 << 10;
/// Bytes that a block of compute capability 8.0 may have.
const MOST_BYTES: usize = 160 << 10;

/// The kernel of a plan and a format of samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Strided {
    numbers: Numbers,
    taps: usize,
    radix: usize,
    rows: usize,
    /// Points from spectrum to spectrum.
    stride: usize,
    /// Points of a unit, and those of a block.
    unit: usize,
    width: usize,
}

impl Strided {
    /// The kernel for samples that are such numbers.
    ///
    /// # Errors
    /// [`DeviceError::NoKernel`] with what it asks for.
    pub fn new(plan: &Channelizer, shape: &Shape, numbers: Numbers) -> Result<Self, ChannelizerError> {
        let missing = |expected, actual: String| Err(DeviceError::NoKernel { expected, actual }.into());
        if plan.taps() > MOST_TAPS {
            return missing("at most 64 taps", plan.taps().to_string());
        }
        let points = if plan.is_complex() { 1 } else { 2 };
        let (rows, stride) = (shape.first_rows(), plan.stride() / points);
        let unit = greatest_common_divisor(stride, rows);
        let some = Self { numbers, taps: plan.taps(), radix: shape.radix(), rows, stride, unit, width: LEAST_WIDTH };
        if !plan.stride().is_multiple_of(points) || unit < LEAST_WIDTH || some.shared_bytes() > MOST_BYTES {
            let expected = "spectra whose distance has a larger divisor in common with the step";
            return missing(expected, format!("{} samples apart of {}", plan.stride(), plan.step()));
        }
        let widths = std::iter::successors(Some(MOST_WIDTH.min(unit)), |width| Some(width / 2));
        let widths = widths.take_while(|&width| width > LEAST_WIDTH).map(|width| Self { width, ..some });
        // As many blocks as registers allow.
        let bytes = if some.word() == 4 && some.radix <= 8 { THIRD_OF_BYTES } else { HALF_OF_BYTES };
        Ok(widths.into_iter().find(|wide| wide.shared_bytes() <= bytes).unwrap_or(some))
    }

    /// That of the format which takes the most shared memory.
    ///
    /// # Errors
    /// As [`Strided::new`].
    pub fn largest(plan: &Channelizer, shape: &Shape) -> Result<Self, ChannelizerError> {
        let parts = if plan.is_complex() { 2 } else { 1 };
        Self::new(plan, shape, Numbers { bits: 32, parts, floats: true, little_endian: false })
    }

    /// Whether numbers are kept as f16, which has them exactly.
    fn halves(&self) -> bool {
        self.numbers.bits <= if self.numbers.floats { 16 } else { HALF_BITS }
    }

    /// Whether samples are complex.
    pub fn is_complex(&self) -> bool {
        self.numbers.parts == 2
    }

    /// Bytes that a point is kept in.
    fn word(&self) -> usize {
        if self.numbers.bits > 16 { 8 } else { 4 }
    }

    /// Bytes of shared memory of a block.
    pub fn shared_bytes(&self) -> usize {
        let stride = self.stride / self.unit;
        let units = (SPECTRA - 1) * stride + self.taps * self.radix * self.rows / self.unit;
        // Units lie by their remainder modulo the power of two that divides the stride.
        let low = stride.trailing_zeros();
        let places = ((units >> low) + 1) << low;
        // Planes are apart such that lanes that store different points meet different banks.
        let word = self.word();
        let banks = 128 / word;
        let plane = places + ((banks / self.width).wrapping_sub(places) & (banks / 2 - 1));
        JOBS * self.width * plane * word
    }

    /// Name of the kernel.
    pub fn name(&self) -> String {
        let kind = match (self.halves(), self.numbers.floats) {
            (true, false) => "b12",
            (true, true) => "f16",
            (false, true) => "floats",
            (false, false) => "integers",
        };
        format!("strided_{kind}_r{}", self.radix)
    }

    /// Its launch for `groups` groups.
    pub fn columns(&self, groups: usize) -> LaunchConfig {
        LaunchConfig::new([(self.unit / self.width) as u32, groups as u32, 1], [THREADS, 1, 1])
            .with_shared_bytes(self.shared_bytes() as u32)
    }

    /// What it is told beside what all kernels are: bits of a number, whether integers of 16 bits are little-endian,
    /// points of a stride, of a unit and of a block.
    pub fn told(&self) -> [u32; 5] {
        let Numbers { bits, little_endian, .. } = self.numbers;
        [bits, u32::from(little_endian), self.stride as u32, self.unit as u32, self.width as u32]
    }

    /// Weights as it reads them, times `2^exponent`, and for integers times what these are divided by: `2^bits`, or
    /// where f16 has them not, `2^(bits - 16)`. `[n2][tap][n1]` of both numbers of each point, f32.
    pub fn weights(&self, weights: &[f64], exponent: i32) -> Vec<[u32; 4]> {
        let Self { radix, rows, taps, numbers: Numbers { bits, floats, .. }, .. } = *self;
        let divided = match (floats, self.halves()) {
            (true, _) => 0,
            (false, true) => bits as i32,
            (false, false) => bits as i32 - 16,
        };
        let scale = 2f64.powi(exponent + divided);
        let complex = self.is_complex();
        let of_point = |tap: usize, point: usize| {
            // Both parts of a complex sample have the same.
            let at = tap * radix * rows + point;
            let both = if complex { [weights[at]; 2] } else { [weights[2 * at], weights[2 * at + 1]] };
            both.map(|weight| ((scale * weight) as f32).to_bits())
        };
        let mut words = Vec::with_capacity(2 * radix * rows * taps);
        for n2 in 0..rows {
            for tap in 0..taps {
                words.extend((0..radix).flat_map(|n1| of_point(tap, rows * n1 + n2)));
            }
        }
        words.chunks_exact(4).map(|four| [four[0], four[1], four[2], four[3]]).collect()
    }

    /// Adds to the phases of a job what its spectra have by their places in time, `exp(-2 pi i b a / step)` in bin `b`
    /// of the spectrum stamped `a`: nothing where they are whole steps apart. Channel `c` of complex samples is bin
    /// `c - N / 2`. Where the step is no power of two the phase grows by up to 2^-65 turns too much from spectrum to
    /// spectrum of a run.
    pub fn refer(&self, job: &mut Job) {
        let points = self.radix * self.rows;
        let parts = if self.is_complex() { 1 } else { 2 };
        let (step, stride) = (parts * points as u64, parts * self.stride as u64);
        // Whole turns do not count. They are exact to half of 2^-64; exact where steps are powers of two.
        let turn = |samples: u64| {
            let numerator = u128::from(samples % step) << u64::BITS;
            ((numerator + u128::from(step / 2)) / u128::from(step)) as u64
        };
        // The stamp of a spectrum, of whole steps as many as there are.
        let stamp = (u128::from(job.spectrum) * u128::from(stride) % u128::from(step)) as u64;
        job.slope = job.slope.wrapping_sub(turn(stamp));
        job.slope_rate = job.slope_rate.wrapping_sub(turn(stride));
        if self.is_complex() {
            let middle = points as u64 / 2;
            job.phase = job.phase.wrapping_add(turn(stamp.wrapping_mul(middle)));
            job.phase_rate = job.phase_rate.wrapping_add(turn(stride.wrapping_mul(middle)));
        }
    }
}

pub(super) fn greatest_common_divisor(a: usize, b: usize) -> usize {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(channels: usize, (over, under): (usize, usize), taps: usize) -> Channelizer {
        Channelizer::real(channels).taps(taps).oversampling(over, under).build().unwrap()
    }

    const TEN: Numbers = Numbers { bits: 10, parts: 1, floats: false, little_endian: false };

    fn of(channels: usize, oversampling: (usize, usize), taps: usize) -> Strided {
        Strided::new(&plan(channels, oversampling, taps), &Shape::new(channels).unwrap(), TEN).unwrap()
    }

    #[test]
    fn units_are_what_spectra_and_rows_have_in_common() {
        let cut = |strided: Strided| (strided.stride, strided.unit, strided.width);
        assert_eq!(cut(of(1024, (32, 27), 16)), (864, 32, 4));
        assert_eq!(cut(of(1024, (4, 3), 16)), (768, 128, 16));
        assert_eq!(cut(of(64, (1, 1), 16)), (64, 32, 32));
        assert_eq!(cut(of(8192, (32, 27), 16)), (6912, 256, 4));
        assert_eq!(cut(of(256, (1, 1), 64)), (256, 32, 8));
        for (channels, ratio, taps) in [(1024, (32, 27), 64), (256, (64, 57), 16), (65536, (2, 1), 16)] {
            let strided = of(channels, ratio, taps);
            assert!(strided.shared_bytes() <= MOST_BYTES, "{channels} {ratio:?} {taps}");
            assert_eq!(strided.columns(3).grid, [(strided.unit / strided.width) as u32, 3, 1]);
        }
        let floats = Strided::largest(&plan(1024, (32, 27), 16), &Shape::new(1024).unwrap()).unwrap();
        assert_eq!((cut(floats), floats.name()), ((864, 32, 2), "strided_floats_r8".into()));
        assert_eq!(of(8192, (4, 3), 4).name(), "strided_b12_r16");
    }

    #[test]
    fn plans_without_kernels_say_why() {
        let error = |plan: Channelizer| {
            let shape = Shape::new(plan.channels()).unwrap();
            Strided::new(&plan, &shape, TEN).unwrap_err().to_string()
        };
        assert!(error(plan(256, (1, 1), 65)).contains("at most 64 taps, found 65"));
        assert!(error(plan(256, (512, 511), 4)).contains("511 samples apart of 512"));
        assert!(error(plan(256, (256, 255), 4)).contains("510 samples apart of 512"));
    }

    #[test]
    fn weights_are_those_of_the_plan_in_the_order_of_loads() {
        for complex in [false, true] {
            let builder = if complex { Channelizer::complex(256) } else { Channelizer::real(256) };
            let plan = builder.taps(3).build().unwrap();
            let parts = if complex { 2 } else { 1 };
            let numbers = Numbers { parts, ..TEN };
            let strided = Strided::new(&plan, &Shape::new(256).unwrap(), numbers).unwrap();
            let table: Vec<f32> =
                strided.weights(plan.weights(), 3).into_iter().flatten().map(f32::from_bits).collect();
            assert_eq!(table.len(), 3 * 512);
            for (tap, n1, n2, number) in [(0, 0, 0, 0), (2, 7, 31, 1), (1, 3, 6, 1), (1, 5, 7, 0)] {
                let point = 32 * n1 + n2;
                let column = if complex { point } else { 2 * point + number };
                let weight = plan.weights()[tap * plan.step() + column] * 8.0 * 1024.0;
                let at = ((n2 * 3 + tap) * 8 + n1) * 2 + number;
                assert_eq!(table[at], weight as f32, "{complex} {tap} {n1} {n2} {number}");
            }
        }
    }

    #[test]
    fn phases_are_those_of_the_stamps() {
        let turns = |fixed: u64| fixed as f64 / 2f64.powi(64);
        for (channels, complex, channel) in
            [(256, false, 37), (256, true, 37), (256, true, 200), (768, false, 701), (640, true, 600)]
        {
            let builder = if complex { Channelizer::complex(channels) } else { Channelizer::real(channels) };
            let over = if channels == 256 { (32, 27) } else { (4, 3) };
            let plan = builder.oversampling(over.0, over.1).build().unwrap();
            let numbers = Numbers { parts: 1 + u32::from(complex), ..TEN };
            let strided = Strided::new(&plan, &Shape::new(channels).unwrap(), numbers).unwrap();
            let mut job = Job { spectrum: (1 << 60) + 5, phase: 1 << 62, slope: 1 << 40, ..Job::default() };
            let given = job;
            strided.refer(&mut job);
            for s in 0..3u64 {
                let phase = |job: &Job| {
                    let slope = job.slope.wrapping_add(job.slope_rate.wrapping_mul(s));
                    let phase = job.phase.wrapping_add(job.phase_rate.wrapping_mul(s));
                    turns(phase.wrapping_add(slope.wrapping_mul(channel)))
                };
                let stamp = u128::from(given.spectrum + s) * plan.stride() as u128 % plan.step() as u128;
                let bin = if complex { channel as f64 - channels as f64 / 2.0 } else { channel as f64 };
                let expected = phase(&given) - bin * stamp as f64 / plan.step() as f64;
                let apart = phase(&job) - expected;
                assert!((apart - apart.round()).abs() < 1e-9, "{complex} {channel} {s}: {apart}");
            }
        }
        let critical = of(512, (1, 1), 4);
        let job = Job { spectrum: 12345, slope: 77, phase_rate: 3, ..Job::default() };
        let mut referred = job;
        critical.refer(&mut referred);
        assert_eq!(referred, job);
    }
}
