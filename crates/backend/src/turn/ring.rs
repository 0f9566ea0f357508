//! The corner turn without a pass of its own: F-engines write where X-engines read, or beside that what is copied
//! there.

use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use fringes_gpu::{Buffer, Device, Event, GpuError, Stream};
use fringes_types::{Frequencies, Heaps, Inputs, SpectrumClock, TypesError, VoltageSample};
use ndarray::{Array2, s};

use crate::device_array::Holder;
use crate::turn::TurnError;
use crate::turn::ring_memory::RingMemory;
use crate::{DeviceArray, DeviceHeaps};

/// The last frames of all antennas, each GPU with its share of the channels.
///
/// ```text
/// F-engines                          memory                              X-engines
/// GPU 0: antennas 0..3 ──┬──> GPU 0: channels 0..4, antennas 0..5 ──> GPU 0
/// GPU 1: antennas 3..5 ──┴──> GPU 1: channels 4..8, antennas 0..5 ──> GPU 1
/// ```
///
/// There are two ways from an F-engine's GPU to another:
///
/// - [`TurnRing::new`]: F-engines of all GPUs write every share where it is read, over the link between the GPUs, and
///   nothing is copied. The F-engine waits for the link where that is slower.
/// - [`TurnRing::with_copies`]: they write on their own GPU, and frames that are complete are copied from there to
///   where they are read, beside the next ones' F-engine. A GPU has memory for all shares, not for its own alone. What
///   a GPU reads itself is not copied.
///
/// Frame `f` lies at place `f mod frames`, `[place][antenna][channel][spectrum][pol]` in each GPU's memory; frames are
/// counted from sample 0. Shares are even, a power of two of channels each. An F-engine that writes is
/// `FEngine::into_turn`; what it gives for its antennas, of all of them at once, is turned by [`TurnRing::take`].
///
/// # Order
/// A frame is written when what was read at its place is read, which the GPUs wait for, not the host. While
/// [`TurnedFrames`] or the heaps of a frame are there, its place is not free: an F-engine that would write there is
/// told so ([`TurnError::Occupied`]). An F-engine writes the frames of its chunk and one that is not complete: four
/// times the frames of a chunk let F- and X-engines of all GPUs go on without waiting for each other.
///
/// Clones are the same ring.
#[derive(Debug, Clone)]
pub struct TurnRing<V: VoltageSample> {
    shared: Arc<Shared<V>>,
}

#[derive(Debug)]
struct Shared<V: VoltageSample> {
    memory: RingMemory<V>,
    /// By share.
    streams: Vec<Streams>,
    inputs: Inputs,
    channels: usize,
    spectra: usize,
    frames: usize,
    state: Mutex<State>,
}

/// A share's. One by itself would have frames that are read wait for those that come.
#[derive(Debug)]
struct Streams {
    /// Waits for frames.
    arriving: Stream,
    /// Waits for what reads them.
    leaving: Stream,
}

#[derive(Debug, Default)]
struct State {
    next: u64,
    /// Frames that somebody has.
    lent: Vec<(u64, Range<u64>)>,
    /// Frames that nobody has any more, and when they are read.
    read: Vec<(Range<u64>, Event)>,
}

/// Keeps frames from being written over.
#[derive(Debug)]
struct Lease<V: VoltageSample> {
    shared: Arc<Shared<V>>,
    number: u64,
}

impl<V: VoltageSample> Lease<V> {
    fn new(shared: &Arc<Shared<V>>, frames: Range<u64>) -> Self {
        let mut state = shared.state();
        let number = state.next;
        state.next += 1;
        state.lent.push((number, frames));
        Self { shared: shared.clone(), number }
    }
}

impl<V: VoltageSample> Drop for Lease<V> {
    fn drop(&mut self) {
        self.shared.state().lent.retain(|(number, _)| *number != self.number);
    }
}

/// How the shares of channels lie in a [`TurnRing`], for kernels.
#[doc(hidden)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RingShape {
    /// Antennas of all F-engines.
    pub antennas: usize,
    /// Channels of a share.
    pub channels_of_share: usize,
    /// Frames that there are places for.
    pub frames: usize,
    /// Elements from share to share.
    pub spacing: usize,
}

