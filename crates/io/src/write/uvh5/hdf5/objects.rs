//! Object headers of datasets and groups.

use rust_hdf5::format::FormatContext;
use rust_hdf5::format::messages::data_layout::DataLayoutMessage;
use rust_hdf5::format::messages::dataspace::{DataspaceClass, DataspaceMessage};
use rust_hdf5::format::messages::datatype::{CompoundMember, DatatypeMessage, EnumMember};
use rust_hdf5::format::messages::fill_value::{ALLOC_TIME_EARLY, ALLOC_TIME_INCR, ALLOC_TIME_LATE, FillValueMessage};
use rust_hdf5::format::messages::group_info::GroupInfoMessage;
use rust_hdf5::format::messages::link::LinkMessage;
use rust_hdf5::format::messages::link_info::LinkInfoMessage;
use rust_hdf5::format::messages::{
    MSG_DATA_LAYOUT, MSG_DATASPACE, MSG_DATATYPE, MSG_FILL_VALUE, MSG_FLAG_CONSTANT, MSG_GROUP_INFO, MSG_LINK,
    MSG_LINK_INFO,
};
use rust_hdf5::format::object_header::ObjectHeader;

use crate::IoError;

/// Addresses and lengths have 8 bytes.
pub(super) const CONTEXT: FormatContext = FormatContext { sizeof_addr: 8, sizeof_size: 8 };

/// What an element of a dataset is; all little-endian.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::write::uvh5) enum Kind {
    /// 32-bit float.
    F32,
    /// 64-bit float.
    F64,
    /// 64-bit integer.
    I64,
    /// An enumeration FALSE, TRUE of one byte: what h5py takes for a boolean.
    Bool,
    /// A compound of 32-bit floats `r` and `i`: what h5py takes for a complex number.
    ComplexF32,
    /// A text of so many bytes, filled up with zeros.
    Text(u32),
}

impl Kind {
    /// Bytes of an element.
    pub(in crate::write::uvh5) fn bytes(self) -> u64 {
        u64::from(self.datatype().element_size())
    }

    /// An element as text.
    pub(in crate::write::uvh5) fn text(self, element: &[u8]) -> String {
        let bytes = || element.try_into().unwrap_or_default();
        match self {
            Kind::F64 => f64::from_le_bytes(bytes()).to_string(),
            Kind::I64 => i64::from_le_bytes(bytes()).to_string(),
            Kind::Text(_) => format!("{:?}", String::from_utf8_lossy(element).trim_end_matches('\0')),
            _ => format!("{element:?}"),
        }
    }

    fn datatype(self) -> DatatypeMessage {
        let member = |name: &str, offset| CompoundMember { name: name.into(), offset, datatype: Kind::F32.datatype() };
        let choice = |name: &str, value| EnumMember { name: name.into(), value: vec![value] };
        match self {
            Kind::F32 => DatatypeMessage::f32_type(),
            Kind::F64 => DatatypeMessage::f64_type(),
            Kind::I64 => DatatypeMessage::i64_type(),
            Kind::Bool => {
                DatatypeMessage::enumeration(DatatypeMessage::i8_type(), vec![choice("FALSE", 0), choice("TRUE", 1)])
            }
            Kind::ComplexF32 => DatatypeMessage::compound(8, vec![member("r", 0), member("i", 4)]),
            Kind::Text(size) => DatatypeMessage::FixedString { size, padding: 1, charset: 0 },
        }
    }
}

/// The object header of a dataset. With `grows`, its first dimension has no limit.
pub(super) fn dataset(kind: Kind, shape: &[u64], grows: bool, layout: &DataLayoutMessage) -> Result<Vec<u8>, IoError> {
    let class = if shape.is_empty() { DataspaceClass::Scalar } else { DataspaceClass::Simple };
    let mut limits = shape.to_vec();
    if let (true, Some(first)) = (grows, limits.first_mut()) {
        *first = u64::MAX;
    }
    let max_dims = (!shape.is_empty()).then_some(limits);
    let space = DataspaceMessage { class, dims: shape.to_vec(), max_dims };
    let alloc_time = match layout {
        DataLayoutMessage::Compact { .. } => ALLOC_TIME_EARLY,
        DataLayoutMessage::Contiguous { .. } => ALLOC_TIME_LATE,
        _ => ALLOC_TIME_INCR,
    };
    let mut header = ObjectHeader::new();
    header.add_message(MSG_DATASPACE, 0, space.encode(&CONTEXT));
    header.add_message(MSG_DATATYPE, MSG_FLAG_CONSTANT, kind.datatype().encode(&CONTEXT));
    header.add_message(MSG_FILL_VALUE, 0, FillValueMessage { alloc_time, ..FillValueMessage::default() }.encode());
    header.add_message(MSG_DATA_LAYOUT, 0, layout.encode(&CONTEXT));
    Ok(header.encode()?)
}

/// The object header of a group, with the addresses of what is in it.
pub(super) fn group<'a>(links: impl IntoIterator<Item = (&'a str, u64)>) -> Result<Vec<u8>, IoError> {
    let mut header = ObjectHeader::new();
    header.add_message(MSG_LINK_INFO, 0, LinkInfoMessage::compact().encode(&CONTEXT));
    let info = GroupInfoMessage { max_compact: None, min_dense: None, est_num_entries: None, est_name_len: None };
    header.add_message(MSG_GROUP_INFO, MSG_FLAG_CONSTANT, info.encode());
    for (name, address) in links {
        header.add_message(MSG_LINK, 0, LinkMessage::hard(name, address).encode(&CONTEXT));
    }
    Ok(header.encode()?)
}
