//! Programs as Rust source that calls the intrinsics of `fringes-device`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use crate::Layout;

use super::{Instruction, LaneFlag, LaneMap, Program, ProgramError, Register, Selector};

/// Widest line of code.
const WIDTH: usize = 120;

/// What the source of a program says beside its instructions.
#[derive(Debug, Clone, Copy)]
pub struct Emission<'a> {
    /// Name of the function.
    pub name: &'a str,
    /// The layout before.
    pub from: &'a Layout,
    /// The layout afterwards.
    pub to: &'a Layout,
    /// A lower bound on what any such program costs, in words.
    pub bound: Option<&'a str>,
}

impl Program {
    /// A Rust function that executes the program: `fn NAME(x: [u32; R]) -> [u32; S]`, with a parameter `shared:
    /// Shared<u32>` where it uses shared memory, `unsafe` where its lanes execute instructions together.
    ///
    /// It calls what [`paths`](Self::paths) names. The crate lets `unsafe fn` call unsafe functions without a block, as
    /// crates of kernels do. The source is formatted as `rustfmt` does with `max_width = 120` and
    /// `use_small_heuristics = "Max"`.
    ///
    /// # Errors
    /// [`ProgramError`] if the program is not [valid](Self::validate).
    pub fn emit(&self, emission: &Emission<'_>) -> Result<String, ProgramError> {
        self.validate()?;
        let mut source = Source { text: String::new(), bases: BTreeMap::new(), exchanged: BTreeSet::new() };
        source.documentation(self, emission);
        let together = self
            .instructions
            .iter()
            .any(|each| !matches!(each, Instruction::Select { .. } | Instruction::Permute { .. }));
        let shared = if self.instructions.iter().any(Instruction::memory) { ", shared: Shared<u32>" } else { "" };
        let (inputs, outputs) = (self.inputs, self.outputs.len());
        let qualifier = if together { "unsafe " } else { "" };
        source.line(0, "#[inline(always)]");
        source.line(
            0,
            &format!("pub {qualifier}fn {}(x: [u32; {inputs}]{shared}) -> [u32; {outputs}] {{", emission.name),
        );
        source.setup(self);
        let read: BTreeSet<Register> = self.instructions.iter().flat_map(Instruction::operands).collect();
        for instruction in &self.instructions {
            source.instruction(self, instruction, &read);
        }
        let outputs: Vec<String> = self.outputs.iter().map(|&register| self.value(register)).collect();
        source.array(&outputs);
        source.line(0, "}");
        Ok(source.text)
    }

    /// Paths of what the emitted function calls, to be imported.
    pub fn paths(&self) -> BTreeSet<String> {
        let mut paths = BTreeSet::new();
        for instruction in &self.instructions {
            if let Some((module, name)) = intrinsic(instruction) {
                paths.insert(format!("{module}::{name}"));
            }
            if instruction.memory() {
                paths.insert("fringes_device::Shared".into());
            }
        }
        if self.uses_lane() {
            paths.insert("fringes_device::index::laneid".into());
        }
        paths
    }

    /// Whether anything depends on the lane.
    fn uses_lane(&self) -> bool {
        let setup = self.setup();
        let varies = |each: &Instruction| each.address().is_some_and(|address| address.varying() != 0);
        let sources = self
            .instructions
            .iter()
            .any(|each| matches!(each, Instruction::ShuffleIndex { source, .. } if source.varying() != 0));
        setup.flags + setup.selectors > 0 || sources || self.instructions.iter().any(varies)
    }

    /// A register in the source.
    fn value(&self, register: Register) -> String {
        if (register as usize) < self.inputs { format!("x[{register}]") } else { format!("v{register}") }
    }
}

