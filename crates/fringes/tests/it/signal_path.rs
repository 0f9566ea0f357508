//! The operations one after another, as a user joins them: samples `[input][time]` to visibilities and beams.

use std::f64::consts::TAU;

use fringes::ndarray::{Array2, Array3};
use fringes::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

const CHANNELS: usize = 64;
const STEP: usize = 2 * CHANNELS;

/// Real samples of a source that antenna `a` hears `delays[a]` samples late: tones of random frequency and phase, so
/// that a delay by any fraction of a sample is exact.
fn source(delays: &[f64], samples: usize) -> Array2<f32> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(7);
    let tones: Vec<[f64; 2]> =
        (0..400).map(|_| [random.random_range(0.02..0.48), random.random_range(0.0..1.0)]).collect();
    Array2::from_shape_fn((delays.len(), samples), |(antenna, time)| {
        let time = time as f64 - delays[antenna];
        tones.iter().map(|[frequency, phase]| (TAU * (frequency * time + phase)).cos()).sum::<f64>() as f32
    })
}

/// Visibilities of samples that a stream delays by `models`.
fn visibilities(data: Array2<f32>, models: Vec<DelayModel>) -> Result<Visibilities<Complex<f64>>, fringes::Error> {
    let backend = Backend::auto();
    let inputs = Inputs::single_pol(models.len())?;
    let plan = Channelizer::real(CHANNELS).taps(8).build()?;
    let mut stream = ChannelizerStream::new(&backend, plan, inputs)?.with_delays(models)?;
    let mut correlator = Correlator::new(&backend, inputs, CHANNELS)?;
    // Chunks of a length that has nothing to do with the spectra.
    for start in (0..data.ncols()).step_by(997) {
        let end = (start + 997).min(data.ncols());
        let chunk = data.slice(fringes::ndarray::s![.., start..end]).to_owned();
        let chunk = Samples::new(chunk, inputs)?.with_first_sample(start as u64);
        if let Some(voltages) = stream.push(&chunk)? {
            correlator.accumulate(&voltages, 0..voltages.times())?;
        }
    }
    Ok(correlator.dump(BaselineOrder::Triangle)?)
}

#[test]
fn delaying_the_early_antenna_and_turning_the_band_centre_stops_the_fringe() {
    // Antenna 1 hears the source 5.25 samples late, so antenna 0 is delayed by as much. The channelizer delays relative
    // to the band centre, a quarter of the sample rate; the phase term does the rest, -delay / 4 turns.
    let delay = 5.25;
    let data = source(&[0.0, delay], 200 * STEP);
    let models = vec![DelayModel::constant(delay, -delay / 4.0).unwrap(), DelayModel::zero()];
    let stopped = visibilities(data.clone(), models).unwrap();
    let unstopped = visibilities(data, vec![DelayModel::zero(), DelayModel::zero()]).unwrap();
    // The fine delay is one phase a channel: a tone at the edge of its channel's neighbour, 1.5 channels away, is wrong
    // by 2 pi fine 1.5 / STEP.
    let bound = TAU * 0.25 * 1.5 / STEP as f64;
    for channel in 4..60 {
        let phase = stopped.get(channel, 1, 0).unwrap().arg();
        assert!(phase.abs() < bound, "channel {channel}: phase {phase} rad, bound {bound}");
        assert!(stopped.coherence(channel, 1, 0).unwrap().norm() > bound.cos(), "channel {channel}");
        // Without delay the fringe turns by -2 pi f d. A channel's tones are up to 1.5 channels from its middle, and
        // the windows of the two antennas see the source shifted by d of their 8 STEP samples.
        let expected = -TAU * delay * channel as f64 / STEP as f64;
        let turned = unstopped.get(channel, 1, 0).unwrap() * Complex::cis(-expected);
        let bound = TAU * delay * 1.5 / STEP as f64 + delay / STEP as f64;
        assert!(turned.arg().abs() < bound, "channel {channel}: phase {} rad, bound {bound}", turned.arg());
    }
}

