//! How fast voltages are simulated: `cargo run --release -p fringes-simulator --example rate`.
//!
//! Set `RAYON_NUM_THREADS=1` for the rate of one core.

use std::time::Instant;

use fringes_simulator::{Arrival, Band, Loss, Placement, PointSource, Simulation, Simulator, SimulatorError, Tone};

const TIMES: usize = 1 << 20;

fn main() -> Result<(), SimulatorError> {
    println!("{} threads", rayon::current_num_threads());
    let receivers = Simulation::new(4, 2, 1e9);
    let mut source = receivers.clone();
    let arrival = Arrival::Given { samples: vec![0.0, 10.3, -77.7, 1234.5], rate: vec![1e-7; 4] };
    source.sources.push(PointSource::new(0.1).with_arrival(arrival.clone()));
    let mut polarised = source.clone();
    polarised.sources[0].correlation = 0.3;
    let mut four = source.clone();
    four.sources = vec![source.sources[0].clone(); 4];
    let mut sky = source.clone();
    let table = "# enu -30.7128 21.4438 1053.0\n a 0 0 0\n b 300 20 0\n c -50 400 3\n d 7 80 1";
    sky.array = Some(Placement { antennas: table.parse()?, epoch: "2026-03-20T16:30:00".parse()? });
    sky.sources[0].arrival = Arrival::Sky("05:34:31.95,+22:00:52.2".parse()?);
    let mut band = source.clone();
    band.sources[0].band = Some(Band { low_hz: 100e6, high_hz: 400e6 });
    let mut tone = source.clone();
    tone.tones.push(Tone::new(123e6, 0.1));
    let mut loss = source.clone();
    loss.loss = Some(Loss { packet_samples: 4096, probability: 0.01, ranges: Vec::new() });
    for (name, simulation) in [
        ("receivers", receivers),
        ("a source", source),
        ("a partly polarised source", polarised),
        ("a source on the sky", sky),
        ("four sources", four),
        ("a source in a band", band),
        ("a source and a tone", tone),
        ("a source and lost packets", loss),
    ] {
        let mut simulator = Simulator::new(simulation)?;
        let i8_rate = rate(
            &mut simulator,
            |simulator, buffer| {
                let samples = simulator.next_samples_in(buffer)?;
                Ok(samples.into_data())
            },
            ndarray::Array2::<i8>::zeros((8, TIMES)),
        )?;
        let packed_rate = rate(
            &mut simulator,
            |simulator, buffer| {
                let samples = simulator.next_packed_in(buffer, 10, TIMES)?;
                Ok(samples.into_data())
            },
            ndarray::Array2::<u8>::zeros((8, TIMES / 8 * 10)),
        )?;
        println!("{name:28} {i8_rate:7.0} Msamples/s of 8 bits, {packed_rate:7.0} packed of 10 bits");
    }
    Ok(())
}

/// Millions of samples a second, the median of nine calls.
fn rate<T>(
    simulator: &mut Simulator,
    call: impl Fn(&mut Simulator, T) -> Result<T, SimulatorError>,
    mut buffer: T,
) -> Result<f64, SimulatorError> {
    let mut seconds = Vec::new();
    for _ in 0..9 {
        let start = Instant::now();
        buffer = call(simulator, buffer)?;
        seconds.push(start.elapsed().as_secs_f64());
    }
    seconds.sort_by(f64::total_cmp);
    Ok((8 * TIMES) as f64 / seconds[4] / 1e6)
}
