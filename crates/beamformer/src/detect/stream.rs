//! Detection of chunk after chunk.

use fringes_cpu::beamformer::{ChannelSums, products_into};
use fringes_types::{Beams, DetectedBeams, Detection, Frequencies, SpectrumClock, VoltageSample};
use ndarray::{Array4, ArrayView3, Axis, s};

use super::{whole_sums, with_counts};
use crate::BeamformerError;
use crate::counts::{SummedCounts, paired};
use crate::masked_counts::{MaskedCounts, Summed};

/// Detects beams of chunks that follow each other: [`detect`](crate::detect) with sums that go on from one chunk to the
/// next. What comes out are whole sums alone, and the same bits however the stream is cut.
///
/// ```
/// use fringes_beamformer::DetectStream;
/// use fringes_types::{Beams, Complex, DetectedProducts, Detection, Frequencies, SpectrumClock};
/// use ndarray::Array3;
///
/// let mut stream = DetectStream::new(Detection::new(DetectedProducts::Power, 8, 1)?);
/// let mut sums = 0;
/// for chunk in 0..4 {
///     let clock = SpectrumClock { first_sample: 5 * chunk, ..SpectrumClock::default() };
///     let beams = Beams::new(Array3::from_elem((2, 5, 3), Complex::new(1f32, 1.0)), Frequencies::default(), clock)?;
///     sums += stream.push(&beams)?.times();
/// }
/// assert_eq!((sums, stream.pending()), (2, 4)); // 20 spectra
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct DetectStream {
    detection: Detection,
    axes: Option<Axes>,
    /// Of each channel.
    sums: Vec<ChannelSums>,
    counts: SummedCounts,
    masked: MaskedCounts,
}

/// What all chunks have in common.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Axes {
    pub(crate) channels: usize,
    pub(crate) beams: usize,
    pub(crate) frequencies: Frequencies,
    /// Of the spectrum that comes next.
    pub(crate) clock: SpectrumClock,
}

impl DetectStream {
    /// A stream that has seen nothing.
    pub fn new(detection: Detection) -> Self {
        let (counts, masked) = (SummedCounts::default(), MaskedCounts::default());
        Self { detection, axes: None, sums: Vec::new(), counts, masked }
    }

    /// How beams are detected.
    pub fn detection(&self) -> &Detection {
        &self.detection
    }

    /// Spectra of the sum under way.
    pub fn pending(&self) -> usize {
        self.sums.first().map_or(0, ChannelSums::spectra)
    }

    /// Forgets the sum under way and what chunks look like: the next chunk may be any.
    pub fn reset(&mut self) {
        *self = Self::new(self.detection);
    }

    /// The sums that a chunk completes; none of a chunk that completes none. On an error the stream stays as it was.
    ///
    /// # Precision
    /// As [`detect`](crate::detect).
    ///
    /// # Errors
    /// [`TypesError::Multiple`](fringes_types::TypesError::Multiple) for channels or polarisations that are no whole
    /// number of sums, [`BeamformerError::Continuation`] for a chunk of another shape or with other axes than those
    /// before, or that does not begin where the one before ended ([`DetectStream::reset`] begins anew).
    pub fn push<V: VoltageSample>(&mut self, beams: &Beams<V>) -> Result<DetectedBeams<f32>, BeamformerError> {
        let groups = self.detection.channels_of(beams.channels())?;
        let count = self.detection.beams_of(beams.beams())?;
        let (frequencies, clock) = (beams.frequencies(), beams.clock());
        let found = Axes { channels: beams.channels(), beams: beams.beams(), frequencies, clock };
        let mut axes = Axes::continued(self.axes, found)?;
        if self.sums.is_empty() {
            self.sums = vec![ChannelSums::new(self.detection.products(), count); beams.channels()];
        }
        let pending = self.pending();
        let clock = axes.sums_clock(&self.detection, pending)?;
        axes.clock.first_sample = axes.clock.sample_of(beams.times());
        self.axes = Some(axes);
        let spectra = [pending, beams.times(), self.detection.times()];
        let pols = self.detection.products().pols();
        let counts = beams.input_counts().map(|counts| paired(counts, pols)).transpose()?;
        let counts = self.counts.sum(counts.as_ref(), spectra)?;
        let chunk = Summed { channels: beams.channels(), times: beams.times(), clock: beams.clock(), pending };
        let masked = self.masked.sum(beams.mask(), chunk, &self.detection)?;

        let frequencies = self.detection.frequencies(axes.frequencies);
        let data = self.sum(beams.data(), pending, [groups, count])?;
        let detected = DetectedBeams::new(data, self.detection.products(), frequencies, clock)?;
        with_counts(detected, counts, masked)
    }

