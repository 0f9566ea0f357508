//! Products of warpgroups: what they compute, and what is found when their rules are broken.

use crate::common;

use common::{get, only, set, write};
use fringes_emulator::block::{
    Arrival, barrier, mbarrier_arrive, mbarrier_expect_bytes, mbarrier_init, mbarrier_test_wait_parity,
};
use fringes_emulator::memory::{Space, bulk_load, fence_mbarrier_init, fence_proxy_async};
use fringes_emulator::thread::{lane, linear_index};
use fringes_emulator::warpgroup::{Elements, Left, Product, commit, fence, hold, multiply, set_registers, wait};
use fringes_emulator::{Buffer, Fault, FaultKind, GlobalMemory, Launch, Report};
use fringes_layout_core::atoms::descriptor::{Descriptor, Swizzle};

/// Columns of `D`.
const N: usize = 16;
/// Shared address of `B`, and of what lies behind it.
const B: u32 = 8192;
const END: u32 = B + 128 * N as u32;

#[track_caller]
fn sync_threads() {
    barrier("bar_sync", 0, None, Arrival::Sync);
}

/// The words of `A` and `B`: rows of 128 bytes.
fn word(i: u32) -> u32 {
    i.wrapping_mul(0x9e37_79b9) ^ i >> 3
}

/// Element of a row in the permutation of 128 bytes.
fn element(row: usize, k: usize) -> i32 {
    i32::from(word((32 * row + k / 4) as u32).to_le_bytes()[k % 4] as i8)
}

/// `A B` over 32 of the 128 bytes of K.
fn expected(row: usize, column: usize, step: usize) -> i32 {
    (0..32).map(|k| element(row, 32 * step + k) * element(64 + column, 32 * step + k)).sum()
}

/// Writes `A` and `B`.
fn place(with_fence: bool) {
    let mut i = linear_index();
    while i < END / 4 {
        set(Swizzle::Bytes128.apply(4 * i) / 4, word(i));
        i += 128;
    }
    if with_fence {
        fence_proxy_async(Some(Space::Shared));
    }
}

fn product(step: u32, accumulate: bool) -> Product {
    let at = |address| Descriptor::new(address, 0, 1024, Swizzle::Bytes128).advance(32 * step);
    Product { elements: Elements::S8, a: Left::Shared(at(0)), b: at(B), transposed: [false; 2], accumulate }
}

/// Runs a kernel of `threads` threads with a buffer for `D`, zeros at first.
fn run(threads: u32, kernel: impl Fn(Buffer<u32>)) -> (Vec<u32>, Report) {
    let mut memory = GlobalMemory::new();
    let d = memory.upload(&[0_u32; 64 * N]);
    let launch = Launch::new("kernel()", [1; 3], [threads, 1, 1]).shared_bytes(32768);
    let report = launch.run(&mut memory, || kernel(d));
    (memory.values(d), report)
}

fn on(kernel: impl Fn(Buffer<u32>)) -> Report {
    run(128, kernel).1
}

/// The only fault, of this kind, at this line, of whichever thread comes first.
#[track_caller]
fn some(report: &Report, kind: FaultKind, line: u32) -> &Fault {
    let thread = report.faults.first().map_or(0, |fault| fault.thread[0]);
    only(report, kind, thread, line)
}

/// Where a register goes.
fn index(register: usize) -> u32 {
    let (thread, lane) = (linear_index() as usize, lane() as usize);
    let row = 16 * (thread / 32) + lane / 4 + 8 * (register / 2 % 2);
    (N * row + 8 * (register / 4) + 2 * (lane % 4) + register % 2) as u32
}

#[track_caller]
fn store(d: Buffer<u32>, registers: &[u32; N / 2]) {
    for (register, &value) in registers.iter().enumerate() {
        write(d, index(register), value);
    }
}

#[test]
fn products_are_summed_over_steps_and_waits() {
    let (got, report) = run(128, |out| {
        place(true);
        sync_threads();
        // Old values are added.
        let mut d: [u32; N / 2] = std::array::from_fn(index);
        fence();
        multiply(product(0, true), &mut d);
        multiply(product(1, true), &mut d);
        commit();
        // The array moves, while products are under way.
        let mut d = Box::new(d);
        multiply(product(2, true), &mut *d);
        commit();
        wait(1);
        multiply(product(3, true), &mut *d);
        commit();
        wait(0);
        hold(&mut *d);
        store(out, &d);
    });
    report.assert_clean();
    for row in 0..64 {
        for column in 0..N {
            let sum: i32 = (0..4).map(|step| expected(row, column, step)).sum();
            assert_eq!(got[N * row + column] as i32, sum + (N * row + column) as i32, "row {row}, column {column}");
        }
    }
}

