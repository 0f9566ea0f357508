//! Clusters: blocks that run at the same time and reach each other's shared memory. For the twins of intrinsics.
//!
//! The threads of all blocks of a cluster run together, those of block (rank) 0 first. Their shared memory is one
//! region, in which each block has a part. A cluster address has one more than the rank of another block in its highest
//! byte; addresses of the own block are those that it has there.

use std::panic::Location;

use crate::FaultKind;
use crate::machine::{Machine, State, suspend, with};
use crate::order::Past;
use crate::warp::shorten;

/// Shared memory of a block in the region: a multiple of this.
const PART: usize = 1024;
/// Of addresses within the emulator: another block's shared memory, whose rank is in the byte below.
const REMOTE: u64 = 1 << 32;
const RANK_SHIFT: u32 = 24;

/// The barrier of a cluster.
#[derive(Debug, Default)]
pub(crate) struct ClusterBarrier {
    phase: u64,
    /// Threads that have arrived in the current phase.
    arrived: usize,
    /// What those who released did before.
    past: Past,
    /// The same, of the phase completed last.
    completed: Past,
}

/// What a thread has done at the barrier of its cluster.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct AtCluster {
    /// The phase that it has arrived in and not waited for.
    phase: Option<u64>,
    /// It has waited once, so that all blocks have started.
    met: bool,
}

/// `mapa`: the cluster address of what has this address in the block of this rank.
#[track_caller]
pub fn map_address(address: u32, rank: u32) -> u32 {
    let at = Location::caller();
    with(|m| {
        let blocks = m.cluster_blocks();
        if rank >= blocks {
            m.fault(FaultKind::Operand, at, format!("rank {rank} in a cluster of {blocks} blocks"));
            return address;
        }
        if rank == m.rank_of(m.current) { address } else { (rank + 1) << RANK_SHIFT | address }
    })
}

/// `ld.shared::cluster` of 1 to 16 bytes.
#[track_caller]
pub fn load(address: u32, bytes: &mut [u8]) {
    let at = Location::caller();
    with(|m| {
        let address = m.cluster_address(address);
        m.load(crate::memory::Space::Shared, address, bytes, at);
    });
}

/// `st.shared::cluster` of 1 to 16 bytes.
#[track_caller]
pub fn store(address: u32, bytes: &[u8]) {
    let at = Location::caller();
    with(|m| {
        let address = m.cluster_address(address);
        m.store(crate::memory::Space::Shared, address, bytes, at);
    });
}

/// `barrier.cluster.arrive`, with or without release.
#[track_caller]
pub fn arrive(releases: bool) {
    let at = Location::caller();
    with(|m| m.arrive_at_cluster(releases, at));
}

/// `barrier.cluster.wait`: until all threads of the cluster that have not returned have arrived.
#[track_caller]
pub fn wait() {
    let at = Location::caller();
    while !with(|m| m.wait_for_cluster(at)) {
        suspend();
    }
}

/// `%cluster_ctaid`: index of the block in its cluster.
pub fn block_in_cluster() -> [u32; 3] {
    with(|m| m.block_in_cluster(m.rank_of(m.current)))
}

/// `%cluster_ctarank`.
pub fn rank() -> u32 {
    with(|m| m.rank_of(m.current))
}

/// `%cluster_nctaid`: blocks of a cluster.
pub fn size() -> [u32; 3] {
    with(|m| m.shape.cluster)
}

/// `%clusterid`: index of the cluster in the grid.
pub fn index() -> [u32; 3] {
    with(|m| std::array::from_fn(|axis| m.block[axis] / m.shape.cluster[axis]))
}

impl Machine {
    /// Blocks of a cluster.
    #[inline]
    pub(crate) fn cluster_blocks(&self) -> u32 {
        self.shape.cluster.iter().product()
    }

    /// Threads of a block.
    #[inline]
    pub(crate) fn block_size(&self) -> usize {
        self.shape.block.iter().product::<u32>() as usize
    }

    /// Rank of a thread's block in its cluster.
    #[inline]
    pub(crate) fn rank_of(&self, thread: usize) -> u32 {
        (thread / self.block_size().max(1)) as u32
    }

    fn block_in_cluster(&self, rank: u32) -> [u32; 3] {
        // A launch that is refused may have a zero here.
        let [x, y, _] = self.shape.cluster.map(|blocks| blocks.max(1));
        [rank % x, rank / x % y, rank / (x * y)]
    }

    /// `%ctaid` of a thread.
    pub(crate) fn block_of(&self, thread: usize) -> [u32; 3] {
        let inside = self.block_in_cluster(self.rank_of(thread));
        std::array::from_fn(|axis| self.block[axis] + inside[axis])
    }

    /// Bytes of the region of shared memory that a block has.
    pub(crate) fn shared_part(&self) -> usize {
        (self.shape.shared_bytes as usize).next_multiple_of(PART)
    }

