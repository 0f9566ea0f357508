//! Which part of a recording is which input: from `(stream, recorded channel)` to `(antenna, pol, channel)`.
//!
//! A *stream* is what a format numbers apart: a thread of VDIF, a polarisation of an antenna in GUPPI raw, a
//! polarisation in PSRDADA.

use std::fmt;
use std::str::FromStr;

use fringes_types::{Inputs, TypesError};

use crate::IoError;

/// Most antennas that a map may name.
const MAX_ANTENNAS: usize = 1 << 16;

/// One entry of an [`InputMap`].
#[derive(Debug, Clone, PartialEq, Eq)]
struct Entry {
    /// VDIF station, if the entry names one.
    station: Option<u16>,
    /// Number of the stream.
    stream: u32,
    /// One recorded channel, or all.
    from_channel: Option<usize>,
    /// Antenna.
    antenna: usize,
    /// Polarisation.
    pol: usize,
    /// Channel to put `from_channel` in (0 if not written).
    to_channel: usize,
}

/// A map from the streams of a recording to inputs, read from text.
///
/// Entries are separated by commas, each `stream:antenna` with an optional polarisation `x` or `y` behind the antenna
/// (`a` and `b` are the same; none is `x`):
///
/// - `0:0x,1:0y,2:1x,3:1y`: streams 0 to 3 are two antennas of two polarisations, all channels of each;
/// - `5:0,3:1`: streams 5 and 3 are two antennas of one polarisation; other streams are left out;
/// - `0.0:0,0.1:1,0.2:2`: recorded channels 0 to 2 of stream 0 are three antennas of one channel;
/// - `0.4:0x.0,0.5:0x.1`: recorded channels 4 and 5 of stream 0 are channels 0 and 1 of antenna 0;
/// - `Ef/0:0,0x4a42/0:1`: thread 0 of two VDIF stations, by two characters or by number.
///
/// Recorded channels are numbered as the block has them, in ascending frequency. Every `(antenna, pol, channel)` up to
/// the largest must be named once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InputMap {
    text: String,
    entries: Vec<Entry>,
}

impl fmt::Display for InputMap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl FromStr for InputMap {
    type Err = IoError;

    fn from_str(text: &str) -> Result<Self, IoError> {
        let wrong = |reason: String| IoError::InputMap { map: text.to_owned(), reason };
        let mut entries = Vec::new();
        for item in text.split(',').map(str::trim).filter(|item| !item.is_empty()) {
            entries.push(Entry::parse(item).map_err(|reason| wrong(format!("entry `{item}`: {reason}")))?);
        }
        if entries.is_empty() {
            return Err(wrong("expected entries such as 0:0x,1:0y, found none".into()));
        }
        Ok(Self { text: text.to_owned(), entries })
    }
}

/// A number, or why it is none.
fn number<T: FromStr>(text: &str, what: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("{what}: expected a number, found `{text}`"))
}

impl Entry {
    fn parse(item: &str) -> Result<Self, String> {
        let (from, to) = item.split_once(':').ok_or("expected stream:antenna")?;
        let (station, from) = match from.split_once('/') {
            Some((station, from)) => (Some(parse_station(station)?), from),
            None => (None, from),
        };
        let (stream, from_channel) = match from.split_once('.') {
            Some((stream, channel)) => (stream, Some(number(channel, "recorded channel")?)),
            None => (from, None),
        };
        let (to, to_channel) = match to.split_once('.') {
            Some((to, channel)) => (to, Some(number(channel, "channel")?)),
            None => (to, None),
        };
        if to_channel.is_some() && from_channel.is_none() {
            return Err("a channel is given for an antenna but not for the stream".into());
        }
        let (antenna, pol) = match to.char_indices().last() {
            Some((at, 'x' | 'a')) => (&to[..at], 0),
            Some((at, 'y' | 'b')) => (&to[..at], 1),
            _ => (to, 0),
        };
        let antenna = number(antenna, "antenna")?;
        if antenna >= MAX_ANTENNAS {
            return Err(format!("antenna: expected a number below {MAX_ANTENNAS}, found {antenna}"));
        }
        let stream = number(stream, "stream")?;
        Ok(Self { station, stream, from_channel, antenna, pol, to_channel: to_channel.unwrap_or(0) })
    }
}

/// A VDIF station: two characters, `0x` and hexadecimal digits, or a decimal number.
fn parse_station(text: &str) -> Result<u16, String> {
    if let Some(digits) = text.strip_prefix("0x") {
        return u16::from_str_radix(digits, 16)
            .map_err(|_| format!("station: expected hexadecimal digits, found `{text}`"));
    }
    match text.as_bytes() {
        // Two digits are a number: no station's name is.
        &[first, second] if text.parse::<u16>().is_err() => Ok(u16::from_be_bytes([first, second])),
        _ => number(text, "station"),
    }
}

