//! The correlator's kernels: stream-ordered operations on device buffers.
//!
//! | what | in | out |
//! |---|---|---|
//! | [`PackKernels`] | voltages in any [layout](crate::layout) | rows |
//! | [`CorrelatorKernels`] | rows, or heaps as they are | sums of products |
//! | [`ReduceKernels`] | sums in parts | dumps: any order of baselines, 64 or 32 bits |
//!
//! [`correlate`](crate::correlate), [`Correlator`](crate::Correlator) and the integrators are made of these. Software
//! that has its data on the device already gives chunks on a device to those, or calls the kernels itself:
//!
//! ```no_run
//! use fringes_correlator::kernels::{CorrelatorKernels, PackKernels, Work};
//! use fringes_correlator::layout::VoltageShape;
//! use fringes_gpu::{Buffer, Device};
//! use fringes_types::{Complex, Inputs};
//!
//! let device = Device::best()?;
//! let stream = device.new_stream()?;
//! let inputs = Inputs::new(512, 2)?;
//! let (pack, kernels) = (PackKernels::load(&device)?, CorrelatorKernels::<Complex<i8>>::load(&device, inputs)?);
//! let layout = VoltageShape { channels: 128, times: 4096, inputs: inputs.len() };
//! let work = Work::rows(layout.channels, layout.times);
//! let voltages = Buffer::<Complex<i8>>::zeroed(&stream, layout.samples()?)?; // [channel][time][input]
//! // [channel][time / 64][input][64]
//! let mut rows = Buffer::<Complex<i8>>::alloc(&device, work.samples::<Complex<i8>>(inputs)?)?;
//! // [channel][baseline], which launches of 66572 times in all may be added to
//! let mut sums = Buffer::<Complex<i32>>::zeroed(&stream, layout.channels * inputs.triangle_len())?;
//! pack.pack(&stream, layout, 0..layout.times, voltages.view(), None, &mut rows.view_mut().cast()?)?;
//! kernels.accumulate(&stream, &work, rows.view(), &mut sums.view_mut(), 1)?;
//! let visibilities = sums.to_vec(&stream)?; // waits for the stream
//! # let _ = visibilities;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Precision
//! Integers: exact. A launch sums 32-bit numbers in each part of the time, [`CorrelatorKernels::most_times`] of them at
//! most, and adds them to 32-bit sums, which hold [`CorrelatorKernels::most_summed_times`]; before there are more,
//! [`ReduceKernels::add_parts`] adds them to 64-bit sums.
//!
//! f16: products are exact, and a part of a sum over `T` times of a launch is within `6 (T + 16) 2^-23 sum_t |x_a|
//! |x_b|`, or `6 (T + 16 B) 2^-23 ...` of `B` batches of heaps, if all roundings go one way; sums of launches are added
//! in f64.
//!
//! f32: products in three times tf32. For noise of `T` times, in units of `2^-24 sqrt(V_aa V_bb)`, the standard
//! deviation is at most `sqrt(min(T, 1024) / 4 / ceil(T / 1024)) / 3`; `|dV_ab| <= 1e-6 sqrt(V_aa V_bb)` at `T =
//! 65536`.

mod choose;
pub(crate) mod float;
mod launch;
mod loaded;
pub(crate) mod mma;
mod pack;
mod reduce;
pub(crate) mod shape;
mod texts;
pub(crate) mod tune;
pub(crate) mod wgmma;
mod work;

use std::marker::PhantomData;
use std::sync::Arc;

use bytemuck::Pod;
use fringes_backend::{DeviceError, Expect};
use fringes_gpu::{BufferView, BufferViewMut, Device, PtxTarget, Stream};
use fringes_types::{Complex, Inputs, SampleFormat, VoltageSample};

use self::choose::{Chosen, Kernels};
use self::launch::Samples;
use self::loaded::Key;
pub use self::pack::PackKernels;
pub use self::reduce::{Clamp, DeviceSum, NarrowSum, ReduceKernels, Reduction};
pub use self::work::Work;
use crate::CorrelatorError;
use crate::layout::product;

