//! Down-conversion of an endless stream of chunks.
//!
//! ```text
//! absolute samples  | held from the last chunks | chunk                         |
//! output j              [--- S j .. S j + K ---------]                made from both, joined in a small array
//! output j + 1                      [-----------------------]         likewise
//! output j + 2                                   [-----------------------]      read from the chunk in place
//! ```

use fringes_backend::{Backend, DeviceError};
use fringes_cpu::memory::try_zeroed_vec;
use fringes_types::{Inputs, Sample, SamplePresence, Samples, TypesError};
use ndarray::{Array2, ArrayView2, ArrayViewMut2, s};
use num_complex::Complex;

use super::DownConverter;
use crate::ChannelizerError;
use crate::channelizer::check_counter;
use crate::presence::MissingSamples;

/// A down-converter that takes a stream chunk by chunk and gives the outputs that are complete.
///
/// Chunks of any size give the same bits as [`crate::down_convert`] of the whole stream. The stream holds fewer samples than the
/// filter has taps, of each input.
///
/// # Missing data
/// An output is marked absent for an input if a sample that it is made of is; it is 0. If a chunk starts after the end of
/// the one before it, no output is made across the gap: the stream begins anew with that chunk, still on the run's grid of
/// outputs, and the `first_sample` of the result says where.
///
/// # Errors
/// Every method leaves the stream as it was when it fails.
#[derive(Debug, Clone)]
pub struct DownConverterStream {
    backend: Backend,
    plan: DownConverter,
    inputs: Inputs,
    state: Option<State>,
}

/// What must not change from chunk to chunk.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Axes {
    complex: bool,
    sample_rate_hz: f64,
    centre_hz: Option<f64>,
}

/// Where the stream is.
#[derive(Debug, Clone)]
struct State {
    axes: Axes,
    /// The sample after the last one taken.
    received: u64,
    /// Number of the next output.
    next_output: u64,
    /// Samples that the next outputs need, `[input][time]`, up to `received`.
    held: Array2<Complex<f32>>,
    /// Missing samples of each input.
    missing: Vec<MissingSamples>,
    /// Whether a chunk had presence flags.
    flagged: bool,
}

impl State {
    fn begin(axes: Axes, first_sample: u64, plan: &DownConverter, inputs: usize) -> Self {
        Self {
            axes,
            received: first_sample,
            next_output: first_sample.div_ceil(plan.decimation as u64),
            held: Array2::zeros((inputs, 0)),
            missing: vec![MissingSamples::default(); inputs],
            flagged: false,
        }
    }
}

impl DownConverterStream {
    /// A stream of the given inputs.
    ///
    /// # Errors
    /// [`DeviceError::MemoryLimit`](fringes_backend::DeviceError::MemoryLimit) if the backend's limit does not hold the scratch of one output of real samples.
    pub fn new(backend: &Backend, plan: DownConverter, inputs: Inputs) -> Result<Self, ChannelizerError> {
        backend.check_cpu("down_convert", plan.conversion.scratch_bytes(false, 1))?;
        Ok(Self { backend: backend.clone(), plan, inputs, state: None })
    }

    /// The plan.
    pub fn plan(&self) -> &DownConverter {
        &self.plan
    }

    /// Inputs of the stream.
    pub fn inputs(&self) -> Inputs {
        self.inputs
    }

    /// Sample counter that the next chunk starts at if nothing is lost; `None` before the first chunk.
    pub fn expected_sample(&self) -> Option<u64> {
        self.state.as_ref().map(|state| state.received)
    }

    /// Number of the next output, counted from sample 0 of the run; `None` before the first chunk.
    pub fn next_output(&self) -> Option<u64> {
        self.state.as_ref().map(|state| state.next_output)
    }

    /// Forgets all samples: the next chunk begins the stream anew, with any sample counter, type and rate.
    pub fn reset(&mut self) {
        self.state = None;
    }

