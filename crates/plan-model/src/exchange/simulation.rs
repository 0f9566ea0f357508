//! Messages on each link, round by round.

use serde::Serialize;

use super::fat_tree::FatTree;
use super::schedule::Schedule;
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

/// Counts of a direction's links, level by level.
struct Loads {
    /// Where each level's links begin in `counts`.
    starts: Vec<usize>,
    counts: Vec<u32>,
}

impl Loads {
    fn new(ranks: u64, below: &[u64], width: &[u64]) -> Self {
        let mut starts = Vec::new();
        let mut all = 0;
        for (below, width) in below.iter().zip(width) {
            starts.push(all as usize);
            all += ranks.div_ceil(*below) * width;
        }
        Self { starts, counts: vec![0; all as usize] }
    }

    /// One more on a link; how many it has now.
    fn add(&mut self, level: usize, link: usize) -> u32 {
        let count = &mut self.counts[self.starts[level] + link];
        *count += 1;
        *count
    }
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
    let routes = Routes::new(tree, ranks);
    let mut up = Loads::new(u64::from(ranks), &routes.below, &routes.width);
    let mut down = Loads::new(u64::from(ranks), &routes.below, &routes.width);
    let mut sent = vec![0_u32; schedule.senders() as usize];
    let (mut worst, mut sum, mut messages, mut through_top, mut seconds) = (0, 0_u64, 0_u64, 0_u64, 0.0);
    for round in 0..schedule.rounds() {
        up.counts.fill(0);
        down.counts.fill(0);
        let mut most = 0;
        for sender in 0..schedule.senders() {
            let Some(receiver) = schedule.receiver(round, sender) else { continue };
            messages += 1;
            sent[sender as usize] += 1;
            for level in 0..routes.levels {
                let (from, to) = (routes.subtree(level, sender), routes.subtree(level, receiver));
                if from == to {
                    break;
                }
                let (width, port) = (routes.width[level] as usize, routes.port(level, receiver));
                most = most.max(up.add(level, from * width + port)).max(down.add(level, to * width + port));
                through_top += u64::from(level + 1 == routes.levels);
            }
        }
        worst = worst.max(most);
        sum += u64::from(most);
        // A round in which nobody sends takes no time.
        if most > 0 {
            seconds += network.latency + message_bytes * f64::from(most) / network.link;
        }
    }
    let sent = sent.iter().copied().max().unwrap_or(0);
    Ok(Simulation {
        ranks,
        rounds: schedule.rounds(),
        messages,
        message_bytes,
        sent_bytes: f64::from(sent) * message_bytes,
        share_through_top: if messages == 0 { 0.0 } else { through_top as f64 / messages as f64 },
        worst_load: worst,
        mean_load: sum as f64 / f64::from(schedule.rounds()),
        seconds,
        least_seconds: f64::from(sent) * (network.latency + message_bytes / network.link),
    })
}

/// Subtrees and ports of all ranks, in tables: a division for each of 10^8 messages would be most of the time.
struct Routes {
    levels: usize,
    below: Vec<u64>,
    width: Vec<u64>,
    /// `[level][rank]`.
    subtrees: Vec<Vec<u32>>,
    ports: Vec<Vec<u32>>,
}

impl Routes {
    fn new(tree: &FatTree, ranks: u32) -> Self {
        let (below, width, levels) = (tree.below(), tree.width(), tree.levels());
        let table = |of: &dyn Fn(usize, u64) -> u64| -> Vec<Vec<u32>> {
            let level = |level| (0..ranks).map(|rank| of(level, u64::from(rank)) as u32).collect();
            (0..levels).map(level).collect()
        };
        let subtrees = table(&|level, rank| rank / below[level]);
        let ports = table(&|level, rank| tree.port(level, rank));
        Self { levels, below, width, subtrees, ports }
    }

    fn subtree(&self, level: usize, rank: u32) -> usize {
        self.subtrees[level][rank as usize] as usize
    }

    fn port(&self, level: usize, rank: u32) -> usize {
        self.ports[level][rank as usize] as usize
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::schedule::Order;
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
