//! Placement by a CRUSH map with failure domains: new homes are what the map says when what failed is out.

use placement::algorithms::ServerId;
use placement::algorithms::hashing;
use placement::crush::{
    Alg, Ask, Bucket, BucketSpec, Map, Mapper, Mode, NONE, Rule, RuleKind, Step, Tunables, Workspace,
};

use super::affected::{NOWHERE, disk_of};
use super::hardware::Hardware;
use super::plan::DeviceId;
use super::scenario::Complete;

/// A map whose devices are servers.
#[derive(Clone, Debug)]
pub struct MapPlaces {
    mapper: Mapper,
    hardware: Hardware,
}

/// Where records belong when some devices are out, where the lists of `affected` do not say.
pub trait Homes: Send + Sync + std::fmt::Debug {
    /// The placement with these devices out.
    fn with_out<'a>(&'a self, out: &'a [bool]) -> Box<dyn Wanted + 'a>;
}

/// Where records belong, at one moment.
pub trait Wanted {
    /// The devices of a record, by its number and key; [`NOWHERE`] where there is none.
    fn find(&mut self, record: (u64, u64), devices: &mut [DeviceId]);
}

/// The same map with some servers out.
struct WithOut<'a> {
    places: &'a MapPlaces,
    servers: Vec<bool>,
}

impl Homes for MapPlaces {
    fn with_out<'a>(&'a self, out: &'a [bool]) -> Box<dyn Wanted + 'a> {
        let gone = |server: u32| {
            self.hardware.devices_of(server).all(|device| out.get(device.index()).copied().unwrap_or(false))
        };
        Box::new(WithOut { places: self, servers: (0..self.hardware.servers()).map(gone).collect() })
    }
}

impl Wanted for WithOut<'_> {
    fn find(&mut self, (_, key): (u64, u64), devices: &mut [DeviceId]) {
        let hardware = &self.places.hardware;
        let mut list = vec![ServerId::NONE; devices.len()];
        self.places.servers(key, &self.servers, &mut list);
        for (device, server) in devices.iter_mut().zip(list) {
            *device = if server == ServerId::NONE { NOWHERE } else { disk_of(hardware, server.0, key) };
        }
    }
}

impl MapPlaces {
    /// Racks of servers under one root, and a rule that takes each copy from another rack; jewel's tunables.
    ///
    /// # Panics
    /// Never: such a map is legal.
    #[must_use]
    pub fn racks(complete: &Complete, hardware: &Hardware) -> MapPlaces {
        let by_place = complete.redundancy.data > 1;
        let mut map = Map { tunables: Tunables::JEWEL, ..Map::default() };
        let one = 0x1_0000u32;
        let mut weights = Vec::new();
        for rack in 0..hardware.racks() {
            let servers: Vec<i32> = (0..hardware.servers())
                .filter(|&server| hardware.rack_of(server) == rack)
                .map(u32::cast_signed)
                .collect();
            weights.push(one * servers.len() as u32);
            let ones = vec![one; servers.len()];
            let spec = BucketSpec::new(-2 - rack.cast_signed(), 1, Alg::Straw2);
            let bucket = Bucket::new(spec, servers, ones).expect("servers are few");
            map.add_bucket(bucket).expect("each rack has its own id");
        }
        let racks = (0..hardware.racks()).map(|rack| -2 - rack.cast_signed()).collect();
        let root = Bucket::new(BucketSpec::new(-1, 2, Alg::Straw2), racks, weights).expect("racks are few");
        map.add_bucket(root).expect("the root has its own id");
        let (mode, kind) =
            if by_place { (Mode::Indep, RuleKind::Erasure) } else { (Mode::Firstn, RuleKind::Replicated) };
        let choose = Step::Choose { mode, leaf: true, count: 0, kind: 1 };
        let steps = vec![Step::Take(-1), choose, Step::Emit];
        map.rules.push(Some(Rule { ruleset: 0, kind, min_size: 1, max_size: u8::MAX, steps }));
        map.finalize();
        let mapper = map.compile().expect("racks of servers are a legal map");
        MapPlaces { mapper, hardware: hardware.clone() }
    }

    /// The servers of a key, with some of them out. Places without one hold [`ServerId::NONE`].
    pub fn servers(&self, key: u64, out: &[bool], list: &mut [ServerId]) -> usize {
        let weights: Vec<u32> = (0..self.hardware.servers() as usize)
            .map(|server| if out.get(server).copied().unwrap_or(false) { 0 } else { 0x1_0000 })
            .collect();
        let ask = Ask {
            rule: 0,
            x: hashing::scatter(key) as u32,
            result_max: list.len(),
            weights: &weights,
            pool: 0,
        };
        let (mut workspace, mut found) = (Workspace::default(), Vec::new());
        self.mapper.do_rule(ask, &mut workspace, &mut found);
        for (place, &item) in list.iter_mut().zip(&found) {
            *place = if item == NONE { ServerId::NONE } else { ServerId(item.cast_unsigned()) };
        }
        found.len().min(list.len())
    }
}
