//! How many points the F-engine's passes have between them, through the public stream.

use fringes::channelizer::internals::LaunchBytes;
use fringes::channelizer::internals::launches::{operation, sizes};
use fringes::{Backend, Complex, Inputs, Precision};

use super::{Arguments, Tuning};
use crate::bench::streams::{self, Chunk};
use crate::bench::timing::Bench;
use crate::end::End;
use crate::gpu_report::{Row, params};

/// Channels that are measured, of single and of half precision.
const SINGLE: [usize; 17] =
    [64, 128, 192, 256, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12_288, 16_384, 32_768, 65_536];
const HALF: [usize; 9] = [256, 512, 1024, 2048, 4096, 8192, 16_384, 32_768, 65_536];

/// Samples of an input of a chunk, of which a single antenna has two.
const SAMPLES: usize = 1 << 26;

/// Less memory is taken where it costs less than this part of the time.
const NEAR: f64 = 1.005;

/// Measures all numbers of channels.
pub(super) fn run(tuning: &mut Tuning, arguments: &Arguments) -> Result<(), End> {
    let bench = Bench::new(tuning.device.clone(), Vec::new(), if arguments.quick { 5 } else { 25 }, None)?;
    let step = if arguments.quick { 4 } else { 1 };
    for channels in SINGLE.into_iter().step_by(step) {
        tuning.f_engine(&bench, Precision::Single, channels)?;
    }
    for channels in HALF.into_iter().step_by(step) {
        tuning.f_engine(&bench, Precision::Half, channels)?;
    }
    Ok(())
}

impl Tuning {
    fn f_engine(&mut self, bench: &Bench, precision: Precision, channels: usize) -> Result<(), End> {
        let inputs = Inputs::new(1, 2).map_err(End::failed)?;
        let chunk = Chunk::new(bench, inputs, SAMPLES)?;
        let candidates = LaunchBytes::candidates(precision);
        let engine = |&bytes: &LaunchBytes| {
            let builder = streams::of_launches(channels, inputs, precision, bytes)?;
            let engine = builder.build::<Complex<i8>>(&Backend::on(bench.device.clone())).map_err(End::failed)?;
            engine.on(&bench.stream).map_err(End::failed)
        };
        let mut engines = candidates.iter().map(engine).collect::<Result<Vec<_>, End>>()?;
        let mut next = vec![0; engines.len()];
        // One of each in turn, as what else runs on the machine comes and goes.
        let timings = bench.time_in_turn(engines.len(), |kind| {
            let samples = chunk.at(next[kind])?;
            next[kind] += SAMPLES as u64;
            engines[kind].push(&samples).map(drop).map_err(End::failed)
        })?;
        let mut measured: Vec<_> = candidates.iter().zip(timings.iter().map(|timing| timing.median_ms)).collect();
        let least = measured.iter().map(|&(_, ms)| ms).fold(f64::INFINITY, f64::min);
        // Those near the best by their memory, and behind them the others by their time.
        measured.sort_by(|(_, a_ms), (_, b_ms)| a_ms.total_cmp(b_ms));
        let near = measured.partition_point(|&(_, ms)| ms <= NEAR * least);
        measured[..near].sort_by_key(|(bytes, _)| bytes.workspace);
        let (operation, sizes) = (operation(precision), sizes(channels));
        let measured: Vec<_> = measured.into_iter().map(|(bytes, ms)| (bytes.choice(), ms)).collect();
        let [best, rest @ ..] = measured.as_slice() else { return Ok(()) };
        // Without an entry a kernel has the default.
        let default = LaunchBytes::default_of(precision).choice();
        let known = self.table.find(&self.key, operation, &sizes).unwrap_or(&default);
        let known = measured.iter().find(|(choice, _)| choice == known).map(|(choice, ms)| (choice, *ms));
        let next = rest.first().map(|(choice, ms)| (choice, *ms));
        let of_table = self.found((operation, &sizes), (&best.0, best.1), next, known);
        for (choice, ms) in &measured {
            let work = (SAMPLES * inputs.len()) as f64;
            self.record.push(Row {
                kernel: "tune",
                variant: format!("{operation} {choice}"),
                params: params([("channels", channels), ("inputs", inputs.len()), ("samples", SAMPLES)]),
                time_ms: *ms,
                value: work / ms / 1e6,
                unit: "Gsamples/s",
                floor: None,
                bound_by: String::new(),
                check: format!("not compared here; table: {of_table}"),
                energy: None,
            });
        }
        Ok(())
    }
}
