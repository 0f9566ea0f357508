//! Kernels: what loads, what launches, what is refused.

use fringes_gpu::{
    Buffer, BufferView, GpuError, LaunchConfig, PtxSet, PtxTarget, Swizzle, TensorElement, TensorLayout, TensorMap,
    args,
};

use super::{Bench, Check, KERNELS, Outcome, equal, fails, holds};

pub(crate) const CHECKS: &[Check] = &[
    ("a kernel computes what it should, tails included", saxpy),
    ("arguments come through with their values", scalars),
    ("a wrong launch is refused before anything is queued", refusals),
    ("a kernel can have all shared memory of the device", shared_memory),
    ("a kernel runs with all blocks at once", cooperation),
    ("blocks form clusters", clusters),
    ("a tensor map comes through by value", tensor_maps),
    ("a module is loaded once", modules),
    ("PTX that does not compile gives the compiler's log", compile_errors),
    ("a declaration that is not the kernel's is found when it is opened", misdeclared),
];

fn saxpy(bench: &Bench) -> Outcome {
    let kernel = bench.kernel("saxpy")?;
    for length in [1usize, 255, 256, 257, 100_003] {
        let x: Vec<f32> = (0..length).map(|i| i as f32).collect();
        let x = Buffer::from_slice(&bench.stream, &x)?;
        let mut y = Buffer::from_slice(&bench.stream, &vec![1.0f32; length + 1])?;
        let config = LaunchConfig::for_elements(length, 256)?;
        kernel.launch_safe(&bench.stream, &config, args![3.0f32, &x, y.slice_mut(..length)?])?;
        let y = y.to_vec(&bench.stream)?;
        holds("a x + y", (0..length).all(|i| y[i] == 3.0 * i as f32 + 1.0))?;
        equal("the element behind", y[length], 1.0)?;
    }
    let attributes = kernel.attributes();
    holds("registers", attributes.registers > 0)?;
    equal("local memory", attributes.local_bytes, 0)?;
    holds("threads", (256..=1024).contains(&attributes.max_threads_per_block))?;
    let blocks = kernel.blocks_per_multiprocessor(256, 0)?;
    let most = bench.device.info().limits.threads_per_multiprocessor / 256;
    equal("blocks a multiprocessor holds", blocks, most)?;
    Ok(Some(format!("{} registers, {blocks} blocks a multiprocessor", attributes.registers)))
}

fn scalars(bench: &Bench) -> Outcome {
    let mut out = Buffer::<u64>::zeroed(&bench.stream, 5)?;
    let arguments = args![-2i8, 65_535u16, -3i32, u64::MAX - 1, 0.1f64, &mut out];
    // SAFETY: the kernel writes five elements, which the buffer has.
    unsafe { bench.kernel("scalars")?.launch(&bench.stream, &LaunchConfig::default(), arguments)? };
    let expected = vec![(-2i64).cast_unsigned(), 65_535, (-3i64).cast_unsigned(), u64::MAX - 1, 0.1f64.to_bits()];
    equal("values", out.to_vec(&bench.stream)?, expected)?;
    Ok(None)
}