    /// What an address of a cluster instruction means to loads and stores of the running thread.
    pub(crate) fn cluster_address(&self, address: u32) -> u64 {
        match (address >> RANK_SHIFT).checked_sub(1) {
            None => address.into(),
            Some(rank) => self.address_in(rank, address & ((1 << RANK_SHIFT) - 1)),
        }
    }

    /// The address of the same place in the block of this rank.
    pub(crate) fn address_in(&self, rank: u32, address: u32) -> u64 {
        let own = rank == self.rank_of(self.current);
        if own { address.into() } else { REMOTE | u64::from(rank) << RANK_SHIFT | u64::from(address) }
    }

    /// Start of the part of shared memory that an address is in, and the offset in it. That another block cannot be
    /// reached is reported.
    #[inline]
    pub(crate) fn shared_place(&mut self, address: u64, at: &'static Location<'static>) -> (usize, usize) {
        if address & REMOTE == 0 { (self.shared_base, address as usize) } else { self.remote_place(address, at) }
    }

    #[cold]
    fn remote_place(&mut self, address: u64, at: &'static Location<'static>) -> (usize, usize) {
        let (rank, offset) = ((address >> RANK_SHIFT & 0xff) as u32, (address & ((1 << RANK_SHIFT) - 1)) as usize);
        if rank >= self.cluster_blocks() {
            return (0, usize::MAX / 2);
        }
        let size = self.block_size();
        let block = rank as usize * size..(rank as usize + 1) * size;
        if self.threads[block].iter().all(|thread| thread.state == State::Done) {
            let message = format!("shared memory of the block of rank {rank}, all threads of which have returned");
            self.fault(FaultKind::Barrier, at, message);
        } else if !self.thread().at_cluster.met {
            let message = format!(
                "shared memory of the block of rank {rank}, before a barrier of the cluster shows that it has started"
            );
            self.fault(FaultKind::Barrier, at, message);
        }
        (rank as usize * self.shared_part(), offset)
    }

    fn arrive_at_cluster(&mut self, releases: bool, at: &'static Location<'static>) {
        self.clock += 1;
        let (current, phase) = (self.current, self.cluster_barrier.phase);
        let thread = self.thread();
        (thread.at, thread.name) = (at, "barrier.cluster");
        if thread.at_cluster.phase.replace(phase).is_some() {
            let message = "barrier.cluster.arrive: the thread has arrived before and not waited since".into();
            return self.fault(FaultKind::Barrier, at, message);
        }
        if releases {
            self.clocks.release(current, &mut self.cluster_barrier.past);
        }
        self.cluster_barrier.arrived += 1;
        self.complete_cluster();
        self.progress += 1;
    }

    fn wait_for_cluster(&mut self, at: &'static Location<'static>) -> bool {
        self.clock += 1;
        let (current, phase) = (self.current, self.cluster_barrier.phase);
        let thread = self.thread();
        (thread.at, thread.name) = (at, "barrier.cluster.wait");
        match thread.at_cluster.phase {
            None => {
                let message = "barrier.cluster.wait: the thread has not arrived".into();
                self.fault(FaultKind::Barrier, at, message);
                true
            }
            Some(arrived) if arrived < phase => {
                thread.at_cluster = AtCluster { phase: None, met: true };
                self.clocks.acquire(current, &self.cluster_barrier.completed);
                true
            }
            Some(_) => {
                thread.state = State::Cluster;
                false
            }
        }
    }

    /// Completes the phase of the cluster's barrier if all have arrived.
    pub(crate) fn complete_cluster(&mut self) {
        let barrier = &mut self.cluster_barrier;
        if barrier.arrived == 0 || barrier.arrived < self.running {
            return;
        }
        barrier.phase += 1;
        barrier.arrived = 0;
        barrier.completed = std::mem::take(&mut barrier.past);
        for thread in 0..self.threads.len() {
            if self.threads[thread].state == State::Cluster {
                self.wake(thread);
            }
        }
    }

    /// Reports the cluster's barrier if threads wait at it when nothing more can run.
    pub(crate) fn fault_stuck_cluster(&mut self) {
        let waiting = |thread: &usize| self.threads[*thread].state == State::Cluster;
        let Some(first) = (0..self.threads.len()).find(waiting) else { return };
        let others: Vec<_> = (0..self.threads.len())
            .filter(|&thread| self.threads[thread].at_cluster.phase.is_none())
            .map(|t| format!("thread {:?} of block {:?} {}", self.threads[t].index, self.block_of(t), self.activity(t)))
            .collect();
        let message = format!("barrier.cluster: {} came; {}", self.cluster_barrier.arrived, shorten(&others));
        self.fault_of(first, FaultKind::Barrier, self.threads[first].at, message);
    }
}
