//! Which points of a spectrum a block filters, and where they lie in its slots.

use crate::shape::Divisor;

/// Some points of each spectrum.
pub trait Points: Copy {
    /// How many.
    fn count(&self) -> u32;

    /// Number in the spectrum of the one at place `at`.
    fn number(&self, at: u32) -> u32;
}

/// All of so many.
#[derive(Debug, Clone, Copy)]
pub struct All(pub u32);

impl Points for All {
    #[inline(always)]
    fn count(&self) -> u32 {
        self.0
    }

    #[inline(always)]
    fn number(&self, at: u32) -> u32 {
        at
    }
}

/// `width` points of each of `rows` rows, `[row][point]`.
#[derive(Debug, Clone, Copy)]
pub struct Strip {
    rows: u32,
    width: u32,
    by_width: Divisor,
    /// Points of a row.
    row: u32,
    /// The first point.
    first: u32,
}

impl Strip {
    /// Points `first` to `first + width - 1` of `rows` rows of `row` points.
    #[inline(always)]
    pub const fn new(rows: u32, row: u32, first: u32, width: u32) -> Self {
        Self { rows, width, by_width: Divisor::new(width), row, first }
    }
}

impl Points for Strip {
    #[inline(always)]
    fn count(&self) -> u32 {
        self.rows * self.width
    }

    #[inline(always)]
    fn number(&self, at: u32) -> u32 {
        let (row, point) = self.by_width.divide(at);
        row * self.row + self.first + point
    }
}
