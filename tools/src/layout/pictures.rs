//! Drawings of the layouts.

use std::path::Path;

use fringes_layout::Layout;
use fringes_layout::atoms::mma;
use fringes_layout::frb::ASSIGNMENT;
use fringes_layout::picture::{SvgOptions, svg, svg_pair};
use fringes_layout::solve::Solution;

use super::Failure;

/// Draws the published assignment, the conversions, the fragments and what was solved.
pub(crate) fn draw(folder: &Path, found: &Solution) -> Result<(), Failure> {
    let failure = |path: &Path, error: std::io::Error| format!("{}: {error}", path.display());
    std::fs::create_dir_all(folder).map_err(|error| failure(folder, error))?;
    let write = |name: &str, picture: String| {
        let path = folder.join(format!("{name}.svg"));
        std::fs::write(&path, picture).map_err(|error| failure(&path, error))?;
        println!("{}", path.display());
        Ok::<(), Failure>(())
    };
    println!();
    let one = |title: &str, layout: &Layout, color_by: &[&str]| {
        svg(layout, &SvgOptions { title, color_by, ..SvgOptions::default() })
    };
    write("x", one("X, 256 complex inputs", &ASSIGNMENT.x, &["n0", "n1", "n2"]))?;
    write("z1", one("Z1 and Z2", &ASSIGNMENT.z1, &["q0", "q1", "q2"]))?;
    let pair = |title: &str, before: (&str, &Layout), after: (&str, &Layout), color_by: &[&str]| {
        svg_pair(before, after, &SvgOptions { title, color_by, ..SvgOptions::default() })
    };
    let (z3, y) = ((&ASSIGNMENT.z3_primed, &ASSIGNMENT.z3), (&ASSIGNMENT.y_primed, &ASSIGNMENT.y));
    write("z3", pair("Z3' to Z3", ("Z3'", z3.0), ("Z3", z3.1), &["n0", "n1", "n2"]))?;
    write("y", pair("Y' to Y", ("Y'", y.0), ("Y", y.1), &["q3", "ReIm"]))?;
    let mma = &mma::M16N8K16_F16_F16;
    for (name, title, layout) in [
        ("m16n8k16_a", "m16n8k16, A of 16 x 16", &mma.a),
        ("m16n8k16_b", "m16n8k16, B of 16 x 8", &mma.b),
        ("m16n8k16_c", "m16n8k16, C of 16 x 8", &mma.c),
    ] {
        write(name, one(title, layout, &[]))?;
    }
    for array in &found.arrays {
        let name = format!("solved_{}", array.name.replace('\'', "_primed").to_lowercase());
        write(&name, one(&format!("{}, as solved", array.name), &array.layout, &[]))?;
    }
    Ok(())
}
