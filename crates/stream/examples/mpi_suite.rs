//! What every rank of an MPI job checks: exchanges, and instruments that are spread over the ranks against one call.
//!
//! ```text
//! cargo build --package fringes-stream --features mpi --example mpi_suite
//! mpirun -n 4 target/debug/examples/mpi_suite
//! ```
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout, missing_docs)]

#[path = "../tests/suite/mod.rs"]
#[allow(dead_code, unreachable_pub, reason = "shared with the tests of threads")]
mod suite;

use std::time::Duration;

use fringes_backend::Backend;
use fringes_stream::exchange::{Mpi, Ranks};

fn main() {
    let mpi = Mpi::start().unwrap();
    // A failed check on one rank must not leave the others waiting.
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        hook(info);
        std::process::abort();
    }));
    let ranks = || mpi.ranks().with_timeout(Duration::from_secs(30));
    suite::exchange(&ranks());
    suite::instrument(&Backend::cpu(), ranks);
    if ranks().ranks() > 1 {
        suite::told(&Backend::cpu(), ranks());
    } else {
        println!("changes told to other ranks: not checked, there is one");
    }
    println!("rank {} of {} passed on {}", ranks().rank(), ranks().ranks(), mpi.library());
}
