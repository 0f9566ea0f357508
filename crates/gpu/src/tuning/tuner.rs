//! Table, cache and measurement in their order.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use crate::GpuError;

use super::{Cache, Candidate, Choice, DeviceKey, Measure, Sizes, Table};

/// Where a choice comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Origin {
    /// There is but one candidate.
    Only,
    /// The committed table has it.
    Table,
    /// It was measured earlier, on this machine.
    Cache,
    /// It was just measured.
    Measured,
    /// Nothing is known: the caller's default.
    Default,
}

/// Chooses the fastest of some candidates: from the committed table, from what was measured before, or by measuring.
///
/// A choice that the table or the cache has counts only if it is one of the candidates, so that neither can ask for
/// what a kernel does not have. `Tuner` is `Send` and `Sync`; while one thread measures, others wait.
#[derive(Debug)]
pub struct Tuner {
    device: DeviceKey,
    table: Table,
    cache: Option<Cache>,
    /// What was found so far, by kernel and class of sizes.
    found: Mutex<BTreeMap<(String, Sizes), Choice>>,
}

impl Tuner {
    /// A tuner for a device.
    #[must_use]
    pub fn new(device: DeviceKey, table: Table, cache: Option<Cache>) -> Self {
        Self { device, table, cache, found: Mutex::default() }
    }

    /// The device.
    #[must_use]
    pub fn device(&self) -> &DeviceKey {
        &self.device
    }

    /// What is known without measuring.
    #[must_use]
    pub fn known(&self, kernel: &str, sizes: &Sizes, candidates: &[Choice]) -> Option<(Choice, Origin)> {
        self.known_with(kernel, sizes, candidates, &mut self.found.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// What is known without measuring, or else `default`.
    #[must_use]
    pub fn known_or(&self, kernel: &str, sizes: &Sizes, candidates: &[Choice], default: Choice) -> (Choice, Origin) {
        self.known(kernel, sizes, candidates).unwrap_or((default, Origin::Default))
    }

    fn known_with(
        &self,
        kernel: &str,
        sizes: &Sizes,
        candidates: &[Choice],
        found: &mut BTreeMap<(String, Sizes), Choice>,
    ) -> Option<(Choice, Origin)> {
        if let [only] = candidates {
            return Some((only.clone(), Origin::Only));
        }
        let is_candidate = |choice: &&Choice| candidates.contains(choice);
        if let Some(choice) = self.table.find(&self.device, kernel, sizes).filter(is_candidate) {
            return Some((choice.clone(), Origin::Table));
        }
        let key = (kernel.to_owned(), sizes.classes());
        if let Some(choice) = found.get(&key).filter(is_candidate) {
            return Some((choice.clone(), Origin::Cache));
        }
        let choice = self.cache.as_ref()?.find(kernel, sizes).filter(|choice| candidates.contains(choice))?;
        found.insert(key, choice.clone());
        Some((choice, Origin::Cache))
    }

    /// What is known, or else the fastest of the candidates, measured and kept for the next time.
    ///
    /// A candidate that fails is out of the running.
    ///
    /// # Errors
    /// The first candidate's error if all of them fail; [`GpuError::Value`] without candidates.
    pub fn choose<E: From<GpuError>>(
        &self,
        kernel: &str,
        sizes: &Sizes,
        candidates: Vec<Candidate<'_, E>>,
        measure: &mut impl Measure,
    ) -> Result<(Choice, Origin), E> {
        let choices: Vec<_> = candidates.iter().map(|candidate| candidate.choice.clone()).collect();
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = self.known_with(kernel, sizes, &choices, &mut found) {
            return Ok(known);
        }
        let (choice, best_ms) = fastest(kernel, candidates, measure)?;
        tracing::info!(kernel, %sizes, %choice, best_ms, "measured");
        found.insert((kernel.to_owned(), sizes.classes()), choice.clone());
        if let Some(cache) = &self.cache {
            cache.keep(kernel, sizes, &choice, &format!("{best_ms:.4} ms"));
        }
        Ok((choice, Origin::Measured))
    }
}

/// Measures all candidates.
fn fastest<E: From<GpuError>>(
    kernel: &str,
    candidates: Vec<Candidate<'_, E>>,
    measure: &mut impl Measure,
) -> Result<(Choice, f64), E> {
    let (mut best, mut first_error): (Option<(Choice, f64)>, Option<E>) = (None, None);
    for Candidate { choice, mut work } in candidates {
        match measure.median_ms(&mut work) {
            Ok(ms) if ms.is_finite() && best.as_ref().is_none_or(|(_, best_ms)| ms < *best_ms) => {
                best = Some((choice, ms))
            }
            Ok(_) => {}
            Err(error) => {
                tracing::debug!(kernel, %choice, "a candidate fails");
                first_error.get_or_insert(error);
            }
        }
    }
    let none = || GpuError::Value { what: "candidates", expected: "at least 1".into(), actual: "0".into() };
    best.ok_or_else(|| first_error.unwrap_or_else(|| none().into()))
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::path::PathBuf;

    use super::*;

    const TABLE: &str = "[NVIDIA H200, 9.0]\nk n=64 -> v parts=2\n";

    fn device() -> DeviceKey {
        DeviceKey::new("NVIDIA H200", (9, 0), (13, 0))
    }

    fn parts(parts: u64) -> Choice {
        Choice::new("v").with("parts", parts)
    }

    fn sizes(n: usize) -> Sizes {
        Sizes::new(&[("n", n)])
    }

    /// Runs the work twice and takes the time that it left.
    struct Fake<'a>(&'a RefCell<f64>);

    impl Measure for Fake<'_> {
        fn median_ms<E: From<GpuError>>(&mut self, work: &mut dyn FnMut() -> Result<(), E>) -> Result<f64, E> {
            work()?;
            work()?;
            Ok(*self.0.borrow())
        }
    }

