//! Descriptors: what an item is called, what it means, its shape and its elements.

use super::encode::PREFIX;
use super::error::setting;
use super::item::{ADDRESS_MASK, ID_MASK, id};
use super::{HeapView, Item, Packet, PacketEncoder, PacketShape, SpeadError};

/// Bytes of a field of [`Elements::Fields`]: a letter, and a number of bits.
const FIELD_BYTES: usize = 3;
/// Bytes of a dimension: a byte that tells variable ones, and a length.
const DIMENSION_BYTES: usize = 7;

/// What the elements of an item are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Elements {
    /// A numpy type, such as `|i1` or `<i4`; whether the first dimension is the fastest.
    Numpy {
        /// Numpy's text for the type.
        descr: String,
        /// Whether the array is in Fortran's order.
        fortran_order: bool,
    },
    /// Big-endian fields, one after the other without padding: a letter (`u` unsigned, `i` signed, `f` float, `c`
    /// character, `b` boolean) and a number of bits.
    Fields(Vec<(char, u16)>),
}

/// A descriptor.
///
/// # Layout
/// An item [`id::DESCRIPTOR`] whose bytes are a packet: a heap of its own with the items `0x14` (identifier,
/// immediate),
/// `0x10` (name), `0x11` (description), `0x13` (fields of 3 bytes), `0x12` (dimensions of 7 bytes, the first of them 1
/// for one of variable length) and, for numpy types, `0x15` (the header of an npy file as text, which counts more than
/// `0x12` and `0x13`).
///
/// Source: the SPEAD protocol document, with the flavour's widths, as `spead2` sends it without compatibility options.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Descriptor {
    /// Identifier of the described item.
    pub id: u16,
    /// Name.
    pub name: String,
    /// Description.
    pub description: String,
    /// Lengths of the dimensions, `None` for a variable one; empty for a scalar.
    pub shape: Vec<Option<u64>>,
    /// Elements.
    pub elements: Elements,
}

impl Descriptor {
    /// A number in the pointer: 48 bits, unsigned.
    pub fn immediate(id: u16, name: &str, description: &str) -> Self {
        let elements = Elements::Fields(vec![('u', 48)]);
        Self { id, name: name.into(), description: description.into(), shape: Vec::new(), elements }
    }

    /// An array of a numpy type.
    pub fn numpy(id: u16, name: &str, description: &str, descr: &str, shape: &[usize]) -> Self {
        let elements = Elements::Numpy { descr: descr.into(), fortran_order: false };
        let shape = shape.iter().map(|&length| Some(length as u64)).collect();
        Self { id, name: name.into(), description: description.into(), shape, elements }
    }

    /// The packet that is the value of an item [`id::DESCRIPTOR`].
    ///
    /// # Errors
    /// [`SpeadError::Setting`] for an identifier above 15 bits, a length above 48 bits, a field's letter that is not
    /// ASCII, a variable dimension of a numpy type, or texts of together more than 64 KiB.
    pub fn encode(&self) -> Result<Vec<u8>, SpeadError> {
        if self.id > ID_MASK {
            return Err(setting("identifier of a described item", "at most 15 bits", format!("{:#x}", self.id)));
        }
        let (mut shape, mut fields, mut header) = (Vec::new(), Vec::new(), None);
        for length in &self.shape {
            let value = length.unwrap_or(0);
            if value > ADDRESS_MASK {
                return Err(setting("length of a dimension", "at most 48 bits", value));
            }
            shape.push(u8::from(length.is_none()));
            shape.extend(&value.to_be_bytes()[2..]);
        }
        match &self.elements {
            Elements::Fields(list) => {
                for &(letter, bits) in list {
                    let byte = u8::try_from(letter).ok().filter(u8::is_ascii);
                    fields.push(byte.ok_or_else(|| setting("letter of a field", "one of ASCII", letter))?);
                    fields.extend(bits.to_be_bytes());
                }
            }
            Elements::Numpy { descr, fortran_order } => header = Some(self.numpy_header(descr, *fortran_order)?),
        }
        let mut items = vec![
            Item::immediate(id::DESCRIPTOR_ID, self.id.into()),
            Item::bytes(id::DESCRIPTOR_NAME, self.name.as_bytes()),
            Item::bytes(id::DESCRIPTOR_DESCRIPTION, self.description.as_bytes()),
            Item::bytes(id::DESCRIPTOR_FORMAT, &fields),
            Item::bytes(id::DESCRIPTOR_SHAPE, &shape),
        ];
        items.extend(header.as_ref().map(|header| Item::bytes(id::DESCRIPTOR_DTYPE, header.as_bytes())));
        let bytes = items.iter().fold(PREFIX + 8 * (items.len() + 2), |sum, item| match item.value {
            super::ItemValue::Bytes(bytes) => sum.saturating_add(bytes.len()),
            super::ItemValue::Immediate(_) => sum,
        });
        let shape = PacketShape { packet_bytes: bytes.next_multiple_of(8), repeat_pointers: true };
        let mut out = Vec::with_capacity(bytes);
        PacketEncoder::new(1, &items, shape)?.next_packet(&mut out);
        Ok(out)
    }

