//! What to write in place of a name that is in no map.

use towtank_scenario::did_you_mean;

/// So many names are listed.
const LISTED: usize = 12;

/// A hint for a name that none of these has. A number of a device is not guessed: another one is another
/// device.
pub(crate) fn hint<'n>(name: &str, names: impl Iterator<Item = &'n str>) -> String {
    let names: Vec<&str> = names.collect();
    let number = |name: &str| name.strip_prefix("osd.").and_then(|digits| digits.parse::<u32>().ok());
    let numbers = || names.iter().filter_map(|name| number(name));
    if let (Some(_), Some(least), Some(most)) = (number(name), numbers().min(), numbers().max()) {
        let gaps = if numbers().count() as u32 == most - least + 1 { "" } else { ", with gaps" };
        return format!("the devices are osd.{least} to osd.{most}{gaps}");
    }
    did_you_mean(name, names.iter().copied()).unwrap_or_else(|| {
        let first: Vec<&str> = names.iter().take(LISTED).copied().collect();
        format!("those that there are: {}", first.join(", ") + if names.len() > LISTED { ", …" } else { "" })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_is_guessed_and_a_device_is_not() {
        let of = |name: &str, names: &[&str]| hint(name, names.iter().copied());
        assert_eq!(of("hots1", &["host1", "osd.0"]), "did you mean `host1`?");
        assert_eq!(of("osd.99", &["host1", "osd.0", "osd.1"]), "the devices are osd.0 to osd.1");
        assert_eq!(of("osd.99", &["osd.7", "osd.4"]), "the devices are osd.4 to osd.7, with gaps");
        assert_eq!(of("osd.99", &["zebra"]), "those that there are: zebra");
    }
}
