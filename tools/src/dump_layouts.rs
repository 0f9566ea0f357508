//! Prints layouts and what the library makes of them as one JSON object, for `tests/python/check_layout.py` to work out
//! again.
//!
//! A layout is `{"text", "physical", "logical", "columns", "offset", "table"}`: its text form, the names of its bits
//! (lowest first), what each physical bit flips, what place 0 holds, and what every place holds. Random layouts are the
//! same in every run.
//!
//! ```text
//! cargo run --release -p fringes-tools -- dump-layouts > layouts.json
//! ```

use crate::end::End;
use fringes_layout::access::{Request, Width};
use fringes_layout::atoms::{descriptor, matrix, mma, wgmma};
use fringes_layout::{Layout, LayoutError, Name, Space, Tiling, conversion, swizzle};
use rand::seq::SliceRandom;
use rand::{Rng, RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde_json::{Value, json};

/// Random layouts of each kind.
const CASES: usize = 120;

/// Runs the tool.
pub(crate) fn run() -> Result<(), End> {
    let value = dumps().map_err(End::failed)?;
    println!("{value}");
    Ok(())
}

/// All that is written.
fn dumps() -> Result<Value, Box<dyn std::error::Error>> {
    let mut random = Random(Xoshiro256PlusPlus::seed_from_u64(4));
    Ok(json!({
        "layouts": random.cases(|random| {
            let layout = random.layout()?;
            Ok(json!({
                "layout": dump(&layout),
                "rank": layout.rank(),
                "injective": layout.is_injective(),
                "surjective": layout.is_surjective(),
            }))
        })?,
        "compositions": random.cases(Random::composition)?,
        "inverses": random.cases(Random::inverse)?,
        "conversions": random.cases(Random::conversion)?,
        "products": random.cases(Random::product)?,
        "quotients": random.cases(Random::quotient)?,
        "swizzles": swizzles()?,
        "fragments": fragments(),
        "operands": operands()?,
        "requests": random.cases(Random::request)?,
        "tilings": tilings()?,
    }))
}

/// A layout in full.
fn dump(layout: &Layout) -> Value {
    let names = |space: &Space| space.iter().map(|name| name.to_string()).collect::<Vec<_>>();
    json!({
        "text": layout.to_string(),
        "physical": names(layout.physical()),
        "logical": names(layout.logical()),
        "columns": (0..layout.physical().len()).map(|bit| layout.column(bit)).collect::<Vec<_>>(),
        "offset": layout.offset(),
        "table": (0..layout.physical().size()).map(|place| layout.apply(place)).collect::<Vec<_>>(),
    })
}

/// A result: the layout, or the error's text.
fn dump_result(result: &Result<Layout, LayoutError>) -> Value {
    match result {
        Ok(layout) => dump(layout),
        Err(error) => json!({ "error": error.to_string() }),
    }
}

/// Makes random layouts.
struct Random(Xoshiro256PlusPlus);

impl Random {
    fn cases(&mut self, case: impl Fn(&mut Self) -> Result<Value, LayoutError>) -> Result<Vec<Value>, LayoutError> {
        (0..CASES).map(|_| case(self)).collect()
    }

    /// Some of the names of a pool, in any order.
    fn space(&mut self, pool: &[&str], size: usize) -> Result<Space, LayoutError> {
        let mut names = pool.to_vec();
        names.shuffle(&mut self.0);
        names.iter().take(size).try_fold(Space::new(), |space, name| space.with(Name::new(name)?))
    }

    fn physical(&mut self, size: usize) -> Result<Space, LayoutError> {
        self.space(&["b0", "b1", "r0", "r1", "r2", "t0", "t1", "t2", "t3", "t4", "w0"], size)
    }

    fn logical(&mut self, size: usize) -> Result<Space, LayoutError> {
        self.space(&["n0", "n1", "n2", "n3", "q0", "q1", "q2", "q10", "ReIm", "ReIm_out", "k"], size)
    }

    /// A random map, of a random rank: a product of two smaller ones; every other one with an offset.
    fn between(&mut self, physical: Space, logical: Space) -> Result<Layout, LayoutError> {
        let mut columns = vec![0; physical.len()];
        for _ in 0..self.0.random_range(0..=physical.len().max(logical.len())) {
            let (row, column) = (self.0.next_u64(), self.0.next_u64() & (logical.size() - 1));
            for (bit, entry) in columns.iter_mut().enumerate() {
                *entry ^= if row >> bit & 1 == 1 { column } else { 0 };
            }
        }
        let offset = if self.0.random() { self.0.next_u64() & (logical.size() - 1) } else { 0 };
        Layout::from_columns(physical, logical, &columns)?.with_offset(offset)
    }

    fn layout(&mut self) -> Result<Layout, LayoutError> {
        let (physical, logical) = (self.0.random_range(0..8), self.0.random_range(0..8));
        let (physical, logical) = (self.physical(physical)?, self.logical(logical)?);
        self.between(physical, logical)
    }

    /// A random one-to-one map of `physical` bits into `logical` ones, or onto them if there are fewer.
    fn of_full_rank(&mut self, physical: usize, logical: usize) -> Result<Layout, LayoutError> {
        let (physical, logical) = (self.physical(physical)?, self.logical(logical)?);
        loop {
            let layout = self.between(physical, logical)?;
            if layout.rank() == physical.len().min(logical.len()) {
                return Ok(layout);
            }
        }
    }

    fn composition(&mut self) -> Result<Value, LayoutError> {
        let inner = self.layout()?;
        let mut names: Vec<String> = inner.logical().iter().map(|name| name.to_string()).collect();
        names.shuffle(&mut self.0);
        let middle = names.iter().try_fold(Space::new(), |space, name| space.with(Name::new(name)?))?;
        let size = self.0.random_range(0..8);
        let outer_logical = self.space(&["s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7"], size)?;
        let outer = self.between(middle, outer_logical)?;
        Ok(json!({ "inner": dump(&inner), "outer": dump(&outer), "result": dump_result(&inner.compose(&outer)) }))
    }

    fn inverse(&mut self) -> Result<Value, LayoutError> {
        let (physical, logical) = (self.0.random_range(0..7), self.0.random_range(0..7));
        let layout = match self.0.random_range(0..3) {
            0 => self.of_full_rank(physical, physical)?,
            1 => self.of_full_rank(physical, logical)?,
            _ => self.layout()?,
        };
        Ok(json!({
            "layout": dump(&layout),
            "inverse": dump_result(&layout.invert()),
            "left": dump_result(&layout.left_inverse()),
            "right": dump_result(&layout.right_inverse()),
            "pseudo": dump_result(&layout.pseudo_invert()),
        }))
    }

    fn conversion(&mut self) -> Result<Value, LayoutError> {
        let size = self.0.random_range(0..7);
        let more = if self.0.random() { 0 } else { self.0.random_range(0..3) };
        let from = if self.0.random_range(0..4) == 0 { self.layout()? } else { self.of_full_rank(size + more, size)? };
        let size = from.logical().len() + self.0.random_range(0..2);
        let physical = self.physical(size)?;
        let to = self.between(physical, *from.logical())?;
        Ok(json!({ "from": dump(&from), "to": dump(&to), "result": dump_result(&conversion(&from, &to)) }))
    }

    /// Two layouts that have no bit in common.
    fn factors(&mut self) -> Result<[Layout; 2], LayoutError> {
        let [a, b, c, d] = [0; 4].map(|_| self.0.random_range(0..4));
        let physical = self.space(&["b0", "r0", "t0", "t1", "t3"], a)?;
        let logical = self.space(&["n0", "n1", "ReIm", "q2"], b)?;
        let low = self.between(physical, logical)?;
        let physical = self.space(&["b1", "r1", "r2", "t2", "t4"], c)?;
        let logical = self.space(&["n2", "n3", "q0", "k"], d)?;
        Ok([low, self.between(physical, logical)?])
    }

    fn product(&mut self) -> Result<Value, LayoutError> {
        let [low, high] = self.factors()?;
        Ok(json!({ "low": dump(&low), "high": dump(&high), "result": dump_result(&low.product(&high)) }))
    }

    /// A product divided by one of its factors, and every third time a product that has been spoilt.
    fn quotient(&mut self) -> Result<Value, LayoutError> {
        let [low, high] = self.factors()?;
        let product = low.product(&high)?;
        let whole = if self.0.random_range(0..3) == 0 && !product.physical().is_empty() {
            let mut columns: Vec<u64> = (0..product.physical().len()).map(|bit| product.column(bit)).collect();
            let at = self.0.random_range(0..columns.len());
            columns[at] ^= self.0.next_u64() & (product.logical().size() - 1);
            Layout::from_columns(*product.physical(), *product.logical(), &columns)?.with_offset(product.offset())?
        } else {
            product
        };
        Ok(json!({
            "whole": dump(&whole),
            "low": dump(&low),
            "high": dump(&high),
            "without_low": dump_result(&whole.divide(&low)),
            "without_high": dump_result(&whole.divide(&high)),
            "left": dump_result(&whole.divide_left(&low)),
            "right": dump_result(&whole.divide_right(&high)),
        }))
    }

    /// An access of a warp, and what it costs.
    fn request(&mut self) -> Result<Value, LayoutError> {
        let width = Width::ALL[self.0.random_range(0..5)];
        let mut address = || self.0.random_range(0..1u64 << 13) >> self.0.random_range(0..13) & !(width.bytes() - 1);
        let Ok(request) = Request::new([0; 5].map(|_| address()), address(), width) else {
            return Ok(Value::Null);
        };
        let (shared, atomic, global) = (request.shared(), request.atomic(), request.global());
        Ok(json!({
            "addresses": (0..32).map(|lane| request.address(lane)).collect::<Vec<_>>(),
            "width": width.bytes(),
            "shared": [shared.wavefronts, shared.ideal, shared.degree],
            "atomic": [atomic.wavefronts, atomic.ideal, atomic.degree],
            "global": [global.sectors, global.ideal],
        }))
    }
}

/// Swizzles of every size, on all addresses of two periods.
fn swizzles() -> Result<Vec<Value>, LayoutError> {
    let mut cases = Vec::new();
    for (bits, base, shift) in (0..4).flat_map(|b| (0..5).flat_map(move |m| (b..5).map(move |s| (b, m, s)))) {
        let swizzle = swizzle(bits, base, shift)?;
        let address_bits = base + shift + bits + 1;
        cases.push(json!({
            "bits": bits,
            "base": base,
            "shift": shift,
            "addresses": (0..1u64 << address_bits).map(|address| swizzle.apply(address)).collect::<Vec<_>>(),
            "layout": dump(&swizzle.layout(address_bits)?),
        }));
    }
    Ok(cases)
}

/// Row and column of every element of every register of every lane: `[lane][register][element]`.
fn positions(fragment: &Layout, (row, column): (&str, &str)) -> Value {
    let (physical, logical) = (fragment.physical(), fragment.logical());
    let size = |stem: &str| 1u64 << physical.bits_of_stem(stem).len();
    let position = |lane: u64, register, element| {
        let place = physical.index(&[("b", element), ("r", register), ("t", lane % 32), ("w", lane / 32)]);
        let index = fragment.apply(place);
        [logical.number(row, index), logical.number(column, index)]
    };
    let lanes = size("t") * size("w");
    json!(
        (0..lanes)
            .map(|lane| {
                (0..size("r"))
                    .map(|register| (0..size("b")).map(|b| position(lane, register, b)).collect::<Vec<_>>())
                    .collect::<Vec<_>>()
            })
            .collect::<Vec<_>>()
    )
}

/// Fragments of every instruction.
fn fragments() -> Vec<Value> {
    let mut all = Vec::new();
    for mma in &mma::MMAS {
        for (operand, layout, stems) in
            [("a", &mma.a, ("i", "j")), ("b", &mma.b, ("j", "k")), ("c", &mma.c, ("i", "k"))]
        {
            let bits = if operand == "c" { mma.accumulator.bits() } else { mma.element.bits() };
            all.push(json!({
                "kind": "mma", "name": mma.name, "operand": operand, "shape": [mma.m, mma.n, mma.k], "bits": bits,
                "positions": positions(layout, stems),
            }));
        }
    }
    for wgmma in &wgmma::WGMMAS {
        all.push(json!({
            "kind": "wgmma", "name": wgmma.types, "operand": "a", "shape": [64, 8, wgmma.k], "bits": wgmma.element.bits(),
            "positions": positions(&wgmma.a, ("i", "j")),
        }));
        for n in [8, 24, 64, 256] {
            let Some(sums) = wgmma::Accumulator::new(wgmma.tile, n) else { continue };
            let positions: Vec<Vec<Vec<[usize; 2]>>> = (0..128)
                .map(|thread| {
                    let position = |register| <[usize; 2]>::from(sums.position(0, register, thread));
                    (0..sums.registers()).map(|register| vec![position(register)]).collect()
                })
                .collect();
            all.push(json!({
                "kind": "wgmma", "name": wgmma.types, "operand": "c", "shape": [64, n, wgmma.k],
                "bits": wgmma.accumulator.bits(), "positions": positions,
            }));
        }
    }
    for (name, bits, layout) in [
        ("matrix", 16, &matrix::MATRIX),
        ("transposed", 16, &matrix::TRANSPOSED),
        ("matrix", 8, &matrix::MATRIX_8BIT),
        ("matrix", 32, &matrix::MATRIX_32BIT),
    ] {
        all.push(json!({
            "kind": "matrix", "name": name, "operand": "", "shape": [8, 128 / bits, 0], "bits": bits,
            "positions": positions(layout, ("row", "col")),
        }));
    }
    all
}

/// Atoms of operands in shared memory: the byte offset of every row and column.
fn operands() -> Result<Vec<Value>, LayoutError> {
    let mut all = Vec::new();
    for mode in descriptor::Swizzle::ALL {
        for (major, bits) in [("k", 8), ("k", 16), ("k", 32), ("mn", 16)] {
            let atom = 8 * mode.row_bytes();
            let direction = if major == "k" { descriptor::Major::K } else { descriptor::Major::MN };
            let Some(operand) = descriptor::Operand::new(direction, mode, bits, atom, atom) else { continue };
            let line = 8 * mode.row_bytes() / bits;
            let (rows, columns) = if major == "k" { (8, line) } else { (line, 8) };
            let offsets: Vec<Vec<_>> =
                (0..rows).map(|row| (0..columns).map(|column| operand.offset(row, column)).collect()).collect();
            all.push(json!({
                "major": major, "row_bytes": mode.row_bytes(), "bits": bits, "offsets": offsets,
                "layout": dump(&operand.atom()?),
            }));
        }
    }
    Ok(all)
}

/// Tilings with extents that are no powers of two, and all of their addresses.
fn tilings() -> Result<Vec<Value>, Box<dyn std::error::Error>> {
    let row = Layout::parse("g0<->ReIm  g1 g2 g3 g4 g5 g6<->t0 t1 t2 t3 t4 t5")?;
    let words = Layout::parse("s2 s3 s4 s5 s6<->x0 x1 x2 x3 x4")?;
    let tile = Layout::parse("s1 s2 s3<->k0^i0 k1 i0")?;
    let all = [
        ("g", Tiling::new(row, "g")?.packed("input", 10)?.packed("time_block", 3)?.packed("channel", 2)?),
        ("s", Tiling::new(words, "s")?.padded("row", 5, 4)?.packed("buffer", 3)?),
        ("s", Tiling::new(tile, "s")?.packed("column_block", 3)?.strided("row", 7, 50)?),
    ];
    let mut dumped = Vec::new();
    for (stem, tiling) in all {
        let dimensions: Vec<_> = ["channel", "time_block", "input", "buffer", "row", "column_block"]
            .iter()
            .filter_map(|name| tiling.dimension(name))
            .collect();
        let places: Vec<Value> = (0..tiling.pitch())
            .map(|address| match tiling.find(address) {
                Some(place) => json!([place.indices(), place.place, place.byte]),
                None => Value::Null,
            })
            .collect();
        dumped.push(json!({
            "stem": stem,
            "inner": dump(tiling.inner()),
            "dimensions": dimensions.iter().map(|d| json!([d.name.to_string(), d.extent, d.stride])).collect::<Vec<_>>(),
            "length": tiling.length(),
            "places": places,
        }));
    }
    Ok(dumped)
}
