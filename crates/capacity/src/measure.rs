//! The benchmark runs that measure what a model needs, as commands of fio or warp.
//!
//! The set-ups: that of the paper (III-B: runs of 5 minutes, 8 jobs with 32 operations each for block
//! devices, 32 workers on 16,000 objects for object storage), and a quick one with pure loads and one mix.
//! The paper names no sizes for its block devices; 4 KiB to 1 MiB by powers of two are assumed, with read
//! shares in steps of 10 %, as in its figure 2. Its three cases of two sizes at once (figures 4 and 5) are
//! measured in one stream that draws a size for each operation.
//!
//! Left out: two sizes at once of object storage, for which warp has no option, and running anything.

use towtank_units::{Bytes, SimSpan};

/// What is measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// A file, which is filled and overwritten.
    File(String),
    /// An image of a pool of a Ceph cluster, which is overwritten.
    Rbd {
        /// The pool.
        pool: String,
        /// The image.
        image: String,
    },
    /// A bucket of an object storage.
    S3 {
        /// Host and port.
        host: String,
        /// Whether it is reached by TLS.
        tls: bool,
        /// The bucket, which warp empties.
        bucket: String,
    },
}

/// Why a target is none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct TargetError {
    /// What is wrong.
    pub reason: String,
    /// What to write.
    pub hint: &'static str,
}

impl Target {
    /// Reads a target: `rbd:POOL/IMAGE`, `s3:[http://|https://]HOST[:PORT]/BUCKET`, or the path of a file.
    ///
    /// # Errors
    /// If a part is missing.
    pub fn parse(text: &str) -> Result<Target, TargetError> {
        let fault = |reason: String, hint| TargetError { reason, hint };
        let parts = |rest: &str| {
            let (first, second) = rest.split_once('/')?;
            let whole = !first.is_empty() && !second.is_empty() && !second.contains('/');
            (whole && !rest.contains(is_strange)).then(|| (first.to_owned(), second.to_owned()))
        };
        if let Some(rest) = text.strip_prefix("rbd:") {
            let (pool, image) = parts(rest)
                .ok_or_else(|| fault(format!("`{text}` names no image of a pool"), "write rbd:POOL/IMAGE"))?;
            return Ok(Target::Rbd { pool, image });
        }
        if let Some(rest) = text.strip_prefix("s3:") {
            let (tls, rest) = match (rest.strip_prefix("https://"), rest.strip_prefix("http://")) {
                (Some(rest), _) => (true, rest),
                (_, Some(rest)) => (false, rest),
                _ => (false, rest),
            };
            let (host, bucket) = parts(rest).ok_or_else(|| {
                fault(format!("`{text}` names no bucket of a host"), "write s3:https://HOST:PORT/BUCKET")
            })?;
            return Ok(Target::S3 { host, tls, bucket });
        }
        if text.is_empty() || text.contains('\n') {
            return Err(fault(format!("`{text}` is no path"), "name a file that does not exist yet"));
        }
        Ok(Target::File(text.to_owned()))
    }
}

/// Characters that names of pools, images, hosts and buckets do not have, or that a shell would read.
fn is_strange(letter: char) -> bool {
    letter.is_whitespace() || letter.is_control() || "'\"\\$`;&|<>*?()".contains(letter)
}

/// Two sizes at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Case {
    /// The two sizes.
    pub sizes: [Bytes; 2],
    /// The share of reads of both, in percent.
    pub reads: u32,
}

/// The paper's cases.
const CASES: [Case; 3] = [
    Case { sizes: [Bytes::from_kib(16), Bytes::from_kib(1024)], reads: 100 },
    Case { sizes: [Bytes::from_kib(64), Bytes::from_kib(1024)], reads: 0 },
    Case { sizes: [Bytes::from_kib(16), Bytes::from_kib(512)], reads: 50 },
];

/// The shares of the first of two sizes, in percent: 10/90 to 90/10.
const RATIOS: [u32; 5] = [10, 30, 50, 70, 90];

/// Which runs are made, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetUp {
    /// Sizes of operations.
    pub sizes: Vec<Bytes>,
    /// Shares of reads in percent. Pure reads and pure writes are always measured.
    pub reads: Vec<u32>,
    /// Two sizes at once, at five ratios each. A case is left out where one of its sizes is not measured
    /// alone, since nothing could be estimated of it.
    pub cases: Vec<Case>,
    /// How often pure loads are measured; mixes are measured once.
    pub repeat: u32,
    /// How long a run takes.
    pub runtime: SimSpan,
    /// Operations of a job at once.
    pub depth: u32,
    /// Jobs at once.
    pub jobs: u32,
    /// Bytes of the file or image that are used.
    pub span: Bytes,
    /// Number of objects.
    pub objects: u32,
}

