//! Small populations, enumerated file by file.

use std::collections::BTreeMap;

use proptest::prelude::*;
use towtank_streams::Seed;
use towtank_units::Bytes;

use crate::histogram::SizeBin;
use crate::{Extent, Layout, Object, Population, SizeHistogram, SizeTally};

/// The objects of a file, strip by strip.
fn strips(layout: Layout, size: u64) -> Vec<u64> {
    let (unit, width) = match layout {
        Layout::Whole => return vec![size],
        Layout::Chunks(chunk) => (chunk.get(), u64::MAX),
        Layout::Stripe { unit, width_max } => (unit.get(), u64::from(width_max)),
    };
    let objects = size.div_ceil(unit).min(width) as usize;
    let mut sizes = vec![0; objects];
    let mut left = size;
    for strip in 0.. {
        let length = left.min(unit);
        sizes[strip % objects] += length;
        left -= length;
        if left == 0 {
            break;
        }
    }
    sizes
}

fn histograms() -> impl Strategy<Value = SizeHistogram> {
    prop::collection::vec((0u64..40, 1u64..300, 0u64..50), 1..6).prop_filter_map("a file", |parts| {
        let mut bins = Vec::new();
        let mut end = 0;
        for (gap, width, count) in parts {
            let bin = SizeBin { min: end + gap, max: end + gap + width, count };
            end = bin.max;
            if count > 0 {
                bins.push(bin);
            }
        }
        SizeHistogram::from_bins(bins)
    })
}

fn layouts() -> impl Strategy<Value = Layout> {
    prop_oneof![
        Just(Layout::Whole),
        (1u64..200).prop_map(|chunk| Layout::Chunks(Bytes::new(chunk))),
        (1u64..70, 1u32..12)
            .prop_map(|(unit, width_max)| Layout::Stripe { unit: Bytes::new(unit), width_max }),
    ]
}

/// The objects that the population must return, given its files.
fn enumerate(population: &Population, layout: Layout) -> Vec<Object> {
    let mut objects = Vec::new();
    for number in 0..population.files() {
        let file = population.file(number);
        assert_eq!(file.objects.start, objects.len() as u64);
        for (part, size) in (0..).zip(strips(layout, file.size.get())) {
            objects.push(Object { size: Bytes::new(size), file: number, part });
        }
        assert_eq!(file.objects.end, objects.len() as u64);
    }
    objects
}

/// Counts and bytes by power of two, over every size that each kind of files may have.
fn expected(population: &Population, layout: Layout, histogram: &SizeHistogram) -> [SizeTally; 2] {
    let bin_of = |size: u64| histogram.bins().iter().position(|bin| (bin.min..bin.max).contains(&size));
    // A kind of files is a range of sizes of one bin with the same number of objects. A file of 1 byte may
    // represent one of 0.
    let kind = |size: u64| (bin_of(size).unwrap_or(0), strips(layout, size.max(1)).len());
    let mut files_of_kind = BTreeMap::new();
    for number in 0..population.files() {
        *files_of_kind.entry(kind(population.file(number).size.get())).or_insert(0u64) += 1;
    }
    let [mut files, mut objects] = [SizeTally::default(), SizeTally::default()];
    for (wanted, count) in files_of_kind {
        let bin = histogram.bins()[wanted.0];
        let sizes: Vec<u64> = (bin.min..bin.max).filter(|size| kind(*size) == wanted).collect();
        let each = count as f64 / sizes.len() as f64;
        for size in sizes {
            files.add(size, each);
            strips(layout, size.max(1)).into_iter().for_each(|size| objects.add(size, each));
        }
    }
    [files, objects]
}

fn assert_alike(got: &SizeTally, want: &SizeTally) {
    let near = |left: f64, right: f64| (left - right).abs() <= 1e-9 * (1.0 + right.abs());
    assert_eq!(got.bins().len(), want.bins().len(), "{got:?} {want:?}");
    for (got, want) in got.bins().iter().zip(want.bins()) {
        let alike = got.low == want.low && near(got.count, want.count) && near(got.bytes, want.bytes);
        assert!(alike, "{got:?}, not {want:?}");
    }
}

fn of(histogram: &SizeHistogram, layout: Layout, extent: Extent) -> Population {
    Population::new(histogram, layout, extent, Seed(1)).unwrap()
}

