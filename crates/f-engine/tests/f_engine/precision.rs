//! Half precision where there is none: on the CPU, and of plans and samples without such kernels, everything is as in
//! single precision.

use fringes_backend::Backend;
use fringes_f_engine::{FEngine, FrameSample, Precision};
use fringes_types::{ChunkFormat, Complex};

use crate::support::{Case, backends};

fn engine<Q: FrameSample>(backend: &Backend, case: &Case, precision: Precision) -> FEngine<Q> {
    case.builder().precision(precision).build(backend).unwrap()
}

fn check<Q: FrameSample>(backend: &Backend, case: &Case) {
    let lengths = [case.length / 3 + 1, 77];
    let single = case.streamed_by(engine::<Q>(backend, case, Precision::Single), &lengths);
    let half = case.streamed_by(engine::<Q>(backend, case, Precision::Half), &lengths);
    assert_eq!(half.frames, single.frames);
    let mut engine = engine::<Q>(backend, case, Precision::Half);
    engine.push(&*case.chunk(&case.samples(), 0, case.length)).unwrap();
    assert_eq!(engine.precision(), Some(Precision::Single), "{}", backend.name());
}

#[test]
fn the_cpu_computes_half_precision_in_single() {
    assert_eq!(Precision::default(), Precision::Single);
    // Plan and samples would have kernels of half precision.
    let case = Case { channels: 512, range: 0..512, length: 512 * 2 * 14, dither: Some(3), ..Case::default() };
    let backend = Backend::cpu();
    check::<Complex<i8>>(&backend, &case);
    check::<Complex<f32>>(&backend, &case);
    assert_eq!(engine::<Complex<i8>>(&backend, &case, Precision::Half).precision(), Some(Precision::Single));
    let need = |precision| {
        let builder = case.builder().precision(precision);
        builder.memory::<Complex<i8>>(&backend, 10_000, ChunkFormat::Packed { bits: 10 }).unwrap()
    };
    assert_eq!(need(Precision::Half), need(Precision::Single));
}

#[test]
fn plans_and_samples_without_kernels_of_half_precision_are_computed_in_single() {
    for backend in backends() {
        // Other channels, and other bits.
        check::<Complex<i8>>(&backend, &Case { channels: 128, range: 0..128, length: 128 * 2 * 14, ..Case::default() });
        let case = Case { channels: 512, range: 9..500, length: 512 * 2 * 14, bits: 14, ..Case::default() };
        check::<Complex<f32>>(&backend, &case);
    }
}
