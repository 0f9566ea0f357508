//! A kernel in the emulator with the arguments and the launch that the host makes, and the reference.

use fringes_beamformer::internals::{BeamShape, FeedLines, transform_size};
use fringes_beamformer::{FftBeamOutput, FftBeams};
use fringes_device::{Global, GlobalMut};
use fringes_emulator::{GlobalMemory, Launch, Report};
use fringes_fft::Sign;
use fringes_fft::internals::phase_table;
use fringes_kernels_beamformer_fft::{BeamKernel, KERNELS};
use fringes_reference::beamformer as reference;
use fringes_types::Inputs;
use half::f16;
use ndarray::{Array2, Array3};
use num_complex::Complex;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

pub(crate) type C64 = Complex<f64>;

/// What a kernel is given.
#[derive(Debug, Clone)]
pub(crate) struct Case {
    pub(crate) lines: FeedLines,
    pub(crate) channels: usize,
    pub(crate) times: usize,
    /// Voltages as numbers, whatever their format.
    pub(crate) voltages: Array3<Complex<i8>>,
    pub(crate) gains: Option<Array2<Complex<f32>>>,
    pub(crate) present: Option<Array2<bool>>,
    /// Voltages and flags that lie in front, so that the address is no multiple of what two feeds take.
    pub(crate) shift: usize,
    /// Exponent of the scale.
    pub(crate) scale: i32,
    /// Blocks that the device is said to hold.
    pub(crate) blocks: u32,
}

impl Case {
    /// Random voltages of the whole range of a format, without gains.
    pub(crate) fn noise(
        kernel: &BeamKernel,
        [lines, feeds, pols]: [usize; 3],
        [channels, times]: [usize; 2],
        seed: u64,
    ) -> Self {
        let lines = FeedLines { lines, feeds, pols, padded: padded(kernel) };
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let limit = if kernel.part(3) == "i4" { 7 } else { 127 };
        let voltages = Array3::from_shape_simple_fn((channels, times, lines.inputs()), || {
            Complex::new(random.random_range(-limit..=limit), random.random_range(-limit..=limit))
        });
        Self { lines, channels, times, voltages, gains: None, present: None, shift: 0, scale: 0, blocks: 3 }
    }

    /// With random gains, of other sizes in each channel.
    pub(crate) fn with_gains(mut self, seed: u64) -> Self {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        self.gains = Some(Array2::from_shape_fn((self.channels, self.lines.inputs()), |(channel, _)| {
            let size = random.random_range(0.5..2.0f32) * 3f32.powi(channel as i32 - 1);
            Complex::from_polar(size, random.random_range(0.0..std::f32::consts::TAU))
        }));
        self
    }

    /// With random flags, seven of ten set.
    pub(crate) fn with_flags(mut self, seed: u64) -> Self {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let dim = (self.times, self.lines.inputs());
        self.present = Some(Array2::from_shape_simple_fn(dim, || random.random_bool(0.7)));
        self
    }

    /// The beams by the reference, `[channel][time][beam]`.
    pub(crate) fn expected(&self) -> Array3<C64> {
        let scale = 2f64.powi(self.scale);
        let mut voltages = self.voltages.mapv(|x| C64::new(x.re.into(), x.im.into()) * scale);
        if let Some(present) = &self.present {
            for ((_, time, input), value) in voltages.indexed_iter_mut() {
                *value *= f64::from(u8::from(present[(time, input)]));
            }
        }
        let ones = || Array2::ones((self.channels, self.lines.inputs()));
        let gains = self.gains.as_ref().map_or_else(ones, |gains| gains.mapv(|g| C64::new(g.re.into(), g.im.into())));
        let FeedLines { lines, feeds, pols, padded } = self.lines;
        let lines = reference::FeedLines { lines, feeds, pols, padded };
        reference::fft_beams(voltages.view(), gains.view(), lines)
    }

    /// The shape.
    pub(crate) fn shape(&self) -> BeamShape {
        let size = transform_size(self.lines.feeds, self.lines.padded).unwrap();
        BeamShape::new(self.lines, size, self.channels, self.times).unwrap()
    }

    /// Gains and factors as the host makes them.
    fn kernel_gains<O: FftBeamOutput>(&self) -> (Vec<u32>, Vec<f32>) {
        let FeedLines { lines, feeds, pols, padded } = self.lines;
        let mut set = FftBeams::new(lines, feeds, padded).unwrap().with_output::<O>();
        if let Some(gains) = &self.gains {
            set = set.with_gains(gains.clone()).unwrap();
        }
        let set = set.with_scale_exponent(self.scale).unwrap();
        set.kernel_gains(self.channels, Inputs::new(lines * feeds, pols).unwrap()).unwrap()
    }

