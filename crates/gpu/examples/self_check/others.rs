//! Other software's contexts, streams and memory; and failures on the device.

use fringes_gpu::{Buffer, BufferViewMut, Device, GpuError, LaunchConfig, Stream, args};

use super::{Bench, Check, Outcome, equal, fails, holds};

pub(crate) const CHECKS: &[Check] = &[
    ("a device opened twice is one", same_device),
    ("a device that is not there is a typed error", no_device),
    ("work goes through another software's context, stream and memory", foreign),
];

/// The last check: nothing works on the device after it.
pub(crate) const FAULT: Check = ("a failure on the device is returned, and by every later call", fault);

fn same_device(bench: &Bench) -> Outcome {
    let again = Device::open(bench.device.info().index)?;
    holds("the same", again.is_same(&bench.device))?;
    equal("the context", again.raw_context(), bench.device.raw_context())?;
    let memory = bench.device.memory()?;
    holds("free memory", memory.free_bytes > 0 && memory.free_bytes <= memory.total_bytes)?;
    Ok(Some(format!("{} of {} MiB free", memory.free_bytes >> 20, memory.total_bytes >> 20)))
}

fn no_device(_: &Bench) -> Outcome {
    fails("number 1000", Device::open(1000), |error| matches!(error, GpuError::NoDevice { index: 1000, .. }))?;
    Ok(None)
}

fn foreign(bench: &Bench) -> Outcome {
    let theirs = bench.device.new_stream()?;
    let mut memory = Buffer::<f32>::zeroed(&bench.stream, 1000)?;
    bench.stream.synchronize()?;
    // SAFETY: the context, the stream and the memory live until the end of this function, and only this uses them.
    let (device, stream, mut buffer) = unsafe {
        let device = Device::from_raw_context(bench.device.raw_context())?;
        let stream = Stream::from_raw(&device, theirs.raw())?;
        let buffer = Buffer::<f32>::from_external(&device, memory.address(), memory.len())?;
        (device, stream, buffer)
    };
    holds("one context by two names", device.is_same(&bench.device))?;
    let x = Buffer::from_slice(&bench.stream, &[1.0f32; 1000])?;
    let config = LaunchConfig::for_elements(1000, 256)?;
    bench.kernel("saxpy")?.launch_safe(&stream, &config, args![5.0f32, &x, &mut buffer])?;
    drop(buffer);
    // SAFETY: as above, and the buffer is gone.
    let mut part = unsafe { BufferViewMut::<f32>::from_raw(&device, memory.address(), 10)? };
    part.fill(&stream, 7.0)?;
    drop(stream);
    theirs.synchronize()?;
    let mut expected = vec![5.0; 1000];
    expected[..10].fill(7.0);
    equal("their memory", memory.to_vec(&theirs)?, expected)?;
    memory.fill(&theirs, 0.0)?;
    // SAFETY: nothing is there to use: the address is refused.
    let odd = unsafe { Buffer::<f32>::from_external(&device, memory.address() + 2, 1) };
    fails("an odd address", odd, |error| matches!(error, GpuError::Alignment { expected: 4, .. }))?;
    // SAFETY: as above.
    let null = unsafe { Buffer::<f32>::from_external(&device, 0, 1) };
    fails("a null address", null, |error| matches!(error, GpuError::NullAddress { length: 1 }))?;
    Ok(None)
}

fn fault(bench: &Bench) -> Outcome {
    let buffer = Buffer::<u32>::zeroed(&bench.stream, 10)?;
    bench.stream.synchronize()?;
    let kernel = bench.kernel("fault")?;
    // SAFETY: writing where nothing is ends the context's life and touches no memory; it is what this checks, last.
    unsafe { kernel.launch(&bench.stream, &LaunchConfig::default(), args![])? };
    let failure = |error: &GpuError| matches!(error, GpuError::Driver { code: 700 | 719, .. });
    fails("the next synchronisation", bench.stream.synchronize(), failure)?;
    fails("a copy after it", buffer.to_vec(&bench.stream), failure)?;
    fails("an allocation after it", Buffer::<u32>::alloc(&bench.device, 10), failure)?;
    Ok(None)
}
