//! What one GPU does, what all do, and what the turn between them costs.

use std::ops::Not;

use fringes_gpu::{Device, Timing};

use crate::end::End;
use crate::gpu_report::{Energy, Record, Row};
use crate::scale::Failures;
use crate::scale::case::Case;
use crate::scale::pipeline::{self, Steps, Times};
use crate::scale::stock::Stock;
use crate::scale::turner::Way;

/// Speed-ups of two GPUs that are asked for, of the X-engine and of F- and X-engine.
const ASKED: [f64; 2] = [1.95, 1.9];

/// Times all sizes.
pub(crate) fn run(
    devices: &[Device],
    ways: &[Way],
    stations: &[String],
    seconds: f64,
    record: &mut Record,
    failures: &mut Failures,
) -> Result<(), End> {
    let stocks = devices.iter().map(Stock::new).collect::<Result<Vec<_>, _>>()?;
    for case in Case::ALL {
        if stations.is_empty().not() && !stations.iter().any(|wanted| *wanted == case.stations.to_string()) {
            continue;
        }
        let free = devices.iter().map(Device::memory).collect::<Result<Vec<_>, _>>()?;
        let free = free.iter().map(|memory| memory.free_bytes).min().unwrap_or(0);
        let Some(case) = case.that_fits(free) else {
            println!("\n{} stations: skipped, {} MiB are free", case.stations, free >> 20);
            continue;
        };
        println!(
            "\n{} stations of 2 polarisations, {} channels, blocks of {} spectra, 8+8 bits",
            case.stations, case.channels, case.spectra
        );
        println!(
            "{:<34} {:>5} {:>10} {:>8} {:>10} {:<12} {:>9}  joules a block",
            "what", "GPUs", "ms a block", "spread", "rate", "", "speed-up"
        );
        Bench { case, stocks: &stocks, ways, seconds, record, failures }.run();
    }
    Ok(())
}

struct Bench<'a> {
    case: Case,
    stocks: &'a [Stock],
    ways: &'a [Way],
    seconds: f64,
    record: &'a mut Record,
    failures: &'a mut Failures,
}

impl Bench<'_> {
    fn run(&mut self) {
        let all = self.stocks.len();
        let x = self.engines("X", Steps::X, 1, None);
        if all > 1 {
            self.engines("X, channels shared", Steps::X, all, x);
        }
        let fx = self.engines("F and X", Steps::Fx(None), 1, None);
        let bare = if all > 1 { self.engines("F and X, without a turn", Steps::Fx(None), all, fx) } else { None };
        for way in self.ways.iter().copied() {
            let name = format!("F, turn by {}, X", way.name());
            let with = self.engines(&name, Steps::Fx(Some(way)), all, fx);
            let alone = self.turn(way, all);
            // One GPU alone: without a turn is what it does.
            if let (Some(with), Some(alone), Some(bare)) = (with, alone, if all > 1 { bare } else { fx }) {
                self.hidden(way, all, [with, alone, bare]);
            }
        }
    }

    /// Times engines and notes them, with how many times faster they are than one GPU; ms a block.
    fn engines(&mut self, what: &str, steps: Steps, gpus: usize, one: Option<f64>) -> Option<f64> {
        let times = pipeline::run(self.case, steps, &self.stocks[..gpus], self.seconds);
        let times = self.failures.note(&format!("{what}, {gpus} GPUs"), times)?;
        let (work, unit, asked) = match steps {
            Steps::X => (self.case.operations() / 1e9, "useful TOPS", ASKED[0]),
            _ => (self.case.samples() / 1e6, "Gsamples/s", ASKED[1]),
        };
        let precision = times.precision.map(|precision| format!(", F in {precision:?}").to_lowercase());
        let variant = format!("{what}{}", precision.unwrap_or_default());
        let ms = self.add(&variant, &times, gpus, (work, unit), one)?;
        if let Some(one) = one {
            let mut params = self.case.params(gpus);
            params.insert("blocks_of_dump", crate::scale::case::BLOCKS_OF_DUMP as u64);
            self.record.rows.push(Row {
                kernel: "scale_speed_up",
                variant,
                params,
                time_ms: ms,
                value: one / ms,
                unit: "times one GPU",
                floor: Some(gpus as f64),
                bound_by: "number of GPUs".into(),
                check: format!("asked of two GPUs: {asked}"),
                energy: None,
            });
        }
        Some(ms)
    }

    /// Times the turn alone; ms a block.
    fn turn(&mut self, way: Way, gpus: usize) -> Option<f64> {
        let what = format!("turn by {} alone", way.name());
        let times = pipeline::run(self.case, Steps::Turn(way), &self.stocks[..gpus], self.seconds);
        let times = self.failures.note(&what, times)?;
        let (others, own) = times.turned?;
        // One GPU has its own part alone.
        let (bytes, unit) = if gpus > 1 { (others, "GB/s a GPU") } else { (own, "GB/s copied") };
        self.add(&what, &times, gpus, (bytes / 1e6, unit), None)
    }

    /// Prints a line and notes the row of blocks; ms a block.
    fn add(
        &mut self,
        variant: &str,
        times: &Times,
        gpus: usize,
        (work, unit): (f64, &'static str),
        one: Option<f64>,
    ) -> Option<f64> {
        let timing = Timing::new(times.block_ms.clone()).map_err(End::from);
        let timing = self.failures.note(variant, timing)?;
        let (ms, longest) = (timing.median_ms, timing.all_ms.iter().copied().fold(0.0, f64::max));
        let spread = 100.0 * (longest - timing.min_ms) / ms;
        let value = work / ms;
        let speed_up = one.map_or(String::new(), |one| format!("{:.3}", one / ms));
        let joules = times.joules.map_or(String::new(), |joules| format!("{joules:.3}"));
        println!("{variant:<34} {gpus:>5} {ms:>10.4} {spread:>7.1}% {value:>10.1} {unit:<12} {speed_up:>9}  {joules}");
        let tera = unit.ends_with("TOPS").then_some(work / 1e3);
        let energy = times.joules.map(|joules_per_run| Energy {
            joules_per_run,
            tops_per_watt: tera.filter(|_| joules_per_run > 0.0).map(|tera| tera / joules_per_run),
        });
        self.record.rows.push(Row {
            kernel: "scale",
            variant: variant.into(),
            params: self.case.params(gpus),
            time_ms: ms,
            value,
            unit,
            floor: None,
            bound_by: String::new(),
            check: "not compared in this run: the checks before it compare turns and visibilities bit for bit".into(),
            energy,
        });
        Some(ms)
    }

    /// How much of the turn is hidden behind F and X.
    fn hidden(&mut self, way: Way, gpus: usize, [with, alone, bare]: [f64; 3]) {
        let seen = (with - bare).max(0.0);
        let hidden = 100.0 * (1.0 - seen / alone);
        println!(
            "{:<34} {gpus:>5} {:>10} {:>8} {hidden:>10.1} % of the turn hidden ({seen:.4} of {alone:.4} ms seen)",
            format!("turn by {}", way.name()),
            "",
            ""
        );
        self.record.rows.push(Row {
            kernel: "scale_hidden",
            variant: format!("turn by {}", way.name()),
            params: self.case.params(gpus),
            time_ms: seen,
            value: hidden,
            unit: "% of the turn",
            floor: Some(100.0),
            bound_by: "all of it".into(),
            check: format!("F, turn and X {with:.4} ms, F and X {bare:.4} ms, the turn alone {alone:.4} ms a block"),
            energy: None,
        });
    }
}
