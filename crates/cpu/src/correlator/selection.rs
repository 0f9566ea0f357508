//! What of an array counts.

use ndarray::ArrayView2;

/// Channels that are left out for blocks of times, for all inputs alike.
#[derive(Debug, Clone, Copy)]
pub struct BlockMask<'a> {
    /// `[channel][block]`, true where masked.
    pub masked: ArrayView2<'a, bool>,
    /// Times of a block, at least 1.
    pub spectra: usize,
    /// Times of block 0 that lie before time 0; below 0 if block 0 begins later, and no time before is selected.
    pub lead: isize,
}

impl BlockMask<'_> {
    /// Whether a channel is masked at a time.
    pub fn is_masked(&self, channel: usize, time: usize) -> bool {
        self.masked[(channel, self.block(time))]
    }

    fn block(&self, time: usize) -> usize {
        time.wrapping_add_signed(self.lead) / self.spectra
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
        let in_array = |&time: &usize| time < times;
        assert!(
            self.times.is_none_or(|selected| selected.iter().all(in_array)),
            "a time that the voltages do not have"
        );
        if let Some(mask) = self.mask {
            assert_eq!(mask.masked.nrows(), channels, "channels of the mask");
            let covered =
                |time: usize| time.checked_add_signed(mask.lead).is_some() && mask.block(time) < mask.masked.ncols();
            let all = match self.times {
                Some(selected) => selected.iter().all(|&time| covered(time)),
                None => times == 0 || (covered(0) && covered(times - 1)),
            };
            assert!(all, "a mask that does not cover all times");
        }
    }
}

impl<'a> From<Option<ArrayView2<'a, bool>>> for Selection<'a> {
    fn from(presence: Option<ArrayView2<'a, bool>>) -> Self {
        Self { presence, ..Self::default() }
    }
}
