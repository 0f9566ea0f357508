//! Whether the operands of a product agree with the fragments of its instruction; for assertions at compile time.
//!
//! In the layouts of data, matrix and result a logical bit has the same name. A bit that is only in data and matrix is
//! summed, one that is only in matrix and result created, one that is only in data and result kept; one that is summed
//! and created has two names in the matrix, `ReIm_in` and `ReIm_out`, `n_in2` and `n_out2`. Where a bit `pad` of the
//! matrix is set it is zero.

use fringes_device::layout::atoms::bits;
use fringes_device::layout::atoms::mma::Mma;
use fringes_device::layout::{Layout, Name};

/// One instruction: registers of the matrix, of the data and of the result.
pub(crate) struct Call {
    pub(crate) matrix: &'static [usize],
    pub(crate) data: &'static [usize],
    /// `usize::MAX` where the fragment's register is not used.
    pub(crate) result: &'static [usize],
}

/// A product: instruction, whether the data are its first operand, and the three layouts.
pub(crate) struct Product {
    pub(crate) mma: &'static Mma,
    pub(crate) data_first: bool,
    pub(crate) data: Layout,
    pub(crate) matrix: Layout,
    pub(crate) result: Layout,
}

/// Two logical bits that must be equal: numbers in the first and in the second layout.
#[derive(Clone, Copy)]
struct Ties {
    pairs: [(usize, usize); 16],
    count: usize,
}

const NONE: usize = usize::MAX;

impl Ties {
    const fn new() -> Self {
        Self { pairs: [(0, 0); 16], count: 0 }
    }

    const fn with(mut self, one: usize, other: usize) -> Self {
        if one != NONE && other != NONE {
            self.pairs[self.count] = (one, other);
            self.count += 1;
        }
        self
    }

    /// Whether the tied bits of two indices are equal.
    const fn hold(&self, one: u64, other: u64) -> bool {
        let mut at = 0;
        while at < self.count {
            let (first, second) = self.pairs[at];
            if (one >> first ^ other >> second) & 1 != 0 {
                return false;
            }
            at += 1;
        }
        true
    }
}

/// An array's layout and the number of its bits `b`.
#[derive(Clone, Copy)]
struct Array {
    layout: Layout,
    elements: usize,
}

impl Array {
    const fn new(layout: Layout) -> Self {
        Self { layout, elements: bits(&layout, "b") }
    }

    /// The index of what a place holds. Arrays have their bits in the order `b`, `t`, `r`.
    const fn index(&self, [element, register, lane]: [usize; 3]) -> u64 {
        self.layout.apply((element | lane << self.elements | register << (self.elements + 5)) as u64)
    }
}

/// A fragment's layout and the numbers of its bits `b` and `r`.
#[derive(Clone, Copy)]
struct Fragment {
    layout: Layout,
    elements: usize,
    registers: usize,
}

impl Fragment {
    const fn new(layout: Layout) -> Self {
        Self { layout, elements: bits(&layout, "b"), registers: bits(&layout, "r") }
    }

    /// Element, register and lane of an index. The layout is a permutation of bits, which come in the order `b`, `r`,
    /// `t`.
    const fn find(&self, index: u64) -> [usize; 3] {
        let (mut bit, mut at) = (0, 0);
        while bit < self.layout.physical().len() {
            if self.layout.column(bit) & index != 0 {
                at |= 1 << bit;
            }
            bit += 1;
        }
        let (elements, registers) = (self.elements, self.registers);
        [at & ((1 << elements) - 1), at >> elements & ((1 << registers) - 1), at >> (elements + registers)]
    }
}

/// `n_in2` to `n2`, `ReIm_out` to `ReIm`; 0 for no mark, 1 for `_in`, 2 for `_out`.
const fn unmarked(name: &Name) -> (Name, u8) {
    let text = name.as_str().as_bytes();
    let mut at = 0;
    while at + 2 < text.len() {
        if text[at] == b'_' {
            let after = if text[at + 1] == b'i' { 3 } else { 4 };
            let mut plain = [0u8; Name::MAX_LENGTH];
            let (mut from, mut to) = (0, 0);
            while from < text.len() {
                if from < at || from >= at + after {
                    plain[to] = text[from];
                    to += 1;
                }
                from += 1;
            }
            let (plain, _) = plain.split_at(to);
            let Ok(plain) = core::str::from_utf8(plain) else { panic!("a name is text") };
            let Ok(plain) = Name::new(plain) else { panic!("no name is left without its mark") };
            return (plain, if after == 3 { 1 } else { 2 });
        }
        at += 1;
    }
    (*name, 0)
}

const fn position(layout: &Layout, name: &Name) -> usize {
    match layout.logical().position(name) {
        Some(at) => at,
        None => NONE,
    }
}

/// What must be equal: in matrix and data, in matrix and result, in data and result; and the padding of the matrix.
struct Rules {
    data: Ties,
    result: Ties,
    kept: Ties,
    pads: u64,
}

