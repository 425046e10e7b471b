//! The shell lines that keep of the next recovery what can be learned from. They only ask.

use std::fmt::Write as _;

/// What to keep, and where.
#[derive(Clone, Debug)]
pub struct Script {
    /// The directory for the files.
    pub dir: String,
    /// Seconds between two questions for the state.
    pub every_s: u64,
    /// The address of Prometheus, if there is one.
    pub prometheus: Option<String>,
    /// The cluster, if it is known.
    pub size: Option<ClusterSize>,
}

/// How large a cluster is.
#[derive(Clone, Copy, Debug)]
pub struct ClusterSize {
    /// Number of groups.
    pub groups: u64,
    /// Number of devices.
    pub devices: u64,
}

/// Seconds between two dumps of groups: they are large, and the course between them is in the states.
const DUMP_EVERY_S: u64 = 600;
/// Bytes of answers, as measured with 16.2.15: 33 groups, 6 devices.
const STATE_BYTES: u64 = 1_800;
const REPORT_BYTES_A_DEVICE: u64 = 4_000;
const DUMP_BYTES_A_GROUP: u64 = 2_300;
const DUMP_BYTES_A_DEVICE: u64 = 2_500;
const COUNTERS_BYTES_A_DEVICE: u64 = 5_000;
/// By how much gzip shrinks a dump of groups: 12 to 13 there.
const SHRINKS: u64 = 12;

/// The metrics that are read.
const METRICS: &str = "ceph_num_objects_.*|ceph_osd_(up|in|recovery_ops|recovery_bytes)|ceph_pg_(total|clean)|ceph_pool_recovering_(bytes|objects)_per_sec";