/// Module and name of the function that an instruction is.
fn intrinsic(instruction: &Instruction) -> Option<(&'static str, String)> {
    let trans = |transposed: &bool| if *transposed { "_trans" } else { "" };
    Some(match instruction {
        Instruction::Permute { .. } => ("fringes_device::arithmetic", "prmt_b32".into()),
        Instruction::ShuffleXor { .. } => ("fringes_device::warp", "shfl_sync_bfly_b32".into()),
        Instruction::ShuffleIndex { .. } => ("fringes_device::warp", "shfl_sync_idx_b32".into()),
        Instruction::MoveMatrix { .. } => ("fringes_device::matrix", "movmatrix_trans_b16".into()),
        Instruction::StoreMatrix { values, transposed, .. } => {
            ("fringes_device::matrix", format!("stmatrix_x{}{}_shared_b16", values.len(), trans(transposed)))
        }
        Instruction::LoadMatrix { d, transposed, .. } => {
            ("fringes_device::matrix", format!("ldmatrix_x{}{}_shared_b16", d.len(), trans(transposed)))
        }
        Instruction::WarpBarrier => ("fringes_device::warp", "bar_warp_sync".into()),
        // Of several `if` by one flag, LLVM makes a branch.
        Instruction::Select { .. } => ("core::hint", "select_unpredictable".into()),
        Instruction::StoreShared { .. } | Instruction::LoadShared { .. } => return None,
    })
}

/// The name of a flag: `t02` for the parity of `t0` and `t2`.
fn flag_name(flag: LaneFlag) -> String {
    let bits: String = (0..5).filter(|bit| flag.mask >> bit & 1 == 1).map(|bit| bit.to_string()).collect();
    format!("t{bits}")
}

/// The name of a selector that differs from lane to lane.
fn selector_name(flag: LaneFlag, zero: u16, one: u16) -> String {
    format!("{}_{one:04x}_{zero:04x}", flag_name(flag))
}

/// A map of the lane index as terms to be XORed, each one operand.
fn terms(map: &LaneMap) -> Vec<String> {
    // Bits that move by the same distance are moved together.
    let mut distances: BTreeMap<i32, u32> = BTreeMap::new();
    for (bit, column) in (0..).zip(map.columns) {
        for to in (0..32).filter(|to| column >> to & 1 == 1) {
            *distances.entry(to - bit).or_default() |= 1 << bit;
        }
    }
    let moved = distances.into_iter().map(|(distance, mask)| {
        let bits = if mask == 31 { "lane".to_owned() } else { format!("(lane & {mask:#x})") };
        match distance {
            0 => bits,
            1.. => format!("({bits} << {distance})"),
            _ => format!("({bits} >> {})", -distance),
        }
    });
    let mut terms: Vec<String> = moved.collect();
    if map.offset != 0 || terms.is_empty() {
        terms.push(if map.offset < 10 { map.offset.to_string() } else { format!("{:#x}", map.offset) });
    }
    terms
}

/// So many of something.
fn many(count: usize, what: &str) -> String {
    match (count, what.split_once(' ')) {
        (1, _) => format!("1 {what}"),
        // The first word of `part of addresses` takes the plural, the last one of `source lane`.
        (_, Some((first, rest))) if rest.starts_with("of ") => format!("{count} {first}s {rest}"),
        _ => format!("{count} {what}s"),
    }
}

/// The source so far.
struct Source {
    text: String,
    /// Numbers of the lane-dependent parts of addresses.
    bases: BTreeMap<[u32; 5], usize>,
    /// XORed addresses that are there.
    exchanged: BTreeSet<(usize, u32)>,
}

impl Source {
    fn line(&mut self, indent: usize, text: &str) {
        self.text.push_str(&"    ".repeat(indent));
        self.text.push_str(text);
        self.text.push('\n');
    }

    /// A variable that is the XOR of terms.
    fn sum(&mut self, name: &str, terms: &[String]) {
        // One term alone stands without its parentheses.
        let bare = |term: &str| term.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')).map(str::to_owned);
        let flat = match terms {
            [one] => bare(one).unwrap_or_else(|| one.clone()),
            many => many.join(" ^ "),
        };
        if format!("    let {name} = {flat};").len() <= WIDTH {
            self.line(1, &format!("let {name} = {flat};"));
        } else if format!("        {flat};").len() <= WIDTH {
            self.line(1, &format!("let {name} ="));
            self.line(2, &format!("{flat};"));
        } else {
            for (at, term) in terms.iter().enumerate() {
                let start = if at == 0 { format!("let {name} = {term}") } else { format!("^ {term}") };
                let end = if at + 1 == terms.len() { ";" } else { "" };
                self.line(if at == 0 { 1 } else { 2 }, &format!("{start}{end}"));
            }
        }
    }

