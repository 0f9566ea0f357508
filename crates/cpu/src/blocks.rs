//! Units of work: cutting a standard-layout array `[channel][time][x]` into a few times of one channel each, how many
//! may be in progress at a time, and who does them.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

/// A unit of work: times `first_time ..` of one channel, and its part of the output, `[time][x]`.
pub(crate) struct TimeBlock<'a, T> {
    pub(crate) channel: usize,
    pub(crate) first_time: usize,
    pub(crate) out: &'a mut [T],
}

/// Cuts `out`, which is `[channel][time][row]` with `times` times, into blocks of at most `block` times.
pub(crate) fn time_blocks<T>(out: &mut [T], times: usize, row: usize, block: usize) -> Vec<TimeBlock<'_, T>> {
    if times == 0 || row == 0 {
        return Vec::new();
    }
    out.chunks_mut(times * row)
        .enumerate()
        .flat_map(|(channel, out)| {
            out.chunks_mut(block * row).enumerate().map(move |(number, out)| TimeBlock {
                channel,
                first_time: number * block,
                out,
            })
        })
        .collect()
}

/// How many units of work of `unit_bytes` of scratch may be in progress at a time: one a thread, or as many as fit
/// `limit` bytes. 0 if not one fits.
pub fn parallel_units(limit: Option<u64>, unit_bytes: u64) -> usize {
    let threads = rayon::current_num_threads();
    match limit.map(|limit| limit.checked_div(unit_bytes)) {
        Some(Some(units)) => threads.min(usize::try_from(units).unwrap_or(threads)),
        _ => threads,
    }
}

/// The smallest number of units that one of `parallel` workers takes on, so that no more than `parallel` run at a time.
pub(crate) fn share(units: usize, parallel: usize) -> usize {
    units.div_ceil(parallel.max(1)).max(1)
}

/// Does all units of work, at most `parallel` at a time, and gives what each worker has kept.
///
/// Each worker goes through units that follow each other, and then takes from the end of what others have left: where
/// another program takes a processor away for a while, the rest is done without it. The calling thread is the first
/// worker, on the processor that it has; only the others are woken.
pub(crate) fn do_units<U: Send, S: Send>(
    units: Vec<U>,
    parallel: usize,
    new: impl Fn() -> S + Sync,
    work: impl Fn(&mut S, U) + Sync,
) -> Vec<S> {
    let workers = parallel.min(rayon::current_num_threads()).min(units.len()).max(1);
    let (queues, kept) = (Mutex::new(queues(units, workers)), Mutex::new(Vec::new()));
    let worker = |number: usize| {
        let next = || take(&mut queues.lock().unwrap_or_else(PoisonError::into_inner), number);
        let Some(first) = next() else { return };
        let mut state = new();
        work(&mut state, first);
        while let Some(unit) = next() {
            work(&mut state, unit);
        }
        kept.lock().unwrap_or_else(PoisonError::into_inner).push(state);
    };
    rayon::in_place_scope(|scope| {
        let worker = &worker;
        (1..workers).for_each(|number| scope.spawn(move |_| worker(number)));
        worker(0);
    });
    kept.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// Shares units out among workers, neighbours to the same one.
fn queues<U>(units: Vec<U>, workers: usize) -> Vec<VecDeque<U>> {
    let all = units.len();
    let mut units = units.into_iter();
    (0..workers).map(|n| units.by_ref().take(all * (n + 1) / workers - all * n / workers).collect()).collect()
}

/// The next unit of a worker: its own, or the last of the longest queue.
fn take<U>(queues: &mut [VecDeque<U>], worker: usize) -> Option<U> {
    queues[worker].pop_front().or_else(|| queues.iter_mut().max_by_key(|queue| queue.len())?.pop_back())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_unit_is_done_once_by_at_most_so_many_workers() {
        for units in [0, 1, 2, 7, 100] {
            for parallel in [0, 1, 2, 3, 200] {
                let kept =
                    do_units((0..units).collect(), parallel, Vec::new, |done: &mut Vec<i32>, unit| done.push(unit));
                assert!(kept.len() <= parallel.max(1));
                let mut done: Vec<i32> = kept.into_iter().flatten().collect();
                done.sort_unstable();
                assert_eq!(done, (0..units).collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn a_worker_takes_its_own_units_in_their_order_and_then_the_last_of_others() {
        let mut queues = queues((0..7).collect(), 2);
        let taken: Vec<_> = [0, 0, 1, 0, 0, 0, 1, 1].map(|worker| take(&mut queues, worker)).to_vec();
        assert_eq!(taken, [Some(0), Some(1), Some(3), Some(2), Some(6), Some(5), Some(4), None]);
    }
}