/// The kernels that correlate voltages of a format and some inputs on one device. Cheap to clone and to load again: the
/// process keeps them.
///
/// Every operation but [`CorrelatorKernels::tune`] is queued on a stream and returns at once; nothing is allocated.
/// Sizes and buffers are checked before anything is queued.
///
/// # Parts
/// Where channels alone would not fill the device, the time is divided into parts, each with sums of its own. Sums that
/// are added to are `[part][channel][baseline]` of [`CorrelatorKernels::most_parts`] parts or fewer; a launch adds to
/// as many of the first ones as are best for its size. [`ReduceKernels`] add them up.
#[derive(Debug)]
pub struct CorrelatorKernels<V: VoltageSample> {
    kernels: Arc<Kernels>,
    sample: PhantomData<fn() -> V>,
}

impl<V: VoltageSample> Clone for CorrelatorKernels<V> {
    fn clone(&self) -> Self {
        Self { kernels: Arc::clone(&self.kernels), sample: PhantomData }
    }
}

impl<V: VoltageSample> CorrelatorKernels<V> {
    /// Loads the kernels of the device's best target; the first time on a machine the driver compiles them.
    ///
    /// # Errors
    /// As [`CorrelatorKernels::load_target`].
    pub fn load(device: &Device, inputs: Inputs) -> Result<Self, CorrelatorError> {
        let best = PtxTarget::Sm90a.runs_on(device.info().compute_capability);
        Self::load_target(device, inputs, if best { PtxTarget::Sm90a } else { PtxTarget::Sm80 })
    }

    /// Loads the kernels of a target: [`PtxTarget::Sm80`], made of `cp.async`, `ldmatrix` and `mma.sync`, or
    /// [`PtxTarget::Sm90a`], made of TMA and `wgmma`.
    ///
    /// # Errors
    /// [`CorrelatorError::DeviceShape`] for more than 32768 inputs, [`DeviceError::NoKernel`] for 16-bit integers,
    /// [`DeviceError::Gpu`] with what the driver says, for a target that the device does not run among it.
    pub fn load_target(device: &Device, inputs: Inputs, target: PtxTarget) -> Result<Self, CorrelatorError> {
        if inputs.len() > 1 << 15 {
            return Err(CorrelatorError::DeviceShape { channels: 1, times: 1, inputs: inputs.len() });
        }
        if !has_kernel(V::FORMAT) {
            let expected = "voltages of 4-bit or 8-bit integers, f16 or f32";
            return Err(DeviceError::NoKernel { expected, actual: V::FORMAT.to_string() }.into());
        }
        let key = Key::Correlate(V::FORMAT, inputs, target);
        let kernels = loaded::once(device, key, || Kernels::load(device, target, V::FORMAT, inputs))?;
        Ok(Self { kernels, sample: PhantomData })
    }

    /// The target whose kernels are loaded.
    pub fn target(&self) -> PtxTarget {
        self.kernels.target
    }

    /// The device.
    pub fn device(&self) -> &Device {
        &self.kernels.device
    }

    /// Antennas and polarisations.
    pub fn inputs(&self) -> Inputs {
        self.kernels.inputs
    }

    /// Whether heaps are read as they are. Of other formats they are made rows first ([`PackKernels::pack_heaps`]).
    pub fn takes_heaps(&self) -> bool {
        !self.kernels.heaps.is_empty()
    }

    /// Most times of one launch: those whose 32-bit sums are exact, of integers; no limit of floats.
    pub fn most_times() -> usize {
        choose::mma_format(V::FORMAT).and_then(mma::Format::most_times).unwrap_or(usize::MAX)
    }

    /// Most times of all launches that add to the same sums: those that 32-bit sums of integers hold exactly; no limit
    /// of floats. The caller counts, and adds sums to wider ones in time ([`ReduceKernels::add_parts`]).
    pub fn most_summed_times() -> usize {
        choose::mma_format(V::FORMAT).and_then(mma::Format::most_summed_times).unwrap_or(usize::MAX)
    }

    /// Most parts that launches of so many channels are worth: what sums should have.
    pub fn most_parts(&self, channels: usize) -> usize {
        self.kernels.most_parts(channels)
    }

