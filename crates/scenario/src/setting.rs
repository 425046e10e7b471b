//! A value given on the command line: `--set cluster.servers=8`, `--servers 8`, `TOWTANK_SEED=7`.

use crate::key::KeyPath;
use crate::node::{Node, Value, parse_value};
use crate::source::{Place, Source};
use crate::{Problem, Problems};

/// The longest text of a flag that is quoted as a whole: a choice.
const QUOTED_MAX: usize = 60;

/// A key, its value, and the flag that set it.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    pub(crate) key: KeyPath,
    pub(crate) key_place: Place,
    pub(crate) node: Node,
    /// Whether a flag may replace it: an environment variable is what holds where no flag says otherwise.
    yields: bool,
}

impl Setting {
    /// Parses `key=value` as given to `flag`. The value is TOML; anything else is taken as text, so that
    /// `--set link.rate=10Gbit/s` needs no quotes.
    ///
    /// # Errors
    /// An invalid key, a missing `=`, or a value with an open quote or bracket.
    pub fn parse(flag: &str, text: &str) -> Result<Setting, Problem> {
        let source = Source::flag(flag, format!("{flag} {text}"));
        let start = flag.len() + 1;
        let hint = format!("write {flag} key=value, as in {flag} replicates=10");
        let (key, used) = KeyPath::read_prefix(text).map_err(|error| {
            let at = start + error.at;
            Problem::new(format!("no key: {}", error.message))
                .at(Place::new(&source, at..source.text().len()))
                .hint(&*hint)
        })?;
        let key_place = Place::new(&source, start..start + used);
        let rest = text[used..].trim_start();
        if !rest.starts_with('=') {
            let problem = Problem::new(format!("`{key}` has no value")).at(key_place);
            return Err(problem.hint(format!("write {flag} {key}=value")));
        }
        let value_start = start + (text.len() - rest.len()) + 1;
        let node = parse_value(&source, value_start).map_err(|problem| problem.of_key(key.clone()))?;
        Ok(Setting { key, key_place, node, yields: false })
    }

    /// Parses several settings as given to `flag`: `key=value, other=value`. A comma that is in quotes or
    /// brackets, or that no key follows, belongs to the value.
    ///
    /// # Errors
    /// Those of [`Setting::parse`].
    pub fn parse_several(flag: &str, text: &str) -> Result<Vec<Setting>, Problem> {
        parts(text).into_iter().map(|part| Setting::parse(flag, part.trim())).collect()
    }

    /// The value of a flag that sets `key`: `--servers 8`.
    ///
    /// # Errors
    /// A value with an open quote or bracket.
    pub fn of_flag(flag: &str, key: &KeyPath, value: &str) -> Result<Setting, Problem> {
        Self::after(flag, " ", key, value)
    }

    /// The value of a flag that is a text, whatever it looks like: `--fail 3`.
    #[must_use]
    pub fn of_text(flag: &str, key: &KeyPath, value: &str) -> Setting {
        let source = Source::flag(flag, format!("{flag} {value}"));
        let key_place = Place::new(&source, 0..flag.len());
        let place = Place::new(&source, flag.len() + 1..source.text().len());
        let node = Node { place, value: Value::Text(value.to_owned()) };
        Setting { key: key.clone(), key_place, node, yields: false }
    }

    /// The list of texts that several flags make together, in the order in which they were given:
    /// `--fail osd.3 --drain host=h1`. Each item is a flag, its value, and the text in the list.
    #[must_use]
    pub fn of_flags(key: &KeyPath, items: &[(String, String, String)]) -> Setting {
        let mut flags: Vec<&str> = items.iter().map(|(flag, ..)| flag.as_str()).collect();
        flags.dedup();
        let (mut text, mut places) = (String::new(), Vec::new());
        for (flag, value, _) in items {
            let between = if text.is_empty() { "" } else { " " };
            text += &format!("{between}{flag} ");
            places.push(text.len()..text.len() + value.len());
            text += value;
        }
        let source = Source::flag(flags.join(" "), text);
        let place = Place::new(&source, 0..source.text().len());
        let item = |((.., text), at): (&(String, String, String), std::ops::Range<usize>)| Node {
            place: Place::new(&source, at),
            value: Value::Text(text.clone()),
        };
        let list = items.iter().zip(places).map(item).collect();
        let node = Node { place: place.clone(), value: Value::List(list) };
        Setting { key: key.clone(), key_place: place, node, yields: false }
    }

