//! One job of fio: its options, its counts, and whether they are usable for an estimate of capacity.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::Stream;
use super::size::{self, Sizes};
use crate::iops::{PARTS_MAX, Part, Shares};
use crate::{File, ImportError};

/// Options by name, as given.
pub(super) type Options = BTreeMap<String, Value>;

#[derive(Deserialize)]
pub(super) struct Job {
    #[serde(default, rename = "jobname")]
    pub(super) name: String,
    #[serde(default, rename = "groupid")]
    pub(super) group: u64,
    #[serde(default)]
    error: i64,
    #[serde(default)]
    total_err: i64,
    #[serde(default, rename = "job options")]
    options: Options,
    read: Option<Count>,
    write: Option<Count>,
    trim: Option<Count>,
    mixed: Option<Count>,
}

/// The counts of one direction.
#[derive(Clone, Copy, Default, Deserialize)]
struct Count {
    iops: Option<f64>,
    #[serde(default)]
    io_bytes: u64,
    #[serde(default)]
    total_ios: u64,
    /// In milliseconds.
    #[serde(default)]
    runtime: f64,
}

/// Options that keep a job below the capacity of the system.
const LIMITS: [&str; 6] = ["rate", "rate_iops", "rate_min", "rate_iops_min", "thinktime", "latency_target"];
/// How far the mean bytes per operation may differ from the requested size; the last operation of a file is
/// shorter.
const SIZE_OFF: f64 = 0.02;
/// The same for randomly drawn sizes, and the number of operations needed to check it.
const SPLIT_OFF: (f64, u64) = (0.15, 1_000);

/// The hint where a file is not as fio wrote it.
const AS_WRITTEN: &str = "name the output of `fio --output-format=json` as fio wrote it";

/// The options of a job, which override the global ones.
struct Asked<'a> {
    own: &'a Options,
    global: &'a Options,
}

impl Asked<'_> {
    fn text(&self, names: &[&str]) -> Option<String> {
        let find = |options: &Options| names.iter().find_map(|name| options.get(*name)).map(plain);
        find(self.own).or_else(|| find(self.global))
    }

    fn number(&self, name: &str) -> Option<f64> {
        self.text(&[name])?.trim().parse().ok().filter(|number: &f64| number.is_finite())
    }
}

/// fio quotes every value; other writers of its format may not.
fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

impl Count {
    fn rate(&self) -> f64 {
        self.iops.unwrap_or_default()
    }
}

