//! Power sums of heaps.

use std::marker::PhantomData;

use fringes_backend::{DeviceError, Expect};
use fringes_cpu::power::{Lanes, Power};
use fringes_gpu::{Argument, BufferView, BufferViewMut, Device, Kernel, Stream};
use fringes_types::SampleFormat;

use super::{HeapBlocks, product, suffix, texts};

/// The kernel that sums the powers of heaps of a format, on one device. Cheap to clone.
///
/// # Precision
/// That of [`power_sums`](crate::power_sums()): sums of integers are those of the CPU bit for bit; of floats the same
/// bits whenever the same heaps come.
#[derive(Debug, Clone)]
pub struct PowerKernels<V> {
    kernel: Kernel,
    format: PhantomData<V>,
}

impl<V: Power> PowerKernels<V> {
    /// Loads the kernel; the first time on a machine the driver compiles it.
    ///
    /// # Errors
    /// [`DeviceError::NotOnGpu`] for a format without a kernel, [`DeviceError::Gpu`] with what the driver says.
    pub fn load(device: &Device) -> Result<Self, DeviceError> {
        let operation = || format!("power sums of {}", V::FORMAT);
        let backend = || device.info().name.clone();
        let suffix =
            suffix(V::FORMAT).ok_or_else(|| DeviceError::NotOnGpu { operation: operation(), backend: backend() })?;
        let module = device.load(&texts::INTERFERENCE)?;
        let kernel = module.kernel(&format!("power_{suffix}"))?;
        Ok(Self { kernel, format: PhantomData })
    }

    /// Writes the sums of heaps `[batch][antenna][channel][spectrum][pol]` to `sums`, `[2][channel][block][input]`: of
    /// powers, then of their squares. Flags `[batch][antenna]` are 0 where a heap is missing; without flags all are
    /// there. Missing heaps are not read.
    ///
    /// # Errors
    /// [`DeviceError::Length`] if a buffer is too short, [`DeviceError::Alignment`] for heaps that do not begin at a
    /// voltage, [`DeviceError::TooLarge`] for sizes that the kernel cannot count, [`DeviceError::Gpu`] with what the
    /// driver says.
    pub fn sum(
        &self,
        stream: &Stream,
        shape: HeapBlocks,
        heaps: BufferView<'_, V>,
        present: Option<BufferView<'_, u8>>,
        mut sums: BufferViewMut<'_, <V as Lanes>::Sum>,
    ) -> Result<(), DeviceError> {
        let (antennas, blocks) = (shape.inputs.antennas(), shape.blocks());
        heaps.expect("heaps", shape.voltages(), size_of::<V>() as u64)?;
        if let Some(present) = present {
            present.expect("presence flags", product(&[shape.batches, antennas]), 1)?;
        }
        sums.expect("power sums", product(&[2, shape.channels, blocks, shape.inputs.len()]), 8)?;
        if shape.voltages() == 0 {
            return Ok(());
        }
        let spectra = shape.spectra.min(shape.spectra_per_block);
        let stretch = product(&[spectra, shape.inputs.pols(), size_of::<V>()]);
        let (config, sizes) = shape.launch(product(&[blocks, antennas, shape.channels]), stretch)?;
        let bytes = heaps.cast::<u8>()?;
        // No flags stand for heaps that are all there.
        let present = present.map_or_else(|| bytes.slice(0..0), Ok)?;
        let sums = sums.reborrow();
        let sums: Argument<'_> = match V::FORMAT {
            SampleFormat::Float16 | SampleFormat::Float32 => sums.cast::<f64>()?.into(),
            _ => sums.cast::<u64>()?.into(),
        };
        let mut arguments = vec![bytes.into(), present.into(), sums];
        arguments.extend(sizes);
        Ok(self.kernel.launch_safe(stream, &config, &arguments)?)
    }
}
