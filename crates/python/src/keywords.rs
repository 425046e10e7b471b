//! Keywords of Python as settings of a scenario.
//!
//! A keyword is a flag of the study with underscores (`per_server` for `--per-server`), or else a key
//! (`cluster.servers`). A number may have its unit in the keyword (`span_s=100` for `span="100s"`), where the
//! keyword without it is a flag or the key of one.

use towtank_scenario::{FlagName, KeyPath, Problem, Setting};
use towtank_study::{Flag, Ordered, Study};

/// A keyword and its value in TOML.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Keyword {
    pub name: String,
    pub value: String,
    /// Whether the value is a plain number.
    pub is_number: bool,
    /// Whether the value is one text.
    pub is_text: bool,
}

/// The endings of keywords and their units, the longest first where one ends as another does.
const UNITS: [(&str, &str); 36] = [
    ("_bytes_per_s", "B/s"),
    ("_kib_per_s", "KiB/s"),
    ("_mib_per_s", "MiB/s"),
    ("_gib_per_s", "GiB/s"),
    ("_kb_per_s", "kB/s"),
    ("_mb_per_s", "MB/s"),
    ("_gb_per_s", "GB/s"),
    ("_bit_per_s", "bit/s"),
    ("_kbit_per_s", "kbit/s"),
    ("_mbit_per_s", "Mbit/s"),
    ("_gbit_per_s", "Gbit/s"),
    ("_per_us", "/us"),
    ("_per_ms", "/ms"),
    ("_per_s", "/s"),
    ("_per_min", "/min"),
    ("_per_h", "/h"),
    ("_per_d", "/d"),
    ("_percent", "%"),
    ("_bytes", "B"),
    ("_kib", "KiB"),
    ("_mib", "MiB"),
    ("_gib", "GiB"),
    ("_tib", "TiB"),
    ("_pib", "PiB"),
    ("_kb", "kB"),
    ("_mb", "MB"),
    ("_gb", "GB"),
    ("_tb", "TB"),
    ("_pb", "PB"),
    ("_ns", "ns"),
    ("_us", "us"),
    ("_ms", "ms"),
    ("_min", "min"),
    ("_s", "s"),
    ("_h", "h"),
    ("_d", "d"),
];

/// The flags of a study as Python calls them, for hints about missing keys.
pub fn named(study: &dyn Study) -> Vec<FlagName> {
    let name = |flag: &Flag| Some(FlagName { flag: format!("{}=", word(flag)), key: flag.key.parse().ok()? });
    study.flags().iter().filter_map(name).collect()
}

/// The settings of keywords. Those whose order counts become one list, if there are several kinds of them.
pub fn settings(study: Option<&dyn Study>, keywords: &[Keyword]) -> Result<Vec<Setting>, Problem> {
    let ordered = study.and_then(|study| Some((study, study.ordered()?)));
    let in_order = ordered.and_then(|(study, ordered)| in_order(study, &ordered, keywords));
    let (list, used) = in_order.map_or((None, Vec::new()), |(list, used)| (Some(list), used));
    let rest = keywords.iter().filter(|keyword| !used.contains(&keyword.name.as_str()));
    let mut settings = rest.map(|keyword| setting(study, keyword)).collect::<Result<Vec<_>, _>>()?;
    settings.extend(list);
    Ok(settings)
}

/// The key that a keyword names, and the unit that its name gives to a number.
pub fn key_of(study: Option<&dyn Study>, keyword: &Keyword) -> Result<(KeyPath, &'static str), Problem> {
    if let Some(flag) = flag_of(study, &keyword.name) {
        return Ok((path(flag.key)?, ""));
    }
    let with_unit = UNITS.iter().find_map(|(ending, unit)| {
        let name = keyword.name.strip_suffix(ending).filter(|_| keyword.is_number)?;
        Some((flag_of(study, name)?, *unit))
    });
    match with_unit {
        Some((flag, unit)) => Ok((path(flag.key)?, unit)),
        None => Ok((path(&keyword.name)?, "")),
    }
}

fn setting(study: Option<&dyn Study>, keyword: &Keyword) -> Result<Setting, Problem> {
    let (key, unit) = key_of(study, keyword)?;
    let Keyword { name, value, .. } = keyword;
    let value = if unit.is_empty() { value.clone() } else { format!("\"{value}{unit}\"") };
    Setting::of_variable(name, &key, &value)
}

fn word(flag: &Flag) -> String {
    flag.name.replace('-', "_")
}

fn flag_of<'a>(study: Option<&'a dyn Study>, name: &str) -> Option<&'a Flag> {
    study?.flags().iter().find(|flag| word(flag) == name || flag.key == name)
}

fn path(key: &str) -> Result<KeyPath, Problem> {
    key.parse().map_err(|error| {
        Problem::new(format!("`{key}` is not a valid key: {error}"))
            .hint("a keyword is a flag with underscores (per_server) or a key (cluster.servers)")
    })
}

/// One list of the texts whose order counts, and the names of their keywords.
fn in_order<'a>(
    study: &dyn Study,
    ordered: &Ordered,
    keywords: &'a [Keyword],
) -> Option<(Setting, Vec<&'a str>)> {
    let is_ordered = |flag: &Flag| flag.key == ordered.list || ordered.keys.contains(&flag.key);
    let given: Vec<(&Flag, &Keyword)> = keywords
        .iter()
        .filter_map(|keyword| Some((flag_of(Some(study), &keyword.name)?, keyword)))
        .filter(|(flag, _)| is_ordered(flag))
        .collect();
    if given.len() < 2 {
        return None;
    }
    let mut items = Vec::new();
    for (flag, keyword) in &given {
        let texts: Vec<String> = if keyword.is_text {
            vec![serde_json::from_str(&keyword.value).ok()?]
        } else {
            serde_json::from_str(&keyword.value).ok()?
        };
        for text in texts {
            let item = if flag.key == ordered.list { text.clone() } else { format!("{} {text}", flag.name) };
            items.push((keyword.name.clone(), text, item));
        }
    }
    let setting = Setting::of_flags(&ordered.list.parse().ok()?, &items);
    Some((setting, given.iter().map(|(_, keyword)| keyword.name.as_str()).collect()))
}
