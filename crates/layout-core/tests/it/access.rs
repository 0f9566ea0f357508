//! Costs of accesses from ranks against counts lane by lane, widths against a search through the addresses, and
//! examples worked by hand.
#![allow(clippy::unwrap_used)] // helpers of tests, outside the test functions themselves

use std::collections::BTreeMap;

use fringes_layout_core::access::{AccessError, GlobalCost, LaneAddresses, Request, SharedCost, Transfer, Width};
use fringes_layout_core::{Layout, Name, Space, Swizzle, Tiling};
use proptest::prelude::*;

fn layout(text: &str) -> Layout {
    Layout::parse(text).unwrap()
}

fn bit(name: &str) -> Name {
    Name::new(name).unwrap()
}

/// A request of addresses below 16 KiB; small columns are frequent.
fn requests() -> impl Strategy<Value = (Request, usize)> {
    let column = (0u64..1 << 14, 0u32..14).prop_map(|(column, bits)| column & ((1 << bits) - 1));
    (0usize..5, proptest::array::uniform5(column), 0u64..1 << 14, 0usize..3).prop_map(
        |(width, columns, offset, matrices)| {
            let width = Width::ALL[width];
            let aligned = |address: u64| address & !(width.bytes() - 1);
            (Request::new(columns.map(aligned), aligned(offset), width).unwrap(), matrices)
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn costs_from_ranks_are_those_counted_lane_by_lane((request, matrix_bits) in requests()) {
        let lanes = request.lanes();
        prop_assert_eq!(lanes.misaligned(), None);
        prop_assert_eq!(request.shared(), lanes.shared());
        prop_assert_eq!(request.atomic(), lanes.atomic());
        prop_assert_eq!(request.global(), lanes.global());
        let rows = (0..8 << matrix_bits)
            .fold(LaneAddresses::empty(request.width()), |rows, lane| rows.with(lane, request.address(lane)));
        match request.matrices(matrix_bits) {
            Ok(cost) => prop_assert_eq!(cost, rows.matrices()),
            Err(error) => prop_assert_eq!(error, AccessError::Width { actual: request.width().bytes(), expected: 16 }),
        }
    }
}

/// Random numbers, the same for the same seed.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) % limit
    }
}

/// An address map of `bytes` bits b, some registers and 32 lanes: a shuffled identity, with a few bits added to others.
fn address_map(random: &mut Random) -> Layout {
    let bytes = random.below(3) as usize;
    let registers = random.below(4) as usize;
    let names = Space::numbered("b", bytes).unwrap();
    let names = names.with_numbered("r", registers).unwrap().with_numbered("t", 5).unwrap();
    let element = 2 - bytes;
    let mut columns: Vec<u64> = (0..names.len()).map(|bit| 1 << (bit + element)).collect();
    // Mostly the low bits of the address stay where a wide access wants them.
    for _ in 0..random.below(6) {
        let low = if random.below(4) == 0 { 0 } else { (bytes + registers.min(2)) as u64 };
        let (a, b) = (low + random.below(names.len() as u64 - low), low + random.below(names.len() as u64 - low));
        columns.swap(a as usize, b as usize);
    }
    for _ in 0..random.below(4) {
        let (a, b) = (random.below(names.len() as u64) as usize, random.below(names.len() as u64) as usize);
        if a != b && (columns[a] < columns[b] || random.below(8) == 0) {
            columns[a] ^= columns[b];
        }
    }
    let addresses = Space::numbered("s", 12).unwrap();
    let offset = if random.below(4) == 0 { random.below(1 << 10) << element } else { 0 };
    Layout::from_columns(names, addresses, &columns).unwrap().with_offset(offset).unwrap()
}

