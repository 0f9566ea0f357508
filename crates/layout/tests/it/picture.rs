//! Pictures show what layouts say: every cell of the text against the layout, and the SVG's boxes apart from each
//! other.

#![allow(clippy::unwrap_used)] // helpers of tests, outside the test functions themselves

use fringes_layout::picture::{Labels, SvgOptions, TextOptions, svg, svg_pair, text, text_pair};
use fringes_layout::{Layout, Swizzle, atoms};

fn layout(text: &str) -> Layout {
    Layout::parse(text).unwrap()
}

/// Layouts of registers, memories, and neither.
fn layouts() -> Vec<Layout> {
    let memory = layout("s1 s2 s3 s4 s5 s6<->x0 x1 x2 x3 x4 x5  s7 s8 s9<->y0 y1 y2");
    let mut layouts = vec![
        layout("b<->ReIm  t0 t1 t2 t3 t4<->n7 n6 n5 n4 n3  r<->n2 n1 n0"),
        layout("b<->x0 x1  t0 t1 t2 t3 t4<->x2^y1 x3 y0 y1 0  r1 r3<->y3 x4  w<->z  0<->u + z"),
        layout("t0 t1<->x0 x1"),
        memory,
        Swizzle::B128.of(&memory).unwrap(),
        layout("s4 s5 s6 s8<->x0 x1 x2 y0"),
        layout("g0 g1 g2<->x0 x1 x2"),
        layout("row0 row1 col0<->t0 t1 t2"),
        layout(""),
    ];
    layouts.extend(atoms::mma::MMAS.iter().map(|mma| mma.a));
    layouts
}

#[test]
fn a_picture_of_registers_has_a_row_a_lane_and_every_element_in_its_cell() {
    let layout = layout("b<->x0  t0 t1 t2 t3 t4<->x1 y0^x0 y1 y2 y3  r<->x2 x3 + y0");
    let picture = text(&layout, &TextOptions { labels: Labels::Index, ..TextOptions::default() });
    let lines: Vec<_> = picture.lines().collect();
    assert_eq!(lines[0], layout.to_string());
    assert_eq!(lines[1], "cells: index");
    assert_eq!(lines[2].split_whitespace().collect::<Vec<_>>(), ["lane", "|", "r0", "r1", "r2", "r3"]);
    assert_eq!(lines.len(), 3 + 32);
    for (lane, line) in lines[3..].iter().enumerate() {
        let (label, cells) = line.split_once(" | ").unwrap();
        assert_eq!(label.trim().parse::<usize>().unwrap(), lane);
        let cells: Vec<u64> = cells.split(['|', ' ']).filter_map(|cell| cell.parse().ok()).collect();
        let places = (0..8).map(|at| layout.physical().index(&[("b", at % 2), ("r", at / 2), ("t", lane as u64)]));
        assert_eq!(cells, places.map(|place| layout.apply(place)).collect::<Vec<_>>());
    }
}

#[test]
fn a_picture_of_memory_has_a_row_of_128_bytes_with_a_column_a_bank() {
    let memory = layout("s1 s2 s3 s4 s5 s6<->x0 x1 x2 x3 x4 x5  s7 s8 s9<->y0 y1 y2");
    let swizzled = Swizzle::B128.of(&memory).unwrap();
    let picture = text(&swizzled, &TextOptions { labels: Labels::Index, ..TextOptions::default() });
    let lines: Vec<_> = picture.lines().skip(4).collect();
    assert_eq!(lines.len(), 8);
    for (row, line) in lines.iter().enumerate() {
        let (label, cells) = line.split_once(" | ").unwrap();
        assert_eq!(label.trim().parse::<usize>().unwrap(), 128 * row);
        let cells: Vec<u64> = cells.split(['|', ' ']).filter_map(|cell| cell.parse().ok()).collect();
        let expected = (0..64).map(|at| swizzled.apply(64 * row as u64 + at));
        assert_eq!(cells, expected.collect::<Vec<_>>());
    }
}

