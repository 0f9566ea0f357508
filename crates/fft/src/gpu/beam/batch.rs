//! Beams of host arrays, formed on a device in steps.

use std::borrow::Cow;

use fringes_backend::MemoryNeed;
use fringes_gpu::{Buffer, Device};
use ndarray::{ArrayView2, ArrayView3, s};

use super::DeviceBeams;
use crate::{BeamFft, BeamOutput, BeamSample, FeedLines, FftError};

/// Device memory for voltages, flags and beams of one step where the backend sets no limit.
const WORKSPACE_BYTES: u64 = 1 << 30;

/// Device memory that [`BeamFft::form`] takes for voltages of so many channels and times, but for gains and phases. The workspace is what the default steps
/// of at most 1 GiB need; a limit ([`Backend::with_memory_limit`](fringes_backend::Backend::with_memory_limit)) makes steps smaller.
pub fn memory<V: BeamSample, O: BeamOutput>(lines: FeedLines, channels: usize, times: usize) -> MemoryNeed {
    let product = |numbers: &[usize]| numbers.iter().fold(1u64, |product, &n| product.saturating_mul(n as u64));
    MemoryNeed {
        input_bytes: product(&[channels, times, lines.inputs(), size_of::<V>()]),
        output_bytes: product(&[channels, times, lines.beams(), size_of::<O>()]),
        workspace_bytes: Step::new::<V, O>(lines, channels, times, None).bytes::<V, O>(lines),
        smallest_step_bytes: Step { channels: 1, times: 1 }.bytes::<V, O>(lines),
    }
}

/// How much is sent at once: all times of some channels, or some times of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Step {
    channels: usize,
    times: usize,
}

impl Step {
    /// The largest step within the limit; the smallest there is if not even that fits.
    fn new<V: BeamSample, O: BeamOutput>(lines: FeedLines, channels: usize, times: usize, limit: Option<u64>) -> Self {
        let limit = limit.unwrap_or(WORKSPACE_BYTES);
        // Units of a launch are counted in 32 bits.
        let units = u32::MAX as usize / lines.lines();
        let fit = |bytes: u64, most: usize| usize::try_from(limit / bytes.max(1)).unwrap_or(most).clamp(1, most.max(1));
        let all = times;
        let times = fit(Self { channels: 1, times: 1 }.bytes::<V, O>(lines), all.min(units));
        let whole = Self { channels: 1, times };
        let flags = (times as u64).saturating_mul(lines.inputs() as u64);
        let each = whole.bytes::<V, O>(lines).saturating_sub(flags).max(1);
        let left = usize::try_from(limit.saturating_sub(flags) / each).unwrap_or(usize::MAX);
        let whole = left.min(units / times).clamp(1, channels.max(1));
        Self { channels: if times < all { 1 } else { whole }, times }
    }

    /// Device memory of voltages, flags and beams.
    fn bytes<V, O>(&self, lines: FeedLines) -> u64 {
        let (channels, times) = (self.channels as u64, self.times as u64);
        let of = |count: usize, bytes: usize| (count as u64).saturating_mul(bytes as u64);
        let spectrum = of(lines.inputs(), size_of::<V>()).saturating_add(of(lines.beams(), size_of::<O>()));
        let flags = times.saturating_mul(lines.inputs() as u64);
        channels.saturating_mul(times).saturating_mul(spectrum).saturating_add(flags)
    }
}

/// Forms beams `[channel][time][beam]` from voltages `[channel][time][input]`, of checked shapes.
pub(crate) fn form_beams<V: BeamSample, O: BeamOutput>(
    plan: &BeamFft<V, O>,
    device: &Device,
    limit: Option<u64>,
    voltages: ArrayView3<'_, V>,
    presence: Option<ArrayView2<'_, bool>>,
    out: &mut [O],
) -> Result<(), FftError> {
    let (channels, times, _) = voltages.dim();
    if out.is_empty() {
        return Ok(());
    }
    let lines = plan.lines();
    let stream = device.new_stream()?;
    let beams = DeviceBeams::load(&stream, plan, channels)?;
    let step = Step::new::<V, O>(lines, channels, times, limit);
    let samples = step.channels * step.times * lines.inputs();
    let mut device_voltages = Buffer::<V>::alloc(device, samples)?;
    let flags = if presence.is_some() { step.times * lines.inputs() } else { 0 };
    let mut device_flags = Buffer::<u8>::alloc(device, flags)?;
    let mut device_beams = Buffer::<O>::alloc(device, step.channels * step.times * lines.beams())?;
    for time in (0..times).step_by(step.times) {
        let end = times.min(time + step.times);
        if let Some(presence) = &presence {
            let flags: Vec<u8> = presence.slice(s![time..end, ..]).iter().map(|&flag| u8::from(flag)).collect();
            device_flags.slice_mut(..flags.len())?.copy_from_slice(&stream, &flags)?;
        }
        for channel in (0..channels).step_by(step.channels) {
            let last = channels.min(channel + step.channels);
            let part = voltages.slice(s![channel..last, time..end, ..]);
            let part = part.as_slice().map_or_else(|| Cow::Owned(part.iter().copied().collect()), Cow::Borrowed);
            device_voltages.slice_mut(..part.len())?.copy_from_slice(&stream, &part)?;
            let present = presence.is_some().then(|| device_flags.view());
            let (input, output) = (device_voltages.view(), &mut device_beams.view_mut());
            beams.form_channels(&stream, channel..last, end - time, input, present, output)?;
            let first = (channel * times + time) * lines.beams();
            let count = (last - channel) * (end - time) * lines.beams();
            device_beams.slice(..count)?.copy_to_slice(&stream, &mut out[first..first + count])?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use fringes_types::{Complex, Complex4};

    type C32 = Complex<f32>;

    #[test]
    fn steps_stay_within_the_limit_and_are_of_one_channel_or_of_all_times() {
        let lines = FeedLines::new(4, 256, 2, 512).unwrap_or_else(|error| panic!("{error}"));
        let step = |limit| Step::new::<Complex4, C32>(lines, 16, 1000, limit);
        let bytes = |step: Step| step.bytes::<Complex4, C32>(lines);
        // 2048 bytes of voltages and of flags, 32768 of beams.
        assert_eq!(bytes(Step { channels: 1, times: 1 }), 2048 + 2048 + 32768);
        assert_eq!(step(None), Step { channels: 16, times: 1000 });
        let least = Step { channels: 1, times: 1 };
        for limit in [1, bytes(least), 3 * bytes(least), 1 << 20, 40 << 20, 100 << 20] {
            let step = step(Some(limit));
            assert!(step == least || bytes(step) <= limit, "{step:?} at {limit}");
            assert!(step.channels == 1 || step.times == 1000);
            let need = memory::<Complex4, C32>(lines, 16, 1000);
            assert!(limit < need.smallest_step_bytes || bytes(step) <= limit);
        }
        assert_eq!(memory::<Complex4, C32>(lines, 16, 1000).workspace_bytes, bytes(step(None)));
    }
}
