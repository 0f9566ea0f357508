//! The process that works on the GPU: runs cases named on standard input, writes one JSON line each.
//!
//! A kernel that fails takes the device's whole context with it, and one that hangs never ends. So the GPU is used by a
//! process of its own, which ends with the first failure, and which its parent ends when it is silent for too long.

use std::collections::HashMap;
use std::io::{BufRead as _, Write as _};

use fringes_gpu::{
    Argument, Buffer, Device, GpuError, Kernel, LaunchConfig, Module, Stream, Swizzle, TensorElement, TensorLayout,
    TensorMap,
};
use fringes_kernels_tools_conformance::{Case, Compare, Entry, Tensor, cases, expected};
use rayon::prelude::*;

use crate::conformance::record::Outcome;
use crate::conformance::{Failure, KERNELS, TARGETS};

/// Rounds whose expected outputs are made at once, on all processors.
const TOGETHER: u64 = 32;

/// Runs the cases of standard input, one line `target name` each.
pub(crate) fn work(device: &Device, rounds: u64) -> Result<(), Failure> {
    let all: HashMap<&str, Case> = cases().into_iter().map(|case| (case.name, case)).collect();
    let stream = device.new_stream()?;
    let mut modules: HashMap<String, Module> = HashMap::new();
    for line in std::io::stdin().lock().lines() {
        let line = line.map_err(|error| Failure(error.to_string()))?;
        let Some((target, name)) = line.split_once(' ') else { continue };
        let Some(case) = all.get(name) else { continue };
        say(&format!("begin {target} {name}"));
        let mut outcome = Outcome {
            case: name.into(),
            target: target.into(),
            intrinsics: case.intrinsics.iter().map(ToString::to_string).collect(),
            check: check(case),
            ..Outcome::default()
        };
        let result = module(&mut modules, device, target)
            .and_then(|module| module.kernel(name).map_err(|error| error.to_string()))
            .and_then(|kernel| run(device, &stream, &kernel, case, rounds, &mut outcome));
        let failed = result.is_err();
        outcome.error = result.err();
        say(&serde_json::to_string(&outcome).map_err(|error| Failure(error.to_string()))?);
        if failed && stream.synchronize().is_err() {
            break; // the context is lost
        }
    }
    Ok(())
}

fn say(line: &str) {
    println!("{line}");
    let _ = std::io::stdout().flush();
}

fn check(case: &Case) -> String {
    let how = match case.compare {
        Compare::Exact => "bit for bit",
        Compare::Within { formula, .. } => formula,
    };
    format!("{how}, with the emulator")
}

/// The module of a target, loaded when first asked for.
fn module<'a>(modules: &'a mut HashMap<String, Module>, device: &Device, name: &str) -> Result<&'a Module, String> {
    if !modules.contains_key(name) {
        let target =
            TARGETS.into_iter().find(|target| target.name() == name).ok_or_else(|| format!("no target {name}"))?;
        modules.insert(name.into(), device.load_target(&KERNELS, target).map_err(|error| error.to_string())?);
    }
    Ok(&modules[name])
}

/// All rounds of a case.
fn run(
    device: &Device,
    stream: &Stream,
    kernel: &Kernel,
    case: &Case,
    rounds: u64,
    outcome: &mut Outcome,
) -> Result<(), String> {
    let mut first = 0;
    while first < rounds {
        let last = rounds.min(first + TOGETHER);
        let made: Vec<_> = (first..last)
            .into_par_iter()
            .map(|round| {
                let input = case.input_of(round);
                let expected = expected(case, &input);
                (round, input, expected)
            })
            .collect();
        for (round, input, expected) in made {
            let expected = expected.map_err(|error| format!("round {round}: {error}"))?;
            let got =
                launch(device, stream, kernel, case, &input).map_err(|error| format!("round {round}: {error}"))?;
            outcome.add(case, round, &input, &expected, &got);
        }
        first = last;
    }
    Ok(())
}

/// The output of one launch.
#[allow(unsafe_code, reason = "the cases' kernels rely on their launch")]
fn launch(device: &Device, stream: &Stream, kernel: &Kernel, case: &Case, input: &[u32]) -> Result<Vec<u32>, GpuError> {
    let input = Buffer::from_slice(stream, input)?;
    let mut output = Buffer::<u32>::alloc(device, case.output_words)?;
    output.fill(stream, if case.zeroed { 0 } else { 0xdead_beef })?;
    let config = LaunchConfig::new(case.grid, case.block).with_shared_bytes(case.shared_bytes);
    let config = case.cluster.map_or(config, |blocks| config.with_cluster([blocks, 1, 1]));
    let maps = match case.entry {
        Entry::Plain(_) => None,
        Entry::Tensor(_, tensor) => {
            let layout = layout(tensor);
            Some((TensorMap::tiled(input.view(), &layout)?, TensorMap::tiled(output.view(), &layout)?))
        }
    };
    let mut arguments: Vec<Argument<'_>> = Vec::new();
    if let Some((source, target)) = &maps {
        arguments.extend([source.into(), target.into()]);
    }
    arguments.extend([Argument::from(&input), Argument::from(&mut output)]);
    // SAFETY: the case says how its kernel is launched; all memory lives until the output is read, which waits.
    unsafe { kernel.launch(stream, &config, &arguments) }?;
    drop(arguments);
    output.to_vec(stream)
}

fn layout(tensor: Tensor) -> TensorLayout {
    let layout = TensorLayout::packed(TensorElement::U32, tensor.dimensions, tensor.block);
    layout.with_swizzle(match tensor.swizzle {
        32 => Swizzle::Bytes32,
        64 => Swizzle::Bytes64,
        128 => Swizzle::Bytes128,
        _ => Swizzle::None,
    })
}
