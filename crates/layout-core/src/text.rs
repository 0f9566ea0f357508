//! The text form: `b<->ReIm  t0 t1 t2 t3 t4<->n7 n6 n5 n4 n3  r<->n2 n1 n0`.

use core::fmt;

use crate::{Layout, LayoutError, MAX_BITS, Matrix, Name, Space, error::ok};

/// Bytes of a text as the parser walks over them.
struct Cursor<'a> {
    text: &'a [u8],
    at: usize,
}

impl Cursor<'_> {
    /// Goes to the next thing that is no white space; whether a group ends here: at two spaces, a line's end, a comma
    /// or a semicolon.
    const fn skip_space(&mut self) -> bool {
        let (from, mut ends) = (self.at, false);
        loop {
            let byte = self.peek();
            if byte == b',' || byte == b';' || byte == b'\n' {
                ends = true;
            } else if !byte.is_ascii_whitespace() {
                return ends || self.at - from >= 2 || self.at == self.text.len();
            }
            self.at += 1;
        }
    }

    const fn peek(&self) -> u8 {
        if self.at < self.text.len() { self.text[self.at] } else { 0 }
    }

    /// The error that something else is expected here.
    const fn expected(&self, expected: &'static str) -> LayoutError {
        LayoutError::Text { at: self.at, expected, found: self.peek() }
    }

    /// Whether a name begins here.
    const fn at_name(&self) -> bool {
        self.peek().is_ascii_alphabetic() || self.peek() == b'_' || self.peek() == b'\''
    }

    const fn arrow(&mut self) -> bool {
        let (t, i) = (self.text, self.at);
        let found = i + 2 < t.len() && t[i] == b'<' && t[i + 1] == b'-' && t[i + 2] == b'>';
        if found {
            self.at += 3;
        }
        found
    }

    /// A name: letters, then digits. `n2n1` are two.
    const fn name(&mut self) -> Result<Name, LayoutError> {
        let from = self.at;
        while self.peek().is_ascii_alphabetic() || self.peek() == b'_' || self.peek() == b'\'' {
            self.at += 1;
        }
        while self.at > from && self.peek().is_ascii_digit() {
            self.at += 1;
        }
        Name::from_bytes(self.text, from, self.at)
    }
}

/// What the parser has so far.
struct Parsed {
    physical: Space,
    logical: Space,
    columns: [u64; MAX_BITS],
    offset: u64,
}

impl Parsed {
    /// The bit of a logical name, new or old.
    const fn logical(&mut self, name: Name) -> Result<u64, LayoutError> {
        if self.logical.position(&name).is_none() {
            self.logical = ok!(self.logical.with(name));
        }
        match self.logical.position(&name) {
            Some(bit) => Ok(1 << bit),
            None => Err(LayoutError::Missing { bit: name }),
        }
    }

    /// A sum of logical bits, or 0.
    const fn sum(&mut self, cursor: &mut Cursor<'_>) -> Result<u64, LayoutError> {
        if cursor.peek() == b'0' {
            cursor.at += 1;
            return Ok(0);
        }
        let mut sum = 0;
        loop {
            sum ^= ok!(self.logical(ok!(cursor.name())));
            if cursor.peek() != b'^' {
                return Ok(sum);
            }
            cursor.at += 1;
        }
    }

    const fn push(&mut self, name: Name, column: u64) -> Result<(), LayoutError> {
        let space = ok!(self.physical.with(name));
        self.columns[self.physical.len()] = column;
        self.physical = space;
        Ok(())
    }

