//! Shifts and rotations of data wherever it lies: one call on the GPU, of chunks on the host and on the device, against
//! one another and the CPU.

use fringes::FrameSample;
use fringes::delay::ChannelPhase;
use fringes::delay::{FineRotation, rotate, shift};
use fringes::{
    Backend, ChunkFormat, Complex, Complex4, Gains, Heaps, Inputs, PackedSamples, Rows, SampleChunk, SampleFormat,
    SamplePresence, Samples, SpectrumClock, ToHost, Uploader, Voltages, f16,
};
use ndarray::{Array2, Array3, Array5};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::end::End;
use crate::gpu_report::params;
use crate::validate::f_engine::case::{Case, Fault, packed, typed};
use crate::validate::session::{Outcome, Session};

/// Name of the cases.
pub(crate) const NAME: &str = "delay_data";

/// Channels, batches, spectra of a batch, antennas, polarisations.
const QUICK: [[usize; 5]; 2] = [[33, 2, 16, 4, 2], [3, 2, 7, 3, 1]];
const SIZES: [[usize; 5]; 3] = [[96, 2, 128, 80, 2], [17, 3, 33, 65, 2], [1024, 1, 256, 8, 2]];

pub(crate) fn validate(session: &mut Session) -> Result<(), End> {
    let quick = session.quick;
    for format in [packed(10), packed(3), typed(SampleFormat::Int8, false), typed(SampleFormat::Float32, true)] {
        for times in [77, 4096].into_iter().chain([1_000_003].into_iter().filter(|_| !quick)) {
            let sizes = params([("inputs", 6), ("times", times)]);
            session.case(NAME, format!("shift, {format}"), sizes, |session| {
                let verdict = shifted(session, format, times).map_err(|fault| fault.to_string());
                outcome(verdict, "the CPU backend (exact, held to the reference by its tests)")
            })?;
        }
    }
    for size in QUICK.into_iter().chain(SIZES.into_iter().filter(|_| !quick)) {
        rotated::<Complex4>(session, size)?;
        rotated::<Complex<i8>>(session, size)?;
        rotated::<Complex<f16>>(session, size)?;
        rotated::<Complex<f32>>(session, size)?;
    }
    Ok(())
}

fn outcome(verdict: Result<(), String>, against: &'static str) -> Result<Outcome, Fault> {
    Ok(Outcome { time_ms: 0.0, value: 0.0, unit: "", against, verdict })
}

fn expect(what: &str, is_so: bool) -> Result<(), Fault> {
    if is_so { Ok(()) } else { Err(format!("{what} differ").into()) }
}

/// Samples on the host and on the device, with flags and without.
fn shifted(session: &Session, format: ChunkFormat, times: usize) -> Result<(), Fault> {
    let inputs = Inputs::new(3, 2)?;
    let coarse = [0, 5, -11, times as i64 - 1, -(times as i64), 1000];
    let case = Case { inputs: (3, 2), spectra: 1 + times / 8, ..Case::new(8, format, 1) };
    let values = case.samples()?;
    let values = values.slice(ndarray::s![.., ..times]);
    let flags = Array2::from_shape_fn((6, times.div_ceil(50)), |(input, block)| (input + block) % 7 != 3);
    for presence in [None, Some(SamplePresence::new(50, flags)?)] {
        match format {
            ChunkFormat::Packed { bits } => {
                let codes = values.mapv(|value| value.re as i16);
                let mut samples = PackedSamples::pack(codes.view(), bits, inputs)?.with_first_sample(99);
                if let Some(presence) = presence {
                    samples = samples.with_presence(presence)?;
                }
                let expected = shift(&Backend::cpu(), &samples, &coarse)?;
                expect("samples on the host", shift(&gpu(session), &samples, &coarse)? == expected)?;
                of_device(session, &samples, &coarse, &expected)?;
            }
            ChunkFormat::Typed { format: SampleFormat::Int8, .. } => {
                typed_samples(session, values.mapv(|value| value.re as i8), presence, &coarse)?;
            }
            ChunkFormat::Typed { .. } => typed_samples(session, values.to_owned(), presence, &coarse)?,
        }
    }
    Ok(())
}

fn gpu(session: &Session) -> Backend {
    Backend::on(session.device.clone())
}

fn typed_samples<S: fringes::Sample>(
    session: &Session,
    values: Array2<S>,
    presence: Option<SamplePresence>,
    coarse: &[i64],
) -> Result<(), Fault> {
    let mut samples = Samples::new(values, Inputs::new(3, 2)?)?.with_first_sample(99);
    if let Some(presence) = presence {
        samples = samples.with_presence(presence)?;
    }
    let expected = shift(&Backend::cpu(), &samples, coarse)?;
    expect("samples on the host", shift(&gpu(session), &samples, coarse)? == expected)?;
    of_device(session, &samples, coarse, &expected)
}

