//! What larger messages buy and cost.
//!
//! ```text
//! block of a rank = messages of all receivers      message = block / receivers
//! filling         = block / bytes a second that the rank sends
//! sending         = receivers x latency + block / bytes a second of the link
//! ```

use serde::Serialize;

use crate::error::{PlanError, in_range};

/// An exchange with blocks of one size, without contention.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Aggregation {
    /// Bytes of a rank's block.
    pub block_bytes: f64,
    /// Bytes of a message.
    pub message_bytes: f64,
    /// Seconds until a block is full: what the exchange adds to the latency of the instrument at least.
    pub fill_seconds: f64,
    /// Seconds until it is sent.
    pub send_seconds: f64,
    /// Share of the sending that is bytes, not latency.
    pub efficiency: f64,
    /// Bytes of a rank that sends: `lanes + 1` blocks.
    pub memory_bytes: f64,
}

/// An exchange of a rank that sends `rate` bytes a second to `receivers` ranks, in blocks of `block_bytes`.
pub fn aggregation(
    receivers: u32,
    rate: f64,
    link: f64,
    latency: f64,
    lanes: u32,
    block_bytes: f64,
) -> Result<Aggregation, PlanError> {
    in_range("ranks that receive", f64::from(receivers), (1.0, 1e5))?;
    in_range("bytes a second of a rank", rate, (1.0, 1e15))?;
    in_range("bytes a second of a link", link, (1.0, 1e15))?;
    in_range("seconds of latency", latency, (0.0, 1e3))?;
    in_range("lanes", f64::from(lanes), (1.0, 64.0))?;
    in_range("bytes of a block", block_bytes, (1.0, 1e15))?;
    let bytes_alone = block_bytes / link;
    let send_seconds = f64::from(receivers) * latency + bytes_alone;
    Ok(Aggregation {
        block_bytes,
        message_bytes: block_bytes / f64::from(receivers),
        fill_seconds: block_bytes / rate,
        send_seconds,
        efficiency: bytes_alone / send_seconds,
        memory_bytes: (f64::from(lanes) + 1.0) * block_bytes,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_whose_bytes_take_as_long_as_the_latency_are_half_efficient() {
        let found = aggregation(1000, 1e9, 1e10, 1e-5, 2, 1000.0 * 1e5).unwrap();
        assert_eq!(found.message_bytes, 1e5);
        assert!((found.efficiency - 0.5).abs() < 1e-12);
        assert!((found.send_seconds - 0.02).abs() < 1e-12);
        assert!((found.fill_seconds - 0.1).abs() < 1e-12);
        assert_eq!(found.memory_bytes, 3e8);
    }
}
