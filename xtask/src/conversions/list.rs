//! The list of conversions.

use fringes_layout::Layout;
use fringes_layout::plan::{Costs, Options, plan};
use fringes_layout::program::{Builder, LaneMap, Program, Register, moves};

/// A conversion and its program.
pub(crate) struct Conversion {
    /// Name of the function.
    pub(crate) name: &'static str,
    /// What it is, one sentence.
    pub(crate) what: &'static str,
    /// The layout before.
    pub(crate) from: Layout,
    /// The layout afterwards.
    pub(crate) to: Layout,
    /// The program.
    pub(crate) program: Program,
    /// What no program can be cheaper than.
    pub(crate) bound: Option<String>,
}

/// How a program is made from the registers that hold the array: the registers that hold it afterwards.
type Recipe = fn(&mut Builder, Vec<Register>) -> Vec<Register>;

/// Conversions that the planner plans: name, what it is, layout before, layout afterwards, what the plan may use.
const PLANNED: &[(&str, &str, &str, &str, Options)] = &[
    (
        "z3_primed_to_z3",
        "Z3' to Z3 of the transform from 256 to 512.",
        "b<->q0  t0 t1 t2 t3 t4<->q1 q2 q3 q4 q5  r<->n2 n1 n0 ReIm",
        "b<->n2  t0 t1 t2 t3 t4<->n1 n0 q3 q4 q5  r<->q0 q1 q2 ReIm",
        ANY,
    ),
    (
        "z3_primed_to_z3_by_shuffles",
        "Z3' to Z3 of the transform from 256 to 512, without shared memory.",
        "b<->q0  t0 t1 t2 t3 t4<->q1 q2 q3 q4 q5  r<->n2 n1 n0 ReIm",
        "b<->n2  t0 t1 t2 t3 t4<->n1 n0 q3 q4 q5  r<->q0 q1 q2 ReIm",
        SHUFFLES,
    ),
    (
        "y_primed_to_y",
        "Y' to Y of the transform from 256 to 512.",
        "b<->q3  t0 t1 t2 t3 t4<->q4 q5 q6 q7 q8  r<->q0 q1 q2 ReIm",
        "b<->ReIm  t0 t1 t2 t3 t4<->q4 q5 q6 q7 q8  r<->q0 q1 q2 q3",
        ANY,
    ),
    (
        "z3_primed_to_z3_by_words",
        "Z3' to Z3 of the transform from 256 to 512, through shared memory without matrix instructions.",
        "b<->q0  t0 t1 t2 t3 t4<->q1 q2 q3 q4 q5  r<->n2 n1 n0 ReIm",
        "b<->n2  t0 t1 t2 t3 t4<->n1 n0 q3 q4 q5  r<->q0 q1 q2 ReIm",
        WORDS,
    ),
    (
        "cycle_of_three",
        "The bit of the half goes to a register, that of the register to a lane, that of the lane to the half.",
        "b<->n0  t0 t1 t2 t3 t4<->n1 n2 n3 n4 n5  r<->n6 n7",
        "b<->n1  t0 t1 t2 t3 t4<->n6 n2 n3 n4 n5  r<->n0 n7",
        ANY,
    ),
    (
        "lanes_reversed",
        "The bits of the lane in the opposite order, two of them inverted.",
        "b<->n0  t0 t1 t2 t3 t4<->n1 n2 n3 n4 n5  r<->n6",
        "b<->n0  t0 t1 t2 t3 t4<->n5 n4 n3 n2 n1  r<->n6 + n1^n3",
        ANY,
    ),
    (
        "matrices_transposed",
        "Rows and columns of 8 x 8 matrices exchanged.",
        "b<->j0  t0 t1 t2 t3 t4<->j1 j2 i0 i1 i2  r<->m0 m1",
        "b<->i0  t0 t1 t2 t3 t4<->i1 i2 j0 j1 j2  r<->m0 m1",
        ANY,
    ),
    (
        "matrices_transposed_by_shuffles",
        "Rows and columns of 8 x 8 matrices exchanged, without `movmatrix` and shared memory.",
        "b<->j0  t0 t1 t2 t3 t4<->j1 j2 i0 i1 i2  r<->m0 m1",
        "b<->i0  t0 t1 t2 t3 t4<->i1 i2 j0 j1 j2  r<->m0 m1",
        SHUFFLES,
    ),
    (
        "bytes_transposed",
        "Squares of 4 x 4 bytes, one register a row, transposed.",
        "b<->n0 n1  t0 t1 t2 t3 t4<->n4 n5 n6 n7 n8  r<->n2 n3",
        "b<->n2 n3  t0 t1 t2 t3 t4<->n4 n5 n6 n7 n8  r<->n0 n1",
        ANY,
    ),
    (
        "bytes_to_lanes",
        "Elements of 8 bits: the bit of the odd byte changes places with one of the lane.",
        "b<->n0 n1  t0 t1 t2 t3 t4<->n4 n5 n6 n7 n8  r<->n2 n3",
        "b<->n6 n1  t0 t1 t2 t3 t4<->n4 n5 n0 n7 n8  r<->n2 n3",
        ANY,
    ),
    (
        "rows_to_fragments",
        "Rows of 8 elements a lane to fragments of matrices.",
        "b<->j0  t0 t1 t2 t3 t4<->i0 i1 i2 m0 m1  r<->j1 j2",
        "b<->j0  t0 t1 t2 t3 t4<->j1 j2 i0 i1 i2  r<->m0 m1",
        ANY,
    ),
    (
        "transposed_fragments_to_rows",
        "Fragments of transposed matrices to rows of 8 elements a lane.",
        "b<->i0  t0 t1 t2 t3 t4<->i1 i2 j0 j1 j2  r<->m0 m1",
        "b<->j0  t0 t1 t2 t3 t4<->i0 i1 i2 m0 m1  r<->j1 j2",
        ANY,
    ),
    (
        "sums_of_bits",
        "Bits of the lane added to those of the register and the half, and one inverted.",
        "b<->n0  t0 t1 t2 t3 t4<->n1 n2 n3 n4 n5  r<->n6 n7 n8",
        "b<->n0  t0 t1 t2 t3 t4<->n1^n6 n0^n2 n3^n7^n8 n4^n7^n8 n5  r<->n6 n7 n8 + n5",
        ANY,
    ),
    (
        "broadcast",
        "Both halves of the warp get what the two hold together.",
        "b<->n0  t0 t1 t2 t3 t4<->n1 n2 n3 n4 n5  r<->n6",
        "b<->n0  t0 t1 t2 t3 t4<->n1 n2 n3 n4 0  r<->n6 n5",
        ANY,
    ),
];

