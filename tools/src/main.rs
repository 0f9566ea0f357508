//! The tools that measure and check Fringes: one program, one subcommand each.
//!
//! ```text
//! cargo run --release -p fringes-tools -- --help
//! cargo run --release -p fringes-tools -- validate        # every kernel against what it must compute
//! cargo run --release -p fringes-tools -- bench           # every kernel beside what the GPU can do at most
//! ```
//!
//! Exit status of each: 0, 1 if a check fails or the GPU does, 2 for bad arguments or files, 3 if there is no GPU.

mod backend;
mod bench;
mod bench_cpu;
mod conformance;
mod dump_designs;
mod dump_f_engine;
mod dump_layouts;
mod dump_samples;
mod end;
mod fft_data;
mod fft_model;
mod frb_data;
mod frb_load;
mod gpu_report;
#[path = "../../examples/fx/plots/indexed.rs"]
mod indexed;
mod instrument;
mod layout;
mod loading;
mod saxpy;
mod scale;
mod sm_cycles;
mod soak;
#[path = "../../examples/fx/plots/style.rs"]
#[allow(dead_code, reason = "a part of what plots share")]
mod style;
mod tied_array_data;
mod tune;
mod validate;
mod whole;
mod write_beams;
mod write_uvfits;
mod xengine;

use std::process::ExitCode;

use clap::{CommandFactory as _, Parser, Subcommand};
use end::End;

/// Measure and check Fringes.
///
/// `fringes-tools TOOL --help` tells a tool's options. Exit status: 0, 1 if a check fails or the GPU does, 2 for bad
/// arguments or files, 3 if there is no GPU.
#[derive(Debug, Parser)]
#[command(name = "fringes-tools", version, disable_help_subcommand = true)]
struct Arguments {
    #[command(subcommand)]
    tool: Tool,
}

#[derive(Debug, Subcommand)]
enum Tool {
    /// Run every kernel on a GPU against what it must compute, at ordinary and awkward sizes.
    #[command(after_help = "Examples:
  fringes-tools validate
  fringes-tools validate --only correlate_i8 --json record.json
  compute-sanitizer fringes-tools validate --quick")]
    Validate(validate::Arguments),
    /// Time every kernel on a GPU beside what the same GPU can do at most.
    #[command(after_help = "Examples:
  fringes-tools bench
  fringes-tools bench --only channelize --only f_engine_stream --json record.json")]
    Bench(bench::Arguments),
    /// Time an operation of the CPU backend, once per line of standard input.
    #[command(after_help = "Example: yes | head -n 10 | fringes-tools bench-cpu correlate")]
    BenchCpu(bench_cpu::Arguments),
    /// Measure and draw the correlator's rate against stations, channels and integration length.
    #[command(after_help = "Examples:
  fringes-tools xengine --out figures
  fringes-tools xengine --from figures/xengine.json --out pictures    (no GPU needed)")]
    Xengine(xengine::Arguments),
    /// Check and time F-engines, corner turn and X-engines on several GPUs of one host.
    #[command(after_help = "Examples:
  fringes-tools scale --json record.json
  fringes-tools scale --gpus 1 --check-only
  FRINGES_NCCL=/path/to/libnccl.so.2 fringes-tools scale --quick")]
    Scale(scale::Arguments),
    /// Check and time instruments whose voltages come from host memory, beside the link.
    #[command(after_help = "Examples:
  fringes-tools instrument --json record.json
  fringes-tools instrument --check-only")]
    Instrument(instrument::Arguments),
    /// Time the chains of searches for fast radio bursts, in percent of real time.
    #[command(after_help = "Example: fringes-tools frb-load --json record.json")]
    FrbLoad(frb_load::Arguments),
    /// Compare dumps of random streams with exact sums, for as long as asked.
    #[command(after_help = "Examples:
  fringes-tools soak --dumps 1000
  fringes-tools soak --backend cpu --dumps 50 --seed 1")]
    Soak(soak::Arguments),
    /// Find the fastest kernels for this GPU, and compare with the committed table or rewrite it.
    #[command(after_help = "Examples:
  fringes-tools tune             (prints what is fastest)
  fringes-tools tune --check     (status 1 if the table's choice is slower by a tenth)
  fringes-tools tune --write     (rewrites this device's section of the table)")]
    Tune(tune::Arguments),
    /// Run every intrinsic of `fringes-device` on a GPU against its twin in the emulator.
    #[command(after_help = "Example: fringes-tools conformance --case mma_m16n8k16_f16 --rounds 1000")]
    Conformance(conformance::Arguments),
    /// Work out what the FRB beamformer's first transform costs: its note's model, measured rates, measured transforms.
    #[command(after_help = "Example: fringes-tools fft-model --no-gpu")]
    FftModel(fft_model::Arguments),
    /// Verify, plan, solve and draw register assignments of transforms; needs no GPU.
    #[command(after_help = "Examples:
  fringes-tools layout --svg pictures
  fringes-tools layout --transform 256,512 --ends memory")]
    Layout(layout::Arguments),
    /// Launch the smallest kernel, `y = a x + y`: the host's half of docs/kernels.md.
    Saxpy,
    /// Measure what it costs to load kernels: bytes, inflation, first and later loads.
    Loading,
    /// Write the samples of a recording as an npy file.
    #[command(after_help = "Example: fringes-tools dump-samples recording.vdif --output samples.npy")]
    DumpSamples(dump_samples::Arguments),
    /// Run the F-engine over cases of its own and write inputs and outputs, for tests/python/check_f_engine.py.
    #[command(after_help = "Example: fringes-tools dump-f-engine --output folder --backend gpu")]
    DumpFEngine(dump_f_engine::Arguments),
    /// Print designed filters with their bands as JSON, for tests/python/check_designs.py.
    DumpDesigns,
    /// Print layouts and what the library makes of them as JSON, for tests/python/check_layout.py.
    DumpLayouts,
    /// Write noise as beams in SIGPROC filterbank and GUPPI raw files, for tests/python/check_beams.py.
    #[command(after_help = "Example: fringes-tools write-beams --out beams")]
    WriteBeams(write_beams::Arguments),
    /// Write simulated visibilities of a point source as UVFITS, UVH5 and npz.
    #[command(after_help = "Example: fringes-tools write-uvfits --out simulated --antennas 5")]
    WriteUvfits(write_uvfits::Arguments),
    /// Print a script that completes this program's commands in a shell.
    #[command(
        after_help = "Example: fringes-tools completions bash > ~/.local/share/bash-completion/completions/fringes-tools"
    )]
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
}

