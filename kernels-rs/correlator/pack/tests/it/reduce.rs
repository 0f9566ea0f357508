//! The reductions in the emulator against sums in plain loops, through the orders of `fringes-types`.

use fringes_device::{Global, GlobalMut, Kernel};
use fringes_emulator::{Buffer, Element, FaultKind, GlobalMemory, Launch, Report};
use fringes_kernels_correlator_pack as kernels;
use fringes_types::{BaselineOrder, Inputs};
use kernels::sums::MARK;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

const ORDERS: [BaselineOrder; 3] = [BaselineOrder::Triangle, BaselineOrder::AntennaPairs, BaselineOrder::Full];

/// Antennas, polarisations, channels and parts.
const SIZES: [(usize, usize, usize, usize); 7] =
    [(1, 1, 1, 1), (1, 2, 3, 2), (3, 2, 2, 4), (16, 2, 2, 1), (17, 2, 3, 2), (40, 1, 2, 3), (33, 2, 1, 2)];

fn random(seed: u64) -> Xoshiro256PlusPlus {
    Xoshiro256PlusPlus::seed_from_u64(seed)
}

fn launch(declaration: &'static str, grid: [u32; 2], shared_bytes: u32) -> Launch {
    Launch::new(declaration, [grid[0], grid[1], 1], [kernels::reduce::THREADS, 1, 1]).shared_bytes(shared_bytes)
}

/// Positions of an order: place in the triangle and whether the value is the conjugate.
fn sources(order: BaselineOrder, inputs: Inputs) -> Vec<(usize, bool)> {
    (0..order.len(inputs)).map(|position| order.product(inputs, position).unwrap().triangle()).collect()
}

/// The size that a kernel takes for an order: baselines, antennas or inputs.
fn side(order: BaselineOrder, inputs: Inputs) -> u32 {
    let side = match order {
        BaselineOrder::Triangle => inputs.triangle_len(),
        BaselineOrder::AntennaPairs => inputs.antennas(),
        BaselineOrder::Full => inputs.len(),
    };
    side as u32
}

fn orders(pols: usize) -> impl Iterator<Item = BaselineOrder> {
    ORDERS.into_iter().filter(move |order| pols == 2 || *order != BaselineOrder::AntennaPairs)
}

type Reduce<T, W = T> = fn(Global<[T; 2]>, GlobalMut<[W; 2]>, u32, u32, u32);
type Reorder<T> = fn(Global<[T; 2]>, GlobalMut<[T; 2]>, u32, u32);
type Clamp<T = i64> = fn(Global<[T; 2]>, GlobalMut<[i32; 2]>, Global<u8>, GlobalMut<u64>, u32, u32, u32);

macro_rules! declared {
    ($kernel:ident as $type:ty) => {
        (kernels::$kernel as $type, <kernels::$kernel as Kernel>::DECLARATION)
    };
}

/// A request of a warp takes no more wavefronts than a whole warp's bytes need: 4 of 16 bytes a lane, 2 of 8. (Lanes of
/// tiles at the diagonal and at the end are idle, for which fewer would do if idle lanes came together.)
fn assert_free_of_conflicts(report: &Report, wavefronts: u64) {
    assert!(report.shared_wavefronts <= wavefronts * report.shared_requests, "bank conflicts");
}

/// The kernels of the three orders.
macro_rules! by_order {
    ($order:expr, $type:ty: $triangle:ident $pairs:ident $full:ident) => {
        match $order {
            BaselineOrder::Triangle => declared!($triangle as $type),
            BaselineOrder::AntennaPairs => declared!($pairs as $type),
            BaselineOrder::Full => declared!($full as $type),
        }
    };
}