    /// Takes a chunk and gives the outputs that are complete with it, `None` if there are none.
    ///
    /// # Precision
    /// As [`crate::down_convert`].
    ///
    /// # Errors
    /// [`ChannelizerError::Inputs`], [`ChannelizerError::SampleKind`] or [`ChannelizerError::Axis`] if real or complex, rate or
    /// centre changed, [`ChannelizerError::Counter`], [`ChannelizerError::OutOfOrder`] for a chunk that starts before the end of
    /// the last one, [`DeviceError::MemoryLimit`](fringes_backend::DeviceError::MemoryLimit), [`TypesError::TooLarge`].
    pub fn push<S: Sample>(&mut self, chunk: &Samples<S>) -> Result<Option<Samples<Complex<f32>>>, ChannelizerError> {
        let axes = self.check(chunk)?;
        if chunk.times() == 0 {
            return Ok(None);
        }
        let (first_sample, times) = (chunk.first_sample(), chunk.times());
        let _span = tracing::debug_span!("down-convert chunk", first_sample, times).entered();
        let (decimation, taps) = (self.plan.decimation as u64, self.plan.filter.len());

        let mut state = match &self.state {
            Some(state) if state.received == first_sample => state.clone(),
            _ => State::begin(axes, first_sample, &self.plan, self.inputs.len()),
        };
        let end = first_sample + times as u64;
        // All of these are below the limit on counters plus one decimation, which check_counter leaves room for.
        let available = match end.checked_sub(taps as u64) {
            Some(last_start) if last_start / decimation >= state.next_output => {
                (last_start / decimation - state.next_output + 1) as usize
            }
            _ => 0,
        };
        for (input, missing) in state.missing.iter_mut().enumerate() {
            missing.append(chunk.presence(), input, first_sample as i64, times);
        }
        state.flagged |= chunk.presence().is_some();
        let output = match available {
            0 => None,
            _ => Some(self.outputs(&state, chunk, available)?),
        };
        state.next_output += available as u64;
        self.hold(&mut state, chunk);
        self.state = Some(state);
        Ok(output)
    }

    /// `Ok` if the chunk can follow those before it.
    fn check<S: Sample>(&self, chunk: &Samples<S>) -> Result<Axes, ChannelizerError> {
        if chunk.inputs() != self.inputs {
            return Err(ChannelizerError::Inputs { expected: self.inputs, actual: chunk.inputs() });
        }
        check_counter(chunk.first_sample(), chunk.times())?;
        let axes = Axes { complex: S::COMPLEX, sample_rate_hz: chunk.sample_rate_hz(), centre_hz: chunk.centre_hz() };
        let Some(State { axes: before, received, .. }) = &self.state else { return Ok(axes) };
        if axes.complex != before.complex {
            return Err(ChannelizerError::SampleKind { expected_complex: before.complex });
        }
        let differs =
            |quantity, expected: String, actual: String| Err(ChannelizerError::Axis { quantity, expected, actual });
        if axes.sample_rate_hz != before.sample_rate_hz {
            let (expected, actual) = (before.sample_rate_hz.to_string(), axes.sample_rate_hz.to_string());
            return differs("sample_rate_hz", expected, actual);
        }
        if axes.centre_hz != before.centre_hz {
            return differs("centre_hz", format!("{:?}", before.centre_hz), format!("{:?}", axes.centre_hz));
        }
        if chunk.first_sample() < *received && chunk.times() > 0 {
            return Err(ChannelizerError::OutOfOrder { expected: *received, actual: chunk.first_sample() });
        }
        Ok(axes)
    }