/// Frames that an F-engine has written to a [`TurnRing`], for its antennas. Dropped, others may be written there once
/// what has taken them is dropped too.
#[derive(Debug)]
pub struct TurnedFrames<V: VoltageSample> {
    lease: Lease<V>,
    frames: Range<u64>,
    antennas: Range<usize>,
    device: Device,
    written: Event,
    /// Behind the copies to other devices, if there are any.
    sent: Option<Event>,
    presence: Option<Array2<bool>>,
    clock: SpectrumClock,
    frequencies: Frequencies,
}

impl<V: VoltageSample> TurnedFrames<V> {
    /// Numbers of the frames, counted from sample 0.
    #[must_use]
    pub fn frames(&self) -> Range<u64> {
        self.frames.clone()
    }

    /// The antennas.
    #[must_use]
    pub fn antennas(&self) -> Range<usize> {
        self.antennas.clone()
    }

    /// Flags `[frame][antenna]`, if any is absent.
    #[must_use]
    pub fn presence(&self) -> Option<&Array2<bool>> {
        self.presence.as_ref()
    }

    /// Time axis.
    #[must_use]
    pub fn clock(&self) -> SpectrumClock {
        self.clock
    }

    /// What is behind that they are where a device reads them.
    fn there_on(&self, device: &Device) -> &Event {
        if self.device.is_same(device) { &self.written } else { self.sent.as_ref().unwrap_or(&self.written) }
    }
}

/// What is known of frames beside where they lie.
#[doc(hidden)]
#[derive(Debug, Clone)]
pub struct TurnedHeader {
    /// Flags `[frame][antenna]`, if any is absent.
    pub presence: Option<Array2<bool>>,
    /// Time axis.
    pub clock: SpectrumClock,
    /// All channels.
    pub frequencies: Frequencies,
}

/// Heaps of some frames; when they are dropped, the frames are free once they are read.
#[derive(Debug)]
struct Taken<V: VoltageSample> {
    /// Always there until it is dropped.
    array: Option<DeviceArray<'static, V>>,
    empty: DeviceArray<'static, V>,
    leaving: Stream,
    frames: Range<u64>,
    lease: Lease<V>,
}

impl<V: VoltageSample> Holder<V> for Taken<V> {
    fn held(&self) -> &DeviceArray<'static, V> {
        self.array.as_ref().unwrap_or(&self.empty)
    }
}

impl<V: VoltageSample> Drop for Taken<V> {
    fn drop(&mut self) {
        // The stream waits for what reads them.
        drop(self.array.take());
        let event =
            self.leaving.device().new_untimed_event().and_then(|event| event.record(&self.leaving).map(|()| event));
        match event {
            Ok(event) => self.lease.shared.state().read.push((self.frames.clone(), event)),
            Err(_) => {
                if let Err(error) = self.leaving.synchronize() {
                    tracing::error!(%error, "work that reads turned frames cannot be waited for");
                }
            }
        }
    }
}

impl<V: VoltageSample> TurnRing<V> {
    /// Places for `frames` frames of so many spectra of all `inputs`, `channels / devices` channels on each device.
    ///
    /// # Errors
    /// [`TurnError::Shares`] unless shares are a power of two of channels, [`TurnError::NoFrames`] for no frames or
    /// spectra, [`TurnError::Types`] for a size that no memory has, [`TurnError::Device`] where a device does not reach
    /// another's memory, and with what the driver says.
    ///
    /// ```no_run
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use fringes_backend::TurnRing;
    /// use fringes_gpu::Device;
    /// use fringes_types::{Complex, Inputs};
    ///
    /// // 24 frames of 256 spectra of five antennas; channels 0..2048 on GPU 0, 2048..4096 on GPU 1.
    /// let devices = [Device::open(0)?, Device::open(1)?];
    /// let ring = TurnRing::<Complex<i8>>::new(&devices, Inputs::new(5, 2)?, 4096, 256, 24)?;
    /// assert_eq!(ring.channels_of(1), 2048..4096);
    /// # Ok(())
    /// # }
    /// ```
    pub fn new(
        devices: &[Device],
        inputs: Inputs,
        channels: usize,
        spectra: usize,
        frames: usize,
    ) -> Result<Self, TurnError> {
        Self::in_memory(devices, inputs, [channels, spectra, frames], RingMemory::reached)
    }

