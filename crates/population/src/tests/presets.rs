//! The presets reproduce the figures that were printed with their proposal, to the printed digits.

use streams::Seed;
use units::Bytes;

use crate::{Extent, Layout, Population, Preset, SizeHistogram, SizeTally};

const TIB: u128 = 1 << 40;

/// Servers with 60 TiB each, replicas included, three of them.
fn preset(preset: Preset, servers: u32) -> Population {
    let extent = Extent::Bytes(u128::from(servers) * 60 * TIB / 3);
    Population::new(&preset.histogram(), preset.layout(servers / 3), extent, Seed(1)).unwrap()
}

fn printed(value: f64, digits: usize) -> String {
    format!("{value:.digits$}")
}

#[test]
fn every_preset_reads_and_has_its_name() {
    for preset in Preset::ALL {
        assert_eq!(Preset::named(preset.name()), Some(preset));
        let histogram = preset.histogram();
        assert!(histogram.total().abs_diff(1_000_000_000) <= 2);
        assert!(preset.text().starts_with("# Proposed, not published"));
    }
    assert_eq!(Preset::named("Mira"), None);
    assert_eq!(Preset::Mira.histogram(), SizeHistogram::mira());
    assert_eq!(Preset::ThousandGenomes.histogram(), SizeHistogram::thousand_genomes());
}

#[test]
fn the_mean_file_of_1000_genomes_is_as_printed() {
    assert_eq!(printed(SizeHistogram::thousand_genomes().mean() / 1e9, 3), "1.006");
}

#[test]
fn shares_below_sizes_are_as_printed() {
    let (kib, mib, gib) = (Bytes::from_kib, Bytes::from_mib, Bytes::from_gib);
    let sizes = [kib(64), mib(1), mib(64), gib(1), gib(16)];
    let check = |histogram: &SizeHistogram, files: [&str; 5], bytes: [&str; 5]| {
        let digits = |text: &str| text.split_once('.').unwrap().1.len();
        for ((size, files), bytes) in sizes.iter().zip(files).zip(bytes) {
            let share = histogram.share_below(*size) * 100.0;
            assert_eq!(printed(share, digits(files)), files, "files below {size}");
            let share = histogram.bytes_share_below(*size) * 100.0;
            assert_eq!(printed(share, digits(bytes)), bytes, "bytes below {size}");
        }
    };
    check(
        &SizeHistogram::thousand_genomes(),
        ["31.8", "41.2", "44.5", "84.1", "99.3"],
        ["0.00", "0.00", "0.1", "17.0", "73.8"],
    );
    check(
        &SizeHistogram::mira(),
        ["33.7", "71.1", "96.0", "99.5", "99.96"],
        ["0.01", "0.15", "3.2", "13.3", "29.3"],
    );
}

#[test]
fn objects_of_1000_genomes_are_as_printed() {
    for servers in [16, 64, 1024] {
        let genomes = preset(Preset::ThousandGenomes, servers);
        let objects = genomes.objects() as f64;
        let mean = genomes.bytes_expected() / objects;
        assert_eq!(printed(objects / genomes.files() as f64, 1), "15.7", "{servers} servers");
        assert_eq!(printed(mean / (1 << 20) as f64, 1), "61.2", "{servers} servers");
        assert_eq!(printed(60.0 * (1u64 << 40) as f64 / mean / 1e6, 2), "1.03");
        let tally = genomes.object_tally();
        let chunks = tally.bins().into_iter().find(|bin| bin.low == Bytes::from_mib(64)).unwrap();
        assert_eq!(printed(chunks.bytes / tally.bytes() * 100.0, 0), "98", "{servers} servers");
        assert_eq!(printed(chunks.count / tally.count() * 100.0, 0), "94", "{servers} servers");
        assert_eq!(printed(tally.share_below(22) * 100.0, 1), "2.8", "{servers} servers");
    }
}

#[test]
fn objects_of_mira_are_as_printed() {
    let printed_rows =
        [(16, "1.5", "58.5", Some(36)), (64, "2.3", "37.5", Some(34)), (256, "3.6", "24.3", None)];
    for (servers, per_file, mean, most) in printed_rows.into_iter().chain([(1024, "5.3", "16.6", Some(30))]) {
        let mira = preset(Preset::Mira, servers);
        let objects = mira.objects() as f64;
        assert_eq!(printed(objects / mira.files() as f64, 1), per_file, "{servers} servers");
        assert_eq!(printed(mira.bytes_expected() / objects / (1 << 20) as f64, 1), mean, "{servers} servers");
        let tally = mira.object_tally();
        if let Some(power) = most {
            assert_eq!(most_bytes(&tally), 1 << power, "{servers} servers");
        }
        let below = tally.share_below(22) * 100.0;
        assert!((55.5..72.5).contains(&below), "{servers} servers: {below} % below 4 MiB");
    }
}

fn most_bytes(tally: &SizeTally) -> u64 {
    let bins = tally.bins();
    bins.iter().max_by(|left, right| left.bytes.total_cmp(&right.bytes)).unwrap().low.get()
}

#[test]
fn the_largest_run_has_3_88e9_replicas() {
    let mira = preset(Preset::Mira, 1024);
    assert_eq!(printed(mira.objects() as f64 * 3.0 / 1e9, 2), "3.88");
    // Objects that a failed server loses.
    assert_eq!(printed(mira.objects() as f64 * 3.0 / 1024.0 / 1e6, 2), "3.79");
    assert_eq!(printed(preset(Preset::Mira, 16).objects() as f64 * 3.0 / 16.0 / 1e6, 2), "1.07");
    let asked = 1024.0 * 20.0 * TIB as f64;
    assert!((mira.bytes_expected() - asked).abs() < 1e-9 * asked);
}

#[test]
fn the_largest_object_at_64_servers_is_above_512_gib() {
    let mira = preset(Preset::Mira, 64);
    let last = mira.object_tally().bins().last().copied().unwrap();
    assert_eq!(last.low, Bytes::from_gib(512), "{last:?}");
    let extent = Extent::Files(10_000_000);
    let whole = Population::new(&SizeHistogram::mira(), Layout::Whole, extent, Seed(1)).unwrap();
    assert_eq!(whole.objects(), whole.files());
}
