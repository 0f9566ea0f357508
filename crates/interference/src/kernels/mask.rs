//! Masked copies of heaps.

use std::marker::PhantomData;

use fringes_backend::{DeviceError, Expect};
use fringes_gpu::{BufferView, BufferViewMut, Device, Kernel, Stream};
use fringes_types::VoltageSample;

use super::{HeapBlocks, product, suffix, texts};

/// The kernel that copies heaps of a format with zeros in place of what is masked, on one device. Cheap to clone.
#[derive(Debug, Clone)]
pub struct MaskKernels<V> {
    kernel: Kernel,
    format: PhantomData<V>,
}

impl<V: VoltageSample> MaskKernels<V> {
    /// Loads the kernel; the first time on a machine the driver compiles it.
    ///
    /// # Errors
    /// [`DeviceError::NotOnGpu`] for a format without a kernel, [`DeviceError::Gpu`] with what the driver says.
    pub fn load(device: &Device) -> Result<Self, DeviceError> {
        let operation = || format!("a mask of {}", V::FORMAT);
        let backend = || device.info().name.clone();
        let suffix =
            suffix(V::FORMAT).ok_or_else(|| DeviceError::NotOnGpu { operation: operation(), backend: backend() })?;
        let module = device.load(&texts::INTERFERENCE)?;
        let kernel = module.kernel(&format!("mask_{suffix}"))?;
        Ok(Self { kernel, format: PhantomData })
    }

    /// Writes heaps `[batch][antenna][channel][spectrum][pol]` to `to`, zeros where `masked`, `[channel][block]`, is
    /// not 0. What is masked is not read.
    ///
    /// # Errors
    /// [`DeviceError::Length`] if a buffer is too short, [`DeviceError::Alignment`] for heaps that do not begin at a
    /// voltage, [`DeviceError::TooLarge`] for sizes that the kernel cannot count, [`DeviceError::Gpu`] with what the
    /// driver says.
    pub fn mask(
        &self,
        stream: &Stream,
        shape: HeapBlocks,
        from: BufferView<'_, V>,
        masked: BufferView<'_, u8>,
        mut to: BufferViewMut<'_, V>,
    ) -> Result<(), DeviceError> {
        let (voltages, size) = (shape.voltages(), size_of::<V>());
        from.expect("heaps", voltages, size as u64)?;
        to.expect("masked heaps", voltages, size as u64)?;
        masked.expect("mask", product(&[shape.channels, shape.blocks()]), 1)?;
        if voltages == 0 {
            return Ok(());
        }
        let groups = product(&[shape.batches, shape.inputs.antennas(), shape.channels]);
        let (config, sizes) = shape.launch(groups, product(&[shape.spectra, shape.inputs.pols(), size]))?;
        let from = from.cast::<u8>()?;
        let to = to.reborrow().cast::<u8>()?;
        let mut arguments = vec![from.into(), to.into(), masked.into()];
        arguments.extend(sizes);
        Ok(self.kernel.launch_safe(stream, &config, &arguments)?)
    }
}
