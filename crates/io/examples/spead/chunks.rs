//! Chunks as npz files.

use std::fs::File;
use std::path::Path;

use fringes_io::spead::VisibilityChunk;
use fringes_types::{
    BaselineOrder, Complex, Frequencies, Heaps, Inputs, PackedSamples, SamplePresence, Samples, SpectrumClock,
    Visibilities,
};
use ndarray::{Array1, Array2, Array3, Array6, Axis, Ix2, IxDyn, stack};
use ndarray_npy::{NpzReader, NpzWriter};
use rand::{RngExt as _, SeedableRng as _};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::{Failure, Shape};

/// A chunk that can be saved, and made of noise.
pub(crate) trait Saved: Sized {
    /// Writes an npz file.
    fn save(&self, path: &Path) -> Result<(), Failure>;
    /// Reads an npz file.
    fn load(path: &Path, shape: &Shape) -> Result<Self, Failure>;
    /// Noise of a shape, at sample 0.
    fn noise(shape: &Shape) -> Result<Self, Failure>;
    /// The same values at another ADC sample counter, and how many samples they are.
    fn at(self, first: u64) -> Result<(Self, u64), Failure>;
}

fn random(count: usize, limit: i8) -> impl Iterator<Item = i8> {
    let mut generator = Xoshiro256PlusPlus::seed_from_u64(1);
    (0..count).map(move |_| generator.random_range(-limit..=limit))
}

fn shaped_inputs(shape: &Shape) -> Result<Inputs, Failure> {
    Ok(Inputs::new(shape.antennas, shape.pols)?)
}

struct Npz(NpzReader<File>);

impl Npz {
    fn open(path: &Path) -> Result<Self, Failure> {
        Ok(Self(NpzReader::new(File::open(path)?)?))
    }

    fn first(&mut self) -> Result<u64, Failure> {
        let first: Array1<u64> = self.0.by_name("first")?;
        first.first().copied().ok_or_else(|| "first: no value".into())
    }

    fn presence(&mut self) -> Result<Array2<bool>, Failure> {
        let presence: ndarray::ArrayD<bool> = self.0.by_name("presence")?;
        Ok(presence.into_dimensionality::<Ix2>()?)
    }
}

impl Saved for PackedSamples {
    fn save(&self, path: &Path) -> Result<(), Failure> {
        let mut npz = NpzWriter::new(File::create(path)?);
        npz.add_array("data", &self.data())?;
        npz.add_array("presence", &self.presence().ok_or("no presence")?.flags())?;
        npz.add_array("first", &Array1::from_elem(1, self.first_sample()))?;
        npz.finish()?;
        Ok(())
    }

    fn load(path: &Path, shape: &Shape) -> Result<Self, Failure> {
        let mut npz = Npz::open(path)?;
        let (data, times): (Array2<u8>, _) = (npz.0.by_name("data")?, shape.samples_per_heap * shape.batches);
        let presence = SamplePresence::new(shape.samples_per_heap, npz.presence()?)?;
        let samples = PackedSamples::new(data, shape.bits, times, shaped_inputs(shape)?)?.with_presence(presence)?;
        Ok(samples.with_first_sample(npz.first()?))
    }

    fn noise(shape: &Shape) -> Result<Self, Failure> {
        let (inputs, times) = (shaped_inputs(shape)?, shape.samples_per_heap * shape.batches);
        let bytes = times * shape.bits as usize / 8;
        let data = random(inputs.len() * bytes, 127).map(|value| value as u8).collect();
        let data = Array2::from_shape_vec((inputs.len(), bytes), data)?;
        Ok(PackedSamples::new(data, shape.bits, times, inputs)?)
    }

    fn at(self, first: u64) -> Result<(Self, u64), Failure> {
        let times = self.times() as u64;
        Ok((self.with_first_sample(first), times))
    }
}

impl Saved for Samples<i8> {
    fn save(&self, path: &Path) -> Result<(), Failure> {
        let mut npz = NpzWriter::new(File::create(path)?);
        npz.add_array("data", &self.data())?;
        npz.add_array("presence", &self.presence().ok_or("no presence")?.flags())?;
        npz.add_array("first", &Array1::from_elem(1, self.first_sample()))?;
        npz.finish()?;
        Ok(())
    }

    fn load(path: &Path, shape: &Shape) -> Result<Self, Failure> {
        let mut npz = Npz::open(path)?;
        let presence = SamplePresence::new(shape.samples_per_heap, npz.presence()?)?;
        let samples = Samples::new(npz.0.by_name("data")?, shaped_inputs(shape)?)?.with_presence(presence)?;
        Ok(samples.with_first_sample(npz.first()?))
    }

    fn noise(shape: &Shape) -> Result<Self, Failure> {
        let (inputs, times) = (shaped_inputs(shape)?, shape.samples_per_heap * shape.batches);
        let data = random(inputs.len() * times, 127).collect();
        Ok(Samples::new(Array2::from_shape_vec((inputs.len(), times), data)?, inputs)?)
    }

