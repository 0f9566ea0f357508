//! What launches of the F-engine's kernels share: delays of the inputs, jobs in device memory, places of frames
//! `[frame][channel][spectrum][input]`.

use fringes::channelizer::internals::{Job, Place, Shares};
use fringes::delay::{DelayModel, DelaySegment, DelayValue};
use fringes_gpu::{Buffer, Stream};

use crate::bench::channelizer::{DELAYS, FRAME, INPUTS, ROW};
use crate::end::End;

/// The delays of the inputs, which stay.
pub(crate) fn delays() -> Result<Vec<DelayValue>, End> {
    let of = |&(delay, phase): &(f64, f64)| {
        let segment = DelaySegment::new(0, vec![delay]).with_phase(phase, 0.0);
        DelayModel::from_segment(segment).map(|model| model.evaluate(0)).map_err(End::failed)
    };
    DELAYS.iter().map(of).collect()
}

/// Jobs as the kernels read them.
pub(crate) fn table(stream: &Stream, jobs: &[Job]) -> Result<Buffer<[u32; 4]>, End> {
    let words: Vec<u32> = jobs.iter().flat_map(Job::words).collect();
    let pieces: Vec<[u32; 4]> = words.chunks_exact(4).map(|four| [four[0], four[1], four[2], four[3]]).collect();
    Ok(Buffer::from_slice(stream, &pieces)?)
}

/// Frames of all of so many channels.
pub(crate) fn frames(channels: usize) -> Place {
    Place {
        first_channel: 0,
        channels: channels as u32,
        channel_stride: (FRAME * INPUTS) as u64,
        period: FRAME as u32,
        period_stride: (channels * FRAME * INPUTS) as u64,
        time_stride: INPUTS as u32,
        shares: Shares::NONE,
    }
}

/// Rows `[channel][spectrum / R][input][R]` of all of so many channels.
pub(crate) fn rows(channels: usize, spectra: usize) -> Place {
    Place {
        first_channel: 0,
        channels: channels as u32,
        channel_stride: (spectra * INPUTS) as u64,
        period: ROW as u32,
        period_stride: (ROW * INPUTS) as u64,
        time_stride: 1,
        shares: Shares::NONE,
    }
}
