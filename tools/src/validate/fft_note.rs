//! The FFT note's transform in all its variants: arrays of registers against the transform's definition in f64.

use fringes::f16;
use fringes_gpu::{Buffer, LaunchConfig, PtxSet, args};
use fringes_kernels_fft_microkernel::note::places::{INPUT, OUTPUT};
use fringes_kernels_tools_fft_timed::{NOTE, NoteVariant};
use fringes_layout::Layout;
use num_complex::Complex64 as C64;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::end::End;
use crate::gpu_report::params;
use crate::validate::session::{Outcome, Session};

static KERNELS: PtxSet = PtxSet::new(include_str!("../../../kernels-rs/tools/fft-timed/ptx/fft-timed_sm_80.ptx"))
    .with_sm_90a(include_str!("../../../kernels-rs/tools/fft-timed/ptx/fft-timed_sm_90a.ptx"));

/// Bound on the rms error over that of the spectra, for 4+4-bit samples.
const BOUND: f64 = 7e-4;

pub(crate) fn validate(session: &mut Session) -> Result<(), End> {
    let arrays: &[usize] = if session.quick { &[3] } else { &[1, 33, 1000] };
    // The PTX with stores of matrices is for 9.0 alone.
    let hopper = session.device.info().compute_capability == (9, 0);
    for variant in NOTE.iter().filter(|variant| hopper || !variant.needs_sm_90) {
        for &arrays in arrays {
            case(session, variant, arrays)?;
        }
    }
    Ok(())
}

/// Where the parts of a number are in an array of registers `[lane][register]`: half-words.
fn places(layout: &Layout, stem: &str, count: usize) -> Vec<[usize; 2]> {
    let registers = 1 << layout.physical().bits_of_stem("r").len();
    let mut places = vec![[0; 2]; count];
    for place in 0..layout.physical().size() {
        let at = |stem| layout.physical().number(stem, place) as usize;
        let element = layout.apply(place);
        let [number, part] = [stem, "ReIm"].map(|stem| layout.logical().number(stem, element) as usize);
        places[number][part] = 2 * (registers * at("t") + at("r")) + at("b");
    }
    places
}

/// Equation (1) of the note.
fn definition(x: &[C64]) -> Vec<C64> {
    let padded: Vec<C64> = x.iter().copied().chain([C64::default(); 256]).collect();
    fringes_reference::dft::dft(&padded, 1.0)
}

fn case(session: &mut Session, variant: &NoteVariant, arrays: usize) -> Result<(), End> {
    session.case_within("fft_note", variant.name, params([("arrays", arrays)]), |session| {
        let stream = &session.stream;
        let kernel = session.device.load(&KERNELS)?.kernel(variant.name)?;
        let mut random = Xoshiro256PlusPlus::seed_from_u64(arrays as u64);
        let mut part = || f64::from(random.random_range(-7i8..=7));
        let samples: Vec<C64> = (0..256 * arrays).map(|_| C64::new(part(), part())).collect();
        let (input, output) = (places(&INPUT, "n", 256), places(&OUTPUT, "q", 512));
        let mut halves = vec![0u32; 512 * arrays];
        for (array, x) in samples.chunks(256).enumerate() {
            for (place, value) in input.iter().zip(x) {
                halves[512 * array + place[0]] = f16::from_f64(value.re).to_bits().into();
                halves[512 * array + place[1]] = f16::from_f64(value.im).to_bits().into();
            }
        }
        let words: Vec<u32> = halves.chunks(2).map(|pair| pair[0] | pair[1] << 16).collect();
        let x = Buffer::from_slice(stream, &words)?;
        let phases = Buffer::from_slice(stream, &variant.phases.note(1.0).ok_or("a variant of the note's")?)?;
        let mut y = Buffer::<u32>::alloc(&session.device, 512 * arrays)?;
        let config =
            LaunchConfig::new([u32::try_from(arrays)?, 1, 1], [32, 1, 1]).with_shared_bytes(variant.shared_bytes);
        let time_ms = session.time(|| kernel.launch_safe(stream, &config, args![&x, &phases, &mut y]))?;
        let found = y.to_vec(stream)?;
        let value = |words: &[u32], at: usize| f16::from_bits((words[at / 2] >> (16 * (at % 2))) as u16).to_f64();
        // All arrays of the small cases, some of the large one.
        let (mut squares, mut power) = (0.0, 0.0);
        for array in (0..arrays).step_by(arrays.div_ceil(64)) {
            let words = &found[512 * array..512 * (array + 1)];
            for (place, expected) in output.iter().zip(definition(&samples[256 * array..256 * (array + 1)])) {
                squares += (C64::new(value(words, place[0]), value(words, place[1])) - expected).norm_sqr();
                power += expected.norm_sqr();
            }
        }
        let rms = (squares / power).sqrt();
        let verdict = if rms < BOUND { Ok(()) } else { Err(format!("rms error {rms:.2e}, bound {BOUND:.1e}")) };
        let rate = arrays as f64 / time_ms / 1e6;
        let against = "the definition in f64";
        Ok((Outcome { time_ms, value: rate, unit: "transforms/ns", against, verdict }, format!("rms {rms:.2e}")))
    })
}
