//! Arrays in the registers of a warp, place by place, and the three things that a transform does with them. Everything
//! is looked up from the layouts for every element on its own, so that nothing here can share a mistake with a planner
//! or a solver.

use crate::atoms::mma::Mma;
use crate::{Layout, Name, Space, conversion};

/// An array: a layout, and the value of every place.
#[derive(Debug, Clone)]
pub(super) struct Registers {
    pub(super) layout: Layout,
    pub(super) values: Vec<f64>,
}

/// Value of the bit of this name in an index.
pub(super) fn bit(space: &Space, index: u64, name: &Name) -> Option<bool> {
    space.position(name).map(|at| index >> at & 1 == 1)
}

/// A name that is known to be one.
pub(super) fn name(text: &str) -> Result<Name, String> {
    Name::new(text).map_err(|error| error.to_string())
}

/// The logical bit that a physical bit of a permutation holds.
fn held(layout: &Layout, physical: usize) -> Name {
    layout.logical().get(layout.column(physical).trailing_zeros() as usize)
}

/// The index with a bit set or not.
fn with(index: u64, at: usize, value: bool) -> u64 {
    index & !(1 << at) | u64::from(value) << at
}

/// Whether a name is one of these.
fn among(name: &Name, names: &[&str]) -> bool {
    names.iter().any(|other| name.as_str() == *other)
}

/// The bit of a matrix that belongs to a bit of the data: complex matrices have two real-or-imaginary bits.
fn of_matrix(name: &Name, suffix: &str) -> Result<Name, String> {
    if name.as_str() == "ReIm" { self::name(&format!("ReIm{suffix}")) } else { Ok(*name) }
}

/// How an array's registers are those of a fragment.
struct Fragment<'a> {
    array: &'a Layout,
    atom: &'a Layout,
    /// For every register bit of the fragment the physical bit of the array.
    taken: Vec<(usize, usize)>,
    /// Register bits of the array that no fragment has: several fragments.
    batch: Vec<usize>,
}

impl<'a> Fragment<'a> {
    /// Register bits of the fragment with index `i` or `j` are those of the array that hold one of the bits given for
    /// it.
    fn new(array: &'a Layout, atom: &'a Layout, roles: &[(&str, &[&str])]) -> Result<Self, String> {
        let mut taken = Vec::new();
        for (at, register) in atom.physical().iter().enumerate().filter(|(_, name)| name.stem() == "r") {
            let role = held(atom, at);
            let bits = roles.iter().find(|(stem, _)| role.stem() == *stem).map_or(&[][..], |(_, bits)| bits);
            let found = (0..array.physical().len()).find(|&bit| {
                array.physical().get(bit).stem() == "r"
                    && among(&held(array, bit), bits)
                    && taken.iter().all(|&(_, other)| other != bit)
            });
            taken.push((at, found.ok_or_else(|| format!("[{array}] has no register bit for {register} of {atom}"))?));
        }
        let registers = (0..array.physical().len()).filter(|&bit| array.physical().get(bit).stem() == "r");
        let batch = registers.filter(|bit| taken.iter().all(|(_, other)| other != bit)).collect();
        Ok(Self { array, atom, taken, batch })
    }

    /// The place in the array of a place in the fragment, in batch 0.
    fn place(&self, atom_place: u64) -> Result<u64, String> {
        let mut place = 0;
        for (at, physical) in self.atom.physical().iter().enumerate() {
            let to = match self.taken.iter().find(|(own, _)| *own == at) {
                Some((_, to)) => *to,
                None => self.array.physical().find(physical.as_str()).map_err(|error| error.to_string())?,
            };
            place = with(place, to, atom_place >> at & 1 == 1);
        }
        Ok(place)
    }
}

/// What a contraction is.
pub(super) struct Contraction<'a> {
    pub(super) mma: &'a Mma,
    /// Bits of the data that are summed, and bits of the result that are created.
    pub(super) sums: &'a [&'a str],
    pub(super) creates: &'a [&'a str],
    /// Layout of the matrix, and its values by logical index.
    pub(super) matrix: Layout,
    pub(super) value: &'a dyn Fn(u64) -> f64,
}

