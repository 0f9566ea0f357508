//! UDP: a receiving thread, and a sender.

mod batch;
mod pace;
mod receiver;
mod sender;
mod socket;

pub use receiver::{NextChunk, ReceiverOptions, SpeadReceiver};
pub use sender::{SenderOptions, Sent, SpeadSender};
