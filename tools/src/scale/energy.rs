//! Energy of several GPUs, by the driver's counters.

use fringes_gpu::Device;

use crate::bench::energy::EnergyCounter;

/// The counters of some GPUs.
pub(crate) struct Counters(Vec<EnergyCounter>);

impl Counters {
    /// Of each GPU, where they are to be had.
    pub(crate) fn of<'a>(devices: impl IntoIterator<Item = &'a Device>) -> Option<Self> {
        devices.into_iter().map(EnergyCounter::of).collect::<Option<_>>().map(Self)
    }

    /// Joules of all GPUs since their driver was loaded. They go up in steps, tens of milliseconds apart.
    pub(crate) fn joules(&self) -> Option<f64> {
        self.0.iter().map(|counter| counter.millijoules().map(|millijoules| millijoules as f64 / 1e3)).sum()
    }
}
