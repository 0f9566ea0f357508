//! The parts of an instrument, of its configuration.

use std::path::Path;

use fringes::correlator::{Bins, PulsePhase, Turns};
use fringes::delay::{AntennaArray, Epoch, Geometry, SampleClock, Source as Direction};
use fringes::f_engine::FEngineBuilder;
use fringes::gpu::{Device, PinnedPool};
use fringes::io::read::{OpenOptions, open};
use fringes::io::spead::{ChunkOptions, PackedSampleHeaps, ReceiverOptions, SenderOptions, VisibilityHeaps};
use fringes::io::write::{BeamObservation, UvfitsHeader};
use fringes::stream::TimeShares;
use fringes::stream::sink::{FilterbankSink, NpzSink, Overflow, Sink, SpeadSink, UvfitsSink, Uvh5Sink};
use fringes::stream::source::{Antennas, Recording, Simulated, Source, SourceInfo, Spead};
use fringes::{
    Backend, BaselineOrder, BeamWeights, Channelizer, Complex, DetectedProducts, Detection, DumpSchedule, FEngine,
    Frequencies, Gains, Inputs, TiedArrayBeams,
};
use fringes_simulator::Simulator;
use ndarray::Array3;

use crate::config::{BeamsConfig, BinsConfig, Config, Format, SinkConfig, SourceConfig, sinks::OverflowConfig};
use crate::failure::{At, Failure, Result};
use crate::ranks::Rank;

/// Seconds that one polynomial of a delay covers, and its degree.
const INTERVAL_SECONDS: f64 = 10.0;
const DEGREE: usize = 3;
/// Seconds for which delays are made if nobody says how long the run is.
const A_DAY: f64 = 86_400.0;
/// Times at which delays are looked at to know how long they are.
const STEPS: u64 = 1000;

/// What an instrument is made of.
pub(crate) struct Parts {
    /// Of the rank's antennas; none of a rank without any.
    pub(crate) source: Option<Box<dyn Source>>,
    /// What the whole source says of itself.
    pub(crate) info: SourceInfo,
    pub(crate) engine: FEngineBuilder,
    /// Its gain, of all inputs and channels.
    pub(crate) gain: f32,
    pub(crate) schedules: Vec<DumpSchedule>,
    pub(crate) tracking: Option<Tracking>,
    /// Of the whole instrument.
    pub(crate) inputs: Inputs,
    /// Of the whole instrument.
    pub(crate) all_channels: usize,
    /// Those that the rank correlates.
    pub(crate) channels: usize,
    first_channel: usize,
    stride: u64,
    frame: u64,
    /// Samples that a frame reaches beyond its own: a window and delays.
    reach: u64,
    /// Of the rank's channels.
    pub(crate) frequencies: Frequencies,
    /// Of all channels.
    pub(crate) all_frequencies: Frequencies,
    pub(crate) sample_rate_hz: f64,
    pub(crate) sample_zero: Option<Epoch>,
    /// The sample up to which delays are made, where there are some.
    pub(crate) delays_end: Option<u64>,
}

/// The array and what it follows.
pub(crate) struct Tracking {
    pub(crate) array: AntennaArray,
    pub(crate) geometry: Geometry,
    telescope: String,
    source_name: String,
}

/// Where operations run.
pub(crate) fn backend(text: &str) -> Result<Backend> {
    match text.split_whitespace().collect::<Vec<_>>().as_slice() {
        ["auto"] => Ok(Backend::auto()),
        ["cpu"] => Ok(Backend::cpu()),
        ["gpu"] => Ok(Backend::gpu(0)?),
        ["gpu", number] => Ok(Backend::gpu(number.parse().at("backend")?)?),
        _ => Err(Failure::at("backend", format!("expected auto, cpu or gpu with a number, found `{text}`"))),
    }
}

