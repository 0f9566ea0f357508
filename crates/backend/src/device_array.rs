//! Elements in device memory, whoever owns it, and in which order of streams they are there.

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use bytemuck::Pod;
use fringes_gpu::{Buffer, BufferView, Device, Event, Stream};
use fringes_types::LinearArray;

use crate::DeviceError;

/// An array in device memory: the memory of a chunk that lies on a device.
///
/// | memory | made by |
/// |---|---|
/// | of its own, or of a pool | `DeviceArray::from(buffer)` |
/// | borrowed | `DeviceArray::from(view)`; views of `cudarc` and `cust` are such |
/// | of other software, by its address | [`DeviceArray::from_foreign`] |
/// | a part of what others have too | [`batches_of`](crate::batches_of) |
///
/// # Order
/// An array says on which stream it was written ([`DeviceArray::written_on`], or [`DeviceArray::written_now`]): an
/// operation on another stream waits for that one (on the device), and the memory goes back to its pool only when the
/// operation is done with it. Without a stream, what comes is there already; a pool's memory is to be said with the
/// stream that it was taken for, since it goes back in that stream's order.
///
/// Work on another device may read an array as well ([`DeviceArray::read_from`]), in the same order.
///
/// # Foreign memory
/// Memory that this library did not allocate is asked about every time it is used ([`Device::check_memory`]): memory
/// that was freed, is another device's or ends early is an error before anything is launched.
#[derive(Debug)]
pub struct DeviceArray<'a, T: Pod> {
    // Dropped before the memory: what still reads it is waited for (on the device) before a pool has it back.
    readers: Readers,
    memory: Memory<'a, T>,
    /// Elements of the memory before the first one.
    ahead: usize,
    is_foreign: bool,
}

#[derive(Debug)]
enum Memory<'a, T: Pod> {
    Owned(Buffer<T>),
    Borrowed(BufferView<'a, T>),
    /// Elements of an array, which says in which order they are there and who reads them.
    Part(Arc<dyn Holder<T>>, Range<usize>),
}

/// What has an array for as long as it lives.
pub(crate) trait Holder<T: Pod>: std::fmt::Debug + Send + Sync {
    /// The array.
    fn held(&self) -> &DeviceArray<'static, T>;
}

/// The stream that wrote an array, and the ends of what reads it on others.
#[derive(Debug, Default)]
struct Readers {
    writer: Option<Stream>,
    /// Recorded on it when the elements were written. Without it, all that the stream was given counts.
    written: Option<Event>,
    others: Mutex<Vec<(Stream, Event)>>,
}

impl Drop for Readers {
    fn drop(&mut self) {
        let others = self.others.get_mut().unwrap_or_else(PoisonError::into_inner);
        for (stream, event) in others.drain(..) {
            // Without a writer there is no stream of the memory's that could wait: then the host does.
            let waited = match &self.writer {
                Some(writer) => writer.wait(&event).or_else(|_| stream.synchronize()),
                None => event.synchronize(),
            };
            if let Err(error) = waited {
                tracing::error!(%error, "work that reads an array of a device cannot be waited for");
            }
        }
    }
}

impl<T: Pod> From<Buffer<T>> for DeviceArray<'_, T> {
    fn from(buffer: Buffer<T>) -> Self {
        Self { readers: Readers::default(), memory: Memory::Owned(buffer), ahead: 0, is_foreign: false }
    }
}

impl<'a, T: Pod> From<BufferView<'a, T>> for DeviceArray<'a, T> {
    fn from(view: BufferView<'a, T>) -> Self {
        Self { readers: Readers::default(), memory: Memory::Borrowed(view), ahead: 0, is_foreign: false }
    }
}

impl<'a, T: Pod> DeviceArray<'a, T> {
    /// Elements that other software owns: a view of them that [`BufferView::from_raw`] made.
    ///
    /// # Errors
    /// [`DeviceError::Gpu`] as [`Device::check_memory`].
    pub fn from_foreign(view: BufferView<'a, T>) -> Result<Self, DeviceError> {
        view.device().check_memory(view.address(), view.bytes())?;
        Ok(Self { readers: Readers::default(), memory: Memory::Borrowed(view), ahead: 0, is_foreign: true })
    }

    /// Elements of an array that others have too. Its order is theirs: what reads the part reads the array.
    ///
    /// # Errors
    /// [`DeviceError::Gpu`] if there are not so many.
    pub(crate) fn part(whole: Arc<dyn Holder<T>>, range: Range<usize>) -> Result<Self, DeviceError> {
        whole.held().view().slice(range.clone())?;
        Ok(Self { readers: Readers::default(), memory: Memory::Part(whole, range), ahead: 0, is_foreign: false })
    }

