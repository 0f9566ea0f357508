//! The kernels in the emulator, with the host's weights and launches, against the reference.

use fringes_channelizer::Channelizer;
use fringes_channelizer::internals::FilterShape;
use fringes_device::{Global, GlobalMut, Kernel};
use fringes_emulator::{Buffer, GlobalMemory, Launch, Report};
use fringes_kernels_f_engine_filter as kernels;
use fringes_reference::packed::decode;
use fringes_reference::pfb::pfb_fir;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

type Views = (Global<[u32; 4]>, Global<[f32; 2]>, Global<u64>, GlobalMut<[f32; 2]>);

#[derive(Clone, Debug)]
struct Case {
    channels: usize,
    taps: usize,
    bits: u32,
    spectra: usize,
    section: usize,
    /// Bits before the first sample of each input.
    starts: Vec<usize>,
    /// Pieces of 16 bytes that are missing at the end.
    missing: usize,
}

/// What the kernel is told, as numbers that can be changed.
#[derive(Clone, Copy)]
struct Numbers {
    bits: u32,
    columns: u32,
    taps: u32,
    spectra: u32,
    section: u32,
    inputs: u32,
}

/// What a run left.
struct Outcome {
    report: Report,
    /// Values, where there are any.
    written: Vec<Option<[f32; 2]>>,
    /// The samples, and the first bit of each input.
    bytes: Vec<u8>,
    starts: Vec<u64>,
}

/// A change of the arguments.
type Change = fn(&mut Numbers);

impl Case {
    fn new(channels: usize, taps: usize, bits: u32) -> Self {
        Self { channels, taps, bits, spectra: 21, section: 9, starts: vec![0, 5], missing: 0 }
    }

    fn plan(&self) -> Channelizer {
        Channelizer::real(self.channels).taps(self.taps).build().unwrap()
    }

    /// Bytes with an input after the other, each from its bit on; the last ends with the last byte or a little before.
    fn bytes(&self, shape: &FilterShape) -> (Vec<u8>, Vec<u64>) {
        let row = shape.samples(self.spectra) * self.bits as usize / 8;
        let mut starts = Vec::new();
        let mut end = 0;
        for start in &self.starts {
            starts.push(8 * end as u64 + *start as u64);
            end += start.div_ceil(8) + row;
        }
        let length = end.next_multiple_of(16) - 16 * self.missing;
        let mut random = Xoshiro256PlusPlus::seed_from_u64(self.bits.into());
        // Among them all bits set and none, so that extremes come.
        let byte = |random: &mut Xoshiro256PlusPlus| match random.random_range(0..6) {
            0 => 0x80,
            1 => 0x7f,
            2 => 0xff,
            _ => random.random(),
        };
        ((0..length).map(|_| byte(&mut random)).collect(), starts)
    }

    /// Runs the kernel, whose arguments may be changed.
    fn run(&self, change: impl Fn(&mut Numbers)) -> Outcome {
        let plan = self.plan();
        let shape = FilterShape::new(&plan, self.bits).unwrap();
        let (bytes, starts) = self.bytes(&shape);
        let pieces: Vec<[u32; 4]> = bytes
            .chunks_exact(16)
            .map(|piece| std::array::from_fn(|i| u32::from_le_bytes(piece[4 * i..4 * i + 4].try_into().unwrap())))
            .collect();
        let mut memory = GlobalMemory::new();
        let samples = memory.upload(&pieces);
        let weights = memory.upload(&shape.weights(plan.weights()).unwrap());
        let first_bits = memory.upload(&starts);
        let out: Buffer<[f32; 2]> = memory.allocate(starts.len() * self.spectra * shape.columns() / 2);
        let config = shape.launch(self.spectra, starts.len(), self.section).unwrap();
        let mut numbers = Numbers {
            bits: self.bits,
            columns: shape.columns() as u32,
            taps: self.taps as u32,
            spectra: self.spectra as u32,
            section: self.section as u32,
            inputs: starts.len() as u32,
        };
        change(&mut numbers);
        let (declaration, kernel) = kernel(&shape.kernel());
        let launch = Launch::new(declaration, config.grid, config.block).shared_bytes(config.shared_bytes);
        let report = launch.run(&mut memory, || {
            kernel((samples.into(), weights.into(), first_bits.into(), out.into()), numbers);
        });
        let written = memory.download(out);
        Outcome { report, written, bytes, starts }
    }

