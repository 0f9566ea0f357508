//! SM-cycles: of a warp instruction, and of an FFT microkernel from registers to registers. What `bench_gpu` and
//! `fft_model` share.

use fringes::fft::internals::phase_table;
use fringes::fft::{FftError, Sign, Size};
use fringes_device::{Global, GlobalMut};
use fringes_emulator::memory::Space;
use fringes_emulator::{AccessKind, GlobalMemory, Launch, Report};
use fringes_gpu::{Buffer, Device, GpuError, Kernel, LaunchConfig, PtxSet, Stream, args};
use fringes_kernels_tools_ceilings::rates;
use fringes_kernels_tools_fft_timed::measure::{RECORD, WARPS};
use fringes_kernels_tools_fft_timed::{Phases, Timed};
use fringes_layout::plan::Rates;

/// Kernels that take cycles of instructions.
pub(crate) static CEILINGS: PtxSet =
    PtxSet::new(include_str!("../../kernels-rs/tools/ceilings/ptx/ceilings_sm_80.ptx"))
        .with_sm_90a(include_str!("../../kernels-rs/tools/ceilings/ptx/ceilings_sm_90a.ptx"));
/// Kernels that take cycles of transforms.
pub(crate) static FFT: PtxSet = PtxSet::new(include_str!("../../kernels-rs/tools/fft-timed/ptx/fft-timed_sm_80.ptx"))
    .with_sm_90a(include_str!("../../kernels-rs/tools/fft-timed/ptx/fft-timed_sm_90a.ptx"));

/// Rounds of a run of a kernel that prices an instruction.
const PRICED_STEPS: u32 = 512;
/// Transforms of a warp in a run.
pub(crate) const STEPS: u32 = 4096;

/// The kernels that price an instruction, and the instruction's name in records.
pub(crate) const PRICED: [(&str, &str); 10] = [
    ("rate_select", "selp"),
    ("rate_permute", "prmt"),
    ("rate_logic", "lop3"),
    ("rate_half2", "fma.f16x2"),
    ("rate_barrier", "bar.warp.sync"),
    ("rate_shuffle_xor", "shfl.bfly"),
    ("rate_store_shared_b32", "st.shared.b32"),
    ("rate_load_shared_b32", "ld.shared.b32"),
    ("rate_mma_k8", "mma.m16n8k8 f16"),
    ("rate_mma_k16", "mma.m16n8k16 f16"),
];

/// The cost table whose instructions are these numbers of SM-cycles, in the order of [`PRICED`]; matrices cost what
/// their words do.
pub(crate) fn table([select, permute, logic, half2, barrier, shuffle, store, load, k8, k16]: [f64; 10]) -> Rates {
    Rates {
        select,
        permute,
        shuffle,
        move_matrix: shuffle,
        store_word: store,
        load_word: load,
        store_matrix: store,
        load_matrix: load,
        logic,
        barrier,
        half2,
        mma_k8: k8,
        mma_k16: k16,
    }
}

/// SM-cycles that a kernel of [`CEILINGS`] takes an instruction, on the median SM after so many runs.
pub(crate) fn price(stream: &Stream, kernel: &Kernel, blocks: u32, warm_up: usize) -> Result<f64, GpuError> {
    let config = LaunchConfig::new([blocks, 1, 1], [32 * rates::WARPS, 1, 1]).with_shared_bytes(rates::SHARED_BYTES);
    let mut cycles = Buffer::<u64>::zeroed(stream, blocks as usize)?;
    let mut values = Buffer::<u32>::zeroed(stream, (32 * rates::WARPS * blocks) as usize)?;
    for _ in 0..=warm_up {
        kernel.launch_safe(stream, &config, args![&mut cycles, &mut values, PRICED_STEPS])?;
    }
    let mut cycles = cycles.to_vec(stream)?;
    cycles.sort_unstable();
    let median = cycles.get(cycles.len() / 2).copied().unwrap_or(0);
    Ok(median as f64 / f64::from(PRICED_STEPS * rates::REPEATS * rates::WARPS))
}

