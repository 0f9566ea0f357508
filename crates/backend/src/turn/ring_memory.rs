//! Where the frames of a ring lie, and how they come to the GPUs that read them.

use std::ops::Range;
use std::sync::Arc;

use fringes_gpu::{Buffer, Device, Event, GpuError, SpannedBuffer, Stream};
use fringes_types::VoltageSample;

/// Memory of all shares, the first element of each so far from that of the share before.
#[derive(Debug)]
pub(super) enum RingMemory<V: VoltageSample> {
    /// Each share once, where it is read: whoever writes it does so over the link.
    Reached(Arc<SpannedBuffer<V>>),
    /// All shares on every device. What is read elsewhere is copied there.
    Copied(Copied<V>),
}

/// All shares on every device.
#[derive(Debug)]
pub(super) struct Copied<V: VoltageSample> {
    /// By share, where it is read.
    devices: Vec<Device>,
    /// Of every device once.
    places: Vec<Place<V>>,
    /// Elements of a share.
    length: usize,
}

/// What a device has.
#[derive(Debug)]
struct Place<V: VoltageSample> {
    device: Device,
    memory: Arc<Buffer<V>>,
    /// Copies to other devices.
    sending: Stream,
}

impl<V: VoltageSample> RingMemory<V> {
    /// Shares of `length` elements, one on each of the devices, which reach one another's memory.
    pub(super) fn reached(devices: &[Device], length: usize) -> Result<Self, GpuError> {
        Ok(Self::Reached(Arc::new(SpannedBuffer::alloc(devices, length)?)))
    }

    /// Shares of `length` elements, all on each of the devices.
    pub(super) fn copied(devices: &[Device], length: usize) -> Result<Self, GpuError> {
        let all = length.checked_mul(devices.len());
        let all = all.ok_or(GpuError::TooLarge { elements: length, element_bytes: size_of::<V>() })?;
        let mut places: Vec<Place<V>> = Vec::new();
        for device in devices {
            if places.iter().all(|known| !known.device.is_same(device)) {
                let memory = Arc::new(Buffer::alloc(device, all)?);
                places.push(Place { device: device.clone(), memory, sending: device.new_stream()? });
            }
        }
        Ok(Self::Copied(Copied { devices: devices.to_vec(), places, length }))
    }

    /// The devices, by share.
    pub(super) fn devices(&self) -> &[Device] {
        match self {
            Self::Reached(memory) => memory.devices(),
            Self::Copied(copied) => &copied.devices,
        }
    }

    /// Elements from the first of a share to that of the next.
    pub(super) fn spacing(&self) -> usize {
        match self {
            Self::Reached(memory) => memory.spacing(),
            Self::Copied(copied) => copied.length,
        }
    }

    /// What an F-engine of a device writes all shares to.
    pub(super) fn written_on(&self, device: &Device) -> Result<Buffer<V>, GpuError> {
        match self {
            Self::Reached(memory) => memory.all(device),
            Self::Copied(copied) => copied.on(device)?.memory.part(..),
        }
    }

    /// Elements of a share, where they are read.
    pub(super) fn read(&self, share: usize, elements: Range<usize>) -> Result<Buffer<V>, GpuError> {
        match self {
            Self::Reached(memory) => memory.buffer(share, elements),
            Self::Copied(copied) => copied.part(copied.device(share)?, share, &elements),
        }
    }

    /// Queues what brings some elements of every share, written by a stream, to those that read them elsewhere, and
    /// gives the event behind it; `None` where nothing is to be done.
    pub(super) fn send(&self, writing: &Stream, elements: &[Range<usize>]) -> Result<Option<Event>, GpuError> {
        let Self::Copied(copied) = self else { return Ok(None) };
        let from = copied.on(writing.device())?;
        let others: Vec<_> =
            copied.devices.iter().enumerate().filter(|(_, device)| !device.is_same(&from.device)).collect();
        if others.is_empty() {
            return Ok(None);
        }
        from.sending.wait_for(writing)?;
        for (share, device) in others {
            for some in elements {
                let (source, mut target) = (copied.part(&from.device, share, some)?, copied.part(device, share, some)?);
                target.view_mut().copy_across(&from.sending, source.view())?;
            }
        }
        let done = from.device.new_untimed_event()?;
        done.record(&from.sending)?;
        Ok(Some(done))
    }
}

impl<V: VoltageSample> Copied<V> {
    fn device(&self, share: usize) -> Result<&Device, GpuError> {
        let length = self.devices.len();
        self.devices.get(share).ok_or(GpuError::Range { start: share, end: share.saturating_add(1), length })
    }

    fn on(&self, device: &Device) -> Result<&Place<V>, GpuError> {
        let known = self.places.iter().find(|place| place.device.is_same(device));
        known.ok_or_else(|| {
            let labels: Vec<_> = self.places.iter().map(|place| place.device.info().index.to_string()).collect();
            let actual = device.info().index.to_string();
            GpuError::WrongDevice { what: "a ring of several devices", expected: labels.join(", "), actual }
        })
    }

    fn part(&self, device: &Device, share: usize, elements: &Range<usize>) -> Result<Buffer<V>, GpuError> {
        let first = share * self.length;
        self.on(device)?.memory.part(first + elements.start..first + elements.end)
    }
}