    fn documentation(&mut self, program: &Program, emission: &Emission<'_>) {
        let (inputs, outputs) = (many(program.inputs, "register"), many(program.outputs.len(), "register"));
        let size = if inputs == outputs { inputs } else { format!("{inputs}, {outputs} afterwards,") };
        let setup = program.setup();
        let once = [
            (setup.flags, "predicate"),
            (setup.selectors, "selector"),
            (setup.sources, "source lane"),
            (setup.bases, "part of addresses"),
        ];
        let once: Vec<String> =
            once.iter().filter(|part| part.0 > 0).map(|&(count, what)| many(count as usize, what)).collect();
        let mut doc = vec![
            format!("Moves an array of {size} a lane from one layout to another."),
            String::new(),
            "# Layout".into(),
            format!("- before: `{}`", emission.from),
            format!("- after: `{}`", emission.to),
            String::new(),
            "# PTX".into(),
            format!("{}.", program.counts()),
        ];
        if !once.is_empty() {
            doc.push(format!("Computed once beside them: {}.", once.join(", ")));
        }
        doc.extend(emission.bound.map(|bound| format!("Bound: {bound}.")));
        if program
            .instructions
            .iter()
            .any(|each| !matches!(each, Instruction::Select { .. } | Instruction::Permute { .. }))
        {
            doc.extend([String::new(), "# Safety".into(), "All 32 lanes of the warp execute it together.".into()]);
        }
        if program.shared_bytes > 0 {
            let words = program.shared_bytes.div_ceil(4);
            doc.push(format!(
                "`shared` holds at least {words} values and starts at a multiple of {} bytes; no other warp",
                program.alignment()
            ));
            doc.push(
                "uses it, and this warp's earlier accesses to it are ordered before, its later ones after.".into(),
            );
        }
        for line in doc {
            self.line(0, format!("/// {line}").trim_end());
        }
    }

    /// What is computed once: flags, selectors, source lanes, addresses.
    fn setup(&mut self, program: &Program) {
        let (mut flags, mut selectors) = (BTreeSet::new(), BTreeSet::new());
        let mut sources = BTreeSet::new();
        for instruction in &program.instructions {
            match instruction {
                Instruction::Select { flag, .. } => {
                    flags.insert(*flag);
                }
                Instruction::Permute { selector: Selector::ByLane { flag, zero, one }, .. } => {
                    flags.insert(*flag);
                    selectors.insert((*flag, *zero, *one));
                }
                Instruction::ShuffleIndex { source, .. } => {
                    sources.insert((source.columns, source.offset));
                }
                _ => {}
            }
            if let Some(address) = instruction.address() {
                let number = self.bases.len();
                self.bases.entry(address.columns).or_insert(number);
            }
        }
        if program.uses_lane() {
            self.line(1, "let lane = laneid();");
        }
        for flag in flags {
            let (name, mask) = (flag_name(flag), flag.mask);
            if mask.count_ones() == 1 {
                self.line(1, &format!("let {name} = lane & {mask:#x} != 0;"));
            } else {
                self.line(1, &format!("let {name} = (lane & {mask:#x}).count_ones() % 2 == 1;"));
            }
        }
        for (flag, zero, one) in selectors {
            let (name, flag) = (selector_name(flag, zero, one), flag_name(flag));
            self.line(1, &format!("let {name} = if {flag} {{ {one:#06x} }} else {{ {zero:#06x} }};"));
        }
        for (number, (columns, offset)) in sources.into_iter().enumerate() {
            self.sum(&format!("source_{number}"), &terms(&LaneMap { columns, offset }));
        }
        let mut bases: Vec<_> = self.bases.iter().map(|(&columns, &number)| (number, columns)).collect();
        bases.sort_unstable();
        for (number, columns) in bases {
            let map = LaneMap { columns, offset: 0 };
            let terms = terms(&map);
            let linear = match &terms[..] {
                _ if map.varying() == 0 => String::new(),
                [one] => format!(" + {one}"),
                many => format!(" + ({})", many.join(" ^ ")),
            };
            let whole = format!("let address_{number} = shared.address(0){linear};");
            if 4 + whole.len() <= WIDTH {
                self.line(1, &whole);
            } else {
                self.sum(&format!("linear_{number}"), &terms);
                self.line(1, &format!("let address_{number} = shared.address(0) + linear_{number};"));
            }
        }
    }

