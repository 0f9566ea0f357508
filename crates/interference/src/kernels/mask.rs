//! Masked copies of heaps and voltages, and rows that are masked where they lie.

use std::marker::PhantomData;

use fringes_backend::{DeviceError, Expect};
use fringes_gpu::{Argument, BufferView, BufferViewMut, Device, Kernel, LaunchConfig, Stream};
use fringes_types::VoltageSample;

use super::{HeapBlocks, PIECE, RowBlocks, THREADS, VoltageBlocks, Work, product, suffix, texts};

/// The kernels that put zeros in place of what is masked, of a format and on one device: in a copy of heaps or
/// voltages, and in rows where they lie. Cheap to clone.
#[derive(Debug, Clone)]
pub struct MaskKernels<V> {
    heaps: Kernel,
    rows: Kernel,
    format: PhantomData<V>,
}

impl<V: VoltageSample> MaskKernels<V> {
    /// Loads the kernels; the first time on a machine the driver compiles them.
    ///
    /// # Errors
    /// [`DeviceError::NotOnGpu`] for a format without a kernel, [`DeviceError::Gpu`] with what the driver says.
    pub fn load(device: &Device) -> Result<Self, DeviceError> {
        let operation = || format!("a mask of {}", V::FORMAT);
        let backend = || device.info().name.clone();
        let suffix =
            suffix(V::FORMAT).ok_or_else(|| DeviceError::NotOnGpu { operation: operation(), backend: backend() })?;
        let module = device.load(&texts::INTERFERENCE)?;
        let heaps = module.kernel(&format!("mask_{suffix}"))?;
        let rows = module.kernel(&format!("mask_rows_{suffix}"))?;
        Ok(Self { heaps, rows, format: PhantomData })
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
        Ok(self.heaps.launch_safe(stream, &config, &arguments)?)
    }

    /// Writes voltages `[channel][time][input]` to `to`, zeros where `masked`, `[channel][block]`, is not 0. What is
    /// masked is not read.
    ///
    /// # Errors
    /// As [`MaskKernels::mask`].
    pub fn mask_voltages(
        &self,
        stream: &Stream,
        shape: VoltageBlocks,
        from: BufferView<'_, V>,
        masked: BufferView<'_, u8>,
        mut to: BufferViewMut<'_, V>,
    ) -> Result<(), DeviceError> {
        let (voltages, size) = (shape.voltages(), size_of::<V>());
        from.expect("voltages", voltages, size as u64)?;
        to.expect("masked voltages", voltages, size as u64)?;
        masked.expect("mask", product(&[shape.channels, shape.blocks()]), 1)?;
        if voltages == 0 {
            return Ok(());
        }
        let Work { blocks, sizes } = shape.copy(size)?;
        let from = from.cast::<u8>()?;
        let to = to.reborrow().cast::<u8>()?;
        let mut arguments = vec![from.into(), to.into(), masked.into()];
        arguments.extend(sizes.map(Argument::from));
        let config = LaunchConfig::new([blocks, 1, 1], [THREADS, 1, 1]);
        Ok(self.heaps.launch_safe(stream, &config, &arguments)?)
    }

    /// Writes zeros to rows `[channel][time / R][input][R]` where `masked`, `[channel][block]`, is not 0. Nothing else
    /// is read or written.
    ///
    /// # Errors
    /// [`DeviceError::Length`] if a buffer is too short, [`DeviceError::Alignment`] for rows that do not begin at a
    /// multiple of 16 bytes, [`DeviceError::TooLarge`] for sizes that the kernel cannot count, [`DeviceError::Gpu`]
    /// with what the driver says.
    pub fn mask_rows(
        &self,
        stream: &Stream,
        shape: RowBlocks,
        masked: BufferView<'_, u8>,
        mut rows: BufferViewMut<'_, V>,
    ) -> Result<(), DeviceError> {
        let voltages = shape.voltages(V::FORMAT);
        rows.expect("rows", voltages, PIECE as u64)?;
        masked.expect("mask", product(&[shape.channels, shape.blocks(V::FORMAT)]), 1)?;
        if voltages == 0 {
            return Ok(());
        }
        let (config, sizes) = shape.launch(V::FORMAT)?;
        let mut arguments = vec![rows.reborrow().cast::<u8>()?.into(), masked.into()];
        arguments.extend(sizes.map(Argument::from));
        Ok(self.rows.launch_safe(stream, &config, &arguments)?)
    }
}
