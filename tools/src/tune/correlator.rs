//! Every kernel of the correlator that may be best, and every number of parts that time may be divided in.

use std::time::Instant;

use fringes::backend::DeviceError;
use fringes::correlator::internals::{Measured, sweep};
use fringes::{Complex, Complex4, Inputs, VoltageSample, f16};
use fringes_gpu::GpuError;

use super::{Arguments, Tuning};
use crate::end::End;
use crate::gpu_report::{Row, params};

/// A size: antennas, polarisations, channels, times; batches of heaps, or none for rows.
type Size = (usize, usize, usize, usize, Option<usize>);

/// Sizes of telescopes: enough that every other is near one of them.
fn sizes(quick: bool) -> Vec<Size> {
    let mut sizes = Vec::new();
    for antennas in [8, 16, 32, 64, 80, 128, 256, 512, 1024] {
        for channels in [1, 4, 16, 64, 256, 1024, 2048] {
            for times in [1024, 4096, 16384] {
                // What takes a few milliseconds at most, and fits the memory.
                let samples = antennas * 2 * channels * times;
                let products = antennas * antennas * channels * times;
                if samples <= 1 << 29 && products <= 1 << 38 {
                    sizes.push((antennas, 2, channels, times, None));
                    sizes.push((antennas, 2, channels, times, Some(times / 256)));
                    if antennas <= 64 && times == 4096 {
                        sizes.push((antennas, 1, channels, times, Some(times / 256)));
                    }
                }
            }
        }
    }
    if quick { sizes.into_iter().step_by(40).collect() } else { sizes }
}

/// Measures all sizes.
pub(super) fn run(tuning: &mut Tuning, arguments: &Arguments) -> Result<(), End> {
    let (start, sizes) = (Instant::now(), sizes(arguments.quick));
    for (number, &size) in sizes.iter().enumerate() {
        if start.elapsed().as_secs() >= arguments.within {
            println!("{} of {} sizes measured within {} s", number, sizes.len(), arguments.within);
            break;
        }
        tuning.correlator::<Complex4>(size)?;
        tuning.correlator::<Complex<i8>>(size)?;
        tuning.correlator::<Complex<f16>>(size)?;
        if size.4.is_none() {
            // Heaps of f32 become rows.
            tuning.correlator::<Complex<f32>>(size)?;
        }
    }
    Ok(())
}

impl Tuning {
    fn correlator<V: VoltageSample>(&mut self, (antennas, pols, channels, times, batches): Size) -> Result<(), End> {
        let inputs = Inputs::new(antennas, pols).map_err(End::failed)?;
        let measured = sweep::<V>(&self.device, inputs, channels, times, batches).map_err(|error| match error {
            fringes::CorrelatorError::Device(DeviceError::Gpu(error)) => End::from(GpuError::clone(&error)),
            error => End::failed(error),
        })?;
        let Some(best) = measured.first() else { return Ok(()) };
        let Measured { operation, sizes, choice, median_ms } = best;
        let next = measured.get(1).map(|next| (&next.choice, next.median_ms));
        let known = self.table.find(&self.key, operation, sizes);
        let known = known.and_then(|known| measured.iter().find(|candidate| candidate.choice == *known));
        let known = known.map(|known| (&known.choice, known.median_ms));
        let of_table = self.found((operation, sizes), (choice, *median_ms), next, known);
        let baselines = inputs.triangle_len();
        self.record.push(Row {
            kernel: "tune",
            variant: format!("{operation} {choice}"),
            params: params([("channels", channels), ("inputs", inputs.len()), ("times", times)]),
            time_ms: *median_ms,
            value: 8.0 * (channels * baselines) as f64 * times as f64 / median_ms / 1e9,
            unit: "useful TOPS",
            floor: None,
            bound_by: String::new(),
            check: format!("not compared here; table: {of_table}"),
            energy: None,
        });
        Ok(())
    }
}