    fn at(self, first: u64) -> Result<(Self, u64), Failure> {
        let times = self.times() as u64;
        Ok((self.with_first_sample(first), times))
    }
}

fn clock(first_sample: u64, shape: &Shape) -> SpectrumClock {
    SpectrumClock { first_sample, samples_between_spectra: shape.step, ..SpectrumClock::default() }
}

impl Saved for Heaps<Complex<i8>> {
    fn save(&self, path: &Path) -> Result<(), Failure> {
        let mut npz = NpzWriter::new(File::create(path)?);
        let parts = [self.data().mapv(|value| value.re), self.data().mapv(|value| value.im)];
        npz.add_array("data", &stack(Axis(5), &parts.each_ref().map(|part| part.view()))?)?;
        npz.add_array("presence", &self.presence().ok_or("no presence")?)?;
        npz.add_array("first", &Array1::from_elem(1, self.clock().first_sample))?;
        npz.finish()?;
        Ok(())
    }

    fn load(path: &Path, shape: &Shape) -> Result<Self, Failure> {
        let mut npz = Npz::open(path)?;
        let data: Array6<i8> = npz.0.by_name("data")?;
        let part = |part: usize| data.index_axis(Axis(5), part).to_owned();
        let data = ndarray::Zip::from(&part(0)).and(&part(1)).map_collect(|&re, &im| Complex::new(re, im));
        let heaps = Heaps::from_received(data, npz.presence()?)?;
        Ok(heaps.with_clock(clock(npz.first()?, shape))?)
    }

    fn noise(shape: &Shape) -> Result<Self, Failure> {
        let dimensions = (shape.batches, shape.antennas, shape.channels, shape.spectra, shape.pols);
        let count = shape.batches * shape.antennas * shape.channels * shape.spectra * shape.pols;
        let values: Vec<i8> = random(2 * count, 127).collect();
        let values = values.chunks(2).map(|pair| Complex::new(pair[0], pair[1])).collect();
        let data = ndarray::Array5::from_shape_vec(dimensions, values)?;
        Ok(Heaps::new(data)?.with_clock(clock(0, shape))?)
    }

    fn at(self, first_sample: u64) -> Result<(Self, u64), Failure> {
        let clock = SpectrumClock { first_sample, ..self.clock() };
        let samples = self.times() as u64 * clock.samples_between_spectra;
        Ok((self.with_clock(clock)?, samples))
    }
}

impl Saved for VisibilityChunk {
    fn save(&self, path: &Path) -> Result<(), Failure> {
        let mut npz = NpzWriter::new(File::create(path)?);
        let data = self.visibilities.data();
        let parts = [data.mapv(|value| value.re), data.mapv(|value| value.im)];
        npz.add_array("data", &stack(Axis(2), &parts.each_ref().map(|part| part.view()))?)?;
        npz.add_array("valid", &self.visibilities.valid_samples())?;
        npz.add_array("presence", &Array1::from_vec(self.present.clone()))?;
        npz.add_array("first", &Array1::from_elem(1, self.visibilities.clock().first_sample))?;
        npz.finish()?;
        Ok(())
    }

    fn load(path: &Path, shape: &Shape) -> Result<Self, Failure> {
        let mut npz = Npz::open(path)?;
        let data: Array3<i64> = npz.0.by_name("data")?;
        let part = |part: usize| data.index_axis(Axis(2), part).to_owned();
        let data = ndarray::Zip::from(&part(0)).and(&part(1)).map_collect(|&re, &im| Complex::new(re, im));
        let (order, valid) = (BaselineOrder::AntennaPairs, npz.0.by_name("valid")?);
        let (clock, spectra) = (clock(npz.first()?, shape), shape.spectra as u64);
        let visibilities =
            Visibilities::new(data, shaped_inputs(shape)?, order, valid, spectra, Frequencies::default(), clock)?;
        let present: ndarray::Array<bool, IxDyn> = npz.0.by_name("presence")?;
        Ok(Self { visibilities, present: present.iter().copied().collect() })
    }

    fn noise(shape: &Shape) -> Result<Self, Failure> {
        let (inputs, order) = (shaped_inputs(shape)?, BaselineOrder::AntennaPairs);
        let baselines = order.len(inputs);
        let values: Vec<i8> = random(2 * shape.channels * baselines, 127).collect();
        let values = values.chunks(2).map(|pair| Complex::new(pair[0].into(), pair[1].into())).collect();
        let data = Array2::from_shape_vec((shape.channels, baselines), values)?;
        let (valid, spectra) = (Array1::from_elem(baselines, shape.spectra as u64), shape.spectra as u64);
        let (frequencies, clock) = (Frequencies::default(), clock(0, shape));
        Ok(Self::whole(Visibilities::new(data, inputs, order, valid, spectra, frequencies, clock)?))
    }

    fn at(self, first_sample: u64) -> Result<(Self, u64), Failure> {
        let clock = SpectrumClock { first_sample, ..self.visibilities.clock() };
        let samples = self.visibilities.times() * clock.samples_between_spectra;
        Ok((Self { visibilities: self.visibilities.with_clock(clock)?, ..self }, samples))
    }
}
