//! Numbers with units, as a reader has them.

/// Three digits, with a prefix of the unit: `10.4 TB/s`.
pub(crate) fn short(value: f64, unit: &str) -> String {
    let prefixes = ["", "k", "M", "G", "T", "P", "E", "Z"];
    let mut value = value;
    let mut index = 0;
    // What rounds to 1000 is 1 of the next prefix.
    while value.abs() >= 999.5 && index + 1 < prefixes.len() {
        value /= 1000.0;
        index += 1;
    }
    format!("{} {}{unit}", digits(value), prefixes[index])
}

/// Seconds, milliseconds or microseconds.
pub(crate) fn seconds(value: f64) -> String {
    match value {
        0.0 => "0 s".to_owned(),
        value if value < 0.9995e-3 => format!("{} us", digits(value * 1e6)),
        value if value < 0.9995 => format!("{} ms", digits(value * 1e3)),
        value => short(value, "s"),
    }
}

/// Bytes in powers of 1024.
pub(crate) fn binary(bytes: f64) -> String {
    let prefixes = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    let mut value = bytes;
    let mut index = 0;
    while value >= 1023.5 && index + 1 < prefixes.len() {
        value /= 1024.0;
        index += 1;
    }
    format!("{} {}", digits(value), prefixes[index])
}

/// Three digits of a number, more where it has more before the point.
pub(crate) fn digits(value: f64) -> String {
    let size = value.abs();
    let decimals = match size {
        size if size >= 99.95 || size == 0.0 => 0,
        size if size >= 9.995 => 1,
        size if size >= 0.9995 => 2,
        size if size >= 0.09995 => 3,
        _ => 4,
    };
    format!("{value:.decimals$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_digits_and_the_prefix_that_fits() {
        assert_eq!(short(10.4e12, "B/s"), "10.4 TB/s");
        assert_eq!(short(999.6, "B"), "1.00 kB");
        assert_eq!(short(0.0, "W"), "0 W");
        assert_eq!(seconds(1.5e-5), "15.0 us");
        assert_eq!(seconds(0.25), "250 ms");
        assert_eq!(seconds(3.0), "3.00 s");
        assert_eq!(binary(1536.0), "1.50 KiB");
        assert_eq!(digits(0.012), "0.0120");
        assert_eq!(digits(12880.0), "12880");
    }
}
