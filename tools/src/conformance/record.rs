//! What is written down of a case.

use fringes_kernels_tools_conformance::{Case, Mismatch};
use serde::{Deserialize, Serialize};

/// Mismatches of a case that are kept.
const KEPT: usize = 20;
/// Whole rounds of a case that are kept.
const KEPT_ROUNDS: usize = 2;

/// The result of a case on one PTX text.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Outcome {
    /// Name of the case.
    pub(crate) case: String,
    /// Target of the PTX text.
    pub(crate) target: String,
    /// Intrinsics that it shows.
    pub(crate) intrinsics: Vec<String>,
    /// How it was compared, and with what.
    pub(crate) check: String,
    /// Rounds that ran.
    pub(crate) rounds: u64,
    /// Words that were compared.
    pub(crate) words: u64,
    /// Words that were wrong.
    pub(crate) wrong: u64,
    /// What kept the case from being run to its end.
    pub(crate) error: Option<String>,
    /// The first wrong words.
    pub(crate) mismatches: Vec<Wrong>,
    /// The first rounds with wrong words, whole, for a case without items.
    pub(crate) wrong_rounds: Vec<Round>,
}

/// Wrong words that belong together, all in hexadecimal.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Wrong {
    /// Round.
    round: u64,
    /// Index of the first wrong word in the output.
    word: usize,
    /// The item's input; empty for a case without items.
    input: Vec<String>,
    /// What was expected of the item or the word.
    expected: Vec<String>,
    /// What came.
    got: Vec<String>,
}

/// A round, all words in hexadecimal.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Round {
    round: u64,
    input: Vec<String>,
    expected: Vec<String>,
    got: Vec<String>,
}

fn hexadecimal(words: &[u32]) -> Vec<String> {
    words.iter().map(|word| format!("{word:08x}")).collect()
}

impl Outcome {
    /// Whether nothing is wrong.
    pub(crate) fn passed(&self) -> bool {
        self.error.is_none() && self.wrong == 0 && self.rounds > 0
    }

    /// Takes in a round.
    pub(crate) fn add(&mut self, case: &Case, round: u64, input: &[u32], expected: &[u32], got: &[u32]) {
        let wrong = fringes_kernels_tools_conformance::compare(case, input, expected, got);
        self.rounds += 1;
        self.words += expected.len() as u64;
        self.wrong += wrong.len() as u64;
        if case.item.is_none() && !wrong.is_empty() && self.wrong_rounds.len() < KEPT_ROUNDS {
            self.wrong_rounds.push(Round {
                round,
                input: hexadecimal(input),
                expected: hexadecimal(expected),
                got: hexadecimal(got),
            });
        }
        let room = KEPT - self.mismatches.len();
        self.mismatches.extend(wrong.into_iter().take(room).map(|Mismatch { word, input, expected, got }| Wrong {
            round,
            word,
            input: if case.item.is_some() { hexadecimal(&input) } else { Vec::new() },
            expected: hexadecimal(&expected),
            got: hexadecimal(&got),
        }));
    }

    /// One line of the table.
    pub(crate) fn line(&self) -> String {
        let result = if self.passed() { "pass" } else { "FAIL" };
        format!(
            "{result}  {:<7} {:<34} {:>4} rounds {:>9} words  {}",
            self.target, self.case, self.rounds, self.words, self.check
        )
    }

    /// What is wrong, one line each.
    pub(crate) fn complaints(&self) -> Vec<String> {
        let mut lines: Vec<String> = self.error.iter().map(|error| format!("      {error}")).collect();
        if let Some(Wrong { round, word, input, expected, got }) = self.mismatches.first() {
            lines.push(format!(
                "      {} of {} words wrong, the first: round {round}, output word {word}",
                self.wrong, self.words
            ));
            if !input.is_empty() {
                lines.push(format!("      input    {}", input.join(" ")));
            }
            lines.push(format!("      expected {}", expected.join(" ")));
            lines.push(format!("      got      {}", got.join(" ")));
        }
        lines
    }
}
