//! A system: devices with laws of failure, a tree of domains that fail by themselves, and groups of devices.
//!
//! A device that fails loses its data, and so do all devices of a domain that is ruined; each is repaired. An
//! outage of a domain loses nothing: its devices are away until it ends, and the groups have fewer members to
//! serve with meanwhile. Repairs go on during an outage.
//!
//! A system may begin with groups that lack a member which a good device is to become: a recovery is under
//! way. If that device fails, its own repair brings the member back.
//!
//! Left out: devices that fail slowly, operators, and data that changes during an outage.

use towtank_streams::Uniform;

use crate::error::{DurabilityError, positive, within};
use crate::group::Group;
use crate::rates::Life;

/// How long something lasts, in hours.
#[derive(Clone, Debug, PartialEq)]
pub enum Span {
    /// Always the same.
    Constant(f64),
    /// Memoryless, with this mean.
    Exponential(f64),
    /// One of these, each as likely.
    Either(Vec<f64>),
}

impl Span {
    pub(crate) fn draw(&self, source: &mut impl Uniform) -> f64 {
        match self {
            Span::Constant(hours) => *hours,
            Span::Exponential(mean) => mean * source.unit_exponential(),
            Span::Either(spans) => spans[source.below(spans.len() as u64) as usize],
        }
    }

    /// The mean.
    #[must_use]
    pub fn mean_h(&self) -> f64 {
        match self {
            Span::Constant(hours) | Span::Exponential(hours) => *hours,
            Span::Either(spans) => crate::sums::sum(spans.iter().copied()) / spans.len() as f64,
        }
    }

    pub(crate) fn check(&self, what: &'static str) -> Result<(), DurabilityError> {
        let spans = match self {
            Span::Constant(hours) | Span::Exponential(hours) => std::slice::from_ref(hours),
            Span::Either(spans) => spans.as_slice(),
        };
        positive(what, spans.len() as f64)?;
        spans.iter().try_for_each(|hours| within(what, *hours, 0.0, 1e9).map(|_| ()))
    }
}

/// A device.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Device {
    /// Its law of failure, of those of the fleet.
    pub life: usize,
    /// The innermost domain that it is in, such as its host.
    pub domain: usize,
    /// Its age at the start.
    pub age_h: f64,
}

/// That a domain is out for a time.
#[derive(Clone, Debug, PartialEq)]
pub struct Outage {
    /// How often, of the laws of the fleet; its age is 0 at the start and after each outage.
    pub life: usize,
    /// For how long.
    pub span: Span,
}

/// A host, a rack, a room: what its devices share.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Domain {
    /// The domain that it is in; it is listed before this one.
    pub parent: Option<usize>,
    /// That it is out for a time.
    pub outage: Option<Outage>,
    /// How often it is ruined with the data of all its devices, of the laws of the fleet.
    pub ruin: Option<usize>,
}

/// What counts as a loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LossRule {
    /// Any group loses more devices than it survives.
    AnyGroup,
    /// More groups than this are lost at once; a lost group is rebuilt whole from the others, and its devices
    /// are new then (two levels of coding, clustered in clustered).
    MoreGroupsThan(usize),
}

/// The parts of a system.
#[derive(Clone, Debug, PartialEq)]
pub struct Fleet {
    /// Laws of failure, which devices and domains name.
    pub lives: Vec<Life>,
    /// Devices.
    pub devices: Vec<Device>,
    /// Domains, each after the one that it is in.
    pub domains: Vec<Domain>,
    /// Groups. With a declustered repair each group is a pool, of whose devices every choice holds a stripe.
    pub groups: Vec<Group>,
    /// What counts as a loss.
    pub rule: LossRule,
    /// P(a place of the rest cannot be read), when a group has lost all that it survives.
    pub unreadable: f64,
    /// A group cannot serve while more than so many members are lost or away.
    pub serves_without: usize,
}

/// What can happen to which part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Device(usize),
    Outage(usize),
    Ruin(usize),
}

