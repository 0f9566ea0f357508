//! SM-cycles a warp instruction, the cost table of layout conversions; and SM-cycles a conversion, beside what the
//! table says.

use fringes_gpu::{Buffer, Kernel, LaunchConfig, PtxSet, Timing, args};
use fringes_kernels_tools_ceilings::rates;
use fringes_kernels_tools_conversions::{CONVERSIONS, Conversion, timed};
use fringes_layout::plan::Costs;
use fringes_layout::program::Counts;

use crate::bench::timing::Bench;
use crate::end::End;
use crate::gpu_report::{Params, Row, params};
use crate::sm_cycles::CEILINGS;

static CONVERT: PtxSet = PtxSet::new(include_str!("../../../kernels-rs/tools/conversions/ptx/conversions_sm_80.ptx"))
    .with_sm_90a(include_str!("../../../kernels-rs/tools/conversions/ptx/conversions_sm_90a.ptx"));

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

/// Conversions that are timed, those of the transform from 256 to 512.
const TIMED: [&str; 5] = [
    "z3_primed_to_z3",
    "z3_primed_to_z3_by_words",
    "z3_primed_to_z3_by_shuffles",
    "z3_primed_to_z3_by_transposes",
    "y_primed_to_y",
];

/// Steps of a run.
const STEPS: u32 = 512;

/// What the kernels here write into: cycles by block, and words that nobody reads.
pub(crate) struct Output {
    cycles: Buffer<u64>,
    values: Buffer<u32>,
    config: LaunchConfig,
}

impl Output {
    pub(crate) fn new(bench: &Bench, shared_bytes: u32) -> Result<Self, End> {
        let blocks = bench.device.info().multiprocessors;
        let config = LaunchConfig::new([blocks, 1, 1], [512, 1, 1]).with_shared_bytes(shared_bytes);
        let cycles = Buffer::zeroed(&bench.stream, blocks as usize)?;
        Ok(Self { cycles, values: Buffer::zeroed(&bench.stream, 512 * blocks as usize)?, config })
    }

    /// Cycles of the median SM.
    fn measure(&mut self, bench: &Bench, kernel: &Kernel) -> Result<(f64, Timing), End> {
        let Self { cycles, values, config } = self;
        let launch = |_| kernel.launch_safe(&bench.stream, config, args![&mut *cycles, &mut *values, STEPS]);
        let timing = bench.time(launch)?;
        let mut all = cycles.to_vec(&bench.stream)?;
        all.sort_unstable();
        Ok((all[all.len() / 2] as f64, timing))
    }

    /// SM-cycles a warp instruction of a kernel of [`rates`].
    pub(crate) fn price(&mut self, bench: &Bench, kernel: &Kernel) -> Result<(f64, Timing), End> {
        let (cycles, timing) = self.measure(bench, kernel)?;
        Ok((cycles / f64::from(STEPS * rates::REPEATS * rates::WARPS), timing))
    }
}

/// Measures them, where they are wanted.
pub(crate) fn run(bench: &mut Bench) -> Result<(), End> {
    // PTX for sm_90a runs there alone.
    let hopper = bench.device.info().compute_capability == (9, 0);
    if bench.wants("rates") {
        instructions(bench, hopper)?;
    }
    if bench.wants("conversions") { conversions(bench, hopper) } else { Ok(()) }
}

fn instructions(bench: &mut Bench, hopper: bool) -> Result<(), End> {
    println!("\n{:<32} {:>10}", "instruction", "SM-cycles");
    let module = bench.device.load(&CEILINGS)?;
    let mut output = Output::new(bench, rates::SHARED_BYTES)?;
    for (name, instruction, _) in RATES.iter().filter(|(_, _, needs_hopper)| hopper || !needs_hopper) {
        let (value, timing) = output.price(bench, &module.kernel(name)?)?;
        println!("{instruction:<32} {value:>10.3}");
        let check = "instructions counted by the emulator; median of the SMs".into();
        let params = params([("warps", rates::WARPS as usize), ("steps", STEPS as usize)]);
        bench.record.rows.push(row("rate", instruction, params, (value, timing), None, check));
    }
    Ok(())
}

fn conversions(bench: &mut Bench, hopper: bool) -> Result<(), End> {
    println!("\n{:<32} {:>10} {:>10} {:>10}", "conversion", "SM-cycles", "sum", "worst pipe");
    let module = bench.device.load(&CONVERT)?;
    let mut output = Output::new(bench, timed::SHARED_BYTES)?;
    for conversion in CONVERSIONS.iter().filter(|each| TIMED.contains(&each.name) && (hopper || !each.needs_sm_90)) {
        let (cycles, timing) = output.measure(bench, &module.kernel(&format!("time_{}", conversion.name))?)?;
        let value = cycles / f64::from(STEPS * timed::WARPS);
        let (sum, worst) = predicted(conversion);
        println!("{:<32} {value:>10.2} {sum:>10.2} {worst:>10.2}", conversion.name);
        let check = format!("sum of the H200's table {sum:.2}; compared with the layouts by validate");
        let params = params([("warps", timed::WARPS as usize), ("steps", STEPS as usize)]);
        bench.record.rows.push(row("conversion", conversion.name, params, (value, timing), Some(worst), check));
    }
    Ok(())
}

/// The sum of what a conversion's instructions cost on an H200, and the largest part of one pipe (or a quarter cycle an
/// instruction).
fn predicted(conversion: &Conversion) -> (f64, f64) {
    let counts = conversion.counts;
    let count = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
    let alu = Counts {
        select: count(counts.select),
        permute: count(counts.permute),
        address: count(counts.address),
        ..Counts::default()
    };
    let exchange = Counts {
        shuffle: count(counts.shuffle),
        move_matrix: count(counts.move_matrix),
        // A wavefront is a word a lane, stored or loaded.
        store_words: count(conversion.wavefronts),
        ..Counts::default()
    };
    let barrier = Counts { barrier: count(counts.barrier), ..Counts::default() };
    let (alu, exchange) = (Costs::H200.cost(&alu), Costs::H200.cost(&exchange));
    (alu + exchange + Costs::H200.cost(&barrier), alu.max(exchange))
}

fn row(
    kernel: &'static str,
    variant: &str,
    params: Params,
    (value, timing): (f64, Timing),
    floor: Option<f64>,
    check: String,
) -> Row {
    let bound_by = if floor.is_some() { "the pipe that is used most".into() } else { String::new() };
    let (variant, time_ms) = (variant.into(), timing.median_ms);
    Row { kernel, variant, params, time_ms, value, unit: "SM-cycles", floor, bound_by, check, energy: None }
}
