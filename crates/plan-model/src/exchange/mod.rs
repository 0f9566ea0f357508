//! The all-to-all between F- and X-engines, simulated on a fat tree.
//!
//! Every F rank has a message for every X rank, once a block. [`Schedule`] says in which round which rank sends to
//! which, [`FatTree`] over which links, and [`simulate`] counts the messages on each link in each round:
//!
//! ```text
//! time of a round = latency + bytes of a message x messages on the fullest link / bytes a second of a link
//! ```
//!
//! A round ends for all before the next one begins. Rounds are not sampled: all messages are counted, 10^8 of them with
//! 10^4 ranks. Where everyone sends to one rank, the count is known: that rank's link carries all of the round.

mod aggregation;
mod fat_tree;
mod schedule;
mod simulation;

pub use aggregation::{Aggregation, aggregation};
pub use fat_tree::FatTree;
pub use schedule::{Order, Schedule};
pub use simulation::{Network, Simulation, simulate};
