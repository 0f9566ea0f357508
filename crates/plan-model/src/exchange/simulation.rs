//! Messages on each link, round by round.

use serde::Serialize;

use super::fat_tree::FatTree;
use super::schedule::{Order, Schedule};
use crate::error::{PlanError, in_range};

/// Links of a fat tree.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Network {
    /// The tree.
    pub tree: FatTree,
    /// Bytes a second of a link, each way; all links are equal.
    pub link: f64,
    /// Seconds before a message's first byte is there.
    pub latency: f64,
}

/// What an all-to-all costs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Simulation {
    /// Ranks.
    pub ranks: u32,
    /// Rounds.
    pub rounds: u32,
    /// Messages of all ranks together.
    pub messages: u64,
    /// Bytes of a message.
    pub message_bytes: f64,
    /// Bytes that the rank with the most sends.
    pub sent_bytes: f64,
    /// Bytes that go through top switches, of all bytes: 0 to 1.
    pub share_through_top: f64,
    /// Messages on the fullest link of any round.
    pub worst_load: u32,
    /// Messages on the fullest link of a round, mean over rounds.
    pub mean_load: f64,
    /// Seconds of the whole exchange.
    pub seconds: f64,
    /// Seconds if every link carried one message a round at most: `rounds x latency + bytes of a rank / link`.
    pub least_seconds: f64,
}

/// Counts all messages of an all-to-all of `message_bytes` each. Rank `r` is at the tree's place `r`.
pub fn simulate(schedule: &Schedule, network: &Network, message_bytes: f64) -> Result<Simulation, PlanError> {
    in_range("bytes of a message", message_bytes, (0.0, 1e15))?;
    in_range("bytes a second of a link", network.link, (1.0, 1e15))?;
    in_range("seconds of latency", network.latency, (0.0, 1e3))?;
    let (ranks, tree) = (schedule.ranks(), &network.tree);
    if u64::from(ranks) > tree.places() {
        return Err(PlanError::Places {
            quantity: "ranks on the fat tree",
            most: tree.places(),
            actual: u64::from(ranks),
        });
    }
    let mut levels: Vec<Level> = (0..tree.levels()).map(|level| Level::new(tree, level, ranks)).collect();
    let mut sum = Sum::default();
    let mut receivers = Vec::new();
    let mut seconds = 0.0;
    for round in 0..schedule.rounds() {
        let counted = match schedule.order() {
            Order::Pairwise => {
                receivers.clear();
                receivers.extend((0..schedule.senders()).map(|sender| schedule.receiver(round, sender)));
                pairwise(&mut levels, &receivers)
            }
            Order::InOrder => in_order(&levels, schedule, round),
        };
        sum.add(counted);
        // A round in which nobody sends takes no time.
        if counted.most > 0 {
            seconds += network.latency + message_bytes * f64::from(counted.most) / network.link;
        }
    }
    // Every sender has a message for each receiver but itself.
    let sent = sum.messages / u64::from(schedule.senders());
    Ok(Simulation {
        ranks,
        rounds: schedule.rounds(),
        messages: sum.messages,
        message_bytes,
        sent_bytes: sent as f64 * message_bytes,
        share_through_top: if sum.messages == 0 { 0.0 } else { sum.through_top as f64 / sum.messages as f64 },
        worst_load: sum.worst,
        mean_load: sum.loads as f64 / f64::from(schedule.rounds()),
        seconds,
        least_seconds: sent as f64 * (network.latency + message_bytes / network.link),
    })
}

/// What one round has.
#[derive(Clone, Copy, Default)]
struct Round {
    messages: u64,
    through_top: u64,
    /// Messages on the fullest link.
    most: u32,
}

/// What rounds have together.
#[derive(Default)]
struct Sum {
    messages: u64,
    through_top: u64,
    loads: u64,
    worst: u32,
}

impl Sum {
    fn add(&mut self, round: Round) {
        self.messages += round.messages;
        self.through_top += round.through_top;
        self.loads += u64::from(round.most);
        self.worst = self.worst.max(round.most);
    }
}

/// Links between a level and the next one, up and down, with the tables that find them: a division for each of 10^8
/// messages would be most of the time.
struct Level {
    /// By rank: the first link up from its subtree.
    first: Vec<u32>,
    /// By rank: which of its subtree's links goes to it, and up to it from elsewhere.
    port: Vec<u32>,
    up: Vec<u32>,
    down: Vec<u32>,
}

