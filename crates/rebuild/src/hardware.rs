//! The machines of a cluster: disks in servers, servers in racks, and the speed of each.

use towtank_devices::{CardClock, CardSpec, DiskClock, DiskSpec, SeekRow};
use towtank_units::{Bytes, Rate, SimSpan};

use crate::plan::DeviceId;

/// Bytes of a control message: 128, as in the storage-server model of the authors of CODES.
const CONTROL: u64 = 128;

/// The uplinks of racks.
#[derive(Clone, Copy, Debug)]
pub struct Uplinks {
    /// Rate in each direction, shared by all servers of a rack.
    pub rate: Rate,
}

/// The machines of a cluster.
#[derive(Clone, Debug)]
pub struct Hardware {
    /// The server of each device.
    server_of: Vec<u32>,
    /// The first device of each server, and one past its last.
    devices_of: Vec<(u32, u32)>,
    /// Each server has one device, with its own number, so that no table need be read.
    single: bool,
    /// The rack of each server.
    rack_of: Vec<u32>,
    racks: u32,
    /// The classes of disks; `class_of` gives the class of each device.
    disks: Vec<DiskClock>,
    class_of: Vec<u8>,
    card: CardClock,
    control: SimSpan,
    uplinks: Option<Uplinks>,
    unit: u64,
    names: Option<Names>,
}

/// The names of the machines of a real cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Names {
    /// One name per server.
    pub servers: Vec<String>,
    /// One name per disk.
    pub disks: Vec<String>,
    /// One name per rack.
    pub racks: Vec<String>,
}

/// A span at this many thousandths of the speed.
fn at_speed(span: SimSpan, permille: u64) -> SimSpan {
    SimSpan::from_ns((u128::from(span.as_ns()) * 1_000 / u128::from(permille)) as u64)
}

fn double(rate: Rate) -> Rate {
    Rate::from_bytes_per_second(rate.bytes_per_second().saturating_mul(2)).unwrap_or(rate)
}

/// The position of each device and server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// The server of each device; the devices of a server are numbered consecutively.
    pub server_of: Vec<u32>,
    /// The rack of each server.
    pub rack_of: Vec<u32>,
    /// The class of each device's disk.
    pub class_of: Vec<u8>,
}

impl Hardware {
    /// `unit` is the size of most messages and requests.
    ///
    /// # Panics
    /// If the devices of a server are not numbered consecutively, if a unit has no bytes, or if a control
    /// message takes no time.
    #[must_use]
    pub fn new(
        layout: Layout,
        disks: Vec<DiskSpec>,
        card: CardSpec,
        uplinks: Option<Uplinks>,
        unit: Bytes,
    ) -> Hardware {
        let Layout { server_of, rack_of, class_of } = layout;
        let mut devices_of = vec![(0, 0); rack_of.len()];
        for (device, &server) in (0u32..).zip(&server_of) {
            let range = &mut devices_of[server as usize];
            if range.1 == 0 {
                *range = (device, device);
            }
            assert_eq!(range.1, device, "the devices of server {server} follow each other");
            range.1 += 1;
        }
        assert_eq!(class_of.len(), server_of.len(), "each device is of a class");
        assert!(class_of.iter().all(|class| usize::from(*class) < disks.len()), "each class has a disk");
        let racks = rack_of.iter().max().map_or(0, |&rack| rack + 1);
        let control = card.latency.saturating_add(card.span(Bytes::new(CONTROL)));
        assert!(!control.is_zero(), "a control message takes no time");
        assert!(unit.get() > 0, "a unit has no bytes");
        assert!(u32::try_from(server_of.len()).is_ok(), "{} devices are too many to number", server_of.len());
        let placed: u64 = devices_of.iter().map(|(first, end): &(u32, u32)| u64::from(end - first)).sum();
        assert_eq!(placed, server_of.len() as u64, "devices in servers, and devices");
        let single = server_of.len() == rack_of.len() && (0u32..).zip(&server_of).all(|(at, &of)| at == of);
        Hardware {
            server_of,
            devices_of,
            single,
            rack_of,
            racks,
            disks: disks.into_iter().map(|disk| DiskClock::new(disk, unit)).collect(),
            class_of,
            card: CardClock::new(card, unit),
            control,
            uplinks,
            unit: unit.get(),
            names: None,
        }
    }

    /// The same machines for units of `factor` times the size, which take a disk as long as that many of the
    /// smaller ones: its time for each request is part of its rate, and it seeks once for each extent.
    ///
    /// # Panics
    /// If `factor` is 0.
    #[must_use]
    pub fn with_larger_units(&self, factor: u32) -> Hardware {
        assert!(factor > 0, "a unit has no bytes");
        let unit = Bytes::new(self.unit.saturating_mul(u64::from(factor)));
        let disks = self.disks.iter().map(|disk| DiskClock::new(self.merged(disk, factor), unit)).collect();
        let card = CardClock::new(*self.card.spec(), unit);
        Hardware { disks, card, unit: unit.get(), ..self.clone() }
    }