/// The registers of each vector, in the order of addresses, that a lane's accesses of `width` bytes would have: nothing
/// if they are impossible.
fn vectors_of_lane(
    map: &Layout,
    bytes: usize,
    registers: usize,
    lane: u64,
    width: u64,
) -> Option<Vec<Vec<(u64, u64)>>> {
    let element = 4 >> bytes;
    let mut blocks = BTreeMap::<u64, Vec<(u64, (u64, u64))>>::new();
    for register in 0..1 << registers {
        for byte in 0..1 << bytes {
            let place = map.physical().index(&[("b", byte), ("r", register), ("t", lane)]);
            let address = map.apply(place);
            blocks.entry(address / width).or_default().push((address, (register, byte)));
        }
    }
    let mut vectors = Vec::new();
    for mut block in blocks.into_values() {
        block.sort_unstable();
        let full = block.len() as u64 * element == width;
        let neighbours = block.windows(2).all(|pair| pair[1].0 - pair[0].0 == element);
        let vector: Vec<_> = block.into_iter().map(|(_, place)| place).collect();
        // Bytes have their order inside a register; accesses narrower than a register take one piece of it.
        let piece = (width / element).min(1 << bytes) as usize;
        let ordered = vector.chunks(piece).all(|chunk| {
            let (register, first) = chunk[0];
            first % piece as u64 == 0
                && chunk.iter().enumerate().all(|(at, place)| *place == (register, first + at as u64))
        });
        if !full || !neighbours || !ordered {
            return None;
        }
        vectors.push(vector);
    }
    vectors.sort_unstable();
    Some(vectors)
}

#[test]
fn the_widest_access_is_the_widest_that_a_search_through_all_addresses_finds() {
    let mut found = [0; 5];
    for seed in 0..4000 {
        let map = address_map(&mut Random(seed));
        let (bytes, registers) = (map.bits_of_stem("b").len(), map.bits_of_stem("r").len());
        let transfer = Transfer::from_address_map(&map, "s").unwrap();
        if !map.is_injective() {
            continue;
        }
        for width in Width::ALL.into_iter().filter(|width| width.bytes() >= transfer.element_bytes()) {
            let lanes: Vec<_> =
                (0..32).map(|lane| vectors_of_lane(&map, bytes, registers, lane, width.bytes())).collect();
            let possible = lanes.iter().all(|vectors| vectors.is_some() && *vectors == lanes[0]);
            assert_eq!(transfer.check(width).is_ok(), possible, "{map}: {width:?}, {:?}", transfer.check(width));
        }
        let widest = transfer.widest();
        found[widest.bits()] += 1;
        assert!(transfer.check(widest).is_ok());
        assert_eq!(u64::from(transfer.instructions(widest)) * widest.bytes(), 4 << registers, "{map}");
    }
    assert!(found.iter().all(|&found| found > 50), "{found:?}");
}

#[test]
fn all_instructions_together_cost_what_their_lanes_addresses_cost() {
    for seed in 0..1000 {
        let map = address_map(&mut Random(seed));
        let transfer = Transfer::from_address_map(&map, "s").unwrap();
        for width in Width::ALL.into_iter().filter(|&width| transfer.check(width).is_ok()) {
            let masks = transfer.vector_masks(width).unwrap();
            let in_vector =
                |register: u64| (0..4u64).map(move |i| register ^ ((i & 1) * masks[0]) ^ ((i >> 1) * masks[1]));
            let (mut shared, mut global) = ((0, 0), (0, 0));
            let mut instructions = 0;
            for register in 0..1 << map.bits_of_stem("r").len() {
                for byte in (0..4u64).step_by(width.bytes() as usize).map(|byte| byte / transfer.element_bytes()) {
                    let address = |register, lane| {
                        transfer.address(map.physical().index(&[("b", byte), ("r", register), ("t", lane)]))
                    };
                    // One of the registers of a vector has the lowest address, in every lane.
                    if in_vector(register).any(|other| address(other, 0) < address(register, 0)) {
                        continue;
                    }
                    let lanes = (0..32).fold(LaneAddresses::empty(width), |lanes, lane| {
                        assert_eq!(
                            in_vector(register).map(|other| address(other, lane)).min(),
                            Some(address(register, lane))
                        );
                        for (at, other) in in_vector(register).enumerate().take(width.registers()) {
                            assert_eq!(address(other, lane), address(register, lane) + 4 * at as u64);
                        }
                        lanes.with(lane as usize, address(register, lane))
                    });
                    assert_eq!(lanes.misaligned(), None);
                    shared = (shared.0 + lanes.shared().wavefronts, shared.1 + lanes.shared().ideal);
                    global = (global.0 + lanes.global().sectors, global.1 + lanes.global().ideal);
                    instructions += 1;
                }
            }
            if map.is_injective() {
                assert_eq!(instructions, transfer.instructions(width), "{map}: {width:?}");
                let expected = transfer.shared(width).unwrap();
                assert_eq!(shared, (expected.wavefronts, expected.ideal), "{map}: {width:?}");
                let expected = transfer.global(width).unwrap();
                assert_eq!(global, (expected.sectors, expected.ideal), "{map}: {width:?}");
            }
        }
    }
}

