//! Samples to integrated spectra: of the whole band and of the zoom.

use fringes::correlator::Correlator;
use fringes::design::DownConversionFilter;
use fringes::prelude::*;

use crate::args::Setup;
use crate::common::Failure;

/// Channels of the whole band.
const BAND_CHANNELS: usize = 1024;
const TAPS: usize = 8;
/// Taps of the down-converter's filter for each sample of the decimation.
const FILTER_TAPS: usize = 16;
/// What noise is to have in a part of an 8-bit channel: room for a line of a hundred times its power.
const PART: f64 = 8.0;
/// Standard deviation of the samples' noise.
const SIGMA: f64 = 20.0;

/// Powers and the cross-power of two antennas over frequency.
pub(crate) struct Spectra {
    pub(crate) frequencies_hz: Vec<f64>,
    pub(crate) channel_hz: f64,
    /// Powers of both, in units of their medians: 1 is the noise.
    pub(crate) powers: [Vec<f64>; 2],
    /// The second antenna's voltage times the first one's conjugate, in the same units.
    pub(crate) cross: Vec<Complex<f64>>,
    /// Spectra that were integrated.
    pub(crate) integrated: u64,
}

/// Both F-engines and their correlators.
pub(crate) struct Receiver {
    band: FEngine<Complex<i8>>,
    zoom: NarrowbandFEngine<Complex<i8>>,
    of_band: Correlator<Complex<i8>>,
    of_zoom: Correlator<Complex<i8>>,
}

impl Receiver {
    pub(crate) fn new(backend: &Backend, setup: &Setup) -> Result<Self, Failure> {
        let inputs = Inputs::single_pol(2)?;
        // White noise of sigma has sigma / sqrt(decimation) in a channel, and 1 / sqrt(2) of that in a part.
        let gain = |decimation: usize| Gains::uniform((PART * (2.0 * decimation as f64).sqrt() / SIGMA) as f32);

        let plan = Channelizer::real(BAND_CHANNELS).taps(TAPS).build()?;
        let delays = delays(setup, setup.band_hz, plan.window_samples())?;
        let band = FEngine::builder(plan, inputs).spectra_per_frame(64).dither(1).gains(gain(1)?);
        let band = band.delays(delays).build(backend)?;

        let filter = DownConversionFilter::outer_half_discarded(setup.decimation);
        let filter = filter.taps(FILTER_TAPS * setup.decimation).build()?;
        // The band's lower edge is 0 Hz of the digitiser.
        let centre = 0.25 + (setup.zoom_hz - setup.band_hz) / setup.sample_rate_hz;
        let down_converter = DownConverter::designed(centre, &filter)?;
        let plan = Channelizer::complex(setup.plan_channels).taps(TAPS).build()?;
        let zoom = NarrowbandFEngine::builder(down_converter, plan, inputs).outer_half_discarded();
        let zoom = zoom.spectra_per_frame(16).dither(2).gains(gain(setup.decimation)?);
        let mut zoom = zoom.build(backend)?;
        let delays = self::delays(setup, setup.zoom_hz, zoom.window_samples() as usize)?;
        zoom.delays_mut().iter_mut().zip(delays).for_each(|(own, delay)| *own = delay);

        let of_band = Correlator::new(backend, inputs, BAND_CHANNELS)?;
        let of_zoom = Correlator::new(backend, inputs, zoom.channels().len())?;
        Ok(Self { band, zoom, of_band, of_zoom })
    }

    /// Takes a chunk of samples.
    pub(crate) fn push(&mut self, samples: &Samples<i8>) -> Result<(), Failure> {
        for frames in self.band.push(samples)?.frames {
            self.of_band.accumulate(&frames.voltages, 0..frames.voltages.times())?;
        }
        for frames in self.zoom.push(samples)?.frames {
            self.of_zoom.accumulate(&frames.voltages, 0..frames.voltages.times())?;
        }
        Ok(())
    }

    /// Spectra of the band and of the zoom.
    pub(crate) fn finish(mut self) -> Result<(Spectra, Spectra), Failure> {
        let band = Spectra::of(&self.of_band.dump(BaselineOrder::Triangle)?);
        let zoom = Spectra::of(&self.of_zoom.dump(BaselineOrder::Triangle)?);
        Ok((band, zoom))
    }
}

/// The first antenna is to be delayed as the second one is, and the fringe stopped in the middle of the band. A
/// spectrum has the delay of its stamp, which is that of its first sample: the models are those of the middle of
/// windows.
fn delays(setup: &Setup, middle_hz: f64, window_samples: usize) -> Result<Vec<DelayModel>, Failure> {
    let [delay_s, rate] = setup.delay_s;
    let to_middle_s = 0.5 * window_samples as f64 / setup.sample_rate_hz;
    let segment = DelaySegment::from_seconds(0, &[delay_s + rate * to_middle_s, rate], setup.sample_rate_hz)?;
    let stopped = segment.with_fringe_stopping(middle_hz, setup.sample_rate_hz)?;
    Ok(vec![DelayModel::from_segment(stopped)?, DelayModel::zero()])
}

impl Spectra {
    fn of(visibilities: &Visibilities<Complex<i64>>) -> Self {
        let (frequencies, channels) = (visibilities.frequencies(), visibilities.channels());
        let of = |a, b| (0..channels).map(move |channel| visibilities.get(channel, a, b).unwrap_or_default());
        let powers = [0, 1].map(|antenna| of(antenna, antenna).map(|value| value.re).collect::<Vec<f64>>());
        let noise = [0, 1].map(|antenna: usize| median(&powers[antenna]));
        let between = (noise[0] * noise[1]).sqrt();
        let [first, second] = powers;
        Self {
            frequencies_hz: (0..channels).map(|channel| frequencies.channel_hz(channel)).collect(),
            channel_hz: frequencies.step_hz,
            powers: [(first, noise[0]), (second, noise[1])]
                .map(|(powers, noise)| powers.into_iter().map(|power| power / noise).collect()),
            cross: of(1, 0).map(|value| value / between).collect(),
            integrated: visibilities.valid_samples().first().copied().unwrap_or(0),
        }
    }

    /// Frequency of the middle channel.
    pub(crate) fn middle_hz(&self) -> f64 {
        self.frequencies_hz.get(self.frequencies_hz.len() / 2).copied().unwrap_or(0.0)
    }
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    // Without samples there is no power.
    sorted.get(sorted.len() / 2).copied().unwrap_or(0.0).max(f64::MIN_POSITIVE)
}
