//! The check of a launch against its kernel's declaration, which needs no GPU.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use fringes_gpu::declaration::{Access, Element, KernelDeclaration, ParameterKind};
use fringes_gpu::{GpuError, KernelAttributes, LaunchConfig, LaunchLimits, check_launch};

const ATTRIBUTES: KernelAttributes =
    KernelAttributes { registers: 32, static_shared_bytes: 1024, local_bytes: 0, max_threads_per_block: 1024 };

const F32: ParameterKind = ParameterKind::Scalar(Element::F32);

fn buffer(element: Element, access: Access) -> ParameterKind {
    ParameterKind::Buffer { element, access }
}

fn check(declaration: &str, config: LaunchConfig, arguments: &[ParameterKind]) -> Result<(), GpuError> {
    let declaration = KernelDeclaration::parse(declaration).unwrap();
    let mut limits = LaunchLimits::LOWEST;
    limits.clusters = declaration.name == "clustered";
    limits.cooperative = declaration.name != "alone";
    check_launch(&declaration, &ATTRIBUTES, &limits, &config, arguments)
}

const SAXPY: &str = "saxpy(a: f32, x: Global<f32>, y: GlobalMut<f32>) threads=256";

#[test]
fn arguments_of_the_declared_number_kinds_and_elements_fit() {
    let config = LaunchConfig::new([10, 1, 1], [256, 1, 1]);
    let (x, y) = (buffer(Element::F32, Access::Read), buffer(Element::F32, Access::ReadWrite));
    assert_eq!(check(SAXPY, config, &[F32, x, y]), Ok(()));
    assert_eq!(check(SAXPY, config, &[F32, y, y]), Ok(()), "what can be written can be read");
}

#[test]
fn a_wrong_argument_is_named_with_what_was_expected_and_what_came() {
    let config = LaunchConfig::new([10, 1, 1], [256, 1, 1]);
    let (x, y) = (buffer(Element::F32, Access::Read), buffer(Element::F32, Access::ReadWrite));
    let count = GpuError::ArgumentCount { kernel: "saxpy".into(), expected: 3, actual: 2 };
    assert_eq!(check(SAXPY, config, &[F32, x]), Err(count));
    for (arguments, index, parameter, expected, actual) in [
        ([ParameterKind::Scalar(Element::F64), x, y], 0, "a", "f32", "f64"),
        ([ParameterKind::Scalar(Element::I32), x, y], 0, "a", "f32", "i32"),
        ([x, x, y], 0, "a", "f32", "Global<f32>"),
        ([F32, F32, y], 1, "x", "Global<f32>", "f32"),
        ([F32, ParameterKind::TensorMap, y], 1, "x", "Global<f32>", "TensorMap"),
        ([F32, buffer(Element::U32, Access::Read), y], 1, "x", "Global<f32>", "Global<u32>"),
        ([F32, x, x], 2, "y", "GlobalMut<f32>", "Global<f32>"),
        ([F32, x, buffer(Element::F64, Access::ReadWrite)], 2, "y", "GlobalMut<f32>", "GlobalMut<f64>"),
    ] {
        let (kernel, parameter) = ("saxpy".into(), parameter.into());
        let wrong = GpuError::Argument { kernel, index, parameter, expected: expected.into(), actual: actual.into() };
        assert_eq!(check(SAXPY, config, &arguments), Err(wrong));
    }
}

#[test]
fn vectors_fit_only_vectors_of_the_same_scalar_and_length() {
    let vector = |scalar, length| buffer(Element::Vector { scalar, length }, Access::Read);
    let config = LaunchConfig::default();
    let kernel = "copy(x: Global<[u32; 4]>)";
    assert_eq!(check(kernel, config, &[vector(&Element::U32, 4)]), Ok(()));
    for wrong in [vector(&Element::U32, 2), vector(&Element::F32, 4), buffer(Element::U32, Access::Read)] {
        assert!(matches!(check(kernel, config, &[wrong]), Err(GpuError::Argument { .. })));
    }
}

/// The property that a refused geometry names.
fn refused(declaration: &str, config: LaunchConfig) -> &'static str {
    match check(declaration, config, &[]) {
        Ok(()) => "fits",
        Err(GpuError::Geometry { what, .. }) => what,
        Err(other) => panic!("{other}"),
    }
}

#[test]
fn the_block_is_the_declared_one() {
    for (block, expected) in
        [([256, 1, 1], "fits"), ([128, 1, 1], "threads of a block"), ([1, 256, 1], "threads of a block")]
    {
        assert_eq!(refused("k() threads=256", LaunchConfig::new([1; 3], block)), expected, "{block:?}");
    }
}

