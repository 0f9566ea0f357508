//! The comparisons, one after the other.

use super::Comparison;
use crate::error::PlanError;
use crate::machine::Machine;
use crate::plan::{Plan, Resource, Role};
use crate::telescope::{Beams, Products, Samples, Telescope, Voltages};

/// Peak of an H200's tensor cores with 8 bits, operations a second.
const H200_8_BITS: f64 = 1979e12;
/// Peak of an H200 with f32.
const H200_F32: f64 = 66.9e12;
/// Peak of an A40's tensor cores with 8 bits.
const A40_8_BITS: f64 = 299.3e12;
/// Peak of a Tesla K10, two chips, with f32.
const K10_F32: f64 = 4.58e12;

/// A telescope whose voltages come channelised. Dumps are so seldom that they cost nothing.
fn voltages(antennas: u32, bandwidth_hz: f64, channels: u32, format: Voltages) -> Telescope {
    Telescope {
        antennas,
        bandwidth_hz,
        channels,
        voltages: format,
        samples: Samples::Channelised,
        dump_seconds: 1e5,
        ..Telescope::default()
    }
}

/// A machine with all of a GPU and of its link, and no network.
fn machine() -> Machine {
    Machine { gpus_per_host: 1, network: 1e15, network_share: 1.0, gpu_share: 1.0, ..Machine::default() }
}

/// GPUs that a resource alone asks for.
fn need(telescope: &Telescope, role: Role, resource: Resource) -> Result<f64, PlanError> {
    let plan = Plan::new(telescope, &machine())?;
    let ranks = plan.ranks.iter().filter(|rank| rank.role == role);
    let mut needs = ranks.flat_map(|rank| rank.needs.iter());
    let found = needs.find(|need| need.0 == resource).map(|need| need.1);
    found.ok_or_else(|| PlanError::Coefficients(format!("no ranks of {}", role.name())))
}

/// GPUs of the X-engines: whole ones.
fn gpus(telescope: &Telescope) -> Result<f64, PlanError> {
    let plan = Plan::new(telescope, &machine())?;
    let ranks = plan.ranks.iter().filter(|rank| rank.role == Role::X);
    Ok(ranks.map(|rank| f64::from(rank.gpus)).sum())
}

/// All comparisons.
pub fn comparisons() -> Result<Vec<Comparison>, PlanError> {
    let mut all = meerkat()?;
    all.extend(lofar_and_mwa()?);
    all.extend(chime_and_chord()?);
    all.extend(dsa_2000()?);
    all.extend(ska_low()?);
    Ok(all)
}

fn meerkat() -> Result<Vec<Comparison>, PlanError> {
    let small = voltages(64, 856e6, 4096, Voltages::Bits8);
    let large = voltages(80, 856e6, 8192, Voltages::Bits8);
    let samples = Telescope::default();
    Ok(vec![
        Comparison {
            design: "MeerKAT 64",
            quantity: "voltages into all X-engines",
            unit: "Gbit/s",
            published: Some(64.0 * 27.2),
            ours: small.voltage_bytes() * 8.0 / 1e9,
            sources: &[1],
            why: "theirs: 27.2 Gbit/s, a rounded number, into each of 64 boards",
        },
        Comparison {
            design: "MeerKAT 64",
            quantity: "GPUs for X, copies from the host",
            unit: "GPUs",
            published: Some(32.0),
            ours: gpus(&small)?,
            sources: &[1],
            why: "theirs: a prototype whose one GTX 1080 Ti (2017) took the data of 2 of 64 boards, fed by two links of \
                  40 Gbit/s: the network of a host bounds it; ours is bound by the copies",
        },
        Comparison {
            design: "MeerKAT 64",
            quantity: "GPUs for X, compute alone",
            unit: "GPUs",
            published: None,
            ours: need(&small, Role::X, Resource::Compute)?,
            sources: &[1, 2],
            why: "MeerKAT itself has 64 F-engines and 256 X-engines in 128 FPGA boards: no GPUs to compare with",
        },
        Comparison {
            design: "MeerKAT 64",
            quantity: "GPUs for F, compute alone",
            unit: "GPUs",
            published: None,
            ours: need(&samples, Role::F, Resource::Compute)?,
            sources: &[1, 2],
            why: "as above; 10-bit samples, 4096 channels, 16 taps",
        },
        Comparison {
            design: "MeerKAT 80",
            quantity: "a dump of one of 64 X-engines",
            unit: "bytes",
            published: Some(13_271_040.0),
            ours: large.dump_bytes() / 64.0,
            sources: &[3],
            why: "theirs keeps all four products of an antenna with itself: 12960 products, ours 12880",
        },
        Comparison {
            design: "MeerKAT 80",
            quantity: "GPUs for X, copies from the host",
            unit: "GPUs",
            published: None,
            ours: gpus(&large)?,
            sources: &[],
            why: "MeerKAT Extension's correlator is of GPUs (katgpucbf), but no number of them was found",
        },
    ])
}

