//! Rates of X-engines on heaps that are on the device already: the bound of what comes over a link.

use std::marker::PhantomData;
use std::time::Instant;

use bytemuck::Pod;
use fringes::backend::{DeviceArray, DeviceHeaps};
use fringes::correlator::{BinnedIntegrator, Bins, CorrelatorError, Integrator};
use fringes::{Backend, Complex, Heaps, SpectrumClock, VoltageSample};
use fringes_gpu::{Buffer, Device, Stream, Timing};

use crate::bench::random;
use crate::end::End;
use crate::gpu_report::{Record, Row};
use crate::instrument::case::{Case, RATE_HZ};
use crate::instrument::load::sizes;

/// Dumps of a measurement.
const DUMPS: usize = 5;

/// The case of sums by bins.
const BINS: Case = Case { antennas: 64, channels: 4096, spectra: 256, frame: 256, dump: 32 };
/// Spectra of a chunk, of a heap, and from change to change of the bin, which is where heaps end.
const RUNS: [(usize, usize, u64); 9] = [
    (256, 256, 4096),
    (256, 256, 1024),
    (256, 256, 256),
    (256, 64, 64),
    (256, 16, 16),
    (1024, 256, 256),
    (1024, 64, 64),
    (4096, 256, 256),
    (4096, 64, 64),
];

/// Voltages on the device, which stand for those of all times.
pub(super) struct Repeated<T, V> {
    pub(super) values: Buffer<T>,
    case: Case,
    next: u64,
    format: PhantomData<V>,
}

impl<T: Pod, V: VoltageSample> Repeated<T, V> {
    /// From time 0 on.
    pub(super) fn new(values: Buffer<T>, case: Case) -> Self {
        Self { values, case, next: 0, format: PhantomData }
    }

    /// The next chunk.
    pub(super) fn chunk(&mut self) -> Result<DeviceHeaps<'_, V>, End> {
        let case = self.case;
        let clock = SpectrumClock {
            first_sample: self.next,
            samples_between_spectra: 2 * case.channels as u64,
            sample_rate_hz: RATE_HZ,
        };
        self.next += case.times() as u64;
        let array = DeviceArray::from(self.values.view().cast::<V>()?);
        let heaps = Heaps::from_array(array, case.spectra / case.frame, case.inputs()?, case.channels, case.frame);
        heaps.and_then(|heaps| heaps.with_clock(clock)).map_err(End::failed)
    }

    /// The time of a dump's chunks.
    fn time(
        &mut self,
        stream: &Stream,
        mut push: impl FnMut(&DeviceHeaps<'_, V>) -> Result<(), CorrelatorError>,
    ) -> Result<Timing, End> {
        let mut all_ms = Vec::new();
        for run in 0..=DUMPS {
            let begun = Instant::now();
            for _ in 0..self.case.dump {
                let chunk = self.chunk()?;
                push(&chunk).map_err(End::failed)?;
            }
            stream.synchronize()?;
            if run > 0 {
                all_ms.push(1e3 * begun.elapsed().as_secs_f64());
            }
        }
        Ok(Timing::new(all_ms)?)
    }
}

/// Gigabytes a second of heaps of f32.
pub(crate) fn floats(device: &Device, backend: &Backend, case: Case, record: &mut Record) -> Result<f64, End> {
    let stream = device.new_stream()?;
    let values = random::Source::floats(&stream)?.buffer(device, &stream, 2 * case.values())?;
    let integrator = Integrator::<Complex<f32>>::new(backend, case.schedule()?, case.inputs()?, case.channels);
    let integrator = integrator.and_then(|integrator| integrator.on(&stream));
    let mut integrator = integrator.and_then(Integrator::dumps_on_device).map_err(End::failed)?;
    let mut chunks = Repeated::<_, Complex<f32>>::new(values, case);
    let timing = chunks.time(&stream, |chunk| integrator.push(chunk).map(drop))?;
    let rate = (case.dump * case.values() * size_of::<Complex<f32>>()) as f64 / timing.median_ms / 1e6;
    println!("X of {} inputs of f32 alone, heaps on the device: {rate:.2} GB/s of voltages", 2 * case.antennas);
    record.push(Row {
        kernel: "instrument_link",
        variant: "X, heaps of f32 on the device".into(),
        params: sizes(case),
        time_ms: timing.median_ms,
        value: rate,
        unit: "GB/s",
        floor: None,
        bound_by: String::new(),
        check: "none here".into(),
        energy: None,
    });
    Ok(rate)
}

/// Sums by two bins beside those of one.
pub(crate) fn bins(device: &Device, backend: &Backend, record: &mut Record) -> Result<(), End> {
    let stream = device.new_stream()?;
    for (spectra, frame, run) in RUNS {
        let case = Case { spectra, frame, dump: BINS.dump * BINS.spectra / spectra, ..BINS };
        let mut values = Some(random::Source::bytes(&stream)?.buffer(device, &stream, 2 * case.values())?);
        let (schedule, inputs) = (case.schedule()?, case.inputs()?);
        let mut of = |bins: &[usize]| -> Result<Timing, End> {
            let table = Bins::table(bins.len(), run, bins.iter().map(|&bin| Some(bin)).collect());
            let integrator = table
                .and_then(|bins| BinnedIntegrator::<Complex<i8>>::new(backend, schedule, bins, inputs, case.channels));
            let integrator = integrator.and_then(|integrator| integrator.on(&stream));
            let mut integrator = integrator.and_then(BinnedIntegrator::dumps_on_device).map_err(End::failed)?;
            let taken = values.take().ok_or_else(|| End::failed("no voltages"))?;
            let mut chunks = Repeated::<_, Complex<i8>>::new(taken, case);
            let timing = chunks.time(&stream, |chunk| integrator.push(chunk).map(drop));
            values = Some(chunks.values);
            timing
        };
        let (one, two) = (of(&[0])?, of(&[0, 1])?);
        let share = two.median_ms / one.median_ms;
        println!(
            "X by two bins that change every {run} spectra, chunks of {spectra}, heaps of {frame}: {share:.3} of the \
             time of one bin"
        );
        record.push(Row {
            kernel: "instrument_bins",
            variant: format!("X of 8 bits by two bins that change every {run} spectra, heaps on the device"),
            params: sizes(case),
            time_ms: two.median_ms,
            value: share,
            unit: "times the time of one bin",
            floor: None,
            bound_by: String::new(),
            check: format!("heaps of {frame} spectra; one bin {:.3} ms; asked 1.1", one.median_ms),
            energy: None,
        });
    }
    Ok(())
}