impl Parts {
    /// Opens the source of a rank and plans the rest. Packets for a device are received in pinned memory.
    pub(crate) fn new(config: &Config, rank: &Rank, device: Option<&Device>) -> Result<Self> {
        let (source, info, centre_hz) = source(&config.source, rank, device)?;
        let antennas = rank.antennas(info.inputs);
        let (inputs, rate) = (info.inputs, info.sample_rate_hz);
        let f = &config.f_engine;
        let complex = matches!(&config.source, SourceConfig::Recording { .. }) && centre_hz.complex;
        let plan = if complex { Channelizer::complex(f.channels) } else { Channelizer::real(f.channels) };
        let plan = plan.taps(f.taps).build().at("f_engine")?;
        let frame = f.spectra_per_frame as u64;
        let stride = plan.stride() as u64;
        // White noise of the filter bank has the power of its samples times that of the window.
        let power: f64 = plan.weights().iter().map(|&weight| weight * weight).sum();
        let parts = if complex { 1.0 } else { 2f64.sqrt() };
        let rms = f.target_rms.unwrap_or(if f.format == Format::Int4 { 2.0 } else { 15.0 });
        let gain = match f.format {
            Format::Int4 | Format::Int8 => rms * parts / (f.input_rms * power.sqrt()),
            _ => 1.0,
        };
        // A rank without antennas has none of this; its plan is looked at nevertheless.
        let own = if antennas.is_empty() { inputs } else { Inputs::new(antennas.len(), inputs.pols())? };
        let rows = antennas.start * inputs.pols()..antennas.start * inputs.pols() + own.len();
        let mut engine = FEngine::builder(plan.clone(), own).spectra_per_frame(f.spectra_per_frame);
        engine = engine.precision(f.precision.into());
        engine = engine.gains(Gains::uniform(gain as f32).at("f_engine: target_rms and input_rms")?);
        if let Some(seed) = f.dither {
            engine = engine.dither(seed).first_input(rows.start);
        }
        let middle = centre_hz.hz.unwrap_or(rate / 4.0);
        let tracking = Tracking::new(config, info.sample_zero)?;
        let (mut delays_end, mut reach) = (None, plan.window_samples() as u64);
        if let Some(tracking) = &tracking {
            let count = tracking.array.len();
            if count != inputs.antennas() {
                let what = format!("expected {} antennas as the source has, found {count}", inputs.antennas());
                return Err(Failure::at("array", what));
            }
            let seconds = config.array.as_ref().and_then(|array| array.seconds);
            let seconds = seconds.or(info.end_sample.map(|end| end as f64 / rate)).unwrap_or(A_DAY);
            let samples = (seconds * rate).ceil().max(1.0) as u64 + plan.window_samples() as u64;
            delays_end = Some(samples);
            let clock = SampleClock { epoch_sample: 0, sample_rate_hz: rate };
            let interval = (INTERVAL_SECONDS * rate).ceil() as u64;
            let track = tracking.geometry.track(clock, 0..samples, interval, DEGREE).at("array")?;
            let models = track.with_fringe_stopping(middle)?.models(inputs.pols())?;
            let times = (0..=STEPS).map(|step| samples / STEPS * step);
            let delays = models.iter().flat_map(|model| times.clone().map(|time| model.delay_samples(time).abs()));
            // Between two of these times a delay is not much longer.
            reach += (1.01 * delays.fold(0.0, f64::max)).ceil() as u64 + 1;
            let models = models.into_iter().skip(if antennas.is_empty() { 0 } else { rows.start });
            engine = engine.delays(models.take(own.len()).collect());
        }
        let schedules = config
            .cadence
            .iter()
            .map(|cadence| DumpSchedule::closest_to(cadence.seconds, rate, stride, frame).at("cadence"))
            .collect::<Result<Vec<_>>>()?;
        let built = engine.clone().build::<Complex<f32>>(&Backend::cpu()).at("f_engine")?;
        let all_channels = built.channels().len();
        let share = rank.channels(all_channels);
        let all_frequencies = plan.frequencies(rate, Some(middle));
        let frequencies = Frequencies { first_hz: all_frequencies.channel_hz(share.start), ..all_frequencies };
        let sample_zero = tracking.as_ref().map(|of| of.geometry.pointing().epoch()).or(info.sample_zero);
        Ok(Self {
            source,
            info,
            engine,
            gain: gain as f32,
            schedules,
            tracking,
            inputs,
            all_channels,
            channels: share.len(),
            first_channel: share.start,
            stride,
            frame,
            reach,
            frequencies,
            all_frequencies,
            sample_rate_hz: rate,
            sample_zero,
            delays_end,
        })
    }