    /// The value of an environment variable that sets `key`: `TOWTANK_SEED=7`.
    ///
    /// # Errors
    /// A value with an open quote or bracket.
    pub fn of_variable(variable: &str, key: &KeyPath, value: &str) -> Result<Setting, Problem> {
        Ok(Setting { yields: true, ..Self::after(variable, "=", key, value)? })
    }

    fn after(name: &str, between: &str, key: &KeyPath, value: &str) -> Result<Setting, Problem> {
        let source = Source::flag(name, format!("{name}{between}{value}"));
        let key_place = Place::new(&source, 0..name.len());
        let node = parse_value(&source, name.len() + between.len())
            .map_err(|problem| problem.of_key(key.clone()))?;
        Ok(Setting { key: key.clone(), key_place, node, yields: false })
    }

    /// Refuses flags that set the same key, or a key and a part of it, to different values: one would replace
    /// the other in silence. Equal values are one setting.
    ///
    /// # Errors
    /// Every flag that contradicts an earlier one.
    pub fn agree(settings: &[Setting]) -> Result<(), Problems> {
        let mut problems = Problems::new();
        for (at, later) in settings.iter().enumerate() {
            if let Some(earlier) = settings[..at].iter().find(|earlier| earlier.contradicts(later)) {
                problems.push(later.refused_beside(earlier));
            }
        }
        problems.into_result(())
    }

    /// Whether one of the two would replace what the other sets.
    fn contradicts(&self, later: &Setting) -> bool {
        if self.yields || later.yields {
            return false;
        }
        let within = |whole: &Setting, part: &Setting| {
            let path = whole.key.rest_of(&part.key)?;
            Some(whole.node.find(&path).map(Node::to_json))
        };
        match (within(self, later), within(later, self)) {
            // A key below one that was set, which says nothing of it, is added.
            (Some(of_it), _) => of_it.is_some_and(|value| !is_same(&value, &later.node.to_json())),
            (None, Some(of_it)) => !of_it.is_some_and(|value| is_same(&value, &self.node.to_json())),
            (None, None) => false,
        }
    }

    fn refused_beside(&self, earlier: &Setting) -> Problem {
        let quoted = |setting: &Setting| match setting.key_place.source().text() {
            text if text.chars().count() <= QUOTED_MAX => format!("`{text}`"),
            _ => format!("`{}`", setting.key_place.source().name()),
        };
        let key = if self.key.covers(&earlier.key) { &earlier.key } else { &self.key };
        Problem::new(format!("{} and {} set `{key}` to different values", quoted(earlier), quoted(self)))
            .at(self.node.place.clone())
            .hint("keep one of them")
    }

    /// The key.
    #[must_use]
    pub fn key(&self) -> &KeyPath {
        &self.key
    }
}

/// Whether two values are the same, or read the same: `8` and `"8"`.
fn is_same(one: &serde_json::Value, other: &serde_json::Value) -> bool {
    let plain = |value: &serde_json::Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    one == other || plain(one) == plain(other)
}

