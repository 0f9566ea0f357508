//! SM-cycles a warp instruction: the cost table of layout conversions.

use fringes_gpu::{Buffer, LaunchConfig, PtxSet, args};
use fringes_kernels_ceilings::rates::{REPEATS, SHARED_BYTES, WARPS};

use crate::bench::Bench;
use crate::gpu_report::{End, Row, params};

const CEILINGS: PtxSet = PtxSet::new(include_str!("../../kernels-rs/ceilings/ptx/ceilings_sm_80.ptx"))
    .with_sm_90a(include_str!("../../kernels-rs/ceilings/ptx/ceilings_sm_90a.ptx"));

/// Kernels, the instruction of each, and whether sm_90 brought it.
const RATES: [(&str, &str, bool); 21] = [
    ("rate_select", "selp", false),
    ("rate_permute", "prmt", false),
    ("rate_logic", "lop3", false),
    ("rate_half2", "fma.f16x2", false),
    ("rate_barrier", "bar.warp.sync", false),
    ("rate_shuffle_xor", "shfl.bfly", false),
    ("rate_shuffle_index", "shfl.idx", false),
    ("rate_move_matrix", "movmatrix", false),
    ("rate_store_shared_b32", "st.shared.b32", false),
    ("rate_store_shared_v2", "st.shared.v2.b32", false),
    ("rate_store_shared_v4", "st.shared.v4.b32", false),
    ("rate_load_shared_b32", "ld.shared.b32", false),
    ("rate_load_shared_v2", "ld.shared.v2.b32", false),
    ("rate_load_shared_v4", "ld.shared.v4.b32", false),
    ("rate_load_matrix", "ldmatrix.x4", false),
    ("rate_load_matrix_trans", "ldmatrix.x4.trans", false),
    ("rate_store_matrix", "stmatrix.x4", true),
    ("rate_store_matrix_trans", "stmatrix.x4.trans", true),
    ("rate_mma_k8", "mma.m16n8k8 f16", false),
    ("rate_mma_k16", "mma.m16n8k16 f16", false),
    ("rate_mma_k16_wide", "mma.m16n8k16 f16, f32 sums", false),
];

/// Measures them, where they are wanted.
pub(crate) fn run(bench: &mut Bench) -> Result<(), End> {
    if !bench.wants("rates") {
        return Ok(());
    }
    const STEPS: u32 = 512;
    println!("\n{:<28} {:>10}  (a warp instruction)", "instruction", "SM-cycles");
    let stream = bench.stream.clone();
    let info = bench.device.info();
    let (blocks, hopper) = (info.multiprocessors, info.compute_capability.0 >= 9);
    let module = bench.device.load(&CEILINGS)?;
    let mut cycles = Buffer::<u64>::zeroed(&stream, blocks as usize)?;
    let mut values = Buffer::<u32>::zeroed(&stream, 512 * blocks as usize)?;
    let config = LaunchConfig::new([blocks, 1, 1], [512, 1, 1]).with_shared_bytes(SHARED_BYTES);
    for (name, instruction, since_hopper) in RATES {
        if since_hopper && !hopper {
            println!("{instruction:<28} {:>10}", "not here");
            continue;
        }
        let kernel = module.kernel(name)?;
        let timing = bench.time(|_| kernel.launch_safe(&stream, &config, args![&mut cycles, &mut values, STEPS]))?;
        let mut all = cycles.to_vec(&stream)?;
        all.sort_unstable();
        let value = all[all.len() / 2] as f64 / f64::from(STEPS * REPEATS * WARPS);
        println!("{instruction:<28} {value:>10.3}");
        bench.record.rows.push(Row {
            kernel: "rate",
            variant: instruction.into(),
            params: params([("warps", WARPS as usize), ("steps", STEPS as usize)]),
            time_ms: timing.median_ms,
            value,
            unit: "SM-cycles",
            floor: None,
            bound_by: String::new(),
            check: "instructions counted by the emulator; median of the SMs".into(),
        });
    }
    Ok(())
}