    /// Adds the products of samples to sums `[part][channel][baseline]`, packed lower triangles, of `parts` parts:
    /// 32-bit sums of integers, of [`CorrelatorKernels::most_summed_times`] in all, and 64-bit ones of floats.
    ///
    /// # Errors
    /// [`CorrelatorError::TimeRange`] and [`CorrelatorError::BatchRange`] if the work's range lies outside of its
    /// array, [`CorrelatorError::TooManyTimes`] above [`CorrelatorKernels::most_times`], [`CorrelatorError::NoParts`],
    /// [`DeviceError::NoKernel`] for heaps of f32, [`DeviceError::Length`] and [`DeviceError::Alignment`] (samples at
    /// multiples of 16 bytes, sums of theirs) for buffers, [`CorrelatorError::DeviceShape`] for sizes that no launch
    /// can have, [`DeviceError::Gpu`] with what the driver says.
    pub fn accumulate(
        &self,
        stream: &Stream,
        work: &Work,
        samples: BufferView<'_, V>,
        sums: &mut BufferViewMut<'_, V::PartialSum>,
        parts: usize,
    ) -> Result<(), CorrelatorError> {
        if !self.check(work, samples, sums, parts)? {
            return Ok(());
        }
        let chosen = self.kernels.choose(work, parts);
        self.kernels.add::<V>(stream, work, chosen, samples.cast::<u8>()?.into(), sums.reborrow())
    }

    /// Whether [`CorrelatorKernels::accumulate_listed`] takes this work: heaps that kernels of [`PtxTarget::Sm90a`]
    /// read.
    pub fn takes_lists(&self, work: &Work) -> bool {
        work.is_heaps() && self.kernels.choose_listed(work, 1).is_some()
    }

    /// As [`CorrelatorKernels::accumulate`], of batches of heaps that lie anywhere among them: the work's range is of
    /// places of `list`, which has the numbers of batches. Batches that there are not count as zeros.
    ///
    /// # Errors
    /// As there; [`DeviceError::NoKernel`] where [`CorrelatorKernels::takes_lists`] says no; [`DeviceError::Length`]
    /// for a list that is shorter than the range.
    pub fn accumulate_listed(
        &self,
        stream: &Stream,
        work: &Work,
        (samples, list): (BufferView<'_, V>, BufferView<'_, u32>),
        sums: &mut BufferViewMut<'_, V::PartialSum>,
        parts: usize,
    ) -> Result<(), CorrelatorError> {
        if !self.check(work, samples, sums, parts)? {
            return Ok(());
        }
        let chosen = self.kernels.choose_listed(work, parts).filter(|_| work.is_heaps()).ok_or_else(|| {
            let actual = format!("{} of {}", work.array(), V::FORMAT);
            DeviceError::NoKernel { expected: "heaps that the copy engine reads", actual }
        })?;
        let samples = Samples { values: samples.cast()?, list: Some(list) };
        self.kernels.add::<V>(stream, work, chosen, samples, sums.reborrow())
    }

    /// Correlates samples into 32-bit sums `[channel][baseline]`, packed lower triangle, overwriting them: `i32` of
    /// integers, `f32` of floats.
    ///
    /// # Errors
    /// As [`CorrelatorKernels::accumulate`].
    pub fn correlate<N: NarrowSum>(
        &self,
        stream: &Stream,
        work: &Work,
        samples: BufferView<'_, V>,
        sums: &mut BufferViewMut<'_, Complex<N>>,
    ) -> Result<(), CorrelatorError>
    where
        V: VoltageSample<Accumulator = Complex<N::Wide>>,
        Complex<N>: Pod,
    {
        if !self.check(work, samples, sums, 1)? {
            let empty = work.channels().saturating_mul(self.inputs().triangle_len());
            return Ok(sums.reborrow().slice(..empty)?.zero(stream)?);
        }
        let chosen = Chosen { kernel: self.kernels.preferred(work), parts: 1 };
        self.kernels.overwrite(stream, work, chosen, samples.cast()?, sums.reborrow())
    }