/// Samples on the device, against shifted ones on the host.
fn of_device(
    session: &Session,
    samples: &dyn SampleChunk,
    coarse: &[i64],
    expected: &dyn SampleChunk,
) -> Result<(), Fault> {
    let mut uploader = Uploader::new(&session.stream);
    let found = shift(&gpu(session), &uploader.samples(samples)?, coarse)?;
    let uploaded = uploader.samples(expected)?;
    expect("axes", found.first_sample() == expected.first_sample() && found.format() == expected.format())?;
    expect("flags", found.presence() == expected.presence())?;
    let bytes = |words: Vec<u32>| words.into_iter().flat_map(u32::to_le_bytes).collect::<Vec<_>>();
    let (found_bytes, expected_bytes) = (bytes(found.array().to_vec()?), bytes(uploaded.array().to_vec()?));
    let row = fringes::DeviceSamples::row_length(expected.format(), expected.times())?;
    for input in 0..expected.inputs().len() {
        let found = &found_bytes[input * found.row_bytes()..][..row];
        expect("samples on the device", found == &expected_bytes[input * uploaded.row_bytes()..][..row])?;
    }
    let refused = shift(&Backend::cpu(), &uploader.samples(samples)?, coarse).is_err();
    expect("the CPU's answers to samples on a device", refused)
}

/// Voltages, heaps and rows on the device, against the same call on the GPU of voltages and heaps on the host, which
/// case `rotate` holds to the reference.
fn rotated<V: FrameSample>(session: &mut Session, size: [usize; 5]) -> Result<(), End> {
    let [channels, batches, spectra, antennas, pols] = size;
    let (times, inputs) = (batches * spectra, antennas * pols);
    let sizes = params([("channels", channels), ("times", times), ("inputs", inputs), ("spectra", spectra)]);
    session.case(NAME, format!("rotate, {}", V::FORMAT), sizes, |session| {
        let verdict = rotations::<V>(session, size).map_err(|fault| fault.to_string());
        outcome(verdict, "the same call of chunks on the host (held to the reference by case rotate)")
    })
}

fn rotations<V: FrameSample>(session: &Session, size: [usize; 5]) -> Result<(), Fault> {
    let [channels, batches, spectra, antennas, pols] = size;
    let (times, inputs, gpu) = (batches * spectra, Inputs::new(antennas, pols)?, gpu(session));
    let mut random = Xoshiro256PlusPlus::seed_from_u64(channels as u64);
    let phases = Array2::from_shape_simple_fn((times, inputs.len()), || ChannelPhase {
        base: random.random(),
        slope: (random.random::<i64>() >> 4) as u64,
    });
    let gains = Array2::from_shape_simple_fn((channels, inputs.len()), || {
        Complex::from_polar(random.random_range(0.3..1.5f32), random.random_range(0.0..6.0f32))
    });
    let plain = FineRotation::new(phases).with_first_channel(7);
    let full = plain.clone().with_gains(Gains::per_channel_input(gains)?).with_dither(5);
    let scale = if V::INTEGER { V::FORMAT.limit() } else { 1.0 };
    let mut voltage = || {
        let mut part = || scale * random.random_range(-1.0..1.0);
        let (re, im) = (part(), part());
        V::from_product(re, im).0
    };
    let clock = SpectrumClock { first_sample: 1 << 40, samples_between_spectra: 1 << 7, sample_rate_hz: 1e9 };
    let data = Array3::from_shape_simple_fn((channels, times, inputs.len()), &mut voltage);
    let voltages = Voltages::from_checked(data, inputs)?.with_clock(clock)?;
    let flags = Array2::from_shape_fn((times, inputs.len()), |(time, input)| (time / 3 + input) % 5 != 2);
    let some = voltages.clone().with_presence(flags)?;
    let data = Array5::from_shape_simple_fn((batches, antennas, channels, spectra, pols), &mut voltage);
    let heaps = Heaps::from_checked(data)?.with_clock(clock)?;
    let flags = Array2::from_shape_fn((batches, antennas), |(batch, antenna)| (batch + antenna) % 3 != 1);
    let some_heaps = heaps.clone().with_presence(flags)?;
    let mut uploader = Uploader::new(&session.stream);
    for rotation in [&plain, &full] {
        for voltages in [&voltages, &some] {
            let expected = rotate(&gpu, voltages, rotation)?;
            let found = rotate(&gpu, &uploader.voltages(voltages)?, rotation)?;
            expect("voltages", found.values.to_host()? == expected.values)?;
            expect("counts of voltages", found.saturated.to_vec()? == expected.saturated.to_vec())?;

            let found = rotate(&gpu, &uploader.rows(&Rows::from_voltages(voltages))?, rotation)?;
            let of_rows: Voltages<V> = found.values.to_host()?.to_voltages();
            expect("voltages in rows", of_rows.data() == expected.values.data())?;
            expect("flags of rows", of_rows.presence() == expected.values.presence())?;
            expect("counts of rows", found.saturated.to_vec()? == expected.saturated.to_vec())?;
        }
        for heaps in [&heaps, &some_heaps] {
            let expected = rotate(&gpu, heaps, rotation)?;
            let found = rotate(&gpu, &uploader.heaps(heaps)?, rotation)?;
            expect("heaps", found.values.to_host()? == expected.values)?;
            expect("counts of heaps", found.saturated.to_vec()? == expected.saturated.to_vec())?;
        }
    }
    let refused = rotate(&Backend::cpu(), &uploader.voltages(&voltages)?, &plain).is_err();
    expect("the CPU's answers to voltages on a device", refused)
}