impl Contraction<'_> {
    /// Runs the products on the data; how many there are. Every element of every product is checked to be the one that
    /// the definition has.
    pub(super) fn run(&self, data: &Registers, result: Layout) -> Result<(Registers, u32), String> {
        let (sums, creates) = (self.sums, self.creates);
        let in_matrix = |bits: &[&str], suffix| -> Result<Vec<String>, String> {
            bits.iter().map(|bit| Ok(of_matrix(&name(bit)?, suffix)?.as_str().to_owned())).collect()
        };
        let (rows, columns) = (in_matrix(creates, "_out")?, in_matrix(sums, "_in")?);
        let (rows, columns): (Vec<&str>, Vec<&str>) =
            (rows.iter().map(String::as_str).collect(), columns.iter().map(String::as_str).collect());
        let a = Fragment::new(&self.matrix, &self.mma.a, &[("i", &rows), ("j", &columns)])?;
        let b = Fragment::new(&data.layout, &self.mma.b, &[("j", sums)])?;
        let c = Fragment::new(&result, &self.mma.c, &[("i", creates)])?;
        let inverse = |layout: &Layout| layout.invert().map_err(|error| error.to_string());
        let (a_of, b_of, c_of) = (inverse(&self.mma.a)?, inverse(&self.mma.b)?, inverse(&self.mma.c)?);
        let index = |layout: &Layout, numbers: &[(&str, u64)]| layout.physical().index(numbers);

        let mut values = vec![0.0; result.physical().size() as usize];
        for batch in 0..1u64 << b.batch.len() {
            for (i, j, k) in indices(self.mma) {
                let b_place = b.place(b_of.apply(index(&b_of, &[("j", j), ("k", k)])))?;
                let b_place = b.batch.iter().enumerate().fold(b_place, |p, (n, at)| with(p, *at, batch >> n & 1 == 1));
                let element = data.layout.apply(b_place);
                let kept = |name: &Name| bit(data.layout.logical(), element, name);

                let mut a_place = a.place(a_of.apply(index(&a_of, &[("i", i), ("j", j)])))?;
                for &at in &a.batch {
                    let depends = held(&self.matrix, at);
                    a_place = with(a_place, at, kept(&depends).ok_or(format!("the data has no bit {depends}"))?);
                }
                let factor = self.matrix.apply(a_place);

                let mut c_place = c.place(c_of.apply(index(&c_of, &[("i", i), ("k", k)])))?;
                for &at in &c.batch {
                    let same = held(&result, at);
                    c_place = with(c_place, at, kept(&same).ok_or(format!("the data has no bit {same}"))?);
                }
                let sum = result.apply(c_place);

                self.compare(factor, (&data.layout, element), (&result, sum))?;
                values[c_place as usize] += (self.value)(factor) * data.values[b_place as usize];
            }
        }
        Ok((Registers { layout: result, values }, 1 << b.batch.len()))
    }

    /// Whether matrix element, data element and result element belong together.
    fn compare(&self, factor: u64, data: (&Layout, u64), result: (&Layout, u64)) -> Result<(), String> {
        let (matrix, differ) = (self.matrix.logical(), |bit: &Name| format!("{bit} differs within a product"));
        for bit_name in data.0.logical().iter() {
            let value = bit(data.0.logical(), data.1, &bit_name);
            let there = if among(&bit_name, self.sums) {
                bit(matrix, factor, &of_matrix(&bit_name, "_in")?)
            } else {
                bit(result.0.logical(), result.1, &bit_name)
            };
            // A bit that the matrix has as well is the same there.
            let depends = if among(&bit_name, self.sums) { None } else { bit(matrix, factor, &bit_name) };
            if value != there || depends.is_some_and(|depends| value != Some(depends)) {
                return Err(differ(&bit_name));
            }
        }
        for text in self.creates {
            let created = name(text)?;
            let value = bit(result.0.logical(), result.1, &created);
            if value.is_none() || value != bit(matrix, factor, &of_matrix(&created, "_out")?) {
                return Err(differ(&created));
            }
        }
        Ok(())
    }
}

/// All (row, summed, column) of a product.
fn indices(mma: &Mma) -> impl Iterator<Item = (u64, u64, u64)> {
    let (m, n, k) = (mma.m as u64, mma.n as u64, mma.k as u64);
    (0..m).flat_map(move |i| (0..k).flat_map(move |j| (0..n).map(move |column| (i, j, column))))
}

/// The complex product of every element with a phase at the same place; how many half2 instructions it takes.
pub(super) fn multiply(
    data: &Registers,
    phases: &Layout,
    value: &dyn Fn(u64) -> f64,
) -> Result<(Registers, u32), String> {
    let complex = name("ReIm")?;
    let part = |layout: &Layout| {
        let at = (0..layout.physical().len())
            .find(|&at| held(layout, at) == complex && layout.physical().get(at).stem() == "r");
        at.ok_or_else(|| format!("ReIm is in no register bit of [{layout}]"))
    };
    let (data_part, phase_part) = (part(&data.layout)?, part(phases)?);
    let mut values = vec![0.0; data.values.len()];
    for place in (0..data.values.len() as u64).filter(|place| place >> data_part & 1 == 0) {
        let element = data.layout.apply(place);
        // The same part of a register of the same lane; registers by the bits that they hold.
        let mut there = 0;
        for (at, physical) in phases.physical().iter().enumerate() {
            let from = if physical.stem() == "r" {
                bit(data.layout.logical(), element, &held(phases, at))
            } else {
                bit(data.layout.physical(), place, &physical)
            };
            there = with(there, at, from.ok_or_else(|| format!("{} is in no register of the data", held(phases, at)))?);
        }
        let phase = phases.apply(there);
        for depends in phases.logical().iter() {
            if bit(phases.logical(), phase, &depends) != bit(data.layout.logical(), element, &depends) {
                return Err(format!("{depends} differs between a value and its phase"));
            }
        }
        let (re, im) =
            (value(phases.apply(with(there, phase_part, false))), value(phases.apply(with(there, phase_part, true))));
        let (x, y) = (data.values[place as usize], data.values[with(place, data_part, true) as usize]);
        values[place as usize] = re * x - im * y;
        values[with(place, data_part, true) as usize] = re * y + im * x;
    }
    // A register of real and one of imaginary parts: two products and two that add.
    let registers = data.layout.physical().iter().filter(|name| name.stem() == "r").count();
    Ok((Registers { layout: data.layout, values }, 4 << (registers - 1)))
}

/// The array in another layout.
pub(super) fn convert(data: &Registers, to: Layout) -> Result<Registers, String> {
    let from = conversion(&data.layout, &to).map_err(|error| error.to_string())?;
    let values = (0..to.physical().size()).map(|place| data.values[from.apply(place) as usize]).collect();
    Ok(Registers { layout: to, values })
}
