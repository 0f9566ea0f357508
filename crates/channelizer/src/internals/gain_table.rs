//! Gains on a device, of which those are sent that change.

use std::ops::Range;

use fringes_backend::Staging;
use fringes_gpu::{Buffer, BufferView, Stream};

use crate::ChannelizerError;

/// Gains on a device, a row for each input.
#[derive(Debug)]
pub(super) struct GainTable {
    on_device: Buffer<[f32; 2]>,
    /// What is there.
    sent: Vec<[f32; 2]>,
    /// Gains of a row.
    row: usize,
    staging: Staging,
}

impl GainTable {
    /// Sends gains of `inputs` inputs, and waits for that.
    pub(super) fn new(stream: &Stream, gains: Vec<[f32; 2]>, inputs: usize) -> Result<Self, ChannelizerError> {
        let (on_device, row) = (Buffer::from_slice(stream, &gains)?, gains.len() / inputs.max(1));
        Ok(Self { on_device, sent: gains, row, staging: Staging::default() })
    }

    /// The gains on the device.
    pub(super) fn view(&self) -> BufferView<'_, [f32; 2]> {
        self.on_device.view()
    }

    /// Makes the gains those, as many as before, in the order of `stream`, and does not wait. Of each input it sends
    /// what is between the first and the last gain that changes.
    ///
    /// # Errors
    /// With what the driver says; then all gains are sent by the next call.
    pub(super) fn set(&mut self, stream: &Stream, gains: Vec<[f32; 2]>) -> Result<(), ChannelizerError> {
        let runs = changes(&self.sent, &gains, self.row);
        let elements = runs.iter().map(Range::len).sum::<usize>();
        if elements == 0 {
            return Ok(());
        }
        // Until all of it is queued, nothing is known to be there.
        self.sent.clear();
        let piece = self.staging.next(stream.device(), elements * size_of::<[f32; 2]>())?;
        let bytes = piece.as_mut_slice()?;
        let mut at = 0;
        for run in &runs {
            let part: &[u8] = bytemuck::cast_slice(&gains[run.clone()]);
            bytes[at..at + part.len()].copy_from_slice(part);
            at += part.len();
        }
        let mut at = 0;
        for run in &runs {
            let mut to = self.on_device.slice_mut(run.clone())?.cast::<u8>()?;
            let length = to.len();
            to.copy_from_pinned(stream, piece, at..at + length)?;
            at += length;
        }
        self.sent = gains;
        Ok(())
    }
}

/// What to send where `before` is to become `after`, in rows of `row` gains: of each row from the first to the last
/// change; rows that follow each other as one.
fn changes(before: &[[f32; 2]], after: &[[f32; 2]], row: usize) -> Vec<Range<usize>> {
    let changed =
        |index: usize| before.get(index).map(|gain| gain.map(f32::to_bits)) != Some(after[index].map(f32::to_bits));
    let mut runs: Vec<Range<usize>> = Vec::new();
    for start in (0..after.len()).step_by(row.max(1)) {
        let end = (start + row.max(1)).min(after.len());
        let Some(first) = (start..end).find(|&index| changed(index)) else { continue };
        let last = (first..end).rfind(|&index| changed(index)).unwrap_or(first);
        match runs.last_mut() {
            Some(run) if run.end == first => run.end = last + 1,
            _ => runs.push(first..last + 1),
        }
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_each_row_what_changes_is_sent() {
        let before: Vec<[f32; 2]> = (0..12).map(|i| [i as f32, 1.0]).collect();
        let ends = |runs: Vec<Range<usize>>| runs.into_iter().map(|run| (run.start, run.end)).collect::<Vec<_>>();
        let with = |places: &[usize]| {
            let mut after = before.clone();
            places.iter().for_each(|&place| after[place][1] = -1.0);
            ends(changes(&before, &after, 4))
        };
        assert_eq!(with(&[]), []);
        assert_eq!(with(&[5]), [(5, 6)]);
        assert_eq!(with(&[1, 3, 6]), [(1, 4), (6, 7)]);
        // Rows whose changes meet are one.
        assert_eq!(with(&[2, 3, 4, 11]), [(2, 5), (11, 12)]);
        assert_eq!(with(&(0..12).collect::<Vec<_>>()), [(0, 12)]);
        // What is not known to be there is sent.
        assert_eq!(ends(changes(&[], &before, 4)), [(0, 12)]);
        // A zero of another sign is another gain.
        assert_eq!(ends(changes(&[[0.0; 2]], &[[0.0, -0.0]], 1)), [(0, 1)]);
    }
}
