//! Quantised or float voltages in, averaged visibilities out.

use std::time::{Duration, Instant};

use fringes::{
    Accumulator, Backend, BaselineOrder, Complex, Complex4, DumpSchedule, Inputs, Integrator, QuantisedSample,
    Visibilities, Voltages, quantise,
};
use ndarray::Array2;

use crate::args::Quantise;
use crate::failure::Result;
use crate::gains::AutoGains;

/// One integration: averages over the spectra that were present, in squared units of the channelised voltages.
pub(crate) struct Dump {
    /// Stamp of the integration: a whole multiple of its length.
    pub(crate) first_sample: u64,
    /// Averages `[channel][baseline]`, packed lower triangle.
    pub(crate) visibilities: Array2<Complex<f32>>,
    /// Spectra present on both inputs, `[baseline]`.
    pub(crate) valid: Vec<f32>,
}

/// What the correlation took.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Spent {
    /// Gain and rounding.
    pub(crate) quantise: Duration,
    /// Sums of products.
    pub(crate) correlate: Duration,
}

/// The steps after the filter bank.
pub(crate) trait Correlation {
    /// Takes voltages and returns the integrations that they complete.
    fn push(&mut self, voltages: Voltages<Complex<f32>>) -> Result<Vec<Dump>>;
    /// The last integration, which may be shorter than the others.
    fn finish(self: Box<Self>) -> Result<Option<Dump>>;
    /// Complex values so far that were beyond the quantiser's range.
    fn saturated(&self) -> u64;
    /// Time spent so far.
    fn spent(&self) -> Spent;
}

/// The steps for voltages of the given format.
pub(crate) fn correlation(
    quantise: Quantise,
    backend: &Backend,
    inputs: Inputs,
    channels: usize,
    schedule: DumpSchedule,
) -> Result<Box<dyn Correlation>> {
    // Root mean squares: 8 bits clip beyond 5 standard deviations; 2.9 levels lose least of Gaussian noise in 15
    // levels.
    Ok(match quantise {
        Quantise::Int8 => {
            Box::new(QuantisedCorrelation::<Complex<i8>>::new(backend, inputs, channels, schedule, 24.0)?)
        }
        Quantise::Int4 => Box::new(QuantisedCorrelation::<Complex4>::new(backend, inputs, channels, schedule, 2.9)?),
        Quantise::None => Box::new(FloatCorrelation {
            integrator: Integrator::new(backend, schedule, inputs, channels)?,
            spent: Spent::default(),
        }),
    })
}

struct FloatCorrelation {
    integrator: Integrator<Complex<f32>>,
    spent: Spent,
}

impl Correlation for FloatCorrelation {
    fn push(&mut self, voltages: Voltages<Complex<f32>>) -> Result<Vec<Dump>> {
        let start = Instant::now();
        let dumps = self.integrator.push(&voltages)?;
        self.spent.correlate += start.elapsed();
        Ok(dumps.iter().map(|dump| average(dump, |_, _| 1.0)).collect())
    }

    fn finish(self: Box<Self>) -> Result<Option<Dump>> {
        let mut integrator = self.integrator;
        Ok(integrator.finish()?.map(|dump| average(&dump, |_, _| 1.0)))
    }

    fn saturated(&self) -> u64 {
        0
    }

    fn spent(&self) -> Spent {
        self.spent
    }
}

struct QuantisedCorrelation<Q: QuantisedSample> {
    backend: Backend,
    integrator: Integrator<Q>,
    gains: AutoGains,
    saturated: u64,
    spent: Spent,
}

impl<Q: QuantisedSample> QuantisedCorrelation<Q> {
    fn new(backend: &Backend, inputs: Inputs, channels: usize, schedule: DumpSchedule, target: f64) -> Result<Self> {
        Ok(Self {
            backend: backend.or_cpu(), // quantising has no GPU kernel
            integrator: Integrator::new(backend, schedule, inputs, channels)?,
            gains: AutoGains::new(channels, inputs.len(), target)?,
            saturated: 0,
            spent: Spent::default(),
        })
    }
}

impl<Q: QuantisedSample> Correlation for QuantisedCorrelation<Q> {
    fn push(&mut self, voltages: Voltages<Complex<f32>>) -> Result<Vec<Dump>> {
        let start = Instant::now();
        let gains = self.gains.update(&voltages)?;
        let quantised = quantise::<Q, _>(&self.backend, &voltages, gains)?;
        drop(voltages);
        self.saturated += quantised.saturated.iter().sum::<u64>();
        let middle = Instant::now();
        let dumps = self.integrator.push(&quantised.voltages)?;
        self.spent.quantise += middle - start;
        self.spent.correlate += middle.elapsed();
        Ok(dumps.iter().map(|dump| average(dump, |channel, input| self.gains.of(channel, input))).collect())
    }

    fn finish(self: Box<Self>) -> Result<Option<Dump>> {
        let Self { mut integrator, gains, .. } = *self;
        Ok(integrator.finish()?.map(|dump| average(&dump, |channel, input| gains.of(channel, input))))
    }

    fn saturated(&self) -> u64 {
        self.saturated
    }

    fn spent(&self) -> Spent {
        self.spent
    }
}

/// Sums over the spectra that were present and the gains of both inputs; 0 where nothing was present.
fn average<A: Accumulator>(dump: &Visibilities<A>, gain: impl Fn(usize, usize) -> f64) -> Dump {
    let (inputs, valid) = (dump.inputs(), dump.valid_samples());
    let mut visibilities = Array2::zeros(dump.data().dim());
    for (baseline, &spectra) in valid.iter().enumerate() {
        let Some(product) = BaselineOrder::Triangle.product(inputs, baseline) else { continue };
        if spectra == 0 {
            continue;
        }
        for channel in 0..dump.data().nrows() {
            let scale = 1.0 / (spectra as f64 * gain(channel, product.a) * gain(channel, product.b));
            let value = dump.data()[(channel, baseline)].to_c64() * scale;
            visibilities[(channel, baseline)] = Complex::new(value.re as f32, value.im as f32);
        }
    }
    Dump {
        first_sample: dump.clock().first_sample,
        visibilities,
        valid: valid.iter().map(|&spectra| spectra as f32).collect(),
    }
}