    /// Multiplies as [`CorrelatorKernels::correlate`] does and writes nothing: what the products alone take. `sums` are
    /// not touched. Kernels of [`PtxTarget::Sm90a`] and of f32 can.
    ///
    /// # Errors
    /// As [`CorrelatorKernels::correlate`]; [`CorrelatorError::Adds`] of kernels that cannot.
    #[doc(hidden)]
    pub fn multiply<N: NarrowSum>(
        &self,
        stream: &Stream,
        work: &Work,
        samples: BufferView<'_, V>,
        sums: &mut BufferViewMut<'_, Complex<N>>,
    ) -> Result<(), CorrelatorError>
    where
        V: VoltageSample<Accumulator = Complex<N::Wide>>,
        Complex<N>: Pod,
    {
        if !self.check(work, samples, sums, 1)? {
            return Ok(());
        }
        let chosen = Chosen { kernel: self.kernels.preferred(work), parts: 1 };
        self.kernels.multiply(stream, work, chosen, samples.cast()?, sums.reborrow())
    }

    /// Pairs of inputs whose products [`CorrelatorKernels::correlate`] computes for each channel and time of this work,
    /// needed or not: whole tiles.
    #[doc(hidden)]
    pub fn computed_pairs(&self, work: &Work) -> usize {
        let kernels = self.kernels.of(work);
        kernels.get(self.kernels.preferred(work)).map_or(0, |kernel| kernel.computed_pairs(self.inputs().len()))
    }

    /// Measures which kernel is fastest for a size, and in how many parts, unless the committed table says it; launches
    /// of that size take it from here on, in this process and in later ones on this machine. Waits for the stream;
    /// scratch sums are allocated.
    ///
    /// # Errors
    /// As [`CorrelatorKernels::accumulate`].
    pub fn tune(
        &self,
        stream: &Stream,
        work: &Work,
        samples: BufferView<'_, V>,
        parts: usize,
    ) -> Result<(), CorrelatorError> {
        if !self.check_samples(work, samples, parts)? {
            return Ok(());
        }
        let tuner = tune::tuner(self.device());
        let (chosen, _) = self.kernels.measure::<V>(stream, work, samples.cast()?, parts, tuner)?;
        self.kernels.keep(work, parts, chosen);
        Ok(())
    }

    /// Whether there is anything to do, once sizes and buffers are checked.
    fn check<S: Pod>(
        &self,
        work: &Work,
        samples: BufferView<'_, V>,
        sums: &BufferViewMut<'_, S>,
        parts: usize,
    ) -> Result<bool, CorrelatorError> {
        let wanted = self.check_samples(work, samples, parts)?;
        let length = product("sums", &[parts, work.channels(), self.inputs().triangle_len()])?;
        sums.expect("sums", length, size_of::<S>() as u64)?;
        Ok(wanted)
    }

    fn check_samples(&self, work: &Work, samples: BufferView<'_, V>, parts: usize) -> Result<bool, CorrelatorError> {
        work.check()?;
        if parts == 0 {
            return Err(CorrelatorError::NoParts);
        }
        if self.kernels.of(work).is_empty() {
            let expected = "heaps of integers or f16; others as rows";
            return Err(DeviceError::NoKernel { expected, actual: format!("heaps of {}", V::FORMAT) }.into());
        }
        if work.times() > Self::most_times() {
            return Err(CorrelatorError::TooManyTimes { actual: work.times(), limit: Self::most_times() });
        }
        samples.expect(work.array(), work.samples::<V>(self.inputs())?, 16)?;
        Ok(work.times() > 0 && work.channels() > 0)
    }
}

impl PackKernels {
    /// The kernels, loaded once a process.
    pub(crate) fn kept(device: &Device) -> Result<Arc<Self>, CorrelatorError> {
        loaded::once(device, Key::Pack, || Self::load(device))
    }
}

impl ReduceKernels {
    /// The kernels, loaded once a process.
    pub(crate) fn kept(device: &Device) -> Result<Arc<Self>, CorrelatorError> {
        loaded::once(device, Key::Reduce, || Self::load(device))
    }
}

/// Whether there is a GPU kernel for a format.
pub(crate) fn has_kernel(format: SampleFormat) -> bool {
    !matches!(format, SampleFormat::Int16)
}

/// Whether sums of a format are integers.
pub(crate) fn is_integer(format: SampleFormat) -> bool {
    matches!(format, SampleFormat::Int4 | SampleFormat::Int8 | SampleFormat::Int16)
}
