//! Pictures of layouts, as text and as SVG: a grid of places, and in each the element that it holds.
//!
//! What the grid is depends on the physical bits. Registers: a row a lane (`t`, and `w`, `k` above it), a column a
//! register (`r`), cells divided by `b`. Memory (`s`, `g`): a row 128 bytes, a column a bank, cells divided by the
//! bytes of a word. Other spaces, the inverse of a fragment say, are drawn with the stems that [`TextOptions::rows`]
//! and [`TextOptions::columns`] name.
//!
//! ```
//! use fringes_layout::layout;
//! use fringes_layout::picture::{TextOptions, text};
//!
//! // An 8 x 8 matrix of 16-bit elements as ldmatrix leaves it, the first lanes.
//! let matrix = layout!("b<->col0  t0 t1 t2 t3 t4<->col1 col2 row0 row1 row2");
//! let picture = text(&matrix, &TextOptions { max_rows: 5, ..TextOptions::default() });
//! assert_eq!(
//!     picture,
//!     "\
//! b<->col0  t0 t1 t2 t3 t4<->col1 col2 row0 row1 row2
//! cells: col,row
//! lane | r0
//!    0 | 0,0|1,0
//!    1 | 2,0|3,0
//!    2 | 4,0|5,0
//!    3 | 6,0|7,0
//!    4 | 0,1|1,1
//! (27 rows more)
//! "
//! );
//! ```

mod color;
mod grid;
mod svg;
mod text;

pub use svg::{svg, svg_pair};
pub use text::{text, text_pair};

/// How a cell shows its element.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Labels {
    /// The number that the bits of each logical stem spell, in the order of the logical space: `12,1` for `n` and
    /// `ReIm`.
    #[default]
    Values,
    /// The same with names: `n12 ReIm1`.
    Named,
    /// The element's index.
    Index,
    /// The element's bits, the highest first.
    Bits,
}

/// What a picture shows of a layout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextOptions<'a> {
    /// Stems of the physical bits that number the rows; chosen as described above if there is none.
    pub rows: &'a [&'a str],
    /// Stems of the physical bits that number the columns; chosen as described above if there is none.
    pub columns: &'a [&'a str],
    /// What is in a cell.
    pub labels: Labels,
    /// Rows that are shown at most.
    pub max_rows: usize,
}

impl Default for TextOptions<'_> {
    fn default() -> Self {
        Self { rows: &[], columns: &[], labels: Labels::Values, max_rows: 64 }
    }
}

/// How a layout is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SvgOptions<'a> {
    /// What is shown.
    pub text: TextOptions<'a>,
    /// A line above the layout's text form.
    pub title: &'a str,
    /// Logical bits whose values colour the cells, at most [`MOST_COLOR_BITS`]; the highest three of the largest
    /// logical stem if there is none.
    pub color_by: &'a [&'a str],
}

/// Most bits that colour cells; more are left out.
pub const MOST_COLOR_BITS: usize = 4;