/// Everything that there is.
const ANY: Options = Options { shared: true, matrix: true, exhaustive: false };
/// Shared memory by words alone.
const WORDS: Options = Options { shared: true, matrix: false, exhaustive: false };
/// Neither shared memory nor `movmatrix`.
const SHUFFLES: Options = Options { shared: false, matrix: false, exhaustive: false };

/// Conversions whose programs are written out, so that every kind of instruction is run: name, what it is, layout
/// before, layout afterwards, recipe.
const WRITTEN: &[(&str, &str, &str, &str, Recipe)] = &[
    (
        "z3_primed_to_z3_by_transposes",
        "Z3' to Z3 of the transform from 256 to 512: a local transpose and two warp transposes.",
        "b<->q0  t0 t1 t2 t3 t4<->q1 q2 q3 q4 q5  r<->n2 n1 n0 ReIm",
        "b<->n2  t0 t1 t2 t3 t4<->n1 n0 q3 q4 q5  r<->q0 q1 q2 ReIm",
        |builder, mut x| {
            moves::local_transpose(builder, &mut x, 1, 0);
            moves::warp_transpose(builder, &mut x, 0, 1);
            moves::warp_transpose(builder, &mut x, 1, 2);
            x
        },
    ),
    (
        "bytes_to_lanes_by_transposes",
        "Elements of 8 bits: the bit of the odd byte goes to a lane, through a register.",
        "b<->n0 n1  t0 t1 t2 t3 t4<->n4 n5 n6 n7 n8  r<->n2 n3",
        "b<->n6 n1  t0 t1 t2 t3 t4<->n4 n5 n0 n7 n8  r<->n2 n3",
        |builder, mut x| {
            moves::local_transpose(builder, &mut x, 0, 0);
            moves::warp_transpose(builder, &mut x, 2, 0);
            moves::local_transpose(builder, &mut x, 0, 0);
            x
        },
    ),
    (
        "lanes_reversed_through_memory",
        "The bits of the lane in the opposite order by wide stores and loads, swizzled so that both are free of conflicts.",
        "b<->n0  t0 t1 t2 t3 t4<->n3 n4 n5 n6 n7  r<->n1 n2",
        "b<->n0  t0 t1 t2 t3 t4<->n7 n6 n5 n4 n3  r<->n1 n2",
        |builder, x| {
            builder.store(LaneMap { columns: [16, 32, 64, 128 | 32, 256 | 16], offset: 0 }, &x);
            builder.barrier();
            builder.load(LaneMap { columns: [256 | 16, 128 | 32, 64, 32, 16], offset: 0 }, 4)
        },
    ),
    (
        "registers_to_lanes_through_memory",
        "Two bits of the register exchanged with two of the lane by a wide store and narrow loads, whose addresses take XORs.",
        "b<->n0  t0 t1 t2 t3 t4<->n3 n4 n5 n6 n7  r<->n1 n2",
        "b<->n0  t0 t1 t2 t3 t4<->n1 n2 n5 n6 n7  r<->n3 n4",
        |builder, x| {
            builder.store(LaneMap { columns: [16, 32, 64, 128 | 16, 256 | 32], offset: 0 }, &x);
            builder.barrier();
            let address = |offset| LaneMap { columns: [4, 8, 64, 128 | 16, 256 | 32], offset };
            [0, 16, 32, 48].iter().flat_map(|&offset| builder.load(address(offset), 1)).collect()
        },
    ),
    (
        "rows_to_fragments_by_matrix_loads",
        "Rows of 8 elements a lane to fragments of matrices, by wide stores and `ldmatrix`.",
        "b<->j0  t0 t1 t2 t3 t4<->i0 i1 i2 m0 m1  r<->j1 j2",
        "b<->j0  t0 t1 t2 t3 t4<->j1 j2 i0 i1 i2  r<->m0 m1",
        |builder, x| {
            builder.store(ROWS, &x);
            builder.barrier();
            builder.load_matrix(ROWS, 4, false)
        },
    ),
    (
        "rows_to_transposed_fragments_by_matrix_loads",
        "Rows of 8 elements a lane to fragments of transposed matrices, by wide stores and `ldmatrix.trans`.",
        "b<->j0  t0 t1 t2 t3 t4<->i0 i1 i2 m0 m1  r<->j1 j2",
        "b<->i0  t0 t1 t2 t3 t4<->i1 i2 j0 j1 j2  r<->m0 m1",
        |builder, x| {
            builder.store(ROWS, &x);
            builder.barrier();
            builder.load_matrix(ROWS, 4, true)
        },
    ),
    (
        "fragments_to_rows_by_matrix_stores",
        "Fragments of matrices to rows of 8 elements a lane, by `stmatrix` and wide loads.",
        "b<->j0  t0 t1 t2 t3 t4<->j1 j2 i0 i1 i2  r<->m0 m1",
        "b<->j0  t0 t1 t2 t3 t4<->i0 i1 i2 m0 m1  r<->j1 j2",
        |builder, x| {
            builder.store_matrix(ROWS, &x, false);
            builder.barrier();
            builder.load(ROWS, 4)
        },
    ),
    (
        "transposed_fragments_to_rows_by_matrix_stores",
        "Fragments of transposed matrices to rows of 8 elements a lane, by `stmatrix.trans` of two and wide loads.",
        "b<->i0  t0 t1 t2 t3 t4<->i1 i2 j0 j1 j2  r<->m0 m1",
        "b<->j0  t0 t1 t2 t3 t4<->i0 i1 i2 m0 m1  r<->j1 j2",
        |builder, x| {
            builder.store_matrix(ROWS, &x[..2], true);
            builder.store_matrix(LaneMap { offset: 256, ..HALF_OF_ROWS }, &x[2..], true);
            builder.barrier();
            builder.load(ROWS, 4)
        },
    ),
];

