//! Conversions of the note's transform, 256 to 512: Z3' to Z3 in several ways, and Y' to Y.

use fringes_layout::Layout;
use fringes_layout::plan::{Costs, Options, plan};
use fringes_layout::program::moves::{local_transpose, warp_transpose};
use fringes_layout::program::{Builder, LaneMap, Register};

use super::list::Conversion;

/// Z3', and Z3.
const Z3: [&str; 2] = [
    "b<->q0  t0 t1 t2 t3 t4<->q1 q2 q3 q4 q5  r<->n2 n1 n0 ReIm",
    "b<->n2  t0 t1 t2 t3 t4<->n1 n0 q3 q4 q5  r<->q0 q1 q2 ReIm",
];
/// The real or the imaginary parts of Z3', and of Z3.
const PART: [&str; 2] =
    ["b<->q0  t0 t1 t2 t3 t4<->q1 q2 q3 q4 q5  r<->n2 n1 n0", "b<->n2  t0 t1 t2 t3 t4<->n1 n0 q3 q4 q5  r<->q0 q1 q2"];
/// Y', and Y.
const Y: [&str; 2] = [
    "b<->q3  t0 t1 t2 t3 t4<->q4 q5 q6 q7 q8  r<->q0 q1 q2 ReIm",
    "b<->ReIm  t0 t1 t2 t3 t4<->q4 q5 q6 q7 q8  r<->q0 q1 q2 q3",
];

/// Neither shared memory nor `movmatrix`.
const SHUFFLES: Options = Options { shared: false, matrix: false, exhaustive: false };
/// Shared memory by words.
const WORDS: Options = Options { shared: true, matrix: false, exhaustive: false };
/// Everything.
const ANY: Options = Options { shared: true, matrix: true, exhaustive: false };

/// What the planner plans: name, what it is, layouts, what the plan may use.
const PLANNED: [(&str, &str, [&str; 2], Options); 5] = [
    ("z3_by_shuffles", "Z3' to Z3 without shared memory.", Z3, SHUFFLES),
    ("z3_by_words", "Z3' to Z3 through shared memory, by words.", Z3, WORDS),
    ("part_by_shuffles", "Real or imaginary parts of Z3' to Z3 without shared memory.", PART, SHUFFLES),
    ("part_by_matrices", "Real or imaginary parts of Z3' to Z3 through shared memory.", PART, ANY),
    ("y", "Y' to Y.", Y, ANY),
];

/// How a program is made from the registers that hold the array: the registers that hold it afterwards.
type Recipe = fn(&mut Builder, Vec<Register>) -> Vec<Register>;

/// What is written out: name, what it is, recipe; all from Z3' to Z3.
const WRITTEN: [(&str, &str, Recipe); 3] = [
    (
        "z3_by_transposes",
        "Z3' to Z3 by a local transpose and two warp transposes, the note's way.",
        |builder, mut x| {
            local_transpose(builder, &mut x, 1, 0);
            warp_transpose(builder, &mut x, 0, 1);
            warp_transpose(builder, &mut x, 1, 2);
            x
        },
    ),
    (
        "z3_by_matrix_loads",
        "Z3' to Z3 through shared memory on every GPU: a local transpose gives a lane rows of 8 elements for `ldmatrix`.",
        |builder, mut x| {
            local_transpose(builder, &mut x, 1, 0); // b<->n2  r<->q0 n1 n0 ReIm
            // A row is q0 to q5 and ReIm, n0 to n2 along it. Of the rows q1 q2 q3 that lanes store together, and of
            // those q3 q4 q5 of a matrix, no two are in the same banks.
            for parts in [0, 1, 8, 9] {
                let offset = 512 * (parts % 2) + 1024 * (parts / 8);
                let row = [0, 2, 4, 6].map(|n| x[(n + parts) as usize]);
                builder.store(LaneMap { columns: [128 | 32, 256 | 64, 16, 32, 64], offset }, &row);
            }
            builder.barrier();
            let mut loaded = vec![0; 16];
            for parts in [0, 1, 8, 9] {
                let offset = 512 * (parts % 2) + 1024 * (parts / 8);
                let row = LaneMap { columns: [16, 32, 64, 128 | 32, 256 | 64], offset };
                for (q, register) in builder.load_matrix(row, 4, false).into_iter().enumerate() {
                    loaded[2 * q + parts as usize] = register;
                }
            }
            loaded
        },
    ),
    (
        "z3_by_matrices",
        "Z3' to Z3 through shared memory by matrices: real and imaginary parts together, in neighbouring registers.",
        |builder, x| {
            // A row is n0 to n2, q0 to q2 and ReIm, q3 to q5 along it. Of the rows of a matrix, whether by q or by n,
            // no two are in the same banks.
            for n in [0, 2, 4, 6] {
                let row = LaneMap { columns: [128 | 16, 256 | 32, 512 | 64, 1024, 16], offset: 16 * n };
                let n = n as usize;
                builder.store_matrix(row, &[x[n], x[n + 8], x[n + 1], x[n + 9]], true);
            }
            builder.barrier();
            let mut loaded = vec![0; 16];
            for parts in [0, 4, 8, 12] {
                let offset = (512 | 64) * (parts / 4 % 2) + 1024 * (parts / 8);
                let row = LaneMap { columns: [16, 32, 64, 128 | 16, 256 | 32], offset };
                for (q, register) in builder.load_matrix(row, 4, true).into_iter().enumerate() {
                    loaded[q + parts as usize] = register;
                }
            }
            loaded
        },
    ),
];

/// The conversions.
pub(super) fn conversions() -> Result<Vec<Conversion>, String> {
    let parse = |[from, to]: [&str; 2]| {
        let [from, to] = [from, to].map(|text| Layout::parse(text).map_err(|error| format!("{text}: {error}")));
        Ok::<_, String>((from?, to?))
    };
    let costs = Costs::H200;
    let planned = PLANNED.iter().map(|&(name, what, layouts, options)| {
        let (from, to) = parse(layouts)?;
        let plan = plan(&from, &to, &costs, &options).map_err(|error| format!("{name}: {error}"))?;
        let bound = format!("{:.2} SM-cycles; this takes {:.2} ({})", plan.bound.any, plan.cost, costs.name);
        Ok(Conversion { name, what, from, to, program: plan.program, bound: Some(bound) })
    });
    let written = WRITTEN.iter().map(|&(name, what, recipe)| {
        let (from, to) = parse(Z3)?;
        let mut builder = Builder::new(16);
        let x = builder.inputs();
        let registers = recipe(&mut builder, x);
        Ok(Conversion { name, what, from, to, program: builder.finish(&registers), bound: None })
    });
    planned.chain(written).collect()
}