#[test]
fn sums_are_not_read_before_the_wait() {
    let kernel = |waits: bool, holds: bool| {
        move |out| {
            place(true);
            sync_threads();
            let mut d = [0; N / 2];
            fence();
            multiply(product(0, false), &mut d);
            commit();
            if waits {
                wait(0);
            }
            if holds {
                hold(&mut d);
            }
            write(out, index(5), d[5]);
            wait(0);
        }
    };
    let line = line!() - 4;
    on(kernel(true, true)).assert_clean();
    let report = on(kernel(false, false));
    let fault = some(&report, FaultKind::AsynchronousProduct, line);
    assert!(fault.message.contains("register 5") && fault.message.contains("has not been waited for"), "{fault}");
    let report = on(kernel(true, false));
    let fault = some(&report, FaultKind::AsynchronousProduct, line);
    assert!(fault.message.contains("was not held"), "{fault}");
    let report = on(kernel(false, true));
    assert!(report.faults.iter().any(|fault| fault.line == line - 2 && fault.message.contains("used before it")));
}

#[test]
fn a_wait_that_leaves_groups_pending_leaves_theirs() {
    let kernel = |pending: u32| {
        move |out| {
            place(true);
            sync_threads();
            let (mut first, mut second) = ([0; N / 2], [0; N / 2]);
            fence();
            multiply(product(0, false), &mut first);
            commit();
            multiply(product(1, false), &mut second);
            commit();
            wait(1);
            hold(&mut first);
            store(out, &first);
            wait(pending);
            hold(&mut second);
            wait(0);
        }
    };
    let line = line!() - 4;
    on(kernel(0)).assert_clean();
    some(&on(kernel(1)), FaultKind::AsynchronousProduct, line);
}

#[test]
fn sums_are_not_written_while_products_add_to_them() {
    let kernel = |waits: bool| {
        move |_| {
            place(true);
            sync_threads();
            let mut d = [0; N / 2];
            fence();
            multiply(product(0, false), &mut d);
            commit();
            if waits {
                wait(0);
                hold(&mut d);
            }
            d[3] = 1;
            fence();
            multiply(product(1, true), &mut d);
            commit();
            wait(0);
        }
    };
    let line = line!() - 5;
    on(kernel(true)).assert_clean();
    some(&on(kernel(false)), FaultKind::AsynchronousProduct, line);
}

#[test]
fn registers_are_fenced_before_the_first_product_that_uses_them() {
    let kernel = |first: bool, second: bool| {
        move |_| {
            place(true);
            sync_threads();
            let mut d = [0; N / 2];
            if first {
                fence();
            }
            multiply(product(0, false), &mut d);
            commit();
            wait(0);
            hold(&mut d);
            d[0] += 1;
            if second {
                fence();
            }
            multiply(product(1, true), &mut d);
            commit();
            wait(0);
        }
    };
    let line = line!() - 5;
    on(kernel(true, true)).assert_clean();
    some(&on(kernel(false, true)), FaultKind::AsynchronousProduct, line - 8);
    some(&on(kernel(true, false)), FaultKind::AsynchronousProduct, line);
    // A product with A in registers needs one as well.
    let report = on(|_| {
        place(true);
        sync_threads();
        let mut d = [0; N / 2];
        multiply(Product { a: Left::Registers([1; 4]), ..product(0, false) }, &mut d);
        commit();
        wait(0);
    });
    some(&report, FaultKind::AsynchronousProduct, line!() - 4);
}

/// One product, between what comes before it and what comes after.
fn around(before: impl Fn() + Copy, after: impl Fn() + Copy) -> Report {
    on(move |out| {
        before();
        let mut d = [0; N / 2];
        fence();
        multiply(product(0, false), &mut d);
        commit();
        after();
        wait(0);
        hold(&mut d);
        store(out, &d);
    })
}

