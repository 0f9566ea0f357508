//! In how many parts to sum time.

/// Most parts that time is cut into: each needs an accumulator of its own, which is written and read once more.
const MOST_PARTS: usize = 64;

/// In how many parts, each with an accumulator of its own, to sum time so that few jobs fill a device, where nothing is
/// measured.
///
/// `jobs` blocks have `steps` steps of time each, and `slots` blocks run at once (multiprocessors x blocks of one).
/// With `p` parts there are `jobs p` blocks of `steps / p` steps, which run in `ceil(jobs p / slots)` rounds; the time
/// is that of the rounds, in steps: `ceil(jobs p / slots) ceil(steps / p)`. To this a part adds `overhead_steps`, what
/// it costs to begin and to write a sum. The number of parts with the least time is taken, and the smallest of those
/// that are within 1 / 32 of it.
///
/// ```
/// use fringes_gpu::tuning::time_parts;
///
/// assert_eq!(time_parts(64, 132, 128, 4), 2); // 128 of 132 in one round
/// assert_eq!(time_parts(1000, 132, 128, 4), 1); // full already
/// ```
#[must_use]
pub fn time_parts(jobs: usize, slots: usize, steps: usize, overhead_steps: usize) -> usize {
    let (jobs, slots, steps) = (jobs.max(1), slots.max(1), steps.max(1));
    let time = |parts: usize| {
        let rounds = jobs.saturating_mul(parts).div_ceil(slots) as u128;
        rounds * (steps.div_ceil(parts) as u128 + overhead_steps as u128)
    };
    let most = steps.min(MOST_PARTS);
    let best = (1..=most).map(time).min().unwrap_or(u128::MAX);
    (1..=most).find(|&parts| time(parts) <= best + best / 32).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_fill_a_device_that_jobs_alone_do_not() {
        for (jobs, steps, expected) in [
            (64, 64, 2),  // 128 blocks for 132 slots
            (1, 512, 64), // one job: as many parts as are allowed
            (132, 64, 1), // just full
            (44, 64, 3),  // a third
            (100_000, 64, 1),
            (1, 1, 1),
            (1, 3, 3),
        ] {
            assert_eq!(time_parts(jobs, 132, steps, 4), expected, "{jobs} jobs, {steps} steps");
        }
    }

    #[test]
    fn parts_are_never_more_than_steps_and_never_slower_than_one() {
        for jobs in (1..2000).step_by(7) {
            for steps in [1, 2, 5, 64, 1000] {
                for slots in [1, 8, 108, 132, 264] {
                    let parts = time_parts(jobs, slots, steps, 4);
                    assert!((1..=steps.min(MOST_PARTS)).contains(&parts));
                    let time = |parts: usize| (jobs * parts).div_ceil(slots) * (steps.div_ceil(parts) + 4);
                    assert!(time(parts) <= time(1), "{jobs} {steps} {slots}: {parts}");
                }
            }
        }
        // No overflow, no division by zero.
        assert_eq!(time_parts(0, 0, 0, 0), 1);
        assert!(time_parts(usize::MAX, usize::MAX, usize::MAX, usize::MAX) >= 1);
    }
}
