//! Shares and means of small histograms, computed by hand.

use super::*;

fn histogram(bins: &[(u64, u64, u64)]) -> SizeHistogram {
    let bins = bins.iter().map(|(min, max, count)| SizeBin { min: *min, max: *max, count: *count });
    SizeHistogram::from_bins(bins.collect()).unwrap()
}

#[test]
fn means_and_shares() {
    let small = histogram(&[(0, 4, 8), (10, 11, 2)]);
    // Sizes 1, 1, 2, 3 and 10 in the proportion 2:2:2:2:2.
    assert_eq!(small.mean(), (2.0 * 7.0 + 20.0) / 10.0);
    for (size, files, bytes) in [
        (0, 0.0, 0.0),
        (1, 0.0, 0.0),
        (2, 0.4, 4.0),
        (3, 0.6, 8.0),
        (4, 0.8, 14.0),
        (10, 0.8, 14.0),
        (11, 1.0, 34.0),
    ] {
        let size = Bytes::new(size);
        assert!((small.share_below(size) - files).abs() < 1e-12, "{size}");
        assert!((small.bytes_share_below(size) - bytes / 34.0).abs() < 1e-12, "{size}");
    }
    assert_eq!([small.smallest(), small.largest()], [Bytes::new(1), Bytes::new(10)]);
    let tally = small.tally();
    let counts: Vec<(u64, f64, f64)> =
        tally.bins().iter().map(|bin| (bin.low.get(), bin.count, bin.bytes)).collect();
    assert_eq!(counts, [(1, 4.0, 4.0), (2, 4.0, 10.0), (4, 0.0, 0.0), (8, 2.0, 20.0)]);
}

#[test]
fn a_constant_is_one_size() {
    let gib = Bytes::from_gib(1);
    let constant = SizeHistogram::constant(gib).unwrap();
    assert_eq!((constant.mean(), constant.smallest(), constant.largest()), (gib.get() as f64, gib, gib));
    assert_eq!(constant.share_below(gib), 0.0);
    let refused = SizeHistogram::constant(Bytes::ZERO).unwrap_err();
    assert_eq!(refused.to_string(), "`size` is 0B, but must be from 1B to 1EiB");
    assert!(SizeHistogram::constant(Bytes::new(SIZE_MAX + 1)).is_err());
}

#[test]
fn sizes_in_any_order_are_added_up() {
    let sizes = [(7, 1), (0, 2), (7, 4), (1, 3), (9, 0)].map(|(size, count)| (Bytes::new(size), count));
    assert_eq!(SizeHistogram::from_sizes(sizes).unwrap(), histogram(&[(1, 2, 5), (7, 8, 5)]));
    let refused = SizeHistogram::from_sizes([(Bytes::new(3), u64::MAX), (Bytes::new(4), 1)]).unwrap_err();
    assert_eq!(refused.line, 2);
}