#[test]
fn a_transfer_puts_each_place_at_the_address_of_its_element() {
    let registers = layout("b<->x0^y1  r<->x1 x2^w0  t0 t1 t2 t3 t4<->y0 y1 y2^x2 x3 y3  w<->w0 + x3^y0");
    let memory = layout("s0 s1 s2 s3 s4<->0 x0 x1 x2^y0 x3  s5 s6 s7 s8<->y0 y1 y2 y3  s10<->w0 + x1");
    let transfer = Transfer::new(&registers, &memory, "s").unwrap();
    let mut seen = vec![false; 1 << 11];
    for place in 0..registers.physical().size() {
        let address = transfer.address(place);
        let at = memory.physical().index(&[("s", address)]);
        let (element, logical) = (memory.apply(at), memory.logical());
        for bit in 0..registers.logical().len() {
            let name = registers.logical().get(bit);
            let expected = registers.apply(place) >> bit & 1;
            assert_eq!(element >> logical.position(&name).unwrap() & 1, expected, "place {place}, {name}");
        }
        assert!(!std::mem::replace(&mut seen[address as usize], true));
    }
    assert_eq!(seen.iter().filter(|seen| **seen).count(), 512);
}

#[test]
fn bits_of_the_warp_in_the_memory_layout_are_those_of_the_registers() {
    // Each warp has 128 bytes of its own.
    let registers = layout("t0 t1 t2 t3 t4<->x0 x1 x2 x3 x4  w<->y0 y1");
    let memory = layout("s2 s3 s4 s5 s6<->x0 x1 x2 x3 x4  w<->y0 y1");
    let transfer = Transfer::new(&registers, &memory, "s").unwrap();
    for place in 0..registers.physical().size() {
        assert_eq!(transfer.address(place), 4 * (place % 32));
    }
    let lacking = layout("t0 t1 t2 t3 t4<->x0 x1 x2 x3 x4");
    assert_eq!(Transfer::new(&lacking, &memory, "s"), Err(AccessError::Unexpected { bit: bit("w0") }));
    let elsewhere = layout("t0 t1 t2 t3 t4<->x0 x1 x2 x3 x4  w0 w1<->y1 y0");
    assert_eq!(Transfer::new(&elsewhere, &memory, "s"), Err(AccessError::NotHeld { bit: bit("y0") }));
}

#[test]
fn a_row_of_32_words_a_lane_conflicts_32_ways_by_words_and_is_free_when_padded_to_33_or_swizzled() {
    let column = layout("r<->x0 x1 x2 x3 x4  t0 t1 t2 t3 t4<->y0 y1 y2 y3 y4");
    let rows = layout("s2 s3 s4 s5 s6<->x0 x1 x2 x3 x4  s7 s8 s9 s10 s11<->y0 y1 y2 y3 y4");
    let plain = Transfer::new(&column, &rows, "s").unwrap();
    assert_eq!(plain.request(Width::B4).unwrap().shared(), SharedCost { wavefronts: 32, ideal: 1, degree: 32 });
    // 16 bytes an access: 32 instructions of 8 lanes in 4 banks.
    assert_eq!(plain.shared(Width::B16).unwrap(), SharedCost { wavefronts: 8 * 32, ideal: 8 * 4, degree: 8 });

    let row = layout("s2 s3 s4 s5 s6<->x0 x1 x2 x3 x4");
    let padded = Tiling::new(row, "s").unwrap().padded("row", 32, 4).unwrap();
    for column in 0..32 {
        let request = padded.request(Width::B4, |lane| Some(([lane, 0, 0, 0, 0, 0, 0, 0], column))).unwrap();
        assert_eq!(request.shared(), SharedCost { wavefronts: 1, ideal: 1, degree: 1 });
    }

    let swizzled = Swizzle::B128.of(&rows).unwrap();
    let transfer = Transfer::new(&column, &swizzled, "s").unwrap();
    assert_eq!(transfer.widest(), Width::B16);
    assert_eq!(transfer.shared(Width::B16).unwrap(), SharedCost { wavefronts: 32, ideal: 32, degree: 1 });
}

#[test]
fn rows_of_ldmatrix_are_free_of_conflicts_when_swizzled() {
    // Four matrices of 8 rows; rows lie 128 bytes apart, matrices 16.
    for (swizzle, wavefronts) in [(Swizzle::NONE, 32), (Swizzle::B32, 16), (Swizzle::B64, 8), (Swizzle::B128, 4)] {
        let columns = [128, 256, 512, 16, 32].map(|column| swizzle.apply(column));
        let cost = Request::new(columns, 0, Width::B16).unwrap().matrices(2).unwrap();
        assert_eq!(cost, SharedCost { wavefronts, ideal: 4, degree: wavefronts / 4 });
    }
}

