//! The pack kernels in the emulator against the reference: every layout, format and awkward size, every byte of the
//! rows.

use fringes_device::{Global, GlobalMut, Kernel};
use fringes_emulator::{FaultKind, GlobalMemory, Launch, Report};
use fringes_kernels_correlator_pack as kernels;
use fringes_reference::pack as reference;
use ndarray::{Array2, Array3, Array4, Array5, ArrayView2, ArrayView3};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

fn random(seed: u64) -> Xoshiro256PlusPlus {
    Xoshiro256PlusPlus::seed_from_u64(seed)
}

/// Samples of `S` bytes; the kernels move them, whatever they are.
type Sample<const S: usize> = [u8; S];

/// The oracle's rows, as bytes.
fn rows<const S: usize>(voltages: ArrayView3<'_, Sample<S>>, present: Option<ArrayView2<'_, bool>>) -> Vec<u8>
where
    Sample<S>: Default,
{
    reference::rows(voltages, present, 128 / S).into_iter().flatten().collect()
}

fn bytes<const S: usize>(samples: impl IntoIterator<Item = Sample<S>>) -> Vec<u8> {
    samples.into_iter().flatten().collect()
}

fn flag_bytes(present: Option<ArrayView2<'_, bool>>) -> Vec<u8> {
    // Any value but zero says present.
    present.map_or(Vec::new(), |flags| flags.iter().enumerate().map(|(i, &flag)| u8::from(flag) << (i % 8)).collect())
}

/// Runs a kernel on a small grid, with every detector on; the rows, of which every byte is written.
fn run(
    declaration: &'static str,
    blocks: u32,
    samples: &[u8],
    flags: &[u8],
    bytes: usize,
    kernel: impl Fn(Global<u8>, Global<u8>, GlobalMut<u8>),
) -> (Vec<u8>, Report) {
    let mut memory = GlobalMemory::new();
    let (samples, flags) = (memory.upload(samples), memory.upload(flags));
    let rows = memory.allocate::<u8>(bytes);
    let launch = Launch::new(declaration, [blocks, 1, 1], [kernels::rows::THREADS, 1, 1]);
    let report = launch.run(&mut memory, || kernel(samples.into(), flags.into(), rows.into()));
    report.assert_clean();
    (memory.values(rows), report)
}

type Pack = fn(Global<u8>, Global<u8>, GlobalMut<u8>, u32, u32, u32, u64, u64);
type PackHeaps = fn(Global<u8>, Global<u8>, GlobalMut<u8>, u32, u32, u32, u32, u32, u32, u32);
type PackRuns = fn(Global<u8>, Global<u8>, GlobalMut<u8>, u32, u32, u32, u32, u32, u32);

