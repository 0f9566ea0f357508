//! Runs a case in the emulator and compares outputs.

use fringes_emulator::{GlobalMemory, Launch, Report, TensorLayout};

use crate::{Case, Compare, Entry};

/// Runs a case in the emulator: the output (`None` where a word was never written), and what the emulator found.
pub fn emulate(case: &Case, input: &[u32]) -> (Vec<Option<u32>>, Report) {
    let mut memory = GlobalMemory::new();
    let input = memory.upload(input);
    let output =
        if case.zeroed { memory.upload(&vec![0u32; case.output_words]) } else { memory.allocate(case.output_words) };
    let launch = Launch::new(case.declaration, case.grid, case.block).shared_bytes(case.shared_bytes).cluster([
        case.cluster.unwrap_or(1),
        1,
        1,
    ]);
    let report = match case.entry {
        // SAFETY: the emulator checks every access.
        Entry::Plain(kernel) => launch.run(&mut memory, || unsafe { kernel(input.into(), output.into()) }),
        Entry::Tensor(kernel, tensor) => {
            let layout = TensorLayout::packed(4, tensor.dimensions, tensor.block).with_swizzle(tensor.swizzle);
            let (source, target) = (memory.map_tensor(input, &layout), memory.map_tensor(output, &layout));
            // SAFETY: as above.
            launch.run(&mut memory, || unsafe { kernel(source.into(), target.into(), input.into(), output.into()) })
        }
    };
    (memory.download(output), report)
}

/// The expected output of a case: the emulator's.
///
/// # Errors
/// The emulator's faults, or the first word that the kernel does not write.
pub fn expected(case: &Case, input: &[u32]) -> Result<Vec<u32>, String> {
    let (output, report) = emulate(case, input);
    if let Some(fault) = report.faults.first() {
        return Err(format!("{} faults in the emulator; the first: {fault}", report.fault_total));
    }
    let word = |(index, word): (usize, Option<u32>)| word.ok_or_else(|| format!("output word {index} is not written"));
    output.into_iter().enumerate().map(word).collect()
}

/// An output word that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mismatch {
    /// Index of the output word.
    pub word: usize,
    /// Input words that the output depends on: those of the item, all for a case without items.
    pub input: Vec<u32>,
    /// The whole item, or the one word, that was expected.
    pub expected: Vec<u32>,
    /// The same, as it came.
    pub got: Vec<u32>,
}

/// Every word of `got` that is not as expected.
pub fn compare(case: &Case, input: &[u32], expected: &[u32], got: &[u32]) -> Vec<Mismatch> {
    let mut mismatches = Vec::new();
    for (word, (&want, &have)) in expected.iter().zip(got).enumerate() {
        let (input, index, span) = match case.item {
            Some((words_in, words_out)) => {
                let item = word / words_out;
                (
                    &input[item * words_in..(item + 1) * words_in],
                    word % words_out,
                    item * words_out..(item + 1) * words_out,
                )
            }
            None => (input, word, word..word + 1),
        };
        let right = match case.compare {
            Compare::Exact => want == have,
            Compare::Within { holds, .. } => holds(input, index, want, have),
        };
        if !right {
            let (expected, got) = (expected[span.clone()].to_vec(), got[span].to_vec());
            mismatches.push(Mismatch { word, input: input.to_vec(), expected, got });
        }
    }
    mismatches
}
