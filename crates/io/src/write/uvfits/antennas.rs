//! The antenna table: a binary table named AIPS AN, one row an antenna.

use fitsio_pure::bintable::{
    BinaryColumnData, BinaryColumnDescriptor, BinaryColumnType, binary_type_byte_size, build_binary_table_cards,
    serialize_binary_table,
};

use super::cards::Cards;
use crate::IoError;
use crate::write::VisibilityHeader;
use crate::write::visibilities::DEGREES_PER_DAY;

impl VisibilityHeader {
    /// The antenna table, header and data, as whole blocks of 2880 bytes.
    ///
    /// `STABXYZ` is the antenna's position relative to the array's, its x axis turned from Greenwich to the array's
    /// meridian: `(cos L dx + sin L dy, -sin L dx + cos L dy, dz)` at longitude `L`.
    pub(super) fn antenna_table(&self) -> Result<Vec<u8>, IoError> {
        let antennas = self.antennas.len();
        let [array_x, array_y, array_z] = self.array_position_m;
        let (sin, cos) = array_y.atan2(array_x).sin_cos();
        let positions = self.antennas.iter().flat_map(|antenna| {
            let [x, y, z] = antenna.position_m;
            let (dx, dy, dz) = (x - array_x, y - array_y, z - array_z);
            [cos * dx + sin * dy, cos * dy - sin * dx, dz]
        });
        // Padded with NUL, which ends a text in a FITS table: readers keep blanks as part of the name.
        let names = self.antennas.iter().map(|antenna| format!("{:\0<8}", antenna.name)).collect();
        let numbers = (1..=antennas).map(|number| i32::try_from(number).unwrap_or(i32::MAX)).collect();
        let (ascii, float, int) = (BinaryColumnType::Ascii, BinaryColumnType::Float, BinaryColumnType::Int);
        let second_feed = if self.inputs.pols() == 2 { "Y" } else { "" };
        let text = |value: &str| BinaryColumnData::Ascii(vec![value.into(); antennas]);
        let same = |value: f32| BinaryColumnData::Float(vec![value; antennas]);
        let columns = [
            ("ANNAME", "", 8, ascii, BinaryColumnData::Ascii(names)),
            ("STABXYZ", "METERS", 3, BinaryColumnType::Double, BinaryColumnData::Double(positions.collect())),
            ("NOSTA", "", 1, int, BinaryColumnData::Int(numbers)),
            ("MNTSTA", "", 1, int, BinaryColumnData::Int(vec![0; antennas])),
            ("STAXOF", "METERS", 1, float, same(0.0)),
            ("POLTYA", "", 1, ascii, text("X")),
            ("POLAA", "DEGREES", 1, float, same(0.0)),
            ("POLTYB", "", 1, ascii, text(second_feed)),
            ("POLAB", "DEGREES", 1, float, same(90.0)),
        ];
        let mut descriptors = Vec::new();
        let mut data = Vec::new();
        let mut units = Vec::new();
        for (name, unit, repeat, col_type, values) in columns {
            let byte_width = repeat * binary_type_byte_size(&col_type);
            descriptors.push(BinaryColumnDescriptor {
                name: Some(name.into()),
                repeat,
                col_type,
                byte_width,
                tdim: None,
            });
            data.push(values);
            units.push(unit);
        }
        let mut cards = Cards(build_binary_table_cards(&descriptors, antennas, 0)?);
        for (column, unit) in units.iter().enumerate().filter(|(_, unit)| !unit.is_empty()) {
            cards.text(&format!("TUNIT{}", column + 1), "unit", unit)?;
        }
        self.antenna_keywords(&mut cards)?;
        let mut bytes = cards.to_blocks()?;
        bytes.extend(serialize_binary_table(&descriptors, &data, antennas)?);
        Ok(bytes)
    }

    /// What the table says of the array, the Earth's rotation and the time scale.
    fn antenna_keywords(&self, cards: &mut Cards) -> Result<(), IoError> {
        let (year, month, day) = self.reference_date()?;
        let sidereal = self.sidereal_degrees()?;
        cards.text("EXTNAME", "table name", "AIPS AN")?;
        cards.integer("EXTVER", 1)?;
        for (keyword, metres) in ["ARRAYX", "ARRAYY", "ARRAYZ"].into_iter().zip(self.array_position_m) {
            cards.number(keyword, "array position in metres", metres)?;
        }
        cards.number("GSTIA0", "sidereal time", sidereal)?;
        cards.number("DEGPDY", "rotation of the Earth", DEGREES_PER_DAY)?;
        cards.number("FREQ", "channel frequency in Hz", self.frequencies.first_hz)?;
        cards.text("RDATE", "date", &format!("{year:04}-{month:02}-{day:02}"))?;
        cards.number("POLARX", "polar motion", 0.0)?;
        cards.number("POLARY", "polar motion", 0.0)?;
        cards.number("UT1UTC", "UT1 - UTC in seconds", self.ut1_minus_utc_s)?;
        cards.number("DATUTC", "time offset", 0.0)?;
        cards.number("IATUTC", "TAI - UTC in seconds", self.tai_minus_utc_s()?)?;
        cards.text("TIMESYS", "time scale", "UTC")?;
        cards.text("TIMSYS", "time scale", "UTC")?;
        cards.text("ARRNAM", "telescope name", &self.telescope)?;
        cards.text("FRAME", "frame", "ITRF")?;
        cards.text("XYZHAND", "handedness", "RIGHT")?;
        cards.integer("NUMORB", 0)?;
        cards.integer("NOPCAL", 0)?;
        cards.integer("NO_IF", 1)?;
        cards.integer("FREQID", 1)?;
        cards.text("POLTYPE", "polarisation", "X-Y LIN")
    }
}
