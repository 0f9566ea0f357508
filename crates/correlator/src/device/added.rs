//! Sums that were taken from a correlator: added to others, brought into an order and clamped on the device.

use fringes_backend::DeviceArray;
use fringes_gpu::{Buffer, BufferView, BufferViewMut};
use fringes_types::{BaselineOrder, Complex, VoltageSample};

use super::{DeviceClamped, DeviceSums};
use crate::kernels::{Clamp, Reduction, is_integer};
use crate::{CorrelatorError, MissingData};

impl<V: VoltageSample> DeviceSums<V> {
    /// The sum of packed lower triangles `[channel][baseline]`, in the order of the stream: side by side they are
    /// parts.
    pub(crate) fn added(
        &self,
        sums: &[&DeviceArray<'static, V::Accumulator>],
    ) -> Result<DeviceArray<'static, V::Accumulator>, CorrelatorError> {
        let length = self.channels * self.inputs.triangle_len();
        let mut parts = self.pool.take::<V::Accumulator>(&self.stream, sums.len() * length)?;
        for (index, sum) in sums.iter().enumerate() {
            let from = sum.read_on(&self.stream)?;
            parts.slice_mut(index * length..(index + 1) * length)?.copy_from(&self.stream, from.slice(..length)?)?;
            sum.reads_queued(&self.stream)?;
        }
        if sums.len() == 1 {
            return Ok(DeviceArray::from(parts).written_on(&self.stream));
        }
        let mut out = self.pool.take(&self.stream, length)?;
        self.reduced(sums.len(), BaselineOrder::Triangle, parts.view(), out.view_mut())?;
        Ok(DeviceArray::from(out).written_on(&self.stream))
    }

    /// A packed lower triangle in an order, in the order of the stream.
    pub(crate) fn reordered(
        &self,
        sum: &DeviceArray<'static, V::Accumulator>,
        order: BaselineOrder,
    ) -> Result<DeviceArray<'static, V::Accumulator>, CorrelatorError> {
        let mut out = self.pool.take(&self.stream, self.channels * order.len(self.inputs))?;
        let reduced = self.reduced(1, order, sum.read_on(&self.stream)?, out.view_mut());
        sum.reads_queued(&self.stream)?;
        reduced?;
        Ok(DeviceArray::from(out).written_on(&self.stream))
    }

    /// A packed lower triangle in an order and in 32 bits, in the order of the stream. `affected` says which baselines
    /// of the triangle miss data.
    pub(crate) fn clamped(
        &mut self,
        sum: &DeviceArray<'static, V::Accumulator>,
        order: BaselineOrder,
        missing: MissingData,
        affected: &[bool],
    ) -> Result<DeviceClamped, CorrelatorError> {
        let marks = self.marks(missing, affected)?;
        let mut saturated = self.pool.take_zeroed(&self.stream, 1)?;
        let reduction = Reduction { channels: self.channels, inputs: self.inputs, parts: 1, order };
        let mut out = self.pool.take(&self.stream, reduction.visibilities()?)?;
        let clamp = Clamp { missing: marks.as_ref().map(Buffer::view), saturated: saturated.view_mut() };
        let sums = sum.read_on(&self.stream)?.cast::<Complex<i64>>()?;
        let clamped = self.reduce.clamp(&self.stream, reduction, sums, &mut out.view_mut(), clamp);
        sum.reads_queued(&self.stream)?;
        clamped?;
        let out = DeviceArray::from(out).written_on(&self.stream);
        Ok((out, DeviceArray::from(saturated).written_on(&self.stream)))
    }

    /// Elements from the host, when they are there.
    pub(crate) fn uploaded(
        &self,
        elements: &[V::Accumulator],
    ) -> Result<DeviceArray<'static, V::Accumulator>, CorrelatorError> {
        Ok(DeviceArray::from(Buffer::from_slice(&self.stream, elements)?).written_on(&self.stream))
    }

    /// Writes sums of so many parts in an order.
    fn reduced(
        &self,
        parts: usize,
        order: BaselineOrder,
        sums: BufferView<'_, V::Accumulator>,
        out: BufferViewMut<'_, V::Accumulator>,
    ) -> Result<(), CorrelatorError> {
        let reduction = Reduction { channels: self.channels, inputs: self.inputs, parts, order };
        if is_integer(V::FORMAT) {
            self.reduce.reduce::<i64>(&self.stream, reduction, sums.cast()?, &mut out.cast::<Complex<i64>>()?)
        } else {
            self.reduce.reduce::<f64>(&self.stream, reduction, sums.cast()?, &mut out.cast::<Complex<f64>>()?)
        }
    }
}
