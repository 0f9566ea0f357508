//! `saxpy`: bit for bit what the host computes, and nothing beyond the shorter buffer.

use fringes_gpu::{Buffer, LaunchConfig, PtxSet, args};

use crate::end::End;
use crate::gpu_report::params;
use crate::validate::session::{Outcome, Session, compare};

static SAXPY: PtxSet = PtxSet::new(include_str!("../../../kernels-rs/tools/saxpy/ptx/saxpy_sm_80.ptx"));

pub(crate) fn validate(session: &mut Session) -> Result<(), End> {
    let sizes: &[usize] = if session.quick { &[1, 257] } else { &[1, 31, 255, 256, 257, 1_000_003, 1 << 26] };
    for &length in sizes {
        case(session, length, length)?;
    }
    case(session, 100, 300)?;
    case(session, 300, 100)
}

fn case(session: &mut Session, of_x: usize, of_y: usize) -> Result<(), End> {
    let variant = if of_x == of_y { "" } else { "different lengths" };
    session.case("saxpy", variant, params([("x", of_x), ("y", of_y)]), |session| {
        let stream = &session.stream;
        let kernel = session.device.load(&SAXPY)?.kernel("saxpy")?;
        // Products and sums that need rounding.
        let values =
            |length: usize, step: f32| (0..length).map(|i| (i % 10_007) as f32 * step - 3.7).collect::<Vec<_>>();
        let (x, y, a) = (values(of_x, 0.37), values(of_y, 0.0013), 1.1f32);
        let on_device = Buffer::from_slice(stream, &x)?;
        let mut result = Buffer::from_slice(stream, &y)?;
        let config = LaunchConfig::for_elements(of_x.max(of_y), 256)?;
        let mut launch = || kernel.launch_safe(stream, &config, args![a, &on_device, &mut result]);
        launch()?;
        let actual: Vec<u32> = result.to_vec(stream)?.into_iter().map(f32::to_bits).collect();
        let time_ms = session.time(|| kernel.launch_safe(stream, &config, args![a, &on_device, &mut result]))?;
        let expected: Vec<u32> =
            y.iter().enumerate().map(|(i, y)| x.get(i).map_or(*y, |x| a * x + y).to_bits()).collect();
        Ok(Outcome {
            time_ms,
            value: 12.0 * of_x.min(of_y) as f64 / time_ms / 1e6,
            unit: "GB/s",
            against: "a x + y in f32 on the host, bit for bit",
            verdict: compare(&expected, &actual),
        })
    })
}
