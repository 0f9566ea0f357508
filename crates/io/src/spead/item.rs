//! Items of a heap: their identifiers and the pointers that packets carry.

/// Identifiers of items: those of the protocol, and those of MeerKAT's streams.
///
/// Source: the SPEAD protocol document and the katgpucbf manual.
pub mod id {
    /// Nothing: where it points, the item before it ends.
    pub const NULL: u16 = 0x00;
    /// Counter of the heap.
    pub const HEAP_CNT: u16 = 0x01;
    /// Bytes of the heap's payload.
    pub const HEAP_SIZE: u16 = 0x02;
    /// Where the packet's payload lies in the heap's, in bytes.
    pub const HEAP_OFFSET: u16 = 0x03;
    /// Bytes of the packet's payload.
    pub const PAYLOAD_LENGTH: u16 = 0x04;
    /// A [`Descriptor`](crate::spead::Descriptor).
    pub const DESCRIPTOR: u16 = 0x05;
    /// A [`StreamControl`](crate::spead::StreamControl).
    pub const STREAM_CONTROL: u16 = 0x06;
    /// Name, in a descriptor.
    pub const DESCRIPTOR_NAME: u16 = 0x10;
    /// Description, in a descriptor.
    pub const DESCRIPTOR_DESCRIPTION: u16 = 0x11;
    /// Shape, in a descriptor.
    pub const DESCRIPTOR_SHAPE: u16 = 0x12;
    /// Fields of an element, in a descriptor.
    pub const DESCRIPTOR_FORMAT: u16 = 0x13;
    /// Identifier of the described item, in a descriptor.
    pub const DESCRIPTOR_ID: u16 = 0x14;
    /// Header of an npy file, in a descriptor.
    pub const DESCRIPTOR_DTYPE: u16 = 0x15;
    /// ADC sample counter of the heap's first sample or spectrum.
    pub const TIMESTAMP: u16 = 0x1600;
    /// Sums of an X-engine.
    pub const XENG_RAW: u16 = 0x1800;
    /// Serial number of a digitiser; its lowest bit tells the polarisation.
    pub const DIGITISER_ID: u16 = 0x3101;
    /// Status of a digitiser.
    pub const DIGITISER_STATUS: u16 = 0x3102;
    /// ADC samples of a digitiser.
    pub const ADC_SAMPLES: u16 = 0x3300;
    /// Number of the antenna.
    pub const FENG_ID: u16 = 0x4101;
    /// Number of the heap's first channel.
    pub const FREQUENCY: u16 = 0x4103;
    /// Channelised voltages of an F-engine.
    pub const FENG_RAW: u16 = 0x4300;
}

/// Bits of an address or of an immediate value in SPEAD-64-48.
pub(crate) const ADDRESS_BITS: u32 = 48;

/// Largest address and largest immediate value.
pub(crate) const ADDRESS_MASK: u64 = (1 << ADDRESS_BITS) - 1;

/// Largest identifier: 15 bits.
pub(crate) const ID_MASK: u16 = 0x7fff;

/// An item pointer: an identifier with the item's value, or with where its value begins in the heap's payload.
///
/// # Layout
/// 64 bits, big-endian: 1 bit that tells immediate values, 15 bits of identifier, 48 bits of value or address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ItemPointer(u64);

impl ItemPointer {
    /// The pointer in its eight bytes.
    pub fn from_be_bytes(bytes: [u8; 8]) -> Self {
        Self(u64::from_be_bytes(bytes))
    }

    /// Its eight bytes.
    pub fn to_be_bytes(self) -> [u8; 8] {
        self.0.to_be_bytes()
    }

    /// An item whose value is in the pointer. Bits of the identifier above 15 and of the value above 48 are cut off.
    pub fn immediate(id: u16, value: u64) -> Self {
        Self(1 << 63 | Self::addressed(id, value).0)
    }

    /// An item whose value begins at an address. Bits are cut off as by [`ItemPointer::immediate`].
    pub fn addressed(id: u16, address: u64) -> Self {
        Self(u64::from(id & ID_MASK) << ADDRESS_BITS | address & ADDRESS_MASK)
    }

    /// Whether the value is in the pointer.
    pub fn is_immediate(self) -> bool {
        self.0 >> 63 == 1
    }

    /// Identifier of the item.
    pub fn id(self) -> u16 {
        (self.0 >> ADDRESS_BITS) as u16 & ID_MASK
    }

    /// The value, or the address in bytes.
    pub fn value(self) -> u64 {
        self.0 & ADDRESS_MASK
    }
}

/// The value of a stream control item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum StreamControl {
    /// The stream starts.
    Start,
    /// Descriptors come again.
    DescriptorReissue,
    /// The stream stops.
    Stop,
    /// Descriptors have changed.
    DescriptorUpdate,
}

impl StreamControl {
    /// The control of a value, `None` for values that the protocol does not define.
    pub fn from_value(value: u64) -> Option<Self> {
        Some(match value {
            0 => StreamControl::Start,
            1 => StreamControl::DescriptorReissue,
            2 => StreamControl::Stop,
            3 => StreamControl::DescriptorUpdate,
            _ => return None,
        })
    }

    /// The value that is sent.
    pub fn value(self) -> u64 {
        match self {
            StreamControl::Start => 0,
            StreamControl::DescriptorReissue => 1,
            StreamControl::Stop => 2,
            StreamControl::DescriptorUpdate => 3,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pointers_are_those_on_the_wire() {
        let stamp = ItemPointer::from_be_bytes([0x96, 0, 0, 0, 0, 0, 0, 5]);
        assert_eq!((stamp.is_immediate(), stamp.id(), stamp.value()), (true, id::TIMESTAMP, 5));
        assert_eq!(stamp, ItemPointer::immediate(id::TIMESTAMP, 5));
        let raw = ItemPointer::from_be_bytes([0x43, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]);
        assert_eq!((raw.is_immediate(), raw.id(), raw.value()), (false, id::FENG_RAW, ADDRESS_MASK));
        assert_eq!(raw.to_be_bytes(), ItemPointer::addressed(id::FENG_RAW, u64::MAX).to_be_bytes());
    }

    #[test]
    fn controls_are_their_values() {
        for value in 0..4 {
            assert_eq!(StreamControl::from_value(value).map(StreamControl::value), Some(value));
        }
        assert_eq!(StreamControl::from_value(4), None);
    }
}
