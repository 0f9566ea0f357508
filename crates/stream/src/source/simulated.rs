//! Simulated voltages as a source.

use fringes_simulator::Simulator;
use ndarray::Array2;

use super::{Received, Source, SourceCounts, SourceInfo};
use crate::{BoxError, SampleBlock, StreamError};

/// A simulator as a source of integers of 2 to 16 bits: packed, or of whole bytes with 8 and 16 bits.
///
/// Arrays of chunks that come back are filled again: after the first few chunks nothing is allocated.
#[derive(Debug)]
pub struct Simulated {
    simulator: Simulator,
    info: SourceInfo,
    bits: u32,
    times: usize,
    packed: Vec<Array2<u8>>,
    int8: Vec<Array2<i8>>,
    int16: Vec<Array2<i16>>,
    packets: u64,
    bytes: u64,
}

impl Simulated {
    /// Chunks of `times` samples of each input, of so many bits, up to sample `end`; without one it never ends.
    ///
    /// # Errors
    /// [`StreamError::Plan`] for other bits than 2 to 16, or chunks without samples.
    pub fn new(simulator: Simulator, bits: u32, times: usize, end: Option<u64>) -> Result<Self, StreamError> {
        for (what, good, expected, actual) in [
            ("bits of simulated samples", (2..=16).contains(&bits), "2 to 16", bits as usize),
            ("samples of a simulated chunk", times > 0, "at least 1", times),
        ] {
            if !good {
                return Err(StreamError::Plan { what, expected: expected.into(), actual: actual.to_string() });
            }
        }
        let simulation = simulator.simulation();
        let info = SourceInfo {
            label: "simulation".into(),
            inputs: simulator.inputs(),
            sample_rate_hz: simulation.sample_rate_hz,
            // The epoch is that of a sample, which need not be 0.
            sample_zero: simulation
                .array
                .as_ref()
                .map(|array| array.epoch.plus_seconds(-(simulation.epoch_sample as f64) / simulation.sample_rate_hz)),
            end_sample: end,
        };
        let (packed, int8, int16) = (Vec::new(), Vec::new(), Vec::new());
        Ok(Self { simulator, info, bits, times, packed, int8, int16, packets: 0, bytes: 0 })
    }

    /// What it simulates.
    pub fn simulator(&self) -> &Simulator {
        &self.simulator
    }
}

/// An array of this shape: one that came back, or a new one.
fn array<T: Clone + Default>(kept: &mut Vec<Array2<T>>, shape: (usize, usize)) -> Array2<T> {
    match kept.pop() {
        Some(array) if array.dim() == shape => array,
        _ => Array2::default(shape),
    }
}

impl Source for Simulated {
    fn info(&self) -> &SourceInfo {
        &self.info
    }

    fn next(&mut self) -> Result<Option<Received>, BoxError> {
        let next = self.simulator.next_sample();
        let left = self.info.end_sample.map_or(u64::MAX, |end| end.saturating_sub(next));
        let times = self.times.min(usize::try_from(left).unwrap_or(usize::MAX));
        if times == 0 {
            return Ok(None);
        }
        let inputs = self.simulator.inputs().len();
        let block: SampleBlock = match self.bits {
            8 => self.simulator.next_samples_in(array(&mut self.int8, (inputs, times)))?.into(),
            16 => self.simulator.next_samples_in(array(&mut self.int16, (inputs, times)))?.into(),
            bits => {
                let bytes = (times * bits as usize).div_ceil(8);
                let data = array(&mut self.packed, (inputs, bytes));
                self.simulator.next_packed_in(data, bits, times)?.into()
            }
        };
        self.packets += 1;
        self.bytes += block.bytes();
        Ok(Some(Received::Samples(block)))
    }

    fn counts(&self) -> SourceCounts {
        let injected = self.simulator.counts();
        SourceCounts {
            packets: self.packets,
            bytes: self.bytes,
            lost: injected.lost_packets.iter().sum(),
            clamped: injected.clamped_samples.iter().sum(),
            ..SourceCounts::default()
        }
    }

    fn seek(&mut self, sample: u64) -> Result<bool, BoxError> {
        // Chunks stay where they are.
        self.simulator.seek(sample - sample % self.times as u64);
        Ok(true)
    }

    fn recycle(&mut self, block: SampleBlock) {
        match block {
            SampleBlock::Packed(samples) => self.packed.push(samples.into_data()),
            SampleBlock::Int8(samples) => self.int8.push(samples.into_data()),
            SampleBlock::Int16(samples) => self.int16.push(samples.into_data()),
            _ => {}
        }
    }
}