impl Rules {
    const fn new(product: &Product) -> Self {
        let mut rules = Self { data: Ties::new(), result: Ties::new(), kept: Ties::new(), pads: 0 };
        let (mut at, mut in_matrix) = (0, 0u64);
        while at < product.matrix.logical().len() {
            let (name, mark) = unmarked(&product.matrix.logical().get(at));
            let data = if mark == 2 { NONE } else { position(&product.data, &name) };
            let result = if mark == 1 { NONE } else { position(&product.result, &name) };
            rules.data = rules.data.with(at, data);
            rules.result = rules.result.with(at, result);
            if data == NONE && result == NONE {
                rules.pads |= 1 << at;
            }
            if data != NONE {
                in_matrix |= 1 << data;
            }
            at += 1;
        }
        at = 0;
        while at < product.data.logical().len() {
            if in_matrix >> at & 1 == 0 {
                let result = position(&product.result, &product.data.logical().get(at));
                assert!(result != NONE, "a bit of the data is neither summed nor kept");
                rules.kept = rules.kept.with(at, result);
            }
            at += 1;
        }
        rules
    }
}

impl Product {
    /// Whether every instruction multiplies what belongs together.
    ///
    /// Fragments and layouts are linear, so it is enough to look at elements with up to two bits of row, sum and column
    /// set: registers have two.
    pub(crate) const fn agrees(&self, calls: &[Call]) -> bool {
        let rules = Rules::new(self);
        let [a, b, c] = [Fragment::new(self.mma.a), Fragment::new(self.mma.b), Fragment::new(self.mma.c)];
        let (data, matrix, result) = (Array::new(self.data), Array::new(self.matrix), Array::new(self.result));
        let width = self.mma.k.trailing_zeros();
        let mut index = 0u64;
        while index < 1 << (7 + width) {
            if index.count_ones() <= 2 {
                let (i, j, k) = (index & 15, index >> 4 & ((1 << width) - 1), index >> (4 + width));
                let (first, second, third) = (a.find(i | j << 4), b.find(j | k << width), c.find(i | k << 4));
                let (of_data, of_matrix) = if self.data_first { (first, second) } else { (second, first) };
                let mut at = 0;
                while at < calls.len() {
                    let call = &calls[at];
                    let register = call.result[third[1]];
                    let matrix = matrix.index([of_matrix[0], call.matrix[of_matrix[1]], of_matrix[2]]);
                    if register != NONE && matrix & rules.pads == 0 {
                        let data = data.index([of_data[0], call.data[of_data[1]], of_data[2]]);
                        let result = result.index([third[0], register, third[2]]);
                        if !rules.data.hold(matrix, data)
                            || !rules.result.hold(matrix, result)
                            || !rules.kept.hold(data, result)
                        {
                            return false;
                        }
                    }
                    at += 1;
                }
            }
            index += 1;
        }
        true
    }
}

/// A product with phases: layouts of the data and of the factors.
pub(crate) struct Turns {
    pub(crate) data: Layout,
    pub(crate) factors: Layout,
}

impl Turns {
    /// Whether registers `[re, im, c, s]` hold, place by place, both parts of a number and both of its factor.
    pub(crate) const fn agree(&self, turns: &[[usize; 4]]) -> bool {
        let Ok(part) = Name::new("ReIm") else { return false };
        let (data_part, factor_part) = (position(&self.data, &part), position(&self.factors, &part));
        let (data, factors) = (Array::new(self.data), Array::new(self.factors));
        let (mut ties, mut at) = (Ties::new(), 0);
        while at < self.factors.logical().len() {
            ties = ties.with(at, position(&self.data, &self.factors.logical().get(at)));
            at += 1;
        }
        let mut turn = 0;
        while turn < 2 * turns.len() {
            // Real part and cosine, imaginary part and sine.
            let (of, part) = (turns[turn / 2], turn % 2);
            let mut bit = 0;
            while bit <= 6 {
                let (element, lane) = one_bit(bit);
                let value = data.index([element, of[part], lane]);
                let factor = factors.index([element, of[2 + part], lane]);
                let parts = (value >> data_part & 1, factor >> factor_part & 1);
                if parts.0 != part as u64 || parts.1 != part as u64 || !ties.hold(factor, value) {
                    return false;
                }
                bit += 1;
            }
            turn += 1;
        }
        true
    }
}

/// An exchange of the bit inside the registers with one of their numbers: layouts before and after.
pub(crate) struct Transposes {
    pub(crate) before: Layout,
    pub(crate) after: Layout,
}

impl Transposes {
    /// Whether of registers `[low, high]` before the first values make the third register, and the second values the
    /// fourth.
    pub(crate) const fn agree(&self, pairs: &[[usize; 4]]) -> bool {
        let (before, after) = (Array::new(self.before), Array::new(self.after));
        let (mut ties, mut at) = (Ties::new(), 0);
        while at < self.before.logical().len() {
            ties = ties.with(at, position(&self.after, &self.before.logical().get(at)));
            at += 1;
        }
        let mut value = 0;
        while value < 4 * pairs.len() {
            let (pair, one, other) = (pairs[value / 4], value % 2, value / 2 % 2);
            let mut bit = 0;
            while bit < 7 {
                let (_, lane) = one_bit(bit);
                let from = before.index([one, pair[other], lane]);
                let to = after.index([other, pair[2 + one], lane]);
                if !ties.hold(from, to) {
                    return false;
                }
                bit += 1;
            }
            value += 1;
        }
        ties.count == self.before.logical().len()
    }
}

/// Element and lane with one bit set, or none.
const fn one_bit(bit: usize) -> (usize, usize) {
    match bit {
        0..5 => (0, 1 << bit),
        5 => (1, 0),
        _ => (0, 0),
    }
}
