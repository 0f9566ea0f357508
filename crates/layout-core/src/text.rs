//! The text form: `b<->ReIm  t0 t1 t2 t3 t4<->n7 n6 n5 n4 n3  r<->n2 n1 n0`.

use core::fmt;

use crate::{Layout, LayoutError, MAX_BITS, Name, Space};

/// Bytes of a text as the parser walks over them.
struct Cursor<'a> {
    text: &'a [u8],
    at: usize,
}

impl Cursor<'_> {
    /// Goes to the next thing that is no white space; whether a group ends here: at two spaces, a line's end, a comma or a semicolon.
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
            match self.logical.with(name) {
                Ok(space) => self.logical = space,
                Err(error) => return Err(error),
            }
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
            let bit = match cursor.name() {
                Ok(name) => self.logical(name),
                Err(error) => Err(error),
            };
            match bit {
                Ok(bit) => sum ^= bit,
                Err(error) => return Err(error),
            }
            if cursor.peek() != b'^' {
                return Ok(sum);
            }
            cursor.at += 1;
        }
    }

    const fn push(&mut self, name: Name, column: u64) -> Result<(), LayoutError> {
        match self.physical.with(name) {
            Ok(space) => {
                self.columns[self.physical.len()] = column;
                self.physical = space;
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    /// One group: names, the arrow, sums.
    const fn group(&mut self, cursor: &mut Cursor<'_>) -> Result<(), LayoutError> {
        let start = cursor.at;
        let mut names = [Name::EMPTY; MAX_BITS];
        let mut count = 0;
        // `0<->` lists logical bits that no place reaches.
        let nowhere = cursor.peek() == b'0';
        if nowhere {
            cursor.at += 1;
            cursor.skip_space();
        }
        while !cursor.arrow() {
            if nowhere || !cursor.at_name() {
                return Err(LayoutError::Text { at: cursor.at, expected: "a physical bit or <->" });
            }
            if count == MAX_BITS {
                return Err(LayoutError::TooMany { actual: count + 1, limit: MAX_BITS });
            }
            match cursor.name() {
                Ok(name) => names[count] = name,
                Err(error) => return Err(error),
            }
            count += 1;
            cursor.skip_space();
        }
        cursor.skip_space();
        let mut sums = [0u64; MAX_BITS];
        let mut given = 0;
        loop {
            if !cursor.at_name() && cursor.peek() != b'0' {
                return Err(LayoutError::Text { at: cursor.at, expected: "a logical bit or 0" });
            }
            if given == MAX_BITS {
                return Err(LayoutError::TooMany { actual: given + 1, limit: MAX_BITS });
            }
            match self.sum(cursor) {
                Ok(sum) => sums[given] = sum,
                Err(error) => return Err(error),
            }
            given += 1;
            let ends = cursor.skip_space();
            if cursor.peek() == b'<' {
                return Err(LayoutError::Text {
                    at: cursor.at,
                    expected: "two spaces or a comma between groups, before this group's names,",
                });
            }
            if ends || cursor.peek() == b'+' {
                break;
            }
        }
        if nowhere {
            return Ok(());
        }
        let expands = count == 1 && names[0].number().is_none();
        if given == 0 || !expands && given != count {
            return Err(LayoutError::Sides { at: start, physical: count, logical: given });
        }
        let mut at = 0;
        while at < given {
            let name = if !expands && names[at].number().is_some() {
                Ok(names[at])
            } else {
                Name::numbered(names[if expands { 0 } else { at }].as_str(), if expands { at } else { 0 })
            };
            let pushed = match name {
                Ok(name) => self.push(name, sums[at]),
                Err(error) => Err(error),
            };
            if let Err(error) = pushed {
                return Err(error);
            }
            at += 1;
        }
        Ok(())
    }
}

impl Layout {
    /// The layout that a text spells.
    ///
    /// The text is groups of `physical<->logical`, as many on each side, in the same order, with two spaces, a comma, a semicolon or a
    /// line's end between groups. A physical name without a number is number 0 of
    /// its stem, and one that stands alone before several logical ones is as many numbered ones: `r<->n2 n1` is `r0 r1<->n2 n1`.
    /// A logical side may be a sum, `n7^n3`, or `0` for a physical bit that changes nothing (a broadcast). `0<->n5` lists a logical bit that no
    /// place reaches, and `+ n3^n1` at the end is what place 0 holds. Spaces between names may be left out where a number
    /// ends a name. Physical bits get the order of the text (lowest first), logical ones the order of their first mention.
    ///
    /// # Errors
    /// [`LayoutError::Text`], [`LayoutError::Name`], [`LayoutError::Sides`], [`LayoutError::Twice`] or [`LayoutError::TooMany`].
    pub const fn parse(text: &str) -> Result<Self, LayoutError> {
        let mut cursor = Cursor { text: text.as_bytes(), at: 0 };
        let mut parsed = Parsed { physical: Space::new(), logical: Space::new(), columns: [0; MAX_BITS], offset: 0 };
        cursor.skip_space();
        while cursor.at < cursor.text.len() {
            if cursor.peek() == b'+' {
                cursor.at += 1;
                cursor.skip_space();
                match parsed.sum(&mut cursor) {
                    Ok(sum) => parsed.offset = sum,
                    Err(error) => return Err(error),
                }
                cursor.skip_space();
                if cursor.at < cursor.text.len() {
                    return Err(LayoutError::Text { at: cursor.at, expected: "nothing more" });
                }
            } else if let Err(error) = parsed.group(&mut cursor) {
                return Err(error);
            }
        }
        let (columns, _) = parsed.columns.split_at(parsed.physical.len());
        match Self::from_columns(parsed.physical, parsed.logical, columns) {
            Ok(layout) => layout.with_offset(parsed.offset),
            Err(error) => Err(error),
        }
    }
}

/// A constant layout from its [text form](crate::Layout::parse); a fault in the text is a compile-time error that says what is wrong.
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
            let counted = (from..to).all(|bit| physical.get(bit).number() == Some(bit - from));
            if counted && stem.stem() != "t" {
                f.write_str(stem.stem())?;
            } else {
                for bit in from..to {
                    write!(f, "{}{}", if bit > from { " " } else { "" }, physical.get(bit))?;
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
        for text in ["t0 t1<->n0^n1 n1  r<->0 n0^n1 m4  0<->z0 z1", "r<->n0 + n0^n2", "0<->x", ""] {
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
