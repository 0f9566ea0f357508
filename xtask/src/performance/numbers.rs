//! Numbers as the pages and the chart write them: three significant digits.

/// Three significant digits: `0.0228`, `1.29`, `42.5`, `1320`; an exponent below a thousandth and from a million on.
pub(super) fn three(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return format!("{value}");
    }
    let exponent = format!("{value:.2e}");
    let power: i32 = exponent.split_once('e').and_then(|(_, power)| power.parse().ok()).unwrap_or(0);
    match power {
        -3..=2 => format!("{value:.*}", (2 - power) as usize),
        3..=5 => {
            let unit = 10f64.powi(power - 2);
            format!("{:.0}", (value / unit).round() * unit)
        }
        _ => exponent,
    }
}

/// A figure as somebody stated it: a whole number as that, others with three significant digits.
pub(super) fn stated(value: f64) -> String {
    if value.fract() == 0.0 && value.abs() < 1e6 { format!("{value:.0}") } else { three(value) }
}

/// A whole number with groups of three digits set apart from 10 000 on: `4096`, `131 072`.
pub(super) fn grouped(value: u64) -> String {
    let digits = value.to_string();
    if digits.len() < 5 {
        return digits;
    }
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_significant_digits() {
        let values = [0.0, 2.284e-5, 0.009_231, 0.7746, 1.0, 9.996, 42.4832, 501.1, 999.6, 1321.4, 65_536.0, 1.679e7];
        let texts =
            ["0", "2.28e-5", "0.00923", "0.775", "1.00", "10.0", "42.5", "501", "1000", "1320", "65500", "1.68e7"];
        assert_eq!(values.map(three), texts);
    }

    #[test]
    fn stated_figures_keep_their_digits() {
        assert_eq!([43.0, 1455.0, 0.8516].map(stated), ["43", "1455", "0.852"]);
    }

    #[test]
    fn long_numbers_are_grouped() {
        assert_eq!([7, 4096, 65_536, 1_398_101].map(grouped), ["7", "4096", "65 536", "1 398 101"]);
    }
}
