//! Source locations and instruction names as small numbers.

use std::collections::HashMap;
use std::panic::Location;

/// Number of slots of the caches in front of the tables.
const SLOTS: usize = 1024;

/// Source locations by number. Two [`Location`]s of the same place get the same number, whatever their addresses.
pub(crate) struct Sites {
    cache: Box<[(usize, u16); SLOTS]>,
    numbers: HashMap<(&'static str, u32, u32), u16>,
    places: Vec<&'static Location<'static>>,
}

impl Sites {
    pub(crate) fn new() -> Self {
        Self { cache: Box::new([(0, 0); SLOTS]), numbers: HashMap::new(), places: Vec::new() }
    }

    /// The place's number.
    #[inline]
    pub(crate) fn number(&mut self, at: &'static Location<'static>) -> u16 {
        let key = std::ptr::from_ref(at) as usize;
        let (known, number) = self.cache[(key >> 3) % SLOTS];
        if known == key { number } else { self.look_up(at) }
    }

    #[cold]
    fn look_up(&mut self, at: &'static Location<'static>) -> u16 {
        let next = self.places.len() as u16;
        let number = *self.numbers.entry((at.file(), at.line(), at.column())).or_insert(next);
        if number == next {
            assert!(next < u16::MAX, "a kernel of more than 65535 accesses by source");
            self.places.push(at);
        }
        let key = std::ptr::from_ref(at) as usize;
        self.cache[(key >> 3) % SLOTS] = (key, number);
        number
    }

    /// The place with this number.
    pub(crate) fn place(&self, number: u16) -> &'static Location<'static> {
        self.places[usize::from(number)]
    }
}

/// Names of instructions by number.
pub(crate) struct Names {
    cache: Box<[(usize, usize, u16); SLOTS]>,
    numbers: HashMap<&'static str, u16>,
    pub(crate) names: Vec<&'static str>,
}

impl Names {
    pub(crate) fn new() -> Self {
        Self { cache: Box::new([(0, 0, 0); SLOTS]), numbers: HashMap::new(), names: Vec::new() }
    }

    /// The name's number.
    #[inline]
    pub(crate) fn number(&mut self, name: &'static str) -> u16 {
        let (start, length) = (name.as_ptr() as usize, name.len());
        let slot = (start ^ start >> 10) % SLOTS;
        let (known_start, known_length, number) = self.cache[slot];
        if (known_start, known_length) == (start, length) {
            return number;
        }
        let next = self.names.len() as u16;
        let number = *self.numbers.entry(name).or_insert(next);
        if number == next {
            self.names.push(name);
        }
        self.cache[slot] = (start, length, number);
        number
    }
}
