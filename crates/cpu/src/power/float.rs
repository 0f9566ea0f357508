//! Powers of float voltages, in f64. The parts of f16 and f32 are exact there, and so are their squares.

use half::f16;
use half::slice::HalfFloatSliceExt;
use num_complex::Complex;

use super::stretch::{LANES, Lanes};

type C32 = Complex<f32>;

impl Lanes for C32 {
    type Sum = f64;
    type First = f64;
    type Second = f64;

    #[inline(always)]
    fn power(self) -> (f64, f64) {
        let (re, im) = (f64::from(self.re), f64::from(self.im));
        let power = re * re + im * im;
        (power, power * power)
    }

    fn add_rows(rows: [&[Self]; 4], first: &mut [f64], second: &mut [f64]) {
        let [a, b, c, d] = rows.map(|row| row.as_chunks::<LANES>().0);
        let sums = first.as_chunks_mut::<LANES>().0.iter_mut().zip(second.as_chunks_mut::<LANES>().0);
        for ((((a, b), c), d), (first, second)) in a.iter().zip(b).zip(c).zip(d).zip(sums) {
            for lane in 0..LANES {
                let [a, b, c, d] = [a[lane], b[lane], c[lane], d[lane]].map(Lanes::power);
                first[lane] += (a.0 + b.0) + (c.0 + d.0);
                second[lane] += (a.1 + b.1) + (c.1 + d.1);
            }
        }
    }

    fn wide(first: f64, second: f64) -> (f64, f64) {
        (first, second)
    }
}

impl Lanes for Complex<f16> {
    type Sum = f64;
    type First = f64;
    type Second = f64;

    fn power(self) -> (f64, f64) {
        C32::new(self.re.to_f32(), self.im.to_f32()).power()
    }

    fn add_rows(rows: [&[Self]; 4], first: &mut [f64], second: &mut [f64]) {
        /// Samples that are made f32 at once.
        const PART: usize = 8 * LANES;
        let mut wide = [[C32::default(); PART]; 4];
        for (part, (first, second)) in first.chunks_mut(PART).zip(second.chunks_mut(PART)).enumerate() {
            for (wide, row) in wide.iter_mut().zip(rows) {
                let row: &[f16] = bytemuck::cast_slice(&row[part * PART..part * PART + first.len()]);
                row.convert_to_f32_slice(bytemuck::cast_slice_mut(&mut wide[..first.len()]));
            }
            C32::add_rows(wide.each_ref().map(|row| &row[..first.len()]), first, second);
        }
    }

    fn wide(first: f64, second: f64) -> (f64, f64) {
        (first, second)
    }
}