    /// Samples between spectra, and spectra of a frame.
    pub(crate) fn frame(&self) -> [u64; 2] {
        [self.stride, self.frame]
    }

    /// How ranks take turns in time.
    pub(crate) fn time_shares(&self, config: &Config, ranks: usize) -> Result<TimeShares> {
        let of = |schedule: &DumpSchedule| schedule.timestamp_difference();
        let mut lengths: Vec<u64> = self.schedules.iter().map(of).collect();
        if let Some(bins) = &config.bins {
            lengths.push(of(&self.bins(bins)?.0));
        }
        let longest = lengths.iter().copied().max().unwrap_or(self.stride * self.frame);
        let span = longest.saturating_mul(config.ranks.dumps_per_span);
        if let Some(other) = lengths.iter().find(|&&length| span % length != 0) {
            let what =
                format!("expected spans of whole dumps of every cadence, found {span} samples and dumps of {other}");
            return Err(Failure::at("ranks: dumps_per_span", what));
        }
        if config.beams.is_some() {
            return Err(Failure::at("ranks: by", "expected channels for [beams], found time"));
        }
        let masked = config.mask.as_ref().map_or(1, |mask| mask.frames_per_block as u64 + 1);
        let margin = self.reach.saturating_add((self.stride * self.frame).saturating_mul(masked.saturating_add(1)));
        Ok(TimeShares::new(ranks, span, margin)?)
    }

    /// The bins of a configuration.
    pub(crate) fn bins(&self, bins: &BinsConfig) -> Result<(DumpSchedule, Bins)> {
        let (stride, frame) = (self.stride, self.frame);
        let schedule = DumpSchedule::closest_to(bins.seconds, self.sample_rate_hz, stride, frame).at("bins")?;
        let turns = stride as f64 / self.sample_rate_hz / bins.period_s;
        let phase = Turns::new(turns).and_then(|rate| PulsePhase::new(0, vec![Turns::default(), rate])).at("bins")?;
        Ok((schedule, Bins::fold(phase, bins.count).at("bins")?))
    }

    /// The beams of a configuration.
    pub(crate) fn beams(&self, beams: &BeamsConfig) -> Result<(TiedArrayBeams, Detection)> {
        let tracking = self.tracking.as_ref().ok_or_else(|| Failure::at("beams", "an [array] is needed"))?;
        let products = if self.inputs.pols() == 1 { DetectedProducts::Power } else { DetectedProducts::StokesI };
        let detection = Detection::new(products, beams.spectra, beams.channels).at("beams")?;
        let set = self.beam_set(tracking, &beams.offsets, self.channels, self.frequencies)?;
        Ok((set, detection))
    }

    /// Beams at offsets from the phase centre, of so many channels.
    pub(crate) fn beam_set(
        &self,
        tracking: &Tracking,
        offsets: &[[f64; 2]],
        channels: usize,
        frequencies: Frequencies,
    ) -> Result<TiedArrayBeams> {
        let (pols, uvw) = (self.inputs.pols(), tracking.geometry.uvw(0.0)?);
        // A beam of each polarisation, stopped on the phase centre: what is left is the offset's phase.
        let count = offsets.len() * pols;
        let weights = Array3::from_shape_fn((count, channels, self.inputs.len()), |(beam, channel, input)| {
            if beam % pols != input % pols {
                return Complex::new(0.0, 0.0);
            }
            let [l, m] = offsets[beam / pols];
            let [u, v, w] = uvw[input / pols];
            let path = u * l + v * m + w * ((1.0 - l * l - m * m).max(0.0).sqrt() - 1.0);
            let turns = -frequencies.channel_hz(channel) * path / fringes::delay::SPEED_OF_LIGHT_M_PER_S;
            let weight = Complex::from_polar(1.0 / self.inputs.antennas() as f64, std::f64::consts::TAU * turns);
            Complex::new(weight.re as f32, weight.im as f32)
        });
        Ok(TiedArrayBeams::new(BeamWeights::new(weights)?))
    }

