//! From the values of a job's spectra in shared memory to their places in the output.
//!
//! Neighbouring lanes write neighbouring spectra of a channel, which are neighbours in memory.

use fringes_device::{GlobalMut, Shared, Value, unroll};

use crate::butterfly::Radix;
use crate::job::{Job, Launch};
use crate::post::Channels;

/// Writes the values of a job: value `v` of thread `t` of spectrum `s` is at `v team + t` of `values(s)`.
///
/// # Safety
/// Shared memory holds the values, the output every place of the job, and a barrier was before.
#[inline(always)]
pub unsafe fn run<R: Radix, T: Value>(
    out: GlobalMut<T>,
    values: impl Fn(u32) -> Shared<T>,
    job: &Job,
    launch: &Launch,
    thread: u32,
    threads: u32,
) {
    let team = 8 * R::POINTS as u32;
    let period = launch.period.max(1);
    let lanes = job.spectra.max(1);
    // Neighbouring threads have neighbouring spectra; threads that are left over have none.
    let (member, s) = (thread / lanes, thread % lanes);
    let members = threads / lanes;
    if member >= members {
        return;
    }
    let values = values(s);
    let time = job.time + s;
    let time = (time / period) as u64 * launch.period_stride + (time % period) as u64 * launch.time_stride as u64;
    let all = launch.first_channel == 0 && launch.channels == 32 * team;
    // Values of a kind are so many channels apart.
    let step = launch.channel_stride * (2 * team) as u64;
    let mut member = member;
    while member < team {
        let channels = Channels::new::<R>(member);
        unroll!(which in 0 1 2 3 {
            if all {
                // Pair 0 is by itself: in thread 0 it has channel N / 2.
                let at = |channel: u32| job.place + time + channel as u64 * launch.channel_stride;
                let value = |m: u32| values.load(((4 * m + which as u32) * team + member) as usize);
                out.store(at(channels.channel(0, which)) as usize, value(0));
                let mut place = at(channels.channel(1, which));
                unroll!(m in 1 2 3 4 5 6 7 {
                    out.store(place as usize, value(m as u32));
                    place = if which == 0 || which == 3 { place.wrapping_add(step) } else { place.wrapping_sub(step) };
                });
            } else {
                let mut m = 0;
                while m < 8 {
                    let channel = channels.channel(m, which).wrapping_sub(launch.first_channel);
                    if channel < launch.channels {
                        let place = job.place + time + channel as u64 * launch.channel_stride;
                        out.store(place as usize, values.load(((4 * m + which as u32) * team + member) as usize));
                    }
                    m += 1;
                }
            }
        });
        member += members;
    }
}
