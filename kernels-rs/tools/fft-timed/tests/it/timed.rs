//! The kernels that take cycles, in the emulator: a step is one transform of every warp. And their PTX: selects, which
//! the emulator does not count.

use std::collections::HashSet;

use fringes_emulator::{GlobalMemory, Launch, Report};
use fringes_fft::internals::phase_table;
use fringes_fft::{Sign, Size};
use fringes_kernels_tools_fft_timed::measure::{RECORD, WARPS};
use fringes_kernels_tools_fft_timed::{TIMED, Timed};

/// What a machine-code instruction of arithmetic or on shared memory executes: name in the emulator.
const COUNTED: [&str; 9] = [
    "mma_m16n8k8_f16_f16",
    "mma_m16n8k16_f16_f16",
    "fma_rn_f16x2",
    "mul_rn_f16x2",
    "fma_rn_sat_f16x2",
    "shfl_sync_bfly_b32",
    "shfl_sync_idx_b32",
    "prmt_b32",
    "bar_warp_sync",
];

fn table(timed: &Timed) -> Vec<u32> {
    timed.phases.note(1.0).unwrap_or_else(|| {
        let size = Size::new(timed.size.0, timed.size.1).expect(timed.name);
        phase_table(size, Sign::Positive, 0)
    })
}

/// Runs blocks of a kernel: the report, and a word of every thread.
fn run(timed: &Timed, steps: u32, blocks: u32) -> (Report, Vec<u32>) {
    let mut memory = GlobalMemory::new();
    let phases = memory.upload(&table(timed));
    let threads = (32 * WARPS * blocks) as usize;
    let (cycles, values) = (memory.allocate::<u64>(RECORD * blocks as usize), memory.allocate::<u32>(threads));
    let launch = Launch::new(timed.declaration, [blocks, 1, 1], [32 * WARPS, 1, 1]).shared_bytes(timed.shared_bytes);
    let report = launch.run(&mut memory, || (timed.kernel)(phases.into(), cycles.into(), values.into(), steps));
    report.assert_clean();
    for record in memory.values(cycles).chunks(RECORD) {
        assert!((record[0] > 0 || steps == 0) && record[1] <= record[2], "{}: {record:?}", timed.name);
    }
    (report, memory.values(values))
}

#[test]
fn a_step_is_one_transform_of_every_warp() {
    for timed in TIMED {
        let [none, one, three] = [0, 1, 3].map(|steps| run(timed, steps, 1).0);
        for name in COUNTED {
            let [none, one, three] = [&none, &one, &three].map(|report| report.count(name).warps);
            assert_eq!((one - none) * 3, three - none, "{}: {name}", timed.name);
        }
        let products = one.count("mma_m16n8k16_f16_f16").warps + one.count("mma_m16n8k8_f16_f16").warps;
        assert!(products > 0, "{}", timed.name);
        assert_eq!(one.shared_wavefronts, one.shared_wavefronts_ideal, "{}", timed.name);
        // What goes around takes one half2 operation a register of the input.
        let inputs = (timed.size.0 / 32) as u64;
        let around = one.count("fma_rn_sat_f16x2").warps - none.count("fma_rn_sat_f16x2").warps;
        assert_eq!(around, u64::from(WARPS) * inputs, "{}", timed.name);
    }
}

#[test]
fn values_go_on_changing_and_differ_from_thread_to_thread() {
    for timed in TIMED {
        let (_, before) = run(timed, 9, 2);
        let (_, after) = run(timed, 10, 2);
        // Of two or four registers of mostly 0 and 1 many are the same.
        let tenths = if timed.size.0 >= 256 { 9 } else { 2 };
        let different = after.iter().collect::<HashSet<_>>().len();
        assert!(different * 10 > after.len() * tenths, "{}: {different} of {}", timed.name, after.len());
        let changed = before.iter().zip(&after).filter(|(before, after)| before != after).count();
        assert!(changed * 10 > after.len() * tenths, "{}: {changed} of {}", timed.name, after.len());
    }
}

const SM_80: &str = include_str!("../../ptx/fft-timed_sm_80.ptx");
const SM_90A: &str = include_str!("../../ptx/fft-timed_sm_90a.ptx");

/// Instructions of the kernel's body whose names begin so; none if the PTX lacks the kernel.
fn count(ptx: &str, kernel: &str, start: &str) -> Option<usize> {
    let (_, rest) = ptx.split_once(&format!(".entry {kernel}("))?;
    let (body, _) = rest.split_once("\n}")?;
    Some(body.split([';', '{', '\n']).filter(|instruction| instruction.trim_start().starts_with(start)).count())
}

#[test]
fn ptx_has_the_selects_and_products_of_one_transform() {
    for timed in TIMED {
        for (arch, ptx) in [("sm_80", SM_80), ("sm_90a", SM_90A)] {
            let Some(selects) = count(ptx, timed.name, "selp") else {
                assert!(timed.needs_sm_90 && arch == "sm_80", "{} is not in the PTX for {arch}", timed.name);
                continue;
            };
            assert_eq!(selects, timed.selects as usize, "{} for {arch}", timed.name);
            let products = run(timed, 1, 1).0;
            for (name, start) in [
                ("mma_m16n8k8_f16_f16", "mma.sync.aligned.m16n8k8"),
                ("mma_m16n8k16_f16_f16", "mma.sync.aligned.m16n8k16"),
            ] {
                let executed = products.count(name).warps / u64::from(WARPS);
                assert_eq!(
                    count(ptx, timed.name, start).map(|n| n as u64),
                    Some(executed),
                    "{} for {arch}",
                    timed.name
                );
            }
        }
    }
}
