//! PNG images with a palette of 256 colours: a fifth of the size of all bits of a pixel, and no difference to be seen.

use std::collections::HashMap;
use std::error::Error;
use std::fs::File;
use std::io::BufWriter;
use std::path::Path;

/// Most colours of a palette.
const COLOURS: usize = 256;

/// A colour and the number of its pixels.
type Counted = ([u8; 3], usize);

/// Writes an image of 8-bit RGB pixels, row by row.
pub(crate) fn write(path: &Path, (width, height): (u32, u32), bytes: &[u8]) -> Result<(), Box<dyn Error>> {
    let pixels: Vec<[u8; 3]> = bytes.chunks_exact(3).map(|rgb| [rgb[0], rgb[1], rgb[2]]).collect();
    let (palette, indices) = palette(&pixels);
    let mut encoder = png::Encoder::new(BufWriter::new(File::create(path)?), width, height);
    encoder.set_color(png::ColorType::Indexed);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.set_compression(png::Compression::Best);
    encoder.set_filter(png::FilterType::NoFilter);
    encoder.set_palette(palette.concat());
    encoder.write_header()?.write_image_data(&indices)?;
    Ok(())
}

/// At most [`COLOURS`] colours, and the one of each pixel. Frequent colours stay as they are.
pub(crate) fn palette(pixels: &[[u8; 3]]) -> (Vec<[u8; 3]>, Vec<u8>) {
    let mut counts: HashMap<[u8; 3], usize> = HashMap::new();
    for pixel in pixels {
        *counts.entry(*pixel).or_default() += 1;
    }
    let mut colours: Vec<Counted> = counts.into_iter().collect();
    colours.sort_unstable();
    let mut boxes = vec![colours];
    while boxes.len() < COLOURS {
        // The box with the widest side is cut at the middle of that side.
        let widest = boxes.iter().enumerate().max_by_key(|(index, colours)| (side(colours).1, usize::MAX - index));
        let Some((index, _)) = widest.filter(|(_, colours)| side(colours).1 > 0) else { break };
        let (axis, _) = side(&boxes[index]);
        let mut colours = boxes.swap_remove(index);
        colours.sort_unstable_by_key(|(colour, _)| colour[axis]);
        let ends = colours[0].0[axis].midpoint(colours[colours.len() - 1].0[axis]);
        let upper = colours.split_off(colours.partition_point(|(colour, _)| colour[axis] <= ends));
        boxes.extend([colours, upper]);
    }
    let mut palette = Vec::new();
    let mut index_of = HashMap::new();
    for (index, colours) in boxes.iter().enumerate() {
        let most = colours.iter().max_by_key(|(_, count)| *count);
        palette.extend(most.map(|(colour, _)| *colour));
        index_of.extend(colours.iter().map(|(colour, _)| (*colour, index as u8)));
    }
    let indices = pixels.iter().map(|pixel| index_of.get(pixel).copied().unwrap_or(0)).collect();
    (palette, indices)
}

/// The channel in which colours differ most, and by how much.
fn side(colours: &[Counted]) -> (usize, u8) {
    let spans = [0, 1, 2].map(|axis| {
        let values = || colours.iter().map(|(colour, _)| colour[axis]);
        (axis, values().max().unwrap_or(0) - values().min().unwrap_or(0))
    });
    spans.into_iter().max_by_key(|(_, span)| *span).unwrap_or((0, 0))
}
