//! Units of work: cutting a standard-layout array `[channel][time][x]` into a few times of one channel each, and how
//! many may be in progress at a time.

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
