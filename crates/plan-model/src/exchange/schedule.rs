//! Who sends to whom, round by round.
//!
//! ```text
//! 4 ranks, each to all     pairwise               in order
//!                round     0    1    2    3       0    1    2    3
//!               rank 0 ->  (0)  1    2    3       (0)  1    2    3
//!               rank 1 ->  (1)  2    3    0       0    (1)  2    3
//!               rank 2 ->  (2)  3    0    1       0    1    (2)  3
//!               rank 3 ->  (3)  0    1    2       0    1    2    (3)
//! ```
//!
//! In parentheses: what a rank keeps.

use serde::Serialize;

use crate::error::{PlanError, in_range};

/// The order in which a rank serves the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Order {
    /// In round `i` rank `r` sends to `r + i`, modulo all: nobody gets two messages at once.
    Pairwise,
    /// In round `i` everyone sends to rank `i`.
    InOrder,
}

/// An all-to-all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Schedule {
    order: Order,
    senders: u32,
    receivers: u32,
    apart: bool,
}

impl Schedule {
    /// Every one of `ranks` ranks sends to all others.
    pub fn together(order: Order, ranks: u32) -> Result<Self, PlanError> {
        in_range("ranks", f64::from(ranks), (1.0, 1e5))?;
        Ok(Self { order, senders: ranks, receivers: ranks, apart: false })
    }

    /// Every one of the first `senders` ranks sends to every one of the next `receivers` ranks.
    pub fn apart(order: Order, senders: u32, receivers: u32) -> Result<Self, PlanError> {
        in_range("ranks that send", f64::from(senders), (1.0, 1e5))?;
        in_range("ranks that receive", f64::from(receivers), (1.0, 1e5))?;
        in_range("ranks", f64::from(senders) + f64::from(receivers), (2.0, 1e5))?;
        Ok(Self { order, senders, receivers, apart: true })
    }

    /// The order.
    pub fn order(&self) -> Order {
        self.order
    }

    /// Ranks that send or receive.
    pub fn ranks(&self) -> u32 {
        if self.apart { self.senders + self.receivers } else { self.senders }
    }

    /// Ranks that send: ranks 0 and up.
    pub fn senders(&self) -> u32 {
        self.senders
    }

    /// Ranks that receive.
    pub fn receivers(&self) -> u32 {
        self.receivers
    }

    /// Rounds. Pairwise ones are as many as the larger side has ranks, so that every pair meets once.
    pub fn rounds(&self) -> u32 {
        match self.order {
            Order::Pairwise => self.senders.max(self.receivers),
            Order::InOrder => self.receivers,
        }
    }

    /// To which rank `sender` sends in a round; none if it rests, or keeps what it would send.
    pub fn receiver(&self, round: u32, sender: u32) -> Option<u32> {
        let index = match self.order {
            Order::Pairwise => {
                // Both are below 2^17, so their sum is one subtraction away from the remainder.
                let (sum, all) = (sender + round, self.rounds());
                if sum >= all { sum - all } else { sum }
            }
            Order::InOrder => round,
        };
        if index >= self.receivers {
            None
        } else if self.apart {
            Some(self.senders + index)
        } else {
            (index != sender).then_some(index)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How often each pair meets.
    fn meetings(schedule: &Schedule) -> Vec<u32> {
        let ranks = schedule.ranks();
        let mut counts = vec![0; (ranks * ranks) as usize];
        for round in 0..schedule.rounds() {
            for sender in 0..schedule.senders() {
                if let Some(receiver) = schedule.receiver(round, sender) {
                    counts[(sender * ranks + receiver) as usize] += 1;
                }
            }
        }
        counts
    }

    #[test]
    fn every_pair_meets_once_in_either_order() {
        for order in [Order::Pairwise, Order::InOrder] {
            for ranks in [1, 2, 7, 16] {
                let schedule = Schedule::together(order, ranks).unwrap();
                let expected = (0..ranks * ranks).map(|pair| u32::from(pair / ranks != pair % ranks));
                assert_eq!(meetings(&schedule), expected.collect::<Vec<_>>(), "{order:?} {ranks}");
            }
            for (senders, receivers) in [(1, 1), (3, 5), (5, 3), (4, 4)] {
                let schedule = Schedule::apart(order, senders, receivers).unwrap();
                let ranks = senders + receivers;
                let expected =
                    (0..ranks * ranks).map(|pair| u32::from(pair / ranks < senders && pair % ranks >= senders));
                assert_eq!(meetings(&schedule), expected.collect::<Vec<_>>(), "{order:?} {senders} {receivers}");
            }
        }
    }

    #[test]
    fn pairwise_nobody_gets_two_messages_in_a_round() {
        for schedule in [Schedule::together(Order::Pairwise, 9), Schedule::apart(Order::Pairwise, 4, 7)] {
            let schedule = schedule.unwrap();
            for round in 0..schedule.rounds() {
                let mut to: Vec<_> =
                    (0..schedule.senders()).filter_map(|sender| schedule.receiver(round, sender)).collect();
                let all = to.len();
                to.sort_unstable();
                to.dedup();
                assert_eq!(to.len(), all, "round {round}");
            }
        }
    }

    #[test]
    fn no_ranks_and_too_many_are_errors() {
        assert!(Schedule::together(Order::Pairwise, 0).is_err());
        assert!(Schedule::together(Order::Pairwise, 100_001).is_err());
        assert!(Schedule::apart(Order::InOrder, 100_000, 1).is_err());
    }
}