impl SetUp {
    /// The set-up of the paper.
    #[must_use]
    pub fn paper() -> SetUp {
        SetUp {
            sizes: (12..=20).map(|bits| Bytes::new(1 << bits)).collect(),
            reads: (0..=10).map(|tenth| 10 * tenth).collect(),
            cases: CASES.to_vec(),
            repeat: 1,
            runtime: SimSpan::from_secs(300),
            depth: 32,
            jobs: 8,
            span: Bytes::new(100_000_000_000),
            objects: 16_000,
        }
    }

    /// Two runs of a minute for each pure load, and one of half reads and half writes.
    #[must_use]
    pub fn quick() -> SetUp {
        SetUp {
            sizes: [12, 16, 20].map(|bits| Bytes::new(1 << bits)).to_vec(),
            reads: vec![0, 50, 100],
            cases: Vec::new(),
            repeat: 2,
            runtime: SimSpan::from_secs(60),
            depth: 32,
            jobs: 1,
            span: Bytes::new(4 << 30),
            objects: 2_500,
        }
    }
}

/// A command that measures one point, or prepares the target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// What it does.
    pub about: String,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// The file with the result, as `capacity fit` reads it; none for a step that measures nothing.
    pub result: Option<String>,
}

/// The steps that measure a target, with their results in the folder `out`. Reads of all sizes come first,
/// then mixes, then writes, and repeated runs are as far apart as possible, so that a slow change of the
/// system shows as a difference between them.
#[must_use]
pub fn steps(target: &Target, set_up: &SetUp, out: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = fill(target, set_up).into_iter().collect();
    let mut shares = [&set_up.reads[..], &[0, 100]].concat();
    shares.sort_unstable_by(|left, right| right.cmp(left));
    shares.dedup();
    for run in 1..=set_up.repeat.max(1) {
        for &share in &shares {
            let pure = share == 0 || share == 100;
            if run > 1 && !pure {
                continue;
            }
            if run == 1 && share == 0 {
                steps.extend(two_sizes(target, set_up, out));
            }
            for size in &set_up.sizes {
                steps.extend(measuring(target, set_up, Mix { size: *size, share, run }, out));
            }
        }
    }
    steps
}

/// The time that all runs take together, without preparations.
#[must_use]
pub fn time_of(steps: &[Step], set_up: &SetUp) -> SimSpan {
    let runs = steps.iter().filter(|step| step.result.is_some()).count() as u64;
    SimSpan::from_ns(set_up.runtime.as_ns().saturating_mul(runs))
}

fn words(all: &[&str]) -> Vec<String> {
    all.iter().map(|word| (*word).to_owned()).collect()
}

/// fio's arguments for a target.
fn of_target(target: &Target) -> Vec<String> {
    match target {
        Target::File(path) => {
            vec![
                format!("--filename={}", path.replace(':', "\\:")),
                "--ioengine=libaio".to_owned(),
                "--direct=1".to_owned(),
            ]
        }
        Target::Rbd { pool, image } => {
            vec!["--ioengine=rbd".to_owned(), format!("--pool={pool}"), format!("--rbdname={image}")]
        }
        Target::S3 { .. } => Vec::new(),
    }
}

/// Writes the whole target once: blocks that nobody has written are read without any work of the devices.
fn fill(target: &Target, set_up: &SetUp) -> Option<Step> {
    if matches!(target, Target::S3 { .. }) {
        return None;
    }
    let mut command = words(&["fio", "--name=fill", "--rw=write", "--bs=1M", "--iodepth=32"]);
    command.extend(of_target(target));
    command.push(format!("--size={}", set_up.span.get()));
    Some(Step { about: format!("fill {}", set_up.span), command, result: None })
}

/// Runs of two sizes at once; none for object storage.
fn two_sizes(target: &Target, set_up: &SetUp, out: &str) -> Vec<Step> {
    if matches!(target, Target::S3 { .. }) {
        return Vec::new();
    }
    let alone = |case: &&Case| case.sizes.iter().all(|size| set_up.sizes.contains(size));
    let runs = set_up.cases.iter().filter(alone).flat_map(|case| RATIOS.map(|first| (case, first)));
    let step = |(case, first): (&Case, u32)| {
        let ([one, other], reads) = (case.sizes, case.reads);
        let name = format!("{one}-{other}-r{reads}-{first}").replace(' ', "");
        let split = format!("--bssplit={}/{first}:{}/{}", one.get(), other.get(), 100 - first);
        Step {
            about: format!("{first} % of {one} and {} % of {other}, {reads} % reads", 100 - first),
            ..of_fio(target, set_up, Fio { name: &name, size: split, share: reads, seed: 1_000 + first }, out)
        }
    };
    runs.map(step).collect()
}

/// What a run of fio does.
struct Fio<'a> {
    name: &'a str,
    /// The flag of its block size.
    size: String,
    /// Percent of reads.
    share: u32,
    seed: u32,
}