fn refusals(bench: &Bench) -> Outcome {
    let stream = &bench.stream;
    let kernel = bench.kernel("saxpy")?;
    let config = LaunchConfig::new([4, 1, 1], [256, 1, 1]);
    let x = Buffer::from_slice(stream, &[1.0f32; 1000])?;
    let mut y = Buffer::<f32>::zeroed(stream, 1000)?;
    let argument = |at| move |error: &GpuError| matches!(error, GpuError::Argument { index, .. } if *index == at);
    let geometry = |error: &GpuError| matches!(error, GpuError::Geometry { .. });
    fails("too few", kernel.launch_safe(stream, &config, args![1.0f32, &x]), |error| {
        matches!(error, GpuError::ArgumentCount { expected: 3, actual: 2, .. })
    })?;
    fails("f64", kernel.launch_safe(stream, &config, args![1.0f64, &x, &mut y]), argument(0))?;
    let words = x.view().cast::<u32>()?;
    fails("u32 elements", kernel.launch_safe(stream, &config, args![1.0f32, words, &mut y]), argument(1))?;
    fails("only to be read", kernel.launch_safe(stream, &config, args![1.0f32, &x, &x]), argument(2))?;
    let grid = LaunchConfig { grid: [0, 1, 1], ..config };
    fails("no blocks", kernel.launch_safe(stream, &grid, args![1.0f32, &x, &mut y]), geometry)?;
    let block = LaunchConfig { block: [128, 1, 1], ..config };
    fails("another block", kernel.launch_safe(stream, &block, args![1.0f32, &x, &mut y]), geometry)?;
    let most = bench.device.info().limits.shared_bytes_per_block;
    let shared = config.with_shared_bytes(most + 1);
    fails("shared memory", kernel.launch_safe(stream, &shared, args![1.0f32, &x, &mut y]), geometry)?;
    fails(
        "a kernel that relies on its caller",
        bench.kernel("reverse")?.launch_safe(
            stream,
            &config.with_shared_bytes(1024),
            args![1024u32, &mut words_of(stream)?],
        ),
        |error| matches!(error, GpuError::NotDeclaredSafe { .. }),
    )?;
    equal("nothing was done", y.to_vec(stream)?, vec![0.0; 1000])?;
    Ok(None)
}

fn words_of(stream: &fringes_gpu::Stream) -> Result<Buffer<u32>, GpuError> {
    Buffer::from_slice(stream, &(0..512u32).collect::<Vec<_>>())
}

fn shared_memory(bench: &Bench) -> Outcome {
    let kernel = bench.kernel("reverse")?;
    let most = bench.device.info().limits.shared_bytes_per_block;
    for bytes in [1024, 48 << 10, (48 << 10) + 4, most] {
        let mut words = words_of(&bench.stream)?;
        let config = LaunchConfig::new([2, 1, 1], [256, 1, 1]).with_shared_bytes(bytes);
        // SAFETY: the buffer has the two blocks' words, and the shared memory the bytes that the kernel is told.
        unsafe { kernel.launch(&bench.stream, &config, args![bytes, &mut words])? };
        let expected: Vec<u32> = (0..256).rev().chain((256..512).rev()).collect();
        equal("reversed", words.to_vec(&bench.stream)?, expected)?;
    }
    Ok(Some(format!("{most} bytes")))
}

fn cooperation(bench: &Bench) -> Outcome {
    let x = Buffer::from_slice(&bench.stream, &[1.0f32; 1000])?;
    let mut y = Buffer::<f32>::zeroed(&bench.stream, 1000)?;
    let kernel = bench.kernel("saxpy")?;
    let config = LaunchConfig::for_elements(1000, 256)?.with_cooperation();
    kernel.launch_safe(&bench.stream, &config, args![1.0f32, &x, &mut y])?;
    equal("elements", y.to_vec(&bench.stream)?, vec![1.0; 1000])?;
    let blocks = kernel.blocks_per_multiprocessor(256, 0)? * bench.device.info().multiprocessors;
    let config = LaunchConfig::new([blocks + 1, 1, 1], [256, 1, 1]).with_cooperation();
    fails("more blocks than fit", kernel.launch_safe(&bench.stream, &config, args![1.0f32, &x, &mut y]), |error| {
        matches!(error, GpuError::Driver { .. })
    })?;
    equal("the device goes on", y.to_vec(&bench.stream)?, vec![1.0; 1000])?;
    Ok(None)
}

fn clusters(bench: &Bench) -> Outcome {
    const CLUSTER: PtxSet = PtxSet::new(include_str!("cluster.ptx"));
    if !bench.device.info().limits.clusters {
        return Ok(Some("not checked: compute capability below 9.0".into()));
    }
    let kernel = bench.device.load(&CLUSTER)?.kernel("cluster_rank")?;
    for size in [1u32, 2, 4, 8] {
        let mut ranks = Buffer::<u32>::zeroed(&bench.stream, 16)?;
        let config = LaunchConfig::new([16, 1, 1], [32, 1, 1]).with_cluster([size, 1, 1]);
        // SAFETY: the buffer has an element for each block.
        unsafe { kernel.launch(&bench.stream, &config, args![&mut ranks])? };
        equal("ranks", ranks.to_vec(&bench.stream)?, (0..16).map(|block| block % size).collect())?;
    }
    Ok(None)
}

