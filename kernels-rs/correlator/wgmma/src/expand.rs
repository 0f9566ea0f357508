//! The three warps that make `B` of 4-bit samples and of interleaved polarisations.

use fringes_device::fence::fence_proxy_async_shared_cta;
use fringes_device::warp::bar_warp_sync;

use crate::ring::{Plan, Ring};
use crate::source::Source;
use crate::work::Work;

/// Makes `B` in the stages of all jobs, in their order, as thread `thread` of 96.
///
/// # Safety
/// - `shared` is the address of the ring, whose barriers are made ([`Ring::init`]) and seen by all threads.
/// - The source expands, and three whole warps call it, `thread` being their number from 0 to 95.
/// - The other warps run [`load`](crate::load::load) and the groups that multiply, for the same work.
#[inline(always)]
pub(crate) unsafe fn expand<S: Source, const SHAPE: u32>(shared: u32, work: &Work, thread: u32) {
    let mut ring = Ring::<S, SHAPE>::new(shared, false);
    let mut jobs = work.jobs();
    while let Some(job) = jobs.next(work, Plan::<S, SHAPE>::INPUTS) {
        let from = if Plan::<S, SHAPE>::SIDES == 2 && job.row != job.column { Plan::<S, SHAPE>::SIDE } else { 0 };
        // Rows past the last half that has any are not multiplied.
        let inputs = Plan::<S, SHAPE>::INPUTS;
        let rows = if inputs == 128 && !work.high(job, inputs) { 64 } else { inputs };
        let boxed = Plan::<S, SHAPE>::BOX;
        let mut step = 0;
        while step < job.steps {
            ring.wait_full();
            let stage = ring.address();
            S::expand(stage + from, stage + Plan::<S, SHAPE>::MADE, boxed, rows, thread);
            // What was written is seen by the tensor cores' reads of threads that wait for the barrier.
            fence_proxy_async_shared_cta();
            bar_warp_sync(u32::MAX);
            #[allow(clippy::manual_is_multiple_of, reason = "a mask, as the compiler makes it of this form")]
            if thread % 32 == 0 {
                ring.made();
            }
            ring.advance();
            step += 1;
        }
    }
}
