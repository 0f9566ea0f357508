//! The polyphase filter by itself: packed samples to filtered f32 samples.

use fringes::Channelizer;
use fringes::channelizer::internals::FilterKernels;
use fringes_gpu::Buffer;
use fringes_reference::pfb::pfb_fir;

use crate::bench::ceilings::Ceilings;
use crate::bench::random::Source;
use crate::bench::timing::{Bench, Measured};
use crate::end::End;
use crate::gpu_report::params;

/// Samples of an input.
const SAMPLES: usize = 1 << 27;
/// Inputs: both polarisations of an antenna.
const INPUTS: usize = 2;
/// Bits before the first sample of each input, in samples: inputs begin with a coarse delay.
const DELAYS: [usize; INPUTS] = [37, 22];

pub(crate) fn run(bench: &mut Bench, ceilings: &Ceilings) -> Result<(), End> {
    if !bench.wants("filter") || !bench.fits("packed and filtered samples", INPUTS * SAMPLES * 6)? {
        return Ok(());
    }
    let stream = bench.stream.clone();
    let mut data = Data {
        samples: Source::bytes(&stream)?.buffer(&bench.device, &stream, INPUTS * SAMPLES * 11 / 8)?,
        out: Buffer::alloc(&bench.device, INPUTS * SAMPLES)?,
    };
    let case = Case { channels: 1024, taps: 16, bits: 10, section: None };
    for channels in [1024, 4096, 32768] {
        for taps in [4, 16, 32] {
            data.run(bench, ceilings, Case { channels, taps, ..case })?;
        }
        data.run(bench, ceilings, Case { channels, bits: 8, ..case })?;
    }
    for channels in [64, 1536, 65536] {
        data.run(bench, ceilings, Case { channels, ..case })?;
    }
    for passes in [2, 3, 4, 5, 6, 8, 16, 32, 64, 128] {
        data.run(bench, ceilings, Case { section: Some(16 * passes - 15), ..case })?;
    }
    Ok(())
}

/// What is timed.
#[derive(Clone, Copy)]
struct Case {
    channels: usize,
    taps: usize,
    bits: u32,
    /// Spectra of a block, unless it is what the launch suggests.
    section: Option<usize>,
}

struct Data {
    samples: Buffer<u8>,
    out: Buffer<f32>,
}

impl Data {
    fn run(&mut self, bench: &mut Bench, ceilings: &Ceilings, case: Case) -> Result<(), End> {
        let stream = bench.stream.clone();
        let Case { channels, taps, bits, section } = case;
        let plan = Channelizer::real(channels).taps(taps).build().map_err(End::failed)?;
        let mut filter = FilterKernels::load(&bench.device, &plan, bits).map_err(End::failed)?;
        if let Some(section) = section {
            filter = filter.with_section(section).map_err(End::failed)?;
        }
        let step = plan.step();
        let spectra = SAMPLES / step - taps;
        let row = SAMPLES * bits as usize;
        let start = |input: usize| (input * row + DELAYS[input] * bits as usize) as u64;
        let starts = Buffer::from_slice(&stream, &[start(0), start(1)])?;
        let launch = |out: &mut Buffer<f32>| {
            filter.launch(&stream, self.samples.view().cast::<u32>()?, starts.view(), spectra, out.view_mut())
        };
        launch(&mut self.out).map_err(End::failed)?;
        let check = self.check(bench, case, &plan, spectra, [start(0), start(1)])?;
        let timing = bench.time(|_| launch(&mut self.out)).map_err(End::failed)?;
        let work = (spectra * step * INPUTS) as f64;
        bench.add(Measured {
            kernel: "filter",
            variant: match section {
                Some(section) => format!("{bits} bits, {taps} taps, by {section}"),
                None => format!("{bits} bits to f32, {taps} taps"),
            },
            params: params([("channels", channels), ("spectra", spectra), ("inputs", INPUTS)]),
            timing,
            work,
            unit: "Gsamples/s",
            bound: Some(ceilings.bytes(work * (f64::from(bits) / 8.0 + 4.0))),
            check,
        });
        Ok(())
    }

    /// Compares spectra of each input with the reference.
    fn check(
        &self,
        bench: &Bench,
        case: Case,
        plan: &Channelizer,
        spectra: usize,
        starts: [u64; INPUTS],
    ) -> Result<String, End> {
        let (step, bits) = (plan.step(), u64::from(case.bits));
        let mut worst = 0.0f64;
        for (input, start) in starts.into_iter().enumerate() {
            for spectrum in [0, spectra / 3 + 1, spectra - 1] {
                let bit = start + (spectrum * step) as u64 * bits;
                let samples = plan.window_samples();
                let (byte, end) = ((bit / 8) as usize, (bit + samples as u64 * bits).div_ceil(8) as usize + 3);
                let bytes: Vec<u8> = self.samples.slice(byte..end)?.to_vec(&bench.stream)?;
                let sample = |index: usize| {
                    let at = bit % 8 + index as u64 * bits;
                    let window =
                        bytes[at as usize / 8..].iter().take(3).fold(0u32, |sum, &next| sum << 8 | u32::from(next));
                    f64::from((window << (8 + at % 8)) as i32 >> (32 - bits))
                };
                let x: Vec<f64> = (0..samples).map(sample).collect();
                let size: Vec<f64> = x.iter().map(|x| x.abs()).collect();
                let weights: Vec<f64> = plan.weights().iter().map(|w| w.abs()).collect();
                let expected = pfb_fir(&x, plan.weights(), step, 0, 1);
                // A rounding of each weight and one of each sum.
                let bounds = pfb_fir(&size, &weights, step, 0, 1) * (1.001 * 2f64.powi(-24) * (case.taps + 1) as f64);
                let at = (input * spectra + spectrum) * step;
                let found = self.out.slice(at..at + step)?.to_vec(&bench.stream)?;
                for ((column, &found), (&expected, &bound)) in
                    found.iter().enumerate().zip(expected.iter().zip(bounds.iter()))
                {
                    let error = (f64::from(found) - expected).abs();
                    worst = worst.max(error / bound.max(f64::MIN_POSITIVE));
                    if error.is_nan() || error > bound {
                        let place = format!("input {input}, spectrum {spectrum}, column {column}");
                        let plan = format!("{} channels, {} taps, {bits} bits", case.channels, case.taps);
                        return Err(End::failed(format!("filter, {plan}: {place}: {found} for {expected}")));
                    }
                }
            }
        }
        Ok(format!("6 spectra against the reference: largest error {worst:.2} of the bound"))
    }
}
