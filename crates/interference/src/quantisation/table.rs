//! The table, and what lies between its rows.

use super::Expected;
use crate::Moments;

/// Samples below which there is no row.
pub const FEWEST_SAMPLES: u64 = 32;

/// What was measured at one level with one number of samples.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Row {
    /// Mean power of the quantised noise.
    pub level: f64,
    /// Samples of a block.
    pub count: u64,
    /// `E[SK] - 1`.
    pub bias: f64,
    /// Standard deviation of SK, over that of unquantised noise.
    pub deviation: f64,
    /// Mean of `z`, times `sqrt(M)`.
    pub mean: f64,
    /// Variance of `z`.
    pub variance: f64,
    /// Skewness of `z`, over that of unquantised noise.
    pub skewness: f64,
    /// Excess of `z`, over that of unquantised noise.
    pub excess: f64,
}

impl Row {
    const NUMBERS: usize = 6;

    fn numbers(&self) -> [f64; Self::NUMBERS] {
        [self.bias, self.deviation, self.mean, self.variance, self.skewness, self.excess]
    }
}

/// Bias and standard deviation of the estimator.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Correction {
    /// `E[SK] - 1`.
    pub bias: f64,
    /// Standard deviation of SK.
    pub deviation: f64,
}

/// Rows of all levels with all numbers of samples.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    /// Logarithms of the levels, ascending.
    levels: Vec<f64>,
    /// Numbers of samples, ascending.
    counts: Vec<u64>,
    /// `[level][count]`.
    rows: Vec<[f64; Row::NUMBERS]>,
}

impl Table {
    /// The table of rows in the order `[level][count]`, of `counts` numbers of samples.
    pub fn new(rows: &[Row], counts: usize) -> Self {
        Self {
            levels: rows.iter().step_by(counts.max(1)).map(|row| row.level.ln()).collect(),
            counts: rows.iter().take(counts).map(|row| row.count).collect(),
            rows: rows.iter().map(Row::numbers).collect(),
        }
    }

    /// The rows of so many bits of `table.csv`: `bits,rms,samples,level` and the numbers of a [`Row`], in that order.
    pub(super) fn parse(text: &str, bits: u32) -> Self {
        let row = |line: &str| {
            let numbers: Vec<f64> = line.split(',').filter_map(|number| number.parse().ok()).collect();
            match numbers[..] {
                [of, _, count, level, bias, deviation, mean, variance, skewness, excess] if of == f64::from(bits) => {
                    Some(Row { level, count: count as u64, bias, deviation, mean, variance, skewness, excess })
                }
                _ => None,
            }
        };
        let rows: Vec<Row> = text.lines().filter_map(row).collect();
        let counts = rows.iter().take_while(|row| row.level == rows[0].level).count();
        Self::new(&rows, counts)
    }

    /// The lowest and the highest level.
    pub fn levels(&self) -> (f64, f64) {
        let level = |end: Option<&f64>| end.map_or(f64::NAN, |level| level.exp());
        (level(self.levels.first()), level(self.levels.last()))
    }

    /// The numbers between rows; `None` beyond the levels of the table.
    fn at(&self, level: f64, count: u64) -> Option<[f64; Row::NUMBERS]> {
        let log = level.ln();
        let (first, last) = (*self.levels.first()?, *self.levels.last()?);
        // A level of the table, as its logarithm gives it back, is in the table.
        if !(first - 1e-12..=last + 1e-12).contains(&log) {
            return None;
        }
        let inverse = |count: u64| 1.0 / count as f64;
        let place = self.counts.partition_point(|&more| more <= count).clamp(1, (self.counts.len() - 1).max(1));
        let (few, many) = (*self.counts.get(place - 1)?, *self.counts.get(place)?);
        let share = (inverse(count) - inverse(few)) / (inverse(many) - inverse(few));
        // Four neighbours, two on each side but at the ends.
        let nodes = 4.min(self.levels.len());
        let above = self.levels.partition_point(|&node| node <= log);
        let start = above.saturating_sub(nodes / 2).min(self.levels.len() - nodes);
        let nodes = start..start + nodes;
        let mut sum = [0.0; Row::NUMBERS];
        for node in nodes.clone() {
            let others = nodes.clone().filter(|&other| other != node);
            let weight: f64 =
                others.map(|other| (log - self.levels[other]) / (self.levels[node] - self.levels[other])).product();
            let row = |place: usize| self.rows[node * self.counts.len() + place];
            for (sum, (few, many)) in sum.iter_mut().zip(row(place - 1).into_iter().zip(row(place))) {
                *sum += weight * (few + share * (many - few));
            }
        }
        Some(sum)
    }

    /// Bias and standard deviation at a level.
    pub fn correction(&self, level: f64, count: u64) -> Option<Correction> {
        let [bias, deviation, ..] = self.at(level, count)?;
        Some(Correction { bias, deviation: deviation * Moments::gaussian(count).variance.sqrt() })
    }

    /// How the corrected estimate behaves.
    pub(super) fn expected(&self, level: f64, count: u64) -> Option<Expected> {
        let [bias, deviation, mean, variance, skewness, excess] = self.at(level, count)?;
        let gaussian = Moments::gaussian(count);
        let deviation = deviation * gaussian.variance.sqrt();
        let moments = Moments {
            mean: 1.0 + deviation * mean / (count as f64).sqrt(),
            variance: deviation * deviation * variance,
            skewness: skewness * gaussian.skewness,
            excess: excess * gaussian.excess,
        };
        Some(Expected { bias, moments })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers that are polynomials of what is interpolated in.
    fn table() -> Table {
        let row = |log: f64, count: u64| {
            let inverse = 1.0 / count as f64;
            let number = |k: f64| k + log.powi(3) + inverse * log;
            Row {
                level: log.exp(),
                count,
                bias: number(0.0),
                deviation: number(1.0),
                mean: number(2.0),
                variance: number(3.0),
                skewness: number(4.0),
                excess: number(5.0),
            }
        };
        let logs = [0.0, 0.5, 0.9, 1.5, 2.0];
        let rows: Vec<_> = logs.iter().flat_map(|&log| [32, 64, 500].map(|count| row(log, count))).collect();
        Table::new(&rows, 3)
    }

    #[test]
    fn cubics_of_the_level_and_lines_of_the_inverse_number_are_met() {
        let table = table();
        for log in [0.0, 0.1, 0.7, 1.2, 1.9, 2.0f64] {
            for count in [32u64, 40, 64, 100, 500, 10_000] {
                let expected = log.powi(3) + log / count as f64;
                let numbers = table.at(log.exp(), count).unwrap();
                for (k, number) in numbers.into_iter().enumerate() {
                    assert!((number - expected - k as f64).abs() < 1e-12, "{log} {count}");
                }
            }
        }
        assert_eq!((table.at(0.9, 64), table.at(2.01f64.exp(), 64)), (None, None));
    }

    #[test]
    fn the_committed_table_has_all_rows() {
        for (bits, limit) in [(4, 7), (8, 127)] {
            let table = Table::parse(super::super::TABLE, bits);
            assert_eq!(table.rows.len(), table.levels.len() * table.counts.len());
            assert_eq!(table.counts[0], FEWEST_SAMPLES);
            assert!(table.levels.is_sorted() && table.levels.len() >= 17, "{} levels", table.levels.len());
            let lowest = super::super::level_of_rms(limit, 0.5);
            assert!((table.levels().0 / lowest - 1.0).abs() < 1e-5);
        }
    }
}
