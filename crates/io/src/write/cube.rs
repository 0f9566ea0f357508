//! Visibilities of a whole run in memory: `[integration][channel][baseline]` with its axes.

use fringes_types::{Accumulator, BaselineOrder, Dimension, Frequencies, Inputs, TypesError, Visibilities};
use ndarray::{Array2, Array3, ArrayView1, ArrayView2, ArrayView3, Axis};
use num_complex::Complex;

use crate::IoError;

/// Integrations of visibilities, appended one at a time.
///
/// A visibility is `V[a][b] = sum x_a conj(x_b)` of inputs `a >= b`, at `a (a + 1) / 2 + b` on the `baseline`
/// dimension.
///
/// # Layout
/// `[integration][channel][baseline]`, 8 bytes a value, contiguous.
#[derive(Debug, Clone, PartialEq)]
pub struct VisibilityCube {
    inputs: Inputs,
    frequencies: Frequencies,
    data: Array3<Complex<f32>>,
    time_s: Vec<f64>,
    weight: Array2<f32>,
    /// `[integration][channel][baseline]`, once a dump had masked channels.
    channel_weight: Option<Array3<f32>>,
}

impl VisibilityCube {
    /// A cube without integrations yet.
    ///
    /// # Errors
    /// [`TypesError::Empty`] without channels, [`TypesError::TooLarge`] if one integration is larger than memory can
    /// be.
    pub fn new(inputs: Inputs, channels: usize, frequencies: Frequencies) -> Result<Self, IoError> {
        if channels == 0 {
            return Err(TypesError::Empty { array: "visibility cube", dimension: Dimension::Channel }.into());
        }
        let baselines = inputs.triangle_len();
        if channels.checked_mul(baselines).is_none_or(|values| values > isize::MAX as usize / 8) {
            return Err(too_large(1, channels, baselines).into());
        }
        let (data, weight) = (Array3::zeros((0, channels, baselines)), Array2::zeros((0, baselines)));
        Ok(Self { inputs, frequencies, data, time_s: Vec::new(), weight, channel_weight: None })
    }

    /// Appends an integration whose middle is `time_s` seconds after the start of the run: visibilities
    /// `[channel][baseline]` and weights `[baseline]`.
    ///
    /// # Errors
    /// [`TypesError::Dimension`] if an array has another number of channels or baselines, [`TypesError::TooLarge`] if
    /// the cube becomes larger than memory can be.
    pub fn push(
        &mut self,
        time_s: f64,
        visibilities: ArrayView2<'_, Complex<f32>>,
        weight: ArrayView1<'_, f32>,
    ) -> Result<(), IoError> {
        check_integration(self.inputs, self.channels(), visibilities, weight)?;
        self.append(time_s, visibilities, weight, None)
    }

    /// Appends arrays of the right shapes; weights of channels are needed where they are not all alike.
    fn append(
        &mut self,
        time_s: f64,
        visibilities: ArrayView2<'_, Complex<f32>>,
        weight: ArrayView1<'_, f32>,
        of_channels: Option<ArrayView2<'_, f32>>,
    ) -> Result<(), IoError> {
        let (integrations, channels) = (self.integrations(), self.channels());
        let size = too_large(integrations + 1, channels, self.inputs.triangle_len());
        if of_channels.is_some() && self.channel_weight.is_none() {
            // Channels were alike so far.
            let shape = (integrations, channels, self.weight.ncols());
            let alike = self.weight.view().insert_axis(Axis(1));
            let alike = alike.broadcast(shape).map(|weights| weights.to_owned());
            self.channel_weight = Some(alike.unwrap_or_else(|| Array3::zeros((0, channels, shape.2))));
        }
        if let Some(weights) = &mut self.channel_weight {
            let alike = weight.insert_axis(Axis(0));
            let row = of_channels.or_else(|| alike.broadcast(visibilities.dim())).ok_or_else(|| size.clone())?;
            weights.append(Axis(0), row.insert_axis(Axis(0))).map_err(|_| size.clone())?;
        }
        self.data.append(Axis(0), visibilities.insert_axis(Axis(0))).map_err(|_| size.clone())?;
        self.weight.push_row(weight).map_err(|_| size)?;
        self.time_s.push(time_s);
        Ok(())
    }

