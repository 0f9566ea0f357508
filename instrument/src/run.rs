//! A run: parts put together, started, watched and ended.

use std::io::Write;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use fringes::interference::Masker;
use fringes::stream::fx::StreamSample;
use fringes::stream::sink::{Overflow, Sink};
use fringes::stream::source::Source;
use fringes::stream::{Control, CornerTurn, Fx, Report, Running, TimeShares, telemetry};
use fringes::types::{Complex4, f16};
use fringes::{Backend, Complex};
use metrics_exporter_prometheus::PrometheusBuilder;

use crate::build::{Parts, backend};
use crate::config::{Config, Format};
use crate::failure::{At, Failure, Result};
use crate::live::{self, Live};
use crate::pictures;
use crate::ranks::{Connection, Rank};
use crate::summary::SummarySink;

/// Prints a line; a reader that has gone away ends nothing.
macro_rules! say {
    ($($text:tt)*) => {
        let _ = writeln!(std::io::stdout(), $($text)*);
    };
}

/// Instruments of this process, which an interrupt ends.
#[derive(Clone, Default)]
pub(crate) struct Interrupts(Arc<Mutex<Vec<Control>>>);

impl Interrupts {
    /// Catches interrupts from now on: the first ends with the dump under way, a second one at once.
    pub(crate) fn catch() -> Result<Self> {
        let (controls, count) = (Self::default(), AtomicU32::new(0));
        let ours = controls.clone();
        // A second instrument in one process has no handler of its own; there is none here.
        ctrlc::set_handler(move || {
            let first = count.fetch_add(1, Ordering::Relaxed) == 0;
            if first {
                complain!("interrupt: ending with the dump under way; a second one ends at once");
            }
            for control in ours.list().iter() {
                if first { control.stop() } else { control.stop_now() }
            }
        })
        .at("interrupts")?;
        Ok(controls)
    }

    /// Whether an instrument has been started.
    #[cfg(feature = "mpi")]
    pub(crate) fn any(&self) -> bool {
        !self.list().is_empty()
    }

    fn list(&self) -> MutexGuard<'_, Vec<Control>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a run is told beside its configuration.
#[derive(Clone)]
pub(crate) struct Asked {
    pub(crate) folder: PathBuf,
    pub(crate) resume: bool,
    pub(crate) quiet: bool,
    pub(crate) interrupts: Interrupts,
}

/// Serves the counters to Prometheus, if it is asked for.
pub(crate) fn telemetry(config: &Config) -> Result<()> {
    if let Some(address) = config.prometheus {
        PrometheusBuilder::new().with_http_listener(address).install().at("prometheus")?;
        telemetry::describe();
    }
    Ok(())
}

/// Runs a rank of an instrument to its end.
pub(crate) fn run(config: &Config, rank: &Rank, connection: Connection, asked: &Asked) -> Result<()> {
    let backend = backend(rank.backend(config))?;
    let parts = Parts::new(config, rank, backend.device())?;
    of_format(config, rank, (parts, vec![backend]), connection, asked)
}

/// Runs ranks that take turns in time to their end.
pub(crate) fn in_turns(config: &Config, count: usize, asked: &Asked) -> Result<()> {
    let list = &config.ranks.backends;
    let name = |rank: usize| list.get(rank % list.len().max(1)).unwrap_or(&config.backend);
    let backends = (0..count).map(|rank| backend(name(rank))).collect::<Result<_>>()?;
    // Packets in pinned memory would be one device's.
    let parts = Parts::new(config, &Rank::alone(), None)?;
    of_format(config, &Rank::alone(), (parts, backends), Connection::Alone, asked)
}

fn of_format(
    config: &Config,
    rank: &Rank,
    parts: (Parts, Vec<Backend>),
    connection: Connection,
    asked: &Asked,
) -> Result<()> {
    match config.f_engine.format {
        Format::Int4 => of::<Complex4>(config, rank, parts, connection, asked),
        Format::Int8 => of::<Complex<i8>>(config, rank, parts, connection, asked),
        Format::Float16 => of::<Complex<f16>>(config, rank, parts, connection, asked),
        Format::Float32 => of::<Complex<f32>>(config, rank, parts, connection, asked),
    }
}

/// Instruments with one source and the same sinks: one, or several that take turns in time.
struct Instruments<V: StreamSample> {
    all: Vec<Fx<V>>,
    shares: Option<TimeShares>,
}

impl<V: StreamSample> Instruments<V> {
    fn map(&mut self, change: impl FnMut(Fx<V>) -> Fx<V>) {
        self.all = std::mem::take(&mut self.all).into_iter().map(change).collect();
    }