/// The parts of a text of several settings.
fn parts(text: &str) -> Vec<&str> {
    let (mut parts, mut from) = (Vec::new(), 0);
    let (mut depth, mut quote) = (0_u32, None);
    for (at, letter) in text.char_indices() {
        match (letter, quote) {
            (_, Some(open)) if letter == open => quote = None,
            (_, Some(_)) => {}
            ('"' | '\'', None) => quote = Some(letter),
            ('[' | '{', None) => depth += 1,
            (']' | '}', None) => depth = depth.saturating_sub(1),
            (',', None) if depth == 0 && begins_with_key(&text[at + 1..]) => {
                parts.push(&text[from..at]);
                from = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[from..]);
    parts
}

/// Whether a text begins with `key =`.
fn begins_with_key(text: &str) -> bool {
    let text = text.trim_start();
    KeyPath::read_prefix(text).is_ok_and(|(_, used)| text[used..].trim_start().starts_with('='))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flag(name: &str, key: &str, value: &str) -> Setting {
        Setting::of_flag(name, &key.parse().unwrap(), value).unwrap()
    }

    fn set(text: &str) -> Setting {
        Setting::parse("--set", text).unwrap()
    }

    fn refusals(settings: &[Setting]) -> Vec<String> {
        let found = Setting::agree(settings).err().unwrap_or_default();
        found.iter().map(|problem| problem.message().to_owned()).collect()
    }

    /// A former fault: the later one replaced the earlier one, and nothing was said.
    #[test]
    fn a_key_that_is_set_twice_to_different_values_is_refused() {
        let servers = || flag("--servers", "cluster.servers", "8");
        let refused = |one: Setting, other: Setting| refusals(&[one, other]).join(", ");
        assert_eq!(
            refused(servers(), set("cluster.servers=9")),
            "`--servers 8` and `--set cluster.servers=9` set `cluster.servers` to different values"
        );
        assert_eq!(
            refused(servers(), set("cluster={ racks = 2 }")),
            "`--servers 8` and `--set cluster={ racks = 2 }` set `cluster.servers` to different values"
        );
        assert_eq!(
            refused(set("cluster={ servers = 9 }"), servers()),
            "`--set cluster={ servers = 9 }` and `--servers 8` set `cluster.servers` to different values"
        );
        assert!(refused(set("seed=1"), set("seed=2")).ends_with("set `seed` to different values"));
        let long = set(&format!("title=\"{}\"", "t".repeat(100)));
        assert_eq!(
            refused(set("title=\"a\""), long),
            "`--set title=\"a\"` and `--set` set `title` to different values"
        );
    }

    #[test]
    fn settings_that_agree_or_add_to_each_other_pass() {
        let servers = || flag("--servers", "cluster.servers", "8");
        for pair in [
            [servers(), set("cluster.servers=8")],
            [servers(), set("cluster.servers = 8")],
            [servers(), set("cluster={ racks = 2, servers = 8 }")],
            [set("cluster={ racks = 2 }"), servers()],
            [servers(), set("cluster.racks=2")],
            [flag("--fail", "fail", "[\"osd.1\", \"osd.2\"]"), set("fail=[\"osd.1\",\"osd.2\"]")],
        ] {
            assert_eq!(refusals(&pair), Vec::<String>::new());
        }
    }

    #[test]
    fn a_flag_replaces_a_variable() {
        let variable = Setting::of_variable("TOWTANK_SEED", &"seed".parse().unwrap(), "7").unwrap();
        assert_eq!(refusals(&[variable, set("seed=8")]), Vec::<String>::new());
    }

    #[test]
    fn several_settings_are_divided_at_commas_that_a_key_follows() {
        let cases: [(&str, &[&str]); 7] = [
            ("a=1", &["a=1"]),
            ("a=1, b.c = 2", &["a=1", " b.c = 2"]),
            ("fail=osd.3,osd.4", &["fail=osd.3,osd.4"]),
            (r#"a=["x, y=1", "z"], b=2"#, &[r#"a=["x, y=1", "z"]"#, " b=2"]),
            ("a='x, b=1', c={d=1, e=2}", &["a='x, b=1'", " c={d=1, e=2}"]),
            ("a=1,", &["a=1,"]),
            ("", &[""]),
        ];
        for (text, want) in cases {
            assert_eq!(parts(text), want, "{text}");
        }
        assert_eq!(Setting::parse_several("--compare", "a=1, b=x").map(|all| all.len()).ok(), Some(2));
        let problem = Setting::parse_several("--compare", "a").expect_err("it has no value");
        assert_eq!(problem.message(), "`a` has no value");
    }
}
