//! Which rows of shared memory hold which outputs of a transform.
//!
//! A block keeps the outputs that some beam takes, each once, at all times of a transform over time. Where they do not
//! all fit beside the sums, the beams are divided into parts, and a block makes one part.

use std::collections::BTreeMap;

use fringes_fft::Size;
use fringes_fft::internals::output_places;
use fringes_kernel_abi::frb::{BEAMS, UNUSED, row_bytes};
use ndarray::ArrayView2;

/// Beams along a line in parts, and their rows.
#[derive(Debug, Clone, PartialEq)]
pub struct Parts {
    /// Number of parts.
    pub parts: usize,
    /// Beams of a part, of the last one maybe fewer.
    pub part_beams: usize,
    /// Most rows of a part.
    pub slots: usize,
    /// Bytes of rows and sums of a block.
    pub shared_bytes: u32,
    /// Word of the row of each output, `[frequency][part][register][lane]`, or [`UNUSED`].
    pub slot_table: Vec<u32>,
    /// Word of each beam's row, `[frequency][part][beam]`, beams of a part rounded up to a multiple of [`BEAMS`].
    pub row_table: Vec<u32>,
}

impl Parts {
    /// Parts of beams that take outputs `map[frequency][beam]` of a transform, in rows of `words`, with `fine` sums
    /// each, in at most `most` bytes; `None` if not even one beam fits or there is no kernel of the size.
    pub fn new(map: ArrayView2<'_, u32>, size: Size, words: u32, fine: usize, most: u32) -> Option<Self> {
        let (_, beams) = map.dim();
        let places = output_places(size);
        if beams == 0 || places.is_empty() {
            return None;
        }
        let mut part_beams = beams;
        loop {
            let slots = most_distinct(map, part_beams);
            let bytes = row_bytes(slots as u32, words, part_beams as u32, fine as u32);
            // No word of a row is the mark of outputs that no beam takes.
            if bytes <= most && slots as u64 * u64::from(words) < u64::from(UNUSED) {
                let (slot_table, row_table) = tables(map, part_beams, &places, words);
                let parts = beams.div_ceil(part_beams);
                return Some(Self { parts, part_beams, slots, shared_bytes: bytes, slot_table, row_table });
            }
            if part_beams == 1 {
                return None;
            }
            part_beams = part_beams.div_ceil(2);
        }
    }
}

/// The word of each beam's output in a plane of the kernel of voltages, `[frequency][beam]`; `None` if there is no
/// kernel of the size, or a beam takes an output that there is not.
///
/// Output register `r` of lane `l` is word `32 r + (l ^ (r & 3))`.
pub fn output_words(map: ArrayView2<'_, u32>, size: Size) -> Option<Vec<u32>> {
    let places = output_places(size);
    let mut words = BTreeMap::new();
    for (place, &output) in (0u32..).zip(&places) {
        words.insert(output, place ^ ((place / 32) & 3));
    }
    map.iter().map(|output| words.get(output).copied()).collect()
}

/// The most outputs that the beams of a part take.
fn most_distinct(map: ArrayView2<'_, u32>, part_beams: usize) -> usize {
    let distinct = |beams: &[u32]| beams.iter().collect::<std::collections::BTreeSet<_>>().len();
    map.outer_iter()
        .flat_map(|row| row.to_vec().chunks(part_beams).map(distinct).collect::<Vec<_>>())
        .max()
        .unwrap_or_default()
}

/// Tables of words of outputs and of beams.
fn tables(map: ArrayView2<'_, u32>, part_beams: usize, places: &[u32], words: u32) -> (Vec<u32>, Vec<u32>) {
    let (mut slot_table, mut row_table) = (Vec::new(), Vec::new());
    for row in map.outer_iter() {
        for beams in row.to_vec().chunks(part_beams) {
            // In the order of the outputs, so that neighbours lie in neighbouring rows.
            let mut rows: BTreeMap<u32, u32> = beams.iter().map(|&output| (output, 0)).collect();
            for (row, word) in rows.values_mut().enumerate() {
                *word = row as u32 * words;
            }
            slot_table.extend(places.iter().map(|output| rows.get(output).copied().unwrap_or(UNUSED)));
            let word = |output: u32| rows.get(&output).copied().unwrap_or_default();
            row_table.extend(beams.iter().map(|&output| word(output)));
            row_table.extend(std::iter::repeat_n(0, part_beams.next_multiple_of(BEAMS as usize) - beams.len()));
        }
    }
    (slot_table, row_table)
}
