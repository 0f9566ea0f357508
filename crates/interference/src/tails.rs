//! Shares of spectral kurtosis beyond Pearson's quantiles, as they were measured.

use std::sync::OnceLock;

/// The table that comes with the crate: `samples,skewness,nominal share,share below,share above`.
const TABLE: &str = include_str!("tails.csv");

/// One tail of one number of samples.
#[derive(Debug, Clone, Default)]
struct Tail {
    /// Logarithms of the true and of the nominal share, both falling.
    shares: Vec<(f64, f64)>,
}

/// Both tails of one number of samples.
#[derive(Debug, Clone)]
struct Tails {
    skewness: f64,
    tails: [Tail; 2],
}

/// The share that Pearson's curve is to be asked for, so that a share `tail` is truly below, and truly above.
///
/// Logarithms are interpolated in logarithms, and go on in straight lines beyond what was measured; then in the
/// skewness, down to 0 where Pearson's curve is the normal distribution.
pub(crate) fn nominal(skewness: f64, tail: f64) -> [f64; 2] {
    static TABLES: OnceLock<Vec<Tails>> = OnceLock::new();
    // Skewness falls.
    let table = TABLES.get_or_init(|| parse(TABLE));
    let after = table.partition_point(|tails| tails.skewness > skewness);
    [0, 1].map(|side| {
        // By how much the logarithm is off.
        let offset = |at: Option<&Tails>| at.map_or(0.0, |tails| tails.tails[side].offset(tail.ln()));
        let above = after.checked_sub(1).and_then(|at| table.get(at));
        let (high, low) = (offset(above), offset(table.get(after)));
        let offset = match (above, table.get(after).map_or(0.0, |tails| tails.skewness)) {
            (None, _) => low, // more skewness than that of the fewest samples
            (Some(above), lower) => {
                low + (high - low) * ((skewness - lower) / (above.skewness - lower)).clamp(0.0, 1.0)
            }
        };
        (tail.ln() + offset).exp().clamp(1e-12, 0.5)
    })
}

impl Tail {
    /// What is to be added to the logarithm of a share.
    fn offset(&self, log: f64) -> f64 {
        let [.., before, last] = self.shares[..] else { return 0.0 };
        let pairs = self.shares.windows(2).map(|pair| (pair[0], pair[1]));
        let ((x0, y0), (x1, y1)) = pairs.clone().find(|&(_, (x, _))| x <= log).unwrap_or((before, last));
        y0 + (y1 - y0) * (log - x0) / (x1 - x0) - log
    }
}

fn parse(text: &str) -> Vec<Tails> {
    let mut table: Vec<Tails> = Vec::new();
    for line in text.lines() {
        let numbers: Vec<f64> = line.split(',').filter_map(|number| number.parse().ok()).collect();
        let [_, skewness, nominal, below, above] = numbers[..] else { continue };
        if table.last().is_none_or(|last| last.skewness != skewness) {
            table.push(Tails { skewness, tails: Default::default() });
        }
        if let Some(last) = table.last_mut() {
            for (tail, share) in last.tails.iter_mut().zip([below, above]) {
                if share > 0.0 {
                    tail.shares.push((share.ln(), nominal.ln()));
                }
            }
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_committed_table_falls_and_has_both_tails_of_every_number_of_samples() {
        let table = parse(TABLE);
        assert!(table.len() >= 6 && table.is_sorted_by(|a, b| a.skewness > b.skewness));
        for tail in table.iter().flat_map(|tails| &tails.tails) {
            assert!(tail.shares.len() >= 7 && tail.shares.is_sorted_by(|a, b| a.0 > b.0 && a.1 > b.1));
        }
    }

    #[test]
    fn shares_of_the_table_are_met_and_a_normal_distribution_is_left_alone() {
        for tails in parse(TABLE) {
            for (side, tail) in tails.tails.iter().enumerate() {
                for &(share, expected) in &tail.shares {
                    let actual = nominal(tails.skewness, share.exp())[side];
                    assert!((actual.ln() - expected).abs() < 1e-9, "{} {share}", tails.skewness);
                }
            }
        }
        assert!(nominal(0.0, 1e-3).iter().all(|share| (share - 1e-3).abs() < 1e-12));
        assert!(nominal(9.0, 1e-9).iter().all(|share| *share > 0.0 && *share < 0.5));
    }
}
