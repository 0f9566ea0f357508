//! The summary: ours beside the best peer, an operation and size a line.

use std::fmt::Write as _;

use super::numbers::{stated, three};
use super::peers::Peers;
use super::record::{Record, Row};
use super::tables::wrapped;
use super::topics::TOPICS;

/// A line of the summary.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Line {
    pub(super) operation: &'static str,
    pub(super) size: String,
    pub(super) ours: f64,
    pub(super) unit: String,
    /// The part of what the row's bound allows.
    pub(super) share: Option<f64>,
    /// The best peer, and its rate in the same unit.
    pub(super) peer: Option<(String, f64)>,
    /// What it was measured on.
    pub(super) on: String,
    /// Dates of our figure and of the peer's.
    pub(super) dates: Vec<String>,
    /// The record's file.
    pub(super) record: String,
}

/// Which rate of a row a line has.
#[derive(Clone, Copy)]
enum Rate {
    /// The row's value.
    Value,
    /// Its transforms a second.
    Transforms,
}

/// Where the peer's figure is.
#[derive(Clone, Copy)]
enum From {
    /// In the record of peers.
    Figures,
    /// There, of another operation.
    FiguresOf(&'static str),
    /// In rows of cuFFT, of this variant.
    CuFft(&'static str),
    /// In the row itself: other programs in turn with ours.
    SameRun,
}

/// What a line is looked for by.
struct Wanted {
    operation: &'static str,
    size: &'static str,
    kernel: &'static str,
    /// Words that the variant has; `=words` are all of it.
    variant: &'static [&'static str],
    params: &'static [(&'static str, u64)],
    rate: Rate,
    from: From,
}

const fn wanted(
    operation: &'static str,
    size: &'static str,
    kernel: &'static str,
    variant: &'static [&'static str],
    params: &'static [(&'static str, u64)],
) -> Wanted {
    Wanted { operation, size, kernel, variant, params, rate: Rate::Value, from: From::Figures }
}

