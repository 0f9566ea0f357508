//! The header: keywords with a text, an integer or a float each.

use fringes_delay_model::Epoch;

use crate::write::observation::{Axes, BeamObservation, sexagesimal};

/// Longest text that programs read.
pub(super) const LONGEST_TEXT: usize = 80;
/// Number of a telescope and of a machine that SIGPROC has no number for.
const OTHER: i32 = 0;
/// `data_type` of a filterbank.
const FILTERBANK: i32 = 1;

/// The header of one beam's file.
pub(super) fn header(observation: &BeamObservation, axes: &Axes, beam: usize, beams: usize, bits: i32) -> Vec<u8> {
    let Axes { channels, products, frequencies, clock } = *axes;
    let number = |count: usize| i32::try_from(count).unwrap_or(i32::MAX);
    let mut bytes = Vec::new();
    text(&mut bytes, "HEADER_START");
    text(&mut bytes, "source_name");
    text(&mut bytes, &observation.source);
    if let Some([ra_rad, dec_rad]) = observation.ra_dec() {
        float(&mut bytes, "src_raj", packed(ra_rad.to_degrees().rem_euclid(360.0) / 15.0));
        float(&mut bytes, "src_dej", packed(dec_rad.to_degrees()));
    }
    for (keyword, value) in [
        ("machine_id", OTHER),
        ("telescope_id", OTHER),
        ("data_type", FILTERBANK),
        ("barycentric", 0),
        ("nbits", bits),
        ("nifs", number(products)),
        ("nchans", number(channels)),
        ("nbeams", number(beams)),
        ("ibeam", number(beam + 1)),
    ] {
        integer(&mut bytes, keyword, value);
    }
    for (keyword, value) in [
        ("az_start", 0.0),
        ("za_start", 0.0),
        ("fch1", frequencies.channel_hz(channels - 1) / 1e6),
        ("foff", -frequencies.step_hz / 1e6),
        ("tstart", mjd(observation.time_of(clock))),
        ("tsamp", clock.spectrum_seconds()),
    ] {
        float(&mut bytes, keyword, value);
    }
    text(&mut bytes, "HEADER_END");
    bytes
}

fn text(bytes: &mut Vec<u8>, value: &str) {
    bytes.extend((value.len() as i32).to_le_bytes()); // at most LONGEST_TEXT
    bytes.extend(value.bytes());
}

fn integer(bytes: &mut Vec<u8>, keyword: &str, value: i32) {
    text(bytes, keyword);
    bytes.extend(value.to_le_bytes());
}

fn float(bytes: &mut Vec<u8>, keyword: &str, value: f64) {
    text(bytes, keyword);
    bytes.extend(value.to_le_bytes());
}

/// An angle in hours or degrees as the number `ddmmss.s`.
fn packed(units: f64) -> f64 {
    let (negative, whole, minutes, seconds) = sexagesimal(units, 5);
    let value = (whole * 10_000 + minutes * 100) as f64 + seconds;
    if negative { -value } else { value }
}

fn mjd(epoch: Epoch) -> f64 {
    epoch.mjd_day as f64 + epoch.seconds / 86_400.0
}