#[test]
fn beams_steered_at_the_source_add_up_and_match_the_correlator() {
    // The power of a beam is sum_ab w_a V_ab conj(w_b): beams and visibilities of the same voltages must agree.
    let inputs = Inputs::single_pol(3).unwrap();
    let backend = Backend::auto();
    let samples = Samples::new(source(&[0.0, 2.0, 7.0], 50 * STEP), inputs).unwrap();
    let plan = Channelizer::real(CHANNELS).taps(4).build().unwrap();
    let voltages = channelize(&backend, &samples, &plan).unwrap();
    let quantised = quantise::<Complex<i8>, _>(&backend, &voltages, &Gains::uniform(1.0).unwrap()).unwrap().voltages;
    let weights = Array3::from_shape_fn((2, CHANNELS, 3), |(beam, channel, input)| {
        let delay = if beam == 0 { [0.0, 2.0, 7.0][input] } else { 0.0 };
        Complex::cis((TAU * delay * channel as f64 / STEP as f64) as f32)
    });
    let visibilities = correlate(&backend, &quantised, BaselineOrder::Full).unwrap();
    let beams = beamform(&backend, &quantised, &BeamWeights::new(weights.clone()).unwrap()).unwrap();
    let mut powers = [0.0; 2];
    for channel in 0..CHANNELS {
        for beam in 0..2 {
            let power: f64 = (0..quantised.times())
                .map(|time| {
                    let value = beams.data()[(channel, time, beam)];
                    f64::from(value.re).powi(2) + f64::from(value.im).powi(2)
                })
                .sum();
            let weight = |input| {
                let weight: Complex<f32> = weights[(beam, channel, input)];
                Complex::new(f64::from(weight.re), f64::from(weight.im))
            };
            let mut expected = 0.0;
            let mut magnitude = 0.0;
            for a in 0..3 {
                for b in 0..3 {
                    let value = visibilities.get(channel, a, b).unwrap();
                    expected += (weight(a) * value * weight(b).conj()).re;
                    magnitude += visibilities.get(channel, a, a).unwrap().re.sqrt()
                        * visibilities.get(channel, b, b).unwrap().re.sqrt();
                }
            }
            // The stated bound of a beam, 1.5 (2 inputs + 2) u sum |w| |x|, twice for a square.
            let bound = 2.0 * 1.5 * 8.0 * 0.5 * f64::from(f32::EPSILON) * magnitude;
            assert!((power - expected).abs() <= bound, "channel {channel}, beam {beam}: {power} {expected} {bound}");
            powers[beam] += power;
        }
    }
    assert!(powers[0] > 2.0 * powers[1], "{powers:?}");
}

#[test]
fn missing_samples_reach_the_baselines_as_counts() {
    let inputs = Inputs::single_pol(2).unwrap();
    let mut flags = Array2::from_elem((2, 10), true);
    flags[(1, 4)] = false; // one packet of input 1, of a spectrum's length
    let presence = SamplePresence::new(STEP, flags).unwrap();
    let samples = Samples::new(Array2::<i16>::ones((2, 10 * STEP)), inputs).unwrap().with_presence(presence).unwrap();
    let backend = Backend::auto();
    let voltages = channelize(&backend, &samples, &Channelizer::real(CHANNELS).taps(3).build().unwrap()).unwrap();
    let visibilities = correlate(&backend, &voltages, BaselineOrder::Triangle).unwrap();
    // Eight spectra of three taps; three of them need the packet.
    assert_eq!(visibilities.valid_samples().to_vec(), [8, 5, 5]);
}

#[cfg(feature = "io")]
#[test]
fn every_operation_reports_into_one_error() {
    fn wrong(case: usize) -> Result<(), fringes::Error> {
        let backend = Backend::auto();
        let inputs = Inputs::single_pol(2)?;
        let voltages = Voltages::new(Array3::from_elem((3, 4, 2), Complex::new(1i8, 0)), inputs)?;
        match case {
            0 => drop(Inputs::new(0, 1)?),
            1 => drop(DelayModel::constant(f64::NAN, 0.0)?),
            2 => drop(Channelizer::real(0).build()?),
            3 => drop(correlate(&backend, &voltages, BaselineOrder::AntennaPairs)?),
            4 => drop(beamform(&backend, &voltages, &BeamWeights::new(Array3::zeros((1, 3, 5)))?)?),
            _ => drop(fringes::io::read::open(&[], &Default::default())?),
        }
        Ok(())
    }
    let kind = |case: usize| match wrong(case).unwrap_err() {
        fringes::Error::Types(_) => 0,
        fringes::Error::Delay(_) => 1,
        fringes::Error::Channelizer(_) => 2,
        fringes::Error::Correlator(_) => 3,
        fringes::Error::Beamformer(_) => 4,
        fringes::Error::Io(_) => 5,
        other => panic!("{other}"),
    };
    assert_eq!((0..6).map(kind).collect::<Vec<_>>(), [0, 1, 2, 3, 4, 5]);
    assert_eq!(wrong(2).unwrap_err().to_string(), "channels: expected at least 1, found 0");
}