    /// One group: names, the arrow, sums.
    const fn group(&mut self, cursor: &mut Cursor<'_>) -> Result<(), LayoutError> {
        let start = cursor.at;
        let mut names = [Name::EMPTY; MAX_BITS];
        let (mut count, mut exact) = (0, 0u64);
        // `0<->` lists logical bits that no place reaches.
        let nowhere = cursor.peek() == b'0';
        if nowhere {
            cursor.at += 1;
            cursor.skip_space();
        }
        while !cursor.arrow() {
            if nowhere || !cursor.at_name() {
                return Err(cursor.expected("a physical bit or <->"));
            }
            if count == MAX_BITS {
                return Err(LayoutError::TooMany { actual: count + 1, limit: MAX_BITS });
            }
            names[count] = ok!(cursor.name());
            if cursor.peek() == b'.' {
                cursor.at += 1;
                exact |= 1 << count;
            }
            count += 1;
            cursor.skip_space();
        }
        cursor.skip_space();
        let mut sums = [0u64; MAX_BITS];
        let mut given = 0;
        loop {
            if !cursor.at_name() && cursor.peek() != b'0' {
                return Err(cursor.expected("a logical bit or 0"));
            }
            if given == MAX_BITS {
                return Err(LayoutError::TooMany { actual: given + 1, limit: MAX_BITS });
            }
            sums[given] = ok!(self.sum(cursor));
            given += 1;
            let ends = cursor.skip_space();
            if cursor.peek() == b'<' {
                return Err(cursor.expected("two spaces or a comma between groups, before this group's names,"));
            }
            if ends || cursor.peek() == b'+' {
                break;
            }
        }
        if nowhere {
            return Ok(());
        }
        let expands = count == 1 && exact == 0 && names[0].number().is_none();
        if !expands && given != count {
            return Err(LayoutError::Sides { at: start, physical: count, logical: given });
        }
        let mut at = 0;
        while at < given {
            let stem = names[if expands { 0 } else { at }];
            let name = if exact >> at & 1 == 1 || stem.number().is_some() {
                stem
            } else {
                match Name::numbered(stem.as_str(), if expands { at } else { 0 }) {
                    Ok(name) => name,
                    Err(_) => return Err(LayoutError::Name { at: start, length: stem.as_str().len() + 1 }),
                }
            };
            ok!(self.push(name, sums[at]));
            at += 1;
        }
        Ok(())
    }
}

impl Layout {
    /// The layout that a text spells.
    ///
    /// The text is groups of `physical<->logical`, as many on each side, in the same order, with two spaces, a comma, a
    /// semicolon or a line's end between groups. A physical name without a number is number 0 of
    /// its stem, and one that stands alone before several logical ones is as many numbered ones: `r<->n2 n1` is `r0
    /// r1<->n2 n1`. A full stop behind it keeps a name without a number: `ReIm.<->b0`.
    /// A logical side may be a sum, `n7^n3`, or `0` for a physical bit that changes nothing (a broadcast). `0<->n5`
    /// lists a logical bit that no place reaches, and `+ n3^n1` at the end is what place 0 holds. Spaces between
    /// names may be left out where a number ends a name. Physical bits get the order of the text (lowest first),
    /// logical ones the order of their first mention.
    ///
    /// # Errors
    /// [`LayoutError::Text`], [`LayoutError::Name`], [`LayoutError::Sides`], [`LayoutError::Twice`] or
    /// [`LayoutError::TooMany`].
    pub const fn parse(text: &str) -> Result<Self, LayoutError> {
        let mut cursor = Cursor { text: text.as_bytes(), at: 0 };
        let mut parsed = Parsed { physical: Space::new(), logical: Space::new(), columns: [0; MAX_BITS], offset: 0 };
        cursor.skip_space();
        while cursor.at < cursor.text.len() {
            if cursor.peek() == b'+' {
                cursor.at += 1;
                cursor.skip_space();
                parsed.offset = ok!(parsed.sum(&mut cursor));
                cursor.skip_space();
                if cursor.at < cursor.text.len() {
                    return Err(cursor.expected("nothing more"));
                }
            } else {
                ok!(parsed.group(&mut cursor));
            }
        }
        let matrix = Matrix::of(&parsed.columns, parsed.physical.len());
        Ok(Self::from_parts(parsed.physical, parsed.logical, matrix, parsed.offset))
    }
}

/// A constant layout from its [text form](crate::Layout::parse); a fault in the text is a compile-time error that says
/// what is wrong.
#[macro_export]
macro_rules! layout {
    ($text:expr) => {
        const {
            match $crate::Layout::parse($text) {
                Ok(layout) => layout,
                Err(error) => panic!("{}", error.message().as_str()),
            }
        }
    };
}

impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let physical = self.physical();
        let mut from = 0;
        while from < physical.len() {
            let stem = physical.get(from);
            let mut to = from + 1;
            while to < physical.len() && physical.get(to).stem() == stem.stem() {
                to += 1;
            }
            if from > 0 {
                f.write_str("  ")?;
            }
            let stem = stem.stem();
            let counted = (from..to).all(|bit| Name::numbered(stem, bit - from) == Ok(physical.get(bit)));
            if counted && stem != "t" {
                f.write_str(stem)?;
            } else {
                for bit in from..to {
                    let (name, space) = (physical.get(bit), if bit > from { " " } else { "" });
                    write!(f, "{space}{name}{}", if name.number().is_none() { "." } else { "" })?;
                }
            }
            for bit in from..to {
                f.write_str(if bit == from { "<->" } else { " " })?;
                self.write_sum(f, self.column(bit))?;
            }
            from = to;
        }
        let reached = (0..physical.len()).fold(self.offset(), |sum, bit| sum | self.column(bit));
        let mut separator = if physical.is_empty() { "0<->" } else { "  0<->" };
        for bit in 0..self.logical().len() {
            if reached >> bit & 1 == 0 {
                write!(f, "{separator}{}", self.logical().get(bit))?;
                separator = " ";
            }
        }
        if self.offset() != 0 {
            f.write_str(" + ")?;
            self.write_sum(f, self.offset())?;
        }
        Ok(())
    }
}

impl Layout {
    /// Writes a logical index as a sum of bits.
    fn write_sum(&self, f: &mut fmt::Formatter<'_>, sum: u64) -> fmt::Result {
        if sum == 0 {
            return f.write_str("0");
        }
        let mut separator = "";
        for bit in (0..self.logical().len()).filter(|bit| sum >> bit & 1 == 1) {
            write!(f, "{separator}{}", self.logical().get(bit))?;
            separator = "^";
        }
        Ok(())
    }
}

impl core::str::FromStr for Layout {
    type Err = LayoutError;

    fn from_str(text: &str) -> Result<Self, LayoutError> {
        Self::parse(text)
    }
}

impl fmt::Debug for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

#[cfg(test)]
mod tests {
    use std::string::ToString;

    use crate::{Layout, LayoutError, Name};

    #[test]
    fn the_notes_form_is_read_and_written_back() {
        let text = "b<->ReIm  t0 t1 t2 t3 t4<->n7 n6 n5 n4 n3  r<->n2 n1 n0";
        let layout = layout!("b<->ReIm  t0 t1 t2 t3 t4<->n7 n6 n5 n4 n3  r<->n2 n1 n0");
        assert_eq!(layout.to_string(), text);
        assert_eq!(Layout::parse("b<->ReIm,t0t1t2t3t4 <-> n7n6n5n4n3, r0<->n2;r1<->n1\nr2<->n0"), Ok(layout));
        let column = layout.column_of(&Name::new("r1").unwrap()).unwrap();
        assert_eq!(layout.logical().get(column.trailing_zeros() as usize).as_str(), "n1");
    }

    #[test]
    fn sums_broadcasts_unreached_bits_and_offsets_are_read_and_written_back() {
        for text in [
            "t0 t1<->n0^n1 n1  r<->0 n0^n1 m4  0<->z0 z1",
            "r<->n0 + n0^n2",
            "0<->x",
            "",
            "n<->b0  ReIm.<->b1",
            "r00<->r1",
        ] {
            let layout = Layout::parse(text).unwrap();
            assert_eq!(layout.to_string(), text);
        }
    }

    #[test]
    fn faults_are_named() {
        let refused = |text| Layout::parse(text).unwrap_err();
        assert_eq!(refused("t0 t1<->n0"), LayoutError::Sides { at: 0, physical: 2, logical: 1 });
        assert_eq!(refused("t0<->n0  t0<->n1"), LayoutError::Twice { bit: Name::new("t0").unwrap() });
        assert!(matches!(refused("r<->n0 n1 t0<->n2"), LayoutError::Text { at: 12, .. }));
        assert!(matches!(refused("t0"), LayoutError::Text { at: 2, .. }));
        assert!(matches!(refused("t0<->"), LayoutError::Text { at: 5, .. }));
        assert!(matches!(refused("t0<->n0 + n0 t1"), LayoutError::Text { at: 13, .. }));
        assert!(matches!(refused("t0<->?"), LayoutError::Text { at: 5, .. }));
        assert!(matches!(refused("t0<->averyveryverylongname"), LayoutError::Name { at: 5, .. }));
    }
}
