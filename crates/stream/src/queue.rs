//! Bounded queues between stages, with their depth as a gauge.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crossbeam_channel::{Receiver, Sender, TrySendError, bounded};

use crate::telemetry::QUEUE_DEPTH;

/// The end that sends.
pub(crate) struct QueueIn<T> {
    sender: Sender<T>,
    gauge: metrics::Gauge,
    deepest: Arc<AtomicUsize>,
}

/// The end that receives.
pub(crate) struct QueueOut<T> {
    receiver: Receiver<T>,
    gauge: metrics::Gauge,
}

impl<T> Clone for QueueIn<T> {
    fn clone(&self) -> Self {
        Self { sender: self.sender.clone(), gauge: self.gauge.clone(), deepest: self.deepest.clone() }
    }
}

/// A queue of so many messages at most, at least one, and the depth that it reaches.
pub(crate) fn queue<T>(name: String, depth: usize) -> (QueueIn<T>, QueueOut<T>, Arc<AtomicUsize>) {
    let (sender, receiver) = bounded(depth.max(1));
    let gauge = metrics::gauge!(QUEUE_DEPTH, "queue" => name);
    let deepest = Arc::new(AtomicUsize::new(0));
    let sends = QueueIn { sender, gauge: gauge.clone(), deepest: deepest.clone() };
    (sends, QueueOut { receiver, gauge }, deepest)
}

/// What became of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sent {
    /// It is in the queue.
    Queued,
    /// There is no room.
    Full,
    /// Nobody receives any more.
    Closed,
}

impl<T> QueueIn<T> {
    fn note(&self) {
        let depth = self.sender.len();
        self.deepest.fetch_max(depth, Ordering::Relaxed);
        self.gauge.set(depth as f64);
    }

    /// Sends, and waits for room.
    pub(crate) fn send(&self, message: T) -> Sent {
        match self.sender.send(message) {
            Ok(()) => {
                self.note();
                Sent::Queued
            }
            Err(_) => Sent::Closed,
        }
    }

    /// Sends if there is room.
    pub(crate) fn try_send(&self, message: T) -> Sent {
        match self.sender.try_send(message) {
            Ok(()) => {
                self.note();
                Sent::Queued
            }
            Err(TrySendError::Full(_)) => Sent::Full,
            Err(TrySendError::Disconnected(_)) => Sent::Closed,
        }
    }
}

impl<T> QueueOut<T> {
    /// The next message, as [`QueueOut::receive`]; an error if none comes until then.
    pub(crate) fn receive_until(&self, until: std::time::Instant) -> Result<Option<T>, ()> {
        let message = match self.receiver.recv_deadline(until) {
            Ok(message) => Some(message),
            Err(crossbeam_channel::RecvTimeoutError::Disconnected) => None,
            Err(crossbeam_channel::RecvTimeoutError::Timeout) => return Err(()),
        };
        self.gauge.set(self.receiver.len() as f64);
        Ok(message)
    }

    /// The next message; `None` when nobody sends any more.
    pub(crate) fn receive(&self) -> Option<T> {
        let message = self.receiver.recv().ok();
        self.gauge.set(self.receiver.len() as f64);
        message
    }
}