/// A system that is checked, and indexed for simulation.
#[derive(Clone, Debug)]
pub struct System {
    pub(crate) fleet: Fleet,
    /// What can fail, devices first.
    pub(crate) parts: Vec<Part>,
    /// The law of each part.
    pub(crate) life_of: Vec<u32>,
    /// Where the places of each device begin in `group_at`.
    first: Vec<u32>,
    group_at: Vec<u32>,
    /// The devices of each domain, and of those in it.
    pub(crate) under: Vec<Vec<usize>>,
    /// The domains of each device, the innermost first.
    pub(crate) above: Vec<Vec<usize>>,
    /// The part that is the ruin of each domain.
    pub(crate) ruin_of: Vec<Option<usize>>,
    pub(crate) tolerance_max: usize,
    pub(crate) tolerance_min: usize,
    /// The places that are lacking at the start, in ascending order.
    pub(crate) lacking: Vec<usize>,
    /// The kind of each group, such as its pool; empty if there is one.
    pub(crate) kinds: Vec<u32>,
}

impl System {
    /// Checks a fleet.
    ///
    /// # Errors
    /// If something names what is not there, or a number is outside its range.
    pub fn new(fleet: Fleet) -> Result<System, DurabilityError> {
        check(&fleet)?;
        let devices = fleet.devices.len();
        let mut parts: Vec<Part> = (0..devices).map(Part::Device).collect();
        let mut life_of: Vec<u32> = fleet.devices.iter().map(|device| device.life as u32).collect();
        let mut ruin_of = vec![None; fleet.domains.len()];
        for (index, domain) in fleet.domains.iter().enumerate() {
            if let Some(outage) = &domain.outage {
                parts.push(Part::Outage(index));
                life_of.push(outage.life as u32);
            }
            if let Some(life) = domain.ruin {
                ruin_of[index] = Some(parts.len());
                parts.push(Part::Ruin(index));
                life_of.push(life as u32);
            }
        }
        let mut above = Vec::with_capacity(devices);
        let mut under = vec![Vec::new(); fleet.domains.len()];
        for (index, device) in fleet.devices.iter().enumerate() {
            let first = Some(device.domain);
            let way: Vec<usize> =
                std::iter::successors(first, |domain| fleet.domains[*domain].parent).collect();
            way.iter().for_each(|domain| under[*domain].push(index));
            above.push(way);
        }
        let mut of_device = vec![Vec::new(); devices];
        for (index, group) in fleet.groups.iter().enumerate() {
            group.devices.iter().for_each(|device| of_device[*device].push(index as u32));
        }
        let ends = of_device.iter().scan(0, |end, groups| {
            *end += groups.len() as u32;
            Some(*end)
        });
        let first = std::iter::once(0).chain(ends).collect();
        let group_at = of_device.concat();
        let tolerances = || fleet.groups.iter().map(|group| group.tolerance);
        let (tolerance_min, tolerance_max) =
            (tolerances().min().unwrap_or(0), tolerances().max().unwrap_or(0));
        Ok(System {
            fleet,
            parts,
            life_of,
            first,
            group_at,
            under,
            above,
            ruin_of,
            tolerance_max,
            tolerance_min,
            lacking: Vec::new(),
            kinds: Vec::new(),
        })
    }

    /// The same system, in which devices do not hold their part of groups at the start: pairs of a device and
    /// a group of it.
    ///
    /// # Errors
    /// If a pair is not in the system.
    pub fn lacking(mut self, pairs: &[(usize, usize)]) -> Result<System, DurabilityError> {
        let devices = self.fleet.devices.len();
        for (index, (device, group)) in pairs.iter().enumerate() {
            let named = |named: usize, there: usize| DurabilityError::Unknown {
                what: "lacking place",
                index,
                named,
                there,
            };
            if *device >= devices {
                return Err(named(*device, devices));
            }
            let mut places = self.places(*device);
            let place = places.find(|place| self.group_at(*place) == *group);
            self.lacking.push(place.ok_or_else(|| named(*group, self.groups()))?);
        }
        self.lacking.sort_unstable();
        self.lacking.dedup();
        Ok(self)
    }

    /// The same system with a kind for each group, such as its pool: losses are also counted by kind.
    ///
    /// # Panics
    /// If there are not as many as groups.
    #[must_use]
    pub fn of_kinds(self, kinds: Vec<u32>) -> System {
        assert_eq!(kinds.len(), self.groups(), "each group has a kind");
        System { kinds, ..self }
    }

    pub(crate) fn kind(&self, group: usize) -> usize {
        self.kinds.get(group).map_or(0, |kind| *kind as usize)
    }

    pub(crate) fn all_kinds(&self) -> usize {
        self.kinds.iter().max().map_or(1, |most| *most as usize + 1)
    }