impl Script {
    /// The lines.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = self.head();
        let (dir, every_s) = (quoted(&self.dir), self.every_s);
        let dump_rounds = (DUMP_EVERY_S / every_s.max(1)).max(1);
        let lines = format!(
            "set -u\n\
             dir={dir}\n\
             mkdir -p -- \"$dir\" && cd -- \"$dir\" || exit 1\n\
             # Nothing that was kept before is written over.\n\
             run=$(date -u +%Y%m%dT%H%M%SZ)\n\
             begin=$(($(date +%s) - 600))\n\
             exports() {{\n\
             \x20 ceph report -f json >\"$run.$1.report.json\"\n\
             \x20 ceph pg dump -f json | gzip >\"$run.$1.pg_dump.json.gz\"\n\
             \x20 ceph tell 'osd.*' perf dump osd >\"$run.$1.perf_dump.txt\"\n\
             }}\n\
             exports before\n\
             ceph -w >\"$run.watch.log\" & watch=$!\n\
             going=yes round=0\n\
             trap 'going=no' INT TERM\n\
             while [ \"$going\" = yes ]; do\n\
             \x20 {{ date -u +%Y-%m-%dT%H:%M:%SZ; ceph -s -f json; echo; }} >>\"$run.status.txt\"\n\
             \x20 round=$((round + 1))\n\
             \x20 [ $((round % {dump_rounds})) -ne 0 ] || ceph pg dump -f json | gzip >\"$run.round$round.pg_dump.json.gz\"\n\
             \x20 [ \"$going\" = no ] || sleep {every_s}\n\
             done\n\
             kill \"$watch\"\n\
             exports after\n\
             # A monitor's /var/log/ceph/ceph.log says more: counts each 2 s. Copy it here too, if there is one.\n"
        );
        text += &lines;
        text += &self.metrics();
        text
    }

    /// What is asked of whom, and how much of it comes.
    fn head(&self) -> String {
        let every_s = self.every_s;
        let an_hour = size(STATE_BYTES * 3_600 / every_s.max(1));
        let mut text = String::from(
            "#!/bin/sh\n\
             # Keeps what can be learned from the next recovery. Start it before, or as soon as something fails, where\n\
             # `ceph -s` works; end it with Ctrl-C when all is clean. It only asks, and changes nothing.\n",
        );
        let here = self.size.map_or(String::new(), |ClusterSize { groups, devices }| {
            format!(" (here {groups} groups, {devices} devices)")
        });
        let [report, dump, counters] = self.sizes();
        let rows = [
            ("ceph -s", "the monitor", format!("{} each {every_s} s, {an_hour} an hour", size(STATE_BYTES))),
            ("ceph report", "the monitor", format!("{report}, twice")),
            (
                "ceph pg dump",
                "the manager",
                format!("{dump}, twice and each {} min; with gzip a {SHRINKS}th of it", DUMP_EVERY_S / 60),
            ),
            ("ceph tell", "each device", format!("{counters}, twice")),
            ("ceph -w", "the monitor", "0.1 to 0.3kB for each entry of the cluster log".to_owned()),
        ];
        writeln!(text, "# What is asked of whom, and how much comes{here}:").expect("writing to a string");
        for (what, who, much) in rows {
            writeln!(text, "#   {what:<14} {who:<12} {much}").expect("writing to a string");
        }
        text += "# All of it is answered from memory. On a large cluster, ask once by hand before, and look how long it takes.\n";
        text
    }

    fn sizes(&self) -> [String; 3] {
        match self.size {
            Some(ClusterSize { groups, devices }) => {
                let of = |each: u64, count: u64| each.saturating_mul(count);
                let dump = of(DUMP_BYTES_A_GROUP, groups).saturating_add(of(DUMP_BYTES_A_DEVICE, devices));
                [of(REPORT_BYTES_A_DEVICE, devices), dump, of(COUNTERS_BYTES_A_DEVICE, devices)].map(size)
            }
            None => [
                format!("{} a device", size(REPORT_BYTES_A_DEVICE)),
                format!("{} a group and {} a device", size(DUMP_BYTES_A_GROUP), size(DUMP_BYTES_A_DEVICE)),
                format!("{} a device", size(COUNTERS_BYTES_A_DEVICE)),
            ],
        }
    }

    fn metrics(&self) -> String {
        let Some(address) = &self.prometheus else {
            return "# With Prometheus, `towtank record --prometheus http://HOST:9090` prints the line for it too.\n".to_owned();
        };
        let url = quoted(&format!("{}/api/v1/query_range", address.trim_end_matches('/')));
        format!(
            "curl -sS -G {url} --data-urlencode 'query={{__name__=~\"{METRICS}\"}}' \\\n\
             \x20 --data-urlencode \"start=$begin\" --data-urlencode \"end=$(date +%s)\" --data-urlencode step=15 >\"$run.prometheus.json\"\n"
        )
    }
}

/// Bytes with two digits at least.
fn size(bytes: u64) -> String {
    match bytes {
        0..10_000 => format!("{:.1}kB", bytes as f64 / 1e3),
        10_000..1_000_000 => format!("{}kB", bytes / 1_000),
        1_000_000..10_000_000 => format!("{:.1}MB", bytes as f64 / 1e6),
        10_000_000..1_000_000_000 => format!("{}MB", bytes / 1_000_000),
        _ => format!("{:.1}GB", bytes as f64 / 1e9),
    }
}

/// A word of a shell, whatever is in it.
fn quoted(word: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./:".contains(letter);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_a_shell_are_quoted() {
        for (word, want) in [
            ("past/of-1.2", "past/of-1.2"),
            ("", "''"),
            ("a b", "'a b'"),
            ("it's; rm -r $HOME", r"'it'\''s; rm -r $HOME'"),
        ] {
            assert_eq!(quoted(word), want);
        }
    }

    #[test]
    fn sizes_have_units() {
        let sizes = [1_800, 432_000, 2_800_000, 230_000_000, 1_500_000_000].map(size);
        assert_eq!(sizes, ["1.8kB", "432kB", "2.8MB", "230MB", "1.5GB"]);
    }
}
