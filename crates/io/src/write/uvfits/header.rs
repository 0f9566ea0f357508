//! What a UVFITS file says before its data, as cards.

use fitsio_pure::groups::{GroupParam, groups_header};

use super::cards::Cards;
use super::groups::GroupLayout;
use crate::IoError;
use crate::write::VisibilityHeader;

impl VisibilityHeader {
    /// Checks everything, and lays out the groups.
    pub(super) fn group_layout(&self) -> Result<GroupLayout, IoError> {
        self.check()?;
        GroupLayout::new(self.inputs, self.channels)
    }

    /// The primary header for a number of groups.
    pub(super) fn cards(&self, layout: &GroupLayout, groups: u64) -> Result<Cards, IoError> {
        let groups = usize::try_from(groups).unwrap_or(usize::MAX);
        // Of the two parts of the date, the first carries the reference day.
        let mut date_zero = Some(self.reference_julian_date());
        let params: Vec<GroupParam> = layout
            .parameters()
            .map(|name| {
                let zero = if name == "DATE" { date_zero.take() } else { None };
                GroupParam::new(name).with_scale(1.0).with_zero(zero.unwrap_or(0.0))
            })
            .collect();
        let axes = [3, layout.products(), self.channels, 1, 1];
        let mut cards = Cards(groups_header(-32, &axes, &params, groups)?);
        for (axis, name, value, step) in [
            (2, "COMPLEX", 1.0, 1.0),
            (3, "STOKES", -5.0, -1.0),
            (4, "FREQ", self.frequencies.first_hz, self.frequencies.step_hz),
            (5, "RA", self.phase_centre_ra_rad.to_degrees(), 1.0),
            (6, "DEC", self.phase_centre_dec_rad.to_degrees(), 1.0),
        ] {
            cards.text(&format!("CTYPE{axis}"), "axis name", name)?;
            cards.number(&format!("CRVAL{axis}"), axis_quantity(axis), value)?;
            cards.number(&format!("CRPIX{axis}"), axis_quantity(axis), 1.0)?;
            cards.number(&format!("CDELT{axis}"), axis_quantity(axis), step)?;
            cards.number(&format!("CROTA{axis}"), axis_quantity(axis), 0.0)?;
        }
        let (year, month, day) = self.reference_date()?;
        cards.text("OBJECT", "source name", &self.source)?;
        cards.text("TELESCOP", "telescope name", &self.telescope)?;
        cards.text("INSTRUME", "telescope name", &self.telescope)?;
        cards.text("DATE-OBS", "date", &format!("{year:04}-{month:02}-{day:02}"))?;
        cards.text("BUNIT", "unit", "UNCALIB")?;
        cards.number("BSCALE", "scale", 1.0)?;
        cards.number("BZERO", "zero", 0.0)?;
        cards.number("EPOCH", "epoch", 2000.0)?;
        // In lower case, as pyuvdata 3.2 writes it and alone understands it.
        cards.text("RADESYS", "frame", "icrs")?;
        cards.text("ORIGIN", "origin", concat!("Fringes ", env!("CARGO_PKG_VERSION")))?;
        Ok(cards)
    }
}

/// What the value of an axis is, for errors.
fn axis_quantity(axis: i32) -> &'static str {
    match axis {
        4 => "channel frequency in Hz",
        5 => "right ascension of the phase centre",
        6 => "declination of the phase centre",
        _ => "axis value",
    }
}
