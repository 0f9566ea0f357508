//! The exact sum of every dump, spectrum by spectrum, by the definition of a dump alone.

use std::collections::BTreeMap;

use fringes::BaselineOrder;
use fringes::correlator::{DumpSchedule, MISSING_MARK, MissingData};

use crate::soak::plan::Plan;

/// A complex integer, real part first.
pub(crate) type Pair = (i64, i64);

/// Sums of a dump, of inputs `a >= b` at `a (a + 1) / 2 + b`.
#[derive(Debug, Clone)]
struct Sums {
    /// `[channel][baseline]`.
    values: Vec<Pair>,
    /// `[baseline]`.
    valid: Vec<u64>,
}

/// All dumps of a stream so far.
#[derive(Debug)]
pub(crate) struct Exact<'a> {
    plan: &'a Plan,
    /// By schedule, and by number of the dump: stamp over length.
    dumps: Vec<BTreeMap<u64, Sums>>,
}

/// A dump as it must be.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Expected {
    pub(crate) stamp: u64,
    pub(crate) times: u64,
    /// `[channel][position]` in the plan's order, and clamped and marked where 32 bits are asked for.
    pub(crate) values: Vec<Pair>,
    /// `[position]`.
    pub(crate) valid: Vec<u64>,
    pub(crate) saturated: u64,
    pub(crate) marked: u64,
}

impl<'a> Exact<'a> {
    pub(crate) fn new(plan: &'a Plan) -> Self {
        Self { plan, dumps: vec![BTreeMap::new(); plan.schedules.len()] }
    }

    /// Adds a spectrum: `voltage(channel, input)`, and which inputs are present.
    pub(crate) fn add(&mut self, stamp: u64, present: &[bool], voltage: impl Fn(usize, usize) -> Pair) {
        let (inputs, channels) = (self.plan.inputs.len(), self.plan.channels);
        let baselines = inputs * (inputs + 1) / 2;
        let mut parts: Vec<&mut Sums> = Vec::new();
        for (dumps, schedule) in self.dumps.iter_mut().zip(&self.plan.schedules) {
            let zero = || Sums { values: vec![(0, 0); channels * baselines], valid: vec![0; baselines] };
            parts.push(dumps.entry(stamp / schedule.timestamp_difference()).or_insert_with(zero));
        }
        let mut baseline = 0;
        for a in 0..inputs {
            for b in 0..=a {
                if present[a] && present[b] {
                    for part in &mut parts {
                        part.valid[baseline] += 1;
                    }
                    for channel in 0..channels {
                        let ((xr, xi), (yr, yi)) = (voltage(channel, a), voltage(channel, b));
                        for part in &mut parts {
                            let sum = &mut part.values[channel * baselines + baseline];
                            sum.0 += xr * yr + xi * yi;
                            sum.1 += xi * yr - xr * yi;
                        }
                    }
                }
                baseline += 1;
            }
        }
    }

    /// The dumps of a schedule, from the first spectrum's to the last one's, those without a spectrum included.
    pub(crate) fn expected(&self, index: usize) -> Vec<Expected> {
        let (schedule, dumps) = (&self.plan.schedules[index], &self.dumps[index]);
        let (Some((&first, _)), Some((&last, _))) = (dumps.first_key_value(), dumps.last_key_value()) else {
            return Vec::new();
        };
        (first..=last).map(|number| self.dump(schedule, number, dumps.get(&number))).collect()
    }

    fn dump(&self, schedule: &DumpSchedule, number: u64, sums: Option<&Sums>) -> Expected {
        let Plan { inputs, channels, order, in_32_bits, .. } = *self.plan;
        let times = schedule.spectra_per_heap() * schedule.heaps_per_dump();
        let triangle = inputs.len() * (inputs.len() + 1) / 2;
        let (mut values, mut valid, mut saturated, mut marked) = (Vec::new(), Vec::new(), 0, 0);
        let products = products(order, inputs.antennas(), inputs.len());
        for channel in 0..channels {
            for &(a, b) in &products {
                let (high, low) = (a.max(b), a.min(b));
                let place = high * (high + 1) / 2 + low;
                let samples = sums.map_or(0, |sums| sums.valid[place]);
                let (re, im) = sums.map_or((0, 0), |sums| sums.values[channel * triangle + place]);
                let mut value = if a < b { (re, -im) } else { (re, im) };
                let mark = in_32_bits == Some(MissingData::Mark) && samples < times;
                if mark {
                    value = (i64::from(MISSING_MARK.re), i64::from(MISSING_MARK.im));
                } else if in_32_bits.is_some() {
                    let limit = (1i64 << 31) - 1;
                    let clamped = (value.0.clamp(-limit, limit), value.1.clamp(-limit, limit));
                    saturated += u64::from(clamped != value);
                    value = clamped;
                }
                values.push(value);
                if channel == 0 {
                    valid.push(samples);
                    marked += u64::from(mark);
                }
            }
        }
        Expected { stamp: number * schedule.timestamp_difference(), times, values, valid, saturated, marked }
    }
}

/// The product `x_a conj(x_b)` of every position.
fn products(order: BaselineOrder, antennas: usize, inputs: usize) -> Vec<(usize, usize)> {
    let mut products = Vec::new();
    match order {
        BaselineOrder::Triangle => (0..inputs).for_each(|a| products.extend((0..=a).map(|b| (a, b)))),
        BaselineOrder::Full => (0..inputs).for_each(|a| products.extend((0..inputs).map(|b| (a, b)))),
        BaselineOrder::AntennaPairs => {
            for high in 0..antennas {
                for low in 0..=high {
                    // aa, ba, ab, bb: the first letter is the lower antenna's polarisation, and the higher antenna is
                    // conjugated.
                    products.extend([(0, 0), (1, 0), (0, 1), (1, 1)].map(|(p, q)| (2 * low + p, 2 * high + q)));
                }
            }
        }
    }
    products
}
