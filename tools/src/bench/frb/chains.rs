//! The chains of telescopes that are timed.

use fringes::beamformer::{ChordGrid, FrbBeams};
use fringes::{BeamformerError, Complex};
use ndarray::Array4;

/// A chain, and how much of it a run does.
pub(crate) struct Chain {
    pub(crate) variant: &'static str,
    pub(crate) beams: FrbBeams,
    /// Microseconds from a time to the next.
    pub(crate) time_us: f64,
    /// Sums over time of a run.
    pub(crate) sums: usize,
}

/// CHIME's chain at 16 frequencies.
pub(crate) fn chime() -> Result<Chain, BeamformerError> {
    let frequencies: Vec<f64> = (0..16).map(|k| 800e6 - 25e6 * f64::from(k)).collect();
    let beams = FrbBeams::chime(&frequencies, gains([16, 2, 4, 256]), &[-0.007, 0.0, 0.007, 0.014])?;
    Ok(Chain { variant: "CHIME", beams, time_us: 2.56, sums: 128 })
}

/// The same with as many sums that blocks, which each make one of a frequency, are whole rounds of so many
/// multiprocessors.
pub(crate) fn chime_of_whole_rounds(multiprocessors: usize) -> Result<Chain, BeamformerError> {
    let chain = chime()?;
    let frequencies = chain.beams.frequencies();
    let unit = (1..=multiprocessors).find(|unit| (unit * frequencies).is_multiple_of(multiprocessors)).unwrap_or(1);
    Ok(Chain { variant: "CHIME, whole rounds", sums: chain.sums.next_multiple_of(unit), ..chain })
}

/// CASM's chain at 3072 frequencies.
pub(crate) fn casm() -> Result<Chain, BeamformerError> {
    let frequencies: Vec<f64> = (0..3072).map(|k| 400e6 + 1e8 / 3072.0 * f64::from(k)).collect();
    let beams = FrbBeams::casm(&frequencies, gains([3072, 2, 6, 43]))?;
    Ok(Chain { variant: "CASM", beams, time_us: 32.768, sums: 48 })
}

/// CHORD's grid of dishes at 16 frequencies with 24 beams toward east-west; times and sums are CHIME's, as CHORD's are
/// not published.
pub(crate) fn chord(channels: usize) -> Result<Chain, BeamformerError> {
    let frequencies: Vec<f64> = (0..16).map(|k| 400e6 + 50e6 * f64::from(k)).collect();
    let angles: Vec<f64> = (0..24).map(|out| (f64::from(out) - 11.5) * 2e-3).collect();
    let beams = FrbBeams::chord(&frequencies, gains([16, 2, 24, 24]), &angles, ChordGrid::default())?.into_builder();
    let (beams, variant) = match channels {
        1 => (beams.blocks(384).build()?, "CHORD"),
        16 => (beams.upchannelisation(16).blocks(24).centre(true).build()?, "CHORD, 16 channels"),
        _ => (beams.upchannelisation(128).group(8).blocks(3).centre(true).build()?, "CHORD, 128 channels by 8"),
    };
    Ok(Chain { variant, beams, time_us: 2.56, sums: 128 })
}

/// Gains that turn by another angle at each feed.
fn gains([frequencies, pols, lines, feeds]: [usize; 4]) -> Array4<Complex<f32>> {
    Array4::from_shape_fn((frequencies, pols, lines, feeds), |(frequency, pol, line, n)| {
        Complex::from_polar(1.0, (frequency * 37 + pol * 11 + line * 5 + n * n) as f32)
    })
}