    /// The header of an npy file as numpy writes it, without padding.
    fn numpy_header(&self, descr: &str, fortran_order: bool) -> Result<String, SpeadError> {
        let lengths: Option<Vec<String>> =
            self.shape.iter().map(|length| length.map(|length| length.to_string())).collect();
        let Some(mut lengths) = lengths else {
            return Err(setting("dimension of a numpy type", "a fixed length", "a variable one"));
        };
        if lengths.len() == 1 {
            lengths.push(String::new());
        }
        let order = if fortran_order { "True" } else { "False" };
        let shape = lengths.join(", ");
        let shape = shape.trim_end_matches(' ');
        Ok(format!("{{'descr': '{descr}', 'fortran_order': {order}, 'shape': ({shape})}}"))
    }

    /// Reads the bytes of an item [`id::DESCRIPTOR`].
    ///
    /// # Errors
    /// [`SpeadError::Packet`] if the bytes are no packet, [`SpeadError::Descriptor`] if they are not a whole heap, or
    /// for a part that is missing or cannot be read.
    pub fn decode(bytes: &[u8]) -> Result<Self, SpeadError> {
        let packet = Packet::decode(bytes)?;
        let heap = HeapView::of_packet(&packet).ok_or_else(|| {
            wrong("packet", "all of a heap", format!("{} of {} bytes", packet.payload().len(), packet.heap_size()))
        })?;
        let described = heap.immediate(id::DESCRIPTOR_ID).and_then(|id| u16::try_from(id).ok());
        let described = described.ok_or_else(|| wrong("identifier", "an immediate item 0x14 of 15 bits", "none"))?;
        let text = |id: u16, field: &'static str| {
            let bytes = heap.bytes(id).unwrap_or_default();
            let text = std::str::from_utf8(bytes);
            text.map(str::to_owned).map_err(|error| wrong(field, "UTF-8", format!("{error}")))
        };
        let (name, description) =
            (text(id::DESCRIPTOR_NAME, "name")?, text(id::DESCRIPTOR_DESCRIPTION, "description")?);
        let header = text(id::DESCRIPTOR_DTYPE, "numpy header")?;
        let (shape, elements) = if header.is_empty() {
            (dimensions(heap.bytes(id::DESCRIPTOR_SHAPE))?, fields(heap.bytes(id::DESCRIPTOR_FORMAT))?)
        } else {
            parse_numpy_header(&header).ok_or_else(|| wrong("numpy header", "descr, fortran_order, shape", &header))?
        };
        Ok(Self { id: described, name, description, shape, elements })
    }
}

fn wrong(field: &'static str, expected: &'static str, actual: impl ToString) -> SpeadError {
    SpeadError::Descriptor { field, expected, actual: actual.to_string() }
}

fn dimensions(bytes: Option<&[u8]>) -> Result<Vec<Option<u64>>, SpeadError> {
    let (dimensions, rest) = bytes.unwrap_or_default().as_chunks::<DIMENSION_BYTES>();
    if !rest.is_empty() {
        return Err(wrong("shape", "7 bytes a dimension", format!("{} bytes more", rest.len())));
    }
    let length = |&[variable, a, b, c, d, e, f]: &[u8; DIMENSION_BYTES]| {
        (variable & 1 == 0).then_some(u64::from_be_bytes([0, 0, a, b, c, d, e, f]))
    };
    Ok(dimensions.iter().map(length).collect())
}

fn fields(bytes: Option<&[u8]>) -> Result<Elements, SpeadError> {
    let (fields, rest) = bytes.unwrap_or_default().as_chunks::<FIELD_BYTES>();
    if !rest.is_empty() {
        return Err(wrong("format", "3 bytes a field", format!("{} bytes more", rest.len())));
    }
    let field = |&[letter, high, low]: &[u8; FIELD_BYTES]| (char::from(letter), u16::from_be_bytes([high, low]));
    Ok(Elements::Fields(fields.iter().map(field).collect()))
}