    /// Chooses among parts 1, 2 and 3 with these times (`None`: it fails), and counts the runs.
    fn choose(tuner: &Tuner, n: usize, times: [Option<f64>; 3]) -> (Result<(Choice, Origin), GpuError>, usize) {
        let (clock, runs) = (RefCell::new(0.0), RefCell::new(0));
        let candidates = (1u64..=3).zip(times).map(|(number, time)| {
            let (clock, runs) = (&clock, &runs);
            Candidate::new(parts(number), move || {
                *runs.borrow_mut() += 1;
                match time {
                    Some(time) => *clock.borrow_mut() = time,
                    None => return Err(GpuError::NoDevice { index: number as usize, count: 0 }),
                }
                Ok(())
            })
        });
        let chosen = tuner.choose("k", &sizes(n), candidates.collect(), &mut Fake(&clock));
        (chosen, runs.take())
    }

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("fringes-tuner-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        folder
    }

    #[test]
    fn the_table_comes_first_and_nothing_is_measured_then() {
        let tuner = Tuner::new(device(), Table::parse(TABLE).unwrap(), None);
        assert_eq!(choose(&tuner, 64, [Some(1.0); 3]), (Ok((parts(2), Origin::Table)), 0));
        // Not one of the candidates: measured instead.
        let table = Table::parse("[NVIDIA H200, 9.0]\nk n=64 -> v parts=9\n").unwrap();
        let tuner = Tuner::new(device(), table, None);
        assert_eq!(choose(&tuner, 64, [Some(3.0), Some(2.0), Some(1.0)]), (Ok((parts(3), Origin::Measured)), 6));
    }

    #[test]
    fn the_fastest_is_measured_once_and_kept() {
        let folder = folder("kept");
        let cache = || Some(Cache::inside(&folder, &device(), "1"));
        let tuner = Tuner::new(device(), Table::default(), cache());
        let times = [Some(2.0), Some(1.0), Some(3.0)];
        assert_eq!(tuner.known("k", &sizes(100), &[parts(1), parts(2)]), None);
        assert_eq!(choose(&tuner, 100, times), (Ok((parts(2), Origin::Measured)), 6));
        assert_eq!(choose(&tuner, 99, times), (Ok((parts(2), Origin::Cache)), 0)); // of the same class
        assert_eq!(choose(&tuner, 200, times).1, 6);
        // Another process.
        let tuner = Tuner::new(device(), Table::default(), cache());
        assert_eq!(choose(&tuner, 100, times), (Ok((parts(2), Origin::Cache)), 0));
        // What is kept is no candidate any more.
        let tuner = Tuner::new(device(), Table::default(), cache());
        let others = [parts(5), parts(6)];
        assert_eq!(tuner.known_or("k", &sizes(100), &others, parts(6)), (parts(6), Origin::Default));
        // Without a disk it is remembered by the tuner.
        let tuner = Tuner::new(device(), Table::default(), None);
        assert_eq!(choose(&tuner, 100, times).1, 6);
        assert_eq!(choose(&tuner, 100, times).1, 0);
        let _ = std::fs::remove_dir_all(&folder);
    }

    #[test]
    fn candidates_that_fail_are_out_and_all_failing_is_the_first_error() {
        let tuner = Tuner::new(device(), Table::default(), None);
        assert_eq!(choose(&tuner, 1, [None, Some(2.0), Some(1.0)]).0, Ok((parts(3), Origin::Measured)));
        let tuner = Tuner::new(device(), Table::default(), None);
        assert_eq!(choose(&tuner, 1, [None; 3]).0, Err(GpuError::NoDevice { index: 1, count: 0 }));
        assert_eq!(choose(&tuner, 1, [Some(f64::NAN), None, Some(1.0)]).0, Ok((parts(3), Origin::Measured)));
        let none = tuner.choose::<GpuError>("k", &sizes(3), Vec::new(), &mut Fake(&RefCell::new(0.0)));
        assert!(matches!(none, Err(GpuError::Value { what: "candidates", .. })));
        let only = tuner.choose(
            "k",
            &sizes(3),
            vec![Candidate::new(parts(4), || Err(GpuError::NoDriver))],
            &mut Fake(&RefCell::new(0.0)),
        );
        assert_eq!(only, Ok((parts(4), Origin::Only)));
    }

    #[test]
    fn threads_share_a_tuner() {
        fn shared<T: Send + Sync>() {}
        shared::<Tuner>();
    }
}