    /// An address: a base, XORed if need be, plus an offset.
    fn address(&mut self, map: &LaneMap) -> String {
        let number = self.bases.get(&map.columns).copied().unwrap_or(0);
        let exchanged = map.exchanged();
        let mut name = format!("address_{number}");
        if exchanged != 0 {
            let base = std::mem::replace(&mut name, format!("address_{number}_{exchanged:x}"));
            if self.exchanged.insert((number, exchanged)) {
                self.line(1, &format!("let {name} = {base} ^ {exchanged:#x};"));
            }
        }
        match map.offset ^ exchanged {
            0 => name,
            offset => format!("{name} + {offset}"),
        }
    }

    fn instruction(&mut self, program: &Program, instruction: &Instruction, read: &BTreeSet<Register>) {
        let value = |register: &Register| program.value(*register);
        let list = |registers: &[Register]| registers.iter().map(value).collect::<Vec<_>>().join(", ");
        // Of a load, some results may be of no use.
        let used = |register: &Register| read.contains(register) || program.outputs.contains(register);
        let result = |register: &Register| if used(register) { format!("v{register}") } else { "_".into() };
        let results = |registers: &[Register]| registers.iter().map(result).collect::<Vec<_>>().join(", ");
        let name = intrinsic(instruction).map(|(_, name)| name).unwrap_or_default();
        let vector = |words: usize| if words == 1 { "u32".to_owned() } else { format!("[u32; {words}]") };
        let text = match instruction {
            Instruction::Select { d, flag, zero, one } => {
                format!("let v{d} = {name}({}, {}, {});", flag_name(*flag), value(one), value(zero))
            }
            Instruction::Permute { d, a, b, selector } => {
                let selector = match selector {
                    Selector::Constant(bytes) => format!("{bytes:#06x}"),
                    Selector::ByLane { flag, zero, one } => selector_name(*flag, *zero, *one),
                };
                format!("let v{d} = {name}({}, {}, {selector});", value(a), value(b))
            }
            Instruction::ShuffleXor { d, a, mask } => {
                format!("let v{d} = {name}({}, {mask}, 31, u32::MAX);", value(a))
            }
            Instruction::ShuffleIndex { d, a, source } => {
                let sources: BTreeSet<_> = program
                    .instructions
                    .iter()
                    .filter_map(|each| match each {
                        Instruction::ShuffleIndex { source, .. } => Some((source.columns, source.offset)),
                        _ => None,
                    })
                    .collect();
                let number = sources.iter().position(|each| *each == (source.columns, source.offset)).unwrap_or(0);
                format!("let v{d} = {name}({}, source_{number}, 31, u32::MAX);", value(a))
            }
            Instruction::MoveMatrix { d, a } => format!("let v{d} = {name}({});", value(a)),
            Instruction::StoreShared { address, values } => {
                let (address, kind) = (self.address(address), vector(values.len()));
                let stored = if values.len() == 1 { list(values) } else { format!("[{}]", list(values)) };
                format!("Shared::<{kind}>::from_raw_parts({address}, 1).store(0, {stored});")
            }
            Instruction::LoadShared { d, address } => {
                let (address, kind) = (self.address(address), vector(d.len()));
                let results = if d.len() == 1 { results(d) } else { format!("[{}]", results(d)) };
                format!("let {results} = Shared::<{kind}>::from_raw_parts({address}, 1).load(0);")
            }
            Instruction::StoreMatrix { row, values, .. } => {
                let address = self.address(row);
                format!("{name}({address}, [{}]);", list(values))
            }
            Instruction::LoadMatrix { d, row, .. } => {
                let address = self.address(row);
                format!("let [{}] = {name}({address});", results(d))
            }
            Instruction::WarpBarrier => format!("{name}(u32::MAX);"),
        };
        self.line(1, &text);
    }

    /// An array of short values as the last expression.
    fn array(&mut self, values: &[String]) {
        let flat = format!("[{}]", values.join(", "));
        if 4 + flat.len() <= WIDTH {
            return self.line(1, &flat);
        }
        self.line(1, "[");
        let mut line = String::new();
        for value in values {
            if 8 + line.len() + value.len() + 1 > WIDTH {
                self.line(2, line.trim_end());
                line.clear();
            }
            let _ = write!(line, "{value}, ");
        }
        self.line(2, line.trim_end());
        self.line(1, "]");
    }
}