fn lofar_and_mwa() -> Result<Vec<Comparison>, PlanError> {
    let lofar = voltages(64, 95.16e6, 488 * 64, Voltages::Bits8);
    let channel = voltages(256, 1.28e6, 128, Voltages::Bits8);
    let mwa = voltages(256, 24.0 * 1.28e6, 24 * 128, Voltages::Bits8);
    let boards = 16.0;
    Ok(vec![
        Comparison {
            design: "LOFAR COBALT",
            quantity: "GPUs for X, compute alone, theirs by f32 peaks as H200",
            unit: "GPUs",
            published: Some(boards * K10_F32 / H200_F32),
            ours: need(&lofar, Role::X, Resource::Compute)?,
            sources: &[4, 5, 6, 7, 11],
            why: "theirs: 16 boards K10 in 8 hosts, which also filter, delay, and form beams, and compute in f32; ours \
                  is the X-engine alone, of 64 stations and 95.16 MHz, on tensor cores with 8 bits: ten times the f32 \
                  peak",
        },
        Comparison {
            design: "LOFAR COBALT",
            quantity: "GPUs for X, f32 work of the X-engine at the peaks",
            unit: "GPUs",
            published: Some(boards),
            ours: lofar.correlation_operations() / K10_F32,
            sources: &[4, 5, 6, 7],
            why: "the correlation alone is 9 % of the boards' peak: input, filters, beams and reserve are the rest",
        },
        Comparison {
            design: "MWAX",
            quantity: "voltages of 256 tiles into a server",
            unit: "Gbit/s",
            published: Some(11.0),
            ours: channel.voltage_bytes() * 8.0 / 1e9,
            sources: &[8],
            why: "theirs has headers of packets and is a rounded number",
        },
        Comparison {
            design: "MWAX",
            quantity: "GPUs for X of 24 coarse channels",
            unit: "GPUs",
            published: Some(24.0),
            ours: gpus(&mwa)?,
            sources: &[8],
            why: "theirs: a server and a GPU for each of 24 coarse channels of 1.28 MHz, by division of the band; xGPU \
                  does it in real time on an RTX 2080 Ti. The work is 32 TOPS in all",
        },
    ])
}

fn chime_and_chord() -> Result<Vec<Comparison>, PlanError> {
    let pathfinder = voltages(128, 400e6, 1024, Voltages::Bits4);
    let chime = voltages(1024, 400e6, 1024, Voltages::Bits4);
    let chord = voltages(512, 1200e6, 6144, Voltages::Bits4);
    let boards = 6144.0 / 48.0;
    Ok(vec![
        Comparison {
            design: "CHIME Pathfinder",
            quantity: "voltages into the X-engine",
            unit: "Gbit/s",
            published: Some(819.0),
            ours: pathfinder.voltage_bytes() * 8.0 / 1e9,
            sources: &[12],
            why: "",
        },
        Comparison {
            design: "CHIME Pathfinder",
            quantity: "operations of the X-engine",
            unit: "TOPS",
            published: Some(105.0),
            ours: pathfinder.correlation_operations() / 1e12,
            sources: &[12],
            why: "",
        },
        Comparison {
            design: "CHIME",
            quantity: "voltages into the X-engine",
            unit: "Tbit/s",
            published: Some(6.6),
            ours: chime.voltage_bytes() * 8.0 / 1e12,
            sources: &[13],
            why: "",
        },
        Comparison {
            design: "CHIME",
            quantity: "complex products of the X-engine",
            unit: "T/s",
            published: Some(839.0),
            ours: chime.correlation_operations() / 8e12,
            sources: &[13],
            why: "",
        },
        Comparison {
            design: "CHORD 512",
            quantity: "GPUs for X, copies from the host",
            unit: "GPUs",
            published: Some(boards),
            ours: gpus(&chord)?,
            sources: &[9, 10],
            why: "theirs: 48 of 6144 channels on an A40, derived from 3200 Msamples/s, 16384 points and 300 to 1500 MHz; \
                  those GPUs also form beams, make finer channels and keep baseband; ours correlates alone",
        },
        Comparison {
            design: "CHORD 512",
            quantity: "the same, theirs by 8-bit peaks as H200",
            unit: "GPUs",
            published: Some(boards * A40_8_BITS / H200_8_BITS),
            ours: gpus(&chord)?,
            sources: &[9, 10, 11],
            why: "ours is bound by the copies, not by compute; see the next row",
        },
        Comparison {
            design: "CHORD 512",
            quantity: "GPUs for X, compute alone, theirs as H200",
            unit: "GPUs",
            published: Some(boards * A40_8_BITS / H200_8_BITS),
            ours: need(&chord, Role::X, Resource::Compute)?,
            sources: &[9, 10, 11],
            why: "the correlation needs a fifth of that; FRB beams, finer channels and baseband are not in ours. An A40 \
                  multiplies 4 bits at twice its 8-bit peak, an H200 at its 8-bit peak",
        },
    ])
}

