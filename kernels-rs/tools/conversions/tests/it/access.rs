//! The costs that `layout-core` works out from an access's addresses, against those that the emulator counts when a
//! warp makes it.

use fringes_device::matrix::{ldmatrix_x1_shared_b16, ldmatrix_x2_shared_b16, ldmatrix_x4_shared_b16};
use fringes_emulator::memory::{self, Space};
use fringes_emulator::{GlobalMemory, Launch, Report, thread};
use fringes_layout::access::{Request, Width};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Bytes that addresses reach.
const BYTES: u64 = 4096;

/// Random requests within [`BYTES`], with small steps as often as large ones.
fn requests(seed: u64) -> impl Iterator<Item = Request> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    (0..300).map(move |_| {
        let width = Width::ALL[random.random_range(0..5)];
        let mut address = || random.random_range(0..BYTES) >> random.random_range(0..12) & !(width.bytes() - 1);
        Request::new([0; 5].map(|_| address()), address(), width).unwrap()
    })
}

fn run(memory: &mut GlobalMemory, kernel: impl Fn()) -> Report {
    Launch::new("kernel()", [1, 1, 1], [32, 1, 1]).shared_bytes(BYTES as u32).run(memory, kernel)
}

fn wavefronts(report: &Report) -> (u64, u64) {
    (report.shared_wavefronts, report.shared_wavefronts_ideal)
}

#[test]
fn wavefronts_of_shared_memory_are_those_that_the_emulator_counts() {
    let mut conflicts = 0;
    for request in requests(1) {
        let (address, bytes) = (|| request.address(thread::lane() as usize), request.width().bytes() as usize);
        let report = run(&mut GlobalMemory::new(), || {
            memory::load(Space::Shared, address(), &mut [0; 16][..bytes]);
        });
        let cost = request.shared();
        assert_eq!(wavefronts(&report), (cost.wavefronts.into(), cost.ideal.into()), "{request:?}");
        conflicts += usize::from(cost.degree > 1);
        if (2..=8).contains(&bytes) {
            let report = run(&mut GlobalMemory::new(), || {
                memory::atomic(Space::Shared, address(), bytes, |value| value);
            });
            let cost = request.atomic();
            assert_eq!(wavefronts(&report), (cost.wavefronts.into(), cost.ideal.into()), "{request:?}");
        }
    }
    assert!(conflicts > 0);
}

#[test]
fn sectors_of_global_memory_are_those_that_the_emulator_counts() {
    for request in requests(2) {
        let mut memory = GlobalMemory::new();
        let buffer = memory.upload(&vec![0u8; BYTES as usize]);
        let report = run(&mut memory, || {
            let address = buffer.address + request.address(thread::lane() as usize);
            memory::load(Space::Global, address, &mut [0; 16][..request.width().bytes() as usize]);
        });
        let cost = request.global();
        let expected = (cost.sectors.into(), cost.ideal.into());
        assert_eq!((report.global_sectors, report.global_sectors_ideal), expected, "{request:?}");
    }
}

#[test]
fn wavefronts_of_matrices_are_those_that_the_emulator_counts() {
    for request in requests(3).filter(|request| request.width() == Width::B16) {
        let row = || request.address(thread::lane() as usize) as u32;
        for matrix_bits in 0..3 {
            // SAFETY: one whole warp; the rows lie in the shared memory.
            let report = run(&mut GlobalMemory::new(), || unsafe {
                match matrix_bits {
                    0 => drop(ldmatrix_x1_shared_b16(row())),
                    1 => drop(ldmatrix_x2_shared_b16(row())),
                    _ => drop(ldmatrix_x4_shared_b16(row())),
                }
            });
            let cost = request.matrices(matrix_bits).unwrap();
            let expected = (cost.wavefronts.into(), cost.ideal.into());
            assert_eq!(wavefronts(&report), expected, "{request:?}, {matrix_bits}");
        }
    }
}
