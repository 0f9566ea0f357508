//! What the GPU can do at most, measured.

use fringes_gpu::{Buffer, LaunchConfig, PinnedBuffer, PtxSet, Timing, args};
use fringes_kernels_tools_ceilings::MMA_OPERATIONS;

use crate::bench::random::Source;
use crate::bench::timing::{Bench, Bound, Measured};
use crate::end::End;
use crate::gpu_report::params;

static CEILINGS: PtxSet = PtxSet::new(include_str!("../../../kernels-rs/tools/ceilings/ptx/ceilings_sm_80.ptx"));

/// Ceilings of this GPU.
pub(crate) struct Ceilings {
    /// Bytes read and written a millisecond.
    pub(crate) bytes_per_ms: f64,
    /// Operations of `mma.sync` m16n8k32 of 8 bits a millisecond.
    pub(crate) products_per_ms: f64,
}

impl Ceilings {
    /// The bound of bytes.
    pub(crate) fn bytes(&self, bytes: f64) -> Bound {
        let by = format!("bytes at {:.0} GB/s", self.bytes_per_ms / 1e6);
        Bound { time_ms: bytes / self.bytes_per_ms, by }
    }

    /// The bound of products, of which some are of no use.
    pub(crate) fn products(&self, computed: f64, useful: f64) -> Bound {
        let tops = self.products_per_ms / 1e9;
        let by = format!("mma.sync m16n8k32 s8 at {tops:.0} TOPS, {:.0}% of them useful", 100.0 * useful / computed);
        Bound { time_ms: computed / self.products_per_ms, by }
    }
}

/// Measures them.
pub(crate) fn measure(bench: &mut Bench) -> Result<Ceilings, End> {
    let ceilings = Ceilings { bytes_per_ms: copy(bench)?, products_per_ms: products(bench)? };
    link(bench)?;
    Ok(ceilings)
}

/// The fastest of several grids.
fn copy(bench: &mut Bench) -> Result<f64, End> {
    let stream = bench.stream.clone();
    let free = bench.device.memory()?.free_bytes as usize;
    let values = (1usize << 26).min(free / 64 / 1024 * 1024); // 1 GiB each
    let source = Source::bytes(&stream)?.buffer(&bench.device, &stream, 16 * values)?;
    let mut target = Buffer::<[u32; 4]>::alloc(&bench.device, values)?;
    target.view_mut().cast::<u32>()?.fill(&stream, 0x5a5a_5a5a)?;
    let kernel = bench.device.load(&CEILINGS)?.kernel("copy")?;
    let source_view = source.view().cast::<[u32; 4]>()?;
    let mut best: Option<(u32, Timing)> = None;
    let multiprocessors = bench.device.info().multiprocessors;
    for blocks in [4 * multiprocessors, 8 * multiprocessors, 16 * multiprocessors, (values / 1024) as u32] {
        let config = LaunchConfig::new([blocks, 1, 1], [256, 1, 1]);
        let timing = bench.time(|_| kernel.launch_safe(&stream, &config, args![source_view, &mut target]))?;
        if best.as_ref().is_none_or(|(_, known)| timing.median_ms < known.median_ms) {
            best = Some((blocks, timing));
        }
    }
    const CHECKED: usize = 1 << 16;
    for start in [0, values - CHECKED] {
        let range = start..start + CHECKED;
        if source_view.slice(range.clone())?.to_vec(&stream)? != target.slice(range)?.to_vec(&stream)? {
            return Err(End::failed("copy: the target is not the source"));
        }
    }
    let Some((blocks, timing)) = best else { return Err(End::failed("copy: no grid was timed")) };
    let rate = bench.add(Measured {
        kernel: "copy",
        variant: format!("{blocks} blocks"),
        params: params([("mib", values >> 16)]),
        timing,
        work: 32.0 * values as f64,
        unit: "GB/s",
        bound: None,
        check: "first and last MiB equal the source".into(),
    });
    Ok(rate * 1e6)
}

fn products(bench: &mut Bench) -> Result<f64, End> {
    const STEPS: u32 = 4096;
    let stream = bench.stream.clone();
    let kernel = bench.device.load(&CEILINGS)?.kernel("mma_s8")?;
    let per = kernel.blocks_per_multiprocessor(256, 0)?.clamp(1, 4);
    let blocks = per * bench.device.info().multiprocessors;
    let mut out = Buffer::<i32>::zeroed(&stream, 256 * blocks as usize)?;
    let config = LaunchConfig::new([blocks, 1, 1], [256, 1, 1]);
    let timing = bench.time(|_| kernel.launch_safe(&stream, &config, args![&mut out, STEPS]))?;
    let values = out.to_vec(&stream)?;
    if values.iter().filter(|value| **value == 0).count() > values.len() / 100 {
        return Err(End::failed("mma_s8: the sums are zero"));
    }
    let rate = bench.add(Measured {
        kernel: "mma_s8",
        variant: format!("{per} blocks of 8 warps an SM"),
        params: params([("steps", STEPS as usize)]),
        timing,
        work: (MMA_OPERATIONS * u64::from(blocks) * u64::from(STEPS)) as f64,
        unit: "TOPS",
        bound: None,
        check: "instructions counted by the emulator, values compared with it by validate".into(),
    });
    Ok(rate * 1e9)
}

fn link(bench: &mut Bench) -> Result<(), End> {
    const BYTES: usize = 256 << 20;
    let stream = bench.stream.clone();
    let mut host = PinnedBuffer::<u8>::zeroed(&bench.device, BYTES)?;
    let random = Source::bytes(&stream)?.buffer(&bench.device, &stream, BYTES)?;
    random.view().copy_to_pinned(&stream, &mut host, ..)?;
    let mut target = Buffer::<u8>::alloc(&bench.device, BYTES)?;
    target.fill(&stream, 0x5a)?;
    let timing = bench.time(|_| target.view_mut().copy_from_pinned(&stream, &host, ..))?;
    if host.as_slice()? != target.to_vec(&stream)? {
        return Err(End::failed("the copy from pinned memory is not its source"));
    }
    bench.add(Measured {
        kernel: "host_to_device",
        variant: "from pinned memory".into(),
        params: params([("mib", BYTES >> 20)]),
        timing,
        work: BYTES as f64,
        unit: "GB/s",
        bound: None,
        check: "all bytes equal the source".into(),
    });
    Ok(())
}
