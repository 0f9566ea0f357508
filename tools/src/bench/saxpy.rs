//! SAXPY, which is bound by bytes.

use fringes_gpu::{Buffer, LaunchConfig, PtxSet, args};

use crate::bench::ceilings::Ceilings;
use crate::bench::random::Source;
use crate::bench::timing::{Bench, Measured};
use crate::end::End;
use crate::gpu_report::params;

static SAXPY: PtxSet = PtxSet::new(include_str!("../../../kernels-rs/tools/saxpy/ptx/saxpy_sm_80.ptx"));

pub(crate) fn run(bench: &mut Bench, ceilings: &Ceilings) -> Result<(), End> {
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
