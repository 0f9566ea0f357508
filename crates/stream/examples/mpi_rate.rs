//! Bytes a second of the corner turn's exchange over MPI, beside what a bare `MPI_Alltoallv` carries.
//!
//! ```text
//! cargo build --release --package fringes-stream --features mpi --example mpi_rate
//! mpirun -n 2 target/release/examples/mpi_rate [bytes of a block to each rank] [seconds]
//! ```
#![allow(clippy::unwrap_used, clippy::print_stdout, missing_docs)]

use std::sync::Barrier;
use std::time::Instant;

use fringes_stream::exchange::{Blocks, BlocksMut, Mpi, Ranks};
use mpi::collective::CommunicatorCollectives;
use mpi::datatype::{Partition, PartitionMut};
use mpi::topology::{Communicator, SimpleCommunicator};

/// Times some rounds, the slowest rank's; the ranks begin together.
fn seconds(world: &SimpleCommunicator, mut run: impl FnMut()) -> f64 {
    world.barrier();
    let start = Instant::now();
    run();
    world.barrier();
    start.elapsed().as_secs_f64()
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let block: usize = arguments.next().map_or(4 << 20, |text| text.parse().unwrap());
    let about: f64 = arguments.next().map_or(2.0, |text| text.parse().unwrap());
    let mpi = Mpi::start().unwrap();
    let ranks = mpi.ranks();
    let count = ranks.ranks();
    let world = SimpleCommunicator::world();
    let (sent, mut received) = (vec![1u8; block * count], vec![0u8; block * count]);
    let mpi_counts = vec![block as i32; count];
    let places: Vec<i32> = (0..count).map(|rank| (rank * block) as i32).collect();
    let mut bare = |rounds: usize| {
        seconds(&world, || {
            for _ in 0..rounds {
                let from = Partition::new(&sent[..], &mpi_counts[..], &places[..]);
                let mut to = PartitionMut::new(&mut received[..], &mpi_counts[..], &places[..]);
                world.all_to_all_varcount_into(&from, &mut to);
            }
        })
    };
    bare(3);
    let mut rounds = [(about / bare(3) * 3.0).clamp(3.0, 1e5) as i32; 1];
    // The same on all ranks.
    mpi::traits::Root::broadcast_into(&world.process_at_rank(0), &mut rounds[..]);
    let rounds = rounds[0] as usize;
    let counts = vec![block; count];
    // Without the opening of lanes and the first use of memory.
    let lanes = |number: usize, first: usize| {
        let ready = Barrier::new(number + 1);
        std::thread::scope(|scope| {
            for lane in 0..number {
                let (ranks, counts, ready) = (&ranks, &counts, &ready);
                scope.spawn(move || {
                    let mut exchange = ranks.open(first + lane).unwrap();
                    let (sent, mut received) = (vec![1u8; block * count], vec![0u8; block * count]);
                    let mut once = || {
                        let send = Blocks { bytes: &sent, counts };
                        exchange.all_to_all(send, BlocksMut { bytes: &mut received, counts }).unwrap();
                    };
                    once();
                    ready.wait();
                    ready.wait();
                    (0..rounds / number).for_each(|_| once());
                    ready.wait();
                });
            }
            ready.wait();
            seconds(&world, || {
                ready.wait();
                ready.wait();
            })
        })
    };
    // Turn about, so that what else runs on the machine is in all of them.
    let mut times = [f64::INFINITY; 3];
    for repeat in 0..3 {
        times[0] = times[0].min(bare(rounds));
        times[1] = times[1].min(lanes(1, repeat * 3));
        times[2] = times[2].min(lanes(2, repeat * 3 + 1) * rounds as f64 / (rounds / 2 * 2) as f64);
    }
    if ranks.rank() == 0 {
        let bytes = (rounds * block * (count - 1) * count) as f64;
        println!("{count} ranks, {block} bytes to each, {rounds} rounds, {}", mpi.library());
        for (name, time) in ["bare MPI_Alltoallv", "one lane", "two lanes"].iter().zip(times) {
            println!("{name:<20} {:7.3} GB/s {:5.1} %", bytes / time / 1e9, 100.0 * times[0] / time);
        }
    }
}
