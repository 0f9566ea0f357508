//! Where weights come from.

use fringes_device::Global;
use fringes_kernels_common::rotation::{high, unit};

/// Weights of a beam in a channel.
pub(crate) trait Source {
    /// Whether all are there.
    fn fits(&self) -> bool;

    /// The weight of an input.
    ///
    /// # Safety
    /// All are there, and beam, channel and input exist.
    unsafe fn weight(&self, beam: u32, channel: u32, input: u32) -> [f32; 2];

    /// A bound of the magnitude of its parts, the same for all lanes once each has seen its inputs: the largest.
    ///
    /// # Safety
    /// As for the weight.
    unsafe fn magnitude(&self, beam: u32, channel: u32, input: u32) -> f32;
}

/// Weights `[beam][channel][input]`.
pub(crate) struct Given {
    pub(crate) weights: Global<[f32; 2]>,
    pub(crate) channels: u32,
    pub(crate) inputs: u32,
    pub(crate) beams: u32,
}

impl Source for Given {
    #[inline(always)]
    fn fits(&self) -> bool {
        let each = u64::from(self.channels) * u64::from(self.inputs);
        each < 1 << 40 && each * u64::from(self.beams) <= self.weights.len() as u64
    }

    #[inline(always)]
    unsafe fn weight(&self, beam: u32, channel: u32, input: u32) -> [f32; 2] {
        let row = u64::from(beam) * u64::from(self.channels) + u64::from(channel);
        self.weights.load((row * u64::from(self.inputs) + u64::from(input)) as usize)
    }

    #[inline(always)]
    unsafe fn magnitude(&self, beam: u32, channel: u32, input: u32) -> f32 {
        let [re, im] = self.weight(beam, channel, input);
        re.abs().max(im.abs())
    }
}

/// Phases in 2^-64 turns, and what they grow by from channel to channel, and gains, `[beam][input]`.
pub(crate) struct Steered {
    pub(crate) phases: Global<u64>,
    pub(crate) slopes: Global<u64>,
    pub(crate) gains: Global<f32>,
    pub(crate) inputs: u32,
    pub(crate) beams: u32,
}

impl Source for Steered {
    #[inline(always)]
    fn fits(&self) -> bool {
        let all = u64::from(self.inputs) * u64::from(self.beams);
        let least = self.phases.len().min(self.slopes.len()).min(self.gains.len());
        all <= least as u64
    }

    #[inline(always)]
    unsafe fn weight(&self, beam: u32, channel: u32, input: u32) -> [f32; 2] {
        let at = (u64::from(beam) * u64::from(self.inputs) + u64::from(input)) as usize;
        let slope = self.slopes.load(at).wrapping_mul(u64::from(channel));
        let [re, im] = unit(high(self.phases.load(at).wrapping_add(slope)));
        let gain = self.gains.load(at);
        [gain * re, gain * im]
    }

    #[inline(always)]
    unsafe fn magnitude(&self, beam: u32, _: u32, input: u32) -> f32 {
        self.gains.load((u64::from(beam) * u64::from(self.inputs) + u64::from(input)) as usize).abs()
    }
}
