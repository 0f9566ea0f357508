//! Voltages of a block as numbers to multiply.

use fringes_types::{Complex4, SampleFormat, VoltageSample, f16};
use half::slice::HalfFloatSliceExt;
use ndarray::{ArrayView1, ArrayView2};
use num_complex::Complex;

use crate::pfb::has_avx2_fma;

type C32 = Complex<f32>;

/// Writes voltages `[time][input]` as `Complex<f32>`, exactly.
pub(super) fn numbers<V: VoltageSample>(voltages: ArrayView2<'_, V>, to: &mut [C32]) {
    match voltages.to_slice() {
        Some(from) => row_of_numbers(from.into(), to),
        None => {
            let rows = voltages.rows().into_iter();
            to.chunks_mut(voltages.ncols().max(1)).zip(rows).for_each(|(to, from)| row_of_numbers(from, to));
        }
    }
}

fn row_of_numbers<V: VoltageSample>(from: ArrayView1<'_, V>, to: &mut [C32]) {
    match (V::FORMAT, from.as_slice()) {
        (SampleFormat::Int4 | SampleFormat::Int8, Some(_)) => {
            parts::<V, f32>(from, bytemuck::cast_slice_mut(to));
        }
        (SampleFormat::Float16, Some(from)) => {
            let from: &[f16] = bytemuck::cast_slice(from);
            from.convert_to_f32_slice(bytemuck::cast_slice_mut(to));
        }
        (SampleFormat::Float32, Some(from)) => to.copy_from_slice(bytemuck::cast_slice(from)),
        _ => to.iter_mut().zip(from).for_each(|(to, from)| *to = from.to_c32()),
    }
}

/// Writes the parts of 4-bit or 8-bit voltages.
pub(super) fn parts<V: VoltageSample, P: From<i8>>(from: ArrayView1<'_, V>, to: &mut [[P; 2]]) {
    #[cfg(target_arch = "x86_64")]
    if has_avx2_fma() {
        // SAFETY: the processor was found to have AVX2.
        #[allow(unsafe_code)]
        unsafe {
            return parts_avx2(from, to);
        }
    }
    all_parts(from, to);
}

/// [`all_parts`] compiled for AVX2.
///
/// # Safety
/// The machine must have AVX2.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn parts_avx2<V: VoltageSample, P: From<i8>>(from: ArrayView1<'_, V>, to: &mut [[P; 2]]) {
    all_parts(from, to);
}

#[inline(always)]
fn all_parts<V: VoltageSample, P: From<i8>>(from: ArrayView1<'_, V>, to: &mut [[P; 2]]) {
    let nibbles = |voltage: &V| -> [i8; 2] {
        let packed: Complex4 = bytemuck::cast(*voltage);
        [packed.re(), packed.im()]
    };
    match (V::FORMAT, from.as_slice()) {
        (SampleFormat::Int4, Some(from)) => {
            to.iter_mut().zip(from).for_each(|(to, from)| *to = nibbles(from).map(P::from));
        }
        (SampleFormat::Int4, None) => to.iter_mut().zip(from).for_each(|(to, from)| *to = nibbles(from).map(P::from)),
        (_, Some(from)) => {
            let bytes: &[i8] = bytemuck::cast_slice(from);
            to.as_flattened_mut().iter_mut().zip(bytes).for_each(|(to, &from)| *to = from.into());
        }
        (_, None) => {
            let bytes = |voltage: &V| -> [i8; 2] { bytemuck::cast(*voltage) };
            to.iter_mut().zip(from).for_each(|(to, from)| *to = bytes(from).map(P::from));
        }
    }
}
