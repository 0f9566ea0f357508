//! Which rank has which antennas before the corner turn, and which channels behind it.

use std::ops::Range;

use fringes_types::Inputs;

use crate::StreamError;

/// So many things divided among ranks, in order: the first ranks have one more where it does not come out even, and
/// with more ranks than things the last ranks have none.
///
/// ```
/// assert_eq!(fringes_stream::turn::even_shares(7, 3), [0..3, 3..5, 5..7]);
/// ```
#[must_use]
pub fn even_shares(count: usize, ranks: usize) -> Vec<Range<usize>> {
    let (each, more) = (count / ranks.max(1), count % ranks.max(1));
    let first = |rank: usize| rank * each + rank.min(more);
    (0..ranks).map(|rank| first(rank)..first(rank + 1)).collect()
}

/// The shape of a corner turn, the same on all ranks.
///
/// F-engines have all channels of some antennas, correlators all antennas of some channels. Frames of one time are
/// turned in blocks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnPlan {
    pub(super) inputs: Inputs,
    pub(super) channels: usize,
    pub(super) samples_between_spectra: u64,
    pub(super) spectra_per_frame: usize,
    /// Of each rank.
    pub(super) antenna_shares: Vec<Range<usize>>,
    /// Of each rank.
    pub(super) channel_shares: Vec<Range<usize>>,
    pub(super) frames_per_block: usize,
    pub(super) lanes: usize,
}

/// A plan that cannot be.
fn refuse(what: &'static str, expected: impl Into<String>, actual: impl ToString) -> StreamError {
    StreamError::Plan { what, expected: expected.into(), actual: actual.to_string() }
}

/// Checks that shares are all of something, once each and in order.
fn check_shares(what: &'static str, shares: &[Range<usize>], ranks: usize, count: usize) -> Result<(), StreamError> {
    if shares.len() != ranks {
        return Err(refuse(what, format!("one a rank, {ranks}"), shares.len()));
    }
    let mut next = 0;
    for share in shares {
        if share.start != next || share.end < share.start {
            return Err(refuse(what, format!("a share that begins at {next}"), format!("{share:?}")));
        }
        next = share.end;
    }
    if next != count {
        return Err(refuse(what, format!("shares up to {count}"), next));
    }
    Ok(())
}

impl TurnPlan {
    /// All antennas and channels divided evenly among all ranks; blocks of 16 frames, two of them under way.
    ///
    /// `inputs` and `channels` are those of the whole instrument. Spectra lie so many samples apart, and a frame has
    /// so many.
    ///
    /// # Errors
    /// [`StreamError::Plan`] without ranks, channels, samples or spectra.
    pub fn new(
        ranks: usize,
        inputs: Inputs,
        channels: usize,
        samples_between_spectra: u64,
        spectra_per_frame: usize,
    ) -> Result<Self, StreamError> {
        for (what, value) in [
            ("ranks", ranks as u64),
            ("channels of a corner turn", channels as u64),
            ("samples between spectra", samples_between_spectra),
            ("spectra of a frame", spectra_per_frame as u64),
        ] {
            if value == 0 {
                return Err(refuse(what, "at least 1", value));
            }
        }
        if samples_between_spectra.checked_mul(spectra_per_frame as u64).is_none() {
            return Err(refuse("samples of a frame", "fewer than 2^64", "more"));
        }
        Ok(Self {
            inputs,
            channels,
            samples_between_spectra,
            spectra_per_frame,
            antenna_shares: even_shares(inputs.antennas(), ranks),
            channel_shares: even_shares(channels, ranks),
            frames_per_block: 16,
            lanes: 2,
        })
    }

    /// Sets the antennas of each rank: all of them, in order; a rank without any has no F-engine.
    ///
    /// # Errors
    /// [`StreamError::Plan`] for other shares.
    pub fn with_antenna_shares(mut self, shares: Vec<Range<usize>>) -> Result<Self, StreamError> {
        check_shares("shares of antennas", &shares, self.ranks(), self.inputs.antennas())?;
        self.antenna_shares = shares;
        Ok(self)
    }

    /// Sets the channels of each rank: all of them, in order; a rank without any has no correlator.
    ///
    /// # Errors
    /// [`StreamError::Plan`] for other shares.
    pub fn with_channel_shares(mut self, shares: Vec<Range<usize>>) -> Result<Self, StreamError> {
        check_shares("shares of channels", &shares, self.ranks(), self.channels)?;
        self.channel_shares = shares;
        Ok(self)
    }

    /// Sets the frames of a block: more of them make larger messages, and later dumps.
    ///
    /// # Errors
    /// [`StreamError::Plan`] for none.
    pub fn with_frames_per_block(mut self, frames: usize) -> Result<Self, StreamError> {
        if frames == 0 {
            return Err(refuse("frames of a block", "at least 1", frames));
        }
        self.frames_per_block = frames;
        Ok(self)
    }

    /// Sets how many blocks are under way at once.
    ///
    /// # Errors
    /// [`StreamError::Plan`] for none, or more than 16.
    pub fn with_lanes(mut self, lanes: usize) -> Result<Self, StreamError> {
        if !(1..=16).contains(&lanes) {
            return Err(refuse("blocks under way", "1 to 16", lanes));
        }
        self.lanes = lanes;
        Ok(self)
    }

