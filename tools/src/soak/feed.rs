//! Feeds a stream to an integrator and to the exact sums, and compares.

use fringes::correlator::{Chunk, Dump, Dump32, Integrator, IntegratorSet};
use fringes::{
    Accumulator, Backend, Complex, Complex4, Heaps, SpectrumClock, Visibilities, VoltageSample, Voltages, f16,
};
use ndarray::{Array2, Array3, Array5};
use rand::RngExt;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::Counts;
use crate::soak::exact::{Exact, Expected, Pair};
use crate::soak::plan::{Format, Plan};
use crate::whole::Whole;

/// Feeds one stream.
pub(crate) struct Feeder<'a> {
    pub(crate) backend: &'a Backend,
    pub(crate) plan: &'a Plan,
    pub(crate) counts: &'a mut Counts,
    pub(crate) plant_fault: Option<u64>,
}

/// One length, or several.
enum Machine<V: VoltageSample, D> {
    One(Box<Integrator<V, D>>),
    Several(Box<IntegratorSet<V, D>>),
}

impl<V: VoltageSample, D: Dump<V>> Machine<V, D> {
    fn push(&mut self, chunk: &impl Chunk<V>) -> Result<Vec<(usize, D)>, String> {
        match self {
            Self::One(integrator) => {
                integrator.push(chunk).map(|dumps| dumps.into_iter().map(|dump| (0, dump)).collect())
            }
            Self::Several(integrators) => integrators.push(chunk),
        }
        .map_err(|error| error.to_string())
    }

    fn finish(&mut self) -> Result<Vec<(usize, D)>, String> {
        match self {
            Self::One(integrator) => integrator.finish().map(|dump| dump.map(|dump| (0, dump)).into_iter().collect()),
            Self::Several(integrators) => integrators.finish(),
        }
        .map_err(|error| error.to_string())
    }
}

/// A dump as whole numbers.
trait Seen {
    fn seen(&self) -> Result<Expected, String>;
}

impl<A: Accumulator> Seen for Visibilities<A> {
    fn seen(&self) -> Result<Expected, String> {
        let whole = |value: &A| -> Result<Pair, String> {
            let value = value.to_c64(); // below 2^53
            let pair = (value.re as i64, value.im as i64);
            let same = pair.0 as f64 == value.re && pair.1 as f64 == value.im;
            if same { Ok(pair) } else { Err(format!("{value} is not a whole number")) }
        };
        Ok(Expected {
            stamp: self.clock().first_sample,
            times: self.times(),
            values: self.data().iter().map(whole).collect::<Result<_, _>>()?,
            valid: self.valid_samples().to_vec(),
            saturated: 0,
            marked: 0,
        })
    }
}

impl Seen for Dump32 {
    fn seen(&self) -> Result<Expected, String> {
        Ok(Expected {
            stamp: self.clock().first_sample,
            times: self.times(),
            values: self.data().iter().map(|value| (value.re.into(), value.im.into())).collect(),
            valid: self.valid_samples().to_vec(),
            saturated: self.saturated(),
            marked: self.marked_baselines() as u64,
        })
    }
}

