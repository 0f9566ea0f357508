//! Times of work on a stream, taken by the device.

use crate::{GpuError, Stream};

/// Times of repeated work, in milliseconds.
#[derive(Debug, Clone, PartialEq)]
pub struct Timing {
    /// Median; the mean of the middle two of an even number.
    pub median_ms: f64,
    /// Shortest.
    pub min_ms: f64,
    /// All, in the order of the runs.
    pub all_ms: Vec<f64>,
}

impl Timing {
    /// Sums up times.
    ///
    /// # Errors
    /// [`GpuError::Value`] where there are none.
    pub fn new(all_ms: Vec<f64>) -> Result<Self, GpuError> {
        let mut sorted = all_ms.clone();
        sorted.sort_by(f64::total_cmp);
        let (Some(&min_ms), Some(&upper)) = (sorted.first(), sorted.get(sorted.len() / 2)) else {
            return Err(GpuError::Value { what: "timed runs", expected: "at least 1".into(), actual: "0".into() });
        };
        let lower = sorted.get(sorted.len().saturating_sub(1) / 2).copied().unwrap_or(upper);
        Ok(Self { median_ms: f64::midpoint(lower, upper), min_ms, all_ms })
    }
}

/// Times work that `work` queues on `stream`, each run between two events of its own: first `warmup` runs that do not
/// count, then `runs` that do.
///
/// `work` gets the number of the run, counted from the first warm-up on, to rotate its buffers by. It must not wait for
/// the device; the runs follow each other without a pause.
///
/// # Errors
/// What `work` returns; [`GpuError::Value`] for no runs; a failure of the work itself.
pub fn time<E: From<GpuError>>(
    stream: &Stream,
    warmup: usize,
    runs: usize,
    mut work: impl FnMut(usize) -> Result<(), E>,
) -> Result<Timing, E> {
    let device = stream.device();
    let mut events = Vec::with_capacity(runs);
    for _ in 0..runs {
        events.push((device.new_event()?, device.new_event()?));
    }
    for run in 0..warmup {
        work(run)?;
    }
    for (run, (start, end)) in events.iter().enumerate() {
        start.record(stream)?;
        work(warmup + run)?;
        end.record(stream)?;
    }
    let mut all_ms = Vec::with_capacity(runs);
    for (start, end) in &events {
        all_ms.push(end.elapsed_ms(start)?);
    }
    Ok(Timing::new(all_ms)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle_or_the_mean_of_the_middle_two() {
        let odd = Timing::new(vec![3.0, 1.0, 2.0]).unwrap();
        assert_eq!((odd.median_ms, odd.min_ms, odd.all_ms), (2.0, 1.0, vec![3.0, 1.0, 2.0]));
        let even = Timing::new(vec![4.0, 1.0, 2.0, 8.0]).unwrap();
        assert_eq!((even.median_ms, even.min_ms), (3.0, 1.0));
        assert!(matches!(Timing::new(vec![]), Err(GpuError::Value { .. })));
    }
}