    /// The array that a part is of.
    fn whole(&self) -> Option<&DeviceArray<'static, T>> {
        match &self.memory {
            Memory::Part(whole, _) => Some(whole.held()),
            Memory::Owned(_) | Memory::Borrowed(_) => None,
        }
    }

    /// The elements behind the first `count`, with the same memory.
    ///
    /// # Errors
    /// [`DeviceError::Gpu`] if there are not so many.
    pub fn without_first(mut self, count: usize) -> Result<Self, DeviceError> {
        self.view().slice(count..)?;
        self.ahead += count;
        Ok(self)
    }

    /// Says which stream writes the elements: work on another one waits for all that this one was given so far.
    #[must_use]
    pub fn written_on(mut self, stream: &Stream) -> Self {
        self.readers.writer = Some(stream.clone());
        self.readers.written = None;
        self
    }

    /// Says that all which writes the elements was queued on a stream: work on another one waits for what this one was
    /// given before, and for nothing that comes later. On a stream that is captured into a graph as
    /// [`DeviceArray::written_on`].
    ///
    /// # Errors
    /// [`DeviceError::Gpu`] with what the driver says.
    pub fn written_now(self, stream: &Stream) -> Result<Self, DeviceError> {
        let mut array = self.written_on(stream);
        if !stream.is_capturing()? {
            let written = stream.device().new_untimed_event()?;
            written.record(stream)?;
            array.readers.written = Some(written);
        }
        Ok(array)
    }

    /// Says behind which event the elements are there, and which stream waits for those that read them when they are
    /// dropped.
    pub(crate) fn written_at(self, written: Event, leaving: &Stream) -> Self {
        let mut array = self.written_on(leaving);
        array.readers.written = Some(written);
        array
    }

    /// The stream that writes the elements, if it was said.
    #[must_use]
    pub fn writer(&self) -> Option<&Stream> {
        self.readers.writer.as_ref().or_else(|| self.whole()?.writer())
    }

    /// All elements, to be read.
    #[must_use]
    pub fn view(&self) -> BufferView<'_, T> {
        let all = self.all();
        // Inside, as `without_first` looked.
        all.slice(self.ahead..).unwrap_or(all)
    }

    /// All of the memory.
    fn all(&self) -> BufferView<'_, T> {
        match &self.memory {
            Memory::Owned(buffer) => buffer.view(),
            Memory::Borrowed(view) => *view,
            Memory::Part(whole, range) => {
                let all = whole.held().view();
                // Inside, as `part` looked.
                all.slice(range.clone()).unwrap_or(all)
            }
        }
    }

    /// The device whose memory it is.
    #[must_use]
    pub fn device(&self) -> &Device {
        match &self.memory {
            Memory::Owned(buffer) => buffer.device(),
            Memory::Borrowed(view) => view.device(),
            Memory::Part(whole, _) => whole.held().device(),
        }
    }

    /// The buffer, if the array owns its memory and has all of it. Order among streams is the caller's from here on.
    #[must_use]
    pub fn into_buffer(self) -> Option<Buffer<T>> {
        match self.memory {
            Memory::Owned(buffer) if self.ahead == 0 => Some(buffer),
            Memory::Owned(_) | Memory::Borrowed(_) | Memory::Part(..) => None,
        }
    }

    /// The elements for work on `stream`, which waits (on the device) for what writes them.
    /// [`DeviceArray::reads_queued`] is called when the work is queued.
    ///
    /// # Errors
    /// [`DeviceError::WrongDevice`] if the stream is another device's; [`DeviceError::Gpu`] for foreign memory that is
    /// not there any more.
    pub fn read_on(&self, stream: &Stream) -> Result<BufferView<'_, T>, DeviceError> {
        let device = self.device();
        if !device.is_same(stream.device()) {
            return Err(DeviceError::wrong_device(stream.device(), device));
        }
        self.read_from(stream)
    }

    /// As [`DeviceArray::read_on`] for a copy on `stream`, which may be another device's. Of an array that says no
    /// writer, dropping waits for such copies on the host.
    ///
    /// # Errors
    /// [`DeviceError::Gpu`] for foreign memory that is not there any more, and with what the driver says.
    pub fn read_from(&self, stream: &Stream) -> Result<BufferView<'_, T>, DeviceError> {
        let (view, device) = (self.view(), self.device());
        if let Some(whole) = self.whole() {
            whole.read_from(stream)?;
        }
        if self.is_foreign {
            device.check_memory(view.address(), view.bytes())?;
        }
        match (&self.readers.writer, &self.readers.written) {
            (Some(writer), Some(written)) if !writer.is_same(stream) => stream.wait(written)?,
            (Some(writer), None) => stream.wait_for(writer)?,
            _ => {}
        }
        Ok(view)
    }

    /// Says that work which reads the elements was queued on `stream`: the memory stays what it is until that is done.
    ///
    /// # Errors
    /// [`DeviceError::Gpu`] with what the driver says.
    pub fn reads_queued(&self, stream: &Stream) -> Result<(), DeviceError> {
        if let Some(whole) = self.whole() {
            return whole.reads_queued(stream);
        }
        let is_ordered = match &self.readers.writer {
            Some(writer) => writer.is_same(stream),
            None => stream.device().is_same(self.device()),
        };
        if is_ordered {
            return Ok(());
        }
        let mut others = self.readers.others.lock().unwrap_or_else(PoisonError::into_inner);
        match others.iter().find(|(known, _)| known.is_same(stream)) {
            Some((_, event)) => event.record(stream)?,
            None => {
                let event = stream.device().new_untimed_event()?;
                event.record(stream)?;
                others.push((stream.clone(), event));
            }
        }
        Ok(())
    }

    /// All elements in host memory, when they are there.
    ///
    /// # Errors
    /// [`DeviceError::Gpu`] with what the driver says, a failure of the work that writes them among it.
    pub fn to_vec(&self) -> Result<Vec<T>, DeviceError> {
        let stream = self.writer().cloned().unwrap_or_else(|| self.device().default_stream());
        Ok(self.read_on(&stream)?.to_vec(&stream)?)
    }
}

impl<T: Pod> LinearArray<T> for DeviceArray<'_, T> {
    fn len(&self) -> usize {
        self.view().len()
    }
}
