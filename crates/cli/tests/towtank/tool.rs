//! Runs the binary in its own folder, with an environment that contains only what a test sets.

use std::fmt;
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

use flate2::read::GzDecoder;

/// A folder to run in.
pub struct Folder(PathBuf);

/// The output and exit code of a command.
pub struct Said {
    pub stdout: String,
    pub stderr: String,
    pub code: i32,
}

/// A single counter at a load of one half, with a short run.
pub const COUNTER: &str = "\
study = \"queue\"
replicates = 3
warm_up = \"10s\"
span = \"100s\"

[stations.counter]
service_rate = \"10/s\"
arrival_rate = \"5/s\"
";

/// The exports of the guide's cluster, as flags of the studies that read them.
pub const EXPORTS: [&str; 6] =
    ["--crush-map", "crush.txt", "--osd-dump", "osd_dump.json", "--pg-dump", "pg_dump.json.gz"];

/// A file of the guide's cluster.
pub fn example(file: &str) -> Vec<u8> {
    let examples = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/examples/cluster");
    fs::read(examples.join(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
}

/// The dump of the groups of the guide's cluster.
pub fn groups() -> String {
    let mut text = String::new();
    GzDecoder::new(&example("pg_dump.json.gz")[..]).read_to_string(&mut text).expect("it is packed by gzip");
    text
}

impl Folder {
    /// An empty folder of this test alone.
    pub fn new(name: &str) -> Folder {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("towtank").join(format!("{name}-{number}"));
        if path.exists() {
            fs::remove_dir_all(&path).expect("the folder of an earlier run can be removed");
        }
        fs::create_dir_all(&path).expect("a folder can be made");
        Folder(path)
    }

    /// An empty folder with `counter.toml` in it.
    pub fn with_counter(name: &str) -> Folder {
        let folder = Folder::new(name);
        folder.write("counter.toml", COUNTER);
        folder
    }

    /// The exports of the guide's cluster.
    pub fn with_cluster(name: &str) -> Folder {
        let folder = Folder::new(name);
        for file in EXPORTS.into_iter().filter(|word| !word.starts_with('-')) {
            folder.write(file, example(file));
        }
        folder
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    pub fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        let path = self.0.join(name);
        fs::create_dir_all(path.parent().expect("it is in the folder")).expect("a folder can be made");
        fs::write(path, text).expect("a file can be written");
    }

    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.0.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// A command that is ready to run.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_towtank"));
        command.args(args).current_dir(&self.0).env_clear().env("LANG", "C.UTF-8").stdin(Stdio::null());
        command
    }

    /// Runs the command.
    pub fn run(&self, args: &[&str]) -> Said {
        Said::of(self.command(args).output().expect("the binary can be run"))
    }
}

impl Said {
    pub fn of(output: Output) -> Said {
        let text = |bytes| String::from_utf8(bytes).expect("all output is UTF-8");
        Said {
            stdout: text(output.stdout),
            stderr: text(output.stderr),
            code: output.status.code().expect("it ended by itself"),
        }
    }

    /// The output without the digits of keys and hashes, which change with every change of a model.
    pub fn without_keys(&self) -> String {
        let text = self.to_string();
        let words = text.split_inclusive(|c: char| !c.is_ascii_hexdigit());
        let mask = |word: &str| {
            let end = word.trim_end_matches(|c: char| !c.is_ascii_hexdigit()).len();
            if end == 32 { format!("KEY{}", &word[end..]) } else { word.to_owned() }
        };
        words.map(mask).collect()
    }

    /// A short form for snapshots: the answer, the warnings and the exit code, without title and tables.
    pub fn brief(&self) -> String {
        let front = self.stdout.lines().skip(1).take_while(|line| !line.starts_with("Summary"));
        format!("{}\n{}exit {}", front.collect::<Vec<_>>().join("\n").trim_end(), self.stderr, self.code)
    }

    /// Asserts success, and returns stdout.
    pub fn data(self) -> String {
        assert_eq!(self.code, 0, "{}", self.stderr);
        self.stdout
    }
}

/// Messages on stderr and the exit code; data only if there is some.
impl fmt::Display for Said {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.stdout.is_empty() {
            writeln!(f, "{}--", self.stdout)?;
        }
        write!(f, "{}exit {}", self.stderr, self.code)
    }
}
