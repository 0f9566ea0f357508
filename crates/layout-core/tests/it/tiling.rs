//! Tilings against nested loops over their indices, and the examples that the project has.
#![allow(clippy::unwrap_used)] // helpers of tests, outside the test functions themselves

use std::collections::BTreeMap;

use fringes_layout_core::access::{GlobalCost, SharedCost, Width};
use fringes_layout_core::{Layout, LayoutError, MAX_DIMENSIONS, Name, Tiling, TilingError};
use proptest::prelude::*;

fn tiling(text: &str, stem: &str) -> Tiling {
    Tiling::new(Layout::parse(text).unwrap(), stem).unwrap()
}

fn name(text: &str) -> Name {
    Name::new(text).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn every_address_is_found_again_and_the_rest_is_padding(
        inner in prop_oneof![Just("s1 s2<->x0 x1^x0"), Just("s2 s4<->x1 x0"), Just("s0<->x0"), Just(""), Just("t0 t1<->x0 x1  s2<->x2")],
        extents in proptest::collection::vec((1u64..5, 0u64..7), 0..4),
    ) {
        let mut tiling = tiling(inner, "s");
        for (&(extent, padding), name) in extents.iter().zip(["a", "b", "c", "d"]) {
            tiling = tiling.padded(name, extent, padding).unwrap();
        }
        // Loops over all indices, the last fastest.
        let mut expected = BTreeMap::new();
        let total: u64 = extents.iter().map(|(extent, _)| extent).product();
        let physical = *tiling.inner().physical();
        for flat in 0..total {
            let (mut rest, mut indices) = (flat, Vec::new());
            for (extent, _) in &extents {
                indices.insert(0, rest % extent);
                rest /= extent;
            }
            for place in 0..physical.size() {
                let address = tiling.address(&indices, place).unwrap();
                prop_assert!(address < tiling.length());
                let addressed = physical.index(&[("s", physical.number("s", place))]);
                let known = expected.insert(address, (indices.clone(), addressed));
                prop_assert!(known.is_none() || known == Some((indices.clone(), addressed)), "two places at {}", address);
            }
        }
        let element = (0..physical.len()).filter(|&bit| physical.get(bit).stem() == "s").map(|bit| physical.get(bit).number().unwrap()).min();
        let element = 1 << element.unwrap_or(0);
        for address in 0..tiling.pitch() + 9 {
            let found = tiling.find(address).map(|place| (place.indices().to_vec(), place.place, place.byte));
            let start = address / element * element;
            // Addresses of elements need not be multiples of their size once the padding is none.
            let at = expected.range(..=address).next_back().filter(|(at, _)| address - **at < element);
            let expected = at.map(|(at, (indices, place))| (indices.clone(), *place, address - at));
            prop_assert_eq!(found, expected, "address {}, {}", address, start);
        }
    }
}

#[test]
fn strides_are_the_lengths_inside_and_their_padding() {
    let rows = tiling("s2 s3 s4 s5 s6<->x0 x1 x2 x3 x4", "s").padded("row", 32, 4).unwrap();
    assert_eq!((rows.length(), rows.pitch()), (31 * 132 + 128, 32 * 132));
    let buffers = rows.packed("buffer", 3).unwrap();
    assert_eq!(buffers.dimension("buffer").unwrap().stride, 32 * 132);
    assert_eq!(buffers.address(&[2, 7,], 5).unwrap(), 2 * 4224 + 7 * 132 + 20);
    assert_eq!(buffers.to_string(), "buffer 3 x 4224  row 32 x 132  s2 s3 s4 s5 s6<->x0 x1 x2 x3 x4");
    let close = rows.strided("buffer", 2, rows.length()).unwrap();
    assert_eq!(close.dimension("buffer").unwrap().stride, rows.length());
    assert!(close.dimension("channel").is_none());
}

#[test]
fn the_correlators_rows_of_160_inputs_are_read_in_whole_sectors() {
    let row = "g0<->ReIm  g1 g2 g3 g4 g5 g6<->t0 t1 t2 t3 t4 t5";
    let rows = tiling(row, "g").packed("input", 160).unwrap().packed("time_block", 5).unwrap();
    // A warp reads four rows of 128 bytes, 16 bytes a lane.
    let request = rows
        .request(Width::B16, |lane| {
            let mut indices = [0; MAX_DIMENSIONS];
            (indices[0], indices[1]) = (4, 156 + lane / 8);
            Some((indices, (lane % 8) << 4))
        })
        .unwrap();
    assert_eq!(request.address(31), Some((4 * 160 + 159) * 128 + 112));
    assert_eq!(request.global(), GlobalCost { sectors: 16, ideal: 16 });
    assert_eq!(rows.address_of(&[4, 159], 0b10_0001).unwrap(), (4 * 160 + 159) * 128 + 0b10_0001);
}

