//! What is chosen, and what it depends on.

use std::collections::BTreeMap;
use std::fmt;

use crate::DeviceInfo;

/// A variant of a kernel with its parameters: `sm_90a parts=4`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Choice {
    variant: String,
    parameters: BTreeMap<String, u64>,
}

impl Choice {
    /// A variant without parameters. Of its name, letters, digits and `_ - .` are kept, others become `_`.
    #[must_use]
    pub fn new(variant: &str) -> Self {
        Self { variant: word(variant), parameters: BTreeMap::new() }
    }

    /// With a parameter.
    #[must_use]
    pub fn with(mut self, name: &str, value: u64) -> Self {
        self.parameters.insert(word(name), value);
        self
    }

    /// Name of the variant.
    #[must_use]
    pub fn variant(&self) -> &str {
        &self.variant
    }

    /// A parameter.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<u64> {
        self.parameters.get(name).copied()
    }
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.variant)?;
        self.parameters.iter().try_for_each(|(name, value)| write!(f, " {name}={value}"))
    }
}

/// Sizes of a piece of work, by name: `channels=64 inputs=128 times=4096`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Sizes(BTreeMap<String, u64>);

impl Sizes {
    /// Sizes by name.
    #[must_use]
    pub fn new(sizes: &[(&str, usize)]) -> Self {
        Self(sizes.iter().map(|&(name, size)| (word(name), size as u64)).collect())
    }

    pub(super) fn from_map(sizes: BTreeMap<String, u64>) -> Self {
        Self(sizes)
    }

    /// Each size rounded up to its [`size_class`].
    #[must_use]
    pub fn classes(&self) -> Self {
        Self(self.0.iter().map(|(name, &size)| (name.clone(), size_class(size))).collect())
    }

    /// How far other sizes are: the sum of factors' logarithms to base 2. `None` if their names are not the same or one
    /// of them is further than by a factor of 2.
    pub(super) fn distance(&self, other: &Self) -> Option<f64> {
        if !self.0.keys().eq(other.0.keys()) {
            return None;
        }
        let factors =
            self.0.values().zip(other.0.values()).map(|(&a, &b)| (a.max(1) as f64 / b.max(1) as f64).log2().abs());
        factors.map(|factor| (factor <= 1.0).then_some(factor)).sum()
    }
}

impl fmt::Display for Sizes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words: Vec<_> = self.0.iter().map(|(name, size)| format!("{name}={size}")).collect();
        f.write_str(&words.join(" "))
    }
}

/// The class of a size: the next power of two, or three quarters of it (1, 2, 3, 4, 6, 8, 12, 16, ...). Sizes of a
/// class, which are less than a factor of 1.5 apart, are treated alike.
#[must_use]
pub fn size_class(size: u64) -> u64 {
    let power = size.max(1).checked_next_power_of_two().unwrap_or(1 << 63);
    let three_quarters = power / 4 * 3;
    if three_quarters >= size.max(1) { three_quarters } else { power }
}

/// A device as measurements are kept for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceKey {
    pub(super) name: String,
    pub(super) compute_capability: (u32, u32),
    pub(super) driver_version: (u32, u32),
}

impl DeviceKey {
    /// A device of this name, compute capability, and CUDA version of the driver.
    #[must_use]
    pub fn new(name: &str, compute_capability: (u32, u32), driver_version: (u32, u32)) -> Self {
        let plain = |c: char| if c.is_control() || "[],#".contains(c) { '_' } else { c };
        Self { name: name.trim().chars().map(plain).collect(), compute_capability, driver_version }
    }

    /// The key of a device.
    #[must_use]
    pub fn of(info: &DeviceInfo) -> Self {
        Self::new(&info.name, info.compute_capability, info.driver_version)
    }
}

/// A name without anything that means something in a table.
fn word(name: &str) -> String {
    name.chars().map(|c| if is_word(c) { c } else { '_' }).collect()
}

pub(super) fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || "_-.".contains(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_powers_of_two_and_three_quarters_of_them() {
        let sizes = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 13, 96, 97, 129, 192, 193];
        let classes = [1, 1, 2, 3, 4, 6, 6, 8, 8, 12, 12, 16, 96, 128, 192, 192, 256];
        assert_eq!(sizes.map(size_class), classes);
        for size in (1..100_000).chain([u64::MAX / 2]) {
            let class = size_class(size);
            assert!(class >= size && 2 * u128::from(class) < 3 * u128::from(size) + 2, "{size}: {class}");
            assert_eq!(size_class(class), class);
        }
        assert_eq!(size_class(u64::MAX), 1 << 63); // larger than any size there is
    }

    #[test]
    fn sizes_are_near_up_to_a_factor_of_two_in_each() {
        let sizes = Sizes::new(&[("channels", 64), ("times", 4096)]);
        assert_eq!(sizes.distance(&sizes), Some(0.0));
        assert_eq!(sizes.distance(&Sizes::new(&[("channels", 32), ("times", 8192)])), Some(2.0));
        assert_eq!(sizes.distance(&Sizes::new(&[("channels", 31), ("times", 4096)])), None);
        assert_eq!(sizes.distance(&Sizes::new(&[("channels", 64)])), None);
        assert_eq!(sizes.distance(&Sizes::new(&[("channels", 64), ("inputs", 4096)])), None);
    }

    #[test]
    fn names_cannot_break_a_table() {
        assert_eq!(Choice::new("a b->#\nc=1").with("x y", 3).to_string(), "a_b-___c_1 x_y=3");
        assert_eq!(DeviceKey::new(" NVIDIA [X], #1\n", (8, 0), (12, 4)).name, "NVIDIA _X__ _1");
    }
}