proptest! {
    #[test]
    fn objects_are_those_of_the_files(
        histogram in histograms(), layout in layouts(), files in 1u64..400, seed in 0u64..3,
    ) {
        let population = Population::new(&histogram, layout, Extent::Files(files), Seed(seed)).unwrap();
        prop_assert_eq!(population.files(), files);
        let objects = enumerate(&population, layout);
        prop_assert_eq!(population.objects(), objects.len() as u64);
        // In reverse order, because the order of queries must not matter.
        for (id, object) in objects.iter().enumerate().rev() {
            prop_assert_eq!(population.object(id as u64), *object);
        }
        let [files, objects] = expected(&population, layout, &histogram);
        assert_alike(&population.file_tally(), &files);
        assert_alike(&population.object_tally(), &objects);
        prop_assert!((population.bytes_expected() - files.bytes()).abs() <= 1e-9 * files.bytes());
        prop_assert!((objects.bytes() - files.bytes()).abs() <= 1e-9 * files.bytes());
    }

    #[test]
    fn files_above_a_size_are_the_expected_number(
        histogram in histograms(), layout in layouts(), files in 1u64..400,
    ) {
        let population = of(&histogram, layout, Extent::Files(files));
        for edge in histogram.bins().iter().map(|bin| bin.max.max(2)) {
            let above = (0..files).filter(|file| population.file(*file).size.get() >= edge).count() as f64;
            let want = files as f64 * (1.0 - histogram.share_below(Bytes::new(edge)));
            // A bin of one or two bytes contains the edge.
            let slack = if edge == 2 { 1.5 } else { 0.5 };
            prop_assert!((above - want).abs() <= slack + 1e-9, "{above} files of {edge} bytes or more, not {want}");
        }
    }

    #[test]
    fn one_file_more_is_never_less(histogram in histograms(), layout in layouts(), files in 1u64..300) {
        let fewer = of(&histogram, layout, Extent::Files(files));
        let more = of(&histogram, layout, Extent::Files(files + 1));
        prop_assert!(fewer.objects() <= more.objects());
        // A file of 0 bytes counts as 1, which the order of kinds ignores.
        prop_assert!(fewer.bytes_expected() <= more.bytes_expected() + 1.0);
    }

    #[test]
    fn the_extent_is_filled(histogram in histograms(), layout in layouts(), asked in 1u64..3000) {
        let objects = of(&histogram, layout, Extent::Objects(asked));
        prop_assert_eq!(objects.objects(), asked);
        let listed: u64 = (0..objects.files()).map(|file| { let of = objects.file(file).objects; of.end - of.start }).sum();
        prop_assert_eq!(listed, asked);
        prop_assert!(of(&histogram, layout, Extent::Files(objects.files() + 1)).objects() > asked);
        let bytes = of(&histogram, layout, Extent::Bytes(u128::from(asked)));
        let zeros = bytes.files() as f64;
        prop_assert!(bytes.bytes_expected() <= asked as f64 + zeros || bytes.files() == 1);
        prop_assert!(of(&histogram, layout, Extent::Files(bytes.files() + 1)).bytes_expected() > asked as f64);
    }
}

/// For 1,000 requested objects, whole files of 1000 Genomes have only 841: the next file would exceed them.
#[test]
fn as_many_objects_as_asked_for() {
    for asked in [1, 2, 7, 500, 1_000, 123_457] {
        for histogram in [SizeHistogram::thousand_genomes(), SizeHistogram::mira()] {
            for layout in
                [Layout::CHUNKS, Layout::Whole, Layout::Stripe { unit: Bytes::from_mib(4), width_max: 21 }]
            {
                let population = of(&histogram, layout, Extent::Objects(asked));
                assert_eq!(population.objects(), asked, "{layout:?}");
                let bytes: u128 = (0..asked).map(|id| u128::from(population.object(id).size.get())).sum();
                let of_files: u128 =
                    (0..population.files()).map(|file| u128::from(population.file(file).size.get())).sum();
                assert_eq!(bytes, of_files, "{layout:?}: each file is as large as its objects");
            }
        }
    }
}

#[test]
fn another_seed_gives_other_sizes_and_the_same_seed_the_same() {
    let of = |seed| {
        let extent = Extent::Objects(10_000);
        Population::new(&SizeHistogram::mira(), Layout::CHUNKS, extent, Seed(seed)).unwrap()
    };
    let sizes = |population: &Population| -> Vec<u64> {
        (0..population.objects()).map(|id| population.object(id).size.get()).collect()
    };
    assert_eq!(sizes(&of(1)), sizes(&of(1)));
    assert_ne!(sizes(&of(1)), sizes(&of(2)));
    assert_ne!(of(1).rank(17), of(2).rank(17));
}

#[test]
fn ten_million_objects_have_the_bytes_that_were_expected() {
    let layout = Layout::Stripe { unit: Bytes::from_mib(4), width_max: 21 };
    let mira = of(&SizeHistogram::mira(), layout, Extent::Objects(10_000_000));
    assert_eq!(mira.objects(), 10_000_000);
    let bytes: u128 = (0..mira.objects()).map(|id| u128::from(mira.object(id).size.get())).sum();
    let off = bytes as f64 / mira.bytes_expected() - 1.0;
    assert!(off.abs() < 0.01, "{bytes} bytes, {off}");
}
