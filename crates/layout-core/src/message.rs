//! A text of limited length that `const` code can build.

/// A short text; what does not fit is cut.
#[derive(Clone, Copy)]
pub struct Message {
    bytes: [u8; Self::CAPACITY],
    length: usize,
}

impl Message {
    /// Most bytes of a message.
    pub const CAPACITY: usize = 1024;

    /// An empty message.
    pub const fn new() -> Self {
        Self { bytes: [0; Self::CAPACITY], length: 0 }
    }

    /// The message with a text behind it.
    pub const fn text(mut self, text: &str) -> Self {
        let text = text.as_bytes();
        let mut at = 0;
        while at < text.len() && self.length < Self::CAPACITY {
            self.bytes[self.length] = text[at];
            self.length += 1;
            at += 1;
        }
        self
    }

    /// The message with a character behind it, `?` if it is not printable ASCII.
    pub(crate) const fn byte(mut self, byte: u8) -> Self {
        if self.length < Self::CAPACITY {
            self.bytes[self.length] = if byte == b' ' || byte.is_ascii_graphic() { byte } else { b'?' };
            self.length += 1;
        }
        self
    }

    /// The message with a number behind it.
    pub const fn number(mut self, number: usize) -> Self {
        let mut scale = 1;
        while number / scale >= 10 {
            scale *= 10;
        }
        while scale > 0 && self.length < Self::CAPACITY {
            self.bytes[self.length] = b'0' + (number / scale % 10) as u8;
            self.length += 1;
            scale /= 10;
        }
        self
    }

    /// The text.
    pub const fn as_str(&self) -> &str {
        let (text, _) = self.bytes.split_at(self.length);
        match core::str::from_utf8(text) {
            Ok(text) => text,
            Err(error) => {
                // Cut inside a character.
                let (text, _) = text.split_at(error.valid_up_to());
                match core::str::from_utf8(text) {
                    Ok(text) => text,
                    Err(_) => "",
                }
            }
        }
    }
}

impl Default for Message {
    fn default() -> Self {
        Self::new()
    }
}
