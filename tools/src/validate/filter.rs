//! The polyphase filter by itself, against the reference in f64 within the kernels' bound: any number of taps, bits and
//! channels, samples from any bit on, blocks of any number of spectra.

use std::error::Error;

use fringes::Channelizer;
use fringes::channelizer::internals::FilterKernels;
use fringes_gpu::Buffer;
use fringes_reference::packed::decode;
use fringes_reference::pfb::pfb_fir;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::end::End;
use crate::gpu_report::params;
use crate::validate::session::{Outcome, Session};

/// Name of the cases.
pub(crate) const NAME: &str = "filter";

/// What the output has before.
const POISON: f32 = -1.25e30;

/// Values behind the output.
const BEHIND: usize = 64;

#[derive(Clone, Copy)]
struct Case {
    channels: usize,
    taps: usize,
    bits: u32,
    spectra: usize,
    inputs: usize,
    /// Spectra of a block, unless it is what the launch suggests.
    section: Option<usize>,
}

pub(crate) fn validate(session: &mut Session) -> Result<(), End> {
    if !session.wants(NAME) {
        return Ok(());
    }
    let mut cases = Vec::new();
    let case = Case { channels: 64, taps: 4, bits: 10, spectra: 37, inputs: 3, section: None };
    for (channels, taps, bits) in [(64, 1, 10), (64, 4, 8), (192, 7, 10), (1024, 16, 10), (1536, 32, 2), (128, 19, 11)]
    {
        cases.push(Case { channels, taps, bits, ..case });
        cases.push(Case { channels, taps, bits, section: Some(5), ..case });
    }
    if !session.quick {
        for channels in [64, 1024, 1536, 4096, 32768, 65536] {
            for taps in [1, 4, 8, 16, 32] {
                let spectra = (4_000_000 / 2 / channels).max(taps + 3);
                cases.push(Case { channels, taps, bits: 10, spectra, inputs: 2, section: None });
            }
        }
        for bits in 2..=11 {
            cases.push(Case { channels: 320, taps: 16, bits, spectra: 1001, inputs: 5, section: None });
        }
        for section in [1, 33, 49, 50, 1000, 5000] {
            cases.push(Case { channels: 256, taps: 16, bits: 10, spectra: 3000, inputs: 2, section: Some(section) });
        }
    }
    for case in cases {
        let Case { channels, taps, bits, spectra, inputs, section } = case;
        let sections = section.map_or(String::new(), |section| format!(", sections of {section}"));
        let sizes = params([("channels", channels), ("spectra", spectra), ("inputs", inputs)]);
        session
            .case_within(NAME, format!("{bits} bits, {taps} taps{sections}"), sizes, |session| run(session, case))?;
    }
    Ok(())
}

fn run(session: &Session, case: Case) -> Result<(Outcome, String), Box<dyn Error>> {
    let stream = &session.stream;
    let Case { channels, taps, bits, spectra, inputs, section } = case;
    let plan = Channelizer::real(channels).taps(taps).build()?;
    let mut filter = FilterKernels::load(&session.device, &plan, bits)?;
    if let Some(section) = section {
        filter = filter.with_section(section)?;
    }
    let columns = plan.step();
    let samples = filter.shape().samples(spectra);
    let row = samples * bits as usize;

    // Inputs one after the other, each some bits further on; the last ends with its piece of 16 bytes.
    let starts: Vec<u64> = (0..inputs).map(|input| (input * (row + 128) + 37 * input) as u64).collect();
    let end = starts.last().map_or(0, |start| (*start as usize + row).div_ceil(128) * 16);
    let mut random = Xoshiro256PlusPlus::seed_from_u64((channels * taps) as u64);
    let bytes: Vec<u8> = (0..end).map(|_| random.random()).collect();
    let from = Buffer::from_slice(stream, &bytes)?;
    let first = Buffer::from_slice(stream, &starts)?;
    let count = inputs * spectra * columns;
    let mut to = Buffer::alloc(&session.device, count + BEHIND)?;
    to.fill(stream, POISON)?;
    let words = from.view().cast::<u32>()?;
    let time_ms = session.time(|| filter.launch(stream, words, first.view(), spectra, to.view_mut()))?;
    let found = to.to_vec(stream)?;

    let size = |values: &[f64]| values.iter().map(|value| value.abs()).collect::<Vec<_>>();
    let sizes_of_weights = size(plan.weights());
    let (mut worst, mut verdict) = (0.0f64, Ok(()));
    for (input, &start) in starts.iter().enumerate() {
        let (byte, shift) = (start as usize / 8, start as usize % 8);
        let at = |index: usize| u32::from(bytes.get(index).copied().unwrap_or(0));
        let aligned: Vec<u8> =
            (byte..byte + row.div_ceil(8)).map(|i| ((at(i) << 8 | at(i + 1)) >> (8 - shift)) as u8).collect();
        let x = decode(&aligned, bits as usize, samples);
        let expected = pfb_fir(&x, plan.weights(), columns, 0, spectra);
        let sizes = pfb_fir(&size(&x), &sizes_of_weights, columns, 0, spectra);
        for ((s, p), &value) in expected.indexed_iter() {
            let actual = found[(input * spectra + s) * columns + p];
            // A rounding of each weight and one of each sum; terms of second order are below a thousandth.
            let bound = 1.001 * 2f64.powi(-24) * (taps + 1) as f64 * sizes[(s, p)];
            let error = (f64::from(actual) - value).abs();
            worst = worst.max(error / bound.max(f64::MIN_POSITIVE));
            if verdict.is_ok() && (error.is_nan() || error > bound) {
                verdict =
                    Err(format!("input {input}, spectrum {s}, column {p}: {actual} for {value}, bound {bound:e}"));
            }
        }
    }
    if found[count..].iter().any(|&value| value != POISON) {
        verdict = Err("values behind the output are written".into());
    }
    let outcome = Outcome {
        time_ms,
        value: (inputs * spectra * columns) as f64 / time_ms / 1e6,
        unit: "Gsamples/s",
        against: "the reference, a rounding of each weight and each sum, and poison behind the output",
        verdict,
    };
    Ok((outcome, format!("largest error {worst:.2} of the bound")))
}
