//! A block's work, divided among its warps.

use fringes_device::barrier::bar_sync_0;
use fringes_device::control::trap;
use fringes_device::fence::fence_mbarrier_init_release_cluster;
use fringes_device::index::tid_x;
use fringes_device::tensor::prefetch_tensormap;
use fringes_device::wgmma::{setmaxnreg_dec, setmaxnreg_inc};
use fringes_device::{Global, GlobalMut, Shared, TensorMap, opaque};

use crate::expand::expand;
use crate::load::load;
use crate::multiply::{One, Operands, pass, sum};
use crate::ring::{Plan, Ring, SMALL, SQUARE, WHOLE};
use crate::source::Source;
use crate::store::{Put, Sum, Target};
use crate::work::Work;

/// Correlates in tiles of a shape, after checking the numbers.
#[inline(always)]
pub(crate) fn correlate<S: Source, V: Sum<S::Part>, const SHAPE: u32>(
    maps: [TensorMap; 2],
    list: Global<u32>,
    sums: GlobalMut<V::Memory>,
    work: Work,
) {
    let (inputs, groups) = (Plan::<S, SHAPE>::INPUTS, Plan::<S, SHAPE>::GROUPS);
    if !work.fits(inputs, sums.len(), !V::ADDS, list.len()) || (SHAPE != SQUARE && work.inputs > inputs) {
        trap();
        return;
    }
    // SAFETY: the sums are there, and the copies stay inside their maps.
    unsafe {
        let shared = Shared::<u8>::dynamic().address(0);
        let thread = tid_x();
        if thread == 0 {
            Ring::<S, SHAPE>::new(shared, false).init();
            fence_mbarrier_init_release_cluster();
        }
        bar_sync_0();
        // In all no more registers than the block was started with: 3 * 168, or 2 * 128, for each thread of four warps.
        if thread >= 128 * groups {
            if SHAPE == SMALL {
                setmaxnreg_dec::<56>();
            } else if SHAPE == SQUARE && S::MAKES_WITH_MORE {
                setmaxnreg_dec::<72>();
            } else {
                setmaxnreg_dec::<40>();
            }
            let thread = thread - 128 * groups;
            if thread == 0 {
                prefetch_tensormap(maps[0]);
                prefetch_tensormap(maps[1]);
                load::<S, V, SHAPE>(shared, &work, maps, list, sums);
            } else if S::EXPANDS && thread >= 32 {
                expand::<S, SHAPE>(shared, &work, thread - 32);
            }
        } else {
            if SHAPE == SMALL {
                setmaxnreg_inc::<200>();
            } else if SHAPE == SQUARE && S::MAKES_WITH_MORE {
                setmaxnreg_inc::<216>();
            } else {
                setmaxnreg_inc::<232>();
            }
            multiply::<S, V, SHAPE>(shared, sums, &work, thread);
        }
    }
}

/// What the groups do that multiply.
///
/// # Safety
/// - `shared` is the address of the ring, whose barriers are made ([`Ring::init`]) and seen by all threads.
/// - All threads of all groups that multiply call it, with their number `thread < 128 GROUPS` in the block.
/// - `work` fits the inputs of the shape and the sums ([`Work::fits`]), or `sums` is empty where they are
///   overwritten.
/// - The other warps run [`load`] and, if the source expands, [`expand`], for the same work.
#[inline(always)]
unsafe fn multiply<S: Source, V: Sum<S::Part>, const SHAPE: u32>(
    shared: u32,
    sums: GlobalMut<V::Memory>,
    work: &Work,
    thread: u32,
) {
    let (group, warp, lane) = (thread / 128, thread / 32 % 4, thread % 32);
    let inputs = Plan::<S, SHAPE>::INPUTS;
    let speaks = lane == 0;
    let put = V::ADDS || !sums.is_empty();
    let mut ring = Ring::<S, SHAPE>::new(shared, false);
    let mut jobs = work.jobs();
    while let Some(job) = jobs.next(work, inputs) {
        let diagonal = SHAPE != SQUARE || job.row == job.column;
        let made = if S::EXPANDS {
            Plan::<S, SHAPE>::MADE
        } else if diagonal {
            0
        } else {
            Plan::<S, SHAPE>::SIDE
        };
        // Operands of columns `64 group` and up, from row `skipped` on; and where their sums go.
        let operands = |group: u32, warp: u32, skipped: u32| Operands {
            place: S::place(group, warp, lane),
            b: made + 128 * skipped,
            boxed: Plan::<S, SHAPE>::BOX,
        };
        let target = |group: u32, skipped: u32| {
            let column = S::column(group, warp, lane);
            // Computed where it is used, not kept in registers.
            let all = u64::from(opaque(work.inputs as i32) as u32);
            let baselines = all * (all + 1) / 2;
            Target {
                sums: sums.part((u64::from(job.matrix) * baselines) as usize, baselines as usize),
                row: job.row * inputs + skipped,
                column: (job.column * inputs + column.0, column.1),
                inputs: work.inputs,
                quarter: lane % 4,
            }
        };
        if SHAPE == WHOLE {
            if group == 0 {
                let mut tile = One::<S::Part, 80, true>::new(operands(0, warp, 0));
                sum::<S, _, SHAPE>(&mut tile, &mut ring, job.steps, speaks);
                if put {
                    Put::<S, V>::put(&tile.sums, target(0, 0));
                }
            } else {
                // Of columns 128 to 191 there are 32: warps 2 and 3 compute again what warps 0 and 1 do, and none of it
                // is kept.
                let narrow = One::<S::Part, 16, true>::new(operands(2, warp % 2, 128));
                let mut tiles = (One::<S::Part, 48, true>::new(operands(1, warp, 64)), narrow);
                sum::<S, _, SHAPE>(&mut tiles, &mut ring, job.steps, speaks);
                if put {
                    Put::<S, V>::put(&tiles.0.sums, target(1, 64));
                    Put::<S, V>::put(&tiles.1.sums, target(2, 128));
                }
            }
        } else {
            // Rows of the tile that exist, by halves; on the diagonal those before the group's columns are not needed.
            let high = SHAPE == SQUARE && work.high(job, inputs);
            let skipped = if diagonal { 64 * group } else { 0 };
            if SHAPE == SQUARE && high && skipped == 0 {
                let mut tile = One::<S::Part, 64, false>::new(operands(group, warp, 0));
                sum::<S, _, SHAPE>(&mut tile, &mut ring, job.steps, speaks);
                if put {
                    Put::<S, V>::put(&tile.sums, target(group, 0));
                }
            } else if high || skipped == 0 {
                let mut tile = One::<S::Part, 32, false>::new(operands(group, warp, skipped));
                sum::<S, _, SHAPE>(&mut tile, &mut ring, job.steps, speaks);
                if put {
                    Put::<S, V>::put(&tile.sums, target(group, skipped));
                }
            } else {
                pass(&mut ring, job.steps, speaks);
            }
        }
    }
}
