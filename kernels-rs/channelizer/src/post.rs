//! From two rows of transformed points to the values of 32 channels: the step from a complex to a real transform, gain, phase, quantisation.
//!
//! With `z[n] = x[2 n] + i x[2 n + 1]` and its transform `Z`, the channels of `x` are
//!
//! ```text
//! 2 X[k]     = a + t               a = Z[k] + conj Z[N - k]
//! 2 X[N - k] = conj (a - t)        t = exp(-pi i k / N) (Z[k] - conj Z[N - k]) / i
//! ```
//!
//! in 4 additions and 8 fused multiply-adds for two channels. The two come from two rows of one thread ([`crate::transform::rows`]). The 1/2 is in the gains.
//! A channel's factor is its gain times its phase; phases of channels `N / 16` apart differ by powers of one step, which all threads share.
//!
//! Thread 0 has the rows that are their own partners: of the first, channels `0, N/16, ...`, value `i` goes with value `16 - i`, of
//! the second with `15 - i`. It selects its partners so that the same code serves: pairs 1 to 7 are of the first row, 8 to 15 of the second, and pair 0
//! has channels 0 and `N / 2`, whose values are `Re Z + Im Z` and `conj Z`.

use fringes_device::fused::fma;
use fringes_device::{Global, Shared, unroll};

use crate::butterfly::Radix;
use crate::complex::{Complex, mul, mul_add};
use crate::phase::{Spectrum, step};
use crate::quantise::{DITHER_BASE, Output, dither, hash};
use crate::transform::{first_channel, rows};

/// `(2 X[k], 2 X[N - k])` of `p = Z[k]`, `q = Z[N - k]`, `w = exp(-pi i k / N)`.
#[inline(always)]
pub fn real_pair(p: Complex, q: Complex, w: Complex) -> (Complex, Complex) {
    let a = [p[0] + q[0], p[1] - q[1]];
    let d = [p[0] - q[0], p[1] + q[1]];
    let low = [fma(w[0], d[1], fma(w[1], d[0], a[0])), fma(w[1], d[1], fma(-w[0], d[0], a[1]))];
    let high = [fma(-w[0], d[1], fma(-w[1], d[0], a[0])), fma(w[1], d[1], fma(-w[0], d[0], -a[1]))];
    (low, high)
}

/// Pieces of 16 bytes of a thread's tables for two pairs: roots of pair `m` and `15 - m`, gains of the lower and the upper channel of pair `m`, and
/// of pair `15 - m`.
pub const PIECES: u32 = 3;

/// The channels of a thread's 32 values, value `4 m + which`: lower and upper channel of pair `m`, lower and upper channel of pair `15 - m`.
#[derive(Clone, Copy)]
pub struct Channels {
    /// Channels from value to value of a row, `N / 16`.
    stride: u32,
    /// First channels of the four kinds of values.
    first: [u32; 4],
    /// Whether this is thread 0, whose rows are their own partners.
    own_partners: bool,
}

impl Channels {
    /// Those of thread `thread` of a spectrum.
    #[inline(always)]
    pub fn new<R: Radix>(thread: u32) -> Self {
        let (a, b) = rows::<R>(thread);
        let (a, b) = (first_channel::<R>(a), first_channel::<R>(b));
        let (stride, own_partners) = (16 * R::POINTS as u32, thread == 0);
        Self { stride, first: [a, choose(own_partners, stride, b), choose(own_partners, b, a), b], own_partners }
    }

    /// Channel of value `4 m + which`.
    #[inline(always)]
    pub fn channel(&self, m: u32, which: usize) -> u32 {
        let steps = if which == 0 || which == 3 { m } else { 15 - m };
        let channel = self.first[which] + steps * self.stride;
        // The pair of channel 0 is not channel N, but has room for channel N / 2.
        if which == 1 && m == 0 { choose(self.own_partners, 8 * self.stride, channel) } else { channel }
    }
}

#[inline(always)]
fn select(condition: bool, a: Complex, b: Complex) -> Complex {
    [core::hint::select_unpredictable(condition, a[0], b[0]), core::hint::select_unpredictable(condition, a[1], b[1])]
}

