//! From the values of a job's spectra in shared memory to their places in the output: neighbouring lanes write
//! neighbouring spectra of a channel.

use fringes_device::{Global, GlobalMut, Shared, Value, unroll};
use fringes_kernels_f_engine_two_pass::job::{Job, Launch};

use crate::post::value_place;
use crate::shape::{Shape, slot};

/// Positions that a thread has at once.
const TOGETHER: usize = 4;

/// Writes the values of a job, as one of `threads` threads.
///
/// # Safety
/// The output holds every place of the job ([`Launch::holds`]), `points` has the values, `channels` the channel of each
/// position, and a barrier was before.
#[inline(always)]
pub unsafe fn run<T: Value>(
    out: GlobalMut<T>,
    points: Shared<[f32; 2]>,
    channels: Global<u32>,
    shape: &Shape,
    job: &Job,
    launch: &Launch,
    thread: u32,
    threads: u32,
) {
    // Neighbouring threads along the spectra, of as many positions as there are threads for.
    let (lanes, length) = (job.spectra.clamp(1, threads.max(1)), slot(shape.points));
    let (rows, period) = (threads / lanes, launch.period.max(1));
    let (row, mut s) = (thread / lanes, thread % lanes);
    if row >= rows {
        return;
    }
    while s < job.spectra {
        let values = points.part((s * length) as usize, length as usize).cast::<T>();
        let time = job.time + s;
        let (periods, within) = ((time / period) as u64, (time % period) as u64);
        let first = job.place + periods * launch.period_stride + within * launch.time_stride as u64;
        let mut position = row;
        while position < shape.points {
            // Channels of several positions are on their way at once.
            let mut channel = [u32::MAX; TOGETHER];
            unroll!(i in 0 1 2 3 {
                let at = position + i as u32 * rows;
                if at < shape.points {
                    channel[i] = channels.load(at as usize).wrapping_sub(launch.first_channel);
                }
            });
            unroll!(i in 0 1 2 3 {
                if channel[i] < launch.channels {
                    let place = first + channel[i] as u64 * launch.channel_stride;
                    out.store(place as usize, values.load(value_place::<T>(shape, position + i as u32 * rows)));
                }
            });
            position += TOGETHER as u32 * rows;
        }
        s += lanes;
    }
}
