//! `ceph tell 'osd.*' perf dump`, or `perf dump` of one device: what it recovered since its daemon started.

use serde::Deserialize;

use super::{Clock, Format, Record, Work, summary};
use crate::{File, ImportError, Imported};

#[derive(Deserialize)]
struct Counters {
    osd: Option<Osd>,
}

#[derive(Deserialize)]
struct Osd {
    recovery_ops: Option<u64>,
    recovery_bytes: Option<u64>,
}

/// `osd.3: {`, and the name alone where a command to it failed.
fn name(line: &str) -> Option<(i32, &str)> {
    let (id, rest) = line.trim_start().strip_prefix("osd.")?.split_once(':')?;
    Some((summary::device_id(id)?, rest.trim_start()))
}

/// Whether the counters of devices begin with this line.
pub(super) fn begins(line: &str) -> bool {
    name(line).is_some_and(|(_, rest)| rest.starts_with('{') || rest.starts_with("Error"))
}

/// Reads a file of counters without times.
///
/// # Errors
/// If it is damaged.
pub(super) fn read(file: File<'_>, bytes: &[u8]) -> Result<Imported<Record>, ImportError> {
    let text = String::from_utf8_lossy(bytes);
    let mut record = Record::new(Format::Perf, Clock::Zoned);
    let work = of_text(&text, None).map_err(|reason| {
        ImportError::new(file.name, reason).hint("`ceph tell 'osd.*' perf dump osd` prints them")
    })?;
    let silent = work.iter().filter(|one| one.objects.is_none() && one.bytes.is_none()).count();
    record.work = work;
    let notes = (silent > 0).then(|| format!("`{}`: {silent} devices did not answer", file.name));
    Ok(Imported { value: record, notes: notes.into_iter().collect() })
}

/// The counters of each device; those of a device that did not answer are missing.
pub(super) fn of_text(text: &str, at_us: Option<i64>) -> Result<Vec<Work>, String> {
    let (mut work, mut rest) = (Vec::new(), text.trim_start_matches('\u{feff}').trim_start());
    while !rest.is_empty() {
        let (device, json) = match name(rest) {
            Some((device, json)) => (Some(device), json),
            None => (None, rest),
        };
        if json.starts_with("Error") {
            work.push(Work { at_us, device, objects: None, bytes: None });
            rest = json.split_once('\n').map_or("", |(_, rest)| rest).trim_start();
            continue;
        }
        let mut values = serde_json::Deserializer::from_str(json).into_iter::<Counters>();
        let named = device.map_or(String::new(), |device| format!(" of osd.{device}"));
        let counters = match values.next() {
            Some(Ok(counters)) => counters,
            Some(Err(error)) => return Err(format!("the counters{named} are damaged: {error}")),
            None => return Err(format!("the counters{named} are missing")),
        };
        let osd = counters.osd.ok_or_else(|| format!("the counters{named} have no `osd`"))?;
        work.push(Work { at_us, device, objects: osd.recovery_ops, bytes: osd.recovery_bytes });
        rest = json.get(values.byte_offset()..).unwrap_or_default().trim_start();
    }
    Ok(work)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_of_several_devices() {
        let text = "osd.0: {\n  \"osd\": {\"recovery_ops\": 7, \"recovery_bytes\": 100, \"op\": 1}\n}\n\
                    osd.3: Error ENXIO: problem getting command descriptions from osd.3\n\
                    osd.12: {\"osd\": {\"recovery_ops\": 9}}\n";
        let work = |device, objects, bytes| Work { at_us: None, device: Some(device), objects, bytes };
        let want = vec![work(0, Some(7), Some(100)), work(3, None, None), work(12, Some(9), None)];
        assert_eq!(of_text(text, None), Ok(want));
        let alone = of_text("{\"osd\": {\"recovery_ops\": 7}, \"bluefs\": {}}", Some(5));
        let want = Work { at_us: Some(5), device: None, objects: Some(7), bytes: None };
        assert_eq!(alone, Ok(vec![want]));
        for wrong in
            ["osd.0: {\"osd\": {\"recovery_ops\": 7", "osd.0: {}", "osd.0: {\"osd\": {\"recovery_ops\": -7}}"]
        {
            assert!(of_text(wrong, None).is_err(), "{wrong}");
        }
    }
}