impl Job {
    /// Reads and writes with their keys; a direction that the file leaves out has no operations.
    fn counts(&self) -> [(&'static str, Count); 2] {
        [("read", self.read.unwrap_or_default()), ("write", self.write.unwrap_or_default())]
    }

    fn asked<'a>(&'a self, global: &'a Options) -> Asked<'a> {
        Asked { own: &self.options, global }
    }

    /// Whether it waited for the jobs before it.
    pub(super) fn waits(&self, global: &Options) -> bool {
        self.asked(global).text(&["stonewall", "wait_for_previous"]).is_some_and(|value| value != "0")
    }

    /// Its contribution to its run, if that is usable.
    pub(super) fn stream(
        &self,
        file: File<'_>,
        global: &Options,
        place: &str,
    ) -> Result<Stream, ImportError> {
        let asked = self.asked(global);
        self.refuse(file, &asked, place)?;
        let [(_, reads), (_, writes)] = self.counts();
        let (reads, writes) = (reads.rate(), writes.rate());
        let percent = self.read_percent(&asked);
        let (parts, shares) = self.parts(file, &asked, percent, place)?;
        let jobs = match asked.text(&["group_reporting"]).is_some_and(|value| value != "0") {
            true => asked.number("numjobs").unwrap_or(1.0),
            false => 1.0,
        };
        let depth = (asked.number("iodepth").unwrap_or(1.0) * jobs).clamp(1.0, 1e9);
        let [longest, other] = self.counts().map(|(_, count)| count.runtime);
        let seconds = longest.max(other) / 1e3;
        Ok(Stream { parts, shares, asked: percent, reads, writes, depth, seconds, place: place.to_owned() })
    }

    fn refuse(&self, file: File<'_>, asked: &Asked<'_>, place: &str) -> Result<(), ImportError> {
        let wrong = |key: &str, reason: String, hint: &str| {
            Err(ImportError::new(file.name, reason).key(format!("{place}.{key}")).hint(hint))
        };
        let name = &self.name;
        for (key, error) in [("error", self.error), ("total_err", self.total_err)] {
            if error != 0 {
                return wrong(
                    key,
                    format!("job `{name}` had errors: {error}"),
                    "fix the cause and measure again",
                );
            }
        }
        for limit in LIMITS {
            let Some(value) = asked.text(&[limit]) else { continue };
            if value.split(',').any(|one| !matches!(one.trim(), "" | "0")) {
                let reason = format!(
                    "job `{name}` had a limit, {limit}={value}, so it does not show the capacity of the system"
                );
                return wrong(
                    &format!("job options.{limit}"),
                    reason,
                    "measure without it, with the queue kept full",
                );
            }
        }
        if self.mixed.is_some() {
            let reason = format!("job `{name}` does not separate reads from writes");
            return wrong("mixed", reason, "measure with unified_rw_reporting=0");
        }
        if self.trim.is_some_and(|trim| trim.rate() > 0.0) {
            let reason =
                format!("job `{name}` has trims, but a capacity is defined for reads and writes only");
            return wrong("trim.iops", reason, "measure without trims");
        }
        if self.read.is_none() && self.write.is_none() {
            let reason = format!("job `{name}` has neither `read` nor `write`");
            return wrong("read", reason, AS_WRITTEN);
        }
        for (key, count) in [("read", self.read), ("write", self.write)] {
            let Some(count) = count else { continue };
            let key = &format!("{key}.iops");
            let Some(rate) = count.iops else {
                let reason = format!(
                    "the key is missing, or is no number; job `{name}` counts {} operations there",
                    count.total_ios
                );
                return wrong(key, reason, AS_WRITTEN);
            };
            if !(rate.is_finite() && rate >= 0.0) {
                return wrong(key, format!("job `{name}` has no valid rate"), "measure again");
            }
        }
        if self.counts().iter().all(|(_, count)| count.rate() == 0.0) {
            let reason = format!("job `{name}` did no I/O: reads and writes are zero");
            return wrong("read.iops", reason, "leave the job out, or find out why it did no I/O");
        }
        Ok(())
    }

    /// The requested read share.
    fn read_percent(&self, asked: &Asked<'_>) -> f64 {
        let [read, write] = self.counts().map(|(_, count)| count.rate());
        if write == 0.0 {
            return 100.0;
        }
        if read == 0.0 {
            return 0.0;
        }
        let seen = 100.0 * read / (read + write);
        let reads = asked.number("rwmixread");
        let percent = reads.or_else(|| Some(100.0 - asked.number("rwmixwrite")?)).unwrap_or(50.0);
        // The drawn share is near the requested one; if not, something else determined it (the end of a file,
        // two rates).
        let near = (percent - seen).abs() <= 5.0 && percent > 0.0 && percent < 100.0;
        if near { percent } else { seen.round().clamp(1.0, 99.0) }
    }

    /// The requested sizes, checked against the bytes moved.
    fn parts(
        &self,
        file: File<'_>,
        asked: &Asked<'_>,
        percent: f64,
        place: &str,
    ) -> Result<(Vec<Part>, Shares), ImportError> {
        let wrong = |key: &str, reason: String, hint: &str| {
            ImportError::new(file.name, reason).key(format!("{place}.job options.{key}")).hint(hint)
        };
        if let Some(range) = asked.text(&["bsrange", "blocksize_range"]) {
            let hint = "measure size by size, or with `bssplit`";
            return Err(wrong("bsrange", format!("sizes were drawn from the range {range}"), hint));
        }
        let kilo = if asked.number("kb_base") == Some(1000.0) { 1000 } else { 1024 };
        if let Some(split) = asked.text(&["bssplit"]) {
            let sizes =
                size::split(&split, kilo).filter(|sizes| sizes.len() <= PARTS_MAX).ok_or_else(|| {
                    wrong(
                        "bssplit",
                        format!("`{split}` is not a supported split of sizes in percent"),
                        "write it as 16k/50:256k/50",
                    )
                })?;
            let mean = sizes.iter().map(|(size, share)| *size as f64 * share / 100.0).sum();
            self.moved(file, place, (mean, mean), true)?;
            let part =
                |&(size_bytes, share_percent)| Part { size_bytes, share_percent, read_percent: percent };
            return Ok((sizes.iter().map(part).collect(), Shares::Operations));
        }
        // The default of fio.
        let text = asked.text(&["bs", "blocksize"]).unwrap_or_else(|| "4096".to_owned());
        let Sizes { reads, writes } = size::sizes(&text, kilo)
            .ok_or_else(|| wrong("bs", format!("`{text}` is not a size"), "write it as 4k or 4096"))?;
        self.moved(file, place, (reads as f64, writes as f64), false)?;
        let parts = match percent {
            100.0 => vec![Part::alone(reads, 100.0)],
            0.0 => vec![Part::alone(writes, 0.0)],
            _ if reads == writes => vec![Part::alone(reads, percent)],
            _ => vec![
                Part { size_bytes: reads, share_percent: percent, read_percent: 100.0 },
                Part { size_bytes: writes, share_percent: 100.0 - percent, read_percent: 0.0 },
            ],
        };
        Ok((parts, Shares::Operations))
    }

    fn moved(
        &self,
        file: File<'_>,
        place: &str,
        (reads, writes): (f64, f64),
        drawn: bool,
    ) -> Result<(), ImportError> {
        for ((key, count), size) in self.counts().into_iter().zip([reads, writes]) {
            let (off, few) = if drawn { SPLIT_OFF } else { (SIZE_OFF, 0) };
            if count.total_ios <= few || count.io_bytes == 0 {
                continue;
            }
            let mean = count.io_bytes as f64 / count.total_ios as f64;
            if (mean - size).abs() > off * size {
                let reason = format!(
                    "job `{}` moved {mean:.0} bytes per operation, but its options say {size:.0}",
                    self.name
                );
                return Err(ImportError::new(file.name, reason)
                    .key(format!("{place}.{key}.io_bytes"))
                    .hint("`group_reporting` merges jobs of several sizes into one: leave it out"));
            }
        }
        Ok(())
    }
}
