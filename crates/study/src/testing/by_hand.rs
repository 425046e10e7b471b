//! Compares measures with values computed by hand, and proves that a value from another row would be noticed.

use crate::Measure;

/// The relative tolerance of the comparison, since histograms round.
const WITHIN: f64 = 0.01;

/// The names of the measures whose value is not as expected.
pub fn differing<S>(measures: &[Measure<S>], seen: &S, expected: &[(&str, f64)]) -> Vec<String> {
    let names: Vec<&str> = measures.iter().map(|measure| measure.name.as_ref()).collect();
    let wanted: Vec<&str> = expected.iter().map(|(name, _)| *name).collect();
    assert_eq!(names, wanted, "a value is expected of each measure");
    let differs = |(measure, (_, wanted)): &(&Measure<S>, &(&str, f64))| match measure.value(seen) {
        Ok(value) => (value - wanted).abs() > WITHIN * wanted.abs(),
        Err(_) => true,
    };
    measures.iter().zip(expected).filter(differs).map(|(measure, _)| measure.name.to_string()).collect()
}

/// Asserts the expected values, which must all differ, and that exchanging the values of any two rows is
/// noticed.
pub fn hold<S>(measures: impl Fn() -> Vec<Measure<S>>, seen: &S, expected: &[(&str, f64)]) {
    assert_eq!(differing(&measures(), seen, expected), Vec::<String>::new());
    for one in 0..expected.len() {
        for other in 0..one {
            let mut swapped = measures();
            let (low, high) = swapped.split_at_mut(one);
            std::mem::swap(&mut low[other].value, &mut high[0].value);
            let names = [expected[other].0, expected[one].0];
            assert_eq!(differing(&swapped, seen, expected), names, "swapped");
        }
    }
}
