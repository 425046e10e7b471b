//! Damaged exports are rejected or read, and never cause a panic: cut anywhere, with bytes changed, or
//! random.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on may panic")]

use std::io::Read as _;
use std::path::PathBuf;

use proptest::prelude::*;
use towtank_imports::File;
use towtank_imports::ceph::{read_map, read_osd_df, read_osd_dump, read_pg_dump, read_report};
use towtank_imports::swift::read_ring;

const EXPORTS: [&str; 9] = [
    "exports/crushmap.bin",
    "exports/crushmap.txt",
    "exports/osd_crush_dump.json",
    "exports/osd_dump.json",
    "exports/osd_df.json",
    "exports/report.json.gz",
    "rings/zones.ring.gz",
    "rings/zones_v2.ring.gz",
    "rings/fraction.ring.gz",
];

fn bytes(name: &str) -> Vec<u8> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests").join(name);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn read_as_everything(bytes: &[u8]) {
    let file = File { name: "export", bytes };
    let errors = [
        read_map(file).err(),
        read_osd_dump(file).map(|dump| dump.value.overlay()).err(),
        read_pg_dump(file).err(),
        read_osd_df(file).err(),
        read_report(file).err(),
        read_ring(file).err(),
    ];
    errors.iter().flatten().for_each(|error| assert!(error.to_string().starts_with("`export`: "), "{error}"));
}

proptest! {
    #[test]
    fn damaged_exports_never_panic(
        which in 0..EXPORTS.len(),
        cut in any::<prop::sample::Index>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
    ) {
        let mut bytes = bytes(EXPORTS[which]);
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        read_as_everything(&bytes);
        bytes.truncate(cut.index(bytes.len()));
        read_as_everything(&bytes);
    }

    /// The same inside the compression, whose checksum would stop most changes.
    #[test]
    fn damaged_rings_never_panic(
        which in EXPORTS.len() - 3..EXPORTS.len(),
        cut in any::<prop::sample::Index>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
    ) {
        let mut unpacked = Vec::new();
        flate2::read::GzDecoder::new(&bytes(EXPORTS[which])[..]).read_to_end(&mut unpacked).unwrap();
        for (at, byte) in changes {
            let at = at.index(unpacked.len());
            unpacked[at] = byte;
        }
        read_as_everything(&unpacked);
        unpacked.truncate(cut.index(unpacked.len()));
        read_as_everything(&unpacked);
    }

    #[test]
    fn anything_at_all_never_panics(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        read_as_everything(&bytes);
    }
}
