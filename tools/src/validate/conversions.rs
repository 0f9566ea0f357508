//! Conversions between layouts: every element of random arrays where the layouts say it is.

use fringes_gpu::{Buffer, LaunchConfig, PtxSet, args};
use fringes_kernels_tools_conversions::{CONVERSIONS, Conversion};
use fringes_layout::Layout;
use fringes_layout::program::Places;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::end::End;
use crate::gpu_report::params;
use crate::validate::session::{Outcome, Session, compare};

static KERNELS: PtxSet = PtxSet::new(include_str!("../../../kernels-rs/tools/conversions/ptx/conversions_sm_80.ptx"))
    .with_sm_90a(include_str!("../../../kernels-rs/tools/conversions/ptx/conversions_sm_90a.ptx"));

/// What no conversion leaves in place.
const POISON: u32 = 0xdead_beef;
/// Registers beyond the last array: they must stay.
const BEYOND: usize = 64;

pub(crate) fn validate(session: &mut Session) -> Result<(), End> {
    let blocks: &[usize] = if session.quick { &[1, 3] } else { &[1, 7, 4096] };
    // The PTX with stores of matrices is for 9.0 alone.
    let hopper = session.device.info().compute_capability == (9, 0);
    for conversion in CONVERSIONS.iter().filter(|conversion| hopper || !conversion.needs_sm_90) {
        for &blocks in blocks {
            case(session, conversion, blocks)?;
        }
    }
    Ok(())
}

/// Random arrays as the registers of warps hold them, before and afterwards.
fn arrays(conversion: &Conversion, blocks: usize) -> Result<[Vec<u32>; 2], Box<dyn std::error::Error>> {
    let (from, to) = (Layout::parse(conversion.from)?, Layout::parse(conversion.to)?);
    let (before, after) = (Places::new(&from, &from)?, Places::new(&to, &from)?);
    let mut random = Xoshiro256PlusPlus::seed_from_u64(blocks as u64);
    let mut words = [Vec::new(), Vec::new()];
    for _ in 0..blocks {
        let array: Vec<u32> = (0..from.logical().size()).map(|_| random.random()).collect();
        for (words, places) in words.iter_mut().zip([&before, &after]) {
            words.extend(places.fill(|element| array[element as usize]).into_iter().flatten());
        }
    }
    Ok(words)
}

fn case(session: &mut Session, conversion: &Conversion, blocks: usize) -> Result<(), End> {
    session.case("conversions", conversion.name, params([("arrays", blocks)]), |session| {
        let stream = &session.stream;
        let kernel = session.device.load(&KERNELS)?.kernel(&format!("convert_{}", conversion.name))?;
        let [before, mut expected] = arrays(conversion, blocks)?;
        let moved = 4 * (before.len() + expected.len());
        let source = Buffer::from_slice(stream, &before)?;
        let mut target = Buffer::<u32>::alloc(&session.device, expected.len() + BEYOND)?;
        target.fill(stream, POISON)?;
        let config =
            LaunchConfig::new([u32::try_from(blocks)?, 1, 1], [32, 1, 1]).with_shared_bytes(conversion.shared_bytes);
        let time_ms = session.time(|| kernel.launch_safe(stream, &config, args![&source, &mut target]))?;
        expected.resize(expected.len() + BEYOND, POISON);
        Ok(Outcome {
            time_ms,
            value: moved as f64 / time_ms / 1e6,
            unit: "GB/s",
            against: "the layouts' definition, and poison beyond the end",
            verdict: compare(&expected, &target.to_vec(stream)?),
        })
    })
}
