//! A value given on the command line: `--set cluster.servers=8`, `--servers 8`, `TOWTANK_SEED=7`.

use crate::Problem;
use crate::key::KeyPath;
use crate::node::{Node, Value, parse_value};
use crate::source::{Place, Source};

/// A key, its value, and the flag that set it.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    pub(crate) key: KeyPath,
    pub(crate) key_place: Place,
    pub(crate) node: Node,
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
        Ok(Setting { key, key_place, node })
    }

    /// The value of a flag that sets `key`: `--servers 8`.
    ///
    /// # Errors
    /// A value with an open quote or bracket.
    pub fn of_flag(flag: &str, key: &KeyPath, value: &str) -> Result<Setting, Problem> {
        Self::after(flag, " ", key, value)
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
        Setting { key: key.clone(), key_place: place.clone(), node: Node { place, value: Value::List(list) } }
    }

    /// The value of an environment variable that sets `key`: `TOWTANK_SEED=7`.
    ///
    /// # Errors
    /// A value with an open quote or bracket.
    pub fn of_variable(variable: &str, key: &KeyPath, value: &str) -> Result<Setting, Problem> {
        Self::after(variable, "=", key, value)
    }

    fn after(name: &str, between: &str, key: &KeyPath, value: &str) -> Result<Setting, Problem> {
        let source = Source::flag(name, format!("{name}{between}{value}"));
        let key_place = Place::new(&source, 0..name.len());
        let node = parse_value(&source, name.len() + between.len())
            .map_err(|problem| problem.of_key(key.clone()))?;
        Ok(Setting { key: key.clone(), key_place, node })
    }

    /// The key.
    #[must_use]
    pub fn key(&self) -> &KeyPath {
        &self.key
    }
}
