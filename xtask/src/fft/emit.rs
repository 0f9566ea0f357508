//! A solution as Rust: one function of straight-line code, with its layouts as assertions.

use std::fmt::Write as _;

use fringes_layout::Layout;
use fringes_layout::program::Counts;
use fringes_layout::solve::{Call, Multiply, Operand, Operation, Product, Solution};

use super::access::{check, lane_pair, ordered, register_pair};
use super::names::{held, lanes, register_names, registers, translated};
use super::sizes::Size;

/// Registers of phases that come before those of each operation, and in all.
fn bases(solution: &Solution) -> (Vec<usize>, usize) {
    let mut total = 0;
    let bases = solution
        .operations
        .iter()
        .map(|operation| {
            let base = total;
            total += match operation {
                Operation::Product(product) => registers(&product.matrix),
                Operation::Multiply(multiply) => registers(&multiply.factors),
                Operation::Convert(_) => 0,
            };
            base
        })
        .collect();
    (bases, total)
}

/// Layout as the text of a `layout!`, on one line.
fn text(layout: &Layout) -> String {
    layout.to_string().trim().to_owned()
}

/// Registers as a list.
fn list(registers: impl IntoIterator<Item = String>) -> String {
    format!("[{}]", registers.into_iter().collect::<Vec<_>>().join(", "))
}

/// Name of an array's variable: `Z1'` to `z1p`.
fn variable(name: &str) -> String {
    name.to_lowercase().replace('\'', "p")
}

/// What is emitted of a size.
struct Emitter<'a> {
    solution: &'a Solution,
    bases: Vec<usize>,
    code: String,
    assertions: String,
    layouts: String,
    last: usize,
}

