//! Fragments of `wgmma`, against the PTX ISA's figures.

use fringes_layout_core::atoms::wgmma::{self, Accumulator, WGMMAS};
use fringes_layout_core::atoms::{bits, mma, place, registers};

#[test]
fn accumulators_of_every_n_are_as_in_the_isas_figure() {
    for (tile, width) in [(wgmma::TILE_32BIT, 32), (wgmma::TILE_16BIT, 16)] {
        let elements = 32 / width;
        for n in (8..=256).step_by(8) {
            let accumulator = Accumulator::new(tile, n).unwrap();
            // N/2 registers of 32 bits, N/4 of two f16.
            assert_eq!(accumulator.registers(), n / 2 / elements);
            let mut held = vec![false; 64 * n];
            for thread in 0..128 {
                for i in 0..n / 2 {
                    let (warp, group, in_group) = (thread / 32, thread % 32 / 4, thread % 4);
                    let row = 16 * warp + group + if i % 4 < 2 { 0 } else { 8 };
                    let column = 8 * (i / 4) + 2 * in_group + i % 2;
                    let position = accumulator.position(i % elements, i / elements, thread);
                    assert_eq!(position, (row, column), "N {n}, thread {thread}, d{i}");
                    assert!(!std::mem::replace(&mut held[n * row + column], true));
                }
            }
        }
    }
}

#[test]
fn accumulators_are_one_layout_where_the_tiles_are_a_power_of_two() {
    for tile in [wgmma::TILE_32BIT, wgmma::TILE_16BIT] {
        for n in (8..=256).step_by(8) {
            let accumulator = Accumulator::new(tile, n).unwrap();
            let Ok(layout) = accumulator.layout() else {
                assert!(!n.is_power_of_two(), "N {n}");
                continue;
            };
            assert!(n.is_power_of_two(), "N {n}");
            assert_eq!(registers(&layout), accumulator.registers());
            for thread in 0..128 {
                for register in 0..accumulator.registers() {
                    for element in 0..1 << bits(&tile, "b") {
                        let index = layout.apply(place(&layout, element, register, thread)) as usize;
                        assert_eq!((index % 64, index / 64), accumulator.position(element, register, thread));
                    }
                }
            }
        }
    }
    let of = |n| Accumulator::new(wgmma::TILE_32BIT, n).map(|accumulator| accumulator.layout().map(|l| l.to_string()));
    assert_eq!(of(32), Some(Ok("r<->k0 i3 k3 k4  t0 t1 t2 t3 t4<->k1 k2 i0 i1 i2  w<->i4 i5".to_string())));
    assert!(of(0).is_none() && of(12).is_none() && of(264).is_none());
}

#[test]
fn a_in_registers_is_that_of_mma_in_each_warp() {
    let products = [mma::M16N8K32_S32_S8, mma::M16N8K16_F32_F16, mma::M16N8K16_F32_BF16, mma::M16N8K8_F32_TF32];
    for (wgmma, mma) in WGMMAS.iter().zip(products) {
        assert_eq!((wgmma.k, wgmma.element, wgmma.accumulator), (mma.k, mma.element, mma.accumulator));
        assert_eq!(wgmma.a.divide(&mma.a).unwrap().to_string(), "w<->i4 i5", "{}", wgmma.types);
        assert_eq!(wgmma.tile.divide(&mma.c).unwrap().to_string(), "w<->i4 i5", "{}", wgmma.types);
        let (element, accumulator) = (wgmma.element.ptx(), wgmma.accumulator.ptx());
        assert_eq!(wgmma.types, format!("{accumulator}.{element}.{element}"));
    }
}