    fn observation(&self, config: &Config) -> Result<BeamObservation> {
        let zero = self.sample_zero.ok_or_else(|| Failure::at("sink filterbank", "expected an epoch in [array]"))?;
        let observation = BeamObservation::new(zero);
        let Some(array) = &config.array else { return Ok(observation) };
        let direction = self.tracking.as_ref().map(|tracking| tracking.geometry.pointing().source());
        let direction = direction.filter(|direction| matches!(direction, Direction::RaDec { .. }));
        Ok(BeamObservation {
            telescope: array.telescope.clone(),
            source: array.source_name.clone(),
            direction,
            ..observation
        })
    }

    /// Adds the sinks; gives the dump behind which they go on, if there are files that could say it.
    pub(crate) fn sinks(
        &self,
        config: &Config,
        folder: &Path,
        resume: bool,
        add: &mut dyn FnMut(Box<dyn Sink>, Overflow) -> Result<()>,
    ) -> Result<Option<Option<u64>>> {
        let mut last: Option<Option<u64>> = None;
        let mut note = |dump: Option<u64>| last = Some(last.map_or(dump, |before| before.min(dump)));
        let of = |overflow: OverflowConfig| match overflow {
            OverflowConfig::Block => Overflow::Block,
            OverflowConfig::Drop => Overflow::DropNewest,
        };
        for sink in &config.sink {
            match sink {
                SinkConfig::Uvh5 { path, cadence, overflow } => {
                    let (header, geometry, schedule) = self.header("uvh5", config, *cadence)?;
                    let path = folder.join(path);
                    let (sink, dump) = if resume && path.exists() {
                        let samples = [0, schedule.timestamp_difference()];
                        Uvh5Sink::resume(&path, &header, geometry, samples, self.sample_rate_hz, *cadence)?
                    } else {
                        (Uvh5Sink::create(&path, &header, geometry, 0, *cadence)?, None)
                    };
                    if *cadence == 0 {
                        note(dump);
                    }
                    add(Box::new(sink), of(*overflow))?;
                }
                SinkConfig::Uvfits { path, cadence, overflow } => {
                    if resume {
                        let what = "UVFITS cannot be continued: take uvh5, or another path";
                        return Err(Failure::at("sink uvfits", what));
                    }
                    let (header, geometry, _) = self.header("uvfits", config, *cadence)?;
                    let sink = UvfitsSink::create(&folder.join(path), &header, geometry, 0, *cadence)?;
                    add(Box::new(sink), of(*overflow))?;
                }
                SinkConfig::Npz { folder: to, cadence, overflow } => {
                    let to = folder.join(to);
                    let sink = NpzSink::new(&to, *cadence).at(to.display())?;
                    if resume && *cadence == 0 {
                        note(NpzSink::last_dump(&to).at(to.display())?);
                    }
                    add(Box::new(sink), of(*overflow))?;
                }
                SinkConfig::Spead { destinations, channels_per_heap, bytes_per_second, cadence, overflow } => {
                    let count = self.schedules.len();
                    let missing = || format!("expected a cadence of 0..{count}, found {cadence}");
                    let schedule = *self.schedules.get(*cadence).ok_or_else(|| Failure::at("sink spead", missing()))?;
                    let (spectra, stride) = (schedule.spectra_per_dump(), schedule.samples_between_spectra());
                    let order = BaselineOrder::Triangle;
                    let format = VisibilityHeaps::new(self.inputs, order, self.channels, spectra, stride)
                        .and_then(|format| format.with_channels_per_heap(channels_per_heap.unwrap_or(self.channels)))
                        .and_then(|format| format.with_sample_rate(self.sample_rate_hz))
                        .at("sink spead")?
                        .with_first_channel(self.first_channel as u64);
                    let Some(&first) = destinations.first() else {
                        return Err(Failure::at("sink spead: destinations", "give one"));
                    };
                    let options = SenderOptions {
                        destinations: destinations.clone(),
                        bytes_per_second: *bytes_per_second,
                        ..SenderOptions::new(first)
                    };
                    let sink = SpeadSink::new(format, &options, *cadence).at("sink spead")?;
                    add(Box::new(sink), of(*overflow))?;
                }
                SinkConfig::Filterbank { folder: to, overflow } => {
                    let to = folder.join(to);
                    let sink = FilterbankSink::new(&to, self.observation(config)?).at(to.display())?;
                    add(Box::new(sink), of(*overflow))?;
                }
            }
        }
        Ok(if resume { last } else { None })
    }

