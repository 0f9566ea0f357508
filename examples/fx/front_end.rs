//! Samples in, channelised voltages out: a filter bank for each recorded channel, or nothing where the recording has
//! been through one and is taken as it is.

use fringes::{Backend, Channelizer, ChannelizerStream, Complex, Frequencies, Voltages, Window};
use ndarray::{ArrayView3, Axis, concatenate};

use crate::args::Arguments;
use crate::failure::{At, Failure, Result};
use crate::observation::{Chunk, Observation};
use crate::tracking::Tracking;

/// Channels of recordings that are not channelised, unless the command line says otherwise.
const CHANNELS: usize = 256;

/// How samples become voltages.
pub(crate) struct FrontEnd {
    /// One a recorded channel; empty where recorded channels are taken as they are.
    banks: Vec<ChannelizerStream>,
    channels: usize,
    /// Channels of a recorded channel.
    each: usize,
    complex: bool,
    stride: usize,
    window: usize,
    frequencies: Frequencies,
}

impl FrontEnd {
    /// The front end for an observation.
    pub(crate) fn new(
        arguments: &Arguments,
        backend: &Backend,
        observation: &Observation,
        tracking: Option<&Tracking>,
    ) -> Result<Self> {
        let recorded = observation.recorded_channels;
        let channels = arguments.channels.unwrap_or(if observation.channelised {
            recorded
        } else {
            CHANNELS.div_ceil(recorded) * recorded
        });
        if channels == 0 {
            return Err(Failure::at("--channels", "expected at least 1, found 0"));
        }
        if arguments.taps == 0 {
            return Err(Failure::at("--taps", "expected at least 1, found 0"));
        }
        if !channels.is_multiple_of(recorded) {
            let what = format!("expected a multiple of the {recorded} recorded channels, found {channels}");
            return Err(Failure::at("--channels", what));
        }
        let frequencies = frequencies(observation, channels)?;
        let as_recorded = observation.complex && channels == recorded;
        if as_recorded && tracking.is_none() {
            return Ok(Self { banks: Vec::new(), channels, each: 1, complex: true, stride: 1, window: 1, frequencies });
        }
        let builder = match (as_recorded, observation.complex) {
            // A bank of one channel changes nothing but what the delays do.
            (true, _) => Channelizer::complex(1).taps(1).window(Window::Rect).w_cutoff(0.0),
            (false, complex) => {
                let each = channels / recorded;
                let builder = if complex { Channelizer::complex(each) } else { Channelizer::real(each) };
                builder.taps(arguments.taps).window(arguments.window.window()).w_cutoff(arguments.cutoff())
            }
        };
        let plan = builder.build().at("--channels, --taps")?;
        let (stride, window) = (plan.stride(), plan.window_samples());
        let mut banks = Vec::with_capacity(recorded);
        for _ in 0..recorded {
            banks.push(ChannelizerStream::new(backend, plan.clone(), observation.inputs)?);
        }
        if let Some(tracking) = tracking {
            let models = tracking.models(observation)?;
            banks = banks
                .into_iter()
                .zip(models)
                .map(|(bank, models)| bank.with_delays(models))
                .collect::<Result<_, _>>()?;
        }
        let each = channels / recorded;
        Ok(Self { banks, channels, each, complex: observation.complex, stride, window, frequencies })
    }

    /// Channels in all.
    pub(crate) fn channels(&self) -> usize {
        self.channels
    }

    /// Samples from one spectrum to the next.
    pub(crate) fn stride(&self) -> usize {
        self.stride
    }

    /// Samples that a spectrum is made of.
    pub(crate) fn window(&self) -> usize {
        self.window
    }

    /// Channel frequencies: on the sky if they are known there, offsets within the recorded band if not.
    pub(crate) fn frequencies(&self) -> Frequencies {
        self.frequencies
    }

    /// Whether a channel is at 0 Hz of the samples, or next to it, where the offset of an ADC lies; `[channel]`.
    /// Nothing of banks of fewer than eight channels.
    pub(crate) fn offset_channels(&self) -> Vec<bool> {
        let zero = if self.complex { self.each / 2 } else { 0 };
        (0..self.channels).map(|channel| self.each >= 8 && (channel % self.each).abs_diff(zero) <= 1).collect()
    }

    /// Takes samples and returns the spectra that they complete.
    pub(crate) fn push(&mut self, chunk: &Chunk) -> Result<Option<Voltages<Complex<f32>>>> {
        let mut parts = Vec::new();
        match chunk {
            Chunk::Recorded(block) if self.banks.is_empty() => parts.push(block.voltages()?),
            Chunk::Recorded(block) => {
                for (channel, bank) in self.banks.iter_mut().enumerate() {
                    parts.extend(bank.push(block.samples(channel)?.as_chunk())?);
                }
            }
            Chunk::Integer(samples) => {
                for bank in &mut self.banks {
                    parts.extend(bank.push(samples.as_ref())?);
                }
            }
        }
        let voltages = join(parts)?;
        Ok(voltages.map(|voltages| voltages.with_frequencies(self.frequencies)).transpose()?)
    }
}

/// Frequencies of the channels.
fn frequencies(observation: &Observation, channels: usize) -> Result<Frequencies> {
    let each = channels / observation.recorded_channels;
    let rate = observation.sample_rate_hz;
    // Width of a recorded channel, of a channel, and from the recorded channel's centre to its first channel's.
    let width = if observation.complex { rate } else { rate / 2.0 };
    let step_hz = width / each as f64;
    let first = if observation.complex { (each / 2) as f64 * step_hz } else { width / 2.0 };
    let centres = observation.centres.unwrap_or(Frequencies {
        // Offsets from the band's lower end (real) or from its middle (complex).
        first_hz: if observation.complex {
            -(observation.recorded_channels as f64 - 1.0) / 2.0 * width
        } else {
            width / 2.0
        },
        step_hz: width,
    });
    let apart = observation.recorded_channels > 1 && (centres.step_hz / width - 1.0).abs() > 1e-6;
    if apart && each > 1 {
        let what = format!(
            "recorded channels are {} Hz apart and {width} Hz wide: they cannot be split further, leave out --channels",
            centres.step_hz
        );
        return Err(Failure::at("--channels", what));
    }
    if each == 1 && observation.complex {
        return Ok(centres);
    }
    Ok(Frequencies { first_hz: centres.first_hz - first, step_hz })
}

/// Voltages of all recorded channels as one.
fn join(mut parts: Vec<Voltages<Complex<f32>>>) -> Result<Option<Voltages<Complex<f32>>>> {
    if parts.len() < 2 {
        return Ok(parts.pop());
    }
    let (inputs, clock) = (parts[0].inputs(), parts[0].clock());
    let presence = parts[0].presence().map(|flags| flags.to_owned());
    let views: Vec<ArrayView3<'_, Complex<f32>>> = parts.iter().map(|part| part.data()).collect();
    let data = concatenate(Axis(0), &views).at("recorded channels")?;
    let mut voltages = Voltages::from_checked(data, inputs)?.with_clock(clock)?;
    if let Some(flags) = presence {
        voltages = voltages.with_presence(flags)?;
    }
    Ok(Some(voltages))
}