/// A run of fio, without its description.
fn of_fio(target: &Target, set_up: &SetUp, fio: Fio<'_>, out: &str) -> Step {
    let Fio { name, size, share, seed } = fio;
    let result = format!("{out}/{name}.json");
    let seconds = set_up.runtime.as_ns().div_ceil(1_000_000_000);
    let mut command = words(&["fio"]);
    command.push(format!("--name={name}"));
    command.extend(match share {
        0 => words(&["--rw=randwrite"]),
        100 => words(&["--rw=randread"]),
        share => vec!["--rw=randrw".to_owned(), format!("--rwmixread={share}")],
    });
    command.push(size);
    command.extend([format!("--iodepth={}", set_up.depth), format!("--numjobs={}", set_up.jobs)]);
    command.extend(of_target(target));
    command.push(format!("--size={}", set_up.span.get()));
    // Each run draws its own offsets; otherwise a repeated run would read the same blocks again.
    command.extend([format!("--randseed={seed}"), "--norandommap".to_owned()]);
    command.extend([format!("--runtime={seconds}"), "--time_based".to_owned()]);
    command.extend(words(&["--group_reporting", "--output-format=json"]));
    command.push(format!("--output={result}"));
    Step { about: String::new(), command, result: Some(result) }
}

/// A size, percent of reads, and how often both were measured before.
#[derive(Clone, Copy)]
struct Mix {
    size: Bytes,
    share: u32,
    run: u32,
}

fn measuring(target: &Target, set_up: &SetUp, mix: Mix, out: &str) -> Vec<Step> {
    let Mix { size, share, run } = mix;
    let about = format!("{size}, {share} % reads, run {run}");
    let name = format!("{}-r{share}-{run}", size.to_string().replace(' ', ""));
    let seconds = set_up.runtime.as_ns().div_ceil(1_000_000_000);
    let Target::S3 { host, tls, bucket } = target else {
        let block = format!("--bs={}", size.get());
        let step =
            of_fio(target, set_up, Fio { name: &name, size: block, share, seed: 1_000 * run + share }, out);
        return vec![Step { about, ..step }];
    };
    let mut command = words(&["warp"]);
    command.push(match share {
        0 => "put".to_owned(),
        100 => "get".to_owned(),
        _ => "mixed".to_owned(),
    });
    command.push(format!("--host={host}"));
    command.extend(tls.then(|| "--tls".to_owned()));
    command.extend([format!("--bucket={bucket}"), format!("--obj.size={}", size.get())]);
    command.extend([format!("--concurrent={}", set_up.depth), format!("--duration={seconds}s")]);
    if share > 0 {
        command.push(format!("--objects={}", set_up.objects));
    }
    if (1..100).contains(&share) {
        command.extend([format!("--get-distrib={share}"), format!("--put-distrib={}", 100 - share)]);
        command.extend(words(&["--stat-distrib=0", "--delete-distrib=0"]));
    }
    command.push(format!("--benchdata={out}/{name}"));
    let result = format!("{out}/{name}.csv");
    let analyze = [
        "warp".to_owned(),
        "analyze".to_owned(),
        format!("--analyze.out={result}"),
        format!("{out}/{name}.csv.zst"),
    ];
    vec![
        Step { about, command, result: None },
        Step { about: format!("its result as {result}"), command: analyze.to_vec(), result: Some(result) },
    ]
}