impl Level {
    fn new(tree: &FatTree, level: usize, ranks: u32) -> Self {
        let (below, width) = (tree.below()[level], tree.width()[level]);
        let links = u64::from(ranks).div_ceil(below) * width;
        let table = |of: &dyn Fn(u64) -> u64| (0..ranks).map(|rank| of(u64::from(rank)) as u32).collect();
        Self {
            first: table(&|rank| rank / below * width),
            port: table(&|rank| tree.port(level, rank)),
            up: vec![0; links as usize],
            down: vec![0; links as usize],
        }
    }
}

/// Counts a round in which each rank sends to the one at its place in `receivers`.
fn pairwise(levels: &mut [Level], receivers: &[Option<u32>]) -> Round {
    let mut round = Round { messages: receivers.iter().flatten().count() as u64, ..Round::default() };
    for level in levels {
        level.up.fill(0);
        level.down.fill(0);
        round.through_top = 0; // what the last level has stays
        for (&from, receiver) in level.first.iter().zip(receivers) {
            let Some(receiver) = receiver.map(|receiver| receiver as usize) else { continue };
            let (to, port) = (level.first[receiver], level.port[receiver]);
            // A message goes as high as the subtree that both are in.
            if from != to {
                let (up, down) = ((from + port) as usize, (to + port) as usize);
                level.up[up] += 1;
                level.down[down] += 1;
                round.most = round.most.max(level.up[up]).max(level.down[down]);
                round.through_top += 1;
            }
        }
    }
    round
}

