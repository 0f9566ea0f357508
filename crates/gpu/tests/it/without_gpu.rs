//! What the crate does on a machine without a GPU, and what its types promise to threads.

use fringes_gpu::{
    Buffer, BufferPool, BufferView, BufferViewMut, Device, DeviceInfo, Event, GpuError, Graph, Kernel, Module,
    PinnedBuffer, Stream, TensorMap, device_count, devices,
};

#[test]
fn without_a_driver_every_way_in_says_so() {
    match device_count() {
        Err(GpuError::NoDriver) => {
            assert_eq!(devices(), Err(GpuError::NoDriver));
            assert_eq!(Device::open(0).map(|_| ()), Err(GpuError::NoDriver));
            assert_eq!(Device::best().map(|_| ()), Err(GpuError::NoDriver));
            assert!(GpuError::NoDriver.is_absence());
        }
        other => println!("not checked: there is a driver here, which shows {other:?} devices"),
    }
}

#[test]
fn a_device_that_is_not_there_is_a_typed_error() {
    match device_count() {
        Err(error) => println!("not checked: {error}"),
        Ok(count) => {
            assert_eq!(Device::open(count).map(|_| ()), Err(GpuError::NoDevice { index: count, count }));
            assert!(matches!(Device::open(usize::MAX), Err(GpuError::NoDevice { .. })));
        }
    }
}

#[test]
fn every_type_is_send_and_sync_and_errors_can_be_compared() {
    fn shared<T: Send + Sync>() {}
    shared::<Device>();
    shared::<DeviceInfo>();
    shared::<Stream>();
    shared::<Event>();
    shared::<Buffer<f32>>();
    shared::<BufferView<'_, f32>>();
    shared::<BufferViewMut<'_, f32>>();
    shared::<PinnedBuffer<f32>>();
    shared::<BufferPool>();
    shared::<Module>();
    shared::<Kernel>();
    shared::<Graph>();
    shared::<TensorMap>();
    fn error<T: std::error::Error + Clone + PartialEq + Send + Sync + 'static>() {}
    error::<GpuError>();
}

#[cfg(feature = "nccl")]
#[test]
fn without_nccl_its_absence_is_a_typed_error() {
    match fringes_gpu::nccl::version() {
        Err(GpuError::NoNccl { reason }) if std::env::var_os(fringes_gpu::nccl::LIBRARY_VARIABLE).is_none() => {
            assert!(reason.contains("libnccl.so.2"), "{reason}")
        }
        other => println!("not checked: NCCL is here, {other:?}"),
    }
}