impl Emitter<'_> {
    fn array(&self, at: usize) -> String {
        variable(&self.solution.arrays[at].name)
    }

    /// Emits operation `at`.
    fn operation(&mut self, at: usize) -> Result<(), String> {
        let (from, to) = (self.array(at), self.array(at + 1));
        let _ = writeln!(self.code, "\n// {} -> {}", self.solution.arrays[at].name, self.solution.arrays[at + 1].name);
        match &self.solution.operations[at] {
            Operation::Product(product) => self.product(at, product, &from, &to),
            Operation::Multiply(multiply) => self.multiply(at, multiply, &from, &to),
            Operation::Convert(counts) => self.convert(at, counts, &from, &to),
        }
    }

    /// A conversion that names registers otherwise, or exchanges the bit inside the registers with one of their
    /// numbers.
    fn convert(&mut self, at: usize, counts: &Counts, from: &str, to: &str) -> Result<(), String> {
        let layouts = [at, at + 1].map(|at| &self.solution.arrays[at].layout);
        let [before, after] = layouts.map(register_names);
        let [inside, outside] = layouts.map(|layout| held(layout, 0));
        let count = 1usize << after.len();
        if *counts == Counts::default() {
            for register in 0..count {
                let _ = writeln!(self.code, "let {to}_{register} = {from}_{};", translated(register, &after, &before));
            }
            return Ok(());
        }
        let exchanged = Counts { permute: count as u32, ..Counts::default() };
        let (Some(leaves), Some(enters)) =
            (before.iter().position(|name| *name == outside), after.iter().position(|name| *name == inside))
        else {
            return Err(format!("{from} -> {to} moves data: {counts:?}"));
        };
        if *counts != exchanged || lanes(layouts[0]) != lanes(layouts[1]) {
            return Err(format!("{from} -> {to} moves data: {counts:?}"));
        }
        let sums = if at > self.last { "L" } else { "S" };
        let mut pairs = Vec::new();
        for low in (0..count).filter(|register| register >> enters & 1 == 0) {
            // The names of the other registers' bits are the same in both.
            let source = translated(low, &after, &before);
            let _ = writeln!(
                self.code,
                "let [{to}_{low}, {to}_{}] = {sums}::transposed({from}_{source}, {from}_{});",
                low | 1 << enters,
                source | 1 << leaves
            );
            pairs.push(format!("[{source}, {}, {low}, {}]", source | 1 << leaves, low | 1 << enters));
        }
        let [before, after] = [from, to].map(str::to_uppercase);
        let _ = writeln!(
            self.assertions,
            "const _: () = assert!(Transposes {{ before: {before}, after: {after} }}.agree(&{}));",
            list(pairs)
        );
        Ok(())
    }

    fn product(&mut self, at: usize, product: &Product, from: &str, to: &str) -> Result<(), String> {
        if product.unpack != (0, 0) || registers(&product.matrix) != product.registers {
            return Err(format!("{from} -> {to} has a packed matrix"));
        }
        if product.carried.iter().any(|name| product.depends.contains(name)) {
            return Err(format!("{from} -> {to} carries a bit on which its matrix depends"));
        }
        let sums = if at == self.last { "L" } else { "S" };
        let function = if product.mma.k == 8 { "k8" } else { "k16" };
        let base = self.bases[at];
        let mut groups: Vec<Vec<&Call>> = Vec::new();
        for call in &product.calls {
            match groups.last_mut() {
                Some(group) if group[0].result == call.result => group.push(call),
                _ => groups.push(vec![call]),
            }
        }
        for group in groups {
            let _ = writeln!(self.code, "let sum = {sums}::ZERO;");
            for (number, call) in group.iter().enumerate() {
                let phases = list(call.matrix.iter().map(|register| format!("p[{}]", base + *register as usize)));
                let data = list(call.data.iter().map(|register| format!("{from}_{register}")));
                let [a, b] = if product.operand == Operand::A { [data, phases] } else { [phases, data] };
                let _ = writeln!(self.code, "let sum = {sums}::{function}({a}, {b}, sum);");
                if product.split.is_some() && 2 * (number + 1) == group.len() {
                    let _ = writeln!(self.code, "let part = sum;");
                }
            }
            let mut name = |flip: usize, value: &str| {
                let names = group[0].result.iter().map(|register| match register {
                    Some(register) => format!("{to}_{}", *register as usize | flip),
                    None => "_".into(),
                });
                let _ = writeln!(self.code, "let {} = {sums}::registers({value});", list(names));
            };
            name(0, "sum");
            if let Some(split) = &product.split {
                name(1 << split.register, &format!("{sums}::alternating(part, sum)"));
            }
        }
        let calls = product.calls.iter().map(|call| {
            let numbers = |registers: &[u32]| list(registers.iter().map(ToString::to_string));
            let result = list(call.result.iter().map(|register| match register {
                Some(register) => register.to_string(),
                None => "usize::MAX".into(),
            }));
            format!("Call {{ matrix: &{}, data: &{}, result: &{result} }}", numbers(&call.matrix), numbers(&call.data))
        });
        let (mma, first) = (product.mma.name.to_uppercase(), product.operand == Operand::A);
        let mma = mma.trim_start_matches("MMA_");
        let [data, result] = [from, to].map(|array| array.to_uppercase());
        let _ = writeln!(self.layouts, "const E_{result}: Layout = layout!(\"{}\");", text(&product.matrix));
        let _ = writeln!(
            self.assertions,
            "const _: () = assert!(Product {{ mma: &mma::{mma}, data_first: {first}, data: {data}, matrix: E_{result}, result: {result} }}.agrees(&{}));",
            list(calls)
        );
        Ok(())
    }

    fn multiply(&mut self, at: usize, multiply: &Multiply, from: &str, to: &str) -> Result<(), String> {
        let Some(complex) = multiply.complex else { return Err(format!("{from} -> {to} is a real product")) };
        let layout = &self.solution.arrays[at].layout;
        let [before, after] = [at, at + 1].map(|at| register_names(&self.solution.arrays[at].layout));
        let factors = register_names(&multiply.factors);
        let (Some(part), Some(of_factor)) =
            (before.iter().position(|name| *name == complex), factors.iter().position(|name| *name == complex))
        else {
            return Err(format!("{from} -> {to}: {complex} is no register bit of {layout}"));
        };
        if before != after {
            return Err(format!("{from} -> {to}: a product with phases changes the order of registers"));
        }
        let base = self.bases[at];
        let mut turns = Vec::new();
        for re in (0..1usize << before.len()).filter(|register| register >> part & 1 == 0) {
            let (im, c) = (re | 1 << part, translated(re, &before, &factors));
            let s = c | 1 << of_factor;
            let _ = writeln!(
                self.code,
                "let [{to}_{re}, {to}_{im}] = turned({from}_{re}, {from}_{im}, p[{}], p[{}]).map(S::phased);",
                base + c,
                base + s
            );
            turns.push(format!("[{re}, {im}, {c}, {s}]"));
        }
        let (data, result) = (from.to_uppercase(), to.to_uppercase());
        let _ = writeln!(self.layouts, "const E_{result}: Layout = layout!(\"{}\");", text(&multiply.factors));
        let _ = writeln!(
            self.assertions,
            "const _: () = assert!(Turns {{ data: {data}, factors: E_{result} }}.agree(&{}));",
            list(turns)
        );
        Ok(())
    }
}