    /// Adds a sink, whose end is theirs unless it `may_fail`.
    fn sink(&mut self, sink: Box<dyn Sink>, overflow: Overflow, may_fail: bool) -> Result<()> {
        let boxed = |sink| Box::new(sink) as Box<dyn Sink>;
        let mut sinks = match &self.shares {
            None => vec![sink],
            Some(shares) => shares.sinks(sink)?.into_iter().map(boxed).collect(),
        }
        .into_iter();
        self.map(|fx| match sinks.next() {
            Some(sink) if may_fail => fx.sink_that_may_fail(sink, overflow),
            Some(sink) => fx.sink(sink, overflow),
            None => fx,
        });
        Ok(())
    }

    /// Starts all, or a rank that has no source.
    fn start(self, source: Option<Box<dyn Source>>) -> Result<Vec<Running<V>>> {
        match (source, &self.shares) {
            (None, _) => self.all.into_iter().map(|fx| Ok(fx.start_without_source()?)).collect(),
            (Some(source), None) => {
                self.all.into_iter().zip([source]).map(|(fx, source)| Ok(fx.start(source)?)).collect()
            }
            (Some(source), Some(shares)) => {
                let sources = shares.sources(source);
                self.all.into_iter().zip(sources).map(|(fx, source)| Ok(fx.start(source)?)).collect()
            }
        }
    }
}

/// The instrument of a rank, without its sinks.
fn instrument<V: StreamSample>(
    config: &Config,
    parts: &Parts,
    backend: &Backend,
    turn: Option<&CornerTurn>,
) -> Result<Fx<V>> {
    let mut fx = match turn {
        Some(turn) if parts.source.is_none() => Fx::<V>::of_turn(backend, turn.clone()),
        Some(turn) => Fx::<V>::new(backend, parts.engine.clone()).turned(turn.clone()),
        None => Fx::<V>::new(backend, parts.engine.clone()),
    };
    fx = fx.queue_depth(config.queue_depth);
    for (schedule, cadence) in parts.schedules.iter().zip(&config.cadence) {
        fx = match &cadence.antennas {
            None => fx.cadence(*schedule),
            Some(antennas) => fx.cadence_of(*schedule, antennas.clone()),
        };
    }
    if let Some(mask) = &config.mask {
        let masker = Masker::new(mask.false_alarm_rate).at("mask")?;
        fx = fx.mask(masker, mask.frames_per_block.saturating_mul(config.f_engine.spectra_per_frame));
    }
    if let Some(bins) = &config.bins {
        let (schedule, bins) = parts.bins(bins)?;
        fx = fx.bins(schedule, bins);
    }
    if let Some(beams) = config.beams.as_ref().filter(|_| parts.channels > 0) {
        let (set, detection) = parts.beams(beams)?;
        fx = fx.beams(set, detection).mask_beams(beams.masked);
    }
    if let Some(seconds) = config.longest_gap_s {
        fx = fx.longest_gap((seconds * parts.sample_rate_hz).max(0.0) as u64);
    }
    Ok(fx)
}

fn of<V: StreamSample>(
    config: &Config,
    rank: &Rank,
    (mut parts, backends): (Parts, Vec<Backend>),
    connection: Connection,
    asked: &Asked,
) -> Result<()> {
    let plan = rank.plan(&config.ranks, parts.inputs, parts.all_channels, parts.frame())?;
    let first = backends.first().ok_or_else(|| Failure::at("ranks", "expected at least 1, found 0"))?;
    let turn = connection.turn(plan, &config.ranks, first)?;
    let quiet = asked.quiet || rank.number > 0;
    let folder = rank.folder(&asked.folder);
    let shares = (backends.len() > 1).then(|| parts.time_shares(config, backends.len())).transpose()?;
    let all = backends.iter().map(|backend| instrument::<V>(config, &parts, backend, turn.as_ref()));
    let mut instruments = Instruments { all: all.collect::<Result<_>>()?, shares };
    if let Some(shares) = shares {
        let mut rank = 0..;
        instruments.map(|fx| fx.in_turns(shares, rank.next().unwrap_or(0)));
    }
    for change in parts.changes(config)? {
        instruments.map(|fx| fx.change(change.clone()));
    }
    let correlates = parts.channels > 0;
    let mut last = None;
    if correlates {
        if !folder.as_os_str().is_empty() {
            std::fs::create_dir_all(&folder).at(folder.display())?;
        }
        let mut add = |sink, overflow| instruments.sink(sink, overflow, false);
        last = parts.sinks(config, &folder, asked.resume, &mut add)?;
    }
    let last = match &turn {
        Some(turn) if asked.resume => turn.agree_on_last_dump(last)?,
        _ => last.flatten(),
    };
    if let Some(last) = last {
        instruments.map(|fx| fx.resume_after(last));
    }
    let summary = config.pictures.as_ref().filter(|_| correlates).map(|_| SummarySink::new());
    if let Some((sink, _)) = &summary {
        instruments.sink(Box::new(sink.clone()), Overflow::DropNewest, true)?;
    }
    let (end, mut source) = (parts.info.end_sample, parts.source.take());
    if let (Some(shares), Some(source), Some(last)) = (shares, &mut source, last) {
        // Instruments that take turns read on from where their source is.
        source.seek(last.saturating_sub(shares.margin())).at("source")?;
    }
    let about = About {
        inputs: parts.inputs.len(),
        sample_rate_hz: parts.sample_rate_hz,
        frequencies: parts.frequencies,
        pols: parts.inputs.pols(),
    };
    let own_inputs = source.as_ref().map_or(0, |source| source.info().inputs.len());
    if !quiet {
        let dumps: Vec<String> = parts
            .schedules
            .iter()
            .map(|schedule| format!("{:.4} s", schedule.accumulation_seconds(about.sample_rate_hz)))
            .collect();
        say!(
            "{}: {} inputs at {:.3} MS/s, {} channels, dumps of {}, on {}",
            parts.info.label,
            about.inputs,
            about.sample_rate_hz / 1e6,
            parts.all_channels,
            dumps.join(", "),
            backends.iter().map(Backend::name).collect::<Vec<_>>().join(", ")
        );
        if let Some(shares) = shares {
            let seconds = shares.span() as f64 / about.sample_rate_hz;
            say!("{} ranks take turns of {seconds:.4} s", shares.ranks());
        }
        if rank.count > 1 {
            say!("rank 0 of {}: {own_inputs} inputs, {} channels", rank.count, parts.channels);
        }
    }
    let start = Instant::now();
    let all = instruments.start(source)?;
    let mut controls: Vec<Control> = all.iter().map(Running::control).collect();
    asked.interrupts.list().extend(controls.iter().cloned());
    let mut out_of_delays = false;
    let mut live = Live::new(quiet, end.map(|end| end.saturating_mul(own_inputs as u64)));
    while !all.iter().all(Running::is_finished) {
        std::thread::sleep(Duration::from_millis(50));
        for (running, control) in all.iter().zip(&mut controls) {
            if parts.delays_end.is_some_and(|end| running.report().next_sample >= end) {
                out_of_delays = true;
                control.stop_now();
            }
        }
        // Of several the first: each has seen all but the last spans.
        if let Some(first) = all.first() {
            live.show(&first.report(), start.elapsed());
        }
    }
    live.end();
    let several = all.len() > 1;
    let mut last_dump = None;
    let mut error = None;
    for (number, running) in all.into_iter().enumerate() {
        let ended = running.join();
        if !quiet {
            if several {
                say!("rank {number}:");
            }
            print_report(&ended.report, start.elapsed(), about.sample_rate_hz, own_inputs);
        }
        last_dump = last_dump.max(ended.report.last_dump);
        error = error.or(ended.error);
    }
    if let (Some(to), Some((_, summary))) = (&config.pictures, summary) {
        let to = folder.join(to);
        std::fs::create_dir_all(&to).at(to.display())?;
        for file in pictures::draw(&summary.take(), &about, &to).map_err(|error| Failure::at("pictures", error))? {
            if !quiet {
                say!("wrote {}", file.display());
            }
        }
    }
    match error {
        None if out_of_delays && end.is_none() => {
            Err(Failure::at("array: seconds", "delays were made for a shorter run; the last dump is to be left out"))
        }
        None => Ok(()),
        Some(error) => Err(build_failure(&error, last_dump)),
    }
}

/// What pictures and reports say of the instrument.
pub(crate) struct About {
    pub(crate) inputs: usize,
    pub(crate) pols: usize,
    pub(crate) sample_rate_hz: f64,
    pub(crate) frequencies: fringes::Frequencies,
}

fn build_failure(error: &fringes::stream::StreamError, last: Option<u64>) -> Failure {
    let place = match last {
        Some(dump) => format!("the run ended after the dump at sample {dump}; --resume goes on behind it"),
        None => "the run ended before its first dump".into(),
    };
    Failure::at(place, error)
}

fn print_report(report: &Report, took: Duration, rate: f64, inputs: usize) {
    let seconds = report.samples as f64 / rate / inputs.max(1) as f64;
    let wall = took.as_secs_f64().max(1e-9);
    say!(
        "{seconds:.2} s of data in {wall:.2} s: {:.1} Msamples/s; {} dumps, {} sums of beams",
        report.samples as f64 / wall / 1e6,
        report.dumps,
        report.beam_sums
    );
    for (name, count) in [
        ("chunks that were late", report.late_chunks),
        ("samples that came twice", report.overlapping_samples),
        ("chunks before the dump to go on behind", report.skipped_chunks),
        ("jumps of the clock", report.clock_jumps),
        ("samples clipped", report.clipped),
        ("values saturated", report.saturated),
        ("packets lost", report.source.lost),
        ("packets late", report.source.late),
        ("packets double", report.source.duplicate),
        ("packets malformed", report.source.malformed),
    ] {
        if count > 0 {
            say!("  {name}: {count}");
        }
    }
    if report.masked[0] > 0 {
        let share = report.masked[0] as f64 / report.masked[1] as f64;
        say!("  channels and blocks masked: {:.2} %", 100.0 * share);
    }
    for (stage, busy) in ["source", "F-engine", "correlator", "beamformer"].iter().zip(report.busy) {
        say!("  {stage}: busy for {:.2} s", busy.as_secs_f64());
    }
    say!("  deepest queues: {}", live::deepest_queues(report));
    if report.turn.blocks > 0 {
        let turn = &report.turn;
        say!(
            "  corner turn: {} blocks, {:.1} MB sent, {:.1} MB received; packing {:.2} s, exchange {:.2} s, placing {:.2} s",
            turn.blocks,
            turn.bytes_sent as f64 / 1e6,
            turn.bytes_received as f64 / 1e6,
            turn.packing.as_secs_f64(),
            turn.exchange.as_secs_f64(),
            turn.placing.as_secs_f64()
        );
    }
    for sink in &report.sinks {
        say!(
            "  sink {}: {} written ({:.1} MB), {} dropped, {} undelivered, latency {:.1} ms (at most {:.1})",
            sink.name,
            sink.written,
            sink.bytes as f64 / 1e6,
            sink.dropped,
            sink.undelivered,
            sink.mean_latency.as_secs_f64() * 1e3,
            sink.longest_latency.as_secs_f64() * 1e3
        );
    }
}