    /// Outputs `state.next_output ..`, `available` of them, from what is held and the chunk.
    fn outputs<S: Sample>(
        &self,
        state: &State,
        chunk: &Samples<S>,
        available: usize,
    ) -> Result<Samples<Complex<f32>>, ChannelizerError> {
        let (decimation, taps) = (self.plan.decimation, self.plan.filter.len());
        let (inputs, held) = (self.inputs.len(), state.held.ncols());
        let too_large = || {
            let elements = format!("{inputs} x {available}");
            TypesError::TooLarge { array: "down-converted samples", elements }
        };
        let out = available.checked_mul(inputs).and_then(try_zeroed_vec).ok_or_else(too_large)?;
        let mut out = Array2::from_shape_vec((inputs, available), out).map_err(|_| too_large())?;

        // Outputs that start in what is held: `held` samples lie before the chunk, and the first output starts at the first.
        let joined = held.div_ceil(decimation).min(available);
        if joined > 0 {
            let length = (joined - 1) * decimation + taps;
            let from_chunk = chunk.data().slice_move(s![.., ..length - held]);
            let to = out.slice_mut(s![.., ..joined]);
            if S::COMPLEX {
                let new = from_chunk.mapv(S::to_c32);
                self.convert::<Complex<f32>>(join(state.held.view(), new.view()).view(), state.next_output, to)?;
            } else {
                let (held, new) = (state.held.mapv(|value| value.re), from_chunk.mapv(S::re_f32));
                self.convert::<f32>(join(held.view(), new.view()).view(), state.next_output, to)?;
            }
        }
        if joined < available {
            let first = state.next_output + joined as u64;
            let start = (first * decimation as u64 - chunk.first_sample()) as usize;
            let length = (available - joined - 1) * decimation + taps;
            let from_chunk = chunk.data().slice_move(s![.., start..start + length]);
            self.convert(from_chunk, first, out.slice_mut(s![.., joined..]))?;
        }

        let presence = state.flagged.then(|| self.presence(state, out.view_mut()));
        let mut samples = Samples::new(out, self.inputs)?
            .with_sample_rate(chunk.sample_rate_hz() / decimation as f64)?
            .with_first_sample(state.next_output);
        if let Some(centre_hz) = chunk.centre_hz() {
            // What lies at 0 cycles per sample: a quarter of the rate below the middle of a real band.
            let zero_hz = if S::COMPLEX { centre_hz } else { centre_hz - chunk.sample_rate_hz() / 4.0 };
            let centre_hz = zero_hz + self.plan.centre_cycles_per_sample * chunk.sample_rate_hz();
            samples = samples.with_centre_frequency(centre_hz)?;
        }
        if let Some(flags) = presence {
            samples = samples.with_presence(SamplePresence::new(1, flags)?)?;
        }
        Ok(samples)
    }

    fn convert<S: Sample>(
        &self,
        samples: ArrayView2<'_, S>,
        first_output: u64,
        out: ArrayViewMut2<'_, Complex<f32>>,
    ) -> Result<(), ChannelizerError> {
        let conversion = &self.plan.conversion;
        let limit = self.backend.memory_limit();
        let Some(split) = conversion.split(S::COMPLEX, limit) else {
            let (needed, limit) = (conversion.scratch_bytes(S::COMPLEX, 1), limit.unwrap_or(0));
            return Err(DeviceError::MemoryLimit { operation: "down_convert", needed, limit }.into());
        };
        fringes_cpu::ddc::down_convert_into(conversion, samples, first_output, split, out);
        Ok(())
    }

    /// Flags `[input][output]`; outputs that are made of missing samples are set to 0.
    fn presence(&self, state: &State, mut out: ArrayViewMut2<'_, Complex<f32>>) -> Array2<bool> {
        let decimation = self.plan.decimation as u64;
        let mut flags = Array2::from_elem(out.dim(), true);
        for ((input, index), flag) in flags.indexed_iter_mut() {
            let start = ((state.next_output + index as u64) * decimation) as i64;
            if state.missing[input].any_in(start..start + self.plan.filter.len() as i64) {
                *flag = false;
                out[(input, index)] = Complex::new(0.0, 0.0);
            }
        }
        flags
    }

    /// Keeps what the next outputs need.
    fn hold<S: Sample>(&self, state: &mut State, chunk: &Samples<S>) {
        let end = chunk.first_sample() + chunk.times() as u64;
        // The next output may start after the end, if the decimation is larger than the filter.
        let from = state.next_output.saturating_mul(self.plan.decimation as u64).min(end);
        state.held = match from.checked_sub(chunk.first_sample()) {
            Some(skip) => chunk.data().slice(s![.., skip as usize..]).mapv(S::to_c32),
            None => {
                let older = (chunk.first_sample() - from) as usize;
                let held = state.held.slice(s![.., state.held.ncols() - older..]);
                join(held, chunk.data().mapv(S::to_c32).view())
            }
        };
        state.missing.iter_mut().for_each(|missing| missing.discard_before(from as i64));
        state.received = end;
    }
}

/// `[input][time]` of `a`, then of `b`.
fn join<T: Copy + Default>(a: ArrayView2<'_, T>, b: ArrayView2<'_, T>) -> Array2<T> {
    let mut joined = Array2::default((a.nrows(), a.ncols() + b.ncols()));
    joined.slice_mut(s![.., ..a.ncols()]).assign(&a);
    joined.slice_mut(s![.., a.ncols()..]).assign(&b);
    joined
}
