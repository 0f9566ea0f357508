//! What ranks with a GPU each check over NCCL: exchanges, and instruments that are spread over the ranks against one.
//!
//! ```text
//! cargo build --package fringes-stream --features nccl --example nccl_suite
//! target/debug/examples/nccl_suite               # a thread for each GPU
//!
//! cargo build --package fringes-stream --features nccl,mpi --example nccl_suite
//! mpirun -n 2 target/debug/examples/nccl_suite --mpi    # a process for each GPU
//! ```
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout, missing_docs)]

#[path = "../tests/suite/mod.rs"]
#[allow(dead_code, unreachable_pub, reason = "shared with the tests of threads")]
mod suite;

use std::time::{Duration, Instant};

use fringes_backend::Backend;
use fringes_gpu::{Buffer, Device, device_count};
use fringes_stream::exchange::{Blocks, BlocksMut, ExchangeError, NcclRanks, Ranks};

const TIMEOUT: Duration = Duration::from_secs(120);

/// Bytes of a block to each other rank, and how often it is sent, where the rate is measured.
const BLOCK: usize = 64 << 20;
const ROUNDS: usize = 50;

/// GB/s that come to a rank, from GPU to GPU, a block after the other.
fn rate(ranks: &impl Ranks, device: &Device, lane: usize) -> f64 {
    let (rank, count) = (ranks.rank(), ranks.ranks());
    let stream = device.new_stream().unwrap();
    let mut lane = ranks.open(lane).unwrap();
    let others = |of: usize| (of != rank).then(|| Buffer::<u8>::zeroed(&stream, BLOCK).unwrap());
    let sent: Vec<_> = (0..count).map(others).collect();
    let mut received: Vec<_> = (0..count).map(others).collect();
    let mut once = || {
        let send = sent.iter().map(|of| of.as_ref().map(Buffer::view)).collect();
        let receive = received.iter_mut().map(|of| of.as_mut().map(Buffer::view_mut)).collect();
        lane.queue(&stream, send, receive).unwrap();
        lane.wait(&stream).unwrap();
    };
    (0..3).for_each(|_| once());
    let start = Instant::now();
    (0..ROUNDS).for_each(|_| once());
    (ROUNDS * BLOCK * (count - 1)) as f64 / start.elapsed().as_secs_f64() / 1e9
}

/// Checks that a rank that sends nothing ends an exchange with an error, and nothing is left under way.
fn silent(ranks: impl Ranks + 'static, device: &Device) {
    let ranks = NcclRanks::new(ranks, device).with_timeout(Duration::from_secs(2));
    let (rank, count) = (ranks.rank(), ranks.ranks());
    let stream = device.new_stream().unwrap();
    let mut lane = ranks.open(0).unwrap();
    // The first exchange connects them, and has no end without the other rank.
    let block = vec![rank as u8; count];
    let mut received = vec![0; count];
    let counts = vec![1; count];
    lane.all_to_all(Blocks { bytes: &block, counts: &counts }, BlocksMut { bytes: &mut received, counts: &counts })
        .unwrap();
    if rank == 0 {
        let mut room = Buffer::<u8>::zeroed(&stream, BLOCK).unwrap();
        let mut view = Some(room.view_mut());
        let receive = (0..count).map(|from| if from == 1 { view.take() } else { None }).collect();
        lane.queue(&stream, (0..count).map(|_| None).collect(), receive).unwrap();
        assert_eq!(lane.wait(&stream), Err(ExchangeError::Silent { ranks: Vec::new(), seconds: 2 }));
        assert_eq!(room.to_vec(&stream).unwrap(), vec![0; BLOCK]);
    }
    let mut all = vec![0; count];
    lane.all_gather(&[1], &mut all).unwrap();
}

/// What a rank checks. `next` gives its ranks of a job of its own each time.
fn check<R: Ranks + 'static>(device: &Device, mut next: impl FnMut() -> R) {
    let backend = Backend::on(device.clone());
    let mut ranks = || NcclRanks::new(next(), device).with_timeout(TIMEOUT);
    let start = Instant::now();
    let first = ranks();
    suite::exchange(&first);
    let exchanged = start.elapsed();
    let rate = rate(&first, device, 2);
    suite::instrument(&backend, &mut ranks);
    if first.ranks() > 1 {
        suite::told(&backend, ranks());
        silent(next(), device);
    } else {
        println!("changes told to other ranks and silent ranks: not checked, there is one");
    }
    let (rank, count) = (first.rank(), first.ranks());
    println!(
        "rank {rank} of {count} passed on {}: {rate:.0} GB/s come to it, exchanges {:.1} s, all {:.1} s",
        device.info().name,
        exchanged.as_secs_f64(),
        start.elapsed().as_secs_f64()
    );
}

/// Ranks that are the processes of an MPI job, each with the GPU of its number.
#[cfg(feature = "mpi")]
fn of_processes() {
    let mpi = fringes_stream::exchange::Mpi::start().unwrap();
    let ranks = || mpi.ranks().with_timeout(TIMEOUT);
    let gpu = Device::open(ranks().rank() % device_count().unwrap()).unwrap();
    check(&gpu, ranks);
}

#[cfg(not(feature = "mpi"))]
fn of_processes() {
    panic!("expected a program built with the feature mpi");
}

fn main() {
    // A failed check on one rank must not leave the others waiting.
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        hook(info);
        std::process::abort();
    }));
    if std::env::args().any(|argument| argument == "--mpi") {
        return of_processes();
    }
    let gpus = device_count().unwrap();
    suite::on_threads(gpus, |_, rank| rank, |rank, next| check(&Device::open(rank).unwrap(), next));
}
