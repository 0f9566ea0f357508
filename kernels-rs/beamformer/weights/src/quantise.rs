//! A beam's weights to the table.

use fringes_device::GlobalMut;
use fringes_device::arithmetic::prmt_b32;
use fringes_device::control::trap;
use fringes_device::convert::{cvt_rn_f16x2_f32, cvt_rni_s32_f32};
use fringes_device::index::{ctaid_x, nctaid_x, tid_x};
use fringes_device::warp::redux_sync_max_u32;

use crate::source::Source;
use crate::tied_array::{CHUNK_BYTES, LIMIT_8, LIMIT_16, MOST_INPUTS, Weights, byte_f16, column, place, run};

/// Warps of a block.
const WARPS: u32 = 8;

/// Exponent field of 2^-100: beams below are 0.
const LEAST: u32 = 127 - 100;

/// A table of weights, and the scales.
pub(crate) struct Table {
    /// Pairs of bytes.
    pub(crate) table: GlobalMut<u16>,
    pub(crate) scales: GlobalMut<f32>,
    pub(crate) channels: u32,
    pub(crate) inputs: u32,
    pub(crate) beams: u32,
    /// Columns of a tile.
    pub(crate) columns: u32,
    /// Neighbouring beams of a lane, at most.
    pub(crate) most_run: u32,
    /// What all scales are multiplied by.
    pub(crate) scale: f32,
}

impl Table {
    #[inline(always)]
    fn tiles(&self, weights: Weights) -> u32 {
        (self.beams << (weights.digits() - 1)).div_ceil(self.columns)
    }

    #[inline(always)]
    fn chunks(&self, weights: Weights) -> u32 {
        self.inputs.div_ceil(weights.chunk_inputs())
    }

    #[inline(always)]
    fn fits(&self, weights: Weights) -> bool {
        let columns = self.columns >= 16 && self.columns <= 128 && self.columns & (self.columns - 1) == 0;
        let run = self.most_run == 2 || self.most_run == 4 || self.most_run == 8;
        let inputs = self.inputs >= 1 && self.inputs <= MOST_INPUTS;
        if !(columns && run && inputs && self.beams >= 1 && self.beams <= 1 << 24) {
            return false;
        }
        let tiles = u64::from(self.channels) * u64::from(self.tiles(weights));
        let table = tiles * u64::from(self.chunks(weights)) * u64::from(self.columns * CHUNK_BYTES / 2);
        let scales = tiles * u64::from(self.columns >> (weights.digits() - 1));
        scales < 1 << 32 && table <= self.table.len() as u64 && scales <= self.scales.len() as u64
    }
}

/// What weights are multiplied by, and the scale.
#[inline(always)]
fn factors(weights: Weights, largest: f32) -> [f32; 2] {
    let exponent = largest.to_bits() >> 23;
    if exponent < LEAST {
        return [0.0; 2];
    }
    match weights {
        Weights::Int8 => [LIMIT_8 / largest, largest / LIMIT_8],
        Weights::Int16 => [LIMIT_16 / largest, largest / LIMIT_16],
        // 2^k with k = 13 + 127 - exponent, and 2^-k.
        Weights::Float16 => [267 - exponent.min(266), exponent - 13].map(|bits| f32::from_bits(bits << 23)),
    }
}

/// Makes the table.
#[inline(always)]
pub(crate) fn make<S: Source>(weights: Weights, table: &Table, source: &S) {
    if !table.fits(weights) || !source.fits() {
        trap();
        return;
    }
    let lane = tid_x() % 32;
    let beams = table.columns >> (weights.digits() - 1);
    let slots = table.tiles(weights) * beams;
    let all = u64::from(table.channels) * u64::from(slots);
    let mut index = u64::from(ctaid_x()) * u64::from(WARPS) + u64::from(tid_x() / 32);
    let step = u64::from(nctaid_x()) * u64::from(WARPS);
    while index < all {
        let channel = (index as u32).checked_div(slots).unwrap_or_default();
        let beam = index as u32 - channel * slots;
        // SAFETY: all is there, channel and beam are in the table, and each beam of a channel is one warp's.
        unsafe { one(weights, table, source, [channel, beam, lane]) }
        index += step;
    }
}

/// Makes a beam's weights of a channel.
///
/// # Safety
/// - The table and the source fit; the channel and the slot of the beam are in the table.
/// - All lanes of a warp call it, and no other warp for the same beam and channel.
#[inline(always)]
unsafe fn one<S: Source>(weights: Weights, table: &Table, source: &S, [channel, beam, lane]: [u32; 3]) {
    let mut largest = 0.0f32;
    if beam < table.beams {
        let mut input = lane;
        while input < table.inputs {
            largest = largest.max(source.magnitude(beam, channel, input));
            input += 32;
        }
    }
    // Numbers that are not negative are in the order of their bits.
    let largest = f32::from_bits(redux_sync_max_u32(largest.to_bits(), u32::MAX));
    let [factor, scale] = factors(weights, largest);

    let digits = weights.digits();
    let shift = digits - 1;
    let beams = table.columns >> shift;
    let run = run(table.most_run, table.columns, digits);
    let (tile, within) = (beam.checked_div(beams).unwrap_or_default(), beam & (beams - 1));
    let row = u64::from(channel) * u64::from(table.tiles(weights)) + u64::from(tile);
    if lane == 0 {
        table.scales.store((row * u64::from(beams) + u64::from(within)) as usize, scale * table.scale);
    }
    let (chunks, of_chunk) = (table.chunks(weights), weights.chunk_inputs());
    let chunk_words = u64::from(table.columns * CHUNK_BYTES / 2);
    let mut input = lane;
    while input < chunks * of_chunk {
        let mut parts = [0.0; 2];
        if beam < table.beams && input < table.inputs {
            let [re, im] = source.weight(beam, channel, input);
            parts = [re * factor, -im * factor];
        }
        let start = (row * u64::from(chunks) + u64::from(input / of_chunk)) * chunk_words;
        let inner = input % of_chunk;
        let put = |digit: u32, byte: u32, value: u32| {
            let at = place(column(within, digit, digits, run), byte) / 2;
            table.table.store((start + u64::from(at)) as usize, value as u16);
        };
        match weights {
            Weights::Float16 => {
                let pair = cvt_rn_f16x2_f32(parts[1], parts[0]);
                put(0, byte_f16(inner), pair);
                put(0, byte_f16(inner) + 2, pair >> 16);
            }
            Weights::Int8 => {
                let [re, im] = parts.map(|part| cvt_rni_s32_f32(part) as u32);
                put(0, 2 * inner, prmt_b32(re, im, 0x0040));
            }
            Weights::Int16 => {
                // The low digit is the lowest byte as it is.
                let [re, im] = parts.map(|part| cvt_rni_s32_f32(part));
                let [high_re, high_im] = [re, im].map(|part| (part.wrapping_add(128) >> 8) as u32);
                put(0, 2 * inner, prmt_b32(high_re, high_im, 0x0040));
                put(1, 2 * inner, prmt_b32(re as u32, im as u32, 0x0040));
            }
        }
        input += 32;
    }
}
