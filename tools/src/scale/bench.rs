//! What one GPU does, what all do, and what the turn between them costs.

use fringes_gpu::{Device, Timing};

use crate::end::End;
use crate::gpu_report::{Energy, Record, Row};
use crate::scale::Failures;
use crate::scale::case::{BLOCKS_OF_DUMP, Case};
use crate::scale::pipeline::{self, Steps, Times};
use crate::scale::stock::Stock;
use crate::scale::turner::Way;

/// Speed-ups of two GPUs that are asked for, of the X-engine and of F- and X-engine.
const ASKED: [f64; 2] = [1.95, 1.9];

/// What is timed, and where to.
pub(crate) struct Bench<'a> {
    stocks: Vec<Stock>,
    seconds: f64,
    record: &'a mut Record,
    failures: &'a mut Failures,
}

/// A size, and ms a block of what turns are compared with.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Base {
    case: Case,
    /// F and X on one GPU.
    one: Option<f64>,
    /// F and X without a turn on all GPUs.
    bare: Option<f64>,
}

impl<'a> Bench<'a> {
    /// On some GPUs, each step for about so many seconds.
    pub(crate) fn new(
        devices: &[Device],
        seconds: f64,
        record: &'a mut Record,
        failures: &'a mut Failures,
    ) -> Result<Self, End> {
        let stocks = devices.iter().map(Stock::new).collect::<Result<Vec<_>, _>>()?;
        Ok(Self { stocks, seconds, record, failures })
    }

    /// The sizes of so many stations, or all, that fit the memory.
    pub(crate) fn cases(&self, stations: &[String]) -> Result<Vec<Case>, End> {
        let memory = self.stocks.iter().map(|stock| stock.device.memory()).collect::<Result<Vec<_>, _>>()?;
        let free = memory.iter().map(|memory| memory.free_bytes).min().unwrap_or(0);
        let wanted = |case: &Case| stations.is_empty() || stations.contains(&case.stations.to_string());
        let mut cases = Vec::new();
        for case in Case::ALL.into_iter().filter(wanted) {
            match case.that_fits(free) {
                Some(case) => cases.push(case),
                None => println!("{} stations: skipped, {} MiB are free", case.stations, free >> 20),
            }
        }
        Ok(cases)
    }

    /// One GPU, and all without a turn.
    pub(crate) fn base(&mut self, case: Case) -> Base {
        headline(&case);
        let all = self.stocks.len();
        let x = self.engines(case, "X", Steps::X, 1, None);
        if all > 1 {
            self.engines(case, "X, channels shared", Steps::X, all, x);
        }
        let one = self.engines(case, "F and X", Steps::Fx(None), 1, None);
        // One GPU alone: without a turn is what it does.
        let bare = if all > 1 { self.engines(case, "F and X, without a turn", Steps::Fx(None), all, one) } else { one };
        Base { case, one, bare }
    }

    /// All GPUs with a turn, and the turn alone.
    pub(crate) fn way(&mut self, way: Way, base: Base) {
        headline(&base.case);
        let all = self.stocks.len();
        let name = format!("F, turn by {}, X", way.name());
        let with = self.engines(base.case, &name, Steps::Fx(Some(way)), all, base.one);
        if way.has_ring() {
            // There is no turn apart from the F-engine.
            return;
        }
        let alone = self.turn(base.case, way, all);
        if let (Some(with), Some(alone), Some(bare)) = (with, alone, base.bare) {
            self.hidden(base.case, way, all, [with, alone, bare]);
        }
    }

    /// Times engines and notes them, with how many times faster they are than one GPU; ms a block.
    fn engines(&mut self, case: Case, what: &str, steps: Steps, gpus: usize, one: Option<f64>) -> Option<f64> {
        let times = pipeline::run(case, steps, &self.stocks[..gpus], self.seconds);
        let times = self.failures.note(&format!("{what}, {gpus} GPUs"), times)?;
        let (work, unit, asked) = match steps {
            Steps::X => (case.operations() / 1e9, "useful TOPS", ASKED[0]),
            _ => (case.samples() / 1e6, "Gsamples/s", ASKED[1]),
        };
        let precision = times.precision.map(|precision| format!(", F in {precision:?}").to_lowercase());
        let variant = format!("{what}{}", precision.unwrap_or_default());
        let ms = self.add(case, &variant, &times, gpus, (work, unit), one)?;
        if let Some(one) = one {
            let mut params = case.params(gpus);
            params.insert("blocks_of_dump", BLOCKS_OF_DUMP as u64);
            self.record.push(Row {
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
    fn turn(&mut self, case: Case, way: Way, gpus: usize) -> Option<f64> {
        let what = format!("turn by {} alone", way.name());
        let times = pipeline::run(case, Steps::Turn(way), &self.stocks[..gpus], self.seconds);
        let times = self.failures.note(&what, times)?;
        let (others, own) = times.turned?;
        // One GPU has its own part alone.
        let (bytes, unit) = if gpus > 1 { (others, "GB/s a GPU") } else { (own, "GB/s copied") };
        self.add(case, &what, &times, gpus, (bytes / 1e6, unit), None)
    }

    /// Prints a line and notes the row of blocks; ms a block.
    fn add(
        &mut self,
        case: Case,
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
        self.record.push(Row {
            kernel: "scale",
            variant: variant.into(),
            params: case.params(gpus),
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
    fn hidden(&mut self, case: Case, way: Way, gpus: usize, [with, alone, bare]: [f64; 3]) {
        let seen = (with - bare).max(0.0);
        let hidden = 100.0 * (1.0 - seen / alone);
        println!(
            "{:<34} {gpus:>5} {:>10} {:>8} {hidden:>10.1} % of the turn hidden ({seen:.4} of {alone:.4} ms seen)",
            format!("turn by {}", way.name()),
            "",
            ""
        );
        self.record.push(Row {
            kernel: "scale_hidden",
            variant: format!("turn by {}", way.name()),
            params: case.params(gpus),
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

/// Prints what follows.
fn headline(case: &Case) {
    println!(
        "\n{} stations of 2 polarisations, {} channels, blocks of {} spectra, 8+8 bits",
        case.stations, case.channels, case.spectra
    );
    println!(
        "{:<34} {:>5} {:>10} {:>8} {:>10} {:<12} {:>9}  joules a block",
        "what", "GPUs", "ms a block", "spread", "rate", "", "speed-up"
    );
}
