//! The kernels that measure ceilings: they copy and compute what they say.

use fringes_device::Kernel;
use fringes_emulator::{GlobalMemory, Launch};
use fringes_gpu::{Buffer, LaunchConfig, PtxSet, args};
use fringes_kernels_tools_ceilings::{MMA_OPERATIONS, mma_s8};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::end::End;
use crate::gpu_report::params;
use crate::validate::session::{Outcome, Session, compare};

static CEILINGS: PtxSet = PtxSet::new(include_str!("../../../kernels-rs/tools/ceilings/ptx/ceilings_sm_80.ptx"));

/// What no copy leaves in place.
const POISON: [u32; 4] = [0xdead_beef; 4];

pub(crate) fn validate(session: &mut Session) -> Result<(), End> {
    let sizes: &[(usize, u32)] = if session.quick {
        &[(1, 1), (1025, 2)]
    } else {
        &[(1, 1), (1023, 1), (1024, 1), (1025, 3), (5000, 2), (1 << 22, 264), ((1 << 22) + 777, 100)]
    };
    for &(length, blocks) in sizes {
        copy(session, length, blocks)?;
    }
    products(session)
}

fn copy(session: &mut Session, length: usize, blocks: u32) -> Result<(), End> {
    session.case("copy", "", params([("blocks", blocks as usize), ("values", length)]), |session| {
        let stream = &session.stream;
        let kernel = session.device.load(&CEILINGS)?.kernel("copy")?;
        let mut random = Xoshiro256PlusPlus::seed_from_u64(length as u64);
        let mut expected: Vec<[u32; 4]> = (0..length).map(|_| random.random()).collect();
        let source = Buffer::from_slice(stream, &expected)?;
        // Longer than the source: what lies beyond must stay.
        let mut target = Buffer::<[u32; 4]>::alloc(&session.device, length + 100)?;
        target.view_mut().cast::<u32>()?.fill(stream, POISON[0])?;
        let config = LaunchConfig::new([blocks, 1, 1], [256, 1, 1]);
        let time_ms = session.time(|| kernel.launch_safe(stream, &config, args![&source, &mut target]))?;
        expected.resize(length + 100, POISON);
        Ok(Outcome {
            time_ms,
            value: 32.0 * length as f64 / time_ms / 1e6,
            unit: "GB/s",
            against: "the source, and poison beyond its end",
            verdict: compare(&expected, &target.to_vec(stream)?),
        })
    })
}

fn products(session: &mut Session) -> Result<(), End> {
    const BLOCKS: usize = 3;
    const STEPS: usize = 5;
    session.case("mma_s8", "", params([("blocks", BLOCKS), ("steps", STEPS)]), |session| {
        let stream = &session.stream;
        let kernel = session.device.load(&CEILINGS)?.kernel("mma_s8")?;
        // One value short: the last thread has nowhere to write.
        let length = 256 * BLOCKS - 1;
        let mut out = Buffer::<i32>::alloc(&session.device, length + 1)?;
        out.fill(stream, 0x5a5a_5a5a)?;
        let config = LaunchConfig::new([BLOCKS as u32, 1, 1], [256, 1, 1]);
        let steps = STEPS as u32;
        let time_ms = session.time(|| kernel.launch_safe(stream, &config, args![out.slice_mut(..length)?, steps]))?;
        let mut memory = GlobalMemory::new();
        let emulated = memory.allocate::<i32>(length);
        let launch = Launch::new(mma_s8::DECLARATION, config.grid, config.block);
        launch.run(&mut memory, || mma_s8(emulated.into(), steps)).assert_clean();
        let mut expected = memory.values(emulated);
        expected.push(0x5a5a_5a5a);
        Ok(Outcome {
            time_ms,
            value: (MMA_OPERATIONS * BLOCKS as u64 * STEPS as u64) as f64 / time_ms / 1e9,
            unit: "TOPS",
            against: "the emulator, and poison beyond the end",
            verdict: compare(&expected, &out.to_vec(stream)?),
        })
    })
}
