//! The layout of files, in the syntax of a scenario.

use towtank_pfs::{Component, Striping};
use towtank_units::Bytes;

use super::{Replays, Settled};

/// The maximum number of components per file: the model has bits for this many.
const COMPONENTS_MAX: usize = 16;
const HINT: &str = "write `striped`, `file`, or servers by offset: `1 to 4MiB, 4x1MiB to 256MiB, all`";

/// The values to which a layout refers but does not contain.
#[derive(Clone, Copy, Debug)]
pub struct Around {
    /// The number of data servers.
    pub servers: u32,
    /// The number of servers that `all` stands for.
    pub stripe_count: u32,
    /// The stripe size of components that do not give one.
    pub stripe: Bytes,
}

impl super::Scenario {
    /// The components of each file.
    ///
    /// # Errors
    /// What is wrong with `layout`, and a hint.
    pub(super) fn components(&self) -> Result<Vec<Component>, (String, String)> {
        let around = Around {
            servers: self.servers,
            stripe_count: self.stripe_count.unwrap_or(self.servers),
            stripe: self.stripe,
        };
        components(self.layout.as_deref(), around)
    }
}

impl Settled {
    /// The components of each file.
    pub(super) fn components(&self) -> Vec<Component> {
        let Settled { servers, stripe_count, stripe, .. } = *self;
        let found = components(self.layout.as_deref(), Around { servers, stripe_count, stripe });
        found.expect("the layout was checked with the scenario")
    }

    /// The placement of all files, those of traces by their own layouts.
    pub(super) fn striping(&self, work: &towtank_pfs::Work, replays: &Replays) -> Striping {
        let mut striping = Striping::new(self.servers, self.components());
        for (number, name) in self.applications.keys().enumerate() {
            let Some(replay) = replays.get(name) else { continue };
            let first = work.first_file(number);
            for (file, stripes) in replay.layouts() {
                striping = striping.with_file(first + u64::from(*file), stripes.clone());
            }
        }
        striping
    }
}

/// Parses the components of a layout; the error has a message and a hint.
fn components(text: Option<&str>, around: Around) -> Result<Vec<Component>, (String, String)> {
    let text = match text.map(str::trim) {
        None | Some("striped") => "all",
        // A stripe larger than any file.
        Some("file") => return Ok(vec![Component { end: None, count: 1, stripe: 1 << 61 }]),
        Some(text) => text,
    };
    let words: Vec<&str> = text.split(',').collect();
    if words.len() > COMPONENTS_MAX {
        let message = format!("`layout` has {} parts, but the limit is {COMPONENTS_MAX}", words.len());
        return Err((message, "merge some of them".to_owned()));
    }
    let mut found = Vec::new();
    let mut before = 0;
    for (place, word) in words.iter().enumerate() {
        let component = component(word, around).map_err(|message| (message, HINT.to_owned()))?;
        let is_last = place + 1 == words.len();
        let wrong = match component.end {
            Some(end) if is_last => Some(format!("`layout` ends at {}", Bytes::new(end))),
            None if !is_last => {
                Some(format!("`{}` has no end, but is not the last part of `layout`", word.trim()))
            }
            Some(end) if end <= before => {
                Some(format!("`layout` goes to {} and then to {}", Bytes::new(before), Bytes::new(end)))
            }
            _ => None,
        };
        if let Some(message) = wrong {
            return Err((
                message,
                "set rising ends, and no end for the last part: `1 to 4MiB, all`".to_owned(),
            ));
        }
        before = component.end.unwrap_or(u64::MAX);
        found.push(component);
    }
    debug_assert!(found.last().is_some_and(|last| last.end.is_none()), "the last component has no end");
    Ok(found)
}

/// Parses one component: `COUNT[xSTRIPE][ to END]`.
fn component(word: &str, around: Around) -> Result<Component, String> {
    let word = word.trim();
    let (spread, end) = match word.split_once(" to ") {
        Some((spread, end)) => (spread.trim(), Some(end.trim())),
        None => (word, None),
    };
    let (count, stripe) = match spread.split_once('x') {
        Some((count, stripe)) => (count.trim(), Some(stripe.trim())),
        None => (spread, None),
    };
    let bytes = |text: &str| text.parse::<Bytes>().ok().filter(|bytes| !bytes.is_zero());
    let count = match count {
        "all" => around.stripe_count,
        number => number
            .parse()
            .map_err(|_| format!("`layout` has `{word}`, whose number of servers is not a number"))?,
    };
    if count == 0 || count > around.servers {
        return Err(format!(
            "`layout` has `{word}` with {count} servers; it must be from 1 to {}",
            around.servers
        ));
    }
    let stripe = stripe.map_or(Some(around.stripe), bytes);
    let stripe =
        stripe.ok_or_else(|| format!("`layout` has `{word}`, whose stripe is not a size above 0"))?;
    let end =
        end.map(|end| bytes(end).ok_or_else(|| format!("`layout` has `{word}`, whose end is not a size")));
    Ok(Component { end: end.transpose()?.map(Bytes::get), count, stripe: stripe.get().max(1) })
}

#[cfg(test)]
mod tests {
    use super::*;

    const AROUND: Around = Around { servers: 8, stripe_count: 6, stripe: Bytes::from_kib(256) };

    fn read(text: &str) -> Result<Vec<(Option<u64>, u32, u64)>, String> {
        let found = components(Some(text), AROUND).map_err(|(message, _)| message)?;
        Ok(found.iter().map(|one| (one.end, one.count, one.stripe)).collect())
    }

    #[test]
    fn layouts_are_read() {
        const KIB: u64 = 1 << 10;
        assert_eq!(read("striped"), Ok(vec![(None, 6, 256 * KIB)]));
        assert_eq!(read("file"), Ok(vec![(None, 1, 1 << 61)]));
        let three = vec![(Some(4 << 20), 1, 256 * KIB), (Some(256 << 20), 4, 1 << 20), (None, 6, 256 * KIB)];
        assert_eq!(read("1 to 4MiB, 4x1MiB to 256MiB, all"), Ok(three));
        assert_eq!(read("all x 64KiB"), Ok(vec![(None, 6, 64 * KIB)]));
    }

    #[test]
    fn what_is_no_layout_is_refused() {
        let all = [
            "",
            "many",
            "9",
            "0 to 1MiB, all",
            "1x0B",
            "1 to 4MiB",
            "1 to 4MiB, 2 to 1MiB, all",
            "1, all",
            "1 to x, all",
        ];
        let refusals = all.map(|text| read(text).expect_err("it is none"));
        insta::assert_snapshot!(refusals.join("\n"), @r"
        `layout` has ``, whose number of servers is not a number
        `layout` has `many`, whose number of servers is not a number
        `layout` has `9` with 9 servers; it must be from 1 to 8
        `layout` has `0 to 1MiB` with 0 servers; it must be from 1 to 8
        `layout` has `1x0B`, whose stripe is not a size above 0
        `layout` ends at 4MiB
        `layout` goes to 4MiB and then to 1MiB
        `1` has no end, but is not the last part of `layout`
        `layout` has `1 to x`, whose end is not a size
        ");
        let long = vec!["all"; 17].join(", ");
        assert!(components(Some(&long), AROUND).is_err_and(|(message, _)| message.contains("17 parts")));
    }
}
