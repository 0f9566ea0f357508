//! Energy of a GPU, by the driver's counter.
//!
//! The counter is of the whole board, in millijoules since the driver was loaded, and goes up in steps that are many
//! milliseconds apart:
//!
//! ```text
//! work     | slice | slice | slice | slice | slice | slice | slice | slice |
//! counter  100         100     131     131     131     162     162     193
//!                               ^ first step after warming up           ^ first after enough work
//! ```
//!
//! Work goes on in slices of some milliseconds, the counter is read after each, and what is counted is the work and the
//! energy between two of its steps: the error is a slice at either end, not a step. All that the board does counts,
//! idle power and other programs as well. NVML, the driver's library with the counter, is loaded when it is first
//! asked; a machine without it, or a GPU without the counter, gives no number.

use fringes_gpu::Device;
use nvml_wrapper::Nvml;

/// The counter of one GPU.
pub(crate) struct EnergyCounter {
    nvml: Nvml,
    uuid: String,
}

/// How work is cut into slices.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Slices {
    /// Runs of a slice.
    pub(crate) runs: usize,
    /// Slices before the first step that counts.
    warm_up: usize,
    /// Slices that are measured, at least.
    least: usize,
    /// Slices after which there is no number.
    most: usize,
}

impl EnergyCounter {
    /// The counter of `device`, where it is to be had.
    pub(crate) fn of(device: &Device) -> Option<Self> {
        Some(Self { nvml: Nvml::init().ok()?, uuid: text(device.info().uuid) })
    }

    /// Millijoules since the driver was loaded, at the counter's last step.
    pub(crate) fn millijoules(&self) -> Option<u64> {
        self.nvml.device_by_uuid(self.uuid.as_str()).ok()?.total_energy_consumption().ok()
    }

    /// Joules of a run. `slice` queues [`Slices::runs`] runs and waits for those of the slice before.
    pub(crate) fn joules<E>(&self, slices: Slices, slice: impl FnMut() -> Result<(), E>) -> Result<Option<f64>, E> {
        let Ok(device) = self.nvml.device_by_uuid(self.uuid.as_str()) else { return Ok(None) };
        let step = between_steps(slices, || device.total_energy_consumption().ok(), slice)?;
        Ok(step.map(|(millijoules, count)| millijoules as f64 / 1e3 / (count * slices.runs) as f64))
    }
}

impl Slices {
    /// Slices of runs that take `run_ms`.
    pub(crate) fn of(run_ms: f64) -> Self {
        const SLICE_MS: f64 = 10.0;
        const WARM_UP_MS: f64 = 100.0;
        const LEAST_MS: f64 = 300.0;
        const MOST_MS: f64 = 2000.0;
        let run_ms = run_ms.max(1e-3);
        let runs = (SLICE_MS / run_ms).ceil();
        let slices = |ms: f64| (ms / (runs * run_ms)).ceil() as usize;
        let (warm_up, least) = (slices(WARM_UP_MS), slices(LEAST_MS));
        Self { runs: runs as usize, warm_up, least, most: slices(MOST_MS).max(4 * (warm_up + least)) }
    }
}

/// Millijoules and slices between two steps of a counter; none where it cannot be read or stands still.
fn between_steps<E>(
    slices: Slices,
    counter: impl Fn() -> Option<u64>,
    mut slice: impl FnMut() -> Result<(), E>,
) -> Result<Option<(u64, usize)>, E> {
    let Some(mut last) = counter() else { return Ok(None) };
    let mut first = None;
    for done in 1..=slices.most {
        slice()?;
        let Some(now) = counter() else { return Ok(None) };
        if now == last {
            continue;
        }
        last = now;
        match first {
            None if done >= slices.warm_up => first = Some((now, done)),
            Some((millijoules, begun)) if done - begun >= slices.least => {
                return Ok(now.checked_sub(millijoules).map(|millijoules| (millijoules, done - begun)));
            }
            _ => {}
        }
    }
    Ok(None)
}

/// How NVML writes a UUID: `GPU-01234567-89ab-cdef-0123-456789abcdef`.
fn text(uuid: [u8; 16]) -> String {
    let number = u128::from_be_bytes(uuid);
    let part = |from: u32, bits: u32| (number >> from) & ((1 << bits) - 1);
    let [first, second, third, fourth] = [part(96, 32), part(80, 16), part(64, 16), part(48, 16)];
    format!("GPU-{first:08x}-{second:04x}-{third:04x}-{fourth:04x}-{:012x}", part(0, 48))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    /// A counter that goes up by what `slice` slices took, once in `step` slices.
    fn measured(slices: Slices, step: usize, millijoules: u64) -> Option<(u64, usize)> {
        let done = Cell::new(0);
        let counter = || Some((done.get() / step * step) as u64 * millijoules);
        between_steps(slices, counter, || {
            done.set(done.get() + 1);
            Ok::<_, ()>(())
        })
        .unwrap()
    }

    #[test]
    fn energy_between_steps_is_that_of_the_work_between_them() {
        let slices = Slices { runs: 1, warm_up: 10, least: 30, most: 200 };
        for step in [1, 2, 7, 10, 45] {
            let (millijoules, count) = measured(slices, step, 3).unwrap();
            assert_eq!(millijoules, 3 * count as u64, "a step in {step}");
            assert!((30..30 + step).contains(&count) || count == step, "a step in {step}: {count}");
        }
    }

    #[test]
    fn a_counter_that_stands_still_or_fails_gives_no_number() {
        let slices = Slices { runs: 1, warm_up: 10, least: 30, most: 200 };
        assert_eq!(measured(slices, 1000, 3), None);
        assert_eq!(between_steps(slices, || None, || Ok::<_, ()>(())), Ok(None));
        assert_eq!(between_steps(slices, || Some(1), || Err("the work fails")), Err("the work fails"));
    }

    #[test]
    fn slices_are_of_ten_milliseconds_or_a_run() {
        assert_eq!(Slices::of(0.25), Slices { runs: 40, warm_up: 10, least: 30, most: 200 });
        assert_eq!(Slices::of(1000.0), Slices { runs: 1, warm_up: 1, least: 1, most: 8 });
        assert!(Slices::of(0.0).runs > 0);
    }

    #[test]
    fn uuids_are_written_as_the_driver_writes_them() {
        let uuid = 0x0123_4567_89ab_cdef_0123_4567_89ab_cdef_u128.to_be_bytes();
        assert_eq!(text(uuid), "GPU-01234567-89ab-cdef-0123-456789abcdef");
    }
}