    /// Sums spectra onto `pending` ones.
    fn sum<V: VoltageSample>(
        &mut self,
        data: ArrayView3<'_, V>,
        pending: usize,
        [groups, count]: [usize; 2],
    ) -> Result<Array4<f32>, BeamformerError> {
        let (times, n) = (data.len_of(Axis(1)), self.detection.times());
        let head = if pending == 0 { 0 } else { (n - pending).min(times) };
        let body = (times - head) / n * n;
        self.add(data.slice(s![.., ..head, ..]));
        let first = (pending + head == n).then(|| self.finish(groups, count));
        let whole = whole_sums(data.slice(s![.., head..head + body, ..]), &self.detection)?;
        self.add(data.slice(s![.., head + body.., ..]));
        Ok(match first {
            Some(first) => {
                let (groups, sums, beams, products) = whole.dim();
                let mut all = Array4::zeros((groups, 1 + sums, beams, products));
                all.slice_mut(s![.., ..1, .., ..]).assign(&first);
                all.slice_mut(s![.., 1.., .., ..]).assign(&whole);
                all
            }
            None => whole,
        })
    }

    fn add<V: VoltageSample>(&mut self, data: ArrayView3<'_, V>) {
        if data.len_of(Axis(1)) > 0 {
            self.sums.iter_mut().zip(data.outer_iter()).for_each(|(sums, spectra)| sums.add(spectra));
        }
    }

    /// The sum under way, which is whole, `[channel][1][beam][product]`.
    fn finish(&mut self, groups: usize, count: usize) -> Array4<f32> {
        let products = self.detection.products();
        let mut out = Array4::zeros((groups, 1, count, products.count()));
        let mut total = vec![0.0; count * products.count()];
        for (mut out, sums) in out.outer_iter_mut().zip(self.sums.chunks_mut(self.detection.channels())) {
            total.fill(0.0);
            sums.iter_mut().for_each(|sums| sums.finish_into(&mut total));
            if let Some(out) = out.as_slice_mut() {
                products_into(products, &total, out);
            }
        }
        out
    }
}

impl Axes {
    /// The axes of a stream at the start of a chunk with axes `found`, if the chunk goes on with those `before`.
    pub(crate) fn continued(before: Option<Self>, found: Self) -> Result<Self, BeamformerError> {
        let Some(axes) = before else { return Ok(found) };
        let of = |axes: &Self| {
            [
                ("channels", axes.channels.to_string()),
                ("beams", axes.beams.to_string()),
                ("frequencies", format!("{:?}", axes.frequencies)),
                ("samples between spectra", axes.clock.samples_between_spectra.to_string()),
                ("sample rate in Hz", axes.clock.sample_rate_hz.to_string()),
                ("first sample", axes.clock.first_sample.to_string()),
            ]
        };
        match of(&axes).into_iter().zip(of(&found)).find(|(expected, actual)| expected != actual) {
            Some(((quantity, expected), (_, actual))) => {
                Err(BeamformerError::Continuation { quantity, expected, actual })
            }
            None => Ok(axes),
        }
    }

    /// The clock of sums whose first one began `pending` spectra before.
    pub(crate) fn sums_clock(&self, detection: &Detection, pending: usize) -> Result<SpectrumClock, BeamformerError> {
        let back = (pending as u64).wrapping_mul(self.clock.samples_between_spectra);
        let summed = detection.clock(self.clock)?;
        Ok(SpectrumClock { first_sample: self.clock.first_sample.wrapping_sub(back), ..summed })
    }
}