    /// The parts whose failure leads to a degree of damage where nothing else has failed.
    pub(crate) fn leading_to(&self, degree: usize) -> Vec<usize> {
        let mut found: Vec<usize> = Vec::new();
        for (group, own) in self.fleet.groups.iter().enumerate() {
            let depth = self.tolerance_max - own.tolerance;
            self.leading_from((group, depth), degree, |_| true, &mut found);
        }
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Adds the parts whose failure takes a group, which is so deep, to a degree of damage, if its members
    /// are there of which that is true.
    pub(crate) fn leading_from(
        &self,
        (group, depth): (usize, usize),
        degree: usize,
        is_there: impl Fn(usize) -> bool,
        to: &mut Vec<usize>,
    ) {
        let members = || self.fleet.groups[group].devices.iter().copied().filter(|device| is_there(*device));
        if depth + 1 >= degree {
            to.extend(members());
        }
        if self.parts.len() > self.fleet.devices.len() {
            for (domain, ruin) in members()
                .flat_map(|device| &self.above[device])
                .filter_map(|domain| Some((*domain, self.ruin_of[*domain]?)))
            {
                let under = members().filter(|device| self.above[*device].contains(&domain)).count();
                to.extend(Some(ruin).filter(|_| depth + under >= degree));
            }
        }
    }

    /// The device of a place.
    pub(crate) fn device_at(&self, place: usize) -> usize {
        self.first.partition_point(|first| *first as usize <= place) - 1
    }

    /// The number of groups.
    #[must_use]
    pub fn groups(&self) -> usize {
        self.fleet.groups.len()
    }

    /// The places of a device: positions in the list of all pairs of device and group.
    pub(crate) fn places(&self, device: usize) -> std::ops::Range<usize> {
        self.first[device] as usize..self.first[device + 1] as usize
    }

    pub(crate) fn group_at(&self, place: usize) -> usize {
        self.group_at[place] as usize
    }

    pub(crate) fn all_places(&self) -> usize {
        self.group_at.len()
    }

    /// The first group of a device: its array or pool, where it has one only.
    pub(crate) fn group_of(&self, device: usize) -> Option<usize> {
        self.places(device).next().map(|place| self.group_at(place))
    }

    pub(crate) fn life(&self, part: usize) -> &Life {
        &self.fleet.lives[self.life_of[part] as usize]
    }
}

fn check(fleet: &Fleet) -> Result<(), DurabilityError> {
    let Fleet { lives, devices, domains, groups, unreadable, .. } = fleet;
    fn known(what: &'static str, index: usize, named: usize, there: usize) -> Result<(), DurabilityError> {
        let is_there = named < there;
        if is_there { Ok(()) } else { Err(DurabilityError::Unknown { what, index, named, there }) }
    }
    positive("the number of devices", devices.len() as f64)?;
    positive("the number of groups", groups.len() as f64)?;
    lives.iter().try_for_each(Life::check)?;
    for (index, device) in devices.iter().enumerate() {
        known("device", index, device.life, lives.len())?;
        known("device", index, device.domain, domains.len())?;
        within("the age of a device in hours", device.age_h, 0.0, 1e7)?;
    }
    for (index, domain) in domains.iter().enumerate() {
        domain.parent.map_or(Ok(()), |parent| known("domain", index, parent, index))?;
        domain.ruin.map_or(Ok(()), |life| known("domain", index, life, lives.len()))?;
        if let Some(outage) = &domain.outage {
            known("domain", index, outage.life, lives.len())?;
            outage.span.check("the span of an outage in hours")?;
        }
    }
    for (index, group) in groups.iter().enumerate() {
        let most = group.devices.len() as f64 - 1.0;
        within("the tolerance of a group", group.tolerance as f64, 0.0, most)?;
        group.devices.iter().try_for_each(|device| known("group", index, *device, devices.len()))?;
    }
    if let LossRule::MoreGroupsThan(tolerance) = fleet.rule {
        within("the tolerance of lost groups", tolerance as f64, 0.0, groups.len() as f64 - 1.0)?;
        let mut members: Vec<usize> = groups.iter().flat_map(|group| group.devices.clone()).collect();
        members.sort_unstable();
        if members.windows(2).any(|pair| pair[0] == pair[1]) {
            let next = "give each device one group, or count the loss of any group";
            return Err(DurabilityError::NotModelled { what: "a stack of groups that share devices", next });
        }
    }
    within("the probability of an unreadable place", *unreadable, 0.0, 1.0).map(|_| ())
}
