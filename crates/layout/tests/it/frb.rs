//! The FRB beamformer's register assignments: every claim holds, and a fault in any of them is found.

use fringes_layout::frb::{ASSIGNMENT, Assignment, verify};
use fringes_layout::{Layout, layout};

#[test]
fn every_claim_of_the_source_holds() {
    for claim in verify(&ASSIGNMENT) {
        assert!(claim.found.is_ok(), "{}: {}", claim.claim, claim.found.unwrap_err());
    }
}

/// Names of the claims that fail.
fn failing(assignment: &Assignment) -> Vec<&'static str> {
    verify(assignment).into_iter().filter(|claim| claim.found.is_err()).map(|claim| claim.claim).collect()
}

#[test]
fn exchanging_two_bits_of_any_array_is_found() {
    type Change = fn(&mut Assignment) -> &mut Layout;
    let arrays: [(&str, Change); 12] = [
        ("X", |a| &mut a.x),
        ("Z1", |a| &mut a.z1),
        ("Z3'", |a| &mut a.z3_primed),
        ("Z3", |a| &mut a.z3),
        ("Y'", |a| &mut a.y_primed),
        ("Y", |a| &mut a.y),
        ("E X-Z1", |a| &mut a.e_x_z1),
        ("E Z1-Z2", |a| &mut a.e_z1_z2),
        ("E Z2-Z3", |a| &mut a.e_z2_z3),
        ("E Z3-Z4", |a| &mut a.e_z3_z4),
        ("E Z4-Y", |a| &mut a.e_z4_y),
        ("E X-Z1 packed", |a| &mut a.e_x_z1_packed),
    ];
    for (name, array) in arrays {
        let mut changed = ASSIGNMENT;
        let layout = array(&mut changed);
        // The contents of the half and of the highest lane bit change places: no order of registers or of summed bits
        // undoes that.
        let (half, lane) = (layout.logical().get(0), layout.logical().get(5));
        let exchanged = layout
            .rename_logical(half.as_str(), "spare")
            .and_then(|layout| layout.rename_logical(lane.as_str(), half.as_str()))
            .and_then(|layout| layout.rename_logical("spare", lane.as_str()));
        *layout = exchanged.unwrap();
        assert!(!failing(&changed).is_empty(), "{name} as {} passes", array(&mut changed));
    }
}

#[test]
fn what_the_consistency_leaves_free_is_free() {
    // The order of summed bits inside B's places is the matrix's affair, if it has the same.
    let mut changed = ASSIGNMENT;
    changed.x = layout!("b<->n7  t0 t1 t2 t3 t4<->ReIm n6 n5 n4 n3  r<->n2 n1 n0");
    changed.e_x_z1 = layout!("b<->n7  t0 t1 t2 t3 t4<->ReIm_in n6 q0 q1 q2  r<->n0 n1 ReIm_out");
    // The packed form is then another.
    assert_eq!(failing(&changed), ["(29) unpacks to (24)"]);
}
