//! Tables of a plan as the kernels read them, computed in f64.
//!
//! A kernel has the channels of a spectrum in rows: value `i` of row `16 k1 + k2` is channel `k1 + R k2 + (N / 16) i`, with `N = 256 R`. Each of the `N / 32` threads of a
//! spectrum has two rows.

use std::f64::consts::TAU;

use num_complex::Complex64;

/// Numbers of channels that have a kernel of their own.
pub const CHANNELS: [usize; 5] = [256, 512, 1024, 2048, 4096];

/// `exp(-2 pi i x)` as two f32.
fn root(x: f64) -> [f32; 2] {
    let (sin, cos) = (TAU * x).sin_cos();
    [cos as f32, -sin as f32]
}

/// The factors of the butterflies of 16 points whose point `n` is multiplied by `exp(-2 pi i n x)`, in pairs.
fn twiddles(x: f64) -> [[f32; 4]; 4] {
    let eighth = 1.0 / 8.0;
    let all =
        [8.0 * x, 4.0 * x, 2.0 * x, 2.0 * x + eighth, x, x + eighth / 2.0, x + eighth, x + 1.5 * eighth].map(root);
    std::array::from_fn(|i| [all[2 * i][0], all[2 * i][1], all[2 * i + 1][0], all[2 * i + 1][1]])
}

/// First channel of a row: `k1 + R k2`.
fn first_channel(channels: usize, row: usize) -> usize {
    row / 16 + channels / 256 * (row % 16)
}

/// The channel of value `4 m + which` of a thread: lower and upper channel of pair `m`, lower and upper channel of pair `15 - m`.
///
/// A thread has two rows, `a` and `b`, whose channels add up to `N`: value `i` of the one and value `15 - i` of the other are a pair. Thread 0 has the two rows that
/// are their own partners.
pub fn channel_of(channels: usize, thread: usize, m: usize, which: usize) -> usize {
    let (radix, stride) = (channels / 256, channels / 16);
    let (k1, k2) = (thread / 16, thread % 16);
    let half = radix / 2 * 16;
    let (a, b) = match (k1, k2) {
        (0, 0) => (0, 8),
        (0, 1..8) => (k2, 16 - k2),
        (0, _) => (half + k2 - 8, half + 23 - k2),
        _ => (thread, 16 * (radix - k1) + 15 - k2),
    };
    let (a, b) = (first_channel(channels, a), first_channel(channels, b));
    match (thread, m, which) {
        (0, 0, 1) => channels / 2,
        (0, _, 1) => (16 - m) * stride,
        (0, _, 2) => b + (15 - m) * stride,
        (_, _, 0) => a + m * stride,
        (_, _, 1) => b + (15 - m) * stride,
        (_, _, 2) => a + (15 - m) * stride,
        _ => b + m * stride,
    }
}

/// Twiddles of the middle pass, `[k1][4]`: `exp(-2 pi i n k1 / (16 R))`.
pub fn middle(channels: usize) -> Vec<[f32; 4]> {
    let points = channels / 16;
    (0..points / 16).flat_map(|k1| twiddles(k1 as f64 / points as f64)).collect()
}

/// Twiddles of the last pass, `[4][row]`: `exp(-2 pi i n k / N)` for the row's first channel `k`.
pub fn last(channels: usize) -> Vec<[f32; 4]> {
    let rows: Vec<_> =
        (0..channels / 16).map(|row| twiddles(first_channel(channels, row) as f64 / channels as f64)).collect();
    (0..4).flat_map(|i| rows.iter().map(move |row| row[i])).collect()
}

/// Roots `exp(-pi i k / N)` and halves of the gains of an input, `[m][piece][thread]`: a piece of 16 bytes is two of the numbers.
pub fn pairs(channels: usize, gain: impl Fn(usize) -> Complex64) -> Vec<[f32; 4]> {
    let threads = channels / 32;
    let mut table = Vec::with_capacity(24 * threads);
    for m in 0..8 {
        let channel = |thread, which| channel_of(channels, thread, m, which);
        let roots = |thread, which| root(channel(thread, which) as f64 / (2 * channels) as f64);
        let gains = |thread, which| {
            let gain = 0.5 * gain(channel(thread, which));
            [gain.re as f32, gain.im as f32]
        };
        let join = |[a, b]: [f32; 2], [c, d]: [f32; 2]| [a, b, c, d];
        table.extend((0..threads).map(|thread| join(roots(thread, 0), roots(thread, 2))));
        table.extend((0..threads).map(|thread| join(gains(thread, 0), gains(thread, 1))));
        table.extend((0..threads).map(|thread| join(gains(thread, 2), gains(thread, 3))));
    }
    table
}

/// Weights `[tap][column]` for samples of `bits` bits, and what the sums begin with `[column]`: samples come to the filter as `1.5 + x / 2^bits`.
pub fn weights(weights: &[f64], step: usize, bits: u32) -> (Vec<[f32; 4]>, Vec<[f32; 4]>) {
    let scale = 2f64.powi(bits as i32);
    let scaled: Vec<f32> = weights.iter().map(|&weight| (weight * scale) as f32).collect();
    // What the kernel's own weights, rounded, make of 1.5.
    let bias: Vec<f32> = (0..step)
        .map(|column| {
            (-1.5 * scaled[column..].iter().step_by(step).map(|&weight| f64::from(weight)).sum::<f64>()) as f32
        })
        .collect();
    let fours = |values: &[f32]| values.chunks_exact(4).map(|four| [four[0], four[1], four[2], four[3]]).collect();
    (fours(&scaled), fours(&bias))
}