fn main() -> ExitCode {
    let Arguments { tool } = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => return refused(&error),
    };
    match run(&tool) {
        Ok(()) => ExitCode::SUCCESS,
        Err(end) => end.exit(),
    }
}

fn run(tool: &Tool) -> Result<(), End> {
    match tool {
        Tool::Validate(arguments) => validate::run(arguments),
        Tool::Bench(arguments) => bench::run(arguments),
        Tool::BenchCpu(arguments) => bench_cpu::run(arguments),
        Tool::Xengine(arguments) => xengine::run(arguments),
        Tool::Scale(arguments) => scale::run(arguments),
        Tool::Instrument(arguments) => instrument::run(arguments),
        Tool::FrbLoad(arguments) => frb_load::run(arguments),
        Tool::Soak(arguments) => soak::run(arguments),
        Tool::Tune(arguments) => tune::run(arguments),
        Tool::Conformance(arguments) => conformance::run(arguments),
        Tool::FftModel(arguments) => fft_model::run(arguments),
        Tool::Layout(arguments) => layout::run(arguments),
        Tool::Saxpy => saxpy::run(),
        Tool::Loading => loading::run(),
        Tool::DumpSamples(arguments) => Ok(dump_samples::run(arguments)?),
        Tool::DumpFEngine(arguments) => Ok(dump_f_engine::run(arguments)?),
        Tool::DumpDesigns => dump_designs::run(),
        Tool::DumpLayouts => dump_layouts::run(),
        Tool::WriteBeams(arguments) => Ok(write_beams::run(arguments)?),
        Tool::WriteUvfits(arguments) => Ok(write_uvfits::run(arguments)?),
        Tool::Completions { shell } => {
            clap_complete::generate(*shell, &mut Arguments::command(), "fringes-tools", &mut std::io::stdout());
            Ok(())
        }
    }
}

/// Prints help, or one line on standard error that says what is wrong with the command line.
fn refused(error: &clap::Error) -> ExitCode {
    if !error.use_stderr() || error.kind() == clap::error::ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        let _ = error.print();
        return ExitCode::from(if error.use_stderr() { end::BAD_ARGUMENT } else { 0 });
    }
    let text = error.to_string();
    let ends = |line: &&str| line.starts_with("Usage:") || line.starts_with("For more information");
    let lines = text.lines().take_while(|line| !ends(line)).map(str::trim);
    eprintln!("{}", lines.filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" "));
    ExitCode::from(end::BAD_ARGUMENT)
}
