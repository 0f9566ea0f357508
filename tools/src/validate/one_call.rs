//! `correlate()` on the GPU against the same call on the CPU: orders, flags, formats, long times, small memory.

use fringes::backend::PinnedArray;
use fringes::correlator::internals::Shape;
use fringes::{Backend, BaselineOrder, Complex, Complex4, Correlator, Inputs, Voltages, correlate};

use crate::end::End;
use crate::gpu_report::params;
use crate::validate::data::{self, Voltage};
use crate::validate::session::{Outcome, Session, compare};

/// A case of the one-call function.
#[derive(Clone, Copy)]
struct Case {
    channels: usize,
    times: usize,
    antennas: usize,
    pols: usize,
    order: BaselineOrder,
    flagged: bool,
    /// Workspace in units of the smallest step, if limited.
    memory_steps: Option<u64>,
    /// Chunks that the time is fed in.
    chunks: usize,
}

/// All inputs of one antenna, all at once, as the kernel gives them.
const PLAIN: Case = Case {
    channels: 1,
    times: 1,
    antennas: 1,
    pols: 1,
    order: BaselineOrder::Triangle,
    flagged: false,
    memory_steps: None,
    chunks: 1,
};

pub(crate) fn validate(session: &mut Session) -> Result<(), End> {
    use BaselineOrder::{AntennaPairs, Full, Triangle};
    let quick = session.quick;
    for order in [Triangle, AntennaPairs, Full] {
        for flagged in [false, true] {
            let case = Case { channels: 3, times: 200, antennas: 35, pols: 2, order, flagged, ..PLAIN };
            run::<Complex<i8>>(session, case)?;
            if !quick {
                run::<Complex4>(session, Case { channels: 2, times: 65, antennas: 65, ..case })?;
            }
        }
    }
    for memory_steps in [Some(1), Some(3)] {
        let case = Case { channels: 4, times: 333, antennas: 13, flagged: true, memory_steps, ..PLAIN };
        run::<Complex<i8>>(session, case)?;
        run::<Complex4>(session, case)?;
    }
    run::<Complex<i8>>(session, Case { channels: 2, times: 300, antennas: 9, chunks: 5, ..PLAIN })?;
    run::<Complex<i8>>(session, PLAIN)?;
    // Channels that go back while others come: in every order.
    for order in [Triangle, AntennaPairs, Full] {
        let case = Case { channels: 70, times: 300, antennas: 33, pols: 2, order, ..PLAIN };
        run::<Complex4>(session, case)?;
        run::<Complex<i8>>(session, case)?;
    }
    if !quick {
        // Several pieces of every channel, and more sums than are on their way back at once.
        run::<Complex<i8>>(session, Case { channels: 40, times: 9000, antennas: 64, pols: 2, order: Full, ..PLAIN })?;
        run::<Complex<i8>>(session, Case { channels: 16, times: 5000, antennas: 256, pols: 2, ..PLAIN })?;
        run::<Complex4>(session, Case { channels: 16, times: 9000, antennas: 256, pols: 2, order: Full, ..PLAIN })?;
        // More times than 32-bit sums can hold.
        run::<Complex<i8>>(session, Case { channels: 2, times: 70_000, antennas: 13, ..PLAIN })?;
        run::<Complex4>(session, Case { times: 140_000, antennas: 7, pols: 2, flagged: true, ..PLAIN })?;
        run::<Complex<i8>>(session, Case { channels: 17, times: 4096, antennas: 64, pols: 2, ..PLAIN })?;
        run::<Complex<i8>>(session, Case { channels: 1, times: 1000, antennas: 1024, ..PLAIN })?;
    }
    Ok(())
}

fn run<V: Voltage>(session: &mut Session, case: Case) -> Result<(), End> {
    let Case { channels, times, antennas, pols, order, flagged, memory_steps, chunks } = case;
    let mut variant = format!("{}, {}", V::FORMAT, order.name());
    for (word, holds) in [
        (", flags", flagged),
        (", smallest memory", memory_steps == Some(1)),
        (", little memory", memory_steps.is_some_and(|steps| steps > 1)),
        (", in pieces", chunks > 1),
    ] {
        if holds {
            variant.push_str(word);
        }
    }
    let sizes = params([("antennas", antennas), ("channels", channels), ("pols", pols), ("times", times)]);
    session.case("correlate", variant, sizes, |session| {
        let inputs = Inputs::new(antennas, pols)?;
        let shape = Shape::new(channels, times, inputs.len()).ok_or("no such shape")?;
        let mut voltages = Voltages::new(data::voltages::<V>(shape, (times * antennas) as u64), inputs)?;
        if flagged {
            voltages = voltages.with_presence(data::flags(shape, times as u64))?;
        }
        let expected = correlate(&Backend::cpu(), &voltages, order)?;
        let mut backend = Backend::on(session.device.clone());
        if let Some(steps) = memory_steps {
            let need = Correlator::<V>::memory(&backend, inputs, channels, times)?;
            backend = backend.with_memory_limit(need.smallest_step_bytes * steps);
        }
        let start = std::time::Instant::now();
        let actual = if chunks == 1 {
            correlate(&backend, &voltages, order)?
        } else {
            let mut correlator = Correlator::new(&backend, inputs, channels)?;
            let length = times.div_ceil(chunks);
            for first in (0..times).step_by(length) {
                correlator.accumulate(&voltages, first..times.min(first + length))?;
            }
            correlator.dump(order)?
        };
        let time_ms = start.elapsed().as_secs_f64() * 1e3;
        let flat = |visibilities: &fringes::Visibilities<Complex<i64>>| -> Vec<_> {
            visibilities.data().iter().copied().collect()
        };
        let pinned = match voltages.data().as_slice() {
            Some(elements) if chunks == 1 => {
                let array = PinnedArray::from_slice(&session.device, elements)?;
                correlate(&backend, &voltages.with_array(array)?, order)? == expected
            }
            _ => true,
        };
        let verdict = compare(&flat(&expected), &flat(&actual)).and_then(|()| {
            if !pinned {
                return Err("sums of pinned memory differ".into());
            }
            let same = expected.valid_samples() == actual.valid_samples() && expected.times() == actual.times();
            if same { Ok(()) } else { Err("the numbers of valid samples differ".into()) }
        });
        Ok(Outcome {
            time_ms,
            value: shape.operations() / time_ms / 1e9,
            unit: "useful TOPS, with copies and allocation",
            against: "correlate() of the CPU backend (exact, held to the reference by its tests)",
            verdict,
        })
    })
}