#[test]
fn an_undeclared_block_keeps_the_devices_limits() {
    for (block, expected) in [
        ([1024, 1, 1], "fits"),
        ([32, 32, 1], "fits"),
        ([0, 1, 1], "threads of a block"),
        ([1025, 1, 1], "threads of a block"),
        ([32, 33, 1], "threads of a block"),
        ([1, 1, 65], "threads of a block"),
    ] {
        assert_eq!(refused("k()", LaunchConfig::new([1; 3], block)), expected, "{block:?}");
    }
}

#[test]
fn a_kernel_with_many_registers_takes_fewer_threads() {
    let declaration = KernelDeclaration::parse("k()").unwrap();
    let attributes = KernelAttributes { max_threads_per_block: 512, ..ATTRIBUTES };
    let launch = |threads| {
        let config = LaunchConfig::new([1; 3], [threads, 1, 1]);
        check_launch(&declaration, &attributes, &LaunchLimits::LOWEST, &config, &[])
    };
    assert_eq!(launch(512), Ok(()));
    assert!(matches!(launch(544), Err(GpuError::Geometry { .. })));
}

#[test]
fn the_grid_keeps_the_devices_limits() {
    for (grid, expected) in [
        ([i32::MAX as u32, 65_535, 65_535], "fits"),
        ([i32::MAX as u32 + 1, 1, 1], "blocks of the grid"),
        ([1, 65_536, 1], "blocks of the grid"),
        ([1, 1, 65_536], "blocks of the grid"),
        ([0, 1, 1], "blocks of the grid"),
        ([1, 0, 1], "blocks of the grid"),
    ] {
        assert_eq!(refused("k()", LaunchConfig::new(grid, [32, 1, 1])), expected, "{grid:?}");
    }
}

#[test]
fn shared_memory_lies_between_the_declared_least_and_what_the_static_part_leaves() {
    let most = LaunchLimits::LOWEST.shared_bytes_per_block - ATTRIBUTES.static_shared_bytes;
    for (bytes, expected) in [
        (4096, "fits"),
        (most, "fits"),
        (4095, "dynamic shared memory"),
        (0, "dynamic shared memory"),
        (most + 1, "dynamic shared memory"),
        (u32::MAX, "dynamic shared memory"),
    ] {
        let config = LaunchConfig::default().with_shared_bytes(bytes);
        assert_eq!(refused("k() shared_bytes=4096", config), expected, "{bytes}");
    }
}

#[test]
fn clusters_need_the_device_and_divide_the_grid() {
    let launch = |declaration, grid, cluster| {
        refused(declaration, LaunchConfig { cluster, ..LaunchConfig::new(grid, [32, 1, 1]) })
    };
    assert_eq!(launch("clustered() cluster=2", [4, 1, 1], None), "fits");
    assert_eq!(launch("clustered() cluster=2", [4, 1, 1], Some([2, 1, 1])), "fits");
    assert_eq!(launch("clustered() cluster=2", [4, 1, 1], Some([4, 1, 1])), "blocks of a cluster");
    assert_eq!(launch("clustered() cluster=2", [3, 1, 1], None), "blocks of the grid");
    assert_eq!(launch("clustered()", [4, 6, 1], Some([2, 3, 1])), "fits");
    assert_eq!(launch("clustered()", [4, 5, 1], Some([2, 3, 1])), "blocks of the grid");
    assert_eq!(launch("clustered()", [32, 1, 1], Some([17, 1, 1])), "blocks of a cluster");
    assert_eq!(launch("clustered()", [32, 1, 1], Some([0, 1, 1])), "blocks of a cluster");
    assert_eq!(launch("old() cluster=2", [4, 1, 1], None), "clusters");
    assert_eq!(launch("old()", [4, 1, 1], Some([2, 1, 1])), "clusters");
}

#[test]
fn cooperation_needs_the_device() {
    assert_eq!(refused("k()", LaunchConfig::default().with_cooperation()), "fits");
    assert_eq!(refused("alone()", LaunchConfig::default().with_cooperation()), "cooperation");
}

#[test]
fn a_launch_for_elements_has_a_thread_for_each() {
    for (elements, blocks) in [(0, 1), (1, 1), (256, 1), (257, 2), (1 << 20, 4096)] {
        let config = LaunchConfig::for_elements(elements, 256).unwrap();
        assert_eq!((config.grid, config.block), ([blocks, 1, 1], [256, 1, 1]), "{elements}");
    }
    assert!(LaunchConfig::for_elements(1, 0).is_err());
    assert!(LaunchConfig::for_elements(i32::MAX as usize * 32, 32).is_ok());
    assert!(LaunchConfig::for_elements(i32::MAX as usize * 32 + 1, 32).is_err());
}
