//! Heaps of voltages whose sums are known exactly, and what the kernels make of them in the emulator.

use fringes_device::{Global, GlobalMut, Kernel};
use fringes_emulator::{GlobalMemory, Launch, Report};
use fringes_kernels_interference as kernels;
use half::f16;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

pub(crate) const THREADS: u32 = 256;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Format {
    I4,
    I8,
    F16,
    F32,
}

pub(crate) const FORMATS: [Format; 4] = [Format::I4, Format::I8, Format::F16, Format::F32];

impl Format {
    pub(crate) fn bytes(self) -> usize {
        match self {
            Self::I4 => 1,
            Self::I8 => 2,
            Self::F16 => 4,
            Self::F32 => 8,
        }
    }

    pub(crate) fn is_integer(self) -> bool {
        matches!(self, Self::I4 | Self::I8)
    }

    /// What the parts of a voltage are multiplied by to be whole numbers.
    pub(crate) fn scale(self) -> f64 {
        match self {
            Self::I4 | Self::I8 => 1.0,
            Self::F16 => 2f64.powi(15),
            Self::F32 => 2f64.powi(20),
        }
    }

    /// The bytes of a voltage, and its parts times [`Format::scale`]: of all magnitudes, the largest ones among them.
    pub(crate) fn voltage(self, random: &mut Xoshiro256PlusPlus) -> (Vec<u8>, [i64; 2]) {
        let mut part = |limit: i64| match random.random_range(0..8) {
            0 => limit,
            1 => -limit,
            2 => random.random_range(-1..=1),
            _ => random.random_range(-limit..=limit),
        };
        match self {
            Self::I4 => {
                let [re, im] = [part(7), part(7)];
                (vec![(re << 4) as u8 | im as u8 & 15], [re, im])
            }
            Self::I8 => {
                let [re, im] = [part(127), part(127)];
                (vec![re as u8, im as u8], [re, im])
            }
            Self::F16 => {
                // 11 bits, times a power of two.
                let [re, im] = [part(2047) << 4, part(2047)];
                let bytes = [re, im].map(|part| f16::from_f64(part as f64 / self.scale()).to_le_bytes());
                (bytes.concat(), [re, im])
            }
            Self::F32 => {
                let [re, im] = [part((1 << 24) - 1), part((1 << 20) - 1)];
                let bytes = [re, im].map(|part| ((part as f64 / self.scale()) as f32).to_le_bytes());
                (bytes.concat(), [re, im])
            }
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Case {
    pub(crate) format: Format,
    /// Batches, antennas, channels, spectra, polarisations.
    pub(crate) shape: [usize; 5],
    pub(crate) block: usize,
    pub(crate) lead: usize,
    pub(crate) lanes: u32,
    /// Voltages between a multiple of 16 bytes and the first heap.
    pub(crate) ahead: usize,
    pub(crate) flags: bool,
}

impl Case {
    pub(crate) fn times(&self) -> usize {
        self.shape[0] * self.shape[3]
    }

    pub(crate) fn blocks(&self) -> usize {
        if self.times() == 0 { 0 } else { (self.times() + self.lead).div_ceil(self.block) }
    }

    pub(crate) fn voltages(&self) -> usize {
        self.shape.iter().product()
    }

    pub(crate) fn sizes(&self) -> [u32; 8] {
        let [batches, antennas, channels, spectra, pols] = self.shape.map(|size| size as u32);
        [batches, antennas, channels, spectra, pols, self.block as u32, self.lead as u32, self.lanes]
    }

    /// Channel and time of a voltage.
    pub(crate) fn place(&self, voltage: usize) -> [usize; 2] {
        let [_, antennas, channels, spectra, pols] = self.shape;
        let (spectrum, rest) = (voltage / pols % spectra, voltage / pols / spectra);
        [rest % channels, rest / channels / antennas * spectra + spectrum]
    }

    fn launch(&self, declaration: &'static str, groups: usize, seed: u64) -> Launch {
        // A block too many does nothing.
        let blocks = (groups as u32 * self.lanes).div_ceil(THREADS) + 1;
        Launch::new(declaration, [blocks, 1, 1], [THREADS, 1, 1]).seed(seed)
    }
}

/// Heaps, and flags that are true where they are present.
pub(crate) struct Heaps {
    pub(crate) bytes: Vec<u8>,
    /// Whole numbers.
    pub(crate) parts: Vec<[i64; 2]>,
    /// `[batch][antenna]`.
    pub(crate) present: Vec<bool>,
}

pub(crate) fn heaps(case: &Case, seed: u64) -> Heaps {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let (bytes, parts): (Vec<_>, Vec<_>) = (0..case.voltages()).map(|_| case.format.voltage(&mut random)).unzip();
    let present = (0..case.shape[0] * case.shape[1]).map(|_| !case.flags || random.random_bool(0.7)).collect();
    Heaps { bytes: bytes.concat(), parts, present }
}

/// Heaps in memory, `ahead` voltages behind a multiple of 16 bytes.
pub(crate) fn upload(memory: &mut GlobalMemory, case: &Case, bytes: &[u8]) -> Global<u8> {
    let ahead = case.ahead * case.format.bytes();
    let all = memory.upload(&[vec![0xa5; ahead], bytes.to_vec()].concat());
    // SAFETY: so many bytes are there.
    unsafe { Global::from(all).part(ahead, bytes.len()) }
}

/// Sums `[2][channel][block][input]`, as bits.
pub(crate) fn power(case: &Case, heaps: &Heaps, seed: u64) -> (Vec<u64>, Report) {
    let mut memory = GlobalMemory::new();
    let samples = upload(&mut memory, case, &heaps.bytes);
    let present: Vec<u8> = heaps.present.iter().map(|&flag| flag.into()).collect();
    let present = memory.upload(if case.flags { &present[..] } else { &[] });
    let [_, antennas, channels, _, pols] = case.shape;
    let groups = channels * antennas * case.blocks();
    let [batches, ants, chans, spectra, ps, block, lead, lanes] = case.sizes();
    macro_rules! run {
        ($kernel:ident, $sum:ty) => {{
            let sums = memory.allocate::<$sum>(2 * groups * pols);
            let launch = case.launch(<kernels::$kernel as Kernel>::DECLARATION, groups, seed);
            let report = launch.run(&mut memory, || {
                let (present, sums) = (present.into(), sums.into());
                kernels::$kernel(samples, present, sums, batches, ants, chans, spectra, ps, block, lead, lanes);
            });
            report.assert_clean();
            (memory.values(sums).into_iter().map(|sum| u64::from_le_bytes(sum.to_le_bytes())).collect(), report)
        }};
    }
    match case.format {
        Format::I4 => run!(power_i4, u64),
        Format::I8 => run!(power_i8, u64),
        Format::F16 => run!(power_f16, f64),
        Format::F32 => run!(power_f32, f64),
    }
}

/// The bytes of a copy, of a mask `[channel][block]`. It begins `to_ahead` voltages behind a multiple of 16 bytes.
pub(crate) fn mask(case: &Case, heaps: &Heaps, masked: &[u8], to_ahead: usize, seed: u64) -> (Vec<u8>, Report) {
    let mut memory = GlobalMemory::new();
    let from = upload(&mut memory, case, &heaps.bytes);
    let masked = memory.upload(masked);
    let ahead = to_ahead * case.format.bytes();
    let copy = memory.allocate::<u8>(ahead + heaps.bytes.len());
    // SAFETY: so many bytes are there.
    let to = unsafe { GlobalMut::from(copy).part(ahead, heaps.bytes.len()) };
    let [batches, antennas, channels, spectra, pols, block, lead, lanes] = case.sizes();
    let groups = case.shape[..3].iter().product();
    macro_rules! run {
        ($kernel:ident) => {
            case.launch(<kernels::$kernel as Kernel>::DECLARATION, groups, seed).run(&mut memory, || {
                let masked = masked.into();
                kernels::$kernel(from, to, masked, batches, antennas, channels, spectra, pols, block, lead, lanes);
            })
        };
    }
    let report = match case.format {
        Format::I4 => run!(mask_i4),
        Format::I8 => run!(mask_i8),
        Format::F16 => run!(mask_f16),
        Format::F32 => run!(mask_f32),
    };
    report.assert_clean();
    // Nothing is written before the copy.
    let all = memory.download(copy);
    assert!(all[..ahead].iter().all(Option::is_none));
    (all[ahead..].iter().map(|byte| byte.expect("written")).collect(), report)
}