/// A word as a shell reads it.
fn quoted(word: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_=./:,+@%".contains(letter);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// The steps as a script for a POSIX shell.
#[must_use]
pub fn script(target: &Target, set_up: &SetUp, out: &str) -> String {
    let steps = steps(target, set_up, out);
    let runs = steps.iter().filter(|step| step.result.is_some()).count();
    let mut text = "#!/bin/sh\n".to_owned();
    let [one, all] = [set_up.runtime, time_of(&steps, set_up)]
        .map(|span| towtank_report::human::quantity(span.as_secs_f64(), "s"));
    text += &format!("# {runs} runs of {one}: {all} in all.\n");
    text += match target {
        Target::File(_) => "# The file is overwritten. It must lie on what is to be measured.\n",
        Target::Rbd { .. } => {
            "# THE IMAGE IS OVERWRITTEN: what it holds is lost. Make one for this purpose, of this size.\n"
        }
        Target::S3 { .. } => {
            "# warp EMPTIES THE BUCKET. It reads the keys from WARP_ACCESS_KEY and WARP_SECRET_KEY.\n"
        }
    };
    text += &format!("set -eu\nmkdir -p {}\n", quoted(out));
    for step in &steps {
        let command: Vec<String> = step.command.iter().map(|word| quoted(word)).collect();
        text += &format!("# {}\n{}\n", step.about, command.join(" "));
    }
    let kind = if matches!(target, Target::S3 { .. }) { "csv" } else { "json" };
    text + &format!("towtank capacity fit {}/*.{kind} -o {}\n", quoted(out), quoted(&model_of(out)))
}

/// The file of the model that is fitted to the results in a folder. It lies beside the folder, so that it is
/// not taken for a result.
#[must_use]
pub fn model_of(out: &str) -> String {
    format!("{}-model.json", out.trim_end_matches('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_read() {
        let text = |text: &str| text.to_owned();
        assert_eq!(Target::parse("a b"), Ok(Target::File(text("a b"))));
        let image = Target::Rbd { pool: text("rbd"), image: text("one") };
        assert_eq!(Target::parse("rbd:rbd/one"), Ok(image));
        let bucket = |tls| Ok(Target::S3 { host: text("here:80"), tls, bucket: text("b") });
        assert_eq!(Target::parse("s3:https://here:80/b"), bucket(true));
        assert_eq!(Target::parse("s3:http://here:80/b"), bucket(false));
        assert_eq!(Target::parse("s3:here:80/b"), bucket(false));
        for wrong in ["rbd:one", "rbd:/one", "rbd:a/b/c", "s3:https://here", "s3:/b", "s3:h/b;rm", ""] {
            assert!(Target::parse(wrong).is_err(), "{wrong}");
        }
    }

    /// Pure loads are repeated and far apart, mixes are measured once, and no result has two runs.
    #[test]
    fn every_point_is_measured() {
        let set_up = SetUp { reads: vec![50], ..SetUp::quick() };
        let steps = steps(&Target::File("f".to_owned()), &set_up, "out");
        let mut results: Vec<&str> = steps.iter().filter_map(|step| step.result.as_deref()).collect();
        assert_eq!(results.len(), 3 * (2 + 1 + 2));
        assert_eq!(&results[..2], ["out/4KiB-r100-1.json", "out/64KiB-r100-1.json"]);
        assert!(results.contains(&"out/1MiB-r0-2.json") && !results.contains(&"out/1MiB-r50-2.json"));
        results.sort_unstable();
        assert!(results.windows(2).all(|pair| pair[0] != pair[1]));
        assert_eq!(time_of(&steps, &set_up), SimSpan::from_secs(15 * 60));
        assert!(steps[0].result.is_none() && steps[0].command.contains(&"--name=fill".to_owned()));
        let paper = SetUp::paper();
        let steps = super::steps(&Target::parse("rbd:a/b").expect("it is one"), &paper, "out");
        assert_eq!(time_of(&steps, &paper), SimSpan::from_secs((9 * 11 + 3 * 5) * 300));
    }

    /// The paper's cases of two sizes, where both are measured alone; warp cannot draw from two sizes.
    #[test]
    fn two_sizes_at_once_are_measured_where_both_are_known_alone() {
        let of = |target: &str, sizes: &[u64]| -> Vec<String> {
            let sizes = sizes.iter().map(|kib| Bytes::from_kib(*kib)).collect();
            let set_up = SetUp { sizes, ..SetUp::paper() };
            let steps = steps(&Target::parse(target).expect("it is one"), &set_up, "out");
            let split = steps.into_iter().filter(|step| step.command.join(" ").contains("split"));
            split.map(|step| format!("{}: {}", step.about, step.command[1..4].join(" "))).collect()
        };
        let both = of("file", &[64, 1024]);
        assert_eq!(both.len(), 5);
        assert_eq!(
            both[1],
            "30 % of 64KiB and 70 % of 1MiB, 0 % reads: --name=64KiB-1MiB-r0-30 --rw=randwrite --bssplit=65536/30:1048576/70"
        );
        assert_eq!(of("file", &[16, 64, 512, 1024]).len(), 15);
        assert_eq!(of("file", &[4, 1024]), [""; 0]);
        assert_eq!(of("s3:h/b", &[64, 1024]), [""; 0]);
    }

    #[test]
    fn a_shell_reads_each_word_as_it_is() {
        assert_eq!(quoted("--bs=4096"), "--bs=4096");
        assert_eq!(quoted("it's"), "'it'\\''s'");
        assert_eq!(quoted(""), "''");
        let text = script(&Target::File("my file".to_owned()), &SetUp::quick(), "out");
        assert!(text.contains(" '--filename=my file' "), "{text}");
        let text = script(&Target::parse("s3:h/b").expect("it is one"), &SetUp::quick(), "out");
        assert!(text.contains("warp mixed --host=h --bucket=b --obj.size=4096"), "{text}");
        assert!(
            text.contains("warp analyze --analyze.out=out/4KiB-r50-1.csv out/4KiB-r50-1.csv.zst"),
            "{text}"
        );
        assert!(!text.contains("--tls"));
    }
}