/// The header of an npy file: a dictionary of Python with three entries, in any order.
fn parse_numpy_header(header: &str) -> Option<(Vec<Option<u64>>, Elements)> {
    let entry = |name: &str| {
        let (_, rest) =
            header.split_once(&format!("'{name}':")).or_else(|| header.split_once(&format!("\"{name}\":")))?;
        Some(rest.trim_start())
    };
    let descr = entry("descr")?;
    let quote = descr.chars().next().filter(|quote| ['\'', '"'].contains(quote))?;
    let (descr, _) = descr[1..].split_once(quote)?;
    let order = entry("fortran_order")?;
    let fortran_order = order.starts_with("True");
    if !fortran_order && !order.starts_with("False") {
        return None;
    }
    let (lengths, _) = entry("shape")?.strip_prefix('(')?.split_once(')')?;
    let lengths = lengths.split(',').map(str::trim).filter(|length| !length.is_empty());
    let shape: Option<Vec<Option<u64>>> = lengths.map(|length| length.parse().ok().map(Some)).collect();
    Some((shape?, Elements::Numpy { descr: descr.to_owned(), fortran_order }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptors_are_those_of_spead2() {
        // What spead2 4.5.1 sends for these two items.
        let stamp = "5304020600000009 8001000000000001 8002000000000013 8003000000000000 8004000000000013 \
            8014000000001600 0010000000000000 0011000000000009 0013000000000010 0012000000000013 \
            74696d657374616d70 61207374616d70 750030";
        let voltages = "530402060000000a 8001000000000001 800200000000006b 8003000000000000 800400000000006b \
            8014000000004300 0010000000000000 0011000000000008 0013000000000010 0012000000000010 001500000000002c \
            66656e675f726177 766f6c7461676573 00000000000002 00000000000003 00000000000002 00000000000002 \
            7b276465736372273a20277c6931272c2027666f727472616e5f6f72646572273a2046616c73652c20 \
            277368617065273a2028322c20332c20322c2032297d";
        let bytes = |hex: &str| {
            let digits: Vec<u8> =
                hex.bytes().filter_map(|digit| char::from(digit).to_digit(16)).map(|d| d as u8).collect();
            digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect::<Vec<u8>>()
        };
        let described = [
            (Descriptor::immediate(0x1600, "timestamp", "a stamp"), bytes(stamp)),
            (Descriptor::numpy(0x4300, "feng_raw", "voltages", "|i1", &[2, 3, 2, 2]), bytes(voltages)),
        ];
        for (descriptor, bytes) in described {
            assert_eq!(descriptor.encode().unwrap(), bytes, "{descriptor:?}");
            assert_eq!(Descriptor::decode(&bytes).unwrap(), descriptor);
        }
    }

    #[test]
    fn shapes_of_every_length_come_back() {
        for shape in [vec![], vec![5], vec![0, 7]] {
            let numpy = Descriptor::numpy(1, "", "", "<c8", &shape);
            assert_eq!(Descriptor::decode(&numpy.encode().unwrap()).unwrap(), numpy);
        }
        let elements = Elements::Fields(vec![('u', 8), ('i', 16)]);
        let variable = Descriptor { shape: vec![None, Some(3)], elements, ..Descriptor::immediate(9, "v", "\u{3b1}") };
        assert_eq!(Descriptor::decode(&variable.encode().unwrap()).unwrap(), variable);
    }

    #[test]
    fn what_cannot_be_sent_is_an_error() {
        let good = Descriptor::immediate(1, "n", "d");
        let numpy = Elements::Numpy { descr: "|i1".into(), fortran_order: false };
        for bad in [
            Descriptor { id: 0x8000, ..good.clone() },
            Descriptor { shape: vec![Some(1 << 48)], ..good.clone() },
            Descriptor { elements: Elements::Fields(vec![('\u{3b1}', 1)]), ..good.clone() },
            Descriptor { shape: vec![None], elements: numpy, ..good.clone() },
            Descriptor { description: "x".repeat(70_000), ..good },
        ] {
            assert!(matches!(bad.encode(), Err(SpeadError::Setting { .. })), "{:?}", bad.id);
        }
    }

    #[test]
    fn damaged_descriptors_are_errors() {
        let bytes = Descriptor::numpy(0x4300, "feng_raw", "voltages", "|i1", &[2, 3]).encode().unwrap();
        for length in 0..bytes.len() {
            assert!(Descriptor::decode(&bytes[..length]).is_err());
        }
        for (from, to) in [("'descr'", "'desc!'"), ("False", "False"), ("(2, 3)", "(2, x)"), ("feng_raw", "\u{fffd}")] {
            let mut bytes = bytes.clone();
            let at = bytes.windows(from.len()).position(|window| window == from.as_bytes()).unwrap();
            bytes[at..at + to.len()].copy_from_slice(to.as_bytes());
            if to == "\u{fffd}" {
                bytes[at] = 0xff;
            }
            assert_eq!(Descriptor::decode(&bytes).is_ok(), from == to, "{from}");
        }
    }
}
