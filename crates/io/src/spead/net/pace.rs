//! A limit of the rate at which bytes are sent.

use std::time::{Duration, Instant};

/// Longest time that is caught up with after a pause: what was not sent in it is not sent faster later.
const CATCH_UP: Duration = Duration::from_millis(2);

/// When the next bytes may be sent.
#[derive(Debug)]
pub(crate) struct Pace {
    bytes_per_second: Option<f64>,
    due: Option<Instant>,
}

impl Pace {
    pub(crate) fn new(bytes_per_second: Option<f64>) -> Self {
        Self { bytes_per_second, due: None }
    }

    /// Waits until the next bytes are due, and notes that this many are sent.
    pub(crate) fn wait(&mut self, bytes: usize) {
        let now = Instant::now();
        let pause = self.pause(now, bytes);
        if !pause.is_zero() {
            std::thread::sleep(pause);
        }
    }

    /// How long to wait at a time before this many bytes are sent.
    fn pause(&mut self, now: Instant, bytes: usize) -> Duration {
        let Some(rate) = self.bytes_per_second else { return Duration::ZERO };
        let oldest = now.checked_sub(CATCH_UP).unwrap_or(now);
        let due = self.due.map_or(now, |due| due.max(oldest));
        let seconds = (bytes as f64 / rate).min(86_400.0);
        self.due = due.checked_add(Duration::try_from_secs_f64(seconds).unwrap_or_default());
        due.saturating_duration_since(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_due_at_their_rate_and_a_pause_is_not_caught_up_with() {
        let (start, mut pace) = (Instant::now(), Pace::new(Some(1e6)));
        assert_eq!(pace.pause(start, 1000), Duration::ZERO);
        assert_eq!(pace.pause(start, 1000), Duration::from_millis(1));
        assert_eq!(pace.pause(start + Duration::from_millis(1), 1000), Duration::from_millis(1));
        // After a second without anything, two milliseconds are sent at once and no more.
        let later = start + Duration::from_secs(1);
        let pauses: Vec<Duration> = (0..4).map(|_| pace.pause(later, 1000)).collect();
        assert_eq!(pauses[..3], [Duration::ZERO; 3]);
        assert_eq!(pauses[3], Duration::from_millis(1));
    }

    #[test]
    fn without_a_rate_nothing_waits() {
        assert_eq!(Pace::new(None).pause(Instant::now(), usize::MAX), Duration::ZERO);
    }
}