#[test]
fn places_that_a_memory_does_not_have_are_blank() {
    let picture = text(&layout("s2 s8<->x0 x1"), &TextOptions::default());
    let lines: Vec<_> = picture.lines().collect();
    assert_eq!(lines[..3], ["s2 s8<->x0 x1", "cells: x", "          bank"]);
    assert!(lines[3].starts_with("address | 0   1   2   3 ") && lines[3].ends_with(" 31"));
    assert_eq!(lines[4..], ["      0 | 0   1", "    128 |", "    256 | 2   3", "    384 |"]);
}

#[test]
fn the_inverse_of_a_fragment_is_a_matrix_of_places() {
    let fragment = layout("b<->col0  t0 t1 t2 t3 t4<->col1 col2 row0 row1 row2");
    let options = TextOptions { rows: &["row"], columns: &["col"], labels: Labels::Named, ..TextOptions::default() };
    let picture = text(&fragment.invert().unwrap(), &options);
    let last = picture.lines().last().unwrap();
    assert_eq!(last.split_whitespace().take(8).collect::<Vec<_>>().join(" "), "7 | b0 t28 b1 t28 b0 t29");
}

#[test]
fn labels_of_a_pair_have_one_order() {
    let (before, after) = (layout("t0 t1<->x0 y0"), layout("t0 t1<->y0 x0"));
    let pair = text_pair(&before, &after, &TextOptions::default());
    assert!(pair.lines().any(|line| line == "cells: x,y      cells: x,y"), "{pair}");
    assert!(pair.lines().any(|line| line == "   1 | 1,0         1 | 0,1"), "{pair}");
}

#[test]
fn rows_beyond_the_limit_are_counted() {
    let picture = text(&layout("t0 t1 t2<->x0 x1 x2"), &TextOptions { max_rows: 3, ..TextOptions::default() });
    assert_eq!(picture.lines().last(), Some("(5 rows more)"));
}

#[test]
fn a_layout_of_any_size_has_a_picture() {
    let bits = |stem: &str, count| (0..count).map(|bit| format!("{stem}{bit}")).collect::<Vec<_>>().join(" ");
    for stems in ["r", "t", "b", "s", "row"] {
        let layout = layout(&format!("{}<->{}", bits(stems, 48), bits("n", 48)));
        let options = TextOptions { max_rows: 2, ..TextOptions::default() };
        let picture = text(&layout, &options);
        assert!(picture.ends_with("more)\n") && picture.len() < 1 << 20, "{stems}");
        let drawing = svg(&layout, &SvgOptions { text: options, ..SvgOptions::default() });
        assert!(drawing.contains(" more</text>") && drawing.len() < 1 << 22, "{stems}");
    }
}

/// The value of an attribute in a line of SVG.
fn attribute(line: &str, name: &str) -> f64 {
    let start = line.find(&format!(" {name}=\"")).unwrap() + name.len() + 3;
    line[start..].split('"').next().unwrap().parse().unwrap()
}

