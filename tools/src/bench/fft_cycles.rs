//! SM-cycles of FFT microkernels from registers to registers, beside what their instructions cost by the rates that
//! this GPU has in the same minute.

use fringes_kernels_tools_ceilings::rates;
use fringes_kernels_tools_fft_timed::TIMED;
use fringes_layout::plan::Rates;

use crate::bench::rates::Output;
use crate::bench::timing::Bench;
use crate::end::End;
use crate::gpu_report::{Row, params};
use crate::sm_cycles::{CEILINGS, Cycles, Executed, PRICED, STEPS, phases, table};

/// Warps an SM.
const WARPS: [u32; 6] = [4, 8, 12, 16, 24, 32];

/// Measures every microkernel that this GPU has code for, with every number of warps that an SM holds.
pub(crate) fn run(bench: &mut Bench) -> Result<(), End> {
    if !bench.wants("fft_cycles") {
        return Ok(());
    }
    let hopper = bench.device.info().compute_capability == (9, 0);
    let rates = prices(bench)?;
    println!(
        "\n{:<32} {:>11} {:>5} {:>9} {:>9} {:>9}  busiest pipe",
        "microkernel", "size", "warps", "SM-cycles", "sum", "busiest"
    );
    for timed in TIMED.iter().filter(|timed| hopper || !timed.needs_sm_90) {
        let name = timed.name.trim_start_matches("time_");
        let size = format!("{} -> {}", timed.size.0, timed.size.1);
        let (sum, (pipe, busiest)) = Executed::of(timed).map_err(End::failed)?.predicted(&rates);
        let table = phases(timed).map_err(End::failed)?;
        let mut cycles = Cycles::new(&bench.device, &bench.stream, timed, &table)?;
        for warps in WARPS {
            if !cycles.holds(warps)? {
                continue;
            }
            let stream = &bench.stream;
            let timing = bench.time(|_| cycles.launch(stream, warps))?;
            let value = cycles.of_transform(stream, warps)?;
            println!("{name:<32} {size:>11} {warps:>5} {value:>9.2} {sum:>9.2} {busiest:>9.2}  {pipe}");
            bench.record.rows.push(Row {
                kernel: "fft_cycles",
                variant: name.into(),
                params: params([("warps", warps as usize), ("steps", STEPS as usize)]),
                time_ms: timing.median_ms,
                value,
                unit: "SM-cycles",
                floor: Some(busiest),
                bound_by: pipe.into(),
                check: format!("sum of the pipes {sum:.2}; the kernel's transform is compared in the emulator"),
                energy: None,
            });
        }
    }
    Ok(())
}

/// The cost table of this GPU.
fn prices(bench: &Bench) -> Result<Rates, End> {
    let module = bench.device.load(&CEILINGS)?;
    let mut output = Output::new(bench, rates::SHARED_BYTES)?;
    let mut prices = [0.0; PRICED.len()];
    for (price, (kernel, _)) in prices.iter_mut().zip(PRICED) {
        *price = output.price(bench, &module.kernel(kernel)?)?.0;
    }
    Ok(table(prices))
}