/// A kernel over parts, compared with the same sums in the same order of parts.
fn check_reduce<T: Element + Copy + Into<W>, W: Element + PartialEq + Copy + std::fmt::Debug>(
    (kernel, declaration): (Reduce<T, W>, &'static str),
    order: BaselineOrder,
    (antennas, pols, channels, parts): (usize, usize, usize, usize),
    mut value: impl FnMut() -> T,
    plus: impl Fn(W, W) -> W,
    minus: impl Fn(W) -> W,
) -> Report
where
    [T; 2]: Element + fringes_device::Value,
    [W; 2]: Element + fringes_device::Value,
{
    let inputs = Inputs::new(antennas, pols).unwrap();
    let baselines = inputs.triangle_len();
    let values: Vec<[T; 2]> = (0..parts * channels * baselines).map(|_| [value(), value()]).collect();
    let mut expected = Vec::new();
    for channel in 0..channels {
        for (source, conjugated) in sources(order, inputs) {
            let of = |part: usize| values[(part * channels + channel) * baselines + source].map(Into::into);
            let sum = (1..parts).fold(of(0), |sum, part| [plus(sum[0], of(part)[0]), plus(sum[1], of(part)[1])]);
            expected.push(if conjugated { [sum[0], minus(sum[1])] } else { sum });
        }
    }
    let mut last = Report::default();
    for grid in [[1, 1], [3, 2]] {
        let mut memory = GlobalMemory::new();
        let from = memory.upload(&values);
        let to = memory.allocate::<[W; 2]>(expected.len());
        last = launch(declaration, grid, 16384).run(&mut memory, || {
            kernel(from.into(), to.into(), parts as u32, channels as u32, side(order, inputs));
        });
        last.assert_clean();
        assert_eq!(memory.values(to), expected, "{declaration} {antennas} x {pols}");
        assert_free_of_conflicts(&last, 4);
    }
    last
}

#[test]
fn parts_add_up_in_every_order() {
    for (seed, size) in SIZES.into_iter().enumerate() {
        for order in orders(size.1) {
            let mut random = random(seed as u64);
            let kernel = by_order!(order, Reduce<i64>: reduce_i64 reduce_i64_pairs reduce_i64_full);
            check_reduce(kernel, order, size, || random.random::<i64>(), i64::wrapping_add, i64::wrapping_neg);
            let kernel = by_order!(order, Reduce<i32, i64>: reduce_i32 reduce_i32_pairs reduce_i32_full);
            check_reduce(kernel, order, size, || random.random::<i32>(), i64::wrapping_add, i64::wrapping_neg);
            let kernel = by_order!(order, Reduce<f64>: reduce_f64 reduce_f64_pairs reduce_f64_full);
            // The same additions in the same order: the same bits.
            check_reduce(kernel, order, size, || random.random_range(-1e9..1e9), |a, b| 0.0 + a + b, |a: f64| -a);
        }
    }
}

#[test]
fn narrow_triangles_are_reordered() {
    for (seed, (antennas, pols, channels, _)) in SIZES.into_iter().enumerate() {
        let inputs = Inputs::new(antennas, pols).unwrap();
        let baselines = inputs.triangle_len();
        let mut random = random(50 + seed as u64);
        let values: Vec<[i32; 2]> = (0..channels * baselines).map(|_| [random.random(), random.random()]).collect();
        let floats: Vec<[f32; 2]> = values.iter().map(|value| value.map(|part| part as f32)).collect();
        for order in orders(pols).filter(|order| *order != BaselineOrder::Triangle) {
            let all = |channel: usize| {
                sources(order, inputs)
                    .into_iter()
                    .map(move |(source, conjugated)| (channel * baselines + source, conjugated))
            };
            let places: Vec<_> = (0..channels).flat_map(all).collect();
            let mut memory = GlobalMemory::new();
            let (from, to) = (memory.upload(&values), memory.allocate::<[i32; 2]>(places.len()));
            let (kernel, declaration) =
                by_order!(order, Reorder<i32>: reorder_i32_pairs reorder_i32_pairs reorder_i32_full);
            let report = launch(declaration, [2, 1], 8192)
                .run(&mut memory, || kernel(from.into(), to.into(), channels as u32, side(order, inputs)));
            report.assert_clean();
            assert_free_of_conflicts(&report, 2);
            let expected: Vec<_> = places
                .iter()
                .map(|&(place, conjugated)| {
                    let [re, im] = values[place];
                    [re, if conjugated { im.wrapping_neg() } else { im }]
                })
                .collect();
            assert_eq!(memory.values(to), expected, "{order:?} {antennas} x {pols}");
            let (from, to) = (memory.upload(&floats), memory.allocate::<[f32; 2]>(places.len()));
            let (kernel, declaration) =
                by_order!(order, Reorder<f32>: reorder_f32_pairs reorder_f32_pairs reorder_f32_full);
            let report = launch(declaration, [2, 1], 8192)
                .run(&mut memory, || kernel(from.into(), to.into(), channels as u32, side(order, inputs)));
            report.assert_clean();
            let expected: Vec<_> = places
                .iter()
                .map(|&(place, conjugated)| {
                    let [re, im] = floats[place];
                    [re, if conjugated { -im } else { im }]
                })
                .collect();
            assert_eq!(memory.values(to), expected, "{order:?} {antennas} x {pols}");
        }
    }
}

/// A sum that is often at or past the limit, in both directions.
fn near_the_limit(random: &mut Xoshiro256PlusPlus) -> i64 {
    let limit = i64::from(i32::MAX);
    match random.random_range(0..8) {
        0 => limit + random.random_range(-1..=1),
        1 => -limit + random.random_range(-1..=1),
        2 => random.random_range(-(1 << 40)..1 << 40),
        _ => random.random_range(-1000..1000),
    }
}

/// Clamps parts in all orders, with and without flags of missing baselines.
fn check_clamp<T: Element + Copy + Into<i64>>(
    kernel: impl Fn(BaselineOrder) -> (Clamp<T>, &'static str),
    (antennas, pols, channels, parts): (usize, usize, usize, usize),
    values: &[[T; 2]],
    missing: &[u8],
) where
    [T; 2]: Element + fringes_device::Value,
{
    let limit = i64::from(i32::MAX);
    let inputs = Inputs::new(antennas, pols).unwrap();
    let baselines = inputs.triangle_len();
    let sum = |place: usize| {
        (0..parts)
            .map(|part| values[part * channels * baselines + place].map(Into::into))
            .fold([0i64; 2], |sum, part| [sum[0] + part[0], sum[1] + part[1]])
    };
    for order in orders(pols) {
        for flags in [&[][..], missing] {
            let mut count = 1000u64; // what the counter holds before
            let mut expected = Vec::new();
            for channel in 0..channels {
                for (source, conjugated) in sources(order, inputs) {
                    if flags.get(source).is_some_and(|flag| *flag != 0) {
                        expected.push(MARK);
                        continue;
                    }
                    let sum = sum(channel * baselines + source);
                    let clamped = sum.map(|part| part.clamp(-limit, limit) as i32);
                    count += u64::from(clamped.map(i64::from) != sum);
                    expected.push(if conjugated { [clamped[0], -clamped[1]] } else { clamped });
                }
            }
            for grid in [[1, 1], [2, 3]] {
                let mut memory = GlobalMemory::new();
                let (from, flags) = (memory.upload(values), memory.upload(flags));
                let to = memory.allocate::<[i32; 2]>(expected.len());
                let counter: Buffer<u64> = memory.upload(&[1000]);
                let (kernel, declaration) = kernel(order);
                let report = launch(declaration, grid, 8192).run(&mut memory, || {
                    let side = side(order, inputs);
                    kernel(from.into(), to.into(), flags.into(), counter.into(), parts as u32, channels as u32, side);
                });
                report.assert_clean();
                assert_eq!(memory.values(to), expected, "{order:?} {antennas} x {pols}");
                assert_eq!(memory.values(counter), [count], "{order:?} {antennas} x {pols}");
                assert_free_of_conflicts(&report, 2);
            }
        }
    }
}

#[test]
fn sums_are_clamped_counted_once_and_marked_where_missing() {
    for (seed, size) in SIZES.into_iter().enumerate() {
        let (antennas, pols, channels, parts) = size;
        let baselines = Inputs::new(antennas, pols).unwrap().triangle_len();
        let mut random = random(300 + seed as u64);
        let missing: Vec<u8> =
            (0..baselines).map(|_| if random.random_bool(0.3) { random.random_range(1..=255) } else { 0 }).collect();
        // Parts whose sum is near the limit: the last one is what the others leave.
        let mut rest: Vec<[i64; 2]> =
            (0..channels * baselines).map(|_| [near_the_limit(&mut random), near_the_limit(&mut random)]).collect();
        let mut values = Vec::new();
        for part in 0..parts {
            for left in &mut rest {
                let value = if part + 1 == parts {
                    *left
                } else {
                    left.map(|part| part - random.random_range(-(1i64 << 50)..1 << 50))
                };
                *left = [left[0] - value[0], left[1] - value[1]];
                values.push(value);
            }
        }
        let kernel = |order| by_order!(order, Clamp: clamp_i64 clamp_i64_pairs clamp_i64_full);
        check_clamp(kernel, size, &values, &missing);
        // Parts of 32 bits, of which each fits, and sums of several may not.
        let mut value = || match random.random_range(0..4) {
            0 => [i32::MAX, i32::MIN, -i32::MAX][random.random_range(0..3)],
            1 => random.random(),
            _ => random.random_range(-1000..1000),
        };
        let values: Vec<[i32; 2]> = (0..parts * channels * baselines).map(|_| [value(), value()]).collect();
        let kernel = |order| by_order!(order, Clamp<i32>: clamp_i32 clamp_i32_pairs clamp_i32_full);
        check_clamp(kernel, size, &values, &missing);
    }
}

#[test]
fn without_a_counter_nothing_is_counted() {
    let mut memory = GlobalMemory::new();
    let (from, flags) = (memory.upload(&[[i64::MAX, i64::MIN]]), memory.upload::<u8>(&[]));
    let (to, counter) = (memory.allocate::<[i32; 2]>(1), memory.upload::<u64>(&[]));
    let (kernel, declaration) = declared!(clamp_i64 as Clamp);
    let run = || kernel(from.into(), to.into(), flags.into(), counter.into(), 1, 1, 1);
    launch(declaration, [1, 1], 0).run(&mut memory, run).assert_clean();
    assert_eq!(memory.values(to), [[i32::MAX, -i32::MAX]]);
}

#[test]
fn narrow_parts_are_added_to_wide_sums() {
    for (len, parts) in [(1, 1), (1023, 2), (1025, 4), (3000, 3)] {
        let mut random = random(len as u64);
        let values: Vec<[i32; 2]> = (0..len * parts).map(|_| [random.random(), random.random()]).collect();
        let initial: Vec<[i64; 2]> = (0..len).map(|i| [(i as i64) << 40, -(i as i64) << 35]).collect();
        let of = |part: usize, i: usize| values[part * len + i];
        let mut memory = GlobalMemory::new();
        let (from, to) = (memory.upload(&values), memory.upload(&initial));
        let declaration = <kernels::add_parts_i32 as Kernel>::DECLARATION;
        let report = launch(declaration, [2, 1], 0)
            .run(&mut memory, || kernels::add_parts_i32(from.into(), to.into(), parts as u32, len as u64));
        report.assert_clean();
        let expected: Vec<_> = (0..len)
            .map(|i| {
                (0..parts).fold(initial[i], |sum, part| {
                    [sum[0] + i64::from(of(part, i)[0]), sum[1] + i64::from(of(part, i)[1])]
                })
            })
            .collect();
        assert_eq!(memory.values(to), expected);

        let floats: Vec<[f32; 2]> = values.iter().map(|value| value.map(|part| part as f32 * 0.3)).collect();
        let initial: Vec<[f64; 2]> = initial.iter().map(|value| value.map(|part| part as f64)).collect();
        let (from, to) = (memory.upload(&floats), memory.upload(&initial));
        let declaration = <kernels::add_parts_f32 as Kernel>::DECLARATION;
        let report = launch(declaration, [2, 1], 0)
            .run(&mut memory, || kernels::add_parts_f32(from.into(), to.into(), parts as u32, len as u64));
        report.assert_clean();
        let expected: Vec<_> = (0..len)
            .map(|i| {
                (0..parts).fold(initial[i], |sum, part| [0, 1].map(|c| sum[c] + f64::from(floats[part * len + i][c])))
            })
            .collect();
        assert_eq!(memory.values(to), expected);
    }
}

/// Sectors of loads and of stores beyond the least, relative to it.
fn overhead(report: &Report) -> f64 {
    report.global_sectors as f64 / report.global_sectors_ideal as f64 - 1.0
}

#[test]
fn reductions_move_every_byte_once_in_whole_sectors() {
    let mut random = random(1);
    let mut value = || random.random::<i64>() >> 8;
    // 64 inputs: 2080 baselines. Triangle to triangle: all sectors whole.
    let size = (32, 2, 2, 2);
    let report = check_reduce(
        declared!(reduce_i64 as Reduce<i64>),
        BaselineOrder::Triangle,
        size,
        &mut value,
        i64::wrapping_add,
        i64::wrapping_neg,
    );
    assert_eq!(report.global_sectors, report.global_sectors_ideal);
    assert_eq!(report.global_sectors * 32, 2080 * 2 * 16 * 3);
    // Rows of the triangle begin at any multiple of 16 bytes, half of them in the middle of a sector: a warp's run of
    // 32 values then touches one sector more than 16, and in the order of pairs two runs of 16 values touch two more.
    // At most one in eight of the loads.
    for order in [BaselineOrder::AntennaPairs, BaselineOrder::Full] {
        let kernel = by_order!(order, Reduce<i64>: reduce_i64 reduce_i64_pairs reduce_i64_full);
        let report = check_reduce(kernel, order, size, &mut value, i64::wrapping_add, i64::wrapping_neg);
        assert!(overhead(&report) < 0.125, "{order:?}: {}", overhead(&report));
    }
}

#[test]
fn short_views_trap_before_anything_is_touched() {
    let trapped = |order: BaselineOrder, from: usize, to: usize, flags: usize, side: u32| {
        let mut memory = GlobalMemory::new();
        let (from, flags) = (memory.upload(&vec![[1i64; 2]; from]), memory.upload(&vec![0u8; flags]));
        let (to, counter) = (memory.allocate::<[i32; 2]>(to), memory.upload::<u64>(&[0]));
        let (kernel, declaration) = by_order!(order, Clamp: clamp_i64 clamp_i64_pairs clamp_i64_full);
        let run = || kernel(from.into(), to.into(), flags.into(), counter.into(), 2, 3, side);
        let report = launch(declaration, [1, 1], 8192).run(&mut memory, run);
        assert!(report.found(FaultKind::Operand) && report.faults.len() == 1, "{:?}", report.faults);
        assert!(memory.download(to).iter().all(Option::is_none));
    };
    // Two parts, three channels, four inputs: 10 baselines, 12 positions of pairs, 16 in full.
    for (order, positions, side) in
        [(BaselineOrder::Triangle, 10, 10), (BaselineOrder::AntennaPairs, 12, 2), (BaselineOrder::Full, 16, 4)]
    {
        trapped(order, 59, 3 * positions, 0, side);
        trapped(order, 60, 3 * positions - 1, 0, side);
        trapped(order, 60, 3 * positions, 9, side);
        trapped(order, 60, 3 * positions, 0, 1 << 16);
        trapped(order, 60, 3 * positions, 0, u32::MAX);
    }
}
