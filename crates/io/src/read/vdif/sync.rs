//! Frames are found again where a header is damaged, bytes are lost, or a file begins inside a frame.
//!
//! A header is known again by what all headers of a recording share: frame length, channels, bits, flags, and a station
//! and thread that the recording has: some fifty bits that agree. Where nothing is known of the recording yet, the
//! frames that follow have to bear a header out.

use super::header::{Header, Layout};
use crate::IoError;
use crate::read::source::OpenSource;

/// Bytes of the longest header.
const HEADER_BYTES: usize = 32;
/// Places that are looked at together.
const PLACES: u64 = 1 << 16;
/// A first frame begins in so many bytes, or it is not found.
const FIRST_BYTES: u64 = 4 << 20;
/// Frames behind a first one that are asked whether they are like it.
const FOLLOWERS: u64 = 4;

/// The header at a byte, with zeros for what is behind the end.
fn header_at(source: &mut OpenSource, at: u64) -> Result<Header, IoError> {
    let mut bytes = [0; HEADER_BYTES];
    source.seek(at)?;
    source.read_up_to(&mut bytes)?;
    Ok(Header::parse(&bytes))
}

/// Whether a header of this layout begins at a byte; the source then stands there. The frame need not be whole.
pub(super) fn header_of_layout(source: &mut OpenSource, layout: &Layout, at: u64) -> Result<Option<Header>, IoError> {
    let header = header_at(source, at)?;
    source.seek(at)?;
    let there = source.length().saturating_sub(at) >= u64::from(layout.header_bytes);
    Ok((there && layout.check(&header, source, at).is_ok()).then_some(header))
}

/// Where, at `from` or behind it, a whole frame of this layout begins whose header `is_good`.
pub(super) fn find_frame(
    source: &mut OpenSource,
    layout: &Layout,
    from: u64,
    mut is_good: impl FnMut(&Header, &mut OpenSource, u64) -> Result<bool, IoError>,
) -> Result<Option<u64>, IoError> {
    let Some(last) = source.length().checked_sub(u64::from(layout.frame_bytes)) else { return Ok(None) };
    let mut bytes = Vec::new();
    let mut at = from;
    while at <= last {
        let places = (last - at + 1).min(PLACES);
        source.seek(at)?;
        let wanted = (places + HEADER_BYTES as u64 - 1).min(source.remaining());
        source.read_into(&mut bytes, wanted as usize)?;
        for place in 0..places as usize {
            let header = parse(&bytes, place);
            // Most places fail here, before errors are written.
            if header.frame_bytes != layout.frame_bytes || header.bits != layout.bits {
                continue;
            }
            let offset = at + place as u64;
            if layout.check(&header, source, offset).is_ok() && is_good(&header, source, offset)? {
                return Ok(Some(offset));
            }
        }
        at += places;
    }
    Ok(None)
}

/// The header at a place of a buffer, with zeros for what is behind its end.
fn parse(bytes: &[u8], place: usize) -> Header {
    let mut header = [0; HEADER_BYTES];
    let there = &bytes[place..bytes.len().min(place + HEADER_BYTES)];
    header[..there.len()].copy_from_slice(there);
    Header::parse(&header)
}

/// Where the first frame begins that the frames behind it bear out; `None` if there is none in the first 4 MiB.
pub(crate) fn find_first_frame(source: &mut OpenSource) -> Result<Option<u64>, IoError> {
    let end = source.length().min(FIRST_BYTES);
    source.seek(0)?;
    let mut bytes = Vec::new();
    let length = source.length().min(end + HEADER_BYTES as u64);
    source.read_into(&mut bytes, length as usize)?;
    for at in 0..end {
        let header = parse(&bytes, at as usize);
        let whole = source.length() - at >= u64::from(header.frame_bytes);
        // Bits that are always 0, and the versions of the format that there are.
        let plausible = header.frame_bytes > header.bytes() && header.unassigned == 0 && header.vdif_version <= 1;
        if !(whole && plausible) {
            continue;
        }
        if let Ok(layout) = Layout::new(&header, source, at)
            && is_borne_out(source, &header, &layout, at)?
        {
            return Ok(Some(at));
        }
    }
    Ok(None)
}

/// Whether at least half of the next frames are like the one at `at`, and no copies of it. A frame that nothing follows
/// must end where the file ends.
fn is_borne_out(source: &mut OpenSource, first: &Header, layout: &Layout, at: u64) -> Result<bool, IoError> {
    let frame_bytes = u64::from(layout.frame_bytes);
    let key = |header: &Header| (header.second(), header.frame, header.station, header.thread);
    let (mut looked_at, mut alike, mut before) = (0, 0, key(first));
    for number in 1..=FOLLOWERS {
        let offset = at + number * frame_bytes;
        if source.length().saturating_sub(offset) < frame_bytes {
            break;
        }
        looked_at += 1;
        if let Some(header) = header_of_layout(source, layout, offset)?
            && key(&header) != before
            && (header.second() - first.second()).abs() <= 1
        {
            before = key(&header);
            alike += 1;
        }
    }
    Ok(if looked_at == 0 { source.length() - at == frame_bytes } else { 2 * alike >= looked_at })
}
