//! What the feeds see: noise, and a pulse that comes later at lower frequencies.

use std::f64::consts::TAU;
use std::ops::Range;

use fringes::beamformer::{FrbBeams, centred_positions, line_phases, north_map, reference_frequency};
use fringes::fft::Sign;
use fringes::{BeamformerError, Complex, SpectrumClock};
use ndarray::{Array2, Array4, Array5};
use rand::{RngExt, SeedableRng};
use rand_distr::StandardNormal;
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::search::{SUM_S, delay_s};

/// The grid: lines a metre apart, feeds of a line 0.3 m, and polarisations of a feed.
pub(crate) const LINES: usize = 2;
pub(crate) const FEEDS: usize = 32;
const LINE_M: f64 = 1.0;
const FEED_M: f64 = 0.3;
const POLS: usize = 2;
const LIGHT_M_S: f64 = 299_792_458.0;

/// Channels of the voltages, their width, and the lowest one.
const FREQUENCIES: usize = 16;
pub(crate) const WIDTH_HZ: f64 = 800e6 / 2048.0;
const LOWEST_HZ: f64 = 600e6;
/// Seconds from a time to the next.
pub(crate) const TIME_S: f64 = 1.0 / WIDTH_HZ;

/// Times in all, and of a chunk: chunks may end anywhere.
pub(crate) const TIMES: usize = 160 * 64;
pub(crate) const CHUNK: usize = 1000;

/// What a channel becomes: so many channels, of which each sum has so many blocks.
pub(crate) const UPCHANNELISATION: usize = 16;
pub(crate) const BLOCKS: usize = 4;

/// Beams: sines of the angle toward east; toward north so many, evenly spaced in the sine.
const EAST: [f64; 5] = [-0.2, -0.1, 0.0, 0.1, 0.2];
pub(crate) const NORTH_BEAMS: usize = 32;
const NORTH_LIMIT_DEG: f64 = 50.0;

/// The pulse: seconds that it lasts, and impulses that it is made of.
const PULSE_WIDTH_S: f64 = 2.0 * SUM_S;
const IMPULSES: usize = 24;

/// Noise of a part of a voltage, in steps of 8 bits.
const NOISE: f64 = 12.0;

/// The simulation.
pub(crate) struct Sky {
    /// Middles of the channels.
    pub(crate) frequencies_hz: Vec<f64>,
    /// Sines toward east and north of the source.
    pub(crate) source: [f64; 2],
    /// When the pulse's middle comes at the highest frequency.
    pub(crate) pulse_s: f64,
    pub(crate) dm: f64,
    power: f64,
    /// The pulse `[time][channel][pol]`, in units of a feed's noise.
    pulse: Vec<Complex<f32>>,
    random: Xoshiro256PlusPlus,
}

impl Sky {
    pub(crate) fn new(power: f64, dm: f64, seed: u64) -> Self {
        let frequencies_hz = (0..FREQUENCIES).map(|k| LOWEST_HZ + k as f64 * WIDTH_HZ).collect();
        let random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let (source, pulse_s) = ([0.11, 0.29], 4e-3);
        let mut sky = Self { frequencies_hz, source, pulse_s, dm, power, pulse: Vec::new(), random };
        sky.pulse = sky.dispersed();
        sky
    }

    /// The pulse as each channel has it. An impulse becomes a chirp: at each time the frequency that is delayed until
    /// then. A pulse is impulses of random phases.
    fn dispersed(&mut self) -> Vec<Complex<f32>> {
        let mut pulse = vec![Complex::new(0f32, 0.0); TIMES * FREQUENCIES * POLS];
        let top = self.top_hz();
        for (channel, &middle) in self.frequencies_hz.iter().enumerate() {
            let [high, low] = [0.5, -0.5].map(|part| delay_s(self.dm, middle + part * WIDTH_HZ, top));
            let amplitude = (self.power * PULSE_WIDTH_S / (IMPULSES as f64 * (low - high))).sqrt();
            for impulse in 0..IMPULSES * POLS {
                let within = (impulse / POLS) as f64 / IMPULSES as f64 - 0.5;
                let start = self.pulse_s + within * PULSE_WIDTH_S;
                let mut phase = self.random.random_range(0.0..TAU);
                let times = ((start + high) / TIME_S).ceil() as usize..((start + low) / TIME_S).ceil() as usize;
                for time in times.start..times.end.min(TIMES) {
                    let frequency = frequency_hz(self.dm, time as f64 * TIME_S - start, top);
                    phase += TAU * (frequency - middle) * TIME_S;
                    let wave = Complex::from_polar(amplitude as f32, phase as f32);
                    pulse[(time * FREQUENCIES + channel) * POLS + impulse % POLS] += wave;
                }
            }
        }
        pulse
    }

