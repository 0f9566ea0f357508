//! Samples held between chunks on a device, packed as they came, with the head of a chunk behind them: the rows that
//! [`Seam`] describes.

use fringes_backend::{DeviceSamples, Staging};
use fringes_gpu::{Buffer, BufferView, Device, Stream};
use fringes_types::{ChunkFormat, Inputs};

use super::kernels::WindowRows;
use crate::ChannelizerError;
use crate::internals::format::Numbers;
use crate::internals::samples::{SampleKernels, Span};
use crate::spectra::seam::{ChunkRows, MOST_MORE, Seam, Step, pad_bits};
use crate::spectra::tables;

/// Bits that rows are a multiple of.
const ROW_BITS: u64 = 128;

/// Rows of samples, those of now and those of the next chunk.
#[derive(Debug)]
pub(super) struct HeldRows {
    kernels: SampleKernels,
    seam: Seam,
    /// Those of now first.
    rows: [Buffer<u32>; 2],
    row_bits: u64,
    /// Where no chunk is.
    nothing: Buffer<u32>,
    tables: Staging,
}

/// What a chunk moves, and what is held afterwards.
#[derive(Debug)]
pub(super) struct Move {
    seam: Seam,
    step: Step,
    spans: usize,
    /// Bits of the longest.
    most_bits: u64,
    /// Bytes of pinned memory that they have.
    bytes: usize,
}

impl HeldRows {
    /// Nothing is held.
    pub(super) fn new(device: &Device, inputs: Inputs) -> Result<Self, ChannelizerError> {
        let none = || Buffer::alloc(device, 0);
        Ok(Self {
            kernels: SampleKernels::load(device)?,
            seam: Seam::new(inputs.len()),
            rows: [none()?, none()?],
            row_bits: 0,
            nothing: none()?,
            tables: Staging::default(),
        })
    }

    /// Bytes that rows have at most where up to `held` samples of each input are held, and up to `head` of a chunk come
    /// behind them: of both, and of two more while they become longer.
    pub(super) fn most_bytes(format: ChunkFormat, inputs: Inputs, held: u64, head: u64) -> u64 {
        let bits = u64::from(format.sample_bits());
        let samples = held.saturating_add(head).saturating_add(MOST_MORE);
        let row_bits = samples.saturating_mul(bits).saturating_add(pad_bits(bits));
        let row_bytes = row_bits.checked_next_multiple_of(ROW_BITS).unwrap_or(u64::MAX) / 8;
        let padding = 4 * DeviceSamples::PADDING_WORDS as u64;
        row_bytes.saturating_mul(inputs.len() as u64).saturating_add(padding).saturating_mul(4)
    }

    /// Bytes of both.
    pub(super) fn bytes(&self) -> u64 {
        self.rows.iter().map(|rows| rows.bytes() as u64).sum()
    }

    /// Forgets all samples.
    pub(super) fn reset(&mut self) {
        self.seam = self.seam.begin(0);
        // So that they are made anew with the next chunk.
        self.row_bits = 0;
        for rows in &mut self.rows {
            // Nothing is asked of the driver for no bytes.
            if let Ok(none) = Buffer::alloc(rows.device(), 0) {
                *rows = none;
            }
        }
    }

    /// Takes what a chunk needs: of each input samples from `keep` on are held afterwards, and the rows are read up to
    /// sample `read`. What is held stays as it is.
    pub(super) fn prepare(
        &mut self,
        stream: &Stream,
        chunk: ChunkRows,
        anew: bool,
        keep: i64,
        read: i64,
    ) -> Result<Move, ChannelizerError> {
        let seam = if anew { self.seam.begin(chunk.first) } else { self.seam.clone() };
        let step = seam.step(chunk, &vec![keep; seam.rows()], &vec![read; seam.rows()]);
        self.grow(stream, &seam, &step, chunk.sample_bits)?;
        let spans = step.spans(&seam, chunk, self.row_bits);
        let bytes = self.write(stream, &spans)?;
        Ok(Move { seam, step, spans: spans.len(), most_bits: longest(&spans), bytes })
    }

    /// Queues what a chunk moves, `samples` being its words.
    pub(super) fn run(
        &mut self,
        stream: &Stream,
        samples: BufferView<'_, u32>,
        moved: &Move,
    ) -> Result<(), ChannelizerError> {
        if moved.spans == 0 {
            return Ok(());
        }
        let [now, later] = &mut self.rows;
        let (held, rows) = ((now.view_mut(), later.view_mut()), (moved.spans, moved.most_bits));
        let tables = tables::written(&self.tables, moved.bytes)?;
        self.kernels.move_rows_of_pinned(stream, samples, held, rows, tables)
    }

    /// The rows of now, once that is queued: `times` samples from `first_sample` on.
    pub(super) fn windows(&self, moved: &Move, numbers: Numbers, first_sample: u64, times: usize) -> WindowRows<'_> {
        WindowRows {
            samples: self.rows[0].view(),
            inputs: moved.seam.rows(),
            row_bits: self.row_bits,
            first_bit: moved.seam.bit(0, first_sample as i64, numbers.sample_bits(), self.row_bits),
            first_sample,
            times,
            numbers,
        }
    }

    /// Bit of a sample of an input in the rows of now.
    pub(super) fn bit(&self, moved: &Move, input: usize, sample: i64, sample_bits: u64) -> u64 {
        moved.seam.bit(input, sample, sample_bits, self.row_bits)
    }

    /// The words of the rows of now.
    pub(super) fn words(&self) -> BufferView<'_, u32> {
        self.rows[0].view()
    }

    /// Takes what the next chunk finds held.
    pub(super) fn commit(&mut self, moved: Move) {
        self.rows.swap(0, 1);
        self.seam = moved.step.next;
    }

    /// Makes rows longer if they have to be.
    fn grow(&mut self, stream: &Stream, seam: &Seam, step: &Step, sample_bits: u64) -> Result<(), ChannelizerError> {
        if step.row_bits <= self.row_bits {
            return Ok(());
        }
        let row_bits = step.row_bits.next_multiple_of(ROW_BITS);
        let words = seam.rows().saturating_mul((row_bits / 32) as usize).saturating_add(DeviceSamples::PADDING_WORDS);
        let mut rows = [Buffer::zeroed(stream, words)?, Buffer::zeroed(stream, words)?];
        if seam.samples() > 0 {
            let spans = seam.moved(sample_bits, self.row_bits, row_bits);
            let bytes = self.write(stream, &spans)?;
            let (tables, most) = (tables::written(&self.tables, bytes)?, longest(&spans));
            let held = (self.rows[0].view_mut(), rows[0].view_mut());
            let nothing = self.nothing.view();
            self.kernels.move_rows_of_pinned(stream, nothing, held, (spans.len(), most), tables)?;
        }
        (self.rows, self.row_bits) = (rows, row_bits);
        Ok(())
    }

    /// Writes spans to pinned memory; says how many bytes they are.
    fn write(&mut self, stream: &Stream, spans: &[Span]) -> Result<usize, ChannelizerError> {
        if spans.is_empty() {
            return Ok(0);
        }
        tables::write(&mut self.tables, stream.device(), spans, &[])
    }
}

/// Bits of the longest span.
fn longest(spans: &[Span]) -> u64 {
    spans.iter().map(|span| span.bits()).max().unwrap_or(0)
}
