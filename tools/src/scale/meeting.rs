//! Threads that go on together, or all end when one of them fails.

use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What threads share that meet again and again.
pub(crate) struct Meeting {
    barrier: Barrier,
    /// The first meeting after which nobody goes on.
    last: AtomicUsize,
}

/// A thread's place in a meeting.
pub(crate) struct Seat<'a> {
    meeting: &'a Meeting,
    met: usize,
}

impl Meeting {
    /// Of so many threads.
    pub(crate) fn new(threads: usize) -> Self {
        Self { barrier: Barrier::new(threads), last: AtomicUsize::new(usize::MAX) }
    }

    /// A thread's place. Every thread has one.
    pub(crate) fn seat(&self) -> Seat<'_> {
        Seat { meeting: self, met: 0 }
    }
}

impl Seat<'_> {
    /// Has all threads end at the meeting that is next for this one, to which it must come.
    pub(crate) fn fail(&self) {
        self.meeting.last.fetch_min(self.met, Ordering::SeqCst);
    }

    /// Waits for all threads; whether they go on.
    pub(crate) fn meet(&mut self) -> bool {
        self.meeting.barrier.wait();
        // Nobody is beyond the next meeting, and who fails behind this one names that.
        let goes_on = self.met < self.meeting.last.load(Ordering::SeqCst);
        self.met += 1;
        goes_on
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_threads_end_at_the_same_meeting() {
        for (failing, at) in [(0, 0), (1, 3), (2, 7)] {
            let meeting = Meeting::new(3);
            let ends: Vec<usize> = std::thread::scope(|scope| {
                let run = |thread: usize| {
                    let mut seat = meeting.seat();
                    let meeting = 0..;
                    for number in meeting {
                        if thread == failing && number == at {
                            seat.fail();
                        }
                        if !seat.meet() {
                            return number;
                        }
                    }
                    usize::MAX
                };
                let threads: Vec<_> = (0..3).map(|thread| scope.spawn(move || run(thread))).collect();
                threads.into_iter().map(|thread| thread.join().unwrap()).collect()
            });
            assert_eq!(ends, [at; 3]);
        }
    }
}