/// A stream of a recording, in the recording's own order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stream {
    /// VDIF station.
    pub(crate) station: Option<u16>,
    /// Number that a map calls it by.
    pub(crate) number: u32,
    /// What messages call it.
    pub(crate) name: String,
    /// Antenna and polarisation that it is without a map.
    pub(crate) default: (usize, usize),
}

/// Where one recorded channel of one stream goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) channel: usize,
    pub(crate) input: usize,
}

/// Most channels of all streams of a recording.
const MAX_RECORDED: usize = 1 << 22;

/// A map that fits a recording.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Routing {
    pub(crate) inputs: Inputs,
    pub(crate) channels: usize,
    /// What each input is in the recording.
    pub(crate) names: Vec<String>,
    /// `[stream][recorded channel]`: where it goes.
    pub(crate) targets: Vec<Vec<Option<Target>>>,
    /// `[input]`: the streams that feed it.
    pub(crate) feeders: Vec<Vec<usize>>,
    /// Whether every input has the recorded channels as they are.
    pub(crate) whole_streams: bool,
}

impl Routing {
    /// The routing of a recording with these streams of `recorded` channels each.
    ///
    /// # Errors
    /// [`IoError::InputMap`] for a map that names what is not there, names something twice or leaves a hole;
    /// [`IoError::Types`] for numbers of antennas and polarisations that cannot be.
    pub(crate) fn new(map: Option<&InputMap>, streams: &[Stream], recorded: usize) -> Result<Self, IoError> {
        if streams.len().checked_mul(recorded).is_none_or(|all| all > MAX_RECORDED) {
            let elements = format!("{} streams x {recorded}", streams.len());
            return Err(TypesError::TooLarge { array: "recorded channels", elements }.into());
        }
        let default;
        let map = match map {
            Some(map) => map,
            None => {
                default = InputMap::of_streams(streams);
                &default
            }
        };
        let wrong = |reason: String| IoError::InputMap { map: map.text.clone(), reason };
        let antennas = map.entries.iter().map(|entry| entry.antenna + 1).max().unwrap_or(0);
        let pols = map.entries.iter().map(|entry| entry.pol + 1).max().unwrap_or(1);
        let whole_streams = map.entries.iter().all(|entry| entry.from_channel.is_none());
        let channels = map
            .entries
            .iter()
            .map(|entry| if entry.from_channel.is_none() { recorded } else { entry.to_channel.saturating_add(1) })
            .max()
            .unwrap_or(0);
        let inputs = Inputs::new(antennas, pols)?;
        let named = map.entries.iter().map(|entry| if entry.from_channel.is_none() { recorded } else { 1 }).sum();
        let needed = inputs.len().checked_mul(channels);
        if needed != Some(named) {
            let needed = needed.map_or("too many".into(), |needed| needed.to_string());
            return Err(wrong(format!(
                "{antennas} antennas with {pols} polarisations and {channels} channels are {needed} channels in all, the map names {named}"
            )));
        }
        let mut taken = vec![false; named];
        let mut targets = vec![vec![None; recorded]; streams.len()];
        let mut feeders = vec![Vec::new(); inputs.len()];
        for entry in &map.entries {
            let stream = find(streams, entry).map_err(wrong)?;
            let input = entry.antenna * pols + entry.pol;
            if !feeders[input].contains(&stream) {
                feeders[input].push(stream);
            }
            let pairs = match entry.from_channel {
                None => (0..recorded).map(|channel| (channel, channel)).collect(),
                Some(from) if from < recorded => vec![(from, entry.to_channel)],
                Some(from) => {
                    return Err(wrong(format!("recorded channel: expected a number below {recorded}, found {from}")));
                }
            };
            for (from, channel) in pairs {
                let slot: &mut Option<Target> = &mut targets[stream][from];
                if slot.is_some() {
                    return Err(wrong(format!("channel {from} of {} is named twice", streams[stream].name)));
                }
                if std::mem::replace(&mut taken[channel * inputs.len() + input], true) {
                    return Err(wrong(format!(
                        "antenna {}, polarisation {}, channel {channel} is named twice",
                        entry.antenna, entry.pol
                    )));
                }
                *slot = Some(Target { channel, input });
            }
        }
        let names = feeders
            .iter()
            .map(|feeders| feeders.iter().map(|&stream| streams[stream].name.as_str()).collect::<Vec<_>>().join(" + "))
            .collect();
        Ok(Self { inputs, channels, names, targets, feeders, whole_streams })
    }
}

