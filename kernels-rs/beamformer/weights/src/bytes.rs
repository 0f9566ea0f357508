//! Sums of detected beams as bytes.

use fringes_device::control::trap;
use fringes_device::index::{ctaid_x, nctaid_x, tid_x};
use fringes_device::{Global, GlobalMut};

/// 1.5 2^52: what is added to it is rounded to a whole number, half to even.
const WHOLE: f64 = 6_755_399_441_055_744.0;

/// Sums `[channel][time][number]`, a beam having one or four numbers.
pub(crate) struct Bytes {
    pub(crate) sums: Global<f32>,
    /// Scales and offsets `[channel][number]`.
    pub(crate) scale: Global<f32>,
    pub(crate) offset: Global<f32>,
    pub(crate) out: GlobalMut<u8>,
    /// Sums of each beam that did not fit.
    pub(crate) saturated: GlobalMut<u64>,
    pub(crate) channels: u32,
    pub(crate) times: u32,
    pub(crate) beams: u32,
    /// Numbers of a beam.
    pub(crate) products: u32,
}

impl Bytes {
    /// Numbers of a channel and time.
    #[inline(always)]
    fn row(&self) -> u64 {
        u64::from(self.beams) * u64::from(self.products)
    }

    #[inline(always)]
    fn fits(&self) -> bool {
        let spectra = u64::from(self.channels) * u64::from(self.times);
        if self.products == 0 || self.products > 4 || self.beams > 1 << 24 || spectra >= 1 << 36 {
            return false;
        }
        let (all, scales) = (spectra * self.row(), u64::from(self.channels) * self.row());
        all <= self.sums.len() as u64
            && all <= self.out.len() as u64
            && scales <= self.scale.len() as u64
            && scales <= self.offset.len() as u64
            && u64::from(self.beams) <= self.saturated.len() as u64
    }

    #[inline(always)]
    #[allow(clippy::eq_op, clippy::manual_clamp, clippy::manual_range_contains, reason = "one instruction each")]
    pub(crate) fn run(&self) {
        if !self.fits() {
            trap();
            return;
        }
        let row = self.row();
        let all = u64::from(self.channels) * u64::from(self.times) * row;
        let mut index = u64::from(ctaid_x()) * 256 + u64::from(tid_x());
        let step = u64::from(nctaid_x()) * 256;
        while index < all {
            let spectrum = index.checked_div(row).unwrap_or_default();
            let number = index - spectrum * row;
            let channel = spectrum.checked_div(u64::from(self.times)).unwrap_or_default();
            let at = (channel * row + number) as usize;
            // SAFETY: the numbers fit.
            unsafe {
                let sum = f64::from(self.sums.load(index as usize));
                // The product of two f32 is exact.
                let value = f64::from(self.offset.load(at)) + f64::from(self.scale.load(at)) * sum;
                let near = value.max(-1.0).min(256.0) + WHOLE - WHOLE;
                // NaN does not fit, and is 0.
                let fits = value == value && near >= 0.0 && near <= 255.0;
                let byte = if value == value { near.max(0.0).min(255.0) } else { 0.0 };
                self.out.store(index as usize, byte as u32 as u8);
                if !fits {
                    let beam = number.checked_div(u64::from(self.products)).unwrap_or_default();
                    self.saturated.atomic_add(beam as usize, 1);
                }
            }
            index += step;
        }
    }
}
