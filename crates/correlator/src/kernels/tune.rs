//! Measuring which kernel is fastest for a size, and in how many parts of the time.

use std::cell::RefCell;
use std::sync::{Mutex, OnceLock, PoisonError};

use fringes_gpu::tuning::{Cache, Candidate, Choice, DeviceKey, EventTimer, Origin, Sizes, Table, Tuner, source_hash};
use fringes_gpu::{Buffer, BufferView, Device, Stream};
use fringes_types::{Inputs, SampleFormat, VoltageSample};

use super::choose::{Chosen, Kernels};
use super::texts::MANIFESTS;
use super::{CorrelatorKernels, Work};
use crate::CorrelatorError;

/// What was measured and committed.
pub(super) const TABLE: &str = include_str!("../../tuning/correlate.txt");

/// How long a candidate of a sweep is warmed up, if that is not more than 100 runs.
const WARM_UP_MS: f64 = 20.0;

/// The tuner of a device.
pub(super) fn tuner(device: &Device) -> &'static Tuner {
    static TUNERS: OnceLock<Mutex<Vec<(DeviceKey, &'static Tuner)>>> = OnceLock::new();
    let key = DeviceKey::of(device.info());
    let mut tuners = TUNERS.get_or_init(Default::default).lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, tuner)) = tuners.iter().find(|(known, _)| *known == key) {
        return tuner;
    }
    let cache = Cache::open(&key, &source_hash(&MANIFESTS));
    // As many as there are kinds of devices, for as long as the program runs.
    let tuner: &'static Tuner = Box::leak(Box::new(Tuner::new(key.clone(), Table::parse_or_skip(TABLE), cache)));
    tuners.push((key, tuner));
    tuner
}

impl Kernels {
    /// The fastest candidate on scratch sums.
    pub(super) fn measure<V: VoltageSample>(
        &self,
        stream: &Stream,
        work: &Work,
        samples: BufferView<'_, u8>,
        most_parts: usize,
        tuner: &Tuner,
    ) -> Result<(Chosen, Origin), CorrelatorError> {
        let candidates = self.candidates(work, most_parts);
        let most = candidates.iter().map(|chosen| chosen.parts).max().unwrap_or(1);
        let length = most * work.channels() * self.inputs.triangle_len();
        let scratch = RefCell::new(Buffer::<V::PartialSum>::zeroed(stream, length)?);
        let of = |&chosen: &Chosen| {
            let scratch = &scratch;
            Candidate::<CorrelatorError>::new(self.choice(work, chosen), move || {
                self.add::<V>(stream, work, chosen, samples.into(), scratch.borrow_mut().view_mut())
            })
        };
        let timed = candidates.iter().map(of).collect();
        let mut timer = EventTimer::new(stream);
        let (choice, origin) = tuner.choose(&self.operation(work), &self.sizes(work), timed, &mut timer)?;
        let place = candidates.iter().position(|&chosen| self.choice(work, chosen) == choice);
        Ok((candidates[place.unwrap_or(0)], origin))
    }
}

/// A candidate that was measured.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    /// Name of the operation in tables.
    pub operation: String,
    /// Its sizes.
    pub sizes: Sizes,
    /// The candidate.
    pub choice: Choice,
    /// Median time in milliseconds.
    pub median_ms: f64,
}