    /// Runs the kernel with all detectors and compares all that it writes.
    fn check(&self) {
        let Outcome { report, written, bytes, starts } = self.run(|_| {});
        report.assert_clean();
        let (plan, columns) = (self.plan(), 2 * self.channels);
        let bits = self.bits as usize;
        let u = 2f64.powi(-24);
        for (input, &start) in starts.iter().enumerate() {
            // Bits from the start on, as bytes.
            let (byte, shift) = (start as usize / 8, start as usize % 8);
            let at = |index: usize| u32::from(bytes.get(index).copied().unwrap_or(0));
            let aligned: Vec<u8> =
                (byte..bytes.len()).map(|i| ((at(i) << 8 | at(i + 1)) >> (8 - shift)) as u8).collect();
            let x = decode(&aligned, bits, (self.spectra + self.taps - 1) * columns);
            let expected = pfb_fir(&x, plan.weights(), columns, 0, self.spectra);
            let size = |values: &[f64]| values.iter().map(|value| value.abs()).collect::<Vec<_>>();
            let sizes = pfb_fir(&size(&x), &size(plan.weights()), columns, 0, self.spectra);
            for ((s, p), &value) in expected.indexed_iter() {
                let place = (input * self.spectra + s) * columns + p;
                let actual = written[place / 2].unwrap_or_else(|| panic!("{self:?}: {s} {p} is not written"))[p % 2];
                // A rounding of each weight, one of each product added; terms of u^2 are below a thousandth.
                let bound = 1.001 * u * (self.taps + 1) as f64 * sizes[(s, p)];
                let error = (f64::from(actual) - value).abs();
                assert!(error <= bound, "{self:?}: input {input}, spectrum {s}, column {p}: {actual} for {value}");
            }
        }
    }
}

/// A kernel by its name.
fn kernel(name: &str) -> (&'static str, fn(Views, Numbers)) {
    macro_rules! run {
        ($name:ident) => {
            (<kernels::$name as Kernel>::DECLARATION, |(samples, weights, starts, out): Views, n: Numbers| {
                kernels::$name(samples, weights, starts, out, n.bits, n.columns, n.taps, n.spectra, n.section, n.inputs)
            })
        };
    }
    match name {
        "filter_4" => run!(filter_4),
        "filter_8" => run!(filter_8),
        "filter_16" => run!(filter_16),
        "filter_32" => run!(filter_32),
        _ => panic!("no kernel {name}"),
    }
}

#[test]
fn any_number_of_taps_filters_as_the_reference_does() {
    for taps in [1, 3, 4, 5, 8, 11, 16, 23, 32] {
        Case { starts: vec![10 * taps, 7], ..Case::new(128, taps, 10) }.check();
    }
}

#[test]
fn samples_of_any_number_of_bits_begin_at_any_bit() {
    for bits in 2..=11 {
        let starts = [0, 1, 127, 128 + 8 * bits as usize, 3 * bits as usize];
        Case { spectra: 3, section: 2, starts: starts.to_vec(), ..Case::new(64, 2, bits) }.check();
    }
    for start in 0..32 {
        Case { spectra: 1, section: 1, starts: vec![start], ..Case::new(64, 1, 10) }.check();
    }
}

#[test]
fn strips_that_are_not_full_end_with_the_row() {
    for channels in [64, 128, 192, 320] {
        Case { spectra: 5, section: 3, ..Case::new(channels, 4, 10) }.check();
        Case { spectra: 5, section: 3, starts: vec![0], ..Case::new(channels, 4, 8) }.check();
    }
}

#[test]
fn blocks_of_many_passes_are_seamless() {
    // Sections of whole passes as the host chooses them, of a spectrum more and less, and longer than all.
    for (taps, sections) in [(4, [61, 62, 60]), (16, [49, 50, 48]), (32, [65, 66, 64])] {
        for section in sections {
            Case { spectra: 150, section, starts: vec![3], ..Case::new(128, taps, 10) }.check();
        }
    }
    Case { spectra: 200, section: 1000, ..Case::new(64, 8, 8) }.check();
}

#[test]
fn sizes_that_the_views_do_not_hold_trap_and_store_nothing() {
    let case = Case { starts: vec![0, 0], section: 21, ..Case::new(64, 4, 10) };
    let traps = |what: &str, case: &Case, change: Change| {
        let Outcome { report, written, .. } = case.run(change);
        let other = report.faults.iter().find(|fault| !fault.to_string().contains("trapped"));
        assert!(!report.faults.is_empty() && other.is_none(), "{what}: {other:?}");
        written.iter().map(|value| usize::from(value.is_some())).sum::<usize>()
    };
    // The first input is there.
    assert_eq!(traps("a piece less", &Case { missing: 1, ..case.clone() }, |_| {}), 21 * 64);
    let changes: [(&str, Change); 12] = [
        ("more spectra", |n| n.spectra += 1),
        ("all spectra", |n| n.spectra = u32::MAX),
        ("more inputs", |n| n.inputs += 1),
        ("no section", |n| n.section = 0),
        ("no taps", |n| n.taps = 0),
        ("too many taps", |n| n.taps = 5),
        ("a bit", |n| n.bits = 1),
        ("too many bits", |n| n.bits = 12),
        ("all bits", |n| n.bits = u32::MAX),
        ("no columns", |n| n.columns = 0),
        ("columns that are no pieces", |n| n.columns = 64),
        ("columns without weights", |n| n.columns = 256),
    ];
    for (what, change) in changes {
        assert_eq!(traps(what, &case, change), 0, "{what}");
    }
}
