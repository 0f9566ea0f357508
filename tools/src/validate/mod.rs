//! Runs every kernel on a GPU against what it must compute, at ordinary and awkward sizes.
//!
//! ```text
//! cargo run --release -p fringes-tools -- validate
//! cargo run --release -p fringes-tools -- validate --only correlate_i8 --json record.json
//! compute-sanitizer target/release/fringes-tools validate --quick
//! ```
//!
//! Exit status: 0 if everything is as it must be, 1 if not, 2 for bad arguments, 3 if there is no GPU.

mod beam_streams;
mod bins;
mod ceilings;
mod channelizer;
mod chunks;
mod conversions;
mod correlator;
mod correlator_data;
mod correlator_float;
mod correlator_mma;
mod correlator_samples;
mod correlator_wgmma;
mod data;
mod delay;
mod delay_data;
mod down_convert;
mod f_engine;
mod fft;
mod fft_beams;
mod fft_note;
mod filter;
mod foreign;
mod frb;
mod frb_products;
mod interference;
mod masked_beams;
mod masked_instrument;
mod narrowband;
mod one_call;
mod saxpy;
mod session;
mod streams;
mod tied_array;

use crate::end::End;
use crate::gpu_report::{self, GpuArguments};
use clap::builder::PossibleValuesParser;
use session::{Session, Wanted};

/// Kernels and operations that can be named.
const KERNELS: [&str; 71] = [
    "pack",
    "pack_xgpu",
    "pack_heaps",
    "pack_tcc",
    "reduce",
    "clamp",
    "reorder",
    "add_parts",
    "correlate_i8",
    "correlate_i8_add",
    "correlate_f32",
    "correlate_f32_add",
    "correlate_f32_tf32",
    "correlate_f32_tf32_add",
    "correlate_f32_tf32_wgmma",
    "correlate_f32_tf32_wgmma_add",
    "correlate_f32_bias",
    "mma_rows",
    "mma_heaps",
    "correlate_wgmma_i4",
    "correlate_wgmma_i8",
    "correlate_wgmma_f16",
    "correlate_wgmma_heaps_i4",
    "correlate_wgmma_heaps_i8",
    "correlate_wgmma_heaps_f16",
    "correlate",
    "chunks",
    "foreign",
    "stream_heaps",
    "stream_floats",
    "stream_dumps",
    "stream_lengths",
    "shift",
    "rotate",
    "rotate_heaps",
    "rotate_rows",
    "delay_data",
    "filter",
    "f_engine",
    "f_engine_streams",
    "f_engine_strided",
    "f_engine_device",
    "f_engine_half",
    "channelize",
    "channelizer_stream",
    "quantise",
    "power_sums",
    "bins",
    "masked",
    "masked_instrument",
    "down_convert",
    "narrowband",
    "saxpy",
    "copy",
    "mma_s8",
    "conversions",
    "fft_64_64",
    "fft_64_128",
    "fft_128_128",
    "fft_128_256",
    "fft_256_256",
    "fft_256_512",
    "fft_512_512",
    "fft_512_1024",
    "fft_1024_1024",
    "fft_beams",
    "frb",
    "tied_array",
    "beam_streams",
    "masked_beams",
    "fft_note",
];

/// Run every kernel on a GPU against what it must compute. Exit status 0 all pass, 1 some fail, 3 no GPU.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    gpu: GpuArguments,
    /// Only these kernels; may be given several times.
    #[arg(long, value_name = "NAME", value_parser = PossibleValuesParser::new(KERNELS))]
    only: Vec<String>,
    /// Only cases whose variant and sizes, as they are printed, have this text; may be given several times, for all of
    /// them.
    #[arg(long, value_name = "TEXT")]
    matching: Vec<String>,
    /// Small sizes alone, each run once: for compute-sanitizer.
    #[arg(long)]
    quick: bool,
}

/// Runs the tool.
pub(crate) fn run(arguments: &Arguments) -> Result<(), End> {
    let device = arguments.gpu.open()?;
    for info in fringes_gpu::devices()? {
        let chosen = if info.index == device.info().index { "  <- this one" } else { "" };
        println!("{info}{chosen}");
    }
    println!("driver {}\n", gpu_report::driver(device.info().driver_version));
    let wanted = Wanted { only: arguments.only.clone(), matching: arguments.matching.clone() };
    let mut session = Session::new(device, wanted, arguments.quick, arguments.gpu.json.as_deref())?;
    let ended = cases(&mut session);
    session.finish(ended)
}

fn cases(session: &mut Session) -> Result<(), End> {
    saxpy::validate(session)?;
    ceilings::validate(session)?;
    conversions::validate(session)?;
    correlator::validate(session)?;
    correlator_data::validate(session)?;
    correlator_float::validate(session)?;
    correlator_mma::validate(session)?;
    correlator_wgmma::validate(session)?;
    delay::validate(session)?;
    delay_data::validate(session)?;
    filter::validate(session)?;
    f_engine::validate(session)?;
    channelizer::validate(session)?;
    down_convert::validate(session)?;
    narrowband::validate(session)?;
    one_call::validate(session)?;
    streams::validate(session)?;
    chunks::validate(session)?;
    foreign::validate(session)?;
    bins::validate(session)?;
    interference::validate(session)?;
    masked_instrument::validate(session)?;
    fft::validate(session)?;
    fft_beams::validate(session)?;
    frb::validate(session)?;
    tied_array::validate(session)?;
    beam_streams::validate(session)?;
    masked_beams::validate(session)?;
    fft_note::validate(session)
}
