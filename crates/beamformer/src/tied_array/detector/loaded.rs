//! The kernels of detected beams on a device, and what their work takes.

use fringes_backend::Staging;
use fringes_gpu::{Buffer, BufferPool, BufferView, Stream};
use fringes_interference::internals::{MaskQueue, PartMasks, PlacedMask};
use fringes_kernel_abi::tied_array::Output;
use fringes_types::{Detection, Inputs, VoltageSample};

use super::super::kernels::{self, Former, Out, Part, Place, Summer, Sums, paired_gains};
use super::Carried;
use crate::packing::{product, row_count, row_elements};
use crate::{BeamformerError, IncoherentBeams, IncoherentKernels, TiedArrayBeams};

/// Kernels on a device.
#[derive(Debug)]
pub(super) struct Loaded<V> {
    pub(super) former: Former<V>,
    incoherent: IncoherentOnDevice<V>,
    summer: Summer,
    pub(super) stream: Stream,
    pub(super) pool: BufferPool,
    pub(super) staging: Staging,
    masks: PartMasks<V>,
    /// Nothing is counted.
    none: Buffer<u64>,
}

/// How incoherent beams are made on a device.
#[derive(Debug)]
struct IncoherentOnDevice<V> {
    /// Gains of the one that the kernel of the powers makes, of the same samples; empty if it makes none.
    gains: Buffer<[f32; 2]>,
    /// By a kernel of their own, that reads the rows again.
    apart: Option<IncoherentKernels<V>>,
}

impl<V: VoltageSample> IncoherentOnDevice<V> {
    fn load(
        stream: &Stream,
        former: &Former<V>,
        set: Option<&IncoherentBeams>,
        inputs: Inputs,
    ) -> Result<Self, BeamformerError> {
        let none = || Ok::<_, BeamformerError>(Buffer::zeroed(stream, 0)?);
        let Some(set) = set else { return Ok(Self { gains: none()?, apart: None }) };
        if set.gains().nrows() == 1 && former.takes_incoherent() {
            let gains = Buffer::from_slice(stream, &paired_gains(set.gains().row(0)))?;
            return Ok(Self { gains, apart: None });
        }
        let apart = Some(IncoherentKernels::load(stream.device(), set, inputs)?);
        Ok(Self { gains: none()?, apart })
    }

    fn beams(&self) -> usize {
        usize::from(!self.gains.is_empty()) + self.apart.as_ref().map_or(0, IncoherentKernels::beams)
    }
}

impl<V: VoltageSample> Loaded<V> {
    /// Loads the kernels of beams, and of incoherent ones beside them, of so many channels.
    pub(super) fn load(
        stream: Stream,
        (set, incoherent): (&TiedArrayBeams, Option<&IncoherentBeams>),
        detection: Detection,
        channels: usize,
        inputs: Inputs,
    ) -> Result<Self, BeamformerError> {
        let summer = Summer::load(&stream, detection)?;
        let output = if summer.of_powers() { Output::Power } else { Output::Coherency };
        let former = Former::load(&stream, set, output, channels, inputs)?;
        let incoherent = IncoherentOnDevice::load(&stream, &former, incoherent, inputs)?;
        let none = Buffer::zeroed(&stream, 0)?;
        let (pool, staging, masks) = (BufferPool::new(stream.device()), Staging::default(), PartMasks::new(inputs));
        Ok(Self { former, incoherent, summer, stream, pool, staging, masks, none })
    }

    /// Masks rows: those that were made where they lie, a chunk's own in a copy.
    pub(super) fn mask(
        &mut self,
        [channels, times]: [usize; 2],
        mask: Option<PlacedMask<'_>>,
        chunk: BufferView<'_, V>,
        made: Option<&mut Buffer<u8>>,
    ) -> Result<Option<Buffer<V>>, BeamformerError> {
        let Self { former, masks, stream, pool, staging, .. } = self;
        let number = row_count::<V>(times);
        let Some(part) = mask.and_then(|mask| mask.part_of_rows::<V>(0..channels, 0, number)) else {
            return Ok(None);
        };
        let queue = MaskQueue { stream, pool, staging };
        if let Some(rows) = made {
            masks.mask_rows(queue, &part, number, rows.view_mut().cast()?)?;
            return Ok(None);
        }
        let pitch = row_elements::<V>(1, times, former.inputs().len())?;
        Ok(Some(masks.masked_rows(queue, &part, number, chunk, pitch)?))
    }

    /// Queues all kernels. Gives what is left of sums that do not end, of tied-array and of incoherent beams.
    pub(super) fn queue(
        &mut self,
        [channels, times, fold]: [usize; 3],
        row: usize,
        later: &[(usize, TiedArrayBeams)],
        carried: Option<&Carried>,
        rows: BufferView<'_, V>,
        out: &mut Buffer<f32>,
    ) -> Result<[Option<Buffer<f32>>; 2], BeamformerError> {
        let Self { former, incoherent, summer, stream, pool, none, .. } = self;
        let before = |which: usize| {
            let carried = carried?;
            Some((carried.sums[which].as_ref()?, carried.spectra))
        };
        if times == 0 {
            return Ok([None, None]);
        }
        // A coherency is four numbers of two beams.
        let numbers = if summer.of_powers() { 1 } else { 2 };
        let length = former.length(channels, times, fold)?.saturating_mul(numbers);
        // Nothing is under way then: sums of more times than a launch sums would be.
        let direct = incoherent.beams() == 0 && summer.is_done_by(fold) && times % fold == 0;
        let mut sums = pool.take::<f32>(stream, if direct { 0 } else { length })?;
        let beams = if direct { &mut *out } else { &mut sums };
        let groups = times.div_ceil(fold);
        let mut powers =
            pool.take::<f32>(stream, product("incoherent beams", &[channels, groups, incoherent.beams()])?)?;
        let starts = std::iter::once((0, None)).chain(later.iter().map(|(time, set)| (*time, Some(set))));
        let ends = later.iter().map(|&(time, _)| time).chain(std::iter::once(times));
        for ((start, set), end) in starts.zip(ends) {
            if let Some(set) = set
                && !former.replace(stream, set)?
            {
                *former = Former::load(stream, set, former.output(), channels, former.inputs())?;
            }
            let part = Part { channels: 0..channels, times, formed: start..end, fold };
            let gains = incoherent.gains.view();
            let beside = former.takes_incoherent().then(|| kernels::Incoherent { gains, sums: powers.view_mut() });
            let beams = beams.view_mut().cast::<u16>()?;
            former.form(stream, part, None, rows, Out { beams, saturated: none.view_mut(), incoherent: beside })?;
        }
        if direct {
            return Ok([None, None]);
        }
        let tied = row - incoherent.beams();
        let of = Sums { shape: [channels, groups, tied], fold, carried: before(0) };
        let left = summer.sum(stream, pool, of, &sums, out, Place { first: 0, row })?;
        if incoherent.beams() == 0 {
            return Ok([left, None]);
        }
        if let Some(kernels) = &incoherent.apart {
            kernels.sum_rows(stream, [channels, times, fold], rows, powers.view_mut())?;
        }
        let of = Sums { shape: [channels, groups, incoherent.beams()], fold, carried: before(1) };
        let place = Place { first: tied, row };
        Ok([left, summer.sum_powers(stream, pool, of, &powers, out, place)?])
    }
}