    /// Voltages `[time][channel][pol][line][feed]` of these times.
    pub(crate) fn voltages(&mut self, times: Range<usize>) -> Array5<Complex<i8>> {
        let first = times.start;
        let turns = self.turns();
        Array5::from_shape_fn((times.len(), FREQUENCIES, POLS, LINES, FEEDS), |(time, channel, pol, line, feed)| {
            let pulse = self.pulse[((first + time) * FREQUENCIES + channel) * POLS + pol];
            let wave = pulse * turns[(channel, line * FEEDS + feed)];
            let mut part = |wave: f32| {
                let noise: f64 = self.random.sample(StandardNormal);
                // A complex number of mean power 2 is a normal one in each part.
                (NOISE * (noise + 2f64.sqrt() * f64::from(wave))).round().clamp(-127.0, 127.0) as i8
            };
            Complex::new(part(wave.re), part(wave.im))
        })
    }

    /// A plane wave from the source at each feed, `[channel][line x feed]`: later where the feed is farther away.
    fn turns(&self) -> Array2<Complex<f32>> {
        let lines = centred_positions(&[LINE_M; LINES - 1]);
        let [east, north] = self.source;
        Array2::from_shape_fn((FREQUENCIES, LINES * FEEDS), |(channel, feed)| {
            let metres = lines[feed / FEEDS] * east + (feed % FEEDS) as f64 * FEED_M * north;
            let turns = metres * self.frequencies_hz[channel] / LIGHT_M_S;
            Complex::from_polar(1.0, (-TAU * turns.fract()) as f32)
        })
    }

    /// The beams: gains of 1, sums of both lines toward each angle, and a transform of each line.
    pub(crate) fn beams(&self) -> Result<FrbBeams, BeamformerError> {
        let gains = Array4::from_elem((FREQUENCIES, POLS, LINES, FEEDS), Complex::new(1.0, 0.0));
        let matrix = line_phases(&self.frequencies_hz, &EAST, &centred_positions(&[LINE_M; LINES - 1]))?;
        let reference = reference_frequency(NORTH_LIMIT_DEG.to_radians(), FEED_M)?;
        let mut map = Array2::zeros((FREQUENCIES, NORTH_BEAMS));
        for (mut row, &frequency) in map.outer_iter_mut().zip(&self.frequencies_hz) {
            let outputs = north_map(frequency, reference, NORTH_BEAMS, 2 * FEEDS)?;
            row.iter_mut().zip(outputs).for_each(|(output, found)| *output = found);
        }
        let beams = FrbBeams::builder(gains, matrix, 2 * FEEDS).map(map).time_sign(Sign::Negative);
        beams.upchannelisation(UPCHANNELISATION).blocks(BLOCKS).build()
    }

    /// Sines toward east and north of where a beam looks.
    pub(crate) fn direction(&self, beam: usize) -> [f64; 2] {
        let half = NORTH_BEAMS as f64 / 2.0;
        let north = NORTH_LIMIT_DEG.to_radians().sin() * ((beam % NORTH_BEAMS) as f64 - half) / half;
        [EAST[beam / NORTH_BEAMS], north]
    }

    /// The beam that looks nearest to the source.
    pub(crate) fn nearest_beam(&self) -> usize {
        let away = |beam: &usize| {
            let [east, north] = self.direction(*beam);
            (east - self.source[0]).hypot(north - self.source[1])
        };
        (0..EAST.len() * NORTH_BEAMS).min_by(|a, b| away(a).total_cmp(&away(b))).unwrap_or(0)
    }

    /// Signal to noise that a search in a beam straight at the source has.
    pub(crate) fn expected_ratio(&self) -> f64 {
        let channels = (FREQUENCIES * UPCHANNELISATION) as f64;
        let sums = PULSE_WIDTH_S / SUM_S;
        self.power * (LINES * FEEDS) as f64 * (channels * sums * (BLOCKS * POLS) as f64).sqrt()
    }

    /// The upper end of the band.
    pub(crate) fn top_hz(&self) -> f64 {
        LOWEST_HZ + (FREQUENCIES as f64 - 0.5) * WIDTH_HZ
    }

    /// Middles of the beams' channels.
    pub(crate) fn channels_hz(&self) -> Vec<f64> {
        let step = WIDTH_HZ / UPCHANNELISATION as f64;
        // A channel's own finer channels begin half its width below its middle.
        (0..FREQUENCIES * UPCHANNELISATION).map(|k| LOWEST_HZ - 0.5 * WIDTH_HZ + k as f64 * step).collect()
    }

    /// The clock of voltages from a time on.
    pub(crate) fn clock(&self, first: usize) -> SpectrumClock {
        SpectrumClock { first_sample: 2048 * first as u64, samples_between_spectra: 2048, sample_rate_hz: 800e6 }
    }
}

/// The frequency that comes so many seconds after `top_hz`.
fn frequency_hz(dm: f64, after_s: f64, top_hz: f64) -> f64 {
    (top_hz.powi(-2) + after_s / delay_s(dm, 1.0, f64::INFINITY)).powf(-0.5)
}
