//! What ranks say of themselves before each block.

/// Bytes of a header on its way.
pub(super) const HEADER_BYTES: usize = 256;
/// Bytes of numbers in it.
const NUMBERS: usize = 80;

/// What a rank has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// No F-engine.
    NoFEngine,
    /// No block yet.
    Waiting,
    /// This block.
    Block(u64),
    /// No more comes.
    Ended,
    /// A part of it failed; the text says which.
    Failed,
}

/// What a rank says.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Header {
    pub(super) state: State,
    /// Whether the rank was told to stop.
    pub(super) stop: bool,
    /// Its F-engine was stopped: frames and dumps that begin at this sample or later are not wanted.
    pub(super) until: Option<u64>,
    pub(super) sample_rate_hz: f64,
    pub(super) first_hz: f64,
    pub(super) step_hz: f64,
    /// The sample that its source has come to.
    pub(super) next_sample: u64,
    /// Bytes of changes that it tells the others, behind this header.
    pub(super) told_bytes: u64,
    /// Why it failed, or which plan it has.
    pub(super) text: String,
}

impl Header {
    pub(super) fn encode(&self) -> [u8; HEADER_BYTES] {
        let (code, number) = match self.state {
            State::NoFEngine => (0, 0),
            State::Waiting => (1, 0),
            State::Block(block) => (2, block),
            State::Ended => (3, 0),
            State::Failed => (4, 0),
        };
        let mut text = self.text.as_str();
        while text.len() > HEADER_BYTES - NUMBERS {
            text = &text[..text.char_indices().next_back().map_or(0, |(place, _)| place)];
        }
        let mut bytes = [0; HEADER_BYTES];
        let words = [
            code,
            number,
            u64::from(self.stop),
            self.sample_rate_hz.to_bits(),
            self.first_hz.to_bits(),
            self.step_hz.to_bits(),
            text.len() as u64,
            self.until.unwrap_or(u64::MAX),
            self.next_sample,
            self.told_bytes,
        ];
        for (place, word) in bytes.chunks_exact_mut(8).zip(words) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        bytes[NUMBERS..NUMBERS + text.len()].copy_from_slice(text.as_bytes());
        bytes
    }

    /// A header, unless it is none.
    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        let word = |at: usize| {
            let word = bytes.get(8 * at..8 * at + 8)?;
            Some(u64::from_le_bytes(word.try_into().ok()?))
        };
        let number = word(1)?;
        let state = match word(0)? {
            0 => State::NoFEngine,
            1 => State::Waiting,
            2 => State::Block(number),
            3 => State::Ended,
            4 => State::Failed,
            _ => return None,
        };
        let text = bytes.get(NUMBERS..NUMBERS.checked_add(usize::try_from(word(6)?).ok()?)?)?;
        Some(Self {
            state,
            stop: word(2)? != 0,
            until: Some(word(7)?).filter(|&until| until != u64::MAX),
            sample_rate_hz: f64::from_bits(word(3)?),
            first_hz: f64::from_bits(word(4)?),
            step_hz: f64::from_bits(word(5)?),
            next_sample: word(8)?,
            told_bytes: word(9)?,
            text: String::from_utf8_lossy(text).into_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_come_back() {
        for (state, until, stop, text) in [
            (State::NoFEngine, None, false, String::new()),
            (State::Waiting, None, true, "a".into()),
            (State::Block(7), Some(3), false, "é".repeat(20)),
            (State::Ended, None, false, String::new()),
            (State::Ended, Some(0), true, String::new()),
            (State::Failed, None, false, "source: no file".into()),
        ] {
            let (sample_rate_hz, first_hz, step_hz, next_sample, told_bytes) = (1e9, -3.5, 1.25, u64::MAX, 1 << 40);
            let header =
                Header { state, stop, until, sample_rate_hz, first_hz, step_hz, next_sample, told_bytes, text };
            assert_eq!(Header::decode(&header.encode()), Some(header));
        }
    }

    #[test]
    fn a_long_text_is_cut_at_a_letter() {
        let of = |text: String| Header {
            state: State::Failed,
            stop: false,
            until: None,
            sample_rate_hz: 1.0,
            first_hz: 0.0,
            step_hz: 1.0,
            next_sample: 0,
            told_bytes: 0,
            text,
        };
        let text = Header::decode(&of("é".repeat(300)).encode()).unwrap().text;
        assert_eq!(text, "é".repeat((HEADER_BYTES - NUMBERS) / 2));
    }

    #[test]
    fn bytes_that_are_no_header_are_refused() {
        assert_eq!(Header::decode(&[9; HEADER_BYTES]), None);
        assert_eq!(Header::decode(&[0; 10]), None);
    }
}