const fn half(size: &'static str, params: &'static [(&'static str, u64)]) -> Wanted {
    let wanted = wanted("`FEngine::push`, half precision", size, "f_engine_half", STREAM, params);
    Wanted { from: From::FiguresOf(F_ENGINE), ..wanted }
}

const fn transform(size: &'static str, variant: &'static [&'static str], peer: &'static str) -> Wanted {
    let (operation, rate, from) = (FFT, Rate::Transforms, From::CuFft(peer));
    Wanted { operation, size, kernel: "fft", variant, params: &[], rate, from }
}

const fn on_cpu(operation: &'static str, size: &'static str, kernel: &'static str) -> Wanted {
    let (rate, from) = (Rate::Value, From::SameRun);
    Wanted { operation, size, kernel, variant: &["cpu"], params: &[], rate, from }
}

/// Operations that the chart draws.
pub(super) const CORRELATOR: &str = "correlator, 8-bit";
pub(super) const F_ENGINE: &str = "`FEngine::push`, 10 bits to 8";
pub(super) const FFT: &str = "FFT";

const F16: &str = "correlator, f16";
const TIED: &[&str] = &["=8-bit weights, 8 bits to i8"];
const STREAM: &[&str] = &["heaps, 10 bits to 8, dither, 16 taps"];

/// The lines, in order.
const LINES: &[Wanted] = &[
    wanted(CORRELATOR, "32 stations", "correlate_wgmma_i8", &["*"], &[("inputs", 64), ("channels", 2048)]),
    wanted(CORRELATOR, "64 stations", "correlate_wgmma_i8", &["*"], &[("inputs", 128), ("channels", 1024)]),
    wanted(CORRELATOR, "128 stations", "correlate_wgmma_i8", &["*"], &[("inputs", 256), ("channels", 512)]),
    wanted(CORRELATOR, "256 stations", "correlate_wgmma_i8", &["*"], &[("inputs", 512), ("channels", 256)]),
    wanted(CORRELATOR, "512 stations", "correlate_wgmma_i8", &["*"], &[("inputs", 1024), ("channels", 128)]),
    wanted(CORRELATOR, "1024 stations", "correlate_wgmma_i8", &["*"], &[("inputs", 2048), ("channels", 64)]),
    wanted(CORRELATOR, "64 stations, 64 channels", "correlate_wgmma_i8", &["*"], &[("inputs", 128), ("channels", 64)]),
    wanted(CORRELATOR, "80 stations, heaps, 64-bit sums", "correlate_wgmma_heaps_i8_add", &["*"], &[("inputs", 160)]),
    wanted("correlator, 4-bit", "1024 stations", "correlate_wgmma_i4", &["*"], &[("inputs", 2048)]),
    wanted(F16, "64 stations", "correlate_wgmma_f16", &["*"], &[("inputs", 128), ("channels", 1024)]),
    wanted(F16, "512 stations", "correlate_wgmma_f16", &["*"], &[("inputs", 1024), ("channels", 128)]),
    wanted("correlator, f32", "512 stations", "correlate_f32", &["512 "], &[("channels", 128), ("times", 4096)]),
    wanted(
        "correlator, 3xTF32",
        "512 stations",
        "correlate_f32_tf32_wgmma",
        &["512 "],
        &[("channels", 128), ("times", 4096)],
    ),
    wanted("`Correlator`, 8-bit", "512 stations, 64-bit sums", "correlate_device", &["chunk"], &[("inputs", 1024)]),
    wanted("`correlate()`, pinned memory", "64 stations", "correlate_link", &["pinned"], &[("inputs", 128)]),
    wanted("pack of heaps", "8 bits", "pack_heaps", &["=8 bits"], &[]),
    wanted(F_ENGINE, "1024 channels", "f_engine_stream", STREAM, &[("channels", 1024)]),
    wanted(F_ENGINE, "4096 channels", "f_engine_stream", STREAM, &[("channels", 4096)]),
    wanted(F_ENGINE, "32768 channels", "f_engine_stream", STREAM, &[("channels", 32768)]),
    half("1024 channels", &[("channels", 1024)]),
    half("4096 channels", &[("channels", 4096)]),
    half("32768 channels", &[("channels", 32768)]),
    wanted(
        "filter alone, 10 bits to f32",
        "4096 channels",
        "filter",
        &["=10 bits to f32, 16 taps"],
        &[("channels", 4096)],
    ),
    wanted("`FEngine` to `Integrator`", "64 antennas", "instrument_stream", &[], &[("antennas", 64)]),
    transform("256 -> 512, f16", &["256 -> 512, f16 to f16"], "256 -> 512 f16"),
    transform("512 -> 512, f16", &["512 -> 512, f16 to f16"], "512 -> 512 f16"),
    transform("1024 -> 1024, f16", &["1024 -> 1024, f16 to f16"], "1024 -> 1024 f16"),
    wanted("tied-array beams, 8-bit", "16 beams of 512 inputs", "tied_array", TIED, &[("beams", 16), ("inputs", 512)]),
    wanted("tied-array beams, 8-bit", "64 beams of 512 inputs", "tied_array", TIED, &[("beams", 64), ("inputs", 512)]),
    wanted(
        "tied-array beams, 8-bit",
        "256 beams of 512 inputs",
        "tied_array",
        TIED,
        &[("beams", 256), ("inputs", 512)],
    ),
    wanted(
        "tied-array beams, 8-bit",
        "1024 beams of 512 inputs",
        "tied_array",
        TIED,
        &[("beams", 1024), ("inputs", 512)],
    ),
    wanted("FFT beams", "256 -> 512, 4-bit to f16", "fft_beams", &["256 -> 512, 4-bit to f16"], &[]),
    wanted("coarse delay", "10 bits", "shift", &["=10 bits"], &[]),
    wanted("fine delay, phase", "8 bits, 128 inputs", "rotate", &["=8 bits"], &[("inputs", 128)]),
    wanted("`quantise`", "8 bits, 1024 channels", "quantise", &["8-bit"], &[("channels", 1024)]),
    on_cpu("correlate", "64 stations, 64 channels, 8-bit", "correlate"),
    on_cpu("channelize", "4096 channels, 16 taps", "channelize"),
    on_cpu("down-convert", "decimation 8, 128 taps", "down_convert"),
    Wanted {
        variant: &["=cpu, 2 threads"],
        params: &[("beams", 64), ("inputs", 128)],
        ..on_cpu("beamform", "64 beams of 128 inputs", "beamform")
    },
];

impl Wanted {
    fn fits(&self, record: &Record, row: &Row) -> bool {
        let same_machine = record.is_cpu() == matches!(self.from, From::SameRun);
        let params = self.params.iter().all(|(name, value)| row.param(name) == Some(*value));
        same_machine && row.kernel == self.kernel && params && self.variant.iter().all(|word| has(&row.variant, word))
    }

    /// The highest rate in the newest record that has any.
    fn line(&self, records: &[Record], peers: &Peers) -> Result<Line, String> {
        let (operation, size) = (self.operation, self.size.to_string());
        let rows = |record: &'_ Record| record.rows.iter().any(|row| self.fits(record, row));
        let record = records.iter().find(|record| rows(record));
        let record = record.ok_or_else(|| format!("no record has the summary's line `{operation}`, `{size}`"))?;
        let fitting = record.rows.iter().filter(|row| self.fits(record, row));
        let best = fitting.max_by(|one, other| self.rate(one).total_cmp(&self.rate(other)));
        let row = best.ok_or_else(|| format!("{}: no row of `{operation}`, `{size}`", record.file))?;
        let ours = self.rate(row);
        let unit = match self.rate {
            Rate::Value => row.unit.clone(),
            Rate::Transforms => "Gtransforms/s".into(),
        };
        let mut dates = vec![record.date.clone()];
        let peer = match self.from {
            From::Figures | From::FiguresOf(_) => {
                let of = if let From::FiguresOf(other) = self.from { other } else { operation };
                peers.best(of, &size).map(|peer| {
                    dates.push(peer.date.clone());
                    (peer.peer.clone(), peer.value)
                })
            }
            From::CuFft(variant) => {
                let all = records.iter().flat_map(|record| record.rows.iter().map(move |row| (record, row)));
                let same = all.filter(|(_, row)| row.kernel == "cuFFT" && row.variant == variant);
                same.map(|(record, row)| (record, transforms(row))).next().map(|(record, rate)| {
                    dates.push(record.date.clone());
                    ("cuFFT, f16".into(), rate)
                })
            }
            From::SameRun => {
                let times = row.peers_ms.iter().filter_map(|(name, ms)| Some((name, ms.as_f64()?)));
                let fastest = times.min_by(|one, other| one.1.total_cmp(&other.1));
                let ms = row.time_ms.unwrap_or(f64::NAN);
                fastest.map(|(name, peer_ms)| {
                    (name.replace("complex64 ", "").replace(" (not upfirdn)", ""), ours * ms / peer_ms)
                })
            }
        };
        if matches!(self.from, From::CuFft(_) | From::SameRun) && peer.is_none() {
            return Err(format!("{}: no peer of `{operation}`, `{size}`", record.file));
        }
        // The bound of a CPU's row is the peer.
        let share = row.share().filter(|_| !record.is_cpu());
        let (on, record) = (record.on().to_string(), record.file.clone());
        Ok(Line { operation, size, ours, unit, share, peer, on, dates, record })
    }

    fn rate(&self, row: &Row) -> f64 {
        match self.rate {
            Rate::Value => row.value,
            Rate::Transforms => transforms(row),
        }
    }
}

/// Whether a variant has a word, or is it where it is written `=word`.
fn has(variant: &str, word: &str) -> bool {
    word.strip_prefix('=').map_or_else(|| variant.contains(word), |whole| variant == whole)
}

/// Transforms in a nanosecond.
fn transforms(row: &Row) -> f64 {
    row.param("transforms").unwrap_or(0) as f64 / row.time_ms.unwrap_or(f64::NAN) / 1e6
}

/// All lines of the summary; an error if a record lacks one, or if a figure of a peer stands beside none of them.
pub(super) fn lines(records: &[Record], peers: &Peers) -> Result<Vec<Line>, String> {
    LINES.iter().map(|wanted| wanted.line(records, peers)).collect()
}

/// The page.
pub(super) fn page(lines: &[Line]) -> String {
    let mut page = String::from(
        "# Performance in one page\n\n\
         Made by `cargo xtask performance` from [the records](../measurements); do not edit. Medians of repeated,\n\
         warmed-up runs; every row of a record says what its values were compared with. Kernels run on random data in\n\
         device memory unless said.\n\n\
         - *floor* is the part of what the row's bound allows: bytes at the copy's rate, or tensor cores\n  \
           at the highest clock.\n\
         - *best peer* is the fastest other program measured on such a machine; *ratio* is ours over it.\n\
         - TOPS count needed operations, 8 for each product of a pair of inputs. Stations have two polarisations.\n\
         - Gsamples/s are samples in. Antennas are those that one GPU keeps up with, 2 x 1712 MS/s each.\n",
    );
    let mut files: Vec<&str> = Vec::new();
    let mut machines: Vec<&str> = Vec::new();
    for line in lines {
        if !files.contains(&line.record.as_str()) {
            files.push(&line.record);
        }
        if !machines.contains(&line.on.as_str()) {
            machines.push(&line.on);
        }
    }
    for machine in machines {
        let _ = write!(page, "\n## {machine}\n\n| operation | size | ours | floor % | best peer | ratio | record |\n");
        page.push_str("|---|---|---|---|---|---|---|\n");
        for line in lines.iter().filter(|line| line.on == machine) {
            let share = line.share.map(|share| format!("{:.0}", 100.0 * share)).unwrap_or_default();
            let (peer, ratio) = line.peer.as_ref().map_or_else(Default::default, |(name, rate)| {
                (format!("{name}: {}", stated(*rate)), format!("{:.2}", line.ours / rate))
            });
            let number = files.iter().position(|file| *file == line.record).unwrap_or(0) + 1;
            let ours = format!("{} {}", three(line.ours), short(&line.unit));
            let (operation, size) = (line.operation, &line.size);
            let _ = writeln!(page, "| {operation} | {size} | {ours} | {share} | {peer} | {ratio} | {number} |");
        }
    }
    page.push('\n');
    let named = files.iter().enumerate().map(|(index, file)| format!("[{}](../measurements/{file})", index + 1));
    let named = wrapped(&format!("Records: {}.", named.collect::<Vec<_>>().join(", ")));
    page.push_str(&named);
    page.push_str("Peers: [peers.json](../measurements/peers.json). All rows, by topic:\n");
    let topics = TOPICS.iter().map(|topic| format!("[{}]({}.md)", topic.title, topic.file));
    page.push_str(&wrapped(&format!("{}.", topics.collect::<Vec<_>>().join(", "))));
    page
}

/// A unit in few words.
fn short(unit: &str) -> &str {
    match unit {
        "useful TOPS" | "useful TFLOP/s" => "TOPS",
        "G complex MAC/s of the triangle" => "GMAC/s",
        "G complex MAC/s" => "GMAC/s",
        "M samples/s" => "Msamples/s",
        unit => unit,
    }
}

#[cfg(test)]
mod tests {
    use super::super::record::tests::{record, row};
    use super::*;

    const WANTED: Wanted = wanted("correlator", "64 stations", "kernel", &["*"], &[("inputs", 128)]);

    fn peers() -> Peers {
        serde_json::from_value(serde_json::json!({"rows": [
            {"topic": "correlator", "operation": "correlator", "size": "64 stations", "peer": "slow", "value": 50.0,
             "unit": "useful TOPS", "date": "2026-11-20", "gpu": "NVIDIA H200", "how": "once"},
            {"topic": "correlator", "operation": "correlator", "size": "64 stations", "peer": "fast", "value": 200.0,
             "unit": "useful TOPS", "date": "2026-11-21", "gpu": "NVIDIA H200", "how": "once"},
        ]}))
        .unwrap()
    }

    #[test]
    fn a_line_has_the_newest_record_its_best_row_and_the_best_peer() {
        let inputs = [("inputs", 128)];
        let rows = |best: f64| {
            let other = row("kernel", "b", &inputs, 900.0, "useful TOPS");
            let larger = row("kernel", "*", &[("inputs", 256)], 800.0, "useful TOPS");
            let slower = row("kernel", "* parts 1", &inputs, 300.0, "useful TOPS");
            vec![other, larger, slower, row("kernel", "* parts 2", &inputs, best, "useful TOPS")]
        };
        let records = [record("2026-11-23-b.json", rows(400.0)), record("2026-11-22-a.json", rows(500.0))];
        let line = WANTED.line(&records, &peers()).unwrap();
        assert_eq!((line.ours, line.record.as_str()), (400.0, "2026-11-23-b.json"));
        assert_eq!(line.peer, Some(("fast".into(), 200.0)));
        assert_eq!(line.dates, ["2026-11-23", "2026-11-21"]);
        assert!(page(&[line]).contains("| correlator | 64 stations | 400 TOPS |  | fast: 200 | 2.00 | 1 |"));
        assert!(WANTED.line(&[], &peers()).unwrap_err().contains("`correlator`, `64 stations`"));
    }

    #[test]
    fn every_figure_of_a_peer_that_is_compared_stands_beside_a_line() {
        let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/measurements/peers.json");
        let peers = super::super::peers::load(&file).unwrap();
        let beside =
            |operation: &str, size: &str| LINES.iter().any(|line| line.operation == operation && line.size == size);
        let known = |operation: &str| LINES.iter().any(|line| line.operation == operation);
        let lost: Vec<_> = peers.rows.iter().filter(|peer| known(&peer.operation)).collect();
        let lost: Vec<_> = lost.into_iter().filter(|peer| !beside(&peer.operation, &peer.size)).collect();
        assert!(lost.is_empty(), "{lost:?}");
        assert!(peers.rows.iter().any(|peer| known(&peer.operation)));
    }

    #[test]
    fn the_summary_is_one_page() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/measurements");
        let peers = super::super::peers::load(&folder.join("peers.json")).unwrap();
        let page = page(&lines(&super::super::record::load(&folder).unwrap(), &peers).unwrap());
        assert!(page.lines().count() <= 70, "{} lines", page.lines().count());
        assert!(page.lines().all(|line| line.chars().count() <= 120), "{page}");
    }
}