#[test]
fn what_threads_wrote_is_fenced_and_ordered_before_a_product_reads_it() {
    let line = line!() - 11;
    let before = |fences: bool, syncs: bool| {
        move || {
            place(fences);
            if syncs {
                sync_threads();
            }
        }
    };
    around(before(true, true), || ()).assert_clean();
    let report = around(before(false, true), || ());
    let fault = only(&report, FaultKind::Proxy, 127, line);
    assert!(fault.message.contains("no fence.proxy.async"), "{fault}");
    assert!(!around(before(true, false), || ()).faults.is_empty());
    // A fence behind the barrier is too late.
    let late = || {
        place(false);
        sync_threads();
        fence_proxy_async(None);
    };
    only(&around(late, || ()), FaultKind::Proxy, 127, line);
}

#[test]
fn factors_are_initialised() {
    let before = || {
        if linear_index() < 100 {
            place(true);
        }
        sync_threads();
    };
    assert!(around(before, || ()).found(FaultKind::Uninitialised));
}

#[test]
fn factors_are_not_overwritten_before_the_wait() {
    let before = || {
        place(true);
        sync_threads();
    };
    let after = |waits: bool| {
        move || {
            if waits {
                wait(0);
                sync_threads();
            }
            if linear_index() == 77 {
                set(B / 4, 1);
            }
        }
    };
    around(before, after(true)).assert_clean();
    // Then the product reads what nothing orders before it.
    assert!(!around(before, after(false)).faults.is_empty());
    // A barrier of the block does not wait for products.
    let after = || {
        sync_threads();
        if linear_index() == 77 {
            set(B / 4, 1);
        }
    };
    let report = around(before, after);
    let fault = only(&report, FaultKind::AsynchronousProduct, 77, line!() - 4);
    assert!(fault.message.contains("which the product at") && fault.message.contains("reads"), "{fault}");
}

/// A producer thread fills two buffers with `A` and `B` for four steps, a warpgroup multiplies them. In each warp one
/// lane says when a buffer is empty, after the wait for the products, or before.
fn pipeline(waits_first: bool) -> (Vec<u32>, Report) {
    const STEPS: u32 = 4;
    let (full, empty) = (2 * END, 2 * END + 16);
    let mut memory = GlobalMemory::new();
    let permuted = |i: u32| word(Swizzle::Bytes128.apply(4 * i) / 4);
    let x = memory.upload(&(0..END / 4).map(permuted).collect::<Vec<u32>>());
    let out = memory.upload(&[0_u32; 64 * N]);
    let launch = Launch::new("kernel()", [1; 3], [160, 1, 1]).shared_bytes(2 * END + 64);
    let report = launch.run(&mut memory, || {
        let thread = linear_index();
        if thread == 0 {
            for slot in 0..2 {
                mbarrier_init(full + 8 * slot, 1);
                mbarrier_init(empty + 8 * slot, 4);
            }
            fence_mbarrier_init();
        }
        sync_threads();
        let mut d = [0; N / 2];
        for step in 0..STEPS {
            let (slot, parity) = (step % 2, step / 2 % 2);
            let (full, empty) = (full + 8 * slot, empty + 8 * slot);
            if thread == 128 {
                while !mbarrier_test_wait_parity(empty, parity ^ 1) {}
                mbarrier_expect_bytes(full, END);
                mbarrier_arrive(full, 1, false);
                bulk_load(END * slot, x.address, END, full, None);
            } else if thread < 128 {
                while !mbarrier_test_wait_parity(full, parity) {}
                // Each thread reads what it multiplies itself, as a factor in registers would be read.
                get(END / 4 * slot + thread);
                fence();
                let of =
                    |address: u32| Descriptor::new(address + END * slot, 0, 1024, Swizzle::Bytes128).advance(32 * step);
                let product = Product { a: Left::Shared(of(0)), b: of(B), ..product(0, step > 0) };
                multiply(product, &mut d);
                commit();
                if waits_first {
                    wait(0);
                }
                if lane() == 0 {
                    mbarrier_arrive(empty, 1, false);
                }
                wait(0);
            }
        }
        if thread < 128 {
            hold(&mut d);
            store(out, &d);
        }
    });
    (memory.values(out), report)
}

#[test]
fn copies_do_not_overwrite_factors_before_the_wait() {
    let (got, report) = pipeline(true);
    report.assert_clean();
    for (i, got) in got.into_iter().enumerate() {
        let sum: i32 = (0..4).map(|step| expected(i / N, i % N, step)).sum();
        assert_eq!(got as i32, sum, "element {i}");
    }
    let (_, report) = pipeline(false);
    assert!(report.found(FaultKind::AsynchronousProduct), "{report}");
}