    /// A disk whose requests of up to `factor` units each stand for several of one unit.
    fn merged(&self, disk: &DiskClock, factor: u32) -> DiskSpec {
        let spec = disk.spec();
        let rate = |write: bool| {
            let span = disk.transfer(self.unit, write).as_ns().max(1);
            let per_second = u128::from(self.unit) * 1_000_000_000 / u128::from(span);
            Rate::from_bytes_per_second(u64::try_from(per_second).unwrap_or(u64::MAX).max(1))
                .unwrap_or(if write { spec.write } else { spec.read })
        };
        // A unit larger than the extent seeks once already.
        let each = spec.extent.get().max(self.unit);
        let more = (2..=factor).map(|count| SeekRow {
            from: Bytes::new(each.saturating_mul(u64::from(count - 1)) + 1),
            read: disk.seek(self.unit, false).saturating_mul(u64::from(count)),
            write: disk.seek(self.unit, true).saturating_mul(u64::from(count)),
        });
        let seeks = if spec.seeks.is_empty() {
            Vec::new()
        } else {
            let few = spec.seeks.iter().filter(|row| row.from.get() <= self.unit).copied();
            few.chain(more.take_while(|row| row.from.get() <= self.unit * u64::from(factor))).collect()
        };
        DiskSpec {
            read: rate(false),
            write: rate(true),
            read_overhead: SimSpan::ZERO,
            write_overhead: SimSpan::ZERO,
            seeks,
            extent: spec.extent,
        }
    }

    /// The same disks, each as the only one of a server of its own, in one rack: the cluster that a placement
    /// over disks sees.
    #[must_use]
    pub(crate) fn with_disks_apart(&self) -> Hardware {
        let devices = self.devices();
        Hardware {
            server_of: (0..devices).collect(),
            devices_of: (0..devices).map(|device| (device, device + 1)).collect(),
            single: true,
            rack_of: vec![0; devices as usize],
            racks: 1,
            uplinks: None,
            names: None,
            ..self.clone()
        }
    }

    /// The same machines with disks that take half the time for every operation.
    #[must_use]
    pub fn faster_disks(&self) -> Hardware {
        self.with_disks_at(2_000)
    }

    /// The same machines with disks at this many thousandths of their speed, for every operation.
    ///
    /// # Panics
    /// If `permille` is 0 or above 1,000,000.
    #[must_use]
    pub fn with_disks_at(&self, permille: u64) -> Hardware {
        assert!((1..=1_000_000).contains(&permille), "disks at {permille} thousandths of their speed");
        let span = |span: SimSpan| at_speed(span, permille);
        let rate = |rate: Rate| {
            let scaled = u128::from(rate.bytes_per_second()) * u128::from(permille) / 1_000;
            Rate::from_bytes_per_second(u64::try_from(scaled).unwrap_or(u64::MAX).max(1)).unwrap_or(rate)
        };
        let changed = |disk: &DiskClock| {
            let changed = DiskClock::new(disk.spec().with(rate, span), Bytes::new(self.unit));
            for write in [false, true] {
                let (span, before) = (changed.transfer(self.unit, write), disk.transfer(self.unit, write));
                let right = if permille >= 1_000 { span <= before } else { span >= before };
                assert!(right, "a disk at {permille}/1000 takes {span} for a unit, and took {before}");
            }
            changed
        };
        Hardware { disks: self.disks.iter().map(changed).collect(), ..self.clone() }
    }

    /// The same machines with other disks; `change` has the class of each.
    #[must_use]
    pub fn with_disks(&self, change: impl Fn(usize, &DiskSpec) -> DiskSpec) -> Hardware {
        let changed = |(class, disk): (usize, &DiskClock)| {
            DiskClock::new(change(class, disk.spec()), Bytes::new(self.unit))
        };
        Hardware { disks: self.disks.iter().enumerate().map(changed).collect(), ..self.clone() }
    }

    /// The same machines with NICs of twice the rate.
    #[must_use]
    pub fn faster_cards(&self) -> Hardware {
        let spec = self.card.spec();
        let card = CardSpec { rate: double(spec.rate), ..*spec };
        let card = CardClock::new(card, Bytes::new(self.unit));
        let (span, before) = (card.span(self.unit), self.card.span(self.unit));
        assert!(span <= before, "a faster card takes {span} for a unit, and took {before}");
        Hardware { card, ..self.clone() }
    }

    /// The same machines with uplinks of twice the rate; none if uplinks are not limited.
    #[must_use]
    pub fn faster_uplinks(&self) -> Option<Hardware> {
        let uplinks = Some(Uplinks { rate: double(self.uplinks?.rate) });
        Some(Hardware { uplinks, ..self.clone() })
    }

