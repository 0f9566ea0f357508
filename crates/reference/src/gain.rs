//! Complex gains of channelised voltages: `y[channel][time][input] = gain[channel][input] * x[channel][time][input]`.

use ndarray::{Array3, ArrayView2, ArrayView3};
use num_complex::Complex;

type C64 = Complex<f64>;

/// Applies gains `[channel][input]` to voltages `[channel][time][input]`.
///
/// # Panics
/// If the channels or inputs of the two differ.
pub fn apply(voltages: ArrayView3<'_, C64>, gains: ArrayView2<'_, C64>) -> Array3<C64> {
    let (channels, _, inputs) = voltages.dim();
    assert_eq!(gains.dim(), (channels, inputs), "gains are [channel][input]");
    Array3::from_shape_fn(voltages.dim(), |(channel, time, input)| {
        let (x, g) = (voltages[(channel, time, input)], gains[(channel, input)]);
        C64::new(g.re * x.re - g.im * x.im, g.re * x.im + g.im * x.re)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::Array2;

    #[test]
    fn each_channel_and_input_has_its_own_gain_at_every_time() {
        let x = Array3::from_shape_fn((3, 4, 2), |(c, t, i)| C64::new(c as f64 + 1.0, t as f64 - i as f64));
        let gains = Array2::from_shape_fn((3, 2), |(c, i)| C64::new(0.0, (1 + c + 3 * i) as f64));
        let y = apply(x.view(), gains.view());
        for ((c, t, i), value) in y.indexed_iter() {
            // i g (a + i b) = -g b + i g a, all exact in small integers.
            let g = (1 + c + 3 * i) as f64;
            assert_eq!(*value, C64::new(-g * (t as f64 - i as f64), g * (c as f64 + 1.0)));
        }
    }
}
