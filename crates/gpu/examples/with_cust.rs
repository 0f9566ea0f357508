//! Launches a kernel on the buffers and the stream of a program that uses `cust`:
//! `cargo run -p fringes-gpu --features cust --example with_cust` (the driver's library is needed to link it).

use std::error::Error;
use std::sync::Arc;

use cust::memory::{CopyDestination, DeviceBuffer};
use cust::stream::{Stream as CustStream, StreamFlags};
use fringes_gpu::{Buffer, BufferView, BufferViewMut, Device, LaunchConfig, PtxSet, Stream, args};

static KERNELS: PtxSet = PtxSet::new(include_str!("self_check/kernels.ptx"));

fn main() -> Result<(), Box<dyn Error>> {
    // The program as it was, with cust.
    let context = cust::quick_init()?;
    let their_stream = Arc::new(CustStream::new(StreamFlags::NON_BLOCKING, None)?);
    let x = DeviceBuffer::from_slice(&[1.0f32; 1000])?;
    let mut y = DeviceBuffer::from_slice(&[2.0f32; 1000])?;

    // The same context, stream and memory here.
    let device = Device::from_cust(&context)?;
    let stream = Stream::from_cust(&device, Arc::clone(&their_stream))?;
    let saxpy = device.load(&KERNELS)?.kernel("saxpy")?;
    let config = LaunchConfig::for_elements(1000, 256)?;
    let views = (BufferView::from_cust(&device, &x)?, BufferViewMut::from_cust(&device, &mut y)?);
    saxpy.launch_safe(&stream, &config, args![3.0f32, views.0, views.1])?;

    // And back.
    their_stream.synchronize()?;
    let mut host = [0.0f32; 1000];
    y.copy_to(&mut host)?;
    println!("3 * 1 + 2 = {}", host[0]);
    if host != [5.0; 1000] {
        return Err("wrong numbers in cust's buffer".into());
    }
    let ours: Buffer<f32> = Buffer::from_cust(&device, y)?;
    if ours.to_vec(&stream)? != host {
        return Err("wrong numbers in a buffer that cust gave".into());
    }
    ours.into_cust()?.copy_to(&mut host)?;

    // A stream that both know, and the order of two that only one of them knows.
    let (shared, shared_theirs) = Stream::shared_with_cust(&device)?;
    shared.wait_for_cust(&their_stream)?;
    stream.make_cust_wait(&shared_theirs)?;
    shared.synchronize()?;
    drop(device.to_cust()?);
    Ok(())
}