    /// The same for frames that are copied to the GPUs that read them.
    ///
    /// # Errors
    /// As [`TurnRing::new`]; GPUs that do not reach one another's memory copy through the host.
    pub fn with_copies(
        devices: &[Device],
        inputs: Inputs,
        channels: usize,
        spectra: usize,
        frames: usize,
    ) -> Result<Self, TurnError> {
        Self::in_memory(devices, inputs, [channels, spectra, frames], RingMemory::copied)
    }

    fn in_memory(
        devices: &[Device],
        inputs: Inputs,
        [channels, spectra, frames]: [usize; 3],
        alloc: impl FnOnce(&[Device], usize) -> Result<RingMemory<V>, GpuError>,
    ) -> Result<Self, TurnError> {
        let shares = devices.len();
        if shares == 0 || !channels.is_multiple_of(shares) || !(channels / shares).is_power_of_two() {
            return Err(TurnError::Shares { channels, shares });
        }
        if frames == 0 || spectra == 0 {
            return Err(TurnError::NoFrames);
        }
        let of_share = [frames, inputs.len(), channels / shares, spectra];
        let elements = of_share.into_iter().try_fold(1usize, usize::checked_mul);
        let too_large = || TypesError::TooLarge { array: "turned frames", elements: format!("{of_share:?}") };
        let memory = alloc(devices, elements.ok_or_else(too_large)?)?;
        let streams = |device: &Device| -> Result<_, GpuError> {
            Ok(Streams { arriving: device.new_stream()?, leaving: device.new_stream()? })
        };
        let streams = devices.iter().map(streams).collect::<Result<_, _>>()?;
        let state = Mutex::default();
        Ok(Self { shared: Arc::new(Shared { memory, streams, inputs, channels, spectra, frames, state }) })
    }

    /// The devices, by share.
    #[must_use]
    pub fn devices(&self) -> &[Device] {
        self.shared.memory.devices()
    }

    /// Antennas and polarisations of all F-engines.
    #[must_use]
    pub fn inputs(&self) -> Inputs {
        self.shared.inputs
    }

    /// Channels of all shares.
    #[must_use]
    pub fn channels(&self) -> usize {
        self.shared.channels
    }

    /// Spectra of a frame.
    #[must_use]
    pub fn spectra_per_frame(&self) -> usize {
        self.shared.spectra
    }

    /// Places for frames.
    #[must_use]
    pub fn frames(&self) -> usize {
        self.shared.frames
    }

    /// Channels of a share.
    #[must_use]
    pub fn channels_of(&self, share: usize) -> Range<usize> {
        let each = self.shared.channels / self.shared.streams.len();
        share * each..(share + 1) * each
    }

    /// How shares lie.
    #[doc(hidden)]
    #[must_use]
    pub fn shape(&self) -> RingShape {
        let Shared { memory, streams, inputs, channels, frames, .. } = &*self.shared;
        RingShape {
            antennas: inputs.antennas(),
            channels_of_share: channels / streams.len(),
            frames: *frames,
            spacing: memory.spacing(),
        }
    }

    /// Has a stream wait for what reads what is where frames are to be written.
    ///
    /// # Errors
    /// [`TurnError::Occupied`] where somebody has a frame that lies there; [`TurnError::Device`] with what the driver
    /// says.
    #[doc(hidden)]
    pub fn for_writing(&self, stream: &Stream, frames: Range<u64>) -> Result<(), TurnError> {
        let places = self.shared.frames as u64;
        let mut state = self.shared.state();
        let occupied =
            state.lent.iter().find(|(_, lent)| overlaps(lent, &frames, places)).map(|(_, lent)| lent.clone());
        if frames.end - frames.start > places || occupied.is_some() {
            let lent = occupied.unwrap_or_else(|| frames.clone());
            return Err(TurnError::Occupied { wanted: frames, lent, places: self.shared.frames });
        }
        for (_, event) in state.read.iter().filter(|(read, _)| overlaps(read, &frames, places)) {
            stream.wait(event)?;
        }
        // Others wait for those that are not done; an error comes again.
        state.read.retain(|(_, event)| !event.is_done().unwrap_or(false));
        Ok(())
    }