/// A round in which all send to one rank: that rank's link carries all messages, and none can carry more.
fn in_order(levels: &[Level], schedule: &Schedule, round: u32) -> Round {
    let senders = 0..schedule.senders();
    let receiver = senders.clone().find_map(|sender| schedule.receiver(round, sender));
    let (Some(receiver), Some(top)) = (receiver, levels.last()) else { return Round::default() };
    let messages = senders.len() - usize::from(receiver < schedule.senders());
    // Ranks of a subtree follow each other.
    let to = top.first[receiver as usize];
    let ranks = &top.first[..schedule.senders() as usize];
    let near = ranks.partition_point(|&first| first <= to) - ranks.partition_point(|&first| first < to);
    Round { messages: messages as u64, through_top: (ranks.len() - near) as u64, most: messages as u32 }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn network(radix: u32, levels: u32, oversubscription: f64) -> Network {
        Network { tree: FatTree::new(radix, levels, oversubscription).unwrap(), link: 1e9, latency: 1e-6 }
    }

    /// The switches that a message passes, as (level, subtree, digits of ports): written from the tree's definition,
    /// by digits instead of tables.
    fn path(children: &[u64], parents: &[u64], from: u64, to: u64) -> Vec<(usize, u64, Vec<u64>)> {
        let subtree = |level: usize, rank: u64| rank / children[..level].iter().product::<u64>();
        let top = (0..).find(|&level| subtree(level, from) == subtree(level, to)).unwrap();
        let digits = |level: usize| -> Vec<u64> {
            (0..level).map(|l| to / parents[..l].iter().product::<u64>() % parents[l]).collect()
        };
        let up = (0..=top).map(|level| (level, subtree(level, from), digits(level)));
        let down = (0..top).rev().map(|level| (level, subtree(level, to), digits(level)));
        up.chain(down).collect()
    }

    /// The fullest link of each round, by counting links between switches in a map.
    fn brute_force(schedule: &Schedule, children: &[u64], parents: &[u64]) -> Vec<u32> {
        let round = |round: u32| {
            let mut counts = BTreeMap::new();
            for sender in 0..schedule.senders() {
                let Some(receiver) = schedule.receiver(round, sender) else { continue };
                let path = path(children, parents, u64::from(sender), u64::from(receiver));
                for two in path.windows(2) {
                    *counts.entry((two[0].clone(), two[1].clone())).or_insert(0) += 1;
                }
            }
            counts.into_values().max().unwrap_or(0)
        };
        (0..schedule.rounds()).map(round).collect()
    }

    /// Share of messages between ranks that no switch below the top has below it.
    fn through_top(schedule: &Schedule, children: &[u64]) -> f64 {
        let below = children[..children.len() - 1].iter().product::<u64>();
        let (mut all, mut through) = (0.0, 0.0);
        for round in 0..schedule.rounds() {
            for sender in 0..schedule.senders() {
                let Some(receiver) = schedule.receiver(round, sender) else { continue };
                all += 1.0;
                through += f64::from(u32::from(u64::from(sender) / below != u64::from(receiver) / below));
            }
        }
        through / all
    }

    #[test]
    fn loads_are_those_of_counting_every_link_by_itself() {
        let trees = [
            (network(8, 1, 1.0), vec![8], vec![1]),
            (network(8, 2, 1.0), vec![4, 8], vec![1, 4]),
            (network(8, 2, 3.0), vec![6, 8], vec![1, 2]),
            (network(4, 3, 1.0), vec![2, 2, 4], vec![1, 2, 2]),
            (network(4, 3, 3.0), vec![3, 2, 4], vec![1, 1, 2]),
        ];
        for (network, children, parents) in trees {
            let most = network.tree.places().min(20) as u32;
            for ranks in [2, 5, most] {
                let mut schedules = Vec::new();
                for order in [Order::Pairwise, Order::InOrder] {
                    schedules.push(Schedule::together(order, ranks).unwrap());
                    schedules.push(Schedule::apart(order, ranks / 2, ranks - ranks / 2).unwrap());
                }
                for schedule in schedules {
                    let counted = brute_force(&schedule, &children, &parents);
                    let found = simulate(&schedule, &network, 1000.0).unwrap();
                    assert_eq!(found.share_through_top, through_top(&schedule, &children), "{schedule:?} {children:?}");
                    assert_eq!(found.worst_load, *counted.iter().max().unwrap(), "{schedule:?} {children:?}");
                    let mean = f64::from(counted.iter().sum::<u32>()) / counted.len() as f64;
                    assert!((found.mean_load - mean).abs() < 1e-12, "{schedule:?} {children:?}");
                }
            }
        }
    }

    #[test]
    fn every_byte_is_sent_once() {
        let network = network(8, 2, 1.0);
        for (schedule, messages) in [
            (Schedule::together(Order::Pairwise, 30).unwrap(), 30 * 29),
            (Schedule::together(Order::InOrder, 30).unwrap(), 30 * 29),
            (Schedule::apart(Order::Pairwise, 10, 21).unwrap(), 10 * 21),
        ] {
            let found = simulate(&schedule, &network, 64.0).unwrap();
            assert_eq!(found.messages, messages);
            assert_eq!(found.sent_bytes * f64::from(schedule.senders()), messages as f64 * 64.0);
        }
    }

    #[test]
    fn shifts_of_a_full_tree_use_each_link_once_and_order_fills_the_receiver_s() {
        for network in [network(8, 2, 1.0), network(8, 3, 1.0)] {
            let ranks = network.tree.places() as u32;
            let pairwise = simulate(&Schedule::together(Order::Pairwise, ranks).unwrap(), &network, 1.0).unwrap();
            assert_eq!(pairwise.worst_load, 1);
            assert!((pairwise.seconds / pairwise.least_seconds - 1.0).abs() < 1e-9);
            let in_order = simulate(&Schedule::together(Order::InOrder, ranks).unwrap(), &network, 1.0).unwrap();
            assert_eq!((in_order.worst_load, in_order.mean_load), (ranks - 1, f64::from(ranks - 1)));
        }
    }

    #[test]
    fn an_oversubscribed_leaf_carries_as_many_messages_a_link() {
        let network = Network { latency: 0.0, ..network(8, 2, 3.0) }; // 6 ranks and 2 links up a leaf
        let schedule = Schedule::together(Order::Pairwise, 48).unwrap();
        let found = simulate(&schedule, &network, 1e6).unwrap();
        assert_eq!(found.worst_load, 3);
        let (messages, seconds) = (found.mean_load * f64::from(found.rounds), 1e6 / 1e9);
        assert!((found.seconds - messages * seconds).abs() < 1e-9);
        assert!(found.seconds / found.least_seconds > 2.5, "most rounds leave the leaves: {found:?}");
    }

    #[test]
    fn more_ranks_than_places_is_an_error() {
        let schedule = Schedule::together(Order::Pairwise, 33).unwrap();
        let found = simulate(&schedule, &network(8, 2, 1.0), 1.0);
        assert_eq!(found, Err(PlanError::Places { quantity: "ranks on the fat tree", most: 32, actual: 33 }));
    }
}
