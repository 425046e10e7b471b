//! `ceph tell 'osd.*' perf dump`, or `perf dump` of one device: what it recovered since its daemon started.

use serde::Deserialize;

use super::{Clock, Format, Rebuilt, Record, Work, summary};
use crate::{File, ImportError, Imported};

#[derive(Deserialize)]
struct Counters {
    osd: Option<Osd>,
    recoverystate_perf: Option<States>,
}

/// Groups that the device led from less than all copies in their places back to that, since 20.2.4.
#[derive(Deserialize)]
struct States {
    pg_rebuild_duration: Option<Durations>,
    pg_rebuild_max_secs: Option<f64>,
    pg_rebuild_min_secs: Option<f64>,
}

#[derive(Deserialize)]
struct Durations {
    avgcount: u64,
    sum: f64,
}

impl States {
    /// What is said of them, where there were some.
    fn rebuilt(self) -> Result<Option<Rebuilt>, String> {
        let Some(Durations { avgcount: groups, sum: seconds }) = self.pg_rebuild_duration else {
            return Ok(None);
        };
        if groups == 0 {
            return Ok(None);
        }
        let [shortest, longest] = [self.pg_rebuild_min_secs, self.pg_rebuild_max_secs];
        let all = [Some(seconds), shortest, longest];
        if let Some(wrong) = all.into_iter().flatten().find(|value| !value.is_finite() || *value < 0.0) {
            return Err(format!("{wrong} s of `pg_rebuild_duration` and its like cannot be"));
        }
        let mean = seconds / groups as f64;
        // They are rounded to whole seconds.
        let above = shortest.is_some_and(|shortest| shortest > mean + 1.0);
        if above || longest.is_some_and(|longest| longest + 1.0 < mean) {
            return Err(format!(
                "`pg_rebuild_duration` has a mean of {mean} s, which is not between `pg_rebuild_min_secs` and `pg_rebuild_max_secs`"
            ));
        }
        Ok(Some(Rebuilt { groups, seconds, shortest_s: shortest, longest_s: longest }))
    }
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
            work.push(Work { at_us, device, objects: None, bytes: None, rebuilt: None });
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
        let rebuilt = counters.recoverystate_perf.map(States::rebuilt).transpose();
        let rebuilt = rebuilt.map_err(|reason| format!("the counters{named}: {reason}"))?.flatten();
        let Osd { recovery_ops: objects, recovery_bytes: bytes } = osd;
        work.push(Work { at_us, device, objects, bytes, rebuilt });
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
        let work = |device, objects, bytes| Work {
            at_us: None,
            device: Some(device),
            objects,
            bytes,
            rebuilt: None,
        };
        let want = vec![work(0, Some(7), Some(100)), work(3, None, None), work(12, Some(9), None)];
        assert_eq!(of_text(text, None), Ok(want));
        let alone = of_text("{\"osd\": {\"recovery_ops\": 7}, \"bluefs\": {}}", Some(5));
        let want = Work { at_us: Some(5), device: None, objects: Some(7), bytes: None, rebuilt: None };
        assert_eq!(alone, Ok(vec![want]));
        for wrong in
            ["osd.0: {\"osd\": {\"recovery_ops\": 7", "osd.0: {}", "osd.0: {\"osd\": {\"recovery_ops\": -7}}"]
        {
            assert!(of_text(wrong, None).is_err(), "{wrong}");
        }
    }

    #[test]
    fn counters_of_groups_that_were_rebuilt() {
        let of = |duration: &str, rest: &str| {
            let states = format!("{{\"pg_rebuild_duration\": {duration}{rest}}}");
            let text =
                format!("osd.0: {{\"osd\": {{\"recovery_ops\": 7}}, \"recoverystate_perf\": {states}}}");
            of_text(&text, None).map(|work| work[0].rebuilt)
        };
        let ends = ", \"pg_rebuild_max_secs\": 40, \"pg_rebuild_min_secs\": 2";
        let want = Rebuilt { groups: 4, seconds: 62.5, shortest_s: Some(2.0), longest_s: Some(40.0) };
        assert_eq!(of("{\"avgcount\": 4, \"sum\": 62.5, \"avgtime\": 15.625}", ends), Ok(Some(want)));
        let want = Rebuilt { shortest_s: None, longest_s: None, ..want };
        assert_eq!(of("{\"avgcount\": 4, \"sum\": 62.5}", ""), Ok(Some(want)));
        assert_eq!(of("{\"avgcount\": 0, \"sum\": 0.0}", ends), Ok(None), "nothing was rebuilt");
        // Planted: a mean above the longest, and a sum below 0.
        assert!(of("{\"avgcount\": 1, \"sum\": 62.5}", ends).is_err());
        assert!(of("{\"avgcount\": 4, \"sum\": -1.0}", ends).is_err());
        assert!(of("{\"avgcount\": -4, \"sum\": 1.0}", ends).is_err());
    }
}
