//! Memory of other software: what is there is correlated where it lies; what was freed, ends early, begins at an odd
//! address, lies on the host or on another device is a typed error before anything is launched.

use fringes::backend::{Backend, DeviceArray, DeviceError};
use fringes::beamformer::{BeamformerError, BeamformerStream, FftBeams};
use fringes::correlator::{DumpSchedule, Integrator};
use fringes::types::Rows;
use fringes::{BaselineOrder, Complex, Correlator, CorrelatorError, Inputs, Voltages, correlate};
use fringes_gpu::{Buffer, BufferView, Device, GpuError, PinnedBuffer};
use ndarray::Array3;

use crate::end::End;
use crate::gpu_report::params;
use crate::validate::session::{Outcome, Session};

type Failure = Box<dyn std::error::Error>;
type Sample = Complex<i8>;

/// A kind of memory and what is tried with it.
type Try = (&'static str, fn(&Session) -> Result<Result<(), String>, Failure>);

/// Inputs and times of a chunk of one channel.
const INPUTS: usize = 256;
const TIMES: usize = 64 * 256;

/// Samples of a chunk: 8 MiB, an allocation of its own.
const SAMPLES: usize = INPUTS * TIMES;

pub(crate) fn validate(session: &mut Session) -> Result<(), End> {
    let tries: [Try; 7] = [
        ("there", there),
        ("freed before", freed_before),
        ("freed between", freed_between),
        ("short", short),
        ("misaligned", misaligned),
        ("on the host", on_the_host),
        ("of another device", of_another_device),
    ];
    for (what, run) in tries {
        session.case("foreign", what, params([("inputs", INPUTS), ("times", TIMES)]), |session| {
            let verdict = run(session)?;
            // The device goes on working: nothing was launched that could fail.
            session.device.default_stream().synchronize()?;
            session.stream.synchronize()?;
            let verdict = verdict.and_then(|()| there(session).unwrap_or_else(|error| Err(error.to_string())));
            Ok(Outcome { time_ms: 0.0, value: 0.0, unit: "", against: "typed errors, and the CPU's sums", verdict })
        })?;
    }
    Ok(())
}

/// Elements at an address, as software that has nothing but the address says it.
#[allow(unsafe_code, reason = "other software's memory is known by its address alone")]
fn at<T: bytemuck::Pod>(device: &Device, address: u64, length: usize) -> Result<BufferView<'_, T>, GpuError> {
    // SAFETY: where the memory is what is said, it lives until the device is done with it, since every user here waits;
    // where it is not, no work is given it: that is what is checked here.
    unsafe { BufferView::from_raw(device, address, length) }
}

fn inputs() -> Result<Inputs, Failure> {
    Ok(Inputs::new(INPUTS / 2, 2)?)
}

fn numbers() -> Vec<Sample> {
    (0..SAMPLES).map(|index| Complex::new((index * 7 % 251) as u8 as i8 / 2, (index % 13) as i8 - 6)).collect()
}

fn allocated(session: &Session) -> Result<Buffer<Sample>, Failure> {
    let buffer = Buffer::from_slice(&session.stream, &numbers())?;
    session.stream.synchronize()?;
    Ok(buffer)
}

fn correlator(session: &Session) -> Result<Correlator<Sample>, Failure> {
    Ok(Correlator::new(&Backend::on(session.device.clone()), inputs()?, 1)?.on(&session.stream)?)
}