#[test]
fn all_threads_of_a_warpgroup_issue_the_same_products() {
    let kernel = |issues: fn() -> bool, step: fn() -> u32| {
        move |_| {
            place(true);
            sync_threads();
            if issues() {
                let mut d = [0; N / 2];
                fence();
                multiply(product(step(), false), &mut d);
                commit();
                wait(0);
            }
        }
    };
    let line = line!() - 6;
    on(kernel(|| true, || 0)).assert_clean();
    let report = on(kernel(|| linear_index() != 40, || 0));
    let fault = only(&report, FaultKind::Divergence, 0, line);
    assert!(fault.message.contains("127 threads") && fault.message.contains("[40, 0, 0]"), "{fault}");
    let report = on(kernel(|| true, || u32::from(linear_index() == 9)));
    only(&report, FaultKind::Divergence, 9, line);
    // Three warps are no warpgroup.
    let (_, report) = run(96, |_| multiply(product(0, false), &mut [0; N / 2]));
    only(&report, FaultKind::Divergence, 0, line!() - 1);
}

#[test]
fn products_are_waited_for_before_the_end() {
    let kernel = |waits: bool| {
        move |_| {
            place(true);
            sync_threads();
            fence();
            multiply(product(0, false), &mut [0; N / 2]);
            commit();
            if waits {
                wait(0);
            }
        }
    };
    let line = line!() - 7;
    on(kernel(true)).assert_clean();
    some(&on(kernel(false)), FaultKind::AsynchronousProduct, line);
}

#[test]
fn products_of_floats_are_summed_exactly_and_rounded_once() {
    let one = |elements: Elements, a: [u32; 4], b: u32, c: f32| {
        let (got, report) = run(128, |out| {
            let mut i = linear_index();
            while i < END / 4 {
                set(i, b);
                i += 128;
            }
            fence_proxy_async(None);
            sync_threads();
            let mut d = [c.to_bits(); N / 2];
            fence();
            let product = Product { elements, a: Left::Registers(a), accumulate: true, ..product(0, true) };
            multiply(product, &mut d);
            commit();
            wait(0);
            hold(&mut d);
            store(out, &d);
        });
        report.assert_clean();
        assert!(got.iter().all(|&word| word == got[0]));
        f32::from_bits(got[0])
    };
    // f16: 1.5 x -2 sixteen times, and subnormals.
    assert_eq!(one(Elements::F16, [0x3e00_3e00; 4], 0xc000_c000, 0.5), -47.5);
    assert_eq!(one(Elements::F16, [0x0001_0001; 4], 0x0001_0001, 0.0), 16.0 * 2f32.powi(-48));
    // bf16: products beyond f32's range are exact until the end.
    assert_eq!(one(Elements::BF16, [0x3f80_3f80; 4], 0x4040_4040, 1.0), 49.0);
    assert_eq!(one(Elements::BF16, [0x7f00_ff00; 4], 0x7f00_7f00, 7.0), 7.0);
    // tf32: the low 13 bits do not count; 8 x 2^-24 is added to 1 as a whole.
    assert_eq!(one(Elements::TF32, [0x3f80_1fff; 4], 0x3380_1fff, 1.0), 1.0 + 8.0 * 2f32.powi(-24));
}

#[test]
fn numbers_of_registers_are_changed_by_whole_warpgroups() {
    let on = |declaration: &'static str, kernel: &dyn Fn()| {
        Launch::new(declaration, [1; 3], [256, 1, 1]).run(&mut GlobalMemory::new(), kernel)
    };
    let declared = "kernel() max_registers=80";
    let moves = |less: u32, more: u32| {
        move || {
            if linear_index() < 128 {
                set_registers(more, true);
            } else {
                set_registers(less, false);
            }
        }
    };
    let line = line!() - 6;
    on(declared, &moves(40, 120)).assert_clean();
    on("kernel()", &moves(40, 120)).assert_clean();
    on("kernel() threads=256 min_blocks=2", &moves(40, 216)).assert_clean();
    // More than there are: it waits for ever.
    some(&on(declared, &moves(40, 128)), FaultKind::Barrier, line);
    only(&on(declared, &moves(36, 80)), FaultKind::Operand, 128, line + 2);
    only(&on(declared, &moves(40, 72)), FaultKind::Operand, 0, line);
    // One warp does not.
    let report = on(declared, &|| {
        if linear_index() / 32 != 2 {
            set_registers(40, false);
        }
    });
    only(&report, FaultKind::Divergence, 0, line!() - 3);
}
