//! Files that are cut short or damaged give errors: no panic, and no more memory than the file warrants.

#[path = "it/read_support/mod.rs"]
mod read_support;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use fringes_io::read::{FileFormat, OpenOptions};
use read_support::{VdifFrame, cards, dada_header, open_bytes};

/// The system's allocator, which notes the largest request.
struct Counting;

thread_local! {
    // Tests run side by side, each with its own.
    static LARGEST: Cell<usize> = const { Cell::new(0) };
}

fn note(size: usize) {
    LARGEST.with(|largest| largest.set(largest.get().max(size)));
}

// SAFETY: every call goes to the system's allocator unchanged.
#[allow(unsafe_code)]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        note(layout.size());
        // SAFETY: the caller keeps `alloc`'s contract, which is the system's.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        note(layout.size());
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        note(size);
        // SAFETY: as above.
        unsafe { System.realloc(pointer, layout, size) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Most bytes that one allocation may ask for: the levels of 16 bits are a table of 256 KiB, the buffer of a file is
/// 64 KiB, and the recordings here are a few KiB.
const ALLOWED: usize = 1 << 18;

/// Reads a recording as far as it goes, but for a limited time; says whether it was read to the end without an error.
fn survives(format: Option<FileFormat>, files: &[Vec<u8>]) -> bool {
    LARGEST.set(0);
    let options = OpenOptions { format, ..OpenOptions::default() };
    let mut whole = false;
    if let Ok(mut reader) = open_bytes(files, &options) {
        // A damaged time may be a long gap, which is many blocks of zeros.
        for _ in 0..200 {
            match reader.read(64) {
                Ok(Some(block)) => assert!((1..=64).contains(&block.times())),
                Ok(None) => {
                    whole = true;
                    break;
                }
                Err(_) => {
                    assert!(matches!(reader.read(64), Ok(None)), "an error comes once");
                    break;
                }
            }
        }
    }
    let largest = LARGEST.get();
    assert!(largest <= ALLOWED, "an allocation of {largest} bytes");
    whole
}

/// A recording: its format, its bytes, and the first byte and the length of each header.
type Recording = (FileFormat, Vec<u8>, Vec<(usize, usize)>);

/// Small recordings.
fn recordings() -> Vec<Recording> {
    let vdif = |legacy: bool, extended: [u32; 4], complex: bool, log2_channels: u32, bits: u32| {
        let mut bytes = Vec::new();
        let mut headers = Vec::new();
        for number in 0..6 {
            for thread in 0..2 {
                let values = vec![1; 16 * VdifFrame::values_per_word(bits, complex)];
                // A rate of 1000 frames a second, or one that the frames tell.
                let per_second = if extended[1] == 0 { 4 } else { 1000 };
                let (second, frame) = (1000 + number / per_second, number % per_second);
                let frame = VdifFrame {
                    legacy,
                    second,
                    frame,
                    log2_channels,
                    complex,
                    bits,
                    thread,
                    extended,
                    values,
                    ..VdifFrame::default()
                };
                headers.push((bytes.len(), if legacy { 16 } else { 32 }));
                bytes.extend(frame.bytes());
            }
        }
        (FileFormat::Vdif, bytes, headers)
    };
    let guppi = || {
        let mut bytes = Vec::new();
        let mut headers = Vec::new();
        for block in 0..3 {
            let header = cards(&[
                ("BLOCSIZE", "96".into()),
                ("OBSNCHAN", "4".into()),
                ("NANTS", "2".into()),
                ("NPOL", "4".into()),
                ("NBITS", "8".into()),
                ("OVERLAP", "1".into()),
                ("PKTIDX", (5 * block).to_string()),
                ("PIPERBLK", "5".into()),
                ("PKTSIZE", "16".into()),
                ("TBIN", "1e-6".into()),
                ("OBSFREQ", "1400.0".into()),
                ("OBSBW", "-2.0".into()),
                ("STT_IMJD", "58849".into()),
                ("STT_SMJD", "1".into()),
                ("DIRECTIO", "1".into()),
            ]);
            let length = header.len().next_multiple_of(512);
            headers.push((bytes.len(), length));
            bytes.extend(&header);
            bytes.resize(bytes.len().next_multiple_of(512), 0);
            // Headers are whole units, data are not.
            let start = headers[block].0;
            bytes.resize(start + length, 0);
            bytes.extend([7; 96]);
        }
        (FileFormat::GuppiRaw, bytes, headers)
    };
    let dada = || {
        let mut bytes = dada_header(
            512,
            &[
                ("HDR_SIZE", "512".into()),
                ("NBIT", "8".into()),
                ("NDIM", "2".into()),
                ("NPOL", "2".into()),
                ("NCHAN", "2".into()),
                ("TSAMP", "0.5".into()),
                ("FREQ", "1400".into()),
                ("BW", "-4".into()),
                ("OBS_OFFSET", "64".into()),
                ("FILE_SIZE", "800".into()),
                ("UTC_START", "2020-01-01-00:00:00".into()),
            ],
        );
        bytes.extend([3; 800]);
        (FileFormat::Dada, bytes, vec![(0, 512)])
    };
    vec![
        vdif(false, [0; 4], false, 0, 2),
        vdif(false, [0; 4], true, 3, 8),
        vdif(true, [0; 4], false, 0, 5),
        vdif(false, [3 << 24 | 128, 0xACAB_FEED, 0, 0], false, 0, 2),
        vdif(false, [0xab << 24, 0, 0, 0], false, 1, 2),
        guppi(),
        dada(),
    ]
}

#[test]
fn the_recordings_are_good_before_they_are_damaged() {
    for (format, bytes, _) in recordings() {
        let files = [bytes];
        assert!(survives(None, &files), "{format}");
        assert!(survives(Some(format), &files), "{format}");
    }
}

#[test]
fn a_file_cut_at_any_byte_of_a_header_is_an_error() {
    for (format, bytes, headers) in recordings() {
        for (start, length) in headers {
            // Nothing of a further header left is a recording that is shorter.
            for cut in (start + usize::from(start > 0))..start + length {
                let file = || vec![bytes[..cut].to_vec()];
                assert!(!survives(Some(format), &file()), "{format} cut at {cut}");
                assert!(!survives(None, &file()), "{format} cut at {cut}");
            }
        }
    }
}

#[test]
fn a_file_cut_anywhere_is_survived() {
    for (format, bytes, _) in recordings() {
        for cut in 0..bytes.len() {
            survives(Some(format), &[bytes[..cut].to_vec()]);
        }
    }
}

#[test]
fn any_damaged_byte_of_a_header_is_survived() {
    for (format, bytes, headers) in recordings() {
        // The first header and one behind it: the others are like that one.
        for (start, length) in headers.into_iter().take(2) {
            for at in start..start + length {
                let damages = (0..8).map(|bit| bytes[at] ^ 1 << bit).chain([0, 0xff, b'9', b'-']);
                for damaged in damages {
                    let mut file = bytes.clone();
                    file[at] = damaged;
                    survives(Some(format), &[file.clone()]);
                    survives(None, &[file]);
                }
            }
        }
    }
}

#[test]
fn a_damaged_file_behind_a_good_one_is_survived() {
    for (format, bytes, headers) in recordings() {
        let (start, length) = headers[0];
        for at in start..start + length {
            let mut file = bytes.clone();
            file[at] ^= 0x15;
            survives(Some(format), &[bytes.clone(), file]);
        }
    }
}

#[test]
fn files_of_another_kind_are_errors_that_name_the_file() {
    for bytes in [Vec::new(), vec![0; 5], vec![0; 4096], vec![0xff; 4096], b"a text file\n".repeat(100)] {
        let error = open_bytes(&[bytes], &OpenOptions::default()).err().unwrap().to_string();
        assert!(error.contains("file 0"), "{error}");
        assert!(!error.contains('\n'), "{error}");
    }
    let error = open_bytes(&[], &OpenOptions::default()).err().unwrap();
    assert!(matches!(error, fringes_io::IoError::NoFiles));
}

#[test]
fn a_mark_5b_recording_is_told_by_its_sync_word() {
    let mut bytes = 0xABAD_DEED_u32.to_le_bytes().to_vec();
    bytes.resize(10_016, 0x55);
    let error = open_bytes(&[bytes], &OpenOptions::default()).err().unwrap().to_string();
    assert!(error.contains("Mark 5B") && error.contains("VDIF"), "{error}");
}
