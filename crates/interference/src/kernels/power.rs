//! Power sums of heaps, rows and voltages.

use std::marker::PhantomData;

use fringes_backend::{DeviceError, Expect};
use fringes_cpu::power::{Lanes, Power};
use fringes_gpu::{Argument, BufferView, BufferViewMut, Device, Kernel, Stream};
use fringes_types::SampleFormat;

use super::{HeapBlocks, PIECE, RowBlocks, VoltageBlocks, product, suffix, texts};

/// The kernels that sum the powers of heaps, rows and voltages of a format, on one device. Cheap to clone.
///
/// # Precision
/// That of [`power_sums`](crate::power_sums()): sums of integers are those of the CPU bit for bit; of floats the same
/// bits whenever the same chunk comes.
#[derive(Debug, Clone)]
pub struct PowerKernels<V> {
    heaps: Kernel,
    rows: Kernel,
    voltages: Kernel,
    format: PhantomData<V>,
}

impl<V: Power> PowerKernels<V> {
    /// Loads the kernels; the first time on a machine the driver compiles them.
    ///
    /// # Errors
    /// [`DeviceError::NotOnGpu`] for a format without a kernel, [`DeviceError::Gpu`] with what the driver says.
    pub fn load(device: &Device) -> Result<Self, DeviceError> {
        let operation = || format!("power sums of {}", V::FORMAT);
        let backend = || device.info().name.clone();
        let suffix =
            suffix(V::FORMAT).ok_or_else(|| DeviceError::NotOnGpu { operation: operation(), backend: backend() })?;
        let module = device.load(&texts::INTERFERENCE)?;
        let load = |layout: &str| module.kernel(&format!("power_{layout}{suffix}"));
        Ok(Self { heaps: load("")?, rows: load("rows_")?, voltages: load("voltages_")?, format: PhantomData })
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
        let mut arguments = vec![bytes.into(), present.into(), argument::<V>(&mut sums)?];
        arguments.extend(sizes);
        Ok(self.heaps.launch_safe(stream, &config, &arguments)?)
    }

    /// Writes the sums of the first `blocks` blocks of rows `[channel][time / R][input][R]` to `sums`,
    /// `[2][channel][block][input]`, as [`PowerKernels::sum`] does. What is absent must be zero.
    ///
    /// # Errors
    /// As there, of rows that do not begin at a multiple of 16 bytes; [`DeviceError::TooLarge`] also for more blocks
    /// than there are.
    pub fn sum_rows(
        &self,
        stream: &Stream,
        shape: RowBlocks,
        blocks: usize,
        rows: BufferView<'_, V>,
        mut sums: BufferViewMut<'_, <V as Lanes>::Sum>,
    ) -> Result<(), DeviceError> {
        let voltages = shape.voltages(V::FORMAT);
        rows.expect("rows", voltages, PIECE as u64)?;
        sums.expect("power sums", product(&[2, shape.channels, blocks, shape.inputs]), 8)?;
        let (config, sizes) = shape.launch_sums(V::FORMAT, blocks)?;
        if voltages == 0 || blocks == 0 {
            return Ok(());
        }
        let mut arguments = vec![rows.cast::<u8>()?.into(), argument::<V>(&mut sums)?];
        arguments.extend(sizes.map(Argument::from));
        Ok(self.rows.launch_safe(stream, &config, &arguments)?)
    }

    /// Writes the sums of voltages `[channel][time][input]` to `sums`, `[2][channel][block][input]`, as
    /// [`PowerKernels::sum`] does. Flags `[time][input]` are 0 where a voltage is absent; without flags all are there.
    ///
    /// # Errors
    /// As there, of voltages.
    pub fn sum_voltages(
        &self,
        stream: &Stream,
        shape: VoltageBlocks,
        voltages: BufferView<'_, V>,
        present: Option<BufferView<'_, u8>>,
        mut sums: BufferViewMut<'_, <V as Lanes>::Sum>,
    ) -> Result<(), DeviceError> {
        voltages.expect("voltages", shape.voltages(), size_of::<V>().min(4) as u64)?;
        if let Some(present) = present {
            present.expect("presence flags", product(&[shape.times, shape.inputs]), 1)?;
        }
        sums.expect("power sums", product(&[2, shape.channels, shape.blocks(), shape.inputs]), 8)?;
        if shape.voltages() == 0 {
            return Ok(());
        }
        let (config, sizes) = shape.launch(V::FORMAT, voltages.address())?;
        let bytes = voltages.cast::<u8>()?;
        // No flags stand for voltages that are all there.
        let present = present.map_or_else(|| bytes.slice(0..0), Ok)?;
        let mut arguments = vec![bytes.into(), present.into(), argument::<V>(&mut sums)?];
        arguments.extend(sizes.map(Argument::from));
        Ok(self.voltages.launch_safe(stream, &config, &arguments)?)
    }
}

/// Sums as kernels take them.
fn argument<'a, V: Power>(sums: &'a mut BufferViewMut<'_, <V as Lanes>::Sum>) -> Result<Argument<'a>, DeviceError> {
    let sums = sums.reborrow();
    Ok(match V::FORMAT {
        SampleFormat::Float16 | SampleFormat::Float32 => sums.cast::<f64>()?.into(),
        _ => sums.cast::<u64>()?.into(),
    })
}