/// What a transform executes in a warp: instructions, and words a lane of shared memory.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Executed {
    pub(crate) k8: f64,
    pub(crate) k16: f64,
    /// Half2 operations of the transform.
    pub(crate) half2: f64,
    /// Half2 operations that make the next input of the output.
    pub(crate) around: f64,
    pub(crate) selects: f64,
    pub(crate) permutes: f64,
    pub(crate) logic: f64,
    pub(crate) shuffles: f64,
    pub(crate) stored: f64,
    pub(crate) loaded: f64,
    /// Loads and stores.
    pub(crate) accesses: f64,
    pub(crate) barriers: f64,
}

/// The table of phases of a kernel.
pub(crate) fn phases(timed: &Timed) -> Result<Vec<u32>, FftError> {
    match timed.phases.note(1.0) {
        Some(table) => Ok(table),
        None => Ok(phase_table(Size::new(timed.size.0, timed.size.1)?, Sign::Positive, 0)),
    }
}

impl Executed {
    /// What the emulator counts in one step of a kernel, with the selects and XORs that it does not count.
    pub(crate) fn of(timed: &Timed) -> Result<Self, FftError> {
        let table = phases(timed)?;
        let run = |steps: u32| -> Report {
            let mut memory = GlobalMemory::new();
            let phases = memory.upload(&table);
            let (cycles, values) = (memory.allocate::<u64>(RECORD), memory.allocate::<u32>(32 * WARPS as usize));
            let launch = Launch::new(timed.declaration, [1, 1, 1], [32 * WARPS, 1, 1]).shared_bytes(timed.shared_bytes);
            launch.run(&mut memory, || {
                (timed.kernel)(Global::from(phases), GlobalMut::from(cycles), GlobalMut::from(values), steps);
            })
        };
        let (none, one) = (run(0), run(1));
        let each = |of: &dyn Fn(&Report) -> u64| (of(&one) - of(&none)) as f64 / f64::from(WARPS);
        let count = |name: &str| each(&|report| report.count(name).warps);
        let shared = |kind: Option<AccessKind>, requests: bool| {
            each(&|report| {
                let chosen = report
                    .accesses
                    .iter()
                    .filter(|line| line.space == Space::Shared && kind.is_none_or(|kind| kind == line.kind));
                chosen.map(|line| if requests { line.requests } else { line.transactions }).sum()
            })
        };
        // The emulator counts a request for each matrix.
        let further_matrices = each(&|report| {
            let of = |name: &str| name.split('_').find_map(|part| part.strip_prefix('x')?.parse::<u64>().ok());
            let matrices = report.instructions.iter().filter(|(name, _)| name.contains("matrix"));
            matrices.map(|(name, count)| count.warps * of(name).unwrap_or(1).saturating_sub(1)).sum()
        });
        Ok(Self {
            k8: count("mma_m16n8k8_f16_f16"),
            k16: count("mma_m16n8k16_f16_f16"),
            half2: count("fma_rn_f16x2") + count("mul_rn_f16x2") + count("add_rn_f16x2") + count("sub_rn_f16x2"),
            around: count("fma_rn_sat_f16x2"),
            selects: timed.selects.into(),
            permutes: count("prmt_b32"),
            logic: if timed.phases == Phases::Packed { 4.0 } else { 0.0 },
            shuffles: count("shfl_sync_bfly_b32") + count("shfl_sync_idx_b32"),
            stored: shared(Some(AccessKind::Store), false),
            loaded: shared(Some(AccessKind::Load), false),
            accesses: shared(None, true) - further_matrices,
            barriers: count("bar_warp_sync"),
        })
    }

