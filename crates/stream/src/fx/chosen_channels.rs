//! Channels that somebody leaves out of dumps and beams, from a sample on.

use std::collections::VecDeque;

use fringes_types::{ChannelMask, SpectrumClock};
use ndarray::{Array1, Array2};

use super::controls::insert;
use crate::StreamError;

/// The channels that are left out now, and those that will be.
#[derive(Debug)]
pub(super) struct ChosenChannels {
    channels: usize,
    /// In the order of samples.
    due: VecDeque<(u64, Array1<bool>)>,
    /// Flags of all channels; `None` if all are kept.
    masked: Option<Array1<bool>>,
}

impl ChosenChannels {
    /// Keeps all channels.
    pub(super) fn new(channels: usize) -> Self {
        Self { channels, due: VecDeque::new(), masked: None }
    }

    /// Number of channels, left out or not.
    pub(super) fn channels(&self) -> usize {
        self.channels
    }

    /// Leaves out these channels, and no others, from a sample on.
    ///
    /// # Errors
    /// [`StreamError::Change`] for a channel that there is not; nothing changes then.
    pub(super) fn leave_out(&mut self, sample: u64, channels: &[usize]) -> Result<(), StreamError> {
        let mut flags = Array1::from_elem(self.channels, false);
        for &channel in channels {
            let Some(flag) = flags.get_mut(channel) else {
                let reason = format!("expected channels of 0..{}, found {channel}", self.channels);
                return Err(StreamError::Change { what: "masked channels", sample, reason });
            };
            *flag = true;
        }
        insert(&mut self.due, sample, flags);
        Ok(())
    }

    /// The mask of so many blocks of spectra, the first of which begins with the clock's stamp; `None` if nothing of
    /// them is left out. Blocks come in the order of their stamps.
    ///
    /// # Errors
    /// [`StreamError::Types`] as [`ChannelMask::new`].
    pub(super) fn mask(
        &mut self,
        clock: SpectrumClock,
        spectra_per_block: usize,
        blocks: usize,
    ) -> Result<Option<ChannelMask>, StreamError> {
        let mut mask: Option<Array2<bool>> = None;
        for block in 0..blocks {
            self.begin(clock.sample_of(block * spectra_per_block));
            if let Some(masked) = &self.masked {
                let all = mask.get_or_insert_with(|| Array2::from_elem((self.channels, blocks), false));
                all.column_mut(block).assign(masked);
            }
        }
        Ok(match mask {
            Some(masked) => Some(ChannelMask::new(masked, spectra_per_block, clock)?),
            None => None,
        })
    }

    /// Makes the changes that hold for a block that begins with a sample.
    fn begin(&mut self, sample: u64) {
        while self.due.front().is_some_and(|&(from, _)| from <= sample) {
            self.masked = self.due.pop_front().map(|(_, flags)| flags).filter(|flags| flags.iter().any(|&of| of));
        }
    }
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;

    const BLOCK: usize = 4;

    fn clock(block: u64) -> SpectrumClock {
        SpectrumClock { first_sample: block * 40, samples_between_spectra: 10, sample_rate_hz: 1e6 }
    }

    fn mask(chosen: &mut ChosenChannels, block: u64, blocks: usize) -> Option<Array2<bool>> {
        let mask = chosen.mask(clock(block), BLOCK, blocks).unwrap()?;
        assert_eq!((mask.clock(), mask.spectra_per_block()), (clock(block), BLOCK));
        Some(mask.masked().to_owned())
    }

    #[test]
    fn a_set_holds_from_the_first_block_that_does_not_begin_before_its_sample() {
        let mut chosen = ChosenChannels::new(3);
        assert_eq!(mask(&mut chosen, 0, 2), None);
        chosen.leave_out(160, &[2, 0, 2]).unwrap(); // the start of block 4
        chosen.leave_out(201, &[1]).unwrap(); // within block 5
        assert_eq!(mask(&mut chosen, 2, 2), None);
        let (out, kept) = (true, false);
        let expected = array![[kept, out, out, kept], [kept, kept, kept, out], [kept, out, out, kept]];
        assert_eq!(mask(&mut chosen, 3, 4), Some(expected));
        // The one set ends with the next.
        assert_eq!(mask(&mut chosen, 7, 1), Some(array![[kept], [out], [kept]]));
        chosen.leave_out(321, &[]).unwrap();
        assert_eq!(mask(&mut chosen, 8, 2), Some(array![[kept, kept], [out, kept], [kept, kept]]));
        assert_eq!(mask(&mut chosen, 10, 5), None);
    }

    #[test]
    fn sets_come_in_any_order_the_last_of_a_sample_holds_and_late_ones_hold_from_the_next_block() {
        let mut chosen = ChosenChannels::new(2);
        for (sample, channel) in [(80, 0), (40, 0), (40, 1)] {
            chosen.leave_out(sample, &[channel]).unwrap();
        }
        assert_eq!(mask(&mut chosen, 0, 3), Some(array![[false, false, true], [false, true, false]]));
        chosen.leave_out(0, &[0, 1]).unwrap();
        assert_eq!(mask(&mut chosen, 3, 1), Some(array![[true], [true]]));
    }

    #[test]
    fn channels_that_there_are_not_are_refused_and_change_nothing() {
        let mut chosen = ChosenChannels::new(2);
        let error = chosen.leave_out(7, &[0, 2]).unwrap_err();
        assert_eq!(error.to_string(), "masked channels at sample 7: expected channels of 0..2, found 2");
        assert_eq!(mask(&mut chosen, 1, 2), None);
    }
}
