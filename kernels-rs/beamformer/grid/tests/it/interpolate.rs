//! Powers at positions between beams in the emulator, against their definition in f64.

use fringes_device::{Global, GlobalMut, Kernel};
use fringes_emulator::{GlobalMemory, Launch};
use fringes_kernels_beamformer_grid::interpolate_powers;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Lagrange's weights.
fn weights(x: f64) -> [f64; 4] {
    [
        -x * (x - 1.0) * (x - 2.0) / 6.0,
        (x + 1.0) * (x - 1.0) * (x - 2.0) / 2.0,
        -(x + 1.0) * x * (x - 2.0) / 2.0,
        (x + 1.0) * x * (x - 1.0) / 6.0,
    ]
}

#[test]
fn positions_are_within_their_bound() {
    for [frequencies, fine, times, outs, beams, products, positions] in
        [[2, 1, 5, 24, 128, 1, 700], [1, 3, 4, 4, 3, 2, 5], [2, 2, 1, 7, 64, 2, 40]]
    {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(positions as u64);
        let powers: Vec<f32> = (0..frequencies * fine * times * outs * beams * products)
            .map(|_| random.random_range(0.0..100.0))
            .collect();
        let places: Vec<[u32; 4]> = (0..frequencies * positions)
            .map(|_| {
                let (out, below) = (random.random_range(0..=outs - 4) as u32, random.random_range(0..beams) as u32);
                let (north, east): (f32, f32) = (random.random_range(0.0..1.0), random.random_range(0.0..=1.0));
                [out, below, north.to_bits(), east.to_bits()]
            })
            .collect();
        let mut memory = GlobalMemory::new();
        let views = (Global::from(memory.upload(&powers)), Global::from(memory.upload(&places)));
        let out = memory.allocate::<f32>(frequencies * fine * times * positions * products);
        let [f, c, t, o, b, p, n] =
            [frequencies, fine, times, outs, beams, products, positions].map(|size| size as u32);
        Launch::new(<interpolate_powers as Kernel>::DECLARATION, [2, 1, 1], [512, 1, 1])
            .shared_bytes(16 * o * b * p)
            .run(&mut memory, || interpolate_powers(views.0, views.1, GlobalMut::from(out), f, c, t, o, b, p, n))
            .assert_clean();
        let found: Vec<f32> = memory.values(out);
        for (at, &found) in found.iter().enumerate() {
            let (rest, product) = (at / products, at % products);
            let (row, position) = (rest / positions, rest % positions);
            let [out, below, north, east] = places[row / times / fine * positions + position];
            let (of_north, of_east) = (weights(f32::from_bits(north).into()), weights(f32::from_bits(east).into()));
            let (mut expected, mut sizes) = (0.0, 0.0);
            for (j, of_east) in of_east.into_iter().enumerate() {
                for (i, of_north) in of_north.into_iter().enumerate() {
                    let beam = (out as usize + j) * beams + (below as usize + i) % beams;
                    let power = powers[(row * outs * beams + beam) * products + product];
                    let term = of_east * of_north * f64::from(power);
                    expected += term;
                    sizes += term.abs();
                }
            }
            let bound = 40.0 * 2f64.powi(-24) * sizes;
            assert!((f64::from(found) - expected).abs() <= bound, "{found} for {expected} at {at}");
        }
    }
}