fn dsa_2000() -> Result<Vec<Comparison>, PlanError> {
    let dsa = voltages(2000, 1.3e9, 65536, Voltages::Bits4);
    Ok(vec![
        Comparison {
            design: "DSA-2000",
            quantity: "voltages into the radio camera",
            unit: "Tbit/s",
            published: Some(43.0),
            ours: dsa.voltage_bytes() * 8.0 / 1e12,
            sources: &[14],
            why: "4 bits are inferred from the rate: 8 would be 83 Tbit/s",
        },
        Comparison {
            design: "DSA-2000",
            quantity: "GPUs for X, copies from the host, of a part of theirs",
            unit: "GPUs",
            published: Some(0.15 * 2800.0),
            ours: gpus(&dsa)?,
            sources: &[14],
            why: "theirs: 2800 GPUs (an older page has more than 5000) of a kind that is not named; a correlator is about \
                  15 % of what they do, flagging, calibration and imaging the rest. Visibilities stay on the GPU in both",
        },
        Comparison {
            design: "DSA-2000",
            quantity: "GPUs for X, compute alone, of a part of theirs",
            unit: "GPUs",
            published: Some(0.15 * 2800.0),
            ours: need(&dsa, Role::X, Resource::Compute)?,
            sources: &[14],
            why: "as above; their 15 % has the channeliser and the corner turn in it, which are on FPGAs",
        },
    ])
}

fn ska_low() -> Result<Vec<Comparison>, PlanError> {
    let ska = voltages(512, 300e6, 65536, Voltages::Bits8);
    let with_beams = Telescope { beams: Some(Beams { count: 500, products: Products::Voltages }), ..ska.clone() };
    let operations = with_beams.correlation_operations() + with_beams.beam_operations();
    let plan = Plan::new(&with_beams, &machine())?;
    Ok(vec![
        Comparison {
            design: "SKA-Low",
            quantity: "voltages into the correlator",
            unit: "Tbit/s",
            published: Some(6.0),
            ours: ska.voltage_bytes() * 8.0 / 1e12,
            sources: &[15],
            why: "ours are 300 MHz of 512 stations with 8 bits; oversampling of the first filter bank and headers are not \
                  in it",
        },
        Comparison {
            design: "SKA-Low",
            quantity: "operations of X-engines and 500 beams",
            unit: "PetaOPS",
            published: Some(2.0),
            ours: operations / 1e15,
            sources: &[15],
            why: "ours has all 500 beams over the whole band; theirs is a rounded number",
        },
        Comparison {
            design: "SKA-Low",
            quantity: "power, ours of GPU boards at their limit",
            unit: "kW",
            published: Some(60.0),
            ours: plan.most_watts / 1e3,
            sources: &[15],
            why: "theirs: FPGAs, switches and hosts in five racks, with the second filter bank; ours are boards alone, \
                  at their limit: by energy X and beams ask for less",
        },
    ])
}