    /// How many ranks there are.
    #[must_use]
    pub fn ranks(&self) -> usize {
        self.antenna_shares.len()
    }

    /// Antennas and polarisations of the whole instrument.
    #[must_use]
    pub fn inputs(&self) -> Inputs {
        self.inputs
    }

    /// Channels of the whole instrument.
    #[must_use]
    pub fn channels(&self) -> usize {
        self.channels
    }

    /// Antennas of a rank; none for a number beyond.
    #[must_use]
    pub fn antennas_of(&self, rank: usize) -> Range<usize> {
        self.antenna_shares.get(rank).cloned().unwrap_or(0..0)
    }

    /// Channels of a rank; none for a number beyond.
    #[must_use]
    pub fn channels_of(&self, rank: usize) -> Range<usize> {
        self.channel_shares.get(rank).cloned().unwrap_or(0..0)
    }

    /// Samples between spectra, and spectra of a frame.
    pub(crate) fn frame(&self) -> [u64; 2] {
        [self.samples_between_spectra, self.spectra_per_frame as u64]
    }

    /// Samples from one frame to the next.
    pub(super) fn frame_samples(&self) -> u64 {
        self.samples_between_spectra.saturating_mul(self.spectra_per_frame as u64)
    }

    /// Number of a block's frame, counted from sample 0.
    pub(super) fn first_frame(&self, block: u64, frame: usize) -> u64 {
        block.saturating_mul(self.frames_per_block as u64).saturating_add(frame as u64)
    }

    /// Values of one antenna and channel in a frame.
    pub(super) fn frame_values(&self) -> usize {
        self.spectra_per_frame.saturating_mul(self.inputs.pols())
    }

    /// Bytes of voltages and flags that one rank sends to another for a block, of values of so many bytes.
    #[must_use]
    pub fn block_bytes(&self, from: usize, to: usize, value_bytes: usize) -> usize {
        let frames = self.frames_per_block.saturating_mul(self.antennas_of(from).len());
        let heap = self.channels_of(to).len().saturating_mul(self.frame_values()).saturating_mul(value_bytes);
        if heap == 0 { 0 } else { frames.saturating_mul(heap.saturating_add(1)) }
    }

    /// Bytes that the corner turn of a rank has at most, beside the frames of its F-engine: a block that is sent and
    /// one that is received in every lane, and one that it hands on.
    #[must_use]
    pub fn memory_bound(&self, rank: usize, value_bytes: usize) -> u64 {
        let of = |from_to: &dyn Fn(usize) -> usize| {
            (0..self.ranks()).fold(0u64, |sum, other| sum.saturating_add(from_to(other) as u64))
        };
        let sent = of(&|other| self.block_bytes(rank, other, value_bytes));
        let received = of(&|other| self.block_bytes(other, rank, value_bytes));
        let lanes = self.lanes as u64;
        lanes.saturating_mul(sent).saturating_add((2 * lanes + 1).saturating_mul(received))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_all_of_it_and_differ_by_one_at_most() {
        for count in 0..20 {
            for ranks in 1..8 {
                let shares = even_shares(count, ranks);
                check_shares("x", &shares, ranks, count).unwrap();
                let (most, least) = (shares.iter().map(Range::len).max(), shares.iter().map(Range::len).min());
                assert!(most.unwrap() - least.unwrap() <= 1, "{count} {ranks}");
            }
        }
    }

    #[test]
    fn plans_that_cannot_be_are_refused() {
        let inputs = Inputs::new(5, 2).unwrap();
        let plan = TurnPlan::new(2, inputs, 8, 16, 4).unwrap();
        for shares in [vec![], vec![0..2, 3..5], vec![0..2, 2..4], vec![0..3, 2..5], vec![0..2, 2..6]] {
            let text = format!("{shares:?}");
            let error = plan.clone().with_antenna_shares(shares).unwrap_err().to_string();
            assert!(error.contains("shares of antennas"), "{text}: {error}");
        }
        assert!(plan.clone().with_channel_shares(vec![0..0, 0..8]).is_ok());
        assert!(plan.clone().with_frames_per_block(0).is_err());
        assert!(plan.clone().with_lanes(0).is_err() && plan.with_lanes(17).is_err());
        assert!(TurnPlan::new(0, inputs, 8, 16, 4).is_err() && TurnPlan::new(2, inputs, 0, 16, 4).is_err());
        assert!(TurnPlan::new(2, inputs, 8, u64::MAX, 4).is_err());
    }

    #[test]
    fn bytes_of_blocks_are_those_of_voltages_and_flags() {
        let plan = TurnPlan::new(2, Inputs::new(5, 2).unwrap(), 7, 16, 4).unwrap().with_frames_per_block(3).unwrap();
        // 3 frames of 3 antennas; of 4 channels, 4 spectra, 2 polarisations of 2 bytes, and a flag.
        assert_eq!(plan.block_bytes(0, 0, 2), 3 * 3 * (4 * 4 * 2 * 2 + 1));
        assert_eq!(plan.block_bytes(1, 1, 2), 3 * 2 * (3 * 4 * 2 * 2 + 1));
        let none = plan.with_channel_shares(vec![0..7, 7..7]).unwrap();
        assert_eq!(none.block_bytes(0, 1, 2), 0);
    }
}
