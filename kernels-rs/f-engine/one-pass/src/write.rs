//! From the values of a job's spectra in shared memory to their places in the output: neighbouring lanes write
//! neighbouring spectra of a channel.

use fringes_device::{Global, GlobalMut, Shared, Value};
use fringes_kernels_f_engine_two_pass::job::{Job, Launch};

use crate::post::value_place;
use crate::shape::{Shape, slot};

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
    // Lanes along the spectra: the next power of two, at most 32.
    let mut bits = 0;
    while 1 << bits < job.spectra && bits < 5 {
        bits += 1;
    }
    let (lanes, length) = (1 << bits, slot(shape.points));
    let period = launch.period.max(1);
    let mut s = thread & (lanes - 1);
    while s < job.spectra {
        let values = points.part((s * length) as usize, length as usize).cast::<T>();
        let time = job.time + s;
        let (periods, within) = ((time / period) as u64, (time % period) as u64);
        let first = job.place + periods * launch.period_stride + within * launch.time_stride as u64;
        let mut position = thread >> bits;
        while position < shape.points {
            let channel = channels.load(position as usize).wrapping_sub(launch.first_channel);
            if channel < launch.channels {
                let place = first + channel as u64 * launch.channel_stride;
                out.store(place as usize, values.load(value_place::<T>(position)));
            }
            position += threads >> bits;
        }
        s += lanes;
    }
}
