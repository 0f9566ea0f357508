//! From transformed points to the values of channels of complex samples: the last digit, gain, phase, quantisation.
//!
//! A transformed point is a channel's value as it is: bin `k` is channel `(k + N / 2) mod N`, DC in the middle. Of the
//! last digit's `L` values of a thread, `N / L` bins apart, value `d` is of the channel `first + p N / L` with
//! `p = (d + L / 2) mod L`, so that the order costs nothing.
//!
//! # Half of the channels
//! Where all channels that are put out are of the inner half, `N / 4` to `3 N / 4 - 1`, the others are not made: of `L`
//! values of the last digit the places `p` from `L / 4` to `3 L / 4 - 1` are, which leaves out what only the others
//! need of its transform, of phases, gains, dither and rounding, and all their stores. Of two values it is the one or
//! the other: the first bin says which.

use fringes_device::{GlobalMut, Shared, opaque, unroll};
use fringes_kernels_common::complex::{Complex, mul, mul_add};
use fringes_kernels_common::dither;
use fringes_kernels_common::quantise::Output;
use fringes_kernels_common::rotation::unit_approx;

use crate::butterfly::Twiddled;
use crate::rows::{Arguments, last_factors, last_points, slots};

/// What all values of a slot share.
#[derive(Clone, Copy)]
struct Slot {
    phase: u64,
    slope: u64,
    /// Words of the dither's key.
    key: [u32; 2],
    /// Address of the place of channel 0 in the output, which need not be there.
    place: u64,
    /// First gain of the input.
    gains: u32,
    /// What dither is multiplied by, and what a sum begins with.
    dither: (f32, f32),
    /// Bytes from channel to channel.
    bytes: u64,
    /// Channels that are put out.
    channels: (u32, u32),
}

/// The last digit, and everything after it, of a slot that has a spectrum; returns how many values saturated. With
/// `INNER`, of the inner half of the channels only.
///
/// # Safety
/// - As [`run`](crate::rows::run); the slot has a spectrum, its entry and powers are there, and a barrier followed what
///   was exchanged.
/// - With `INNER` no channel of the outer half is put out.
#[inline(always)]
pub(crate) unsafe fn finish<const ROWS: u32, const RADIX: u32, L: Twiddled, O: Output, const INNER: bool>(
    arguments: &Arguments<O::Stored>,
    rows: [u32; 2],
    q: u32,
    slot: u32,
    exchange: Shared<[f32; 2]>,
    powers: Shared<[f32; 2]>,
    entries: Shared<[u32; 4]>,
) -> u32 {
    let slots = slots(ROWS);
    let radix = arguments.rows::<RADIX>();
    let (channels, points) = (ROWS * radix, L::POINTS as u32);
    // Channels from value to value.
    let stride = channels / points;
    let tasks = 16 / points;
    let entry = |i: u32| entries.load((slot * 3 + i) as usize);
    let (e, f, g) = (entry(0), entry(1), entry(2));
    let long = |low: u32, high: u32| low as u64 | (high as u64) << 32;
    let launch = arguments.launch;
    let bytes = <O::Stored as fringes_device::Value>::BYTES as u64 * launch.channel_stride;
    let of_slot = Slot {
        phase: long(e[0], e[1]),
        slope: long(e[2], e[3]),
        key: [f[0], f[1]],
        place: long(f[2], f[3]).wrapping_sub((launch.first_channel as u64).wrapping_mul(bytes)),
        gains: g[0] * channels,
        dither: if launch.dither { (dither::STEP, dither::BASE) } else { (0.0, 0.0) },
        bytes,
        channels: (launch.first_channel, launch.channels),
    };
    let mut beyond = 0;
    // A loop, so that the code of a task stays in the instruction cache.
    let mut j = 0;
    while j < tasks {
        let e = opaque((q + j * (ROWS / 16)) as i32) as u32;
        // Of two values and half of the channels, whether it is the first one: bins up to N / 4 are channels of the
        // upper half, those up to N / 2 of the lower one, of both rows.
        let upper = INNER && points == 2 && e < ROWS / 4;
        let channel = rows[0] + radix * e + if upper { channels / 2 } else { 0 };
        let run = at::<O>(arguments, of_slot, channel);
        unroll!(r in 0 1 {
            // From row to row half of the radix ahead.
            let (first, ahead) = (rows[0] + radix * e + r as u32 * radix / 2, r as u32 * radix / 2);
            let here = of_slot.bytes.wrapping_mul(ahead as u64);
            let phase = factor(of_slot, channel + ahead);
            let w = last_factors::<O::Stored, L>(arguments, first);
            let x = last_points::<ROWS, L>(exchange, r as u32, e, slot);
            if INNER && points == 2 {
                let w: Complex = w.as_ref()[0];
                let sign = core::hint::select_unpredictable(upper, 1.0f32, -1.0);
                let (a, b): (Complex, Complex) = (x.as_ref()[0], x.as_ref()[1]);
                let value = mul_add([sign * w[0], sign * w[1]], b, a);
                beyond += run.put::<O>(value, phase, ahead, here);
            } else {
                let values = L::twiddled(x, w);
                let advance = of_slot.bytes.wrapping_mul(stride as u64);
                unroll!(p in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 {
                    if p < L::POINTS && (!INNER || (p >= L::POINTS / 4 && p < 3 * L::POINTS / 4)) {
                        let value: Complex = values.as_ref()[(p + L::POINTS / 2) % L::POINTS];
                        let power = powers.load(p * slots as usize + slot as usize);
                        let turned = if p == 0 { phase } else { mul(phase, power) };
                        let bytes = here.wrapping_add(advance.wrapping_mul(p as u64));
                        beyond += run.put::<O>(value, turned, ahead + p as u32 * stride, bytes);
                    }
                });
            }
        });
        j += 1;
    }
    beyond
}