fn voltages(array: DeviceArray<'_, Sample>) -> Result<Voltages<Sample, DeviceArray<'_, Sample>>, Failure> {
    Ok(Voltages::from_array(array, 1, TIMES, inputs()?)?)
}

/// Whether an answer is the refusal that is expected.
fn refused<T, E: std::fmt::Debug>(
    what: &str,
    answer: Result<T, E>,
    expected: impl Fn(&E) -> bool,
) -> Result<(), String> {
    match answer {
        Err(error) if expected(&error) => Ok(()),
        Err(error) => Err(format!("{what}: another error than expected: {error:?}")),
        Ok(_) => Err(format!("{what}: it was taken")),
    }
}

/// Whether the GPU's answer is of a kind.
fn is(error: &DeviceError, kind: impl Fn(&GpuError) -> bool) -> bool {
    matches!(error, DeviceError::Gpu(error) if kind(error))
}

fn is_no_memory(error: &DeviceError) -> bool {
    is(error, |error| matches!(error, GpuError::NotDeviceMemory { .. }))
}

/// Memory that is there gives what the CPU gives.
fn there(session: &Session) -> Result<Result<(), String>, Failure> {
    let memory = allocated(session)?;
    let array = DeviceArray::from_foreign(at(&session.device, memory.address(), SAMPLES)?)?;
    let mut gpu = correlator(session)?;
    gpu.accumulate(&voltages(array)?, 0..TIMES)?;
    let dump = gpu.dump(BaselineOrder::Triangle)?;
    let host = Voltages::new(Array3::from_shape_vec((1, TIMES, INPUTS), numbers())?, inputs()?)?;
    let expected = correlate(&Backend::cpu(), &host, BaselineOrder::Triangle)?;
    Ok(if dump == expected { Ok(()) } else { Err("sums of foreign memory differ from the CPU's".into()) })
}

fn freed_before(session: &Session) -> Result<Result<(), String>, Failure> {
    let address = allocated(session)?.address(); // and freed
    let answer = DeviceArray::from_foreign(at::<Sample>(&session.device, address, SAMPLES)?);
    Ok(refused("from_foreign", answer, is_no_memory))
}

/// Memory that was there when the array was made.
fn freed_between(session: &Session) -> Result<Result<(), String>, Failure> {
    let memory = allocated(session)?;
    let view = || at::<Sample>(&session.device, memory.address(), SAMPLES);
    let arrays = [view()?, view()?, view()?, view()?].map(DeviceArray::from_foreign);
    let [of_voltages, of_rows, of_stream, of_beams] = arrays;
    let (of_voltages, of_beams) = (voltages(of_voltages?)?, voltages(of_beams?)?);
    let of_rows = Rows::from_array(of_rows?, 1, TIMES, inputs()?)?;
    let of_stream = voltages(of_stream?)?;
    let mut gpu = correlator(session)?;
    let backend = Backend::on(session.device.clone());
    let mut stream = Integrator::<Sample>::new(&backend, DumpSchedule::new(1, 64, 1)?, inputs()?, 1)?;
    let mut beams = BeamformerStream::new(&backend, FftBeams::new(1, INPUTS / 2, 128)?, inputs()?)?;
    // Calls that allocate take what they need before, so that nothing else comes to lie where the memory was.
    correlate(&backend, &of_voltages, BaselineOrder::Triangle)?;
    drop(beams.push(&of_beams)?);
    drop(memory);
    let is_gone = |error: &CorrelatorError| matches!(error, CorrelatorError::Device(error) if is_no_memory(error));
    let is_gone_too = |error: &BeamformerError| matches!(error, BeamformerError::Device(error) if is_no_memory(error));
    let of_stream = of_stream.with_clock(fringes::SpectrumClock {
        first_sample: 0,
        samples_between_spectra: 1,
        sample_rate_hz: 1.0,
    })?;
    let verdict = refused("accumulate of voltages", gpu.accumulate(&of_voltages, 0..TIMES), is_gone)
        .and_then(|()| refused("accumulate of rows", gpu.accumulate(&of_rows, 0..TIMES), is_gone))
        .and_then(|()| refused("correlate", correlate(&backend, &of_voltages, BaselineOrder::Triangle), is_gone))
        .and_then(|()| refused("push", stream.push(&of_stream), is_gone))
        .and_then(|()| refused("beams", beams.push(&of_beams), is_gone_too))
        .and_then(|()| if gpu.spectra() == 0 { Ok(()) } else { Err("something was added".into()) })
        .and_then(|()| if stream.next_sample().is_none() { Ok(()) } else { Err("the stream has begun".into()) });
    Ok(verdict)
}

/// An allocation that ends before the view does.
fn short(session: &Session) -> Result<Result<(), String>, Failure> {
    let memory = allocated(session)?;
    let answer = DeviceArray::from_foreign(at::<Sample>(&session.device, memory.address(), 64 * SAMPLES)?);
    let is_short = |error: &DeviceError| is(error, |error| matches!(error, GpuError::Length { .. }));
    let verdict = refused("from_foreign", answer, is_short);
    // A view of so few elements is refused by the header.
    let few = DeviceArray::from_foreign(at::<Sample>(&session.device, memory.address(), SAMPLES - 1)?)?;
    let header = Voltages::from_array(few, 1, TIMES, inputs()?);
    Ok(verdict.and_then(|()| if header.is_err() { Ok(()) } else { Err("a header took fewer elements".into()) }))
}

fn misaligned(session: &Session) -> Result<Result<(), String>, Failure> {
    let memory = Buffer::<u8>::zeroed(&session.stream, 2 * SAMPLES + 64)?;
    session.stream.synchronize()?;
    let foreign = |offset: u64| -> Result<_, Failure> {
        Ok(DeviceArray::from_foreign(at::<Sample>(&session.device, memory.address() + offset, SAMPLES)?)?)
    };
    let mut gpu = correlator(session)?;
    let is_odd = |error: &CorrelatorError| matches!(error, CorrelatorError::Device(DeviceError::Alignment { .. }));
    let rows = Rows::from_array(foreign(8)?, 1, TIMES, inputs()?)?;
    let odd = voltages(foreign(1)?)?;
    let floats = at::<Complex<f32>>(&session.device, memory.address() + 2, 8);
    let null = at::<Sample>(&session.device, 0, 8);
    Ok(refused("rows at 8 bytes", gpu.accumulate(&rows, 0..TIMES), is_odd)
        .and_then(|()| refused("voltages at 1 byte", gpu.accumulate(&odd, 0..TIMES), is_odd))
        .and_then(|()| refused("f32 at 2 bytes", floats, |error| matches!(error, GpuError::Alignment { .. })))
        .and_then(|()| refused("no address", null, |error| matches!(error, GpuError::NullAddress { .. })))
        .and_then(|()| if gpu.spectra() == 0 { Ok(()) } else { Err("something was added".into()) }))
}

fn on_the_host(session: &Session) -> Result<Result<(), String>, Failure> {
    let pageable = numbers();
    let pinned = PinnedBuffer::from_slice(&session.device, &pageable)?;
    let foreign = |elements: &[Sample]| {
        DeviceArray::from_foreign(at::<Sample>(&session.device, elements.as_ptr() as u64, elements.len())?).map(|_| ())
    };
    Ok(refused("pageable memory", foreign(&pageable), is_no_memory)
        .and_then(|()| refused("pinned memory", foreign(pinned.as_slice().unwrap_or(&[])), is_no_memory)))
}

/// Where there is another device.
fn of_another_device(session: &Session) -> Result<Result<(), String>, Failure> {
    let here = session.device.info().index;
    let Some(other) = fringes_gpu::devices()?.into_iter().find(|info| info.index != here) else {
        println!("foreign: there is one device only, so memory of another one is not tried");
        return Ok(Ok(()));
    };
    let other = Device::open(other.index)?;
    let stream = other.new_stream()?;
    let memory = Buffer::<Sample>::zeroed(&stream, SAMPLES)?;
    stream.synchronize()?;
    // Said to be of this device, and said to be of its own.
    let wrong = DeviceArray::from_foreign(at::<Sample>(&session.device, memory.address(), SAMPLES)?);
    let right = voltages(DeviceArray::from_foreign(at::<Sample>(&other, memory.address(), SAMPLES)?)?)?;
    let is_wrong = |error: &DeviceError| is(error, |error| matches!(error, GpuError::WrongDevice { .. }));
    let is_elsewhere =
        |error: &CorrelatorError| matches!(error, CorrelatorError::Device(DeviceError::WrongDevice { .. }));
    let mut gpu = correlator(session)?;
    Ok(refused("from_foreign", wrong, is_wrong)
        .and_then(|()| refused("accumulate", gpu.accumulate(&right, 0..TIMES), is_elsewhere)))
}