    fn header(&self, sink: &str, config: &Config, cadence: usize) -> Result<(UvfitsHeader, Geometry, DumpSchedule)> {
        self.header_of(sink, config, cadence, self.first_channel..self.first_channel + self.channels)
    }

    /// As the header of a sink, of other channels.
    pub(crate) fn header_of(
        &self,
        sink: &str,
        config: &Config,
        cadence: usize,
        channels: std::ops::Range<usize>,
    ) -> Result<(UvfitsHeader, Geometry, DumpSchedule)> {
        let first_hz = self.all_frequencies.channel_hz(channels.start);
        let frequencies = Frequencies { first_hz, ..self.all_frequencies };
        let place = format!("sink {sink}");
        let Some(tracking) = &self.tracking else { return Err(Failure::at(place, "expected an [array]")) };
        let count = self.schedules.len();
        let schedule = self.schedules.get(cadence);
        let schedule = *schedule
            .ok_or_else(|| Failure::at(&place, format!("expected a cadence of 0..{count}, found {cadence}")))?;
        if config.cadence.get(cadence).is_some_and(|cadence| cadence.antennas.is_some()) {
            return Err(Failure::at(place, "a cadence of all antennas is needed"));
        }
        let header = UvfitsHeader::new(&tracking.array, &tracking.geometry, self.inputs, channels.len(), frequencies)?;
        let header =
            UvfitsHeader { telescope: tracking.telescope.clone(), source: tracking.source_name.clone(), ..header };
        Ok((header, tracking.geometry.clone(), schedule))
    }
}

impl Tracking {
    fn new(config: &Config, recorded: Option<Epoch>) -> Result<Option<Self>> {
        let Some(array) = &config.array else { return Ok(None) };
        let text = match (&array.table, &array.file) {
            (Some(table), None) => table.clone(),
            (None, Some(file)) => std::fs::read_to_string(file).at(file.display())?,
            _ => return Err(Failure::at("array", "expected one of table and file")),
        };
        let table: AntennaArray = text.parse().at("array")?;
        let source: Direction = array.phase_centre.parse().at("array: phase_centre")?;
        let epoch = match &array.epoch {
            Some(epoch) => epoch.parse().at("array: epoch")?,
            None => {
                recorded.ok_or_else(|| Failure::at("array", "the source does not say when it began: give epoch"))?
            }
        };
        let geometry = Geometry::new(&table, source, epoch).at("array")?;
        let (telescope, source_name) = (array.telescope.clone(), array.source_name.clone());
        Ok(Some(Self { array: table, geometry, telescope, source_name }))
    }
}

/// Middle of the band, and whether samples are complex.
struct Band {
    hz: Option<f64>,
    complex: bool,
}

/// The source of a rank's antennas, if it has any; what the whole source says of itself.
type Opened = (Option<Box<dyn Source>>, SourceInfo, Band);