    /// Appends a correlator's dump in any baseline order, weighted by its numbers of valid samples. Where channels were
    /// masked, each has weights of its own ([`VisibilityCube::channel_weight`]).
    ///
    /// # Precision
    /// Sums are rounded to f32: relative error at most 2^-24 of the real and of the imaginary part. Numbers of samples
    /// are exact up to 2^24.
    ///
    /// # Errors
    /// As [`VisibilityCube::push`].
    pub fn push_dump<A: Accumulator>(&mut self, time_s: f64, dump: &Visibilities<A>) -> Result<(), IoError> {
        let (visibilities, weight) = triangle_of(dump)?;
        check_integration(self.inputs, self.channels(), visibilities.view(), ArrayView1::from(&weight))?;
        let of_channels = channel_weights(dump)?;
        let of_channels = of_channels.as_ref().map(|weights| weights.view());
        self.append(time_s, visibilities.view(), ArrayView1::from(&weight), of_channels)
    }

    /// Antennas and polarisations.
    pub fn inputs(&self) -> Inputs {
        self.inputs
    }

    /// Number of channels.
    pub fn channels(&self) -> usize {
        self.data.dim().1
    }

    /// Number of integrations.
    pub fn integrations(&self) -> usize {
        self.time_s.len()
    }

    /// Channel frequencies.
    pub fn frequencies(&self) -> Frequencies {
        self.frequencies
    }

    /// Visibilities `[integration][channel][baseline]`.
    pub fn data(&self) -> ArrayView3<'_, Complex<f32>> {
        self.data.view()
    }

    /// Middle of each integration in seconds after the start of the run.
    pub fn time_s(&self) -> ArrayView1<'_, f64> {
        ArrayView1::from(&self.time_s)
    }

    /// Weights `[integration][baseline]`, of all channels alike: what masks took is not taken off.
    pub fn weight(&self) -> ArrayView2<'_, f32> {
        self.weight.view()
    }

    /// Weights `[integration][channel][baseline]`, with what masks took taken off; `None` if no dump was masked, and
    /// [`VisibilityCube::weight`] is that of every channel.
    pub fn channel_weight(&self) -> Option<ArrayView3<'_, f32>> {
        self.channel_weight.as_ref().map(|weights| weights.view())
    }
}

/// The error for a cube of this shape.
fn too_large(integrations: usize, channels: usize, baselines: usize) -> TypesError {
    TypesError::TooLarge { array: "visibility cube", elements: format!("{integrations} x {channels} x {baselines}") }
}

/// A dump as complex f32 `[channel][baseline]` in the packed lower triangle, and its numbers of valid samples
/// `[baseline]`.
///
/// # Errors
/// [`TypesError::OrderPols`] never occurs for the triangle; it is the type's.
pub(super) fn triangle_of<A: Accumulator>(
    dump: &Visibilities<A>,
) -> Result<(Array2<Complex<f32>>, Vec<f32>), TypesError> {
    let reordered;
    let dump = if dump.order() == BaselineOrder::Triangle {
        dump
    } else {
        reordered = dump.reordered(BaselineOrder::Triangle)?;
        &reordered
    };
    let visibilities = dump.data().map(|value| {
        let value = value.to_c64();
        Complex::new(value.re as f32, value.im as f32)
    });
    Ok((visibilities, dump.valid_samples().iter().map(|&samples| samples as f32).collect()))
}

/// Numbers of valid samples `[channel][baseline]` of the packed lower triangle, if channels were masked.
pub(super) fn channel_weights<A: Accumulator>(dump: &Visibilities<A>) -> Result<Option<Array2<f32>>, TypesError> {
    if dump.masked_samples().is_none() {
        return Ok(None);
    }
    let reordered;
    let dump = if dump.order() == BaselineOrder::Triangle {
        dump
    } else {
        reordered = dump.reordered(BaselineOrder::Triangle)?;
        &reordered
    };
    Ok(Some(Array2::from_shape_fn(dump.data().dim(), |(channel, baseline)| dump.valid(channel, baseline) as f32)))
}

/// Checks one integration's visibilities `[channel][baseline]` and weights `[baseline]`.
pub(super) fn check_integration(
    inputs: Inputs,
    channels: usize,
    visibilities: ArrayView2<'_, Complex<f32>>,
    weight: ArrayView1<'_, f32>,
) -> Result<(), TypesError> {
    let baselines = inputs.triangle_len();
    for (array, dimension, expected, actual) in [
        ("visibilities", Dimension::Channel, channels, visibilities.nrows()),
        ("visibilities", Dimension::Baseline, baselines, visibilities.ncols()),
        ("weights", Dimension::Baseline, baselines, weight.len()),
    ] {
        if expected != actual {
            return Err(TypesError::Dimension { array, dimension, expected, actual });
        }
    }
    Ok(())
}