#[inline(always)]
fn choose(condition: bool, a: u32, b: u32) -> u32 {
    core::hint::select_unpredictable(condition, a, b)
}

/// What a thread makes its values with.
#[derive(Clone, Copy)]
pub struct Post {
    /// Threads of a spectrum.
    pub team: u32,
    /// This thread's number among them.
    pub member: u32,
    /// Its channels.
    pub channels: Channels,
    /// Tables of the job's input, `[m][piece][thread]`.
    pub tables: Global<[f32; 4]>,
    /// Entries of the spectra ([`crate::phase`]).
    pub entries: Shared<[u32; 4]>,
}

impl Post {
    /// Makes the values of a spectrum's rows `a` and `b` and stores value `v` at `v team + member`; returns how many saturated. With `DITHER` they are
    /// dithered.
    ///
    /// # Safety
    /// The tables are those of the channels, `entries` has the spectrum, `out` has 32 values of each thread; nobody uses the spectrum's points any more.
    #[inline(always)]
    pub unsafe fn run<O: Output, const DITHER: bool>(
        self,
        spectrum: u32,
        a: [Complex; 16],
        b: [Complex; 16],
        out: Shared<O::Stored>,
    ) -> u32 {
        let (entry, _) = Spectrum::load(self.entries, spectrum);
        let own = self.channels.own_partners;
        let (factor_a, factor_b) = (entry.factor(self.channels.first[0]), entry.factor(self.channels.first[3]));
        let power = |i: usize| step(self.entries, spectrum, i);
        let factors =
            [factor_a, select(own, mul(factor_a, power(1)), factor_b), select(own, factor_b, factor_a), factor_b];
        let mut saturated = 0;
        // Pairs m and 15 - m follow each other: they share two powers, and what they are made of is done with.
        unroll!(m in 0 1 2 3 4 5 6 7 {
            let powers = (power(m), power(15 - m));
            let piece = |i: u32| self.tables.load(((m as u32 * PIECES + i) * self.team + self.member) as usize);
            let roots = piece(0);

            let gains = piece(1);
            let q = select(own, a[(16 - m) % 16], b[15 - m]);
            let (x, mut y) = real_pair(a[m], q, [roots[0], roots[1]]);
            let mut factor = mul(factors[1], powers.1);
            if m == 0 {
                // Twice conj Z[N / 2].
                y = select(own, [2.0 * a[8][0], -2.0 * a[8][1]], y);
                factor = select(own, mul(factor_a, power(8)), factor);
            }
            saturated += self.put::<O, DITHER>(x, mul(factors[0], powers.0), [gains[0], gains[1]], m, 0, entry.key, out);
            saturated += self.put::<O, DITHER>(y, factor, [gains[2], gains[3]], m, 1, entry.key, out);

            let gains = piece(2);
            let p = select(own, b[15 - m], a[15 - m]);
            let (x, y) = real_pair(p, b[m], [roots[2], roots[3]]);
            saturated += self.put::<O, DITHER>(x, mul(factors[2], powers.1), [gains[0], gains[1]], m, 2, entry.key, out);
            saturated += self.put::<O, DITHER>(y, mul(factors[3], powers.0), [gains[2], gains[3]], m, 3, entry.key, out);
        });
        saturated
    }

    /// Applies gain and phase to a value, quantises and stores it; returns 1 if it saturated.
    #[inline(always)]
    unsafe fn put<O: Output, const DITHER: bool>(
        &self,
        x: Complex,
        factor: Complex,
        gain: Complex,
        m: usize,
        which: usize,
        key: [u32; 2],
        out: Shared<O::Stored>,
    ) -> u32 {
        let factor = mul(factor, gain);
        let v = if DITHER {
            dither(mul_add(factor, x, [DITHER_BASE; 2]), hash(self.channels.channel(m as u32, which), key))
        } else {
            mul(factor, x)
        };
        let (value, saturated) = O::store(v);
        out.store(((4 * m + which) as u32 * self.team + self.member) as usize, value);
        saturated as u32
    }
}
