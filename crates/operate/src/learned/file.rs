//! The file, read: what is wrong with it is refused with its place.

use towtank_imports::{File, ImportError, Imported};

use super::{Learned, VERSION};

/// The most rows: each is a run of `whatif`.
const ROWS_MAX: usize = 1_000;

/// Reads what `towtank learn` wrote.
///
/// # Errors
/// If it is no such file, of another version, or has values that cannot be.
pub fn read(file: File<'_>) -> Result<Imported<Learned>, ImportError> {
    let wrong = |key: Option<&str>, reason: String, hint: &str| {
        ImportError::of(file.name, key, reason, Some(hint.to_owned()))
    };
    let again = "write it anew: towtank learn FILES --report before.json -o machines.toml";
    let text = std::str::from_utf8(file.bytes)
        .map_err(|error| wrong(None, format!("it is no text: {error}"), again))?;
    let placed = |error: &toml::de::Error| {
        let at = error.span().map(|span| &text[..span.start.min(text.len())]);
        let line = at.map_or(String::new(), |before| format!("line {}: ", before.matches('\n').count() + 1));
        format!("{line}{}", error.message().trim_end())
    };
    let table: toml::Table = text.parse().map_err(|error| wrong(None, placed(&error), again))?;
    match table.get("version").and_then(toml::Value::as_integer) {
        Some(version) if version == i64::from(VERSION) => {}
        Some(version) => {
            let reason = format!("it is {version}, and this towtank reads {VERSION}");
            return Err(wrong(Some("version"), reason, again));
        }
        None => return Err(wrong(Some("version"), "it has none".to_owned(), again)),
    }
    let learned: Learned = toml::from_str(text).map_err(|error| wrong(None, placed(&error), again))?;
    check(&learned).map_err(|(key, reason)| wrong(Some(&key), reason, again))?;
    Ok(Imported { value: learned, notes: Vec::new() })
}

/// The key of a value that cannot be, and why.
fn check(learned: &Learned) -> Result<(), (String, String)> {
    for (name, _, constant) in learned.constants.all() {
        let values = [constant.assumed, constant.low, constant.value, constant.high];
        if let Some(value) = values.iter().find(|value| !value.is_finite() || **value <= 0.0) {
            return Err((format!("constants.{name}"), format!("{value} is not above 0")));
        }
        if constant.low > constant.value || constant.value > constant.high {
            let reason = format!("{} is not between {} and {}", constant.value, constant.low, constant.high);
            return Err((format!("constants.{name}"), reason));
        }
    }
    let count = learned.draws.disk_rate.len();
    if count == 0 || count > ROWS_MAX {
        return Err((
            "draws.disk_rate".to_owned(),
            format!("it has {count} values; 1 to {ROWS_MAX} are read"),
        ));
    }
    let known: Vec<&str> = learned.constants.all().iter().map(|(name, ..)| *name).collect();
    for (name, row) in learned.draws.all() {
        let key = format!("draws.{name}");
        if known.contains(&name) == row.is_empty() {
            return Err((key, "it is there, and the constant is not, or the other way round".to_owned()));
        }
        if !row.is_empty() && row.len() != count {
            return Err((key, format!("it has {} values, and `draws.disk_rate` has {count}", row.len())));
        }
        let most = if name == "max_backfills" { 1_024.0 } else { 1e15 };
        if let Some(value) = row.iter().find(|value| !value.is_finite() || **value <= 0.0 || **value > most) {
            return Err((key, format!("{value} cannot be")));
        }
        if name == "max_backfills" && row.iter().any(|count| count.fract() != 0.0) {
            return Err((key, "groups are whole".to_owned()));
        }
    }
    let event = &learned.event;
    let times = [event.predicted_s, event.took_s, event.error_after, event.error_within];
    if times.iter().any(|time| !time.is_finite() || *time < 0.0) || event.took_s == 0.0 {
        return Err(("event".to_owned(), "a time or an error is below 0".to_owned()));
    }
    Ok(())
}