/// A kernel and its declaration.
type Declared<T> = (T, &'static str);

macro_rules! declared {
    ($kernel:ident as $type:ty) => {
        (kernels::$kernel as $type, <kernels::$kernel as Kernel>::DECLARATION)
    };
}

/// A test of the two kernels of each format.
macro_rules! formats {
    ($test:ident: $check:ident as $type:ty: $($bytes:literal $wide:ident $any:ident,)*) => {
        #[test]
        fn $test() {
            $($check::<$bytes>(declared!($wide as $type), declared!($any as $type));)*
        }
    };
}

/// `[channel][time][input]` or `[time][channel][input]`, from a first time on.
fn voltages_of<const S: usize>(wide: Declared<Pack>, any: Declared<Pack>)
where
    Sample<S>: Default,
{
    let row = 128 / S;
    let whole = 16 / S;
    let sizes = [
        (2, row, 4 * whole),
        (1, row + 1, 5 * whole),
        (3, row - 1, whole),
        (1, 1, 17 * whole),
        (2, 2 * row + 3, 3),
        (1, 5, 1),
        (2, 3, 37),
    ];
    for (seed, (channels, times, inputs)) in sizes.into_iter().enumerate() {
        let mut random = random(seed as u64);
        let voltages =
            Array3::from_shape_simple_fn((channels, times, inputs), || random.random::<[u8; 8]>()).mapv(cut::<S>);
        let present = Array2::from_shape_simple_fn((times, inputs), || random.random_bool(0.7));
        for (first, flagged, time_first) in
            [(0, false, false), (0, true, false), (times / 2, true, false), (times / 3, false, true), (0, true, true)]
        {
            let left = times - first;
            let range = ndarray::s![.., first.., ..];
            let flags = flagged.then(|| present.slice(ndarray::s![first.., ..]));
            let expected = rows(voltages.slice(range), flags);
            let stored = if time_first { voltages.view().permuted_axes([1, 0, 2]) } else { voltages.view() };
            let (channel_stride, time_stride) =
                if time_first { (inputs, channels * inputs) } else { (times * inputs, inputs) };
            let samples = bytes(stored.iter().copied());
            let flags = flag_bytes(flags);
            let skipped = &samples[first * time_stride * S..];
            for (kernel, declaration) in [wide, any].into_iter().skip(usize::from(inputs % whole != 0)) {
                for blocks in [1, 3] {
                    // A view that starts at a first time keeps 16 bytes where the inputs do.
                    let (actual, _) =
                        run(declaration, blocks, skipped, &flags, expected.len(), |samples, flags, rows| {
                            let (c, t, n) = (channels as u32, left as u32, inputs as u32);
                            kernel(samples, flags, rows, c, t, n, channel_stride as u64, time_stride as u64);
                        });
                    assert!(
                        actual == expected,
                        "{declaration}: {channels} x {times} x {inputs} from {first}, {flagged} {time_first}"
                    );
                }
            }
        }
    }
}

fn cut<const S: usize>(sample: [u8; 8]) -> Sample<S> {
    std::array::from_fn(|i| sample[i])
}

formats! {
    voltages_become_the_rows_of_the_reference: voltages_of as Pack:
    1 pack_i4 pack_i4_any,
    2 pack_i8 pack_i8_any,
    4 pack_f16 pack_f16_any,
    8 pack_f32 pack_f32_any,
}

/// `[batch][antenna][channel][spectrum][pol]`, any range of times.
fn heaps_of<const S: usize>(wide: Declared<PackHeaps>, any: Declared<PackHeaps>)
where
    Sample<S>: Default,
{
    let whole = 16 / S;
    let row = 128 / S;
    // Batches, antennas, channels, spectra, polarisations; first time and times.
    let sizes = [
        ((2, 5, 2, row, 2), 0, 2 * row),
        ((3, 9, 1, row / 2, 1), 0, 3 * row / 2),
        ((5, 3, 2, 3 * whole, 2), whole, 13 * whole - 1),
        ((1, 1, 3, 5 * row, 1), 2 * row, 2 * row + 1),
        ((4, 4, 1, whole, 2), 0, 3),
        ((3, 2, 2, 7, 2), 2, 17),
        ((2, 3, 1, row + 1, 1), 1, 2 * row),
        ((2, 1, 1, 1, 2), 1, 1),
    ];
    for (seed, (shape, first, times)) in sizes.into_iter().enumerate() {
        let mut random = random(100 + seed as u64);
        let heaps = Array5::from_shape_simple_fn(shape, || random.random::<[u8; 8]>()).mapv(cut::<S>);
        let (batches, antennas, channels, spectra, pols) = shape;
        let present = Array2::from_shape_simple_fn((batches, antennas), || random.random_bool(0.6));
        let voltages = reference::voltages_of_heaps(heaps.view());
        let each = reference::presence_of_heaps(present.view(), spectra, pols);
        let samples = bytes(heaps.iter().copied());
        for flagged in [false, true] {
            let range = first..first + times;
            let flags = flagged.then(|| each.slice(ndarray::s![range.clone(), ..]));
            let expected = rows(voltages.slice(ndarray::s![.., range, ..]), flags);
            let flags = flag_bytes(flagged.then(|| present.view()));
            let odd = spectra * pols % whole != 0 || first * pols % whole != 0;
            for (kernel, declaration) in [wide, any].into_iter().skip(usize::from(odd)) {
                for blocks in [1, 2] {
                    let (actual, _) =
                        run(declaration, blocks, &samples, &flags, expected.len(), |samples, flags, rows| {
                            let [c, a, p, b, s] = [channels, antennas, pols, batches, spectra].map(|n| n as u32);
                            kernel(samples, flags, rows, c, a, p, b, s, first as u32, times as u32);
                        });
                    assert!(actual == expected, "{declaration}: {shape:?} from {first}, {times} times, {flagged}");
                }
            }
        }
    }
}

formats! {
    heaps_become_the_rows_of_the_reference: heaps_of as PackHeaps:
    1 pack_heaps_i4 pack_heaps_i4_any,
    2 pack_heaps_i8 pack_heaps_i8_any,
    4 pack_heaps_f16 pack_heaps_f16_any,
    8 pack_heaps_f32 pack_heaps_f32_any,
}

/// `[channel][time / k][antenna][pol][k]`, any range of times.
fn runs_of<const S: usize>(wide: Declared<PackRuns>, any: Declared<PackRuns>)
where
    Sample<S>: Default,
{
    let k = 32 / S;
    // Channels, runs, antennas, polarisations; first time and times.
    let sizes = [
        ((2, 4, 16, 2), 0, 4 * k),
        ((1, 9, 5, 1), 0, 9 * k),
        ((3, 6, 3, 2), 2 * k, 3 * k - 1),
        ((1, 5, 17, 2), k, 1),
        ((2, 7, 2, 2), 3, 5 * k),
        ((1, 2, 1, 1), 1, k),
    ];
    for (seed, (shape, first, times)) in sizes.into_iter().enumerate() {
        let mut random = random(200 + seed as u64);
        let (channels, runs, antennas, pols) = shape;
        let samples = Array5::from_shape_simple_fn((channels, runs, antennas, pols, k), || random.random::<[u8; 8]>());
        let samples = samples.mapv(cut::<S>);
        let inputs = antennas * pols;
        let present = Array2::from_shape_simple_fn((times, inputs), || random.random_bool(0.6));
        let voltages = reference::voltages_of_runs(samples.view(), first + times);
        let voltages = voltages.slice(ndarray::s![.., first.., ..]);
        let stored = bytes(samples.iter().copied());
        for (flagged, swap) in [(false, false), (true, false), (false, true)] {
            let flags = flagged.then(|| present.view());
            let turned =
                |sample: Sample<S>| if swap && S == 1 { sample.map(|byte| byte.rotate_left(4)) } else { sample };
            let expected = rows(voltages.mapv(turned).view(), flags);
            let flags = flag_bytes(flags);
            let odd = first % k != 0 || flagged;
            for (kernel, declaration) in [wide, any].into_iter().skip(usize::from(odd)) {
                let (actual, _) = run(declaration, 2, &stored, &flags, expected.len(), |samples, flags, rows| {
                    let [c, n, r, first, times] = [channels, inputs, runs, first, times].map(|n| n as u32);
                    kernel(samples, flags, rows, c, n, r, first, times, u32::from(swap));
                });
                assert!(actual == expected, "{declaration}: {shape:?} from {first}, {times} times, {flagged} {swap}");
            }
        }
    }
}

formats! {
    runs_become_the_rows_of_the_reference: runs_of as PackRuns:
    1 pack_tcc_i4 pack_tcc_i4_any,
    2 pack_tcc_i8 pack_tcc_i8_any,
    4 pack_tcc_f16 pack_tcc_f16_any,
    8 pack_tcc_f32 pack_tcc_f32_any,
}

/// Sectors of loads and stores of a kernel that reads and writes `bytes` bytes, none of them twice.
fn assert_whole_sectors(report: &Report, bytes: usize, what: &str) {
    assert_eq!(report.global_sectors, report.global_sectors_ideal, "{what}: partial sectors");
    assert_eq!(report.global_sectors as usize * 32, 2 * bytes, "{what}: bytes that move");
    assert_eq!(report.shared_requests, 0, "{what}: shared memory");
}

/// Every sector that a wide kernel touches is used whole and once, by instructions of 16 bytes.
fn sectors_of<const S: usize>(pack: Declared<Pack>, heaps: Declared<PackHeaps>, runs: Declared<PackRuns>)
where
    Sample<S>: Default,
{
    let (times, inputs) = (256 / S, 64);
    let samples = vec![0x5a; 2 * times * inputs * S];
    let (c, t, n) = (2, times as u32, inputs as u32);
    let requests = 2 * samples.len() as u64 / 512; // of loads and of stores, 16 bytes a lane
    for (channel_stride, time_stride) in [(times * inputs, inputs), (inputs, 2 * inputs)] {
        let (_, report) = run(pack.1, 2, &samples, &[], samples.len(), |samples, flags, rows| {
            (pack.0)(samples, flags, rows, c, t, n, channel_stride as u64, time_stride as u64);
        });
        assert_whole_sectors(&report, samples.len(), pack.1);
        assert_eq!(report.global_requests, requests);
    }
    for pols in [1, 2] {
        let spectra = t / 2;
        let (_, report) = run(heaps.1, 2, &samples, &[], samples.len(), |samples, flags, rows| {
            (heaps.0)(samples, flags, rows, c, n / pols, pols, 2, spectra, 0, t);
        });
        assert_whole_sectors(&report, samples.len(), heaps.1);
        assert_eq!(report.global_requests, requests);
    }
    let (_, report) = run(runs.1, 2, &samples, &[], samples.len(), |samples, flags, rows| {
        (runs.0)(samples, flags, rows, c, n, t * S as u32 / 32, 0, t, 0);
    });
    assert_whole_sectors(&report, samples.len(), runs.1);
    assert_eq!(report.global_requests, requests);
}

#[test]
fn whole_pieces_move_whole_sectors_once() {
    sectors_of::<1>(
        declared!(pack_i4 as Pack),
        declared!(pack_heaps_i4 as PackHeaps),
        declared!(pack_tcc_i4 as PackRuns),
    );
    sectors_of::<2>(
        declared!(pack_i8 as Pack),
        declared!(pack_heaps_i8 as PackHeaps),
        declared!(pack_tcc_i8 as PackRuns),
    );
    sectors_of::<4>(
        declared!(pack_f16 as Pack),
        declared!(pack_heaps_f16 as PackHeaps),
        declared!(pack_tcc_f16 as PackRuns),
    );
    sectors_of::<8>(
        declared!(pack_f32 as Pack),
        declared!(pack_heaps_f32 as PackHeaps),
        declared!(pack_tcc_f32 as PackRuns),
    );
}

#[test]
fn short_views_and_odd_sizes_trap_before_anything_is_touched() {
    let trapped = |declaration,
                   samples: usize,
                   flags: usize,
                   rows: usize,
                   kernel: &dyn Fn(Global<u8>, Global<u8>, GlobalMut<u8>)| {
        let mut memory = GlobalMemory::new();
        let samples = memory.upload(&vec![1u8; samples]);
        let flags = memory.upload(&vec![1u8; flags]);
        let rows = memory.allocate::<u8>(rows);
        let launch = Launch::new(declaration, [1, 1, 1], [kernels::rows::THREADS, 1, 1]);
        let report = launch.run(&mut memory, || kernel(samples.into(), flags.into(), rows.into()));
        assert!(report.found(FaultKind::Operand) && report.faults.len() == 1, "{:?}", report.faults);
        assert!(memory.download(rows).iter().all(Option::is_none));
    };
    let (pack, declaration) = declared!(pack_i8 as Pack);
    // 1 channel, 64 times, 8 inputs: 1024 bytes and 512 flags.
    let strides = |channel, time| move |v, p, r| pack(v, p, r, 1, 64, 8, channel, time);
    trapped(declaration, 1023, 0, 1024, &strides(0, 8));
    trapped(declaration, 1024, 511, 1024, &strides(0, 8));
    trapped(declaration, 1024, 0, 1023, &strides(0, 8));
    trapped(declaration, 4096, 0, 1024, &strides(0, 9));
    trapped(declaration, 1024, 0, 1024, &strides(0, u64::MAX / 8 * 8));
    trapped(declaration, 4096, 0, 4096, &|v, p, r| pack(v, p, r, 1, 64, 9, 0, 16));
    trapped(declaration, 4096, 0, 4096, &|v, p, r| pack(v, p, r, u32::MAX, u32::MAX, 8, 0, 0));
    let (heaps, declaration) = declared!(pack_heaps_i8 as PackHeaps);
    trapped(declaration, 1023, 0, 1024, &|v, p, r| heaps(v, p, r, 1, 4, 2, 1, 64, 0, 64));
    trapped(declaration, 1024, 3, 1024, &|v, p, r| heaps(v, p, r, 1, 4, 2, 1, 64, 0, 64));
    trapped(declaration, 1024, 0, 2048, &|v, p, r| heaps(v, p, r, 1, 4, 2, 1, 64, 4, 64));
    trapped(declaration, 4096, 0, 4096, &|v, p, r| heaps(v, p, r, 1, 4, 3, 1, 64, 0, 64));
    trapped(declaration, 4096, 0, 4096, &|v, p, r| heaps(v, p, r, 1, 4, 2, 1, 66, 0, 64));
    trapped(declaration, 4096, 0, 4096, &|v, p, r| heaps(v, p, r, 1, 4, 2, 1, 64, 2, 8));
    trapped(declaration, 4096, 0, 4096, &|v, p, r| heaps(v, p, r, 1, 4, 2, 1, 0, 0, 0));
    let (runs, declaration) = declared!(pack_tcc_i8 as PackRuns);
    trapped(declaration, 1023, 0, 1024, &|v, p, r| runs(v, p, r, 1, 8, 4, 0, 64, 0));
    trapped(declaration, 1024, 0, 1024, &|v, p, r| runs(v, p, r, 1, 8, 4, 16, 64, 0));
    trapped(declaration, 1024, 512, 1024, &|v, p, r| runs(v, p, r, 1, 8, 4, 0, 64, 0));
    trapped(declaration, 1024, 0, 1024, &|v, p, r| runs(v, p, r, 1, 8, 4, 1, 32, 0));
}

#[test]
fn no_times_channels_or_inputs_are_no_work() {
    let (pack, declaration) = declared!(pack_i8 as Pack);
    for (channels, times, inputs) in [(0, 64, 8), (1, 0, 8), (1, 64, 0)] {
        let (rows, _) = run(declaration, 1, &[], &[], 0, |v, p, r| pack(v, p, r, channels, times, inputs, 0, 0));
        assert!(rows.is_empty());
    }
}

#[test]
fn voltages_may_begin_at_any_multiple_of_their_size_and_end_with_the_buffer() {
    fn check<const S: usize>((kernel, declaration): Declared<Pack>)
    where
        Sample<S>: Default,
    {
        let (channels, times, inputs) = (2, 128 / S + 3, 41);
        let mut random = random(S as u64);
        let voltages =
            Array3::from_shape_simple_fn((channels, times, inputs), || random.random::<[u8; 8]>()).mapv(cut::<S>);
        let expected = rows(voltages.view(), None);
        for skipped in 0..16 / S + 1 {
            let mut samples = vec![0; skipped * S];
            samples.extend(bytes(voltages.iter().copied()));
            let (actual, _) = run(declaration, 2, &samples, &[], expected.len(), |samples, flags, rows| {
                // SAFETY: the view holds more samples.
                let samples = unsafe { samples.part(skipped * S, samples.len() - skipped * S) };
                let (c, t, n) = (channels as u32, times as u32, inputs as u32);
                kernel(samples, flags, rows, c, t, n, (times * inputs) as u64, inputs as u64);
            });
            assert!(actual == expected, "{declaration}: {skipped} samples skipped");
        }
    }
    check::<1>(declared!(pack_i4_any as Pack));
    check::<2>(declared!(pack_i8_any as Pack));
    check::<4>(declared!(pack_f16_any as Pack));
    check::<8>(declared!(pack_f32_any as Pack));
}

#[test]
fn xgpu_spectra_are_voltages_with_time_outside() {
    // [time][channel][antenna][pol] by the reference's own definition of that layout.
    let (times, channels, antennas, pols) = (70, 3, 4, 2);
    let mut random = random(7);
    let spectra = Array4::from_shape_simple_fn((times, channels, antennas, pols), || random.random::<[u8; 2]>());
    let expected = rows(reference::voltages_of_spectra(spectra.view()).view(), None);
    let samples = bytes(spectra.iter().copied());
    let (kernel, declaration) = declared!(pack_i8 as Pack);
    let (actual, _) = run(declaration, 2, &samples, &[], expected.len(), |samples, flags, rows| {
        kernel(samples, flags, rows, 3, 70, 8, 8, 24);
    });
    assert!(actual == expected);
}