/// The phase of a channel.
#[inline(always)]
fn factor(slot: Slot, channel: u32) -> Complex {
    unit_approx(slot.phase.wrapping_add(slot.slope.wrapping_mul(channel as u64)))
}

/// Channels from one on, from which others are constants away.
#[derive(Clone, Copy)]
struct Run {
    /// The first channel's number among those that are put out.
    number: u32,
    channels: u32,
    gains: fringes_device::Global<[f32; 2]>,
    /// What the hash of its dither begins with, and the other word of the key.
    hash: (u32, u32),
    dither: (f32, f32),
    /// Address of its place.
    address: u64,
}

/// Channels from `channel` on.
///
/// # Safety
/// - The gains have the input's.
#[inline(always)]
unsafe fn at<O: Output>(arguments: &Arguments<O::Stored>, slot: Slot, channel: u32) -> Run {
    let gains = arguments.gains;
    let from = (slot.gains + channel) as usize;
    Run {
        number: channel.wrapping_sub(slot.channels.0),
        channels: slot.channels.1,
        gains: gains.part(from, gains.len() - from),
        hash: (dither::hash_start(channel, slot.key[0]), slot.key[1]),
        dither: slot.dither,
        address: slot.place.wrapping_add((channel as u64).wrapping_mul(slot.bytes)),
    }
}

impl Run {
    /// Applies gain and phase to the value `ahead` channels and `bytes` bytes further on, quantises it and stores it if
    /// it is put out; returns 1 if it saturated.
    ///
    /// # Safety
    /// - The gains have the channel; if it is put out, its place is in the output, and no other thread stores there.
    #[inline(always)]
    unsafe fn put<O: Output>(self, value: Complex, phase: Complex, ahead: u32, bytes: u64) -> u32 {
        let factor = mul(phase, self.gains.load(ahead as usize));
        let v = if O::INTEGER {
            let start = self.hash.0.wrapping_add(dither::hash_start(ahead, 0));
            dither::add(mul_add(factor, value, [self.dither.1; 2]), dither::hash(start, self.hash.1), self.dither.0)
        } else {
            mul(factor, value)
        };
        // So that this is not done where it is known that the value is put out, load by load, but for all at once.
        let unmoved = |part: f32| f32::from_bits(opaque(part.to_bits() as i32) as u32);
        let (value, saturated) = O::store([unmoved(v[0]), unmoved(v[1])]);
        if self.number.wrapping_add(ahead) < self.channels {
            GlobalMut::<O::Stored>::from_raw_parts(self.address.wrapping_add(bytes), 1).store(0, value);
            saturated as u32
        } else {
            0
        }
    }
}