/// The file of a size.
pub(crate) fn file(size: &Size, solution: &Solution) -> Result<String, String> {
    let (input, output) = match &solution.arrays[..] {
        [input, .., output] => (input, output),
        _ => return Err("a solution has at least two arrays".into()),
    };
    check(&input.layout, "n")?;
    check(&output.layout, "q")?;
    let (bases, phases) = bases(solution);
    let last = solution
        .operations
        .iter()
        .rposition(|operation| matches!(operation, Operation::Product(_)))
        .ok_or("a transform has products")?;
    let mut emitter =
        Emitter { solution, bases, code: String::new(), assertions: String::new(), layouts: String::new(), last };
    let mut seen: Vec<String> = Vec::new();
    for (at, array) in solution.arrays.iter().enumerate() {
        let name = emitter.array(at).to_uppercase();
        if seen.contains(&name) {
            return Err(format!("two arrays are called {name}"));
        }
        let _ = writeln!(emitter.layouts, "const {name}: Layout = layout!(\"{}\");", text(&array.layout));
        seen.push(name);
    }
    // What comes in and goes out is in the order of the indices.
    let ends = [&input.layout, &output.layout].map(ordered);
    let first = register_names(&input.layout);
    for register in 0..1usize << first.len() {
        let from = translated(register, &first, &ends[0]);
        let _ = writeln!(emitter.code, "let {}_{register} = x[{from}];", emitter.array(0));
    }
    for at in 0..solution.operations.len() {
        emitter.operation(at)?;
    }
    let (name, key) = (size.name(), size.key());
    let result = emitter.array(solution.arrays.len() - 1);
    let names = register_names(&output.layout);
    let results =
        list((0..1usize << names.len()).map(|register| format!("{result}_{}", translated(register, &ends[1], &names))));
    let [inputs, outputs] = [1usize << ends[0].len(), 1 << ends[1].len()];
    let (input_layout, output_layout) = (in_order(&input.layout)?, in_order(&output.layout)?);
    let loads: String = (0..inputs / 2)
        .map(|pair| match register_pair(&input.layout, pair) {
            0 => "samples.load(first),".into(),
            offset => format!("samples.load(first + {offset}),"),
        })
        .collect();
    let unpacked: String = (0..inputs / 2)
        .map(|pair| format!("let [x{}, x{}] = F::unpack(pairs[{pair}]);", 2 * pair, 2 * pair + 1))
        .collect();
    let unpacked_names = list((0..inputs).map(|register| format!("x{register}")));
    let stores: String = (0..outputs / 2)
        .map(|pair| {
            let at = match register_pair(&output.layout, pair) {
                0 => "first".into(),
                offset => format!("first + {offset}"),
            };
            format!("spectra.store({at}, [y[{}], y[{}]]);", 2 * pair, 2 * pair + 1)
        })
        .collect();
    let turned = emitter.code.contains("turned(");
    let totals = &solution.totals;
    let description = solution.to_string().lines().map(|line| format!("//! {line}\n")).collect::<String>();
    Ok(format!(
        r#"//! {size}.
//!
//! ```text
{description}//! ```
//!
//! @generated by `cargo xtask fft` from xtask/src/fft/sizes.rs; do not edit.

use fringes_device::Global;
use fringes_device::layout::atoms::mma;
use fringes_device::layout::{{Layout, layout}};

use crate::agree::{{Call, Product{transposes}{turns}}};
use crate::sums::Sums{turned_use};
use crate::{{Format, Spectra, Transform}};

{layouts}
{assertions}

/// {size}: {products} products, {half2} half2 operations.
///
/// Phases: table `{key}`.
pub enum {name} {{}}

impl Transform for {name} {{
    const INPUT_BITS: u32 = {input_bits};
    const OUTPUT_BITS: u32 = {output_bits};
    const INPUT: Layout = layout!("{input_layout}");
    const OUTPUT: Layout = layout!("{output_layout}");
    const PHASE_REGISTERS: usize = {phases};
    type Input = [u32; {inputs}];
    type Output<R: Copy> = [R; {outputs}];
    type Phases = [u32; {phases}];
    type Pairs<P: Copy> = [P; {pairs}];

    #[inline(always)]
    unsafe fn phases(table: Global<u32>, lane: u32) -> [u32; {phases}] {{
        let lane = lane as usize;
        {phase_loads}
    }}

    #[inline(always)]
    unsafe fn transform<S: Sums<Register = u32>, L: Sums>(x: [u32; {inputs}], p: &[u32; {phases}]) -> [L::Register; {outputs}] {{
        {code}
        {results}
    }}

    #[inline(always)]
    fn input_pair(lane: u32) -> u32 {{
        {input_lane}
    }}

    #[inline(always)]
    fn output_pair(lane: u32) -> u32 {{
        {output_lane}
    }}

    #[inline(always)]
    unsafe fn load<F: Format>(samples: Global<F::Pair>, first: usize) -> [F::Pair; {pairs}] {{
        [{loads}]
    }}

    #[inline(always)]
    fn unpack<F: Format>(pairs: [F::Pair; {pairs}]) -> [u32; {inputs}] {{
        {unpacked}
        {unpacked_names}
    }}

    #[inline(always)]
    unsafe fn store<O: Spectra>(y: [<O::Sums as Sums>::Register; {outputs}], spectra: O, first: usize) {{
        {stores}
    }}
}}
"#,
        transposes = if emitter.assertions.contains("Transposes") { ", Transposes" } else { "" },
        turns = if turned { ", Turns" } else { "" },
        turned_use = if turned { ";\nuse crate::sums::turned" } else { "" },
        layouts = emitter.layouts,
        assertions = emitter.assertions,
        products = totals.products,
        half2 = totals.half2,
        input_bits = size.input_bits,
        output_bits = size.output_bits,
        pairs = inputs / 2,
        phase_loads = list((0..phases).map(|register| if register == 0 {
            "table.load(lane)".into()
        } else {
            format!("table.load(lane + {})", 32 * register)
        })),
        code = emitter.code,
        input_lane = lane_pair(&input.layout),
        output_lane = lane_pair(&output.layout),
    ))
}

/// A layout with its registers in the order of the indices that they hold, as a transform has its ends.
pub(crate) fn in_order(layout: &Layout) -> Result<String, String> {
    let others: Vec<String> = (0..layout.physical().len())
        .filter(|&at| layout.physical().get(at).stem() != "r" && layout.column(at) != 0)
        .map(|at| format!("{}<->{}", layout.physical().get(at), held(layout, at)))
        .collect();
    let registers = ordered(layout).into_iter().enumerate().map(|(bit, name)| format!("r{bit}<->{name}"));
    let text = others.into_iter().chain(registers).collect::<Vec<_>>().join(", ");
    Layout::parse(&text).map(|layout| self::text(&layout)).map_err(|error| format!("{text}: {error}"))
}

/// Layouts of the phases, in the order of their registers.
pub(crate) fn stages(solution: &Solution) -> Vec<String> {
    solution
        .operations
        .iter()
        .filter_map(|operation| match operation {
            Operation::Product(product) => Some(text(&product.matrix)),
            Operation::Multiply(multiply) => Some(text(&multiply.factors)),
            Operation::Convert(_) => None,
        })
        .collect()
}
