//! The order in which lanes queue their exchanges.

use std::sync::{Condvar, Mutex, PoisonError};

use crate::exchange::ExchangeError;

/// Lets the lanes of a rank queue exchanges on a GPU in the order of blocks, which is the same on all ranks: kernels
/// that wait for each other across GPUs must be queued in one order, or each GPU may wait for what stands behind on the
/// other.
#[derive(Debug, Default)]
pub(super) struct Order {
    /// The number of the next, and whether a lane has failed.
    state: Mutex<(u64, bool)>,
    changed: Condvar,
}

impl Order {
    /// Waits until it is the turn of a number, does something, and gives the turn on.
    ///
    /// # Errors
    /// That of what is done; [`ExchangeError::Engine`] if a lane whose turn was before has failed.
    pub(super) fn in_turn<T>(
        &self,
        number: u64,
        run: impl FnOnce() -> Result<T, ExchangeError>,
    ) -> Result<T, ExchangeError> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        while state.0 != number {
            if state.1 {
                return Err(ExchangeError::Engine("another lane has failed".into()));
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        // Nobody else has this number; the lock is not held meanwhile, so that a lane that fails can say so.
        drop(state);
        let done = run();
        self.state.lock().unwrap_or_else(PoisonError::into_inner).0 = number + 1;
        self.changed.notify_all();
        done
    }

    /// What says that a lane has failed if its thread panics.
    pub(super) fn watch(&self) -> Watch<'_> {
        Watch(self)
    }

    /// A lane has failed: nobody waits for it.
    pub(super) fn fail(&self) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).1 = true;
        self.changed.notify_all();
    }
}

/// Of a lane's thread: [`Order::watch`].
pub(super) struct Watch<'a>(&'a Order);

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.fail();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_in_order_whoever_is_first() {
        let (order, seen) = (Order::default(), Mutex::new(Vec::new()));
        std::thread::scope(|scope| {
            for lane in [2, 1, 0] {
                let (order, seen) = (&order, &seen);
                scope.spawn(move || {
                    for round in 0..20 {
                        let number = 3 * round + lane;
                        let see = || {
                            seen.lock().unwrap().push(number);
                            Ok(())
                        };
                        order.in_turn(number, see).unwrap();
                    }
                });
            }
        });
        assert_eq!(*seen.lock().unwrap(), (0..60).collect::<Vec<_>>());
    }

    #[test]
    fn nobody_waits_for_a_lane_that_has_failed() {
        let order = Order::default();
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| order.in_turn(1, || Ok(())));
            order.fail();
            assert!(waiting.join().unwrap().is_err());
        });
        let panicking = Order::default();
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| panicking.in_turn(1, || Ok(())));
            let lane = scope.spawn(|| {
                let _watch = panicking.watch();
                panic!("a lane that panics");
            });
            assert!(lane.join().is_err() && waiting.join().unwrap().is_err());
        });
        // Whose turn it is goes on.
        assert_eq!(order.in_turn(0, || Ok(5)), Ok(5));
        assert_eq!(order.in_turn(1, || Ok(6)), Ok(6));
    }
}
