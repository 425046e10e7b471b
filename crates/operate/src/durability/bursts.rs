//! What fails at once, in words: `3 disks`, `3 disks in 2 racks`, `1 % of hosts`.

use serde::{Deserialize, Serialize};
use towtank_durability::burst::{Explicit, Units};
use towtank_durability::burst::{Method, share_of};
use towtank_scenario::{Draft, Problems};
use towtank_streams::Seed;
use towtank_study::Texts;

/// Sets that are drawn, where there are too many to look at all of them.
const DRAWS: u64 = 200_000;

/// What fails at once.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Burst {
    text: String,
    key: String,
    units: Units,
    count: usize,
    racks: Option<usize>,
}

/// What there is with data.
#[derive(Clone, Copy, Debug)]
pub(super) struct Counts {
    pub disks: usize,
    pub hosts: usize,
    /// None if the cluster has no racks.
    pub racks: Option<usize>,
}

/// What it loses.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Lost {
    /// What fails, as it was asked.
    pub text: String,
    /// The number of disks or hosts.
    pub count: u64,
    /// P(any loss | burst), with the ends of its interval of 95 %, where it is not exact.
    pub loss: f64,
    /// The ends: equal to it where it is exact.
    pub range: [f64; 2],
    /// The expected share of groups that are lost.
    pub groups: f64,
    /// How that was found, in words.
    pub how: String,
}

/// The bursts of a scenario on so many disks, hosts and racks.
pub(super) fn read(texts: &Texts, counts: Counts, draft: &Draft) -> Result<Vec<Burst>, Problems> {
    let mut problems = Problems::new();
    let mut bursts = Vec::new();
    for (number, text) in texts.all().iter().enumerate() {
        let key = match texts {
            Texts::One(_) => "burst".to_owned(),
            Texts::Many(_) => format!("burst[{number}]"),
        };
        match parse(text, counts) {
            Ok((units, count, racks)) => {
                bursts.push(Burst { text: text.clone(), key, units, count, racks });
            }
            Err((why, hint)) => problems.refuse(draft, &key, format!("`burst` has \"{text}\": {why}"), hint),
        }
    }
    problems.into_result(bursts)
}

type Parsed = (Units, usize, Option<usize>);

fn parse(text: &str, Counts { disks, hosts, racks: all_racks }: Counts) -> Result<Parsed, (String, String)> {
    let usual = || "write `3 disks`, `3 disks in 2 racks`, `2 hosts` or `1 % of hosts`".to_owned();
    let spaced = text.replace('%', " % ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let (number, is_share, rest) = match &words[..] {
        [number, "%", "of", rest @ ..] => (*number, true, rest),
        [number, rest @ ..] => (*number, false, rest),
        [] => return Err(("it is empty".to_owned(), usual())),
    };
    let [unit, rest @ ..] = rest else { return Err(("it does not say what fails".to_owned(), usual())) };
    let (units, all) = match unit.trim_end_matches('s') {
        "disk" | "device" | "osd" => (Units::Devices, disks),
        "host" | "server" => (Units::Hosts, hosts),
        other => return Err((format!("`{other}` is neither disks nor hosts"), usual())),
    };
    let racks = match rest {
        [] => None,
        ["in", number, rack] if rack.trim_end_matches('s') == "rack" => Some(*number),
        _ => return Err((format!("`{}` is not understood", rest.join(" ")), usual())),
    };
    let whole = |number: &str| number.parse::<usize>().ok().filter(|count| *count > 0);
    let count = if is_share {
        let share = number.parse::<f64>().ok().filter(|share| *share > 0.0 && *share <= 100.0);
        let share =
            share.ok_or_else(|| (format!("`{number}` is no share above 0 % and up to 100 %"), usual()))?;
        share_of(share / 100.0, all)
    } else {
        whole(number).ok_or_else(|| (format!("`{number}` is no number above 0"), usual()))?
    };
    if count > all {
        let name = if units == Units::Devices { "disks" } else { "hosts" };
        return Err((format!("the cluster has {all} {name} with data"), "name at most as many".to_owned()));
    }
    let racks = match (racks, all_racks) {
        (None, _) => None,
        (Some(_), None) => {
            return Err(("the cluster has no racks".to_owned(), "leave out `in … racks`".to_owned()));
        }
        (Some(number), Some(all)) => {
            let racks = whole(number).filter(|racks| *racks <= all);
            let why = || (format!("`{number}` is no number from 1 to {all}, the racks with data"), usual());
            Some(racks.ok_or_else(why)?)
        }
    };
    Ok((units, count, racks))
}

impl Burst {
    /// As it was asked: what fails, how many of it, and in how many racks.
    pub(super) fn asked(&self) -> (Units, usize, Option<usize>) {
        (self.units, self.count, self.racks)
    }

    /// Its words.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// The key of the scenario that has it.
    pub(super) fn key(&self) -> &str {
        &self.key
    }

    /// What is lost, or why there is no such burst.
    pub(super) fn lost(&self, groups: &Explicit, seed: Seed) -> Result<Lost, String> {
        let found = groups
            .loss(self.units, (self.count, self.racks), DRAWS, seed)
            .map_err(|error| error.to_string())?;
        let how = match found.method {
            Method::Counted | Method::Exhausted => "exact".to_owned(),
            Method::Drawn { sets, losses } => format!("{losses} of {sets} drawn sets"),
        };
        Ok(Lost {
            text: self.text.clone(),
            count: self.count as u64,
            loss: found.loss,
            range: [found.interval.low, found.interval.high],
            groups: found.groups_lost,
            how,
        })
    }

    /// Refuses a burst that cannot be, such as three disks in four racks.
    pub(super) fn check(&self, groups: &Explicit, draft: &Draft) -> Problems {
        let mut problems = Problems::new();
        if let Err(why) = groups.loss(self.units, (self.count, self.racks), 100, Seed(0)) {
            let message = format!("`burst` has \"{}\": {why}", self.text);
            problems.refuse(draft, &self.key, message, "ask for one that can be");
        }
        problems
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bursts_are_read_and_others_refused() {
        let counts = Counts { disks: 40, hosts: 10, racks: Some(4) };
        let of = |text: &str| parse(text, counts);
        assert_eq!(of("3 disks"), Ok((Units::Devices, 3, None)));
        assert_eq!(of("1 disk in 1 rack"), Ok((Units::Devices, 1, Some(1))));
        assert_eq!(of("15 % of hosts"), Ok((Units::Hosts, 2, None)));
        assert_eq!(of("15% of hosts in 2 racks"), Ok((Units::Hosts, 2, Some(2))));
        for (text, why) in [
            ("", "it is empty"),
            ("3", "does not say what fails"),
            ("three disks", "no number"),
            ("0 disks", "no number"),
            ("-1 disks", "no number"),
            ("41 disks", "has 40 disks"),
            ("3 racks", "neither disks nor hosts"),
            ("0 % of disks", "no share"),
            ("101 % of disks", "no share"),
            ("3 disks in 5 racks", "from 1 to 4"),
            ("3 disks of 5 racks", "is not understood"),
        ] {
            let said = of(text).expect_err(text).0;
            assert!(said.contains(why), "{text}: {said}");
        }
        assert!(
            parse("3 disks in 2 racks", Counts { racks: None, ..counts }).unwrap_err().0.contains("no racks")
        );
    }
}