fn tensor_maps(bench: &Bench) -> Outcome {
    let rows = Buffer::<u8>::zeroed(&bench.stream, 128 * 64 * 10)?;
    let layout = TensorLayout::packed(TensorElement::U8, &[128, 64, 10], &[128, 8, 1]).with_swizzle(Swizzle::Bytes128);
    let short = rows.slice(..128 * 64 * 10 - 1)?;
    fails("a view that is too short", TensorMap::tiled(short, &layout), |error| {
        matches!(error, GpuError::TensorMap { what: "extent", .. })
    })?;
    if bench.device.info().compute_capability < (9, 0) {
        fails("below 9.0", TensorMap::tiled(rows.view(), &layout), |error| {
            matches!(error, GpuError::ComputeCapability { .. })
        })?;
        return Ok(Some("not made: compute capability below 9.0".into()));
    }
    let map = TensorMap::tiled(rows.view(), &layout)?;
    let mut out = Buffer::<u64>::zeroed(&bench.stream, 4)?;
    // SAFETY: the kernel writes four elements, which the buffer has, and does not use the map.
    unsafe { bench.kernel("map_words")?.launch(&bench.stream, &LaunchConfig::default(), args![&map, &mut out])? };
    let words = map.raw().opaque;
    equal("words", out.to_vec(&bench.stream)?, vec![words[0], words[1], words[7], words[15]])?;
    holds("the map is not empty", words.iter().any(|word| *word != 0))?;
    Ok(None)
}

fn modules(bench: &Bench) -> Outcome {
    let again = bench.device.load_target(&KERNELS, PtxTarget::Sm80)?;
    equal("the function", again.kernel("saxpy")?.raw(), bench.kernel("saxpy")?.raw())?;
    equal("the target", again.target(), "sm_80")?;
    fails("a target that is not there", bench.device.load_target(&KERNELS, PtxTarget::Sm90a), |error| {
        matches!(error, GpuError::Value { .. })
    })?;
    for target in [None, Some(PtxTarget::Sm80)] {
        const NONE: PtxSet = PtxSet::of(None, None);
        let loaded = target.map_or_else(|| bench.device.load(&NONE), |target| bench.device.load_target(&NONE, target));
        fails("a set without texts", loaded, |error| matches!(error, GpuError::NoPtx))?;
    }
    fails(
        "a name that is not there",
        again.kernel("nothing"),
        |error| matches!(error, GpuError::NoKernel { declared, .. } if declared.iter().any(|name| name == "saxpy")),
    )?;
    Ok(None)
}

fn compile_errors(bench: &Bench) -> Outcome {
    const FAULTY: PtxSet =
        PtxSet::new(".version 7.8\n.target sm_80\n.address_size 64\n.visible .entry k() { add.u32; }\n");
    let mut length = 0;
    fails("faulty PTX", bench.device.load(&FAULTY), |error| match error {
        GpuError::Compile { log, target, .. } => {
            length = log.len();
            !log.is_empty() && target == "sm_80"
        }
        _ => false,
    })?;
    const ZERO: PtxSet = PtxSet::new(".version 7.8\0");
    fails("a zero byte", bench.device.load(&ZERO), |error| matches!(error, GpuError::PtxText { position: 12 }))?;
    Ok(Some(format!("a log of {length} bytes")))
}

fn misdeclared(bench: &Bench) -> Outcome {
    if bench.device.info().driver_version < (12, 4) {
        return Ok(Some("not checked: a driver before 12.4 cannot be asked".into()));
    }
    fails("a parameter too few", bench.kernel("misdeclared"), |error| {
        matches!(error, GpuError::Entry { index: 1, expected: None, actual: Some(4), .. })
    })?;
    // A view over no memory at all is a view of nothing.
    // SAFETY: there are no elements.
    let nothing = unsafe { BufferView::<f32>::from_raw(&bench.device, 0, 0)? };
    equal("bytes of nothing", nothing.bytes(), 0)?;
    Ok(None)
}
