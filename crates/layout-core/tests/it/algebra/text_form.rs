//! The text form at random.

use fringes_layout_core::{Layout, LayoutError};
use proptest::prelude::*;

use crate::algebra::table::{any_bijection, any_layout, table};

proptest! {
    #[test]
    fn what_is_printed_is_read_back(layout in any_layout()) {
        let text = layout.to_string();
        let read = Layout::parse(&text).unwrap();
        prop_assert!(read.same_map(&layout), "{}", text);
        prop_assert_eq!(table(&read), table(&layout));
        prop_assert_eq!(read.to_string().parse(), Ok(read));
    }

    #[test]
    fn inverses_are_printed_and_read_back(layout in any_bijection()) {
        // Their places have names without numbers.
        let inverse = layout.invert().unwrap();
        prop_assert!(Layout::parse(&inverse.to_string()).unwrap().same_map(&inverse), "{}", inverse);
    }

    #[test]
    fn any_text_is_read_or_refused_at_a_byte_of_it(text in "[tnr0-9<>^+. ,;\u{e9}-]{0,24}") {
        if let Err(LayoutError::Text { at, .. } | LayoutError::Name { at, .. } | LayoutError::Sides { at, .. }) = Layout::parse(&text) {
            prop_assert!(at <= text.len());
        }
    }

    #[test]
    fn nearly_right_text_is_read_or_refused(layout in any_layout(), at in 0usize..60, byte in "[tn0<>^+. ,-]") {
        let mut text = layout.to_string();
        if at <= text.len() {
            text.insert_str(at, &byte);
        }
        if let Ok(layout) = Layout::parse(&text) {
            prop_assert!(Layout::parse(&layout.to_string()).unwrap().same_map(&layout), "{}", text);
        }
    }
}

#[test]
fn faults_of_the_text_say_what_is_expected_and_what_is_there() {
    let message = |text| Layout::parse(text).unwrap_err().to_string();
    assert_eq!(message("t0 t1<->n0"), "2 physical bits for 1 logical ones in the group at byte 0");
    assert_eq!(message("t0<->n0  t0<->n1"), "bit t0 is there twice");
    assert_eq!(message("t0<->"), "expected a logical bit or 0 at byte 5, not the end");
    assert_eq!(message("t0<->?"), "expected a logical bit or 0 at byte 5, not `?`");
    assert_eq!(message("t0 é"), "expected a physical bit or <-> at byte 3, not `?`");
    assert_eq!(message("averyveryverylongname<->n0"), "no name of a bit at byte 0");
    let many: String = (0..49).map(|bit| format!("n{bit} ")).collect();
    assert_eq!(message(&format!("r<->{many}")), "49 bits, at most 48 fit");
}
