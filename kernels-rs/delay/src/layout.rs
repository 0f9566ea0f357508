//! Where the samples of a thread lie.
//!
//! A thread follows runs of neighbouring samples through the channels: a load each. Runs are numbered so that
//! neighbouring threads have neighbouring runs.
//!
//! | layout | dimensions | a run |
//! |---|---|---|
//! | [`Voltages`] | `[channel][time][input]` | inputs of a time; a thread has 2 or 4 runs with the same gains |
//! | [`Heaps`] | `[batch][antenna][channel][spectrum][pol]` | spectra of an antenna |
//! | [`Rows`] | `[channel][time / R][input][R]`, 128 bytes a row | times of an input |
//! | [`Any`] | as heaps or, with one heap and a polarisation an input, as voltages | one sample |

use crate::work::{divide, product};

/// The first run of a thread.
#[derive(Clone, Copy)]
pub struct Place {
    /// Its first sample in channel 0, in samples.
    pub start: u64,
    /// Time of that sample.
    pub time: u32,
    /// Input of that sample.
    pub input: u32,
}

/// A layout of voltages. Sample `j` of a run is input `j % INPUTS` at time `j / INPUTS` after the first ones.
pub trait Layout: Copy {
    /// Samples of a run.
    const SAMPLES: usize;
    /// Inputs of a run.
    const INPUTS: usize;
    /// Runs of a thread.
    const RUNS: usize;
    /// Channels whose runs are loaded at once.
    const AHEAD: usize;

    /// Samples of the whole array.
    fn samples(&self) -> u64;
    /// Whether runs are whole and numbers fit.
    fn whole(&self) -> bool;
    /// Channels.
    fn channels(&self) -> u32;
    /// Times.
    fn times(&self) -> u32;
    /// Inputs.
    fn inputs(&self) -> u32;
    /// Threads that have runs.
    fn threads(&self) -> u64;
    /// Samples from a channel to the next.
    fn channel_stride(&self) -> u64;
    /// First run of a thread.
    fn place(&self, thread: u32) -> Place;
    /// Times from a run of a thread to its next.
    fn later(&self) -> u32;
}

/// Voltages `[channel][time][input]` in runs of `N` inputs, `K` a thread.
#[derive(Clone, Copy)]
pub struct Voltages<const N: usize, const K: usize> {
    /// Channels.
    pub channels: u32,
    /// Times.
    pub times: u32,
    /// Inputs.
    pub inputs: u32,
}

impl<const N: usize, const K: usize> Layout for Voltages<N, K> {
    const SAMPLES: usize = N;
    const INPUTS: usize = N;
    const RUNS: usize = K;
    const AHEAD: usize = 8 / K;

    #[inline(always)]
    fn samples(&self) -> u64 {
        product(self.channel_stride(), self.channels.into())
    }

    #[inline(always)]
    fn whole(&self) -> bool {
        self.inputs.is_multiple_of(N as u32)
    }

    #[inline(always)]
    fn channels(&self) -> u32 {
        self.channels
    }

    #[inline(always)]
    fn times(&self) -> u32 {
        self.times
    }

    #[inline(always)]
    fn inputs(&self) -> u32 {
        self.inputs
    }

    #[inline(always)]
    fn threads(&self) -> u64 {
        u64::from(self.later()) * u64::from(self.inputs / N as u32)
    }

    #[inline(always)]
    fn channel_stride(&self) -> u64 {
        u64::from(self.times) * u64::from(self.inputs)
    }

    #[inline(always)]
    fn place(&self, thread: u32) -> Place {
        let runs = self.inputs / N as u32;
        let (time, run) = if runs.is_multiple_of(32) {
            // Neighbouring warps have the same inputs, so that the L1 keeps their gains.
            let (column, time) = divide(thread / 32, self.later());
            (time, 32 * column + thread % 32)
        } else {
            divide(thread, runs)
        };
        let input = run * N as u32;
        Place { start: u64::from(time) * u64::from(self.inputs) + u64::from(input), time, input }
    }

    #[inline(always)]
    fn later(&self) -> u32 {
        self.times.div_ceil(K as u32)
    }
}

/// Heaps `[batch][antenna][channel][spectrum][pol]` of `P` polarisations in runs of `N` samples.
#[derive(Clone, Copy)]
pub struct Heaps<const N: usize, const P: usize> {
    /// Channels.
    pub channels: u32,
    /// Antennas.
    pub antennas: u32,
    /// Batches.
    pub batches: u32,
    /// Spectra of a heap.
    pub spectra: u32,
}

impl<const N: usize, const P: usize> Heaps<N, P> {
    #[inline(always)]
    fn any(&self) -> Any {
        Any {
            channels: self.channels,
            antennas: self.antennas,
            pols: P as u32,
            batches: self.batches,
            spectra: self.spectra,
        }
    }
}

impl<const N: usize, const P: usize> Layout for Heaps<N, P> {
    const SAMPLES: usize = N;
    const INPUTS: usize = P;
    const RUNS: usize = 1;
    const AHEAD: usize = 4;

    #[inline(always)]
    fn samples(&self) -> u64 {
        self.any().samples()
    }

    #[inline(always)]
    fn whole(&self) -> bool {
        self.any().whole() && (u64::from(self.spectra) * P as u64).is_multiple_of(N as u64)
    }