/// Left, right, baseline and font size of every text of a drawing without transformed groups' offsets, by group.
fn texts(svg: &str) -> Vec<(usize, f64, f64, f64, f64)> {
    let mut group = 0;
    let mut texts = Vec::new();
    for line in svg.lines() {
        group += usize::from(line.starts_with("<g ") || line.starts_with("</g>"));
        if line.starts_with("<text ") {
            let content = line.split_once('>').unwrap().1.split("</text>").next().unwrap();
            let content = content.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&");
            let (x, y, font) = (attribute(line, "x"), attribute(line, "y"), attribute(line, "font-size"));
            // DejaVu Sans Mono is 0.602 wide.
            let width = content.chars().count() as f64 * font * 0.602;
            let left = match line {
                line if line.contains(r#"anchor="middle""#) => x - width / 2.0,
                line if line.contains(r#"anchor="end""#) => x - width,
                _ => x,
            };
            texts.push((group, left, left + width, y, font));
        }
    }
    texts
}

#[test]
fn no_text_of_a_drawing_overlaps_another_or_leaves_the_drawing() {
    let layouts = layouts();
    let options = SvgOptions { title: "A title & <more>", ..SvgOptions::default() };
    let single = layouts.iter().map(|layout| svg(layout, &options));
    let pairs = layouts.iter().map(|layout| svg_pair(("before", layout), ("after", &layouts[0]), &options));
    for drawing in single.chain(pairs) {
        let (width, height) = (attribute(&drawing, "width"), attribute(&drawing, "height"));
        let mut origins = vec![0.0];
        for line in drawing.lines() {
            if line.starts_with("<g ") {
                origins.push(line.split(['(', ' ']).nth(2).unwrap().parse().unwrap());
            } else if line.starts_with("</g>") {
                origins.push(0.0);
            }
        }
        let mut texts = texts(&drawing);
        assert!(texts.len() > 2);
        for &(group, left, right, y, _) in &texts {
            let origin: f64 = origins[group];
            assert!(
                origin + left >= 0.0 && origin + right <= width && y <= height,
                "{left} to {right} at {y} in {width} x {height}"
            );
        }
        texts.sort_by(|a, b| (a.0, a.3).partial_cmp(&(b.0, b.3)).unwrap());
        for (at, &(group, left, right, y, _)) in texts.iter().enumerate() {
            let below = texts[at + 1..].iter().take_while(|other| other.0 == group && other.3 - y < other.4);
            for other in below {
                assert!(other.1 >= right || other.2 <= left, "{group}: {left} to {right} at {y}, and {other:?}");
            }
        }
    }
}

#[test]
fn an_element_has_one_colour_on_both_sides_of_a_pair() {
    let (before, after) = (layout("t0 t1 t2<->x0 x1 x2"), layout("r<->x2  t0 t1<->x0 x1"));
    let drawing = svg_pair(("", &before), ("", &after), &SvgOptions::default());
    let lines: Vec<_> = drawing.lines().collect();
    let mut colors = std::collections::BTreeMap::<String, Vec<String>>::new();
    for pair in lines.windows(2).filter(|pair| pair[0].contains("class=\"part\"") && pair[1].contains("middle")) {
        let color = pair[0].split("fill=\"").nth(1).unwrap().split('"').next().unwrap().to_owned();
        let element = pair[1].split_once('>').unwrap().1.split('<').next().unwrap().to_owned();
        colors.entry(element).or_default().push(color);
    }
    assert_eq!(colors.len(), 8);
    assert!(colors.values().all(|colors| colors.len() == 2 && colors[0] == colors[1]), "{colors:?}");
    let different: std::collections::BTreeSet<_> = colors.values().map(|colors| &colors[0]).collect();
    assert_eq!(different.len(), 8);
}

#[test]
fn numbers_of_cells_beside_each_other_are_two_characters_apart() {
    // 32 registers of two halves: as the result of the largest transform lies.
    let layout = layout("b<->n0  t0 t1 t2 t3 t4<->n1 n2 n3 n4 n5  r0 r1 r2 r3 r4<->n6 n7 n8 n9 n10");
    let drawing = svg(&layout, &SvgOptions::default());
    let mut texts: Vec<_> = texts(&drawing).into_iter().filter(|text| text.2 - text.1 > 4.0 * 8.5 * 0.6).collect();
    texts.sort_by(|a, b| (a.3, a.1).partial_cmp(&(b.3, b.1)).unwrap());
    let beside: Vec<_> = texts.windows(2).filter(|pair| pair[0].3 == pair[1].3).collect();
    assert!(beside.len() > 1000, "{}", beside.len());
    for pair in beside {
        assert!(pair[1].1 - pair[0].2 >= 1.9 * 8.5 * 0.602, "{pair:?}");
    }
}