/// Measures every kernel and number of parts that may be best for adding voltages of a size to sums, on random samples,
/// fastest first. `batches` of heaps, or else rows of `times` times.
///
/// # Errors
/// [`DeviceError::Gpu`](fringes_backend::DeviceError::Gpu) with what the driver says. Candidates that fail are left
/// out.
pub fn sweep<V: VoltageSample>(
    device: &Device,
    inputs: Inputs,
    channels: usize,
    times: usize,
    batches: Option<usize>,
) -> Result<Vec<Measured>, CorrelatorError> {
    let loaded = CorrelatorKernels::<V>::load(device, inputs)?;
    let kernels = &*loaded.kernels;
    let work = match batches {
        Some(batches) => Work::heaps(channels, batches, times / batches.max(1)),
        None => Work::rows(channels, times),
    };
    let most_parts = kernels.most_parts(channels);
    let stream = device.new_stream()?;
    let bytes = work.samples::<V>(inputs)? * size_of::<V>();
    // As random as data, whose power and clocks differ from those of zeros; the same 8 MiB over and over.
    let words: Vec<u64> = (0..1 << 20).map(|word| legal(scramble(word), V::FORMAT)).collect();
    let pattern = Buffer::from_slice(&stream, &words)?;
    let pattern = pattern.view().cast::<u8>()?;
    let mut samples = Buffer::<u8>::alloc(device, bytes)?;
    for start in (0..bytes).step_by(pattern.len()) {
        let length = pattern.len().min(bytes - start);
        samples.slice_mut(start..start + length)?.copy_from(&stream, pattern.slice(..length)?)?;
    }
    let samples = samples.view();
    let mut sums = Buffer::<V::PartialSum>::zeroed(&stream, most_parts * channels * inputs.triangle_len())?;
    let mut measured = Vec::new();
    for chosen in kernels.candidates(&work, most_parts) {
        let mut add = |_| kernels.add::<V>(&stream, &work, chosen, samples.into(), sums.view_mut());
        // As streams run: cold, kernels that take more power seem faster than they stay.
        let timing = fringes_gpu::time(&stream, 1, 1, &mut add).and_then(|once| {
            let warmup = (WARM_UP_MS / once.median_ms.max(0.001)).clamp(2.0, 100.0) as usize;
            fringes_gpu::time(&stream, warmup, 8, &mut add)
        });
        if let Ok(timing) = timing {
            let choice = kernels.choice(&work, chosen);
            let (operation, sizes) = (kernels.operation(&work), kernels.sizes(&work));
            measured.push(Measured { operation, sizes, choice, median_ms: timing.median_ms });
        }
    }
    stream.synchronize()?;
    measured.sort_by(|a, b| a.median_ms.total_cmp(&b.median_ms));
    Ok(measured)
}

/// Names of the operations that [`sweep`] measures, for [`Table::replace`].
pub const OPERATIONS: [&str; 10] = [
    "correlate_i4_add",
    "correlate_i8_add",
    "correlate_f16_add",
    "correlate_f32_add",
    "correlate_heaps_1_pol_i4_add",
    "correlate_heaps_1_pol_i8_add",
    "correlate_heaps_1_pol_f16_add",
    "correlate_heaps_2_pols_i4_add",
    "correlate_heaps_2_pols_i8_add",
    "correlate_heaps_2_pols_f16_add",
];

/// A word of legal samples: no most negative integer, and floats below 2 in magnitude.
fn legal(word: u64, format: SampleFormat) -> u64 {
    let each = |change: fn(u8) -> u8| u64::from_le_bytes(word.to_le_bytes().map(change));
    match format {
        SampleFormat::Int4 => each(|byte| {
            let byte = if byte & 0xf0 == 0x80 { byte | 0x10 } else { byte };
            if byte & 0x0f == 0x08 { byte | 0x01 } else { byte }
        }),
        SampleFormat::Int8 | SampleFormat::Int16 => each(|byte| if byte == 0x80 { 0x81 } else { byte }),
        SampleFormat::Float16 => word & 0xbfff_bfff_bfff_bfff,
        SampleFormat::Float32 => word & 0xbfff_ffff_bfff_ffff,
    }
}

/// A permutation of 64-bit words (splitmix64).
fn scramble(word: u64) -> u64 {
    let word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

#[cfg(test)]
mod tests {
    use super::super::choose::PARTS;
    use super::*;

    #[test]
    fn the_committed_table_can_be_read() {
        let table = Table::parse(TABLE).unwrap();
        for entry in table.sections().iter().flat_map(|section| &section.entries) {
            assert!(OPERATIONS.contains(&entry.kernel.as_str()), "{entry:?}");
            assert!(entry.choice.get("parts").is_some_and(|parts| PARTS.contains(&(parts as usize))), "{entry:?}");
        }
    }

    #[test]
    fn words_to_measure_with_are_legal_samples() {
        for word in (0..1000).map(scramble).chain([0x8080_8080_8080_8080, 0x8888_8888_8888_8888, u64::MAX]) {
            let bytes = legal(word, SampleFormat::Int4).to_le_bytes();
            assert!(bytes.iter().all(|&byte| fringes_types::Complex4(byte).is_sample()));
            let bytes = legal(word, SampleFormat::Int8).to_le_bytes();
            assert!(bytes.iter().all(|&byte| byte as i8 != i8::MIN));
            let float = f32::from_bits(legal(word, SampleFormat::Float32) as u32);
            assert!(float.abs() < 2.0, "{float}");
            let half = fringes_types::f16::from_bits(legal(word, SampleFormat::Float16) as u16);
            assert!(half.to_f32().abs() < 2.0, "{half}");
        }
    }
}
