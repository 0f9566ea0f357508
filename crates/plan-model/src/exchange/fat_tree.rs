//! A fat tree of equal switches, and the links of a message.
//!
//! ```text
//!           T  T  T  T      top: all ports down
//!           |\/|\/|\/|
//!  L  L     L  L  L  L      leaves: `down` ports to ranks, `up` ports to the top
//! ////     ||||
//! ranks    ranks            oversubscription = down / up
//! ```
//!
//! Numbers are those of an extended generalised fat tree (Öhring and others, 1995): on level `l` a switch has
//! `children[l - 1]` below it and `parents[l]` above it, and rank `d` is in subtree `d / (children of levels 1..=l)` of
//! level `l`. Routing is destination modulo k (Zahavi, 2012): what goes up from level `l` takes the port
//! `d / (parents of levels 1..=l) mod parents[l]`, whoever sent it, so that in a full tree without oversubscription a
//! shift by any number of ranks uses each link once.

use serde::Serialize;

use crate::error::{PlanError, in_range};

/// A fat tree with a rank at each port of its leaves.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FatTree {
    radix: u32,
    /// Children of a switch on levels 1, 2 and on.
    children: Vec<u32>,
    /// Parents of a rank (1), and of a switch on levels 1, 2 and on.
    parents: Vec<u32>,
}

impl FatTree {
    /// A tree of `levels` levels of switches with `radix` ports, 1 to 3. Leaves have `oversubscription` times as many
    /// ports down as up, rounded to whole ports.
    pub fn new(radix: u32, levels: u32, oversubscription: f64) -> Result<Self, PlanError> {
        in_range("ports of a switch", f64::from(radix), (2.0, 1024.0))?;
        in_range("levels of the fat tree", f64::from(levels), (1.0, 3.0))?;
        in_range("oversubscription", oversubscription, (1.0, 64.0))?;
        let down = (f64::from(radix) * oversubscription / (1.0 + oversubscription)).round();
        let down = (down as u32).clamp(1, radix - 1);
        let (up, half) = (radix - down, radix / 2);
        let (children, parents) = match levels {
            1 => (vec![radix], vec![1]),
            2 => (vec![down, radix], vec![1, up]),
            _ => (vec![down, half, radix], vec![1, up, radix - half]),
        };
        Ok(Self { radix, children, parents })
    }

    /// Ports of a switch.
    pub fn radix(&self) -> u32 {
        self.radix
    }

    /// Levels of switches.
    pub fn levels(&self) -> usize {
        self.children.len()
    }

    /// Ranks that there is place for.
    pub fn places(&self) -> u64 {
        self.children.iter().map(|&children| u64::from(children)).product()
    }

    /// Ports down over ports up of a leaf; 1 with one level.
    pub fn oversubscription(&self) -> f64 {
        self.parents.get(1).map_or(1.0, |&up| f64::from(self.children[0]) / f64::from(up))
    }

    /// Ranks below a switch of each level, from level 0 (a rank itself) on.
    pub(super) fn below(&self) -> Vec<u64> {
        let mut below = vec![1];
        for &children in &self.children {
            below.push(below[below.len() - 1] * u64::from(children));
        }
        below
    }

    /// Links up from a subtree of each level: of a rank 1, of a leaf its ports up, and on.
    pub(super) fn width(&self) -> Vec<u64> {
        let mut width: Vec<u64> = Vec::new();
        for &parents in &self.parents {
            let below = width.last().copied().unwrap_or(1);
            width.push(below * u64::from(parents));
        }
        width
    }

    /// Which of the links up from a subtree of level `level` what goes to `destination` takes. The way down from there
    /// is the link of the same number to the destination's subtree.
    pub(super) fn port(&self, level: usize, destination: u64) -> u64 {
        let (mut port, mut before) = (0, 1);
        for &parents in &self.parents[..=level] {
            let parents = u64::from(parents);
            port = port * parents + destination / before % parents;
            before *= parents;
        }
        port
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trees_have_the_places_that_textbooks_give_them() {
        assert_eq!(FatTree::new(64, 1, 1.0).unwrap().places(), 64);
        assert_eq!(FatTree::new(64, 2, 1.0).unwrap().places(), 64 * 64 / 2);
        assert_eq!(FatTree::new(64, 3, 1.0).unwrap().places(), 64 * 64 * 64 / 4);
        let over = FatTree::new(64, 2, 3.0).unwrap();
        assert_eq!((over.places(), over.oversubscription()), (48 * 64, 3.0));
    }

    #[test]
    fn ports_are_the_destination_s_digits() {
        let tree = FatTree::new(4, 3, 1.0).unwrap(); // 2 parents on each level
        assert_eq!(tree.width(), [1, 2, 4]);
        assert_eq!(tree.below(), [1, 2, 4, 16]);
        for destination in 0..16 {
            assert_eq!(tree.port(0, destination), 0);
            assert_eq!(tree.port(1, destination), destination % 2);
            assert_eq!(tree.port(2, destination), destination % 2 * 2 + destination / 2 % 2);
        }
    }

    #[test]
    fn trees_that_cannot_be_are_errors() {
        for (radix, levels, over) in [(1, 2, 1.0), (64, 0, 1.0), (64, 4, 1.0), (64, 2, 0.5), (64, 2, f64::NAN)] {
            assert!(FatTree::new(radix, levels, over).is_err(), "{radix} {levels} {over}");
        }
    }
}
