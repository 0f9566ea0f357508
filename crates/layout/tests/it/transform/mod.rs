//! Solutions of transforms against the definition.
#![allow(clippy::unwrap_used)] // helpers of tests

use std::collections::HashMap;
use std::f64::consts::TAU;

use fringes_layout::Name;
use fringes_layout::solve::{Fft, Solution};

/// The largest difference between what a solution computes and the definition of the transform, over the largest value.
pub(crate) fn error(fft: &Fft, solution: &Solution) -> f64 {
    let number = |stem: &str, bits: usize, bit: &dyn Fn(&str) -> bool| {
        (0..bits).filter(|at| bit(&format!("{stem}{at}"))).fold(0usize, |number, at| number | 1 << at)
    };
    // Some input without symmetry.
    let part = |n: usize, imaginary: bool| {
        (((n * n + 7 * n + 3) * 37 % 101) as f64 - 50.0) * if imaginary { 0.3 } else { 1.0 }
    };
    let input = |bit: &dyn Fn(&str) -> bool| part(number("n", fft.input_bits, bit), bit("ReIm"));
    let result = solution.simulate(&input, &|step, bit| fft.element(step, bit)).unwrap();
    let layout = solution.arrays.last().unwrap().layout;
    let size = 1usize << fft.output_bits;
    let direct: Vec<(f64, f64)> = (0..size)
        .map(|q| {
            (0..1usize << fft.input_bits).fold((0.0, 0.0), |(re, im), n| {
                let (sin, cos) = (TAU * (q * n % size) as f64 / size as f64).sin_cos();
                let (x, y) = (part(n, false), part(n, true));
                (re + cos * x - sin * y, im + cos * y + sin * x)
            })
        })
        .collect();
    let mut seen = HashMap::new();
    let mut worst = 0.0f64;
    for (place, value) in result.iter().enumerate() {
        let index = layout.apply(place as u64);
        let bit = |name: &str| {
            let at = layout.logical().position(&Name::new(name).unwrap()).unwrap();
            index >> at & 1 == 1
        };
        let q = number("q", fft.output_bits, &bit);
        *seen.entry((q, bit("ReIm"))).or_insert(0) += 1;
        let expected = if bit("ReIm") { direct[q].1 } else { direct[q].0 };
        worst = worst.max((value - expected).abs());
    }
    assert_eq!(seen.len(), 2 * size, "every output is somewhere");
    worst / direct.iter().map(|(re, im)| re.hypot(*im)).fold(0.0, f64::max)
}