    #[inline(always)]
    fn channels(&self) -> u32 {
        self.channels
    }

    #[inline(always)]
    fn times(&self) -> u32 {
        self.any().times()
    }

    #[inline(always)]
    fn inputs(&self) -> u32 {
        self.any().inputs()
    }

    #[inline(always)]
    fn threads(&self) -> u64 {
        self.any().threads() / N as u64
    }

    #[inline(always)]
    fn channel_stride(&self) -> u64 {
        self.any().channel_stride()
    }

    #[inline(always)]
    fn place(&self, thread: u32) -> Place {
        let (heap, run) = divide(thread, (self.channel_stride() / N as u64) as u32);
        let (batch, antenna) = divide(heap, self.antennas);
        let heap = u64::from(heap) * u64::from(self.channels) * self.channel_stride();
        let (start, spectrum) = (heap + u64::from(run) * N as u64, run * (N / P) as u32);
        Place { start, time: batch * self.spectra + spectrum, input: antenna * P as u32 }
    }

    #[inline(always)]
    fn later(&self) -> u32 {
        0
    }
}

/// Rows `[channel][time / R][input][R]`, `R` times each, in runs of `N` times.
#[derive(Clone, Copy)]
pub struct Rows<const N: usize, const R: usize> {
    /// Channels.
    pub channels: u32,
    /// Times.
    pub times: u32,
    /// Inputs.
    pub inputs: u32,
}

impl<const N: usize, const R: usize> Layout for Rows<N, R> {
    const SAMPLES: usize = N;
    const INPUTS: usize = 1;
    const RUNS: usize = 1;
    const AHEAD: usize = 4;

    #[inline(always)]
    fn samples(&self) -> u64 {
        product(self.channel_stride(), self.channels.into())
    }

    #[inline(always)]
    fn whole(&self) -> bool {
        self.times <= u32::MAX - R as u32
    }

    #[inline(always)]
    fn channels(&self) -> u32 {
        self.channels
    }

    #[inline(always)]
    fn times(&self) -> u32 {
        self.times
    }

    #[inline(always)]
    fn inputs(&self) -> u32 {
        self.inputs
    }

    #[inline(always)]
    fn threads(&self) -> u64 {
        self.channel_stride() / N as u64
    }

    #[inline(always)]
    fn channel_stride(&self) -> u64 {
        product(u64::from(self.times.div_ceil(R as u32)) * u64::from(self.inputs), R as u64)
    }

    #[inline(always)]
    fn place(&self, thread: u32) -> Place {
        let (row, run) = (thread / (R / N) as u32, thread % (R / N) as u32);
        let (block, input) = divide(row, self.inputs);
        Place { start: u64::from(thread) * N as u64, time: block * R as u32 + run * N as u32, input }
    }

    #[inline(always)]
    fn later(&self) -> u32 {
        0
    }
}

/// Heaps of any numbers of spectra and polarisations, sample by sample. Voltages `[channel][time][input]` are one heap
/// of one antenna whose polarisations are the inputs.
#[derive(Clone, Copy)]
pub struct Any {
    /// Channels.
    pub channels: u32,
    /// Antennas.
    pub antennas: u32,
    /// Polarisations of an antenna.
    pub pols: u32,
    /// Batches.
    pub batches: u32,
    /// Spectra of a heap.
    pub spectra: u32,
}

impl Layout for Any {
    const SAMPLES: usize = 1;
    const INPUTS: usize = 1;
    const RUNS: usize = 1;
    const AHEAD: usize = 4;

    #[inline(always)]
    fn samples(&self) -> u64 {
        product(
            product(product(self.batches.into(), self.antennas.into()), self.channels.into()),
            self.channel_stride(),
        )
    }

    #[inline(always)]
    fn whole(&self) -> bool {
        let fits = |a: u32, b: u32| u64::from(a) * u64::from(b) <= u64::from(u32::MAX);
        fits(self.batches, self.spectra) && fits(self.antennas, self.pols) && fits(self.spectra, self.pols)
    }

    #[inline(always)]
    fn channels(&self) -> u32 {
        self.channels
    }

    #[inline(always)]
    fn times(&self) -> u32 {
        self.batches.wrapping_mul(self.spectra)
    }

    #[inline(always)]
    fn inputs(&self) -> u32 {
        self.antennas.wrapping_mul(self.pols)
    }

    #[inline(always)]
    fn threads(&self) -> u64 {
        product(product(self.batches.into(), self.antennas.into()), self.channel_stride())
    }

    #[inline(always)]
    fn channel_stride(&self) -> u64 {
        u64::from(self.spectra) * u64::from(self.pols)
    }

    #[inline(always)]
    fn place(&self, thread: u32) -> Place {
        let (heap, sample) = divide(thread, self.channel_stride() as u32);
        let (batch, antenna) = divide(heap, self.antennas);
        let (spectrum, pol) = divide(sample, self.pols);
        let start = u64::from(heap) * u64::from(self.channels) * self.channel_stride() + u64::from(sample);
        Place { start, time: batch * self.spectra + spectrum, input: antenna * self.pols + pol }
    }

    #[inline(always)]
    fn later(&self) -> u32 {
        0
    }
}
