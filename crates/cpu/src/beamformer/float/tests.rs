//! Every instruction set against sums in f64, to the bound of f32 sums in any order.

use ndarray::Array2;
use num_complex::Complex;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::*;

/// Row lengths of blocks: one, some of a tile, several panels, and more than a panel is deep.
const SHAPES: [[usize; 3]; 7] =
    [[1, 1, 1], [2, 3, 5], [3, 8, 16], [7, 17, 33], [96, 20, 9], [5, DEPTH, 8], [4, 2 * DEPTH + 3, 19]];

const U: f64 = 1.0 / (1 << 24) as f64;

#[test]
fn products_are_within_the_bound_on_every_instruction_set() {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(3);
    let mut unit = || random.random_range(-1f32..1.0);
    for [times, inputs, columns] in SHAPES {
        let left = Array2::from_shape_simple_fn((times, inputs), || Complex::new(unit(), unit()));
        let right = Array2::from_shape_simple_fn((columns, inputs), || Complex::new(unit(), unit()));
        let (real_left, real_right) = (left.mapv(|x| x.re), right.mapv(|x| x.re));
        let (mut complex, mut real) = (Panels::<2>::default(), Panels::<1>::default());
        complex.pack(right.view());
        real.pack(real_right.view());
        for set in InstructionSet::ALL.into_iter().filter(|set| set.is_available()) {
            let mut out = vec![Complex::new(f32::NAN, f32::NAN); times * columns];
            complex.multiply_by(set, left.as_slice().unwrap(), &mut out);
            let mut real_out = vec![f32::NAN; times * columns];
            real.multiply_by(set, real_left.as_slice().unwrap(), &mut real_out);
            for (index, (value, &real_value)) in out.iter().zip(&real_out).enumerate() {
                let (time, column) = (index / columns, index % columns);
                let (mut sum, mut size, mut real_sum, mut real_size) = (Complex::new(0.0, 0.0), 0.0, 0.0, 0.0);
                for (x, w) in left.row(time).iter().zip(right.row(column)) {
                    let wide = |z: &Complex<f32>| Complex::new(f64::from(z.re), f64::from(z.im));
                    let (x, w) = (wide(x), wide(w));
                    (sum, size) = (sum + x * w, size + x.norm() * w.norm());
                    (real_sum, real_size) = (real_sum + x.re * w.re, real_size + (x.re * w.re).abs());
                }
                let off = (Complex::new(f64::from(value.re), f64::from(value.im)) - sum).norm();
                assert!(off <= 1.5 * (2.0 * inputs as f64 + 2.0) * U * size, "{set:?}, {times} {inputs} {columns}");
                let off = (f64::from(real_value) - real_sum).abs();
                assert!(off <= (inputs as f64 + 1.0) * U * real_size, "{set:?}, {times} {inputs} {columns}");
            }
        }
    }
}