    /// What an F-engine of a device writes frames of all shares to, those that [`TurnRing::for_writing`] was asked for.
    ///
    /// # Errors
    /// [`TurnError::Device`] for a device that has no share.
    #[doc(hidden)]
    pub fn memory_on(&self, device: &Device) -> Result<Buffer<V>, TurnError> {
        Ok(self.shared.memory.written_on(device)?)
    }

    /// Frames that are written by what a stream was given so far.
    #[doc(hidden)]
    pub fn written(
        &self,
        stream: &Stream,
        frames: Range<u64>,
        antennas: Range<usize>,
        header: TurnedHeader,
    ) -> Result<TurnedFrames<V>, TurnError> {
        let written = stream.device().new_untimed_event()?;
        written.record(stream)?;
        let sent = self.shared.memory.send(stream, &self.shared.elements(&frames, &antennas))?;
        let device = stream.device().clone();
        let TurnedHeader { presence, clock, frequencies } = header;
        let lease = Lease::new(&self.shared, frames.clone());
        Ok(TurnedFrames { lease, frames, antennas, device, written, sent, presence, clock, frequencies })
    }

    /// A share's channels of all antennas, of what the F-engines gave, in order of antennas: one piece, or two where
    /// the ring begins anew. They lie on the share's device; what reads them waits (on the device) for the F-engines.
    ///
    /// # Errors
    /// [`TurnError::NoFrames`]; [`TurnError::Ranks`] for a share that there is not; [`TurnError::Shape`] for antennas
    /// that nobody gave; [`TurnError::Axis`] for frames of another time or other frequencies, out of the order of
    /// antennas, or of another ring; [`TurnError::Device`] with what the driver says.
    pub fn take(&self, share: usize, parts: &[&TurnedFrames<V>]) -> Result<Vec<DeviceHeaps<'static, V>>, TurnError> {
        let Shared { streams, inputs, spectra, frames: places, memory, .. } = &*self.shared;
        let Some(first) = parts.first() else { return Err(TurnError::NoFrames) };
        let Some(Streams { arriving, leaving }) = streams.get(share) else {
            let actual = share.saturating_add(1);
            return Err(TurnError::Ranks { what: "shares of channels", expected: streams.len(), actual });
        };
        let mut next = 0;
        for (part, of) in parts.iter().enumerate() {
            let ring = Arc::ptr_eq(&of.lease.shared, &self.shared);
            for (what, same, expected, actual) in [
                ("ring", ring, "the one that is asked".into(), "another".into()),
                ("antennas", of.antennas.start == next, format!("from {next} on"), format!("{:?}", of.antennas)),
                ("frames", of.frames == first.frames, format!("{:?}", first.frames), format!("{:?}", of.frames)),
                ("clock", of.clock == first.clock, format!("{:?}", first.clock), format!("{:?}", of.clock)),
                (
                    "frequencies",
                    of.frequencies == first.frequencies,
                    format!("{:?}", first.frequencies),
                    format!("{:?}", of.frequencies),
                ),
            ] {
                if !same {
                    return Err(TurnError::Axis { part, what, expected, actual });
                }
            }
            next = of.antennas.end;
        }
        if next != inputs.antennas() {
            let (part, expected) = (parts.len() - 1, inputs.antennas());
            return Err(TurnError::Shape { part, what: "antennas up to them", expected, actual: next });
        }
        parts.iter().try_for_each(|part| arriving.wait(part.there_on(arriving.device())))?;
        let channels = self.channels_of(share);
        let frame = inputs.len() * channels.len() * spectra;
        let first_hz = first.frequencies.channel_hz(channels.start);
        let frequencies = Frequencies { first_hz, ..first.frequencies };
        let (mut heaps, mut from, count) = (Vec::new(), 0, (first.frames.end - first.frames.start) as usize);
        while from < count {
            let number = first.frames.start + from as u64;
            let place = (number % *places as u64) as usize;
            let some = (count - from).min(places - place);
            let lease = Lease::new(&self.shared, number..number + some as u64);
            let buffer = memory.read(share, place * frame..(place + some) * frame)?;
            let empty = DeviceArray::from(memory.read(share, 0..0)?);
            let there = arriving.device().new_untimed_event()?;
            there.record(arriving)?;
            let array = Some(DeviceArray::from(buffer).written_at(there, leaving));
            let frames = number..number + some as u64;
            let taken = Arc::new(Taken { array, empty, leaving: leaving.clone(), frames, lease });
            let part = DeviceArray::part(taken, 0..some * frame)?;
            let clock = SpectrumClock { first_sample: first.clock.sample_of(from * spectra), ..first.clock };
            let piece = Heaps::from_array(part, some, *inputs, channels.len(), *spectra)?;
            let piece = piece.with_clock(clock)?.with_frequencies(frequencies)?;
            heaps.push(match presence(parts, from..from + some, inputs.antennas()) {
                None => piece,
                Some(flags) => piece.with_presence(flags)?,
            });
            from += some;
        }
        Ok(heaps)
    }
}

