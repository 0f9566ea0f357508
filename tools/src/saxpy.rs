//! Launches the smallest kernel, `y = a x + y`: the host's half of docs/kernels.md.
//!
//! ```text
//! cargo run --release -p fringes-tools -- saxpy
//! ```

use crate::end::End;
use fringes_gpu::{Buffer, Device, GpuError, LaunchConfig, PtxSet, args};

/// The kernel's PTX, with its declaration inside.
static SAXPY: PtxSet = PtxSet::new(include_str!("../../kernels-rs/tools/saxpy/ptx/saxpy_sm_80.ptx"));

// docs/kernels.md shows from here
fn saxpy(device: &Device) -> Result<Vec<f32>, GpuError> {
    let stream = device.new_stream()?;
    let kernel = device.load(&SAXPY)?.kernel("saxpy")?;

    let x = Buffer::from_slice(&stream, &[1.0f32, 2.0, 3.0])?;
    let mut y = Buffer::from_slice(&stream, &[10.0f32, 20.0, 30.0])?;
    let config = LaunchConfig::for_elements(y.len(), 256)?;
    kernel.launch_safe(&stream, &config, args![2.0f32, &x, &mut y])?;
    y.to_vec(&stream) // waits
}
// to here

/// What a launch with wrong arguments answers, before anything reaches the GPU.
fn mistake(device: &Device) -> Result<String, GpuError> {
    let stream = device.new_stream()?;
    let kernel = device.load(&SAXPY)?.kernel("saxpy")?;
    let x = Buffer::from_slice(&stream, &[1.0f64])?;
    let mut y = Buffer::from_slice(&stream, &[1.0f32])?;
    let config = LaunchConfig::for_elements(1, 256)?;
    match kernel.launch_safe(&stream, &config, args![2.0f32, &x, &mut y]) {
        Err(error) => Ok(error.to_string()),
        Ok(()) => Ok("taken".into()),
    }
}

/// Runs the tool.
pub(crate) fn run() -> Result<(), End> {
    let device = Device::best()?;
    println!("{}", device.info());
    println!("2 x + y = {:?}", saxpy(&device)?);
    println!("with x of f64: {}", mistake(&device)?);
    Ok(())
}
