//! Objects of single files, computed by hand.

use super::*;

fn check(layout: Layout, size: u64, want: &[u64]) {
    let got: Vec<u64> = layout.objects_of(Bytes::new(size)).unwrap().map(Bytes::get).collect();
    assert_eq!(got, want, "{layout:?}, a file of {size}");
}

#[test]
fn whole_files() {
    check(Layout::Whole, 0, &[1]);
    check(Layout::Whole, 77, &[77]);
}

#[test]
fn chunks() {
    let chunks = Layout::Chunks(Bytes::new(10));
    check(chunks, 0, &[1]);
    check(chunks, 9, &[9]);
    check(chunks, 10, &[10]);
    check(chunks, 11, &[10, 1]);
    check(chunks, 30, &[10, 10, 10]);
}

#[test]
fn stripes() {
    let stripe = Layout::Stripe { unit: Bytes::new(10), width_max: 3 };
    check(stripe, 1, &[1]);
    check(stripe, 25, &[10, 10, 5]);
    check(stripe, 30, &[10, 10, 10]);
    check(stripe, 31, &[11, 10, 10]);
    check(stripe, 47, &[20, 17, 10]);
    check(stripe, 60, &[20, 20, 20]);
    check(stripe, 65, &[25, 20, 20]);
}

#[test]
fn nothing_is_no_layout() {
    for (layout, parameter) in [
        (Layout::Chunks(Bytes::ZERO), "chunk"),
        (Layout::Stripe { unit: Bytes::ZERO, width_max: 1 }, "stripe_unit"),
        (Layout::Stripe { unit: Bytes::new(1), width_max: 0 }, "stripe_width_max"),
    ] {
        assert_eq!(layout.pieces().unwrap_err(), PopulationError::ZeroLayout { parameter });
    }
}

#[test]
fn the_largest_pieces_do_not_overflow() {
    let huge = Bytes::new(1 << 60);
    for layout in [Layout::Chunks(Bytes::MAX), Layout::Stripe { unit: Bytes::MAX, width_max: u32::MAX }] {
        check(layout, huge.get(), &[huge.get()]);
    }
    check(Layout::Chunks(Bytes::new((1 << 60) - 1)), 1 << 60, &[(1 << 60) - 1, 1]);
}
