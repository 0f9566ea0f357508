//! What of an array counts.

use std::ops::Range;

use ndarray::{ArrayView2, s};

/// Channels that are left out for blocks of times, for all inputs alike.
#[derive(Debug, Clone, Copy)]
pub struct BlockMask<'a> {
    /// `[channel][block]`, true where masked.
    pub masked: ArrayView2<'a, bool>,
    /// Times of a block, at least 1.
    pub spectra: usize,
    /// Times of block 0 that lie before time 0.
    pub lead: usize,
}

impl<'a> BlockMask<'a> {
    pub(super) fn is_masked(&self, channel: usize, time: usize) -> bool {
        self.masked[(channel, (time + self.lead) / self.spectra)]
    }

    /// The mask of some channels.
    pub fn channels(self, channels: Range<usize>) -> Self {
        Self { masked: self.masked.slice_move(s![channels, ..]), ..self }
    }

    /// The mask of the times from one on.
    pub fn from(self, time: usize) -> Self {
        Self { lead: self.lead + time, ..self }
    }
}

/// Which voltages are correlated.
#[derive(Debug, Clone, Copy, Default)]
pub struct Selection<'a> {
    /// Presence flags `[time][input]`, of all times; `None` if all is present.
    pub presence: Option<ArrayView2<'a, bool>>,
    /// The times, each counting as often as it is named, in this order; `None` for all.
    pub times: Option<&'a [usize]>,
    /// What is masked.
    pub mask: Option<BlockMask<'a>>,
}

impl Selection<'_> {
    /// The same for a shorter time.
    pub(super) fn reborrow(&self) -> Selection<'_> {
        let mask = self.mask.as_ref();
        Selection {
            presence: self.presence.as_ref().map(|flags| flags.view()),
            times: self.times,
            mask: mask.map(|mask| BlockMask { masked: mask.masked.view(), ..*mask }),
        }
    }

    /// Position of a selected time.
    pub(super) fn time(&self, position: usize) -> usize {
        self.times.map_or(position, |times| times[position])
    }

    /// Checks that an array of so many channels and times, with flags of a shape, has what is selected.
    pub(super) fn check(&self, channels: usize, times: usize, flags: (usize, usize)) {
        if let Some(presence) = self.presence {
            assert_eq!(presence.dim(), flags, "shape of the presence flags");
        }
        if let Some(selected) = self.times {
            assert!(selected.iter().all(|&time| time < times), "a time that the voltages do not have");
        }
        if let Some(mask) = self.mask {
            assert_eq!(mask.masked.nrows(), channels, "channels of the mask");
            let needed = if times == 0 { 0 } else { (times - 1 + mask.lead) / mask.spectra + 1 };
            assert!(mask.masked.ncols() >= needed, "a mask that does not cover all times");
        }
    }
}

impl<'a> From<Option<ArrayView2<'a, bool>>> for Selection<'a> {
    fn from(presence: Option<ArrayView2<'a, bool>>) -> Self {
        Self { presence, ..Self::default() }
    }
}
