//! What a flag is set on: the whole map, a device, a bucket of the CRUSH map or a device class.
//!
//! Ceph has `noup`, `nodown`, `noin` and `noout` for each of them, and any that is set counts
//! (`OSDMap::is_noout` and its like); other flags are those of the whole map only.

use std::collections::BTreeSet;

use towtank_ceph::Cluster;
use towtank_imports::ceph::Part;
use towtank_placement::crush::ItemId;
use towtank_scenario::did_you_mean;

/// Flags that single devices, buckets and classes can have.
const OF_PARTS: [&str; 4] = ["noup", "nodown", "noin", "noout"];

/// What has a flag.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Scope {
    /// The whole map.
    All,
    /// A device.
    Device(ItemId),
    /// A bucket, by its type and name.
    Bucket(String, String),
    /// A device class.
    Class(String),
}

/// A flag, and what has it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Flagged {
    /// The flag.
    pub(super) flag: String,
    /// What has it.
    pub(super) scope: Scope,
}

/// A message and a hint.
pub(super) type Wrong = (String, String);

/// The device classes of the map.
fn classes(cluster: &Cluster) -> impl Iterator<Item = &str> {
    cluster.map.class_names.values().map(String::as_str)
}

impl Flagged {
    /// A flag of the whole map.
    pub(super) fn of_map(flag: &str) -> Flagged {
        Flagged { flag: flag.to_owned(), scope: Scope::All }
    }

    /// A flag as a user writes it: `noout`, `noout:osd.3`, `noout:host=h1`, `noout:class=hdd`.
    ///
    /// # Errors
    /// What it names that there is not.
    pub(super) fn read(text: &str, cluster: &Cluster) -> Result<Flagged, Wrong> {
        let Some((flag, part)) = text.split_once(':') else { return Ok(Flagged::of_map(text.trim())) };
        let (flag, part) = (flag.trim(), part.trim());
        if !OF_PARTS.contains(&flag) {
            let message = format!("`{flag}` is a flag of the whole map only");
            return Err((message, format!("leave out `:{part}`; parts have {}", OF_PARTS.join(", "))));
        }
        let scope = match part.split_once('=') {
            Some(("class", name)) => Self::class(name.trim(), cluster)?,
            Some((kind, name)) => Self::bucket(Some(kind.trim()), name.trim(), cluster)?,
            None if cluster.item(part).is_none() && classes(cluster).any(|class| class == part) => {
                Scope::Class(part.to_owned())
            }
            None => Self::bucket(None, part, cluster)?,
        };
        Ok(Flagged { flag: flag.to_owned(), scope })
    }

    fn class(name: &str, cluster: &Cluster) -> Result<Scope, Wrong> {
        let names: Vec<&str> = classes(cluster).collect();
        if names.contains(&name) {
            return Ok(Scope::Class(name.to_owned()));
        }
        let hint = match names[..] {
            [] => "the map has no device classes".to_owned(),
            _ => format!("the classes of the map are {}", names.join(", ")),
        };
        Err((format!("the map has no device class `{name}`"), hint))
    }

    fn bucket(kind: Option<&str>, name: &str, cluster: &Cluster) -> Result<Scope, Wrong> {
        let Some(item) = cluster.item(name) else {
            let names =
                cluster.map.item_names.values().map(String::as_str).filter(|name| !name.contains('~'));
            let hint = did_you_mean(name, names).unwrap_or_else(|| {
                "write a device, a bucket or a class: noout:osd.3, noout:host=h1, noout:class=hdd".to_owned()
            });
            return Err((format!("there is no device or bucket called `{name}`"), hint));
        };
        let own = cluster.type_of(item);
        match kind {
            Some(kind) if kind != own => {
                Err((format!("`{name}` is of type {own}, not {kind}"), format!("write `{own}={name}`")))
            }
            _ if item >= 0 => Ok(Scope::Device(item)),
            _ => Ok(Scope::Bucket(own.to_owned(), name.to_owned())),
        }
    }

    /// A flag that an export has on a part of the cluster.
    pub(super) fn of_export(part: Part, name: &str, flag: &str, cluster: &Cluster) -> Flagged {
        let device = |name: &str| name.strip_prefix("osd.").and_then(|id| id.parse::<ItemId>().ok());
        let scope = match (part, cluster.map.item_id(name).or_else(|| device(name))) {
            (Part::Class, _) => Scope::Class(name.to_owned()),
            (_, Some(item)) if item >= 0 => Scope::Device(item),
            (_, Some(item)) => Scope::Bucket(cluster.type_of(item).to_owned(), name.to_owned()),
            (_, None) => Scope::Bucket("bucket".to_owned(), name.to_owned()),
        };
        Flagged { flag: flag.to_owned(), scope }
    }

    /// The devices that have it; none where the whole map has.
    pub(super) fn devices(&self, cluster: &Cluster) -> BTreeSet<ItemId> {
        match &self.scope {
            Scope::All => BTreeSet::new(),
            Scope::Device(item) => [*item].into(),
            Scope::Bucket(_, name) => match cluster.map.item_id(name) {
                Some(item) => cluster.devices_below(item).into_iter().collect(),
                None => BTreeSet::new(),
            },
            Scope::Class(name) => {
                let is = |device: &ItemId| {
                    let class = cluster.map.item_classes.get(device);
                    class.and_then(|class| cluster.map.class_names.get(class)).is_some_and(|own| own == name)
                };
                cluster.devices().into_iter().filter(is).collect()
            }
        }
    }

    /// The flag with what has it: `noout` of host h1.
    pub(crate) fn in_words(&self) -> String {
        let flag = &self.flag;
        match &self.scope {
            Scope::All => format!("`{flag}`"),
            Scope::Device(item) => format!("`{flag}` of osd.{item}"),
            Scope::Bucket(kind, name) => format!("`{flag}` of {kind} {name}"),
            Scope::Class(name) => format!("`{flag}` of the class {name}"),
        }
    }

    /// The command that unsets it.
    pub(crate) fn unset(&self) -> String {
        let flag = &self.flag;
        match &self.scope {
            Scope::All => format!("ceph osd unset {flag}"),
            Scope::Device(item) => format!("ceph osd unset-group {flag} osd.{item}"),
            Scope::Bucket(_, name) | Scope::Class(name) => format!("ceph osd unset-group {flag} {name}"),
        }
    }

    /// As a user writes it.
    pub(super) fn written(&self) -> String {
        let flag = &self.flag;
        match &self.scope {
            Scope::All => flag.clone(),
            Scope::Device(item) => format!("{flag}:osd.{item}"),
            Scope::Bucket(kind, name) => format!("{flag}:{kind}={name}"),
            Scope::Class(name) => format!("{flag}:class={name}"),
        }
    }
}
