//! What an instrument costs beside its operations: simulator, F-engine and correlator one after the other, and as `Fx`.
//!
//! ```text
//! cargo run --release -p fringes-stream --example overlap -- [ANTENNAS CHANNELS CHUNKS]
//! ```
//!
//! Everything has all threads of the machine; queues and threads of the instrument can only cost. Prints medians of
//! five rounds, in turn, and the most memory that the process had.
#![allow(clippy::print_stdout)]

use std::error::Error;
use std::time::{Duration, Instant};

use fringes_backend::Backend;
use fringes_channelizer::Channelizer;
use fringes_correlator::{DumpSchedule, Integrator};
use fringes_f_engine::{FEngine, FEngineBuilder};
use fringes_simulator::{Simulation, Simulator};
use fringes_stream::Fx;
use fringes_stream::source::{Received, Simulated, Source};
use fringes_types::{Complex, Gains, Inputs};

const TIMES: usize = 1 << 16;
const SPECTRA: u64 = 16;
const ROUNDS: usize = 5;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |place: usize, default: usize| arguments.get(place).map_or(Ok(default), |text| text.parse());
    let (antennas, channels, chunks) = (number(0, 8)?, number(1, 256)?, number(2, 40)?);
    let inputs = Inputs::new(antennas, 2)?;
    let backend = Backend::cpu();
    let plan = Channelizer::real(channels).taps(8).build()?;
    let schedule = DumpSchedule::new(plan.stride() as u64, SPECTRA, 64)?;
    let engine = || -> Result<FEngineBuilder, Box<dyn Error>> {
        let engine = FEngine::builder(plan.clone(), inputs).spectra_per_frame(SPECTRA as usize);
        Ok(engine.gains(Gains::uniform(0.05)?).dither(1))
    };
    let source = || -> Result<Simulated, Box<dyn Error>> {
        let simulator = Simulator::new(Simulation::new(antennas, 2, 1e6))?;
        Ok(Simulated::new(simulator, 8, TIMES, Some((TIMES * chunks) as u64))?)
    };
    let samples = (TIMES * chunks * inputs.len()) as f64;
    let mut times: [Vec<Duration>; 4] = Default::default();
    for _ in 0..ROUNDS {
        let mut alone = source()?;
        let mut f = engine()?.build::<Complex<i8>>(&backend)?;
        let mut x = Integrator::<Complex<i8>>::new(&backend, schedule, inputs, channels)?;
        let mut spent = [Duration::ZERO; 3];
        loop {
            let start = Instant::now();
            let Some(Received::Samples(block)) = alone.next().map_err(|error| error as Box<dyn Error>)? else { break };
            spent[0] += start.elapsed();
            let start = Instant::now();
            let frames = f.push(block.as_chunk())?.frames;
            spent[1] += start.elapsed();
            let start = Instant::now();
            for frames in frames {
                x.push(&frames.voltages)?;
            }
            spent[2] += start.elapsed();
            alone.recycle(block);
        }
        for (times, spent) in times.iter_mut().zip(spent) {
            times.push(spent);
        }
        let fx = Fx::<Complex<i8>>::new(&backend, engine()?).cadence(schedule);
        let start = Instant::now();
        fx.start(source()?)?.join().into_result()?;
        times[3].push(start.elapsed());
    }
    let median = |times: &mut Vec<Duration>| {
        times.sort();
        times[times.len() / 2].as_secs_f64()
    };
    let [simulator, f, x, fx] = times.each_mut().map(median);
    for (name, seconds) in [("simulator", simulator), ("F-engine", f), ("correlator", x), ("all as Fx", fx)] {
        println!("{name:<12} {seconds:7.3} s  {:8.1} Msamples/s", samples / seconds / 1e6);
    }
    let sum = simulator + f + x;
    println!("one after the other {sum:.3} s; the instrument takes {:.3} of that", fx / sum);
    if let Ok(status) = std::fs::read_to_string("/proc/self/status") {
        for line in status.lines().filter(|line| line.starts_with("VmHWM")) {
            println!("{line}");
        }
    }
    Ok(())
}