impl Feeder<'_> {
    /// Feeds the stream; an error says what is wrong.
    pub(crate) fn run(&mut self, random: &mut Xoshiro256PlusPlus) -> Result<(), String> {
        match self.plan.format {
            Format::Int4 => self.integers::<Complex4>(random),
            Format::Int8 => self.integers::<Complex<i8>>(random),
            Format::Float16 => self.wide::<Complex<f16>>(random),
            Format::Float32 => self.wide::<Complex<f32>>(random),
        }
    }

    fn integers<V>(&mut self, random: &mut Xoshiro256PlusPlus) -> Result<(), String>
    where
        V: Whole + VoltageSample<Accumulator = Complex<i64>>,
    {
        let Some(missing) = self.plan.in_32_bits else { return self.wide::<V>(random) };
        let machine = match self.machine::<V>()? {
            Machine::One(one) => Machine::One(Box::new(one.in_32_bits(missing))),
            Machine::Several(several) => Machine::Several(Box::new(several.in_32_bits(missing))),
        };
        self.feed(machine, random)
    }

    fn wide<V: Whole>(&mut self, random: &mut Xoshiro256PlusPlus) -> Result<(), String> {
        let machine = self.machine::<V>()?;
        self.feed(machine, random)
    }

    fn machine<V: Whole>(&self) -> Result<Machine<V, Visibilities<V::Accumulator>>, String> {
        let Plan { inputs, channels, order, schedules, .. } = self.plan;
        let machine = if let [schedule] = schedules[..] {
            let integrator = Integrator::new(self.backend, schedule, *inputs, *channels);
            integrator.and_then(|one| one.with_order(*order)).map(|one| Machine::One(Box::new(one)))
        } else {
            let integrators = IntegratorSet::new(self.backend, schedules, *inputs, *channels);
            integrators.and_then(|set| set.with_order(*order)).map(|set| Machine::Several(Box::new(set)))
        };
        machine.map_err(|error| error.to_string())
    }

    fn feed<V: Whole, D: Dump<V> + Seen>(
        &mut self,
        mut machine: Machine<V, D>,
        random: &mut Xoshiro256PlusPlus,
    ) -> Result<(), String> {
        let plan = self.plan;
        let mut exact = Exact::new(plan);
        let mut dumps = Vec::new();
        let mut stamp = plan.start;
        for _ in 0..plan.chunks {
            // Gaps of up to 5 of the shortest dumps, if there is one.
            let unit = if plan.heaps { plan.spectra_per_heap() } else { 1 };
            let gap = match random.random_range(0..5) {
                0 => random.random_range(0..=5 * plan.shortest_dump() / unit),
                1 => random.random_range(0..=2),
                _ => 0,
            };
            stamp += gap * unit * plan.spacing();
            let pieces = random.random_range(0..=plan.longest_chunk / unit);
            dumps.extend(if plan.heaps {
                machine.push(&self.heaps::<V>(stamp, pieces as usize, &mut exact, random)?)?
            } else {
                machine.push(&self.voltages::<V>(stamp, pieces as usize, &mut exact, random)?)?
            });
            stamp += pieces * unit * plan.spacing();
            self.counts.spectra += pieces * unit;
        }
        dumps.extend(machine.finish()?);
        for index in 0..plan.schedules.len() {
            let of_schedule = dumps.iter().filter(|(which, _)| *which == index).map(|(_, dump)| dump.seen());
            let seen = of_schedule.collect::<Result<Vec<_>, _>>()?;
            self.compare(&exact.expected(index), seen).map_err(|fault| format!("schedule {index}: {fault}"))?;
        }
        Ok(())
    }

    fn compare(&mut self, expected: &[Expected], mut seen: Vec<Expected>) -> Result<(), String> {
        if expected.len() != seen.len() {
            return Err(format!("expected {} dumps, got {}", expected.len(), seen.len()));
        }
        for (expected, seen) in expected.iter().zip(&mut seen) {
            if self.plant_fault == Some(self.counts.dumps) {
                seen.values[0].0 ^= 1;
            }
            if expected != seen {
                let head = |dump: &Expected| (dump.stamp, dump.times, dump.saturated, dump.marked);
                let place = expected.values.iter().zip(&seen.values).position(|(expected, seen)| expected != seen);
                let values = place.map(|place| (place, expected.values[place], seen.values[place]));
                return Err(format!(
                    "dump {}: expected (stamp, times, saturated, marked) {:?}, got {:?}; first value that differs: {values:?}; valid samples {}",
                    self.counts.dumps,
                    head(expected),
                    head(seen),
                    if expected.valid == seen.valid { "agree" } else { "differ" },
                ));
            }
            self.counts.dumps += 1;
            self.counts.values += seen.values.len() as u64;
            self.counts.saturated += seen.saturated;
            self.counts.marked += seen.marked;
            self.counts.empty_dumps += u64::from(seen.valid.iter().all(|&valid| valid == 0));
        }
        Ok(())
    }

    /// Flags, if this chunk has any.
    fn flags(&self, shape: (usize, usize), random: &mut Xoshiro256PlusPlus) -> Option<Array2<bool>> {
        let absent = self.plan.absent;
        random.random_bool(0.6).then(|| Array2::from_shape_simple_fn(shape, || !random.random_bool(absent)))
    }

    fn clock(&self, first_sample: u64) -> SpectrumClock {
        SpectrumClock { first_sample, samples_between_spectra: self.plan.spacing(), sample_rate_hz: 1e9 }
    }

    /// Random parts, or the largest.
    fn parts<V: Whole>(&self, random: &mut Xoshiro256PlusPlus) -> (i8, i8) {
        if self.plan.loud {
            // Of one sign for a whole stream: products add up.
            return (V::LARGEST, -V::LARGEST);
        }
        let word: u32 = random.random();
        let span = 2 * i32::from(V::LARGEST) + 1;
        // Of span numbers around 0.
        let part = |half: u32| (((half as i32 * span) >> 16) - i32::from(V::LARGEST)) as i8;
        (part(word & 0xffff), part(word >> 16))
    }

    fn heaps<V: Whole>(
        &self,
        stamp: u64,
        batches: usize,
        exact: &mut Exact<'_>,
        random: &mut Xoshiro256PlusPlus,
    ) -> Result<Heaps<V>, String> {
        let (inputs, spectra) = (self.plan.inputs, self.plan.spectra_per_heap() as usize);
        let shape = (batches, inputs.antennas(), self.plan.channels, spectra, inputs.pols());
        let parts = Array5::from_shape_simple_fn(shape, || self.parts::<V>(random));
        let flags = self.flags((batches, inputs.antennas()), random);
        for batch in 0..batches {
            let here = |input: usize| flags.as_ref().is_none_or(|flags| flags[(batch, input / inputs.pols())]);
            let present: Vec<bool> = (0..inputs.len()).map(here).collect();
            for spectrum in 0..spectra {
                let time = (batch * spectra + spectrum) as u64;
                exact.add(stamp + time * self.plan.spacing(), &present, |channel, input| {
                    let (antenna, pol) = (input / inputs.pols(), input % inputs.pols());
                    let (re, im) = parts[(batch, antenna, channel, spectrum, pol)];
                    (re.into(), im.into())
                });
            }
        }
        let heaps =
            Heaps::new(parts.mapv(|(re, im)| V::of(re, im))).and_then(|heaps| heaps.with_clock(self.clock(stamp)));
        let heaps = match flags {
            Some(flags) => heaps.and_then(|heaps| heaps.with_presence(flags)),
            None => heaps,
        };
        heaps.map_err(|error| error.to_string())
    }

    fn voltages<V: Whole>(
        &self,
        stamp: u64,
        times: usize,
        exact: &mut Exact<'_>,
        random: &mut Xoshiro256PlusPlus,
    ) -> Result<Voltages<V>, String> {
        let inputs = self.plan.inputs;
        let shape = (self.plan.channels, times, inputs.len());
        let parts = Array3::from_shape_simple_fn(shape, || self.parts::<V>(random));
        let flags = self.flags((times, inputs.len()), random);
        for time in 0..times {
            let here = |input: usize| flags.as_ref().is_none_or(|flags| flags[(time, input)]);
            let present: Vec<bool> = (0..inputs.len()).map(here).collect();
            exact.add(stamp + time as u64 * self.plan.spacing(), &present, |channel, input| {
                let (re, im) = parts[(channel, time, input)];
                (re.into(), im.into())
            });
        }
        let voltages = Voltages::new(parts.mapv(|(re, im)| V::of(re, im)), inputs)
            .and_then(|voltages| voltages.with_clock(self.clock(stamp)));
        let voltages = match flags {
            Some(flags) => voltages.and_then(|voltages| voltages.with_presence(flags)),
            None => voltages,
        };
        voltages.map_err(|error| error.to_string())
    }
}
