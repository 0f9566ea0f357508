//! A limit of the rate at which bytes are sent.

use std::time::{Duration, Instant};

/// What is sent at once after a pause, in time.
const BURST: Duration = Duration::from_millis(2);
/// What is caught up with after a pause, in time, and how much faster than the rate.
const CAUGHT_UP: Duration = Duration::from_secs(1);
const FASTER: f64 = 1.1;

/// When the next bytes may be sent.
///
/// Two clocks run: one at the rate, which may lag by a second, and one a tenth faster, which may lag by two
/// milliseconds. Bytes wait for both, so that time in which the sender got no processor is made good without a burst.
#[derive(Debug)]
pub(crate) struct Pace {
    bytes_per_second: Option<f64>,
    due: Option<[Instant; 2]>,
}

impl Pace {
    pub(crate) fn new(bytes_per_second: Option<f64>) -> Self {
        Self { bytes_per_second, due: None }
    }

    /// Waits until the next bytes are due, and notes that this many are sent.
    pub(crate) fn wait(&mut self, bytes: usize) {
        let pause = self.pause(Instant::now(), bytes);
        if !pause.is_zero() {
            std::thread::sleep(pause);
        }
    }

    /// How long to wait at a time before this many bytes are sent.
    fn pause(&mut self, now: Instant, bytes: usize) -> Duration {
        let Some(rate) = self.bytes_per_second else { return Duration::ZERO };
        let lag = |due: Instant, most: Duration| due.max(now.checked_sub(most).unwrap_or(now));
        let [slow, fast] = self.due.map_or([now; 2], |[slow, fast]| [lag(slow, CAUGHT_UP), lag(fast, BURST)]);
        let step = |rate: f64| Duration::try_from_secs_f64((bytes as f64 / rate).min(86_400.0)).unwrap_or_default();
        let next = slow.checked_add(step(rate)).zip(fast.checked_add(step(FASTER * rate)));
        self.due = next.map(|(slow, fast)| [slow, fast]);
        slow.max(fast).saturating_duration_since(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sends pieces of 1000 bytes at 1 MB/s from a time on, without delay; when the last of them is sent.
    fn send(pace: &mut Pace, mut now: Instant, pieces: usize) -> Instant {
        for _ in 0..pieces {
            now += pace.pause(now, 1000);
        }
        now
    }

    fn about(actual: Duration, expected: f64) {
        assert!((actual.as_secs_f64() - expected).abs() < 1e-6, "{actual:?}, not {expected} s");
    }

    #[test]
    fn bytes_are_due_at_their_rate() {
        let (start, mut pace) = (Instant::now(), Pace::new(Some(1e6)));
        about(send(&mut pace, start, 101) - start, 0.1);
    }

    #[test]
    fn a_pause_is_caught_up_with_a_tenth_faster_and_without_a_burst() {
        let (start, mut pace) = (Instant::now(), Pace::new(Some(1e6)));
        let paused = send(&mut pace, start, 101) + Duration::from_millis(100);
        // Two milliseconds at once, and then a tenth faster.
        about(send(&mut pace, paused, 1) - paused, 0.0);
        about(send(&mut pace, paused, 1) - paused, 0.0);
        let later = send(&mut pace, paused, 400);
        about(later - paused, 402.0 * 1e-3 / 1.1 - 2e-3 - 1e-3 / 1.1);
        // In the end it is as if there had been no pause.
        about(send(&mut pace, later, 1500) - start, 2.002);
    }

    #[test]
    fn more_than_a_second_is_not_caught_up_with() {
        let (start, mut pace) = (Instant::now(), Pace::new(Some(1e6)));
        let paused = send(&mut pace, start, 1) + Duration::from_secs(60);
        // 20 s hold 20 s and the one second.
        about(send(&mut pace, paused, 21_001) - paused, 20.0);
    }

    #[test]
    fn without_a_rate_nothing_waits() {
        assert_eq!(Pace::new(None).pause(Instant::now(), usize::MAX), Duration::ZERO);
    }
}