    /// Runs a kernel; its words of beams, and the emulator's report.
    pub(crate) fn run(&self, kernel: &BeamKernel) -> (Vec<u32>, Report) {
        let (gains, factors) = match kernel.part(4) {
            "f16" => self.kernel_gains::<Complex<f16>>(),
            "power" => self.kernel_gains::<f32>(),
            _ => self.kernel_gains::<Complex<f32>>(),
        };
        let narrow = kernel.part(3) == "i4";
        let bytes = self.voltages.iter().flat_map(|x| {
            let four = [(x.re as u8) << 4 | (x.im as u8 & 15)];
            let eight = [x.re as u8, x.im as u8];
            if narrow { four.to_vec() } else { eight.to_vec() }
        });
        let front = self.shift * if narrow { 1 } else { 2 };
        let bytes: Vec<u8> = std::iter::repeat_n(0x77, front).chain(bytes).collect();
        let flags = self.present.iter().flat_map(|present| present.iter().map(|&flag| u8::from(flag) * 0x40));
        let flags: Vec<u8> = flags.collect();
        let (inputs, outputs) = kernel.size().unwrap();
        let table = phase_table(fringes_fft::Size::new(inputs, outputs).unwrap(), Sign::Positive, 0);
        let shape = self.shape();
        let words = shape.beams() * if kernel.part(4) == "c32" { 2 } else { 1 };

        let mut memory = GlobalMemory::new();
        let (bytes_in, flags) = (memory.upload(&bytes), memory.upload(&flags));
        let (gains, factors, phases) = (memory.upload(&gains), memory.upload(&factors), memory.upload(&table));
        let beams = memory.allocate::<u32>(words);
        let launch = shape.launch(self.blocks);
        let sizes = [self.channels, self.times, self.lines.lines, self.lines.feeds, self.lines.pols];
        let [channels, times, lines, feeds, pols] = sizes.map(|size| size as u32);
        let emulated = Launch::new(kernel.declaration, launch.config.grid, launch.config.block);
        let report = emulated.shared_bytes(launch.config.shared_bytes).run(&mut memory, || {
            let all = Global::<u8>::from(bytes_in);
            // SAFETY: that many values are there.
            let voltages = unsafe { all.part(front, all.len() - front) };
            let (factors, beams) = (Global::from(factors), GlobalMut::from(beams));
            (kernel.run)(
                voltages,
                flags.into(),
                gains.into(),
                factors,
                phases.into(),
                beams,
                channels,
                times,
                lines,
                feeds,
                pols,
                launch.times,
            );
        });
        report.assert_clean();
        (memory.values(beams), report)
    }
}

/// The kernels of a part of a name: `256_512`, `i4`, `power`.
pub(crate) fn kernels(part: &str) -> impl Iterator<Item = &'static BeamKernel> {
    let part = format!("_{part}");
    KERNELS.iter().filter(move |kernel| {
        let name = kernel.name();
        name.ends_with(&part) || name.contains(&format!("{part}_"))
    })
}

/// Beams of a line and polarisation.
pub(crate) fn padded(kernel: &BeamKernel) -> usize {
    kernel.size().unwrap().1
}

/// The largest rms error of a transform relative to its rms, of beams as a kernel writes them.
pub(crate) fn error(kernel: &BeamKernel, words: &[u32], expected: &Array3<C64>) -> f64 {
    let padded = padded(kernel);
    let half = |word: u32| C64::new(f16::from_bits(word as u16).into(), f16::from_bits((word >> 16) as u16).into());
    let single = |word: u32| f64::from(f32::from_bits(word));
    // Of powers the roots are compared.
    let (actual, expected): (Vec<C64>, Vec<C64>) = match kernel.part(4) {
        "f16" => (words.iter().map(|&word| half(word)).collect(), expected.iter().copied().collect()),
        "power" => {
            let roots = words.iter().map(|&word| C64::from(single(word).sqrt())).collect();
            (roots, expected.iter().map(|y| C64::from(y.norm())).collect())
        }
        _ => {
            let beams = words.chunks(2).map(|pair| C64::new(single(pair[0]), single(pair[1])));
            (beams.collect(), expected.iter().copied().collect())
        }
    };
    assert_eq!(actual.len(), expected.len());
    let mut most = 0f64;
    for (actual, expected) in actual.chunks(padded).zip(expected.chunks(padded)) {
        let error: f64 = actual.iter().zip(expected).map(|(a, e)| (a - e).norm_sqr()).sum();
        let power: f64 = expected.iter().map(|e| e.norm_sqr()).sum();
        let relative = if power == 0.0 { error } else { (error / power).sqrt() };
        // `max` would pass NaN over.
        assert!(relative.is_finite(), "{}: an error that is no number", kernel.name());
        most = most.max(relative);
    }
    most
}
