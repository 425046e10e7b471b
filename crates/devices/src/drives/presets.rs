//! Predefined drives by name.
//!
//! The disks are those for which DiskSim has validated parameter files (Western Digital's fork, `valid/`),
//! all from the years 1993 to 1999: revolution time, seek, settle, head switch, cylinders, surfaces, sectors
//! of the outermost and the innermost track, and buffer. Our own choices: eight zones of equally many
//! cylinders, whose tracks shrink evenly; 0.2 ms per request; a bus of 80 MB/s; and a stream that continues
//! if the next request comes within 0.2 ms.
//!
//! `hdd-7200` is a table, our own fit of an ST500NM0001; see `fit`.
//!
//! The solid-state drives have the times and shape of MQSim's default (MLC) and of Microsoft's SSD add-on for
//! DiskSim (SLC). Our own choices: fewer blocks, so that the state stays small; a limit of two free blocks
//! per die, where MQSim collects below 5 %; no planes. Spare space is 7 % as in MQSim, and 15 % for the
//! other, whose source gives no number.

use towtank_units::{Bytes, Rate, SimSpan};

use super::{DiskModel, SeekCurve, SeekSpec, SsdSpec, TableSpec, TrackBuffer, Zone};

/// Zones per disk.
const ZONES: u32 = 8;
const SECTOR_BYTES: u64 = 512;
const BUS_BYTES_PER_SECOND: u64 = 80_000_000;
const OVERHEAD: SimSpan = SimSpan::from_us(200);
/// Blocks per die.
const DIE_BLOCKS: u32 = 128;

/// A disk, in the units of its parameter file.
struct Disk {
    name: &'static str,
    turn_us: u64,
    /// Seek times over one cylinder, a third of all and all.
    seek_us: [u64; 3],
    write_settle_us: u64,
    head_switch_us: u64,
    cylinders: u32,
    surfaces: u32,
    /// Sectors per track of the innermost and the outermost track.
    sectors: [u64; 2],
    segments: u16,
    segment_bytes: u64,
}

const DISKS: [Disk; 7] = [
    Disk {
        name: "cheetah-9lp",
        turn_us: 5_973,
        seek_us: [831, 5_624, 10_627],
        write_settle_us: 461,
        head_switch_us: 30,
        cylinders: 6_962,
        surfaces: 12,
        sectors: [167, 254],
        segments: 3,
        segment_bytes: 287_232,
    },
    Disk {
        name: "atlas-10k",
        turn_us: 5_985,
        seek_us: [1_245, 5_630, 10_828],
        write_settle_us: 487,
        head_switch_us: 176,
        cylinders: 10_042,
        surfaces: 6,
        sectors: [229, 334],
        segments: 10,
        segment_bytes: 191_488,
    },
    Disk {
        name: "atlas-iii",
        turn_us: 8_333,
        seek_us: [1_663, 8_600, 15_360],
        write_settle_us: 0,
        head_switch_us: 999,
        cylinders: 8_057,
        surfaces: 10,
        sectors: [168, 256],
        segments: 6,
        segment_bytes: 32_768,
    },
    Disk {
        name: "barracuda-st32171w",
        turn_us: 8_333,
        seek_us: [1_943, 9_479, 16_679],
        write_settle_us: 0,
        head_switch_us: 100,
        cylinders: 5_172,
        surfaces: 5,
        sectors: [119, 186],
        segments: 3,
        segment_bytes: 143_872,
    },
    Disk {
        name: "ultrastar-18es",
        turn_us: 8_333,
        seek_us: [1_062, 7_733, 12_853],
        write_settle_us: 126,
        head_switch_us: 62,
        cylinders: 11_474,
        surfaces: 5,
        sectors: [247, 390],
        segments: 7,
        segment_bytes: 261_632,
    },
    Disk {
        name: "cheetah-4lp",
        turn_us: 5_980,
        seek_us: [636, 8_178, 16_107],
        write_settle_us: 0,
        head_switch_us: 195,
        cylinders: 6_581,
        surfaces: 8,
        sectors: [131, 195],
        segments: 3,
        segment_bytes: 144_384,
    },
    Disk {
        name: "hp-c3323a",
        turn_us: 11_111,
        seek_us: [1_178, 9_952, 18_116],
        write_settle_us: 70,
        head_switch_us: 650,
        cylinders: 2_982,
        surfaces: 7,
        sectors: [72, 120],
        segments: 2,
        segment_bytes: 262_144,
    },
];

impl DiskModel {
    /// The names of [`DiskModel::named`].
    pub const NAMES: [&str; 10] = [
        "cheetah-9lp",
        "atlas-10k",
        "atlas-iii",
        "barracuda-st32171w",
        "ultrastar-18es",
        "cheetah-4lp",
        "hp-c3323a",
        "hdd-7200",
        "ssd-mlc",
        "ssd-slc",
    ];

    /// The predefined drive with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<DiskModel> {
        match name {
            "hdd-7200" => Some(DiskModel::Table(TableSpec::fitted_7200_rpm())),
            "ssd-mlc" => Some(DiskModel::Ssd(mlc())),
            "ssd-slc" => Some(DiskModel::Ssd(slc())),
            _ => DISKS.iter().find(|disk| disk.name == name).map(|disk| DiskModel::Seek(disk.spec())),
        }
    }
}

