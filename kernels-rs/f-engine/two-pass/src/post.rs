//! From transformed points to the values of channels: the step from a complex to a real transform, gain, phase,
//! quantisation.
//!
//! With `z[n] = x[2 n] + i x[2 n + 1]` and its transform `Z`, the channels of `x` are
//!
//! ```text
//! 2 X[k]     = a + t               a = Z[k] + conj Z[N - k]
//! 2 X[N - k] = conj (a - t)        t = exp(-pi i k / N) (Z[k] - conj Z[N - k]) / i
//! ```
//!
//! in 4 additions and 8 fused multiply-adds for two channels. The 1/2 is in the gains. A channel's factor is its gain
//! times its phase; phases of channels `N / L` apart differ by powers of one step.
//!
//! A thread has `L` values of each of two sequences, `a` and `b`, of channels `first + d N / L`; value `d` of the one
//! and `L - 1 - d` of the other are a pair. One thread has two sequences that are their own mirror images: of `a`,
//! channels `0, N/L, ...`, value `d` goes with value `L - d`, of `b` with `L - 1 - d`. It selects its partners so that
//! the same code serves: pairs 1 to `L/2 - 1` are of `a`, the rest of `b`, and pair 0 has channels 0 and `N / 2`, whose
//! values are `Re Z + Im Z` and `conj Z`.

use fringes_device::fused::fma;
use fringes_device::{Global, GlobalMut, Shared, Value, unroll};
use fringes_kernels_common::complex::{Complex, mul, mul_add};
use fringes_kernels_common::dither;
use fringes_kernels_common::quantise::Output;
use fringes_kernels_common::rotation::unit_approx;

use crate::butterfly::Radix;
use crate::rows::Arguments;

/// `(2 X[k], 2 X[N - k])` of `p = Z[k]`, `q = Z[N - k]`, `w = exp(-pi i k / N)`.
#[inline(always)]
pub fn real_pair(p: Complex, q: Complex, w: Complex) -> (Complex, Complex) {
    let a = [p[0] + q[0], p[1] - q[1]];
    let d = [p[0] - q[0], p[1] + q[1]];
    let low = [fma(w[0], d[1], fma(w[1], d[0], a[0])), fma(w[1], d[1], fma(-w[0], d[0], a[1]))];
    let high = [fma(-w[0], d[1], fma(-w[1], d[0], a[0])), fma(w[1], d[1], fma(-w[0], d[0], -a[1]))];
    (low, high)
}

/// The two sequences of a thread.
pub struct Values<T> {
    /// The first one.
    pub a: T,
    /// The second one.
    pub b: T,
}

/// What a thread makes its values with.
#[derive(Clone, Copy)]
pub struct Post<'a, T> {
    /// Tables, output.
    pub arguments: &'a Arguments<T>,
    /// The thread's slot.
    pub slot: u32,
    /// Slots of the block.
    pub slots: u32,
    /// First channels of the sequences.
    pub first: [u32; 2],
    /// Whether the sequences are their own mirror images.
    pub own: bool,
    /// Powers of the factor from value to value, `[power][slot]`.
    pub powers: Shared<[f32; 2]>,
    /// Entries of the slots.
    pub entries: Shared<[u32; 4]>,
}

#[inline(always)]
fn select(condition: bool, a: Complex, b: Complex) -> Complex {
    [core::hint::select_unpredictable(condition, a[0], b[0]), core::hint::select_unpredictable(condition, a[1], b[1])]
}

#[inline(always)]
fn choose(condition: bool, a: u32, b: u32) -> u32 {
    core::hint::select_unpredictable(condition, a, b)
}

/// What all values of a slot share.
#[derive(Clone, Copy)]
struct Slot {
    /// Second word of the dither's key.
    key: u32,
    /// What dither is multiplied by, and what a sum begins with.
    dither: (f32, f32),
}

/// Values of channels that follow each other at a constant distance: what there is of the first of them, from which the
/// others are constants away.
#[derive(Clone, Copy)]
struct Run {
    /// The first channel.
    channel: u32,
    /// Gains of the input, and roots, from the first channel on.
    gains: Global<[f32; 2]>,
    roots: Global<[f32; 2]>,
    /// What the hash of its dither begins with.
    start: u32,
    /// Address of its place.
    address: u64,
}

/// A value on its way.
#[derive(Clone, Copy)]
struct Target {
    channel: u32,
    gain: Complex,
    start: u32,
    address: u64,
}

impl Run {
    /// The value `ahead` channels and `bytes` bytes further on.
    ///
    /// # Safety
    /// - The gains have the channel.
    #[inline(always)]
    unsafe fn target(&self, ahead: u32, bytes: u64) -> Target {
        Target {
            channel: self.channel + ahead,
            gain: self.gains.load(ahead as usize),
            start: self.start.wrapping_add(dither::hash_start(ahead, 0)),
            address: self.address.wrapping_add(bytes),
        }
    }
}

