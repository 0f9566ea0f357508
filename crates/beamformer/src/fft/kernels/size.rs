//! The transform of a line of feeds.

use fringes_fft::Size;

/// The kernels' transform of a line of `feeds` feeds padded to `padded`, if there is one: with half as many inputs as
/// outputs where they hold the feeds and there is such a transform, else with as many.
pub fn transform_size(feeds: usize, padded: usize) -> Option<Size> {
    let size = |inputs: usize| Size::new(inputs, padded).ok().filter(|_| (1..=inputs).contains(&feeds));
    size(padded / 2).or_else(|| size(padded))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_the_padded_length_is_enough_where_the_feeds_fit() {
        for (feeds, padded, expected) in [
            (200, 512, (256, 512)),
            (256, 512, (256, 512)),
            (257, 512, (512, 512)),
            (1, 64, (64, 64)),
            (64, 64, (64, 64)),
            (64, 128, (64, 128)),
            (65, 128, (128, 128)),
            (1024, 1024, (1024, 1024)),
        ] {
            let size = transform_size(feeds, padded);
            assert_eq!(size.map(|size| (size.inputs(), size.outputs())), Some(expected));
        }
    }

    #[test]
    fn other_lines_have_no_transform() {
        for (feeds, padded) in [(0, 64), (65, 64), (10, 32), (10, 2048), (100, 200), (1, 0), (usize::MAX, 64)] {
            assert_eq!(transform_size(feeds, padded), None);
        }
    }
}
