//! A reader of FITS blocks: 36 cards of 80 characters a header block, data in blocks of 2880 bytes.

/// One header and its data with its padding.
pub(crate) struct Hdu<'a> {
    pub(crate) cards: Vec<String>,
    pub(crate) data: &'a [u8],
}

impl Hdu<'_> {
    /// The value field of the first card of a keyword, without a comment.
    fn value(&self, keyword: &str) -> Option<&str> {
        let start = format!("{keyword:<8}= ");
        let value = self.cards.iter().find_map(|card| card.strip_prefix(&start))?;
        let end = if value.starts_with('\'') { value.rfind('\'').map(|quote| quote + 1) } else { value.find('/') };
        Some(value[..end.unwrap_or(value.len())].trim())
    }

    pub(crate) fn number(&self, keyword: &str) -> f64 {
        self.value(keyword).unwrap_or_else(|| panic!("{keyword}")).parse().unwrap()
    }

    pub(crate) fn text(&self, keyword: &str) -> String {
        let value = self.value(keyword).unwrap_or_else(|| panic!("{keyword}"));
        let inner = value.strip_prefix('\'').and_then(|value| value.strip_suffix('\'')).unwrap();
        inner.replace("''", "'").trim_end().into()
    }
}

/// Every header and its data; panics where the file is not laid out as the standard says.
pub(crate) fn hdus(bytes: &[u8]) -> Vec<Hdu<'_>> {
    let mut hdus = Vec::new();
    let mut rest = bytes;
    while !rest.is_empty() {
        let cards: Vec<&[u8]> = rest.chunks_exact(80).collect();
        let end = cards.iter().position(|card| card.starts_with(b"END     ")).expect("an END card");
        assert!(cards[end][3..].iter().all(|&byte| byte == b' '));
        let header_length = (80 * (end + 1)).next_multiple_of(2880);
        assert!(rest[80 * (end + 1)..header_length].iter().all(|&byte| byte == b' '), "header padding");
        let cards: Vec<String> = cards[..end].iter().map(|card| String::from_utf8(card.to_vec()).unwrap()).collect();
        assert!(cards.iter().all(|card| card.bytes().all(|byte| (b' '..=b'~').contains(&byte))));
        let mut hdu = Hdu { cards, data: &[] };
        check_mandatory(&hdu);
        let axes: Vec<usize> =
            (1..=hdu.number("NAXIS") as usize).map(|axis| hdu.number(&format!("NAXIS{axis}")) as usize).collect();
        let elements: usize = if axes[0] == 0 { axes[1..].iter().product() } else { axes.iter().product() };
        let size = hdu.number("BITPIX").abs() as usize / 8;
        let data_length = size * hdu.number("GCOUNT") as usize * (hdu.number("PCOUNT") as usize + elements);
        let end = header_length + data_length.next_multiple_of(2880);
        hdu.data = &rest[header_length..end];
        rest = &rest[end..];
        hdus.push(hdu);
    }
    hdus
}

/// The first cards, in the order that the standard demands, their integers ending in column 30.
fn check_mandatory(hdu: &Hdu) {
    let keywords: Vec<&str> = hdu.cards.iter().map(|card| card[..8].trim_end()).collect();
    assert!(["SIMPLE", "XTENSION"].contains(&keywords[0]));
    assert_eq!(keywords[1..3], ["BITPIX", "NAXIS"]);
    let axes = hdu.number("NAXIS") as usize;
    for axis in 1..=axes {
        assert_eq!(keywords[2 + axis], format!("NAXIS{axis}"));
    }
    for keyword in ["BITPIX", "NAXIS", "NAXIS1", "PCOUNT", "GCOUNT"] {
        let card = hdu.cards.iter().find(|card| card.starts_with(&format!("{keyword:<8}= "))).expect(keyword);
        assert!(card[10..30].trim_start().parse::<i64>().is_ok(), "{card}");
    }
}