#[test]
fn accumulators_of_24_columns_are_three_blocks_of_eight() {
    // wgmma with N = 24: each block of 8 columns is two registers of a lane's rows and columns.
    let block = "r0 r1<->col0 row3  t0 t1 t2 t3 t4<->col1 col2 row0 row1 row2";
    let accumulators = tiling(block, "r").packed("column_block", 3).unwrap();
    assert_eq!(accumulators.length(), 12);
    let physical = *accumulators.inner().physical();
    let register = accumulators.address(&[2], physical.index(&[("r", 3), ("t", 17)])).unwrap();
    assert_eq!(register, 11);
    let found = accumulators.find(register).unwrap();
    assert_eq!((found.indices(), physical.number("r", found.place)), (&[2u64][..], 3));
    assert_eq!(accumulators.find(12), None);
    // A lane's place is no address: an element alone does not say where it lies.
    let error = accumulators.address_of(&[0], 0).unwrap_err();
    assert_eq!(error, TilingError::Layout(LayoutError::Unexpected { bit: name("t0") }));
}

#[test]
fn lanes_that_access_nothing_cost_nothing() {
    let rows = tiling("s2 s3<->x0 x1", "s").strided("row", 10, 128).unwrap();
    let request = rows.request(Width::B8, |lane| (lane < 10).then_some(([lane, 0, 0, 0, 0, 0, 0, 0], 0))).unwrap();
    assert_eq!(request.shared(), SharedCost { wavefronts: 10, ideal: 1, degree: 10 });
    let nobody = rows.request(Width::B8, |_| None).unwrap();
    assert_eq!(nobody.shared(), SharedCost { wavefronts: 0, ideal: 0, degree: 0 });
    assert_eq!(nobody.global(), GlobalCost { sectors: 0, ideal: 0 });
}

#[test]
fn faults_name_the_dimension() {
    let rows = tiling("s2 s3<->x0 x1", "s").packed("row", 10).unwrap();
    assert_eq!(
        rows.strided("column", 2, 159),
        Err(TilingError::Overlap { dimension: name("column"), stride: 159, inside: 160 })
    );
    assert!(rows.strided("column", 1, 0).is_ok(), "one index cannot overlap");
    assert_eq!(rows.packed("row", 2), Err(TilingError::Twice { dimension: name("row") }));
    assert_eq!(rows.packed("column", 0), Err(TilingError::Empty { dimension: name("column") }));
    assert_eq!(rows.packed("column", u64::MAX), Err(TilingError::TooLong { dimension: name("column") }));
    assert_eq!(rows.strided("column", 2, 1 << 48), Err(TilingError::TooLong { dimension: name("column") }));
    assert!(matches!(rows.packed("two words", 2), Err(TilingError::Layout(LayoutError::Name { .. }))));
    assert_eq!(rows.address(&[10], 0), Err(TilingError::Index { dimension: name("row"), index: 10, extent: 10 }));
    assert_eq!(rows.address(&[], 0), Err(TilingError::Dimensions { actual: 0, expected: 1 }));
    assert_eq!(rows.address(&[0], 4), Err(TilingError::Place { place: 4, size: 4 }));
    let error = rows.strided("column", 2, 1).unwrap_err();
    assert_eq!(error.to_string(), "neighbours in dimension column overlap: they are 1 apart and 160 long");
    let mut many = tiling("", "s");
    for at in 0..MAX_DIMENSIONS {
        many = many.packed(["a", "b", "c", "d", "e", "f", "g", "h"][at], 2).unwrap();
    }
    assert_eq!(many.packed("i", 2), Err(TilingError::Dimensions { actual: 9, expected: 8 }));
    assert!(Tiling::new(Layout::parse("s48<->x").unwrap(), "s").is_err());
    let partial = tiling("s0<->x0  0<->x1", "s");
    assert_eq!(partial.address_of(&[], 2), Err(TilingError::Layout(LayoutError::NotHeld { bit: name("x1") })));
}