impl Disk {
    fn spec(&self) -> SeekSpec {
        let [one, third, full] = self.seek_us.map(SimSpan::from_us);
        SeekSpec {
            curve: SeekCurve::through(self.cylinders, one, third, full).expect("its times rise"),
            turn: SimSpan::from_us(self.turn_us),
            zones: (0..ZONES).map(|zone| self.zone(zone)).collect(),
            surfaces: self.surfaces,
            head_switch: SimSpan::from_us(self.head_switch_us),
            write_settle: SimSpan::from_us(self.write_settle_us),
            overhead: OVERHEAD,
            stream_gap: OVERHEAD,
            buffer: TrackBuffer {
                segments: self.segments,
                segment: Bytes::new(self.segment_bytes),
                bus: rate(BUS_BYTES_PER_SECOND),
            },
        }
    }

    /// Zone number `zone`, counted from the outermost; the first zones have one cylinder more if the number
    /// of cylinders is not a multiple of the number of zones.
    fn zone(&self, zone: u32) -> Zone {
        let cylinders = self.cylinders / ZONES + u32::from(zone < self.cylinders % ZONES);
        let [inner, outer] = self.sectors;
        let sectors = outer - (outer - inner) * u64::from(zone) / u64::from(ZONES - 1);
        Zone { cylinders, track: Bytes::new(sectors * SECTOR_BYTES) }
    }
}

fn rate(bytes_per_second: u64) -> Rate {
    Rate::from_bytes_per_second(bytes_per_second).expect("it is above zero")
}

fn mlc() -> SsdSpec {
    let (page, block_pages, channels, channel_dies) = (8192, 256, 8, 8);
    let flash = page * u64::from(block_pages * DIE_BLOCKS * channels * channel_dies);
    SsdSpec {
        capacity: Bytes::new(flash * 100 / 107),
        page: Bytes::new(page),
        block_pages,
        die_blocks: DIE_BLOCKS,
        channels,
        channel_dies,
        read: SimSpan::from_us(75),
        program: SimSpan::from_us(750),
        erase: SimSpan::from_us(3_800),
        channel_rate: rate(333_000_000),
        host_rate: rate(4_000_000_000),
        overhead: SimSpan::ZERO,
        buffer: Bytes::from_mib(256),
        free_blocks: 2,
    }
}

fn slc() -> SsdSpec {
    let (page, block_pages, channels) = (4096, 64, 8);
    let flash = page * u64::from(block_pages * DIE_BLOCKS * channels);
    SsdSpec {
        capacity: Bytes::new(flash * 100 / 115),
        page: Bytes::new(page),
        block_pages,
        die_blocks: DIE_BLOCKS,
        channels,
        channel_dies: 1,
        read: SimSpan::from_us(25),
        program: SimSpan::from_us(200),
        erase: SimSpan::from_us(1_500),
        // 0.025 us per byte.
        channel_rate: rate(40_000_000),
        host_rate: rate(300_000_000),
        overhead: SimSpan::ZERO,
        buffer: Bytes::ZERO,
        free_blocks: 2,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_is_a_drive_and_no_other() {
        for name in DiskModel::NAMES {
            let model = DiskModel::named(name).unwrap_or_else(|| panic!("`{name}` is a name"));
            assert!(model.drive().is_ok_and(|drive| drive.audit().is_ok()), "{name}");
        }
        assert!(DISKS.iter().all(|disk| DiskModel::NAMES.contains(&disk.name)));
        assert_eq!(DiskModel::named("st506"), None);
    }

    #[test]
    fn disks_have_the_rates_of_their_files() {
        // MB/s of the outermost and the innermost track, in the order of `DISKS`, from sectors and revolution
        // times; tolerances, set beforehand: 1 % and 2 %, the precision of the last digits. Capacities in GB
        // are those of the data sheets, within 8 %: spare sectors and uneven zones.
        let rates =
            [(21.8, 14.3), (28.6, 19.6), (15.7, 10.3), (11.4, 7.3), (24.0, 15.2), (16.7, 11.2), (5.5, 3.3)];
        let capacities = [9.1, 9.1, 9.1, 2.1, 9.1, 4.5, 1.05];
        for ((disk, (outer, inner)), capacity) in DISKS.iter().zip(rates).zip(capacities) {
            let spec = SeekSpec { head_switch: SimSpan::ZERO, ..disk.spec() };
            let of = |address: u64| spec.zone_rate_bytes_per_second(address) as f64 / 1e6;
            assert!((of(0) / outer - 1.0).abs() < 0.01, "{}: {}", disk.name, of(0));
            let last = of(spec.capacity().get() - 1);
            assert!((last / inner - 1.0).abs() < 0.02, "{}: {last}", disk.name);
            let found = spec.capacity().get() as f64 / 1e9;
            assert!((found / capacity - 1.0).abs() < 0.08, "{}: {found} GB", disk.name);
        }
    }

    #[test]
    fn flash_has_its_spare_share() {
        for (name, share) in [("ssd-mlc", 0.07), ("ssd-slc", 0.15)] {
            let Some(DiskModel::Ssd(spec)) = DiskModel::named(name) else { panic!("`{name}` is flash") };
            assert!((spec.spare_f64() - share).abs() < 0.001, "{name}: {}", spec.spare_f64());
        }
    }
}