impl<T: Value> Post<'_, T> {
    /// Makes and stores the values of all channels; returns how many saturated.
    ///
    /// # Safety
    /// Tables and entries are those of the channels and of the slot, whose places the output has.
    #[inline(always)]
    pub unsafe fn run<const ROWS: u32, const RADIX: u32, L: Radix, O: Output<Stored = T>, const ALL: bool>(
        &self,
        values: Values<L::Points>,
    ) -> u32 {
        let entry = |i: u32| self.entries.load((self.slot * 3 + i) as usize);
        let (e, f, g) = (entry(0), entry(1), entry(2));
        let long = |low: u32, high: u32| low as u64 | (high as u64) << 32;
        let (phase, slope) = (long(e[0], e[1]), long(e[2], e[3]));
        let Arguments { launch, roots, gains, .. } = self.arguments;
        let channels = ROWS * self.arguments.rows::<RADIX>();
        // Channels from value to value of a sequence.
        let stride = channels / L::POINTS as u32;
        let slot = Slot { key: f[1], dither: if launch.dither { (dither::STEP, dither::BASE) } else { (0.0, 0.0) } };
        let own = self.own;
        let factor = |channel: u32| unit_approx(phase.wrapping_add(slope.wrapping_mul(channel as u64)));
        let power = |i: usize| self.powers.load(i * self.slots as usize + self.slot as usize);
        let (factor_a, factor_b) = (factor(self.first[0]), factor(self.first[1]));
        let after = select(own, mul(factor_a, power(1)), factor_b);
        let before = select(own, factor_b, factor_a);
        // Places from value to value.
        let bytes = T::BYTES as u64 * launch.channel_stride;
        let place = long(f[2], f[3]);
        let advance = bytes.wrapping_mul(stride as u64);
        let gains = gains.part((g[0] * channels) as usize, channels as usize);
        let run = |channel: u32| Run {
            channel,
            gains: gains.part(channel as usize, channels as usize - channel as usize),
            roots: roots.part(channel as usize, roots.len() - channel as usize),
            start: dither::hash_start(channel, f[0]),
            address: place
                .wrapping_add((channel.wrapping_sub(launch.first_channel) as i32 as i64 as u64).wrapping_mul(bytes)),
        };
        // The four kinds of values: first channels of the sequences that they are of.
        let mut low = run(self.first[0]);
        let mut high = run(choose(own, stride, self.first[1]));
        let mut saturated = 0;
        unroll!(d in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 {
            if d < L::POINTS {
                let (a, b) = (values.a.as_ref(), values.b.as_ref());
                let mirror = L::POINTS - 1 - d;
                // Points of the pair, and their factors.
                let (p, q, factor_low, factor_high);
                if d < L::POINTS / 2 {
                    p = a[d];
                    q = select(own, a[(L::POINTS - d) % L::POINTS], b[mirror]);
                    (factor_low, factor_high) = (factor_a, after);
                } else {
                    if d == L::POINTS / 2 {
                        low = run(choose(own, self.first[1], self.first[0]));
                        high = run(self.first[1]);
                    }
                    p = select(own, b[d], a[d]);
                    q = b[mirror];
                    (factor_low, factor_high) = (before, factor_b);
                }
                let (x, mut y) = real_pair(p, q, low.roots.load(d * stride as usize));
                let phase_low = mul(factor_low, power(d));
                let mut phase_high = mul(factor_high, power(mirror));
                let ahead = mirror as u32 * stride;
                let of_high;
                if d == 0 {
                    // Twice conj Z[N / 2].
                    let middle = a[L::POINTS / 2];
                    y = select(own, [2.0 * middle[0], -2.0 * middle[1]], y);
                    phase_high = select(own, mul(factor_a, power(L::POINTS / 2)), phase_high);
                    of_high = run(choose(own, channels / 2, high.channel + ahead)).target(0, 0);
                } else {
                    of_high = high.target(ahead, advance.wrapping_mul(mirror as u64));
                }
                let of_low = low.target(d as u32 * stride, advance.wrapping_mul(d as u64));
                saturated += self.put::<O, ALL>(slot, x, phase_low, of_low);
                saturated += self.put::<O, ALL>(slot, y, phase_high, of_high);
            }
        });
        saturated
    }

    /// Applies gain and phase to a value, quantises and stores it; returns 1 if it saturated.
    ///
    /// # Safety
    /// - With `ALL`, or where `channel` is put out, `address` is that of its place in the output, which no other
    ///   thread stores.
    #[inline(always)]
    unsafe fn put<O: Output<Stored = T>, const ALL: bool>(
        &self,
        slot: Slot,
        x: Complex,
        phase: Complex,
        Target { channel, gain, start, address }: Target,
    ) -> u32 {
        let launch = self.arguments.launch;
        let factor = mul(phase, gain);
        let v = if O::INTEGER {
            let v = mul_add(factor, x, [slot.dither.1; 2]);
            dither::add(v, dither::hash(start, slot.key), slot.dither.0)
        } else {
            mul(factor, x)
        };
        let (value, saturated) = O::store(v);
        if ALL || channel.wrapping_sub(launch.first_channel) < launch.channels {
            GlobalMut::<T>::from_raw_parts(address, 1).store(0, value);
            saturated as u32
        } else {
            0
        }
    }
}
