//! Polyphase filter bank.
pub mod window;
pub use window::{Window, pfb_weights};
