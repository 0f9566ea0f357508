//! What this process has cost.

/// Ticks of the system's clock in a second, as `/proc` counts them on Linux.
const TICKS: f64 = 100.0;

/// Seconds that all threads of this process have had a processor, where the system tells.
pub(crate) fn processor_seconds() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/self/stat").ok()?;
    // Behind the name, which may hold anything: state, ..., user and system time are fields 12 and 13.
    let (_, fields) = text.rsplit_once(')')?;
    let fields: Vec<&str> = fields.split_whitespace().collect();
    let ticks = |index: usize| fields.get(index)?.parse::<f64>().ok();
    Some((ticks(11)? + ticks(12)?) / TICKS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_os = "linux")]
    fn a_busy_loop_is_counted() {
        let before = processor_seconds().unwrap();
        let begun = std::time::Instant::now();
        let mut sum = 0u64;
        while begun.elapsed().as_millis() < 300 {
            sum = std::hint::black_box(sum.wrapping_mul(3) + 1);
        }
        let spent = processor_seconds().unwrap() - before;
        assert!(spent > 0.01, "{spent} s");
    }
}