/// The stream that an entry names.
fn find(streams: &[Stream], entry: &Entry) -> Result<usize, String> {
    let fits =
        |stream: &Stream| stream.number == entry.stream && (entry.station.is_none() || stream.station == entry.station);
    let mut found = streams.iter().enumerate().filter(|(_, stream)| fits(stream));
    let names = || streams.iter().take(16).map(|stream| stream.name.as_str()).collect::<Vec<_>>().join(", ");
    match (found.next(), found.next()) {
        (Some((stream, _)), None) => Ok(stream),
        (None, _) => Err(format!("the recording has no stream {} (it has {})", entry.stream, names())),
        (Some((_, one)), Some((_, other))) => {
            Err(format!("stream {} may be {} or {}: write station/thread", entry.stream, one.name, other.name))
        }
    }
}

impl InputMap {
    /// What the map calls VDIF streams by: the station, if it gives one, and the thread.
    pub(crate) fn vdif_streams(&self) -> impl Iterator<Item = (Option<u16>, u32)> + '_ {
        self.entries.iter().map(|entry| (entry.station, entry.stream))
    }

    /// The map that the streams have without one.
    fn of_streams(streams: &[Stream]) -> Self {
        let entries = streams.iter().map(|stream| Entry {
            station: stream.station,
            stream: stream.number,
            from_channel: None,
            antenna: stream.default.0,
            pol: stream.default.1,
            to_channel: 0,
        });
        Self { text: "default".into(), entries: entries.collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn threads(numbers: &[u32]) -> Vec<Stream> {
        let stream = |(rank, &number): (usize, &u32)| Stream {
            station: Some(0x4566),
            number,
            name: format!("thread {number}"),
            default: (rank, 0),
        };
        numbers.iter().enumerate().map(stream).collect()
    }

    fn route(map: &str, streams: &[Stream], recorded: usize) -> Result<Routing, IoError> {
        Routing::new(Some(&map.parse()?), streams, recorded)
    }

    #[test]
    fn without_a_map_every_thread_is_an_antenna() {
        let routing = Routing::new(None, &threads(&[1, 4, 9]), 2).unwrap();
        assert_eq!((routing.inputs.antennas(), routing.inputs.pols(), routing.channels), (3, 1, 2));
        assert_eq!(routing.names, ["thread 1", "thread 4", "thread 9"]);
        assert_eq!(routing.targets[2][1], Some(Target { channel: 1, input: 2 }));
    }

    #[test]
    fn threads_become_antennas_and_polarisations() {
        let routing = route("7:0x, 3:0y, 1:1a, 0:1b", &threads(&[0, 1, 3, 7]), 1).unwrap();
        assert_eq!((routing.inputs.antennas(), routing.inputs.pols()), (2, 2));
        assert_eq!(routing.names, ["thread 7", "thread 3", "thread 1", "thread 0"]);
        assert_eq!(routing.feeders, [[3], [2], [1], [0]]);
    }

    #[test]
    fn channels_become_antennas() {
        let routing = route("0.2:0,0.0:1,Ef/0.3:2", &threads(&[0]), 4).unwrap();
        assert_eq!((routing.inputs.len(), routing.channels, routing.whole_streams), (3, 1, false));
        assert_eq!(routing.targets[0][1], None);
        assert_eq!(routing.targets[0][3], Some(Target { channel: 0, input: 2 }));
        let routing = route("0.2:0x.1,0.0:0x.0", &threads(&[0]), 4).unwrap();
        assert_eq!(routing.targets[0][2], Some(Target { channel: 1, input: 0 }));
    }

    #[test]
    fn wrong_maps_say_what_is_wrong() {
        let streams = threads(&[0, 1]);
        for (map, part) in [
            ("", "found none"),
            ("0", "stream:antenna"),
            ("0:q", "antenna: expected a number"),
            ("0:0,0:1", "named twice"),
            ("0:0,1:0", "named 2"),
            ("0:0,2:1", "no stream 2"),
            ("0:0x,1:1y", "4 channels in all, the map names 2"),
            ("0:0.1", "not for the stream"),
            ("0.5:0", "below 1"),
            ("0:99999", "below 65536"),
            ("0.0:0.99999999999999999999,1:1", "number"),
            ("0.0:0.18446744073709551615,1:1", "in all"),
            ("0xzz/0:0", "hexadecimal"),
        ] {
            let error = route(map, &streams, 1).unwrap_err().to_string();
            assert!(error.contains(part) || (part == "named 2" && error.contains("names 2")), "{map}: {error}");
        }
        let mut both = threads(&[0]);
        both.push(Stream { station: Some(7), number: 0, name: "other".into(), default: (1, 0) });
        assert!(route("0:0", &both, 1).unwrap_err().to_string().contains("station/thread"));
        assert!(route("7/0:0,Ef/0:1", &both, 1).is_ok());
    }
}