/// Opens the source of a rank.
fn source(config: &SourceConfig, rank: &Rank, device: Option<&Device>) -> Result<Opened> {
    match config {
        SourceConfig::Simulation { seconds, bits, chunk_samples, simulation } => {
            let rate = simulation.sample_rate_hz;
            let end = seconds.map(|seconds| (seconds * rate).round().max(0.0) as u64);
            let simulator = Simulator::new((**simulation).clone()).at("source.simulation")?;
            let antennas = rank.antennas(simulator.inputs());
            let whole = Simulated::new(simulator, *bits, *chunk_samples, end)?;
            let (info, band) = (whole.info().clone(), Band { hz: None, complex: false });
            if antennas.is_empty() {
                return Ok((None, info, band));
            }
            let simulator = Simulator::new((**simulation).clone()).at("source.simulation")?.of_antennas(antennas)?;
            Ok((Some(Box::new(Simulated::new(simulator, *bits, *chunk_samples, end)?)), info, band))
        }
        SourceConfig::Recording { files, channel, chunk_samples, sample_rate_hz, centre_frequency_hz, map } => {
            let options = OpenOptions {
                mapping: map.as_ref().map(|map| map.parse()).transpose().at("source: map")?,
                sample_rate_hz: *sample_rate_hz,
                centre_frequency_hz: *centre_frequency_hz,
                ..OpenOptions::default()
            };
            let reader = open(files, &options)?;
            let band = Band { hz: reader.info().centre_hz(*channel), complex: reader.info().complex };
            let source = Recording::new(reader, *channel, *chunk_samples)?;
            let info = source.info().clone();
            let antennas = rank.antennas(info.inputs);
            if antennas.is_empty() {
                return Ok((None, info, band));
            }
            let all = antennas == (0..info.inputs.antennas());
            let source: Box<dyn Source> =
                if all { Box::new(source) } else { Box::new(Antennas::new(source, antennas)?) };
            Ok((Some(source), info, band))
        }
        SourceConfig::Spead {
            addresses,
            antennas,
            pols,
            bits,
            sample_rate_hz,
            centre_frequency_hz,
            heap_samples,
            heaps_per_chunk,
            window_chunks,
            digitisers,
            stops,
        } => {
            let all = Inputs::new(*antennas, *pols).at("source")?;
            let band = Band { hz: *centre_frequency_hz, complex: false };
            let Some(&first) = addresses.first() else { return Err(Failure::at("source: addresses", "give one")) };
            let info = SourceInfo {
                label: format!("SPEAD at {first}"),
                inputs: all,
                sample_rate_hz: *sample_rate_hz,
                sample_zero: None,
                end_sample: None,
            };
            let antennas = rank.antennas(all);
            if antennas.is_empty() {
                return Ok((None, info, band));
            }
            // Of the digitisers that send to these addresses, those of the rank's antennas.
            let inputs = Inputs::new(antennas.len(), *pols).at("source")?;
            let rows = antennas.start * pols..antennas.end * pols;
            let digitisers = match digitisers {
                Some(list) => Some(list.get(rows).map(<[u64]>::to_vec).unwrap_or_else(|| list.clone())),
                None if antennas.start > 0 => Some(rows.map(|input| input as u64).collect()),
                None => None,
            };
            let mut format = PackedSampleHeaps::new(inputs, *bits, *heap_samples, *heaps_per_chunk)
                .and_then(|format| format.with_sample_rate(*sample_rate_hz))
                .and_then(|format| format.with_centre_frequency(centre_frequency_hz.unwrap_or(sample_rate_hz / 4.0)))
                .at("source")?;
            if let Some(digitisers) = &digitisers {
                format = format.with_digitisers(digitisers).at("source: digitisers")?;
            }
            let chunks = ChunkOptions { window_chunks: *window_chunks, ..ChunkOptions::default() };
            let options =
                ReceiverOptions { addresses: addresses.clone(), stops: *stops, chunks, ..ReceiverOptions::new(first) };
            let of_rank = SourceInfo { inputs, ..info.clone() };
            let source: Box<dyn Source> = match device {
                None => Box::new(Spead::packed(format, &options, of_rank).at("source")?),
                Some(device) => {
                    Box::new(Spead::pinned(format, &options, of_rank, &PinnedPool::new(device)).at("source")?)
                }
            };
            Ok((Some(source), info, band))
        }
    }
}