#[test]
fn the_ffts_input_takes_half_of_each_sector_with_128_bit_loads() {
    // The note's X: 32 contiguous bytes a lane; memory is n0 fastest, of 4-byte complex samples.
    let x = layout("b<->ReIm  t0 t1 t2 t3 t4<->n7 n6 n5 n4 n3  r<->n2 n1 n0");
    let memory = layout("g1<->ReIm  g2 g3 g4 g5 g6 g7 g8 g9<->n0 n1 n2 n3 n4 n5 n6 n7");
    let transfer = Transfer::new(&x, &memory, "g").unwrap();
    assert_eq!(transfer.widest(), Width::B16);
    assert_eq!(transfer.vector_masks(Width::B16).unwrap(), [4, 2]);
    assert_eq!(transfer.request(Width::B16).unwrap().global(), GlobalCost { sectors: 32, ideal: 16 });
    assert_eq!(transfer.global(Width::B4).unwrap(), GlobalCost { sectors: 8 * 32, ideal: 8 * 4 });
}

#[test]
fn faults_of_accesses_are_named() {
    let memory = layout("s1 s2 s3 s4 s5 s6 s7<->x0 x1 x2 x3 x4 x5 x6");
    let refused = |text: &str| Transfer::new(&layout(text), &memory, "s").unwrap_err();
    assert_eq!(refused("b<->x0  t0<->y0"), AccessError::NotHeld { bit: bit("y0") });
    assert_eq!(refused("b0 b1 b2<->x0 x1 x2"), AccessError::TooMany { actual: 3, limit: 2 });
    assert_eq!(refused("r<->x0"), AccessError::Unexpected { bit: bit("s1") });
    let check = |text: &str, width| Transfer::new(&layout(text), &memory, "s").unwrap().check(width).unwrap_err();
    assert_eq!(check("b<->x1  r<->x0", Width::B4), AccessError::NotContiguous { bytes: 2, width: 4 });
    assert_eq!(check("b<->x0  r<->x3", Width::B8), AccessError::NotContiguous { bytes: 4, width: 8 });
    assert_eq!(
        check("b<->x0  r<->x1  t0 t1<->x2 x1^x3", Width::B8),
        AccessError::BitAlignment { bit: bit("t1"), moves: 20, bytes: 8 }
    );
    assert_eq!(check("b<->x0 + x0", Width::B4), AccessError::BaseAlignment { address: 2, bytes: 4 });
    assert_eq!(check("b<->x0", Width::B1), AccessError::Width { actual: 1, expected: 2 });
    let error = Request::new([4, 8, 0, 0, 0], 0, Width::B8).unwrap_err();
    assert_eq!(error.to_string(), "bit t0 moves the address by 4 bytes, no multiple of 8");
    let error = Request::new([0; 5], 3, Width::B4).unwrap_err();
    assert_eq!(error.to_string(), "the first address, 3, is no multiple of 4 bytes");
    let map = layout("t0 t1<->s2 u3");
    assert_eq!(Transfer::from_address_map(&map, "s"), Err(AccessError::Unexpected { bit: bit("u3") }));
    let map = layout("t0<->s48");
    assert_eq!(Transfer::from_address_map(&map, "s"), Err(AccessError::TooMany { actual: 49, limit: 48 }));
}

#[test]
fn a_kernels_assumption_is_a_compile_time_assertion() {
    const COST: SharedCost = {
        let registers = fringes_layout_core::layout!("r<->x0 x1  t0 t1 t2 t3 t4<->x2 x3 x4 y0 y1");
        let memory = fringes_layout_core::layout!("s2 s3 s4 s5 s6<->x0 x1 x2 x3 x4  s7 s8<->y0 y1");
        match Transfer::new(&registers, &memory, "s") {
            Ok(transfer) => match transfer.shared(Width::B16) {
                Ok(cost) => cost,
                Err(_) => panic!("no access of 16 bytes"),
            },
            Err(_) => panic!("no address"),
        }
    };
    const { assert!(COST.wavefronts == COST.ideal) };
    assert_eq!(COST, SharedCost { wavefronts: 4, ideal: 4, degree: 1 });
}