/// One row of 16 bytes a lane.
const ROWS: LaneMap = LaneMap { columns: [16, 32, 64, 128, 256], offset: 0 };
/// The rows of two matrices, those of the upper 16 lanes of no use.
const HALF_OF_ROWS: LaneMap = LaneMap { columns: [16, 32, 64, 128, 0], offset: 0 };

/// The conversions.
pub(crate) fn conversions() -> Result<Vec<Conversion>, String> {
    let parse = |text: &str| Layout::parse(text).map_err(|error| format!("{text}: {error}"));
    let costs = Costs::H200;
    let planned = PLANNED.iter().map(|(name, what, from, to, options)| {
        let (from, to) = (parse(from)?, parse(to)?);
        let plan = plan(&from, &to, &costs, options).map_err(|error| format!("{name}: {error}"))?;
        let bound = format!(
            "{:.2} SM-cycles, {:.2} without shared memory; this takes {:.2} ({})",
            plan.bound.any, plan.bound.registers, plan.cost, costs.name
        );
        Ok(Conversion { name, what, from, to, program: plan.program, bound: Some(bound) })
    });
    let written = WRITTEN.iter().map(|&(name, what, from, to, recipe)| {
        let (from, to) = (parse(from)?, parse(to)?);
        let registers = from.physical().iter().filter(|bit| bit.stem() == "r").count();
        let mut builder = Builder::new(1 << registers);
        let x = builder.inputs();
        let outputs = recipe(&mut builder, x);
        Ok(Conversion { name, what, from, to, program: builder.finish(&outputs), bound: None })
    });
    planned.chain(written).collect()
}
