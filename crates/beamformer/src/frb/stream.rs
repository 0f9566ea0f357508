//! The chain for chunks of any number of times.

use fringes_backend::Backend;
use fringes_types::VoltageSample;
use ndarray::{Array2, Array5, ArrayView2, ArrayView5, Axis, concatenate, s};

use super::builder::check_shape;
use super::run::Place;
use crate::{BeamformerError, FrbBeams, FrbPowers, FrbVoltages};

/// [`frb_beams`](crate::frb_beams) of voltages that come in chunks of any number of times. What is left of an
/// unfinished sum is kept for the next chunk. What comes out are whole sums alone, and the same bits however the stream
/// is cut. Kernels are loaded with the first chunk.
///
/// ```
/// use fringes_backend::Backend;
/// use fringes_beamformer::{FrbBeams, FrbStream, FrbVoltages};
/// use fringes_types::Complex;
/// use ndarray::{Array3, Array4, Array5};
///
/// let gains = Array4::from_elem((1, 1, 1, 64), Complex::new(1f32, 0.0));
/// let matrix = Array3::from_elem((1, 1, 1), Complex::new(1f32, 0.0));
/// let beams = FrbBeams::builder(gains, matrix, 64).upchannelisation(16).blocks(2).build()?;
/// let mut stream = FrbStream::new(Backend::cpu(), beams);
/// let mut sums = 0;
/// for _ in 0..5 {
///     let chunk = FrbVoltages::new(Array5::from_elem((20, 1, 1, 1, 64), Complex::new(1i8, 0)))?;
///     sums += stream.push(&chunk, None)?.data.dim().2;
/// }
/// assert_eq!((sums, stream.pending()), (3, 4)); // 100 times
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct FrbStream<V: VoltageSample> {
    backend: Backend,
    beams: FrbBeams,
    /// Times of the sum under way.
    kept: Array5<V>,
    /// Whether the whole blocks among them are good, `[frequency][block]`.
    kept_mask: Array2<bool>,
    /// Where the chain runs, once there was a chunk.
    place: Option<Place<V>>,
}

impl<V: VoltageSample> FrbStream<V> {
    /// A stream that has seen nothing.
    pub fn new(backend: Backend, beams: FrbBeams) -> Self {
        let kept = Array5::from_shape_simple_fn(
            (0, beams.frequencies(), beams.pols(), beams.lines(), beams.feeds()),
            V::zeroed,
        );
        let kept_mask = Array2::from_elem((beams.frequencies(), 0), true);
        Self { backend, beams, kept, kept_mask, place: None }
    }

    /// The beams.
    pub fn beams(&self) -> &FrbBeams {
        &self.beams
    }

    /// Times of the sum under way.
    pub fn pending(&self) -> usize {
        self.kept.dim().0
    }

    /// Blocks that the next chunk of so many times ends: those that its mask is of.
    pub fn blocks_ended_by(&self, times: usize) -> usize {
        let (length, pending) = (self.beams.upchannelisation(), self.pending());
        (pending % length).saturating_add(times) / length
    }

    /// Forgets the sum under way: the next chunk begins a new one.
    pub fn reset(&mut self) {
        self.kept = self.kept.slice(s![..0, .., .., .., ..]).to_owned();
        self.kept_mask = self.kept_mask.slice(s![.., ..0]).to_owned();
    }

    /// The sums that a chunk completes; none of a chunk that completes none. `mask` is true for good blocks,
    /// `[frequency][block]`, of the [`FrbStream::blocks_ended_by`] this chunk: a block that began in a chunk before is
    /// judged with the chunk that ends it. On an error the stream stays as it was.
    ///
    /// # Errors
    /// As [`frb_beams`](crate::frb_beams), but for the number of times.
    pub fn push(
        &mut self,
        voltages: &FrbVoltages<'_, V>,
        mask: Option<ArrayView2<'_, bool>>,
    ) -> Result<FrbPowers, BeamformerError> {
        voltages.check(&self.beams)?;
        let (sum_times, blocks) = (self.beams.sum_times(), self.beams.blocks());
        let ended = self.blocks_ended_by(voltages.times());
        if let Some(mask) = mask {
            check_shape("mask [frequency][block]", &[self.beams.frequencies(), ended], mask.shape())?;
        }
        let good = Array2::from_elem((self.beams.frequencies(), ended), true);
        let mask = join(Axis(1), &[self.kept_mask.view(), mask.unwrap_or(good.view())])?;
        let place = match self.place.take() {
            Some(place) => place,
            None => Place::of(&self.backend, &self.beams)?,
        };
        let place = self.place.insert(place).clone();
        let sums = |voltages: ArrayView5<'_, V>, mask: ArrayView2<'_, bool>| {
            place.run(&self.backend, &self.beams, voltages, Some(mask))
        };
        let data = voltages.data();
        // Times of this chunk that complete the sum under way, and those of the sums after it.
        let missing = if self.pending() == 0 { 0 } else { sum_times - self.pending() };
        let (first, whole) = if data.dim().0 < missing {
            (data.dim().0, 0)
        } else {
            (missing, (data.dim().0 - missing) / sum_times * sum_times)
        };
        let mut parts = Vec::new();
        let joined = join(Axis(0), &[self.kept.view(), data.slice(s![..first, .., .., .., ..])])?;
        let mut done = 0;
        if joined.dim().0 == sum_times {
            parts.push(sums(joined.view(), mask.slice(s![.., ..blocks]))?);
            done = blocks;
        }
        let then = data.slice(s![first..first + whole, .., .., .., ..]);
        let its_blocks = whole / self.beams.upchannelisation();
        parts.push(sums(then, mask.slice(s![.., done..done + its_blocks]))?);
        let powers: Vec<_> = parts.iter().map(|part| part.data.view()).collect();
        let good: Vec<_> = parts.iter().map(|part| part.good_blocks.view()).collect();
        let powers = FrbPowers { data: join(Axis(2), &powers)?, good_blocks: join(Axis(1), &good)? };
        let rest = data.slice(s![first + whole.., .., .., .., ..]);
        self.kept = if joined.dim().0 < sum_times { join(Axis(0), &[joined.view(), rest])? } else { rest.to_owned() };
        self.kept_mask = mask.slice(s![.., done + its_blocks..]).to_owned();
        Ok(powers)
    }
}

/// Arrays of shapes that have been checked, one after the other.
fn join<T: Clone, D: ndarray::RemoveAxis>(
    axis: Axis,
    parts: &[ndarray::ArrayView<'_, T, D>],
) -> Result<ndarray::Array<T, D>, BeamformerError> {
    concatenate(axis, parts).map_err(|_| {
        let elements = format!("{:?}", parts.iter().map(|part| part.shape().to_vec()).collect::<Vec<_>>());
        fringes_types::TypesError::TooLarge { array: "parts of a stream", elements }.into()
    })
}
