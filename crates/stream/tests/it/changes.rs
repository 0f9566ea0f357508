//! Gains and delays that change while an instrument runs.

use fringes_backend::Backend;
use fringes_correlator::Integrator;
use fringes_delay_model::{DelayModel, DelaySegment};
use fringes_stream::sink::{MemorySink, Overflow};
use fringes_stream::{Fx, StreamError};
use fringes_types::{Complex, Gains, SampleChunk};

use crate::support::{FRAME, Gate, block, dumps, engine, inputs, noise, schedule, whole};

#[test]
fn gains_hold_from_the_stated_frame_on_whatever_the_chunks() {
    let end = 24 * FRAME;
    let change = 7 * FRAME + 5; // the frame behind it is the eighth
    // What must come out: frames of two F-engines.
    let all = whole(&[block(0, end as usize)], end);
    let mut integrator = Integrator::<Complex<i8>>::new(&Backend::cpu(), schedule(1), inputs(), 64).unwrap();
    let mut expected = Vec::new();
    for (gain, before) in [(0.05, true), (0.02, false)] {
        let engine = engine().gains(Gains::uniform(gain).unwrap());
        let frames = fringes_f_engine::f_engine::<Complex<i8>>(&Backend::cpu(), all.as_chunk(), engine).unwrap();
        for dump in integrator.push(&frames.frames[0].voltages).unwrap().into_iter().chain(integrator.finish().unwrap())
        {
            if (dump.clock().first_sample < 8 * FRAME) == before {
                expected.push(dump);
            }
        }
    }
    for times in [1000, 128, 3 * FRAME as usize, 20_000] {
        let (sink, products) = MemorySink::new();
        let fx = Fx::<Complex<i8>>::new(&Backend::cpu(), engine()).cadence(schedule(1)).sink(sink, Overflow::Block);
        // Changes that are there before the first chunk: the source waits for them.
        let (go, wait) = std::sync::mpsc::channel::<()>();
        let chunks = Gate { source: noise(times, end), wait: Some(wait) };
        let running = fx.start(chunks).unwrap();
        running.control().set_gains(change, Gains::uniform(0.02).unwrap());
        go.send(()).unwrap();
        running.join().into_result().unwrap();
        assert_eq!(dumps(&products, 0), expected, "chunks of {times}");
    }
}

#[test]
fn delays_change_at_their_sample_and_gains_beside_them() {
    let end = 24 * FRAME;
    let segment = DelaySegment::new(9 * FRAME, vec![3.25]);
    let models = |changed: bool| {
        let mut models = vec![DelayModel::constant(1.5, 0.0).unwrap(); 4];
        if changed {
            models[2].push(segment.clone()).unwrap();
        }
        models
    };
    let with = |changed: bool| engine().delays(models(changed));
    let all = whole(&[block(0, end as usize)], end);
    let expected = crate::support::in_one_call(all.as_chunk() as &dyn SampleChunk, with(true), 2);
    assert_ne!(expected, crate::support::in_one_call(all.as_chunk(), with(false), 2));
    let (sink, products) = MemorySink::new();
    let (go, wait) = std::sync::mpsc::channel::<()>();
    let running = Fx::<Complex<i8>>::new(&Backend::cpu(), with(false))
        .cadence(schedule(2))
        .sink(sink, Overflow::Block)
        .start(Gate { source: noise(777, end), wait: Some(wait) })
        .unwrap();
    running.control().set_delay(2, segment.clone());
    go.send(()).unwrap();
    running.join().into_result().unwrap();
    assert_eq!(dumps(&products, 0), expected);
}

#[test]
fn a_delay_of_an_input_that_there_is_not_is_an_error() {
    let (go, wait) = std::sync::mpsc::channel::<()>();
    let running = Fx::<Complex<i8>>::new(&Backend::cpu(), engine())
        .cadence(schedule(2))
        .start(Gate { source: noise(777, 9 * FRAME), wait: Some(wait) })
        .unwrap();
    running.control().set_delay(4, DelaySegment::new(0, vec![1.0]));
    go.send(()).unwrap();
    let error = running.join().error.unwrap();
    assert!(matches!(error, StreamError::Change { what: "delay", .. }), "{error}");
}
