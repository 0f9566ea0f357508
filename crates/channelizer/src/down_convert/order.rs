//! How launches of several bands follow each other, so that what one reads is in the cache for the others.
//!
//! ```text
//! side by side    stream 0   | band 0 .......................... |      each on its part of the multiprocessors, at
//!                 stream 1   | band 1 .......................... |      the same place of the chunk
//! in pieces       stream 0   | band 0 | band 1 | band 0 | band 1 |      each on all of them; pieces fit the cache
//! ```

use std::ops::Range;

use super::band::Piece;
use super::progress::Step;

/// Outputs whose multiples launches of pieces begin with: whole blocks of every kernel, and whole sectors.
const UNIT: u64 = 48;

/// How bands share a GPU and its cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BandOrder {
    /// Streams of the device that bands are spread over, this many at most; 1 has them one after another.
    pub streams: usize,
    /// Bytes of a chunk that all bands read before the next ones.
    pub piece_bytes: u64,
}

impl Default for BandOrder {
    /// Side by side, not cut: a launch of a piece would read more samples twice, those between its segments.
    fn default() -> Self {
        Self { streams: 16, piece_bytes: u64::MAX }
    }
}

/// Outputs of a launch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Launch {
    pub(super) band: usize,
    /// Which of the band's pieces they are of.
    pub(super) piece: usize,
    /// Their numbers.
    pub(super) outputs: Range<u64>,
}

impl BandOrder {
    /// Streams for so many bands.
    pub(super) fn streams_of(&self, bands: usize) -> usize {
        self.streams.clamp(1, bands.max(1))
    }

    /// The launches of a step in their order: pieces `[band][piece]` of samples of which an output has so many bits
    /// from one to the next, of all inputs.
    pub(super) fn launches(&self, step: &Step, pieces: &[Vec<Piece<'_>>], output_bits: u64) -> Vec<Launch> {
        let (end, mut first, mut launches) = (step.end_output(), step.first_output, Vec::new());
        let together =
            if pieces.len() > 1 { self.piece_bytes.saturating_mul(8) / output_bits.max(1) } else { u64::MAX };
        while first < end {
            let cut = first.saturating_add(together.max(UNIT)) / UNIT * UNIT;
            let outputs = first..cut.clamp(first + 1, end);
            for (band, pieces) in pieces.iter().enumerate() {
                for (piece, Piece { step, .. }) in pieces.iter().enumerate() {
                    let outputs = outputs.start.max(step.first_output)..outputs.end.min(step.end_output());
                    if !outputs.is_empty() {
                        launches.push(Launch { band, piece, outputs });
                    }
                }
            }
            first = outputs.end;
        }
        launches
    }
}

#[cfg(test)]
mod tests {
    use fringes_types::{ChunkFormat, Inputs};

    use super::*;
    use crate::down_convert::DownConverter;
    use crate::down_convert::band::{Band, bands};
    use crate::down_convert::progress::Progress;
    use crate::timeline::ChunkAxes;

    #[test]
    fn launches_have_every_output_once_and_bands_of_a_piece_follow_each_other() {
        let plan = DownConverter::new(0.1, 8, vec![1.0; 20]).unwrap();
        let mut bands = bands([plan.clone(), plan.clone(), plan.clone()]).unwrap();
        let inputs = Inputs::single_pol(2).unwrap();
        let mut progress = Progress::new(inputs);
        let (format, sample_rate_hz, centre_hz, presence) = (ChunkFormat::Packed { bits: 10 }, 1.0, None, None);
        let axes = ChunkAxes { format, inputs, times: 9000, first_sample: 101, sample_rate_hz, centre_hz, presence };
        let step = progress.step(&plan, &axes).unwrap().unwrap();
        for (band, at) in [(1, 1001), (1, 1002), (2, 5000)] {
            let retune = bands[band].retune(&progress, at, 0.2).unwrap();
            bands[band].commit(retune);
        }
        let pieces: Vec<_> = bands.iter().map(|band| band.pieces(&step)).collect();
        assert_eq!(pieces.iter().map(Vec::len).collect::<Vec<_>>(), [1, 2, 2]);
        for piece_bytes in [0, 1, 1000, 3000, u64::MAX] {
            let order = BandOrder { piece_bytes, ..BandOrder::default() };
            let launches = order.launches(&step, &pieces, 2 * 10 * 8);
            let mut next = [step.first_output; 3];
            for Launch { band, piece, outputs } in &launches {
                assert_eq!(outputs.start, next[*band], "{piece_bytes}");
                let of = &pieces[*band][*piece].step;
                assert!(of.first_output <= outputs.start && outputs.end <= of.end_output());
                next[*band] = outputs.end;
                // No band is a piece ahead of another one.
                let most = (piece_bytes.saturating_mul(8) / 160).max(UNIT).saturating_add(UNIT);
                assert!(next.iter().all(|next| next.abs_diff(outputs.end) <= most), "{piece_bytes} {next:?}");
            }
            assert_eq!(next, [step.end_output(); 3]);
            let cuts = launches.iter().filter(|launch| launch.band == 0).skip(1);
            assert!(cuts.clone().all(|launch| launch.outputs.start.is_multiple_of(UNIT)));
            assert_eq!(cuts.count() > 0, piece_bytes < 9000 * 20 / 8);
        }
        // One band alone is not cut.
        let order = BandOrder { piece_bytes: 1, ..BandOrder::default() };
        assert_eq!(order.launches(&step, &pieces[..1], 160).len(), 1);
        progress.commit(step);
        assert!(bands.iter().all(|band: &Band| band.retune(&progress, 9000, 0.3).is_err()));
    }

    #[test]
    fn there_are_as_many_streams_as_bands_up_to_a_limit() {
        let order = BandOrder { streams: 4, ..BandOrder::default() };
        assert_eq!([0, 1, 3, 4, 100].map(|bands| order.streams_of(bands)), [1, 1, 3, 4, 4]);
        assert_eq!(BandOrder { streams: 0, ..order }.streams_of(7), 1);
    }
}
