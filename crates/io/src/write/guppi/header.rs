//! The header of a block: cards of 80 characters.

use crate::write::observation::{Axes, BeamObservation, sexagesimal};

/// Longest name of telescope and source: what a card holds.
pub(super) const LONGEST_TEXT: usize = 66;

/// The header of the block whose first spectrum has a number; the clock of `axes` is that of the file's first spectrum.
pub(super) fn header(observation: &BeamObservation, axes: &Axes, block_spectra: usize, spectrum: u64) -> Vec<u8> {
    let Axes { channels, products: pols, frequencies, clock } = *axes;
    let spectrum_bytes = channels * pols * 2;
    let centre_hz = frequencies.first_hz + 0.5 * (channels as f64 - 1.0) * frequencies.step_hz;
    let start = observation.time_of(clock);
    let mut cards = vec![
        ("BACKEND", quoted("GUPPI")),
        ("TELESCOP", quoted(&observation.telescope)),
        ("SRC_NAME", quoted(&observation.source)),
    ];
    if let Some([ra_rad, dec_rad]) = observation.ra_dec() {
        let angle = |units: f64, decimals: usize| {
            let (negative, whole, minutes, seconds) = sexagesimal(units, decimals as i32);
            let (sign, width) = (if negative { "-" } else { "" }, decimals + 3);
            quoted(&format!("{sign}{whole:02}:{minutes:02}:{seconds:0width$.decimals$}"))
        };
        cards.push(("RA_STR", angle(ra_rad.to_degrees().rem_euclid(360.0) / 15.0, 5)));
        cards.push(("DEC_STR", angle(dec_rad.to_degrees(), 4)));
    }
    let number = |value: &dyn ToString| value.to_string();
    cards.extend([
        ("OBSFREQ", number(&(centre_hz / 1e6))),
        ("OBSBW", number(&(channels as f64 * frequencies.step_hz / 1e6))),
        ("CHAN_BW", number(&(frequencies.step_hz / 1e6))),
        ("OBSNCHAN", number(&channels)),
        ("NPOL", number(&if pols == 2 { 4 } else { 1 })),
        ("NBITS", number(&8)),
        ("TBIN", number(&clock.spectrum_seconds())),
        ("PKTFMT", quoted("1SFA")),
        ("PKTSIZE", number(&spectrum_bytes)),
        ("PIPERBLK", number(&block_spectra)),
        ("PKTIDX", number(&spectrum)),
        ("BLOCSIZE", number(&(spectrum_bytes * block_spectra))),
        ("OVERLAP", number(&0)),
        ("DIRECTIO", number(&0)),
        ("STT_IMJD", number(&start.mjd_day)),
        ("STT_SMJD", number(&(start.seconds.floor() as i64))),
        ("STT_OFFS", number(&(start.seconds - start.seconds.floor()))),
    ]);
    let card = |(keyword, value): (&str, String)| format!("{:<80}", format!("{keyword:<8}= {value:>20}"));
    let mut bytes: Vec<u8> = cards.into_iter().map(card).collect::<String>().into_bytes();
    bytes.extend(format!("{:<80}", "END").bytes());
    bytes
}

fn quoted(text: &str) -> String {
    format!("'{text:<8}'")
}
