//! The PTX of every conversion: it has the instructions that the table counts, and no others of their kinds.

use fringes_kernels_tools_conversions::{CONVERSIONS, Conversion, Counts};

const SM_80: &str = include_str!("../../ptx/conversions_sm_80.ptx");
const SM_90A: &str = include_str!("../../ptx/conversions_sm_90a.ptx");

/// The body of a kernel.
fn body<'a>(ptx: &'a str, conversion: &Conversion) -> Option<&'a str> {
    let entry = format!(".entry convert_{}(", conversion.name);
    let (_, rest) = ptx.split_once(&entry)?;
    rest.split_once("\n}").map(|(body, _)| body)
}

/// Instructions of a body whose names begin so; vectors and matrices as many as `of` says.
fn count(body: &str, start: &str, of: impl Fn(&str) -> u64) -> u64 {
    let instructions = body.split([';', '{', '\n']).map(str::trim_start);
    instructions.filter(|instruction| instruction.starts_with(start)).map(of).sum()
}

/// How many matrices an instruction moves: the number behind `.x`.
fn matrices(instruction: &str) -> u64 {
    instruction.split('.').find_map(|part| part.strip_prefix('x')?.parse().ok()).unwrap_or(0)
}

#[test]
fn ptx_has_the_instructions_that_the_table_counts() {
    for conversion in CONVERSIONS {
        for (arch, ptx) in [("sm_80", SM_80), ("sm_90a", SM_90A)] {
            let Some(body) = body(ptx, conversion) else {
                assert!(conversion.needs_sm_90 && arch == "sm_80", "{} is not in the PTX for {arch}", conversion.name);
                continue;
            };
            let permutes = count(body, "prmt", |_| 1);
            let found = Counts {
                // A selector that differs from lane to lane is selected, once.
                select: count(body, "selp", |_| 1) - conversion.selectors,
                // Of source lanes, LLVM may compute a part with permutes (it turns a reversal of bits into one of
                // bytes).
                permute: if conversion.sources > 0 { permutes.min(conversion.counts.permute) } else { permutes },
                shuffle: count(body, "shfl", |_| 1),
                move_matrix: count(body, "movmatrix", |_| 1),
                store: count(body, "st.shared", |_| 1),
                load: count(body, "ld.shared", |_| 1),
                store_matrix: count(body, "stmatrix", matrices),
                load_matrix: count(body, "ldmatrix", matrices),
                barrier: count(body, "bar.warp.sync", |_| 1),
                // XORs also compute what lanes add to addresses, once.
                address: conversion.counts.address,
            };
            assert_eq!(found, conversion.counts, "{} for {arch}", conversion.name);
            assert!(count(body, "xor", |_| 1) >= conversion.counts.address, "{} for {arch}", conversion.name);
            // Selects are no branches: the one that there is asks whether the views hold the array.
            assert_eq!(body.matches("\n\t@").count(), 1, "{} for {arch}", conversion.name);
        }
    }
}
