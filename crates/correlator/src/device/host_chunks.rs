//! Chunks on the host and in pinned memory: cut into pieces that go to the device one after the other, each correlated
//! while others come.

use std::ops::Range;

use fringes_backend::{DeviceError, PinnedArray, Workspace, copy_rows};
use fringes_gpu::{Buffer, Event, Stream};
use fringes_types::{BaselineOrder, VoltageSample, row_times};
use ndarray::{Array2, ArrayView2, ArrayView5, ArrayViewMut3, ArrayViewMut4, ArrayViewMut5, Zip, s};

use super::DeviceSums;
use super::arriving::Arriving;
use super::pieces::{
    Cutting, Granule, PIECE_BYTES, PINNED_PIECE_BYTES, Piece, cut, cut_by, pieces, pieces_by_channels, step_times,
};
use crate::CorrelatorError;
use crate::chunk::{Description, HostView, Layout, Place};
use crate::kernels::Work;
use crate::layout::{HeapShape, VoltageShape, row_bytes};

/// Largest distance of rows that the driver copies as such.
const MAX_PITCH: usize = i32::MAX as usize;

/// Where the samples of a piece come from.
enum Source<'a, V: VoltageSample> {
    /// Standard layout in pinned memory.
    Pinned(&'a PinnedArray<V>),
    /// Standard layout.
    Linear(&'a [V]),
    /// Written to pinned memory element by element.
    Any(&'a dyn Fn(&Piece, &mut [V])),
}

/// Which elements of a standard array a piece has: rows of `width` that begin `pitch` apart, from `first` on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Region {
    first: usize,
    width: usize,
    pitch: usize,
    rows: usize,
}

impl Region {
    fn len(&self) -> usize {
        self.width * self.rows
    }

    /// As many elements in one row, if there is nothing between the rows.
    fn joined(self) -> Self {
        if self.pitch == self.width || self.rows == 1 {
            Self { width: self.len(), pitch: self.len(), rows: 1, ..self }
        } else {
            self
        }
    }
}

/// Sizes of a chunk.
#[derive(Debug, Clone, Copy)]
struct Sizes {
    channels: usize,
    times: usize,
    antennas: usize,
    pols: usize,
}

impl Sizes {
    fn inputs(&self) -> usize {
        self.antennas * self.pols
    }

    /// Where a piece lies in an array of a layout.
    fn region<V: VoltageSample>(&self, layout: Layout, piece: &Piece) -> Region {
        let (span, inputs) = (&piece.span, self.inputs());
        let of_channels = |one: usize, all: usize| Region {
            first: piece.channels.start * all + span.start * one,
            width: span.len() * one,
            pitch: all,
            rows: piece.channels.len(),
        };
        let region = match layout {
            Layout::Voltages => of_channels(inputs, self.times * inputs),
            Layout::Rows => {
                let row = row_times(V::FORMAT);
                of_channels(inputs * row, self.times.div_ceil(row) * inputs * row)
            }
            Layout::Heaps { spectra } => {
                let heap = spectra * self.pols;
                let pitch = self.channels * heap;
                Region {
                    first: span.start * self.antennas * pitch + piece.channels.start * heap,
                    width: piece.channels.len() * heap,
                    pitch,
                    rows: span.len() * self.antennas,
                }
            }
        };
        region.joined()
    }
}

/// A piece of device memory, the stream that fills it, and when it is free. Slots are kept from chunk to chunk, so that
/// the first copy of one does not wait for the products of the last piece before.
#[derive(Debug)]
pub(super) struct Slot<V> {
    samples: Option<Buffer<V>>,
    copies: Stream,
    copied: Event,
    used: Event,
    is_used: bool,
}

impl<V> Drop for Slot<V> {
    fn drop(&mut self) {
        // The memory goes back to the pool in the order of the stream that it was taken for.
        if self.is_used
            && let Err(error) = self.copies.wait(&self.used).or_else(|_| self.used.synchronize())
        {
            tracing::error!(%error, "work that reads a piece of device memory cannot be waited for");
        }
    }
}

impl<V: VoltageSample> DeviceSums<V> {
    /// Adds the products of the spectra `range` of a chunk; flags are those of its layout, of the whole chunk. Returns
    /// when the array may be used again.
    pub(crate) fn add_host_chunk(
        &mut self,
        about: &Description<'_>,
        place: &Place<'_, V>,
        range: Range<usize>,
    ) -> Result<(), CorrelatorError> {
        self.add_from_host(about, place, range, None)
    }

    /// Correlates the spectra `range` of a chunk alone, onto sums that are zero, and takes them to the host: channels
    /// that are complete while others come, where they can be.
    pub(crate) fn correlate_host_chunk(
        &mut self,
        about: &Description<'_>,
        place: &Place<'_, V>,
        range: Range<usize>,
        order: BaselineOrder,
    ) -> Result<Array2<V::Accumulator>, CorrelatorError> {
        let mut dump = Arriving::new(self.channels, order.len(self.inputs), order)?;
        self.add_from_host(about, place, range, Some(&mut dump))?;
        if dump.is_sent(self.channels) {
            self.zero()?;
            return dump.into_array();
        }
        let array = dump.into_array()?;
        self.take_into(order, array)
    }

    /// Adds the products of the spectra `range` of a chunk, and sends the dump of what is complete.
    fn add_from_host(
        &mut self,
        about: &Description<'_>,
        place: &Place<'_, V>,
        range: Range<usize>,
        dump: Option<&mut Arriving<V>>,
    ) -> Result<(), CorrelatorError> {
        let (layout, presence) = (about.layout, about.presence);
        let (antennas, pols) = (about.inputs.antennas(), about.inputs.pols());
        let sizes = Sizes { channels: about.channels, times: about.times, antennas, pols };
        let row = row_times(V::FORMAT);
        let inputs = sizes.inputs();
        let (granule, span) = match layout {
            Layout::Voltages => (Granule::new::<V>(row, inputs), range.clone()),
            Layout::Rows => (Granule::new::<V>(row, inputs), range.start / row..range.end.div_ceil(row)),
            Layout::Heaps { spectra } => {
                (Granule::new::<V>(spectra, inputs), range.start / spectra..range.end / spectra)
            }
        };
        if range.is_empty() {
            return Ok(());
        }
        let granules = if layout == Layout::Voltages { span.len().div_ceil(row) } else { span.len() };
        let fits = granule.times <= step_times(V::FORMAT);
        let most_bytes = if matches!(place, Place::Pinned(_)) { PINNED_PIECE_BYTES } else { PIECE_BYTES };
        let cutting = cut_by(most_bytes, granule, sizes.channels, granules, self.sums.parts() > 1, self.limit);
        let cutting = cutting.filter(|_| fits);
        let Some(cutting) = cutting else {
            let Layout::Heaps { spectra } = layout else {
                let (needed, limit) = (granule.smallest_memory(), self.limit.unwrap_or(u64::MAX));
                return Err(DeviceError::MemoryLimit { operation: "correlation", needed, limit }.into());
            };
            // Heaps too long for one launch or for the memory: in the order of time, which can be cut anywhere.
            return match place.on_host(about)? {
                Some(HostView::Heaps(heaps)) => self.add_long_heaps(heaps, sizes, spectra, span, presence),
                _ => Ok(()), // Heaps on the host are of their layout.
            };
        };
        let view = match place {
            Place::Host(view) => Some(*view),
            Place::Pinned(_) | Place::Device(_) => None,
        };
        let gather = |piece: &Piece, to: &mut [V]| {
            if let Some(view) = &view {
                gather(view, piece, to);
            }
        };
        let source = match place {
            Place::Pinned(array) => Source::Pinned(array),
            Place::Host(view) => view.as_slice().map_or(Source::Any(&gather), Source::Linear),
            Place::Device(array) => return self.add_device_chunk(about, array, range),
        };
        // Channels one after the other need the flags of a time for each of them, sums in parts are of all channels,
        // and pinned memory for dumps is none that a limit counts.
        let has_flags = layout == Layout::Voltages && presence.is_some();
        let dump = dump.filter(|_| self.sums.parts() == 1 && self.limit.is_none() && !has_flags);
        self.stream_pieces(&source, layout, sizes, cutting, span, &range, presence, dump)
    }

    /// Heaps that are longer than a step, batch by batch as voltages.
    fn add_long_heaps(
        &mut self,
        heaps: ArrayView5<'_, V>,
        sizes: Sizes,
        spectra: usize,
        batches: Range<usize>,
        presence: Option<ArrayView2<'_, bool>>,
    ) -> Result<(), CorrelatorError> {
        let granule = Granule::new::<V>(row_times(V::FORMAT), sizes.inputs());
        let granules = spectra.div_ceil(granule.times);
        let Some(cutting) = cut(granule, sizes.channels, granules, self.sums.parts() > 1, self.limit) else {
            let (needed, limit) = (granule.smallest_memory(), self.limit.unwrap_or(u64::MAX));
            return Err(DeviceError::MemoryLimit { operation: "correlation of heaps", needed, limit }.into());
        };
        for batch in batches {
            let absent = |antenna: usize| presence.is_some_and(|flags| !flags[(batch, antenna)]);
            let gather = |piece: &Piece, to: &mut [V]| {
                let (channels, span) = (piece.channels.clone(), piece.span.clone());
                let shape = (channels.len(), span.len(), sizes.antennas, sizes.pols);
                let Ok(mut to) = ArrayViewMut4::from_shape(shape, to) else { return };
                let from = heaps.slice(s![batch, .., channels, span, ..]).permuted_axes([1, 2, 0, 3]);
                Zip::from(&mut to).and(&from).par_for_each(|to, from| *to = *from);
                for antenna in (0..sizes.antennas).filter(|&antenna| absent(antenna)) {
                    to.slice_mut(s![.., .., antenna, ..]).fill(V::zeroed());
                }
            };
            let one = Sizes { times: spectra, ..sizes };
            let span = 0..spectra;
            self.stream_pieces(&Source::Any(&gather), Layout::Voltages, one, cutting, span.clone(), &span, None, None)?;
        }
        Ok(())
    }

    /// Sends pieces one after the other and correlates each; sends the dump of channels, if it is wanted, after the
    /// last of their pieces.
    #[allow(clippy::too_many_arguments, reason = "what a chunk is, where it comes from and how it is cut")]
    fn stream_pieces(
        &mut self,
        source: &Source<'_, V>,
        layout: Layout,
        sizes: Sizes,
        cutting: Cutting,
        span: Range<usize>,
        range: &Range<usize>,
        presence: Option<ArrayView2<'_, bool>>,
        mut dump: Option<&mut Arriving<V>>,
    ) -> Result<(), CorrelatorError> {
        let device = self.device().clone();
        let mut workspace = Workspace::of(&device)?;
        let mut slots = std::mem::take(&mut self.slots);
        if slots.len() != cutting.slots {
            slots.clear();
            for copies in workspace.copies.iter().cycle().take(cutting.slots) {
                let (copies, copied, used) = (copies.clone(), device.new_untimed_event()?, device.new_event()?);
                slots.push(Slot { samples: None, copies, copied, used, is_used: false });
            }
        }
        let row = row_times(V::FORMAT);
        let step = if layout == Layout::Voltages { cutting.granules * row } else { cutting.granules };
        // Flags of the times of a piece, until times change.
        let mut flags: Option<(Range<usize>, Buffer<u8>)> = None;
        let (channels, end) = (sizes.channels, span.end);
        let in_order: &mut dyn Iterator<Item = Piece> = match dump {
            Some(_) => &mut pieces_by_channels(channels, span, cutting.channels, step),
            None => &mut pieces(channels, span, cutting.channels, step),
        };
        for piece in in_order {
            // The one that was used longest ago.
            slots.rotate_left(1);
            let Some(slot) = slots.last_mut() else { break };
            let copies = slot.copies.clone();
            let region = sizes.region::<V>(layout, &piece);
            if slot.is_used {
                copies.wait(&slot.used)?;
            }
            let small = slot.samples.as_ref().is_none_or(|held| held.len() < region.len());
            if small {
                slot.samples = None;
            }
            let samples = match &mut slot.samples {
                Some(held) => held,
                none => none.insert(self.pool.take::<V>(&copies, region.len())?),
            };
            send(source, &piece, region, &mut workspace, &copies, samples)?;
            slot.copied.record(&copies)?;
            self.stream.wait(&slot.copied)?;
            slot.is_used = true;
            if let Some(presence) = presence.filter(|_| layout == Layout::Voltages)
                && flags.as_ref().is_none_or(|(known, _)| *known != piece.span)
            {
                let of_piece = presence.slice(s![piece.span.clone(), ..]);
                flags = Some((piece.span.clone(), self.send_flags(of_piece)?));
            }
            let flags = flags.as_ref().map(|(_, flags)| flags);
            match layout {
                Layout::Voltages => self.add_piece_of_voltages(&piece, sizes, slot, flags)?,
                Layout::Rows => {
                    let times = range.start.max(piece.span.start * row)..range.end.min(piece.span.end * row);
                    let first = piece.span.start * row;
                    let work = Work::rows(piece.channels.len(), piece.span.len() * row);
                    let work = work.part(times.start - first..times.end - first);
                    if let Some(samples) = &slot.samples {
                        self.add(&piece.channels, &work, samples.view())?;
                    }
                    slot.used.record(&self.stream)?;
                }
                Layout::Heaps { spectra } => self.add_piece_of_heaps(&piece, sizes, spectra, slot, presence)?,
            }
            if let Some(dump) = dump.as_deref_mut().filter(|_| piece.span.end == end) {
                self.send_dump(&piece.channels, &mut workspace, dump)?;
            }
        }
        self.slots = slots;
        match dump {
            Some(dump) => dump.land_all(&mut workspace.read_staging),
            None => Ok(()),
        }
    }

    /// Packs a piece of voltages and correlates its rows: the slot is free when it is packed.
    fn add_piece_of_voltages(
        &mut self,
        piece: &Piece,
        sizes: Sizes,
        slot: &Slot<V>,
        flags: Option<&Buffer<u8>>,
    ) -> Result<(), CorrelatorError> {
        let (channels, times, inputs) = (piece.channels.len(), piece.span.len(), sizes.inputs());
        let shape = VoltageShape { channels, times, inputs };
        let mut rows = self.pool.take::<u8>(&self.stream, row_bytes::<V>(channels, times, inputs)?)?;
        if let Some(samples) = &slot.samples {
            let flags = flags.map(Buffer::view);
            self.pack.pack(&self.stream, shape, 0..times, samples.view(), flags, &mut rows.view_mut())?;
        }
        slot.used.record(&self.stream)?;
        self.add(&piece.channels, &Work::rows(channels, times), rows.view().cast()?)
    }

    /// Correlates a piece of heaps, as they are if there are kernels for that, else by their rows.
    fn add_piece_of_heaps(
        &mut self,
        piece: &Piece,
        sizes: Sizes,
        spectra: usize,
        slot: &mut Slot<V>,
        presence: Option<ArrayView2<'_, bool>>,
    ) -> Result<(), CorrelatorError> {
        let (channels, batches) = (piece.channels.len(), piece.span.len());
        let shape = HeapShape { batches, antennas: sizes.antennas, channels, spectra, pols: sizes.pols };
        let presence = presence.map(|flags| flags.slice_move(s![piece.span.clone(), ..]));
        if self.kernels.takes_heaps() {
            let heap = channels * spectra * sizes.pols;
            if let (Some(flags), Some(samples)) = (presence, &mut slot.samples) {
                for absent in runs(flags.iter().map(|&present| !present)) {
                    samples.slice_mut(absent.start * heap..absent.end * heap)?.zero(&self.stream)?;
                }
            }
            if let Some(samples) = &slot.samples {
                self.add(&piece.channels, &Work::heaps(channels, batches, spectra), samples.view())?;
            }
            return Ok(slot.used.record(&self.stream)?);
        }
        let flags = match presence.filter(|flags| flags.iter().any(|&present| !present)) {
            Some(flags) => Some(self.send_flags(flags)?),
            None => None,
        };
        let times = batches * spectra;
        let mut rows = self.pool.take::<u8>(&self.stream, row_bytes::<V>(channels, times, sizes.inputs())?)?;
        if let Some(samples) = &slot.samples {
            let flags = flags.as_ref().map(Buffer::view);
            self.pack.pack_heaps(&self.stream, shape, 0..times, samples.view(), flags, &mut rows.view_mut())?;
        }
        slot.used.record(&self.stream)?;
        self.add(&piece.channels, &Work::rows(channels, times), rows.view().cast()?)
    }
}

/// Queues the copy of a piece to the device. Returns when the host's array is not needed any more, or is pinned.
fn send<V: VoltageSample>(
    source: &Source<'_, V>,
    piece: &Piece,
    region: Region,
    workspace: &mut Workspace,
    copies: &Stream,
    samples: &mut Buffer<V>,
) -> Result<(), CorrelatorError> {
    let mut samples = samples.slice_mut(..region.len())?;
    let Region { first, width, pitch, rows } = region;
    let bytes = |elements: usize| elements * size_of::<V>();
    if let Source::Pinned(array) = source {
        if rows == 1 {
            samples.copy_from_pinned(copies, array.buffer(), first..first + width)?;
        } else if bytes(pitch) <= MAX_PITCH {
            samples.copy_rows_from_pinned(copies, array.buffer(), first, pitch, width, rows)?;
        } else {
            for row in 0..rows {
                let mut to = samples.reborrow().slice(row * width..(row + 1) * width)?;
                let start = first + row * pitch;
                to.copy_from_pinned(copies, array.buffer(), start..start + width)?;
            }
        }
        return Ok(());
    }
    let pinned = workspace.staging.next(copies.device(), bytes(region.len()))?;
    let to = &mut pinned.as_mut_slice()?[..bytes(region.len())];
    match source {
        Source::Linear(elements) => {
            let from: &[u8] = bytemuck::cast_slice(&elements[first..]);
            copy_rows(from, bytes(pitch), bytes(width), to);
        }
        // Pinned memory begins at a page.
        Source::Any(gather) => gather(piece, bytemuck::cast_slice_mut(to)),
        Source::Pinned(_) => {}
    }
    Ok(samples.cast::<u8>()?.copy_from_pinned(copies, pinned, ..bytes(region.len()))?)
}

/// Writes a piece of an array of any strides in standard layout.
fn gather<V: VoltageSample>(view: &HostView<'_, V>, piece: &Piece, to: &mut [V]) {
    let (channels, span) = (piece.channels.clone(), piece.span.clone());
    // Lengths fit: the region of a piece is of this shape.
    match view {
        HostView::Voltages(voltages) => {
            let from = voltages.slice(s![channels, span, ..]);
            if let Ok(mut to) = ArrayViewMut3::from_shape(from.dim(), to) {
                Zip::from(&mut to).and(&from).par_for_each(|to, from| *to = *from);
            }
        }
        HostView::Rows(rows) => {
            let from = rows.slice(s![channels, span, .., ..]);
            if let Ok(mut to) = ArrayViewMut4::from_shape(from.dim(), to) {
                Zip::from(&mut to).and(&from).par_for_each(|to, from| *to = *from);
            }
        }
        HostView::Heaps(heaps) => {
            let from = heaps.slice(s![span, .., channels, .., ..]);
            if let Ok(mut to) = ArrayViewMut5::from_shape(from.dim(), to) {
                Zip::from(&mut to).and(&from).par_for_each(|to, from| *to = *from);
            }
        }
    }
}

/// Ranges of what is true, as long as they can be.
fn runs(flags: impl Iterator<Item = bool>) -> Vec<Range<usize>> {
    let mut runs: Vec<Range<usize>> = Vec::new();
    for (index, _) in flags.enumerate().filter(|(_, flag)| *flag) {
        match runs.last_mut() {
            Some(run) if run.end == index => run.end = index + 1,
            _ => runs.push(index..index + 1),
        }
    }
    runs
}

#[cfg(test)]
mod tests {
    use fringes_types::Complex;
    use ndarray::{Array3, Array4, Array5, Axis};

    use super::*;

    #[test]
    fn runs_are_as_long_as_they_can_be() {
        let of = |flags: &[u8]| runs(flags.iter().map(|&flag| flag == 1));
        assert_eq!(of(&[0, 1, 1, 0, 1]), [1..3, 4..5]);
        assert_eq!(of(&[1, 1, 0, 1]), [0..2, 3..4]);
        assert_eq!(of(&[]), []);
        assert_eq!(of(&[0, 0]), []);
    }

    /// The elements of a region.
    fn elements(all: &[Complex<i8>], region: Region) -> Vec<Complex<i8>> {
        let mut to = vec![Complex::default(); region.len()];
        let size = size_of::<Complex<i8>>();
        let from: &[u8] = bytemuck::cast_slice(&all[region.first..]);
        copy_rows(from, region.pitch * size, region.width * size, bytemuck::cast_slice_mut(&mut to));
        to
    }

    type View<'a> = HostView<'a, Complex<i8>>;

    /// Pieces from element 1 of the span on, of a standard array and of the same one in another layout.
    fn check<'a>(sizes: Sizes, layout: Layout, end: usize, view: View<'a>, other: View<'a>) {
        let all = view.as_slice().unwrap();
        for (channel_step, span_step) in [(5, end), (5, 3), (2, end), (2, 3), (1, 1), (1, end)] {
            let mut total = 0;
            for piece in pieces(5, 1..end, channel_step, span_step) {
                let region = sizes.region::<Complex<i8>>(layout, &piece);
                let copied = elements(all, region);
                for view in [&view, &other] {
                    let mut gathered = vec![Complex::default(); region.len()];
                    gather(view, &piece, &mut gathered);
                    assert!(gathered == copied, "{layout:?}, {piece:?}");
                }
                total += region.len();
            }
            assert_eq!(total, all.len() / end * (end - 1));
        }
    }

    /// Pieces of every layout: what is copied from standard layout is what is gathered, from any other layout as well.
    #[test]
    fn regions_are_what_pieces_have() {
        let value = |index: usize| Complex::new((index % 251) as u8 as i8, (index / 251) as u8 as i8);
        let sizes = Sizes { channels: 5, times: 300, antennas: 3, pols: 2 };
        let mut count = 0..;
        let mut next = || value(count.next().unwrap_or(0));
        let voltages = Array3::from_shape_simple_fn((5, 300, 6), &mut next);
        let rows = Array4::from_shape_simple_fn((5, 5, 6, 64), &mut next);
        let heaps = Array5::from_shape_simple_fn((10, 3, 5, 30, 2), &mut next);
        // The same values with times fastest in memory, which are gathered.
        let mut turned = Array3::from_elem((6, 5, 300), Complex::default());
        turned.assign(&voltages.view().permuted_axes([2, 0, 1]));
        let turned = turned.view().permuted_axes([1, 2, 0]);
        assert!(turned.as_slice().is_none());
        check(sizes, Layout::Voltages, 300, HostView::Voltages(voltages.view()), HostView::Voltages(turned));
        check(sizes, Layout::Rows, 5, HostView::Rows(rows.view()), HostView::Rows(rows.view()));
        check(sizes, Layout::Heaps { spectra: 30 }, 10, HostView::Heaps(heaps.view()), HostView::Heaps(heaps.view()));
        assert_eq!(heaps.len_of(Axis(0)), 10);
    }

    #[test]
    fn what_lies_together_is_one_row() {
        let sizes = Sizes { channels: 4, times: 100, antennas: 2, pols: 1 };
        let of = |layout, channels: Range<usize>, span: Range<usize>| {
            sizes.region::<Complex<i8>>(layout, &Piece { channels, span })
        };
        let one = Region { first: 200, width: 400, pitch: 400, rows: 1 };
        assert_eq!(of(Layout::Voltages, 1..3, 0..100), one);
        let part = Region { first: 220, width: 100, pitch: 200, rows: 2 };
        assert_eq!(of(Layout::Voltages, 1..3, 10..60), part);
        let batches = Region { first: 2 * 2 * 4 * 10, width: 3 * 2 * 4 * 10, pitch: 3 * 2 * 4 * 10, rows: 1 };
        assert_eq!(of(Layout::Heaps { spectra: 10 }, 0..4, 2..5), batches);
    }
}
