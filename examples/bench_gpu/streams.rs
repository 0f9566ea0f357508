//! Kernels that are bound by bytes: the pack kernels and SAXPY.

use fringes::correlator::gpu::{CorrelatorKernels, DeviceVoltage, Shape};
use fringes::{Complex, Complex4};
use fringes_gpu::{Buffer, LaunchConfig, PtxSet, Stream, args};

use crate::bench::{Bench, Measured, copies};
use crate::ceilings::Ceilings;
use crate::gpu_report::{End, params};
use crate::random::Source;

const SAXPY: PtxSet = PtxSet::new(include_str!("../../kernels-rs/saxpy/ptx/saxpy_sm_80.ptx"));

pub(crate) fn run(bench: &mut Bench, ceilings: &Ceilings) -> Result<(), End> {
    for (channels, inputs, flagged) in [
        (1024, 64, false),
        (512, 128, false),
        (256, 256, false),
        (256, 256, true),
        (64, 1024, false),
        (256, 130, false),
    ] {
        let shape = Shape::new(channels, 4096, inputs).ok_or_else(|| End::failed("no such shape"))?;
        let any = usize::from(!inputs.is_multiple_of(8));
        pack::<Complex<i8>>(bench, ceilings, ["pack_i8", "pack_i8_any"][any], shape, flagged)?;
        pack::<Complex4>(bench, ceilings, ["pack_i4", "pack_i4_any"][any], shape, flagged)?;
    }
    saxpy(bench, ceilings)
}

/// A voltage as two 8-bit parts.
trait Parts: DeviceVoltage {
    fn parts(self) -> [i8; 2];
}

impl Parts for Complex<i8> {
    fn parts(self) -> [i8; 2] {
        [self.re, self.im]
    }
}

impl Parts for Complex4 {
    fn parts(self) -> [i8; 2] {
        [self.re(), self.im()]
    }
}

fn pack<V: Parts>(
    bench: &mut Bench,
    ceilings: &Ceilings,
    kernel: &'static str,
    shape: Shape,
    flagged: bool,
) -> Result<(), End> {
    let bytes = shape.samples() * size_of::<V>();
    let stride = bytes.next_multiple_of(256);
    let count = copies(&bench.device, bytes);
    if !bench.wants(kernel) || !bench.fits(kernel, stride * count + shape.row_bytes())? {
        return Ok(());
    }
    let stream = bench.stream.clone();
    let kernels = CorrelatorKernels::load(&bench.device).map_err(End::failed)?;
    let voltages = Source::bytes(&stream)?.buffer(&bench.device, &stream, stride * count)?;
    let mut rows = Buffer::<u8>::alloc(&bench.device, shape.row_bytes())?;
    rows.fill(&stream, 0x5a)?;
    // Every seventh flag is zero.
    let flags: Vec<u8> = (0..shape.times() * shape.inputs()).map(|i| u8::from(i % 7 != 0)).collect();
    let on_device = Buffer::from_slice(&stream, &flags)?;
    let mut work = |run: usize| {
        let start = run % count * stride;
        let part = voltages.slice(start..start + bytes)?.cast::<V>()?;
        kernels.pack(&stream, shape, part, flagged.then(|| on_device.view()), &mut rows.view_mut())
    };
    work(0).map_err(End::failed)?;
    stream.synchronize()?;
    let timing = bench.time(&mut work).map_err(End::failed)?;
    work(0).map_err(End::failed)?;
    let check = check::<V>(&stream, shape, &voltages, flagged.then_some(&flags[..]), &rows)?;
    let moved = (bytes + shape.row_bytes() + if flagged { flags.len() } else { 0 }) as f64;
    bench.add(Measured {
        kernel,
        variant: if flagged { "presence flags".into() } else { String::new() },
        params: params([("channels", shape.channels()), ("inputs", shape.inputs()), ("times", shape.times())]),
        timing,
        work: moved,
        unit: "GB/s",
        bound: Some(ceilings.bytes(moved)),
        check,
    });
    Ok(())
}

/// Compares the rows of the first and the last channel with their definition.
fn check<V: Parts>(
    stream: &Stream,
    shape: Shape,
    voltages: &Buffer<u8>,
    flags: Option<&[u8]>,
    rows: &Buffer<u8>,
) -> Result<String, End> {
    let (samples, bytes) = (shape.times() * shape.inputs(), shape.blocks() * shape.inputs() * 128);
    for channel in [0, shape.channels() - 1] {
        let range = channel * samples * size_of::<V>()..(channel + 1) * samples * size_of::<V>();
        let voltages = voltages.slice(range)?.cast::<V>()?.to_vec(stream)?;
        let rows = rows.slice(channel * bytes..(channel + 1) * bytes)?.to_vec(stream)?;
        for (index, voltage) in voltages.iter().enumerate() {
            let (time, input) = (index / shape.inputs(), index % shape.inputs());
            let here = flags.is_none_or(|flags| flags[index] != 0);
            let expected = if here { voltage.parts().map(|part| part as u8) } else { [0, 0] };
            let place = (time / 64 * shape.inputs() + input) * 128 + 2 * (time % 64);
            if rows[place..place + 2] != expected {
                let what = format!("channel {channel}, time {time}, input {input}");
                return Err(End::failed(format!("pack of {}: {what}: expected {expected:?}", V::FORMAT)));
            }
        }
    }
    Ok(format!("{} voltages lie where they belong, error 0", 2 * samples))
}

fn saxpy(bench: &mut Bench, ceilings: &Ceilings) -> Result<(), End> {
    const LENGTH: usize = 1 << 28;
    const CHECKED: usize = 1 << 20;
    const A: f32 = 0.3;
    if !bench.wants("saxpy") || !bench.fits("saxpy", 8 * LENGTH)? {
        return Ok(());
    }
    let stream = bench.stream.clone();
    let kernel = bench.device.load(&SAXPY)?.kernel("saxpy")?;
    let source = Source::floats(&stream)?;
    let x = source.buffer(&bench.device, &stream, LENGTH)?;
    let mut y = Buffer::alloc(&bench.device, LENGTH)?;
    y.fill(&stream, 0.7f32)?;
    let config = LaunchConfig::for_elements(LENGTH, 256)?;
    kernel.launch_safe(&stream, &config, args![A, &x, &mut y])?;
    for start in [0, LENGTH - CHECKED] {
        let (x, y) = (x.slice(start..start + CHECKED)?, y.slice(start..start + CHECKED)?);
        let (x, y) = (x.to_vec(&stream)?, y.to_vec(&stream)?);
        if x.iter().zip(&y).any(|(x, y)| (A * x + 0.7).to_bits() != y.to_bits()) {
            return Err(End::failed("saxpy: the result is not a x + y"));
        }
    }
    let timing = bench.time(|_| kernel.launch_safe(&stream, &config, args![A, &x, &mut y]))?;
    let bytes = 12.0 * LENGTH as f64;
    bench.add(Measured {
        kernel: "saxpy",
        variant: String::new(),
        params: params([("elements", LENGTH)]),
        timing,
        work: bytes,
        unit: "GB/s",
        bound: Some(ceilings.bytes(bytes)),
        check: format!("{} elements equal a x + y in f32, bit for bit", 2 * CHECKED),
    });
    Ok(())
}