    /// SM-cycles of each pipe at these rates; the last is the issue of instructions, four a cycle.
    pub(crate) fn pipes(&self, rates: &Rates) -> [(&'static str, f64); 5] {
        let alu = self.selects * rates.select + self.permutes * rates.permute + self.logic * rates.logic;
        let words = self.stored * rates.store_word + self.loaded * rates.load_word;
        let issued = self.k8 + self.k16 + self.half2 + self.around + self.selects + self.permutes + self.logic;
        [
            ("tensor", self.k8 * rates.mma_k8 + self.k16 * rates.mma_k16),
            ("half2", (self.half2 + self.around) * rates.half2),
            ("ALU", alu),
            ("shuffles, shared memory", self.shuffles * rates.shuffle + words),
            ("issue", (issued + self.shuffles + self.accesses + self.barriers) / 4.0),
        ]
    }

    /// Sum of the pipes, issue aside, and the busiest one.
    pub(crate) fn predicted(&self, rates: &Rates) -> (f64, (&'static str, f64)) {
        let pipes = self.pipes(rates);
        let sum = pipes[..4].iter().map(|(_, cycles)| cycles).sum::<f64>() + self.barriers * rates.barrier;
        (sum, pipes.into_iter().fold(pipes[0], |busiest, pipe| if pipe.1 > busiest.1 { pipe } else { busiest }))
    }
}

/// A kernel that takes cycles of a transform, its phases and its results on the GPU.
pub(crate) struct Cycles {
    kernel: Kernel,
    shared_bytes: u32,
    multiprocessors: u32,
    phases: Buffer<u32>,
    cycles: Buffer<u64>,
    values: Buffer<u32>,
}

impl Cycles {
    /// Loads it.
    pub(crate) fn new(device: &Device, stream: &Stream, timed: &Timed, phases: &[u32]) -> Result<Self, GpuError> {
        let multiprocessors = device.info().multiprocessors;
        let blocks = (32 / WARPS * multiprocessors) as usize;
        Ok(Self {
            kernel: device.load(&FFT)?.kernel(timed.name)?,
            shared_bytes: timed.shared_bytes,
            multiprocessors,
            phases: Buffer::from_slice(stream, phases)?,
            cycles: Buffer::zeroed(stream, RECORD * blocks)?,
            values: Buffer::zeroed(stream, 32 * WARPS as usize * blocks)?,
        })
    }

    /// Whether an SM holds so many warps of it at once.
    pub(crate) fn holds(&self, warps: u32) -> Result<bool, GpuError> {
        Ok(self.kernel.blocks_per_multiprocessor(32 * WARPS, self.shared_bytes)? >= warps / WARPS)
    }

    /// Queues a run with so many warps an SM, a multiple of [`WARPS`].
    pub(crate) fn launch(&mut self, stream: &Stream, warps: u32) -> Result<(), GpuError> {
        let blocks = warps / WARPS * self.multiprocessors;
        let config = LaunchConfig::new([blocks, 1, 1], [32 * WARPS, 1, 1]).with_shared_bytes(self.shared_bytes);
        let Self { phases, cycles, values, kernel, .. } = self;
        kernel.launch_safe(stream, &config, args![&*phases, cycles, values, STEPS])
    }

    /// SM-cycles of a transform in the last run with so many warps an SM: from the first block's beginning to the last
    /// one's end.
    pub(crate) fn of_transform(&self, stream: &Stream, warps: u32) -> Result<f64, GpuError> {
        let records = self.cycles.to_vec(stream)?;
        let records = &records[..RECORD * (warps / WARPS * self.multiprocessors) as usize];
        let column = |at: usize| records.iter().copied().skip(at).step_by(RECORD);
        let rates = column(0).zip(column(1).zip(column(2)));
        let mut rates: Vec<f64> =
            rates.map(|(cycles, (began, ended))| cycles as f64 / ended.saturating_sub(began).max(1) as f64).collect();
        rates.sort_by(f64::total_cmp);
        let rate = rates.get(rates.len() / 2).copied().unwrap_or(0.0);
        let all = column(2).max().unwrap_or(0).saturating_sub(column(1).min().unwrap_or(0));
        Ok(all as f64 * rate / f64::from(STEPS * warps))
    }
}
