//! Streams, events, times, graphs, threads.

use fringes_gpu::{Buffer, Device, Event, GpuError, Graph, LaunchConfig, PinnedBuffer, args, time};

use super::{Bench, Broken, Check, KERNELS, Outcome, equal, fails, holds};

pub(crate) const CHECKS: &[Check] = &[
    ("a launch returns before its kernel is done, and synchronising waits", asynchronous),
    ("events take times", times),
    ("a stream waits for an event of another", waits),
    ("repeated work is timed run by run", timing),
    ("a graph does its work again at every launch", graph),
    ("what cannot be captured is refused, and the stream goes on", faulty_capture),
    ("two threads use one device at once", threads),
];

fn asynchronous(bench: &Bench) -> Outcome {
    holds("an idle stream is done", bench.stream.is_done()?)?;
    bench.spin(&bench.stream, 30)?;
    holds("still running", !bench.stream.is_done()?)?;
    bench.stream.synchronize()?;
    holds("done", bench.stream.is_done()?)?;
    bench.spin(&bench.device.default_stream(), 1)?;
    bench.device.synchronize()?;
    Ok(None)
}

fn times(bench: &Bench) -> Outcome {
    let (start, end) = (bench.device.new_event()?, bench.device.new_event()?);
    start.record(&bench.stream)?;
    bench.spin(&bench.stream, 20)?;
    end.record(&bench.stream)?;
    holds("the end is not reached yet", !end.is_done()?)?;
    let elapsed = end.elapsed_ms(&start)?;
    holds("the end is reached", end.is_done()?)?;
    // The kernel reads the timer after the first event and before the second; the timer moves in steps of at most 1.1
    // ms.
    holds(&format!("{elapsed} ms is at least 20 less a step"), elapsed >= 18.9)?;
    Ok(Some(format!("{elapsed:.3} ms for a kernel of 20 ms")))
}

fn waits(bench: &Bench) -> Outcome {
    let other = bench.device.new_stream()?;
    let mut buffer = Buffer::<u32>::zeroed(&bench.stream, 1000)?;
    bench.spin(&bench.stream, 30)?;
    buffer.fill(&bench.stream, 1)?;
    let event: Event = bench.device.new_event()?;
    event.record(&bench.stream)?;
    other.wait(&event)?;
    holds("waiting does not block the host", !bench.stream.is_done()?)?;
    equal("elements", buffer.to_vec(&other)?, vec![1; 1000])?;
    bench.spin(&other, 30)?;
    buffer.fill(&other, 2)?;
    bench.stream.wait_for(&other)?;
    equal("elements the other way round", buffer.to_vec(&bench.stream)?, vec![2; 1000])?;
    Ok(None)
}

fn timing(bench: &Bench) -> Outcome {
    let mut seen = Vec::new();
    let timing = time(&bench.stream, 2, 10, |run| {
        seen.push(run);
        bench.spin(&bench.stream, 2)
    })?;
    equal("runs", seen, (0..12).collect())?;
    equal("times", timing.all_ms.len(), 10)?;
    holds("the shortest is the shortest", timing.all_ms.iter().all(|time| *time >= timing.min_ms))?;
    holds(&format!("a median of {} ms", timing.median_ms), (0.9..20.0).contains(&timing.median_ms))?;
    fails("no runs", time(&bench.stream, 0, 0, |_| Ok::<(), GpuError>(())), |error| {
        matches!(error, GpuError::Value { .. })
    })?;
    let empty = time(&bench.stream, 3, 20, |_| Ok::<(), GpuError>(()))?;
    Ok(Some(format!("{:.4} ms for no work", empty.median_ms)))
}

fn graph(bench: &Bench) -> Outcome {
    let stream = &bench.stream;
    let (kernel, config) = (bench.kernel("saxpy")?, LaunchConfig::for_elements(1000, 256)?);
    let mut host = PinnedBuffer::from_slice(&bench.device, &[1.0f32; 1000])?;
    let mut x = Buffer::<f32>::alloc(&bench.device, 1000)?;
    let mut y = Buffer::<f32>::zeroed(stream, 1000)?;
    let mut graph = Graph::capture(stream, |stream| {
        x.view_mut().copy_from_pinned(stream, &host, ..)?;
        kernel.launch_safe(stream, &config, args![2.0f32, &x, &mut y])
    })?;
    equal("nodes", graph.nodes(), 2)?;
    equal("nothing is done while capturing", y.to_vec(stream)?, vec![0.0; 1000])?;
    for _ in 0..3 {
        // SAFETY: the buffers, the pinned buffer and the module live, and the host does not touch the pinned buffer
        // meanwhile.
        unsafe { graph.launch(stream)? };
    }
    equal("three launches", y.to_vec(stream)?, vec![6.0; 1000])?;
    host.as_mut_slice()?.fill(10.0);
    // SAFETY: as above.
    unsafe { graph.launch(stream)? };
    drop(graph);
    equal("a fourth, with other numbers", y.to_vec(stream)?, vec![26.0; 1000])?;
    Ok(None)
}

fn faulty_capture(bench: &Bench) -> Outcome {
    let stream = &bench.stream;
    let mut buffer = Buffer::<u32>::zeroed(stream, 10)?;
    let refused = |error: &GpuError| matches!(error, GpuError::Value { .. });
    fails("a copy from a slice", Graph::capture(stream, |stream| buffer.copy_from_slice(stream, &[1; 10])), refused)?;
    fails("a copy to a slice", Graph::capture(stream, |stream| buffer.to_vec(stream).map(|_| ())), refused)?;
    fails("waiting", Graph::capture(stream, |stream| stream.synchronize()), |error| {
        matches!(error, GpuError::Driver { .. })
    })?;
    let own = Graph::capture(stream, |_| Err(Broken("the work's own".into())));
    holds("an error of the work itself", own.is_err_and(|broken| broken.0 == "the work's own"))?;
    equal("the elements, on the same stream", buffer.to_vec(stream)?, vec![0; 10])?;
    let nothing = Graph::capture(stream, |_| Ok::<(), GpuError>(()))?;
    equal("nodes of no work", nothing.nodes(), 0)?;
    Ok(None)
}

fn threads(bench: &Bench) -> Outcome {
    let work = |seed: f32| -> Result<Vec<f32>, GpuError> {
        let device = Device::open(bench.device.info().index)?;
        let stream = device.new_stream()?;
        let (kernel, config) = (device.load(&KERNELS)?.kernel("saxpy")?, LaunchConfig::for_elements(100_000, 256)?);
        let x = Buffer::from_slice(&stream, &vec![seed; 100_000])?;
        let mut y = Buffer::<f32>::zeroed(&stream, 100_000)?;
        for _ in 0..100 {
            kernel.launch_safe(&stream, &config, args![1.0f32, &x, &mut y])?;
        }
        y.to_vec(&stream)
    };
    std::thread::scope(|scope| {
        let both = [1.0, 2.0].map(|seed| (seed, scope.spawn(move || work(seed))));
        for (seed, thread) in both {
            let y = thread.join().map_err(|_| Broken("a thread panicked".into()))??;
            holds("each thread's own numbers", y.iter().all(|value| *value == 100.0 * seed))?;
        }
        Ok(None)
    })
}