/// Flags `[frame][antenna]` of some frames of all parts, if any is absent.
fn presence<V: VoltageSample>(
    parts: &[&TurnedFrames<V>],
    frames: Range<usize>,
    antennas: usize,
) -> Option<Array2<bool>> {
    let mut flags = Array2::from_elem((frames.len(), antennas), true);
    for part in parts {
        if let Some(of_part) = &part.presence {
            flags.slice_mut(s![.., part.antennas.clone()]).assign(&of_part.slice(s![frames.clone(), ..]));
        }
    }
    flags.iter().any(|&there| !there).then_some(flags)
}

/// Whether different frames of two ranges have one place.
fn overlaps(one: &Range<u64>, other: &Range<u64>, places: u64) -> bool {
    // Frames of `one` at the places of frame `f`: those that differ by a whole number of turns.
    other.clone().any(|frame| {
        let ahead = (frame % places + places - one.start % places) % places;
        let mut at = one.start.saturating_add(ahead);
        while at < one.end {
            if at != frame {
                return true;
            }
            at = at.saturating_add(places);
        }
        false
    })
}

impl<V: VoltageSample> Shared<V> {
    /// Elements of a share that some antennas of some frames have, which lie one after the other in each frame.
    fn elements(&self, frames: &Range<u64>, antennas: &Range<usize>) -> Vec<Range<usize>> {
        let of_antenna = self.channels / self.streams.len() * self.spectra * self.inputs.pols();
        let first = |frame: u64| (frame % self.frames as u64) as usize * self.inputs.antennas();
        let of_frame = |first: usize| (first + antennas.start) * of_antenna..(first + antennas.end) * of_antenna;
        frames.clone().map(|frame| of_frame(first(frame))).collect()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_have_one_place_when_they_differ_by_whole_turns() {
        // (Against all pairs of frames.)
        let slow = |one: &Range<u64>, other: &Range<u64>, places: u64| {
            one.clone().any(|a| other.clone().any(|b| a != b && a % places == b % places))
        };
        let mut both = [0; 2];
        for places in [1, 3, 4] {
            for (start, length, other, others) in (0..12).flat_map(|start| {
                (0..4).flat_map(move |length| {
                    (0..12).flat_map(move |other| (0..4).map(move |l| (start, length, other, l)))
                })
            }) {
                let (one, other) = (start..start + length, other..other + others);
                assert_eq!(overlaps(&one, &other, places), slow(&one, &other, places), "{one:?} {other:?} {places}");
                both[usize::from(overlaps(&one, &other, places))] += 1;
            }
        }
        assert!(both.iter().all(|&seen| seen > 100));
    }

    #[test]
    fn shares_are_even_and_a_power_of_two_of_channels() {
        let inputs = Inputs::new(3, 2).unwrap();
        type Ring = TurnRing<fringes_types::Complex<i8>>;
        let error = Ring::new(&[], inputs, 4096, 256, 8).unwrap_err();
        assert_eq!(error, TurnError::Shares { channels: 4096, shares: 0 });
        assert_eq!(Ring::with_copies(&[], inputs, 4096, 256, 8).unwrap_err(), error);
        assert_eq!(error.to_string(), "4096 channels in 0 shares: expected shares of a power of two of channels each");
    }
}