    /// Number of disks.
    #[must_use]
    pub fn devices(&self) -> u32 {
        self.server_of.len() as u32
    }

    /// Number of servers.
    #[must_use]
    pub fn servers(&self) -> u32 {
        self.rack_of.len() as u32
    }

    /// Number of racks.
    #[must_use]
    pub fn racks(&self) -> u32 {
        self.racks
    }

    /// The server of a disk.
    #[inline]
    #[must_use]
    pub fn server_of(&self, device: DeviceId) -> u32 {
        if self.single {
            debug_assert_eq!(self.server_of[device.index()], device.0, "the server of a disk");
            return device.0;
        }
        self.server_of[device.index()]
    }

    /// The rack of a server.
    #[inline]
    #[must_use]
    pub fn rack_of(&self, server: u32) -> u32 {
        self.rack_of[server as usize]
    }

    /// The disks of a server.
    pub fn devices_of(&self, server: u32) -> impl ExactSizeIterator<Item = DeviceId> + use<> {
        let (first, end) = self.devices_of[server as usize];
        (first as usize..end as usize).map(|device| DeviceId(device as u32))
    }

    /// Index of a disk within its server.
    #[inline]
    #[must_use]
    pub fn place_of(&self, device: DeviceId) -> usize {
        if self.single {
            return 0;
        }
        let (first, end) = self.devices_of[self.server_of(device) as usize];
        debug_assert!((first..end).contains(&device.0), "disk {} is not among {first}..{end}", device.0);
        (device.0 - first) as usize
    }

    /// Number of disk classes.
    #[inline]
    #[must_use]
    pub fn kinds(&self) -> usize {
        self.disks.len()
    }

    /// The class of a disk.
    #[inline]
    #[must_use]
    pub fn class_of(&self, device: DeviceId) -> usize {
        usize::from(self.class_of[device.index()])
    }

    /// Names the servers, disks and racks, in the order of their numbers.
    ///
    /// # Panics
    /// If there is not one name for each.
    #[must_use]
    pub fn with_names(mut self, names: Names) -> Hardware {
        assert_eq!(names.servers.len(), self.servers() as usize, "names of servers, and servers");
        assert_eq!(names.disks.len(), self.devices() as usize, "names of disks, and disks");
        assert_eq!(names.racks.len(), self.racks() as usize, "names of racks, and racks");
        self.names = Some(names);
        self
    }

    /// The names of the machines; none if they have only numbers.
    #[must_use]
    pub fn names(&self) -> Option<&Names> {
        self.names.as_ref()
    }

    /// The name of a disk, or its number.
    #[must_use]
    pub fn disk_name(&self, device: DeviceId) -> String {
        let named = self.names.as_ref().map(|names| names.disks[device.index()].clone());
        named.unwrap_or_else(|| format!("disk {}", device.0))
    }

    /// The name of a server, or its number.
    #[must_use]
    pub fn server_name(&self, server: u32) -> String {
        let named = self.names.as_ref().map(|names| names.servers[server as usize].clone());
        named.unwrap_or_else(|| format!("server {server}"))
    }

    /// The name of a rack, or its number.
    #[must_use]
    pub fn rack_name(&self, rack: u32) -> String {
        let named = self.names.as_ref().map(|names| names.racks[rack as usize].clone());
        named.unwrap_or_else(|| format!("rack {rack}"))
    }

    /// The service times of a disk.
    #[inline(always)]
    #[must_use]
    pub fn disk(&self, device: DeviceId) -> &DiskClock {
        if self.disks.len() == 1 {
            return &self.disks[0];
        }
        &self.disks[usize::from(self.class_of[device.index()])]
    }

    /// The transfer times of the NICs.
    #[inline]
    #[must_use]
    pub fn card(&self) -> &CardClock {
        &self.card
    }

    /// How long a control message takes from one server to another. It does not queue: NICs interleave such
    /// small messages with the others.
    #[inline]
    #[must_use]
    pub fn control(&self) -> SimSpan {
        self.control
    }

    /// The uplinks, if they are limited.
    #[inline]
    #[must_use]
    pub fn uplinks(&self) -> Option<Uplinks> {
        self.uplinks
    }

    /// The bytes of a unit.
    #[inline]
    #[must_use]
    pub fn unit(&self) -> u64 {
        self.unit
    }

    /// Number of units that hold `bytes`.
    #[inline]
    #[must_use]
    pub fn units(&self, bytes: u64) -> u32 {
        let units = bytes.div_ceil(self.unit);
        debug_assert!(u32::try_from(units).is_ok(), "{bytes} bytes are {units} units, too many to number");
        units as u32
    }
}

#[cfg(test)]
mod tests;
