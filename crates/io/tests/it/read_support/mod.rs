//! Writers of small recordings, for tests: each is written from the format's description and shares no code with the
//! readers.
#![allow(dead_code, clippy::unwrap_used)] // each test uses a part, and tests may unwrap

use std::io::Cursor;

use fringes_io::IoError;
use fringes_io::read::{Block, BlockData, OpenOptions, Source, VoltageReader, open_sources};
use fringes_types::Complex;

/// A VDIF frame.
#[derive(Debug, Clone)]
pub(crate) struct VdifFrame {
    pub(crate) legacy: bool,
    pub(crate) invalid: bool,
    pub(crate) second: u32,
    pub(crate) epoch: u32,
    pub(crate) frame: u32,
    pub(crate) log2_channels: u32,
    pub(crate) complex: bool,
    pub(crate) bits: u32,
    pub(crate) thread: u32,
    pub(crate) station: u16,
    /// Words 4 to 7.
    pub(crate) extended: [u32; 4],
    /// Values `[time][channel][part]` as they are recorded.
    pub(crate) values: Vec<u32>,
}

impl Default for VdifFrame {
    fn default() -> Self {
        Self {
            legacy: false,
            invalid: false,
            second: 1000,
            epoch: 40,
            frame: 0,
            log2_channels: 0,
            complex: false,
            bits: 2,
            thread: 0,
            station: u16::from_be_bytes(*b"Ef"),
            extended: [0; 4],
            values: Vec::new(),
        }
    }
}

impl VdifFrame {
    /// Values that fill a word without crossing its end; the parts of a complex sample stay together.
    pub(crate) fn values_per_word(bits: u32, complex: bool) -> usize {
        (if complex { 32 / (2 * bits) * 2 } else { 32 / bits }) as usize
    }

    /// Bytes of the frame.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let per_word = Self::values_per_word(self.bits, self.complex);
        let mut words: Vec<u32> = self
            .values
            .chunks(per_word)
            .map(|values| values.iter().enumerate().map(|(at, value)| value << (at as u32 * self.bits)).sum())
            .collect();
        words.resize(words.len().next_multiple_of(2), 0);
        let header = if self.legacy { 4 } else { 8 };
        let length = (header + words.len()) as u32 / 2;
        let mut all = vec![
            u32::from(self.invalid) << 31 | u32::from(self.legacy) << 30 | self.second,
            self.epoch << 24 | self.frame,
            1 << 29 | self.log2_channels << 24 | length,
            u32::from(self.complex) << 31 | (self.bits - 1) << 26 | self.thread << 16 | u32::from(self.station),
        ];
        if !self.legacy {
            all.extend(self.extended);
        }
        all.extend(words);
        all.iter().flat_map(|word| word.to_le_bytes()).collect()
    }
}

/// The number that a recorded value of so many bits stands for, offset binary.
pub(crate) fn level(bits: u32, value: u32) -> f32 {
    match (bits, value) {
        (1, value) => [-1.0, 1.0][value as usize],
        (2, value) => [-3.3359, -1.0, 1.0, 3.3359][value as usize],
        (4 | 8, 0) => 1.0 - (1i32 << (bits - 1)) as f32,
        _ => (value as i32 - (1 << (bits - 1))) as f32,
    }
}

/// Cards of a GUPPI raw header, `END` included.
pub(crate) fn cards(fields: &[(&str, String)]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (key, value) in fields {
        bytes.extend(format!("{:<80}", format!("{key:<8}= {value:>20}")).bytes());
    }
    bytes.extend(format!("{:<80}", "END").bytes());
    bytes
}

/// A PSRDADA header of so many bytes.
pub(crate) fn dada_header(bytes: usize, fields: &[(&str, String)]) -> Vec<u8> {
    let mut text = String::from("HEADER       DADA         # a test\n");
    for (key, value) in fields {
        text += &format!("{key:<12} {value}   # of {key}\n");
    }
    text += "# end of header\n";
    let mut header = text.into_bytes();
    assert!(header.len() <= bytes);
    header.resize(bytes, 0);
    header
}

/// Opens files that are in memory.
pub(crate) fn open_bytes(files: &[Vec<u8>], options: &OpenOptions) -> Result<Box<dyn VoltageReader>, IoError> {
    let source =
        |(number, bytes): (usize, &Vec<u8>)| Source::stream(format!("file {number}"), Cursor::new(bytes.clone()));
    open_sources(files.iter().enumerate().map(source).collect(), options)
}

/// A whole recording: `[channel][input][time]`, whether each is present, and what was clamped.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Everything {
    pub(crate) samples: Vec<Vec<Vec<Complex<f32>>>>,
    /// `[input][time]`.
    pub(crate) present: Vec<Vec<bool>>,
    pub(crate) clamped: u64,
    pub(crate) blocks: usize,
}

impl Everything {
    /// Adds a block; checks that it follows the one before.
    pub(crate) fn push(&mut self, block: &Block) {
        let (channels, inputs, times) = block.data.dim();
        self.samples.resize(channels, Vec::new());
        self.present.resize(inputs, Vec::new());
        assert_eq!(block.first_sample, self.present[0].len() as u64, "blocks follow each other");
        assert!(times > 0, "a block has samples");
        for channel in 0..channels {
            self.samples[channel].resize(inputs, Vec::new());
            for input in 0..inputs {
                self.samples[channel][input].extend((0..times).map(|time| match &block.data {
                    BlockData::Real(data) => Complex::new(data[(channel, input, time)], 0.0),
                    BlockData::Complex(data) => data[(channel, input, time)],
                }));
            }
        }
        for (input, present) in self.present.iter_mut().enumerate() {
            let flag = |time| block.presence.as_ref().is_none_or(|presence| presence.is_present(input, time));
            present.extend((0..times).map(flag));
        }
        if let Some(presence) = &block.presence {
            let flags = presence.flags();
            assert_eq!(flags.dim(), (inputs, times.div_ceil(presence.samples_per_block())), "flags cover the block");
            assert!(flags.iter().any(|flag| !flag), "flags are there where something is missing");
        }
        self.clamped += block.clamped;
        self.blocks += 1;
    }
}

/// Reads to the end, or to an error.
pub(crate) fn read_all(reader: &mut dyn VoltageReader, block: usize) -> (Everything, Option<IoError>) {
    let mut all = Everything::default();
    loop {
        match reader.read(block) {
            Ok(Some(block)) => all.push(&block),
            Ok(None) => return (all, None),
            Err(error) => {
                assert!(matches!(reader.read(block), Ok(None)), "an error comes once");
                return (all, Some(error));
            }
        }
    }
}

/// Reads everything of files in memory.
pub(crate) fn read_bytes(files: &[Vec<u8>], options: &OpenOptions, block: usize) -> Everything {
    let mut reader = open_bytes(files, options).unwrap();
    let (all, error) = read_all(reader.as_mut(), block);
    assert!(error.is_none(), "{error:?}");
    all
}
