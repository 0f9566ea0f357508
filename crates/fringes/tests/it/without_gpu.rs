//! A program for CPUs: no kernels, and a typed error for who asks for a GPU.
#![cfg(not(feature = "gpu"))]

use fringes::prelude::*;
use fringes::{DeviceError, ndarray::Array3};

#[test]
fn a_gpu_that_is_asked_for_is_an_error_that_names_the_feature() {
    let error = Backend::gpu(0).map(|backend| backend.name()).unwrap_err();
    assert!(
        matches!(&error, DeviceError::Unavailable { requested, reason } if requested == "gpu 0" && reason.contains("feature `gpu`")),
        "{error}"
    );
}

#[test]
fn auto_is_the_cpu_and_correlates() -> Result<(), fringes::Error> {
    let backend = Backend::auto();
    assert_eq!(backend.name(), "cpu");
    let data = Array3::from_shape_fn((1, 3, 2), |(_, time, input)| Complex::new(time as i8 + 1, input as i8));
    let voltages = Voltages::new(data, Inputs::single_pol(2)?)?;
    let visibilities = correlate(&backend, &voltages, BaselineOrder::Triangle)?;
    // Sums of |t|^2, (t + i) t and |t + i|^2 over t = 1, 2, 3.
    let expected = [Complex::new(14, 0), Complex::new(14, 6), Complex::new(17, 0)];
    assert_eq!(visibilities.data().row(0).to_vec(), expected);
    Ok(())
}
