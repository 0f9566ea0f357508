//! What pictures need of the dumps, in bounded memory.

use std::sync::{Arc, Mutex, PoisonError};

use fringes::Complex;
use fringes::stream::BoxError;
use fringes::stream::sink::{Dump, Product, Sink, Takes};
use ndarray::{Array1, Array2};

/// Most rows that are kept; two are then made one.
const MOST_ROWS: usize = 600;

/// The power of one input over frequency, closure phases and what was missing, by time.
#[derive(Debug, Clone, Default)]
pub(crate) struct Summary {
    /// Dumps of a row.
    pub(crate) dumps_per_row: usize,
    /// Mean power of input 0 `[row][channel]`; NaN where nothing was valid.
    pub(crate) power: Vec<Array1<f64>>,
    /// Sums of the triple product of antennas 0, 1, 2 over channels, `[row]`; empty with fewer antennas.
    pub(crate) closure: Vec<Complex<f64>>,
    /// Share of each input's spectra that was there `[row][input]`.
    pub(crate) valid: Vec<Array1<f64>>,
    /// Share of input 0's spectra that was not masked `[row][channel]`.
    pub(crate) unmasked: Vec<Array1<f64>>,
    /// Sum of all dumps, and of their valid spectra, `[channel][baseline]`.
    pub(crate) sum: Option<(Array2<Complex<f64>>, Array2<f64>)>,
    /// Samples of a dump.
    pub(crate) dump_samples: u64,
    /// Dumps in the row under way.
    open: usize,
}

/// Place of a pair of inputs in the packed lower triangle.
pub(crate) fn place(a: usize, b: usize) -> usize {
    a * (a + 1) / 2 + b
}

impl Summary {
    fn add(&mut self, dump: &Dump, pols: usize, inputs: usize) {
        let (sums, came) = (dump.sums.to_c64(), dump.sums.valid_samples().mapv(|count| count as f64));
        let valid = Array2::from_shape_fn(sums.dim(), |(channel, baseline)| dump.sums.valid(channel, baseline) as f64);
        let times = dump.sums.times() as f64;
        let power = Array1::from_shape_fn(sums.nrows(), |channel| sums[(channel, 0)].re / valid[(channel, 0)]);
        let unmasked = valid.column(0).mapv(|count| count / came[0]);
        let share = Array1::from_shape_fn(inputs, |input| came[place(input, input)] / times);
        let mut closure = Complex::new(0.0, 0.0);
        if inputs >= 3 * pols {
            let of = |a: usize, b: usize| sums.column(place(a * pols, b * pols));
            for ((&first, &second), &third) in of(1, 0).iter().zip(of(2, 1)).zip(of(2, 0)) {
                // Each to unit scale, so that a tone does not outweigh the band.
                let product = first * second * third.conj();
                let size = product.norm();
                if size > 0.0 {
                    closure += product / size.powf(2.0 / 3.0);
                }
            }
        }
        match &mut self.sum {
            None => self.sum = Some((sums, valid)),
            Some((all, counts)) => {
                *all += &sums;
                *counts += &valid;
            }
        }
        self.dumps_per_row = self.dumps_per_row.max(1);
        if self.open == 0 {
            self.power.push(power);
            self.closure.push(closure);
            self.valid.push(share);
            self.unmasked.push(unmasked);
        } else if let (Some(before), Some(phases), Some(shares), Some(masks)) =
            (self.power.last_mut(), self.closure.last_mut(), self.valid.last_mut(), self.unmasked.last_mut())
        {
            let weight = 1.0 / (self.open + 1) as f64;
            *before = &*before * (1.0 - weight) + power * weight;
            *phases += closure;
            *shares = &*shares * (1.0 - weight) + share * weight;
            *masks = &*masks * (1.0 - weight) + unmasked * weight;
        }
        self.open = (self.open + 1) % self.dumps_per_row;
        if self.power.len() >= MOST_ROWS && self.open == 0 {
            self.power = self.power.chunks(2).map(mean).collect();
            self.valid = self.valid.chunks(2).map(mean).collect();
            self.unmasked = self.unmasked.chunks(2).map(mean).collect();
            self.closure = self.closure.chunks(2).map(|pair| pair.iter().sum()).collect();
            self.dumps_per_row *= 2;
        }
    }
}

fn mean(of: &[Array1<f64>]) -> Array1<f64> {
    match of {
        [first, second] => (first + second) / 2.0,
        [first, ..] => first.clone(),
        [] => Array1::zeros(0),
    }
}

/// Makes a summary of the dumps of cadence 0.
#[derive(Debug, Clone, Default)]
pub(crate) struct SummarySink(Arc<Mutex<Summary>>);

/// What the sink has made.
pub(crate) struct SummaryOf(Arc<Mutex<Summary>>);

impl SummaryOf {
    pub(crate) fn take(&self) -> Summary {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl SummarySink {
    pub(crate) fn new() -> (Self, SummaryOf) {
        let sink = Self::default();
        let summary = SummaryOf(sink.0.clone());
        (sink, summary)
    }
}

impl Sink for SummarySink {
    fn name(&self) -> &str {
        "pictures"
    }

    fn takes(&self) -> Takes {
        Takes::Dumps { cadence: 0 }
    }

    fn write(&mut self, product: &Product) -> Result<(), BoxError> {
        let Product::Dump(dump) = product else { return Ok(()) };
        let inputs = dump.sums.inputs();
        let mut summary = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        summary.dump_samples = dump.sums.samples();
        summary.add(dump, inputs.pols(), inputs.len());
        Ok(())
    }

    fn finish(&mut self) -> Result<(), BoxError> {
        Ok(())
    }
}
