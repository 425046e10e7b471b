//! Tests `towtank store gateway` with common clients: boto3 and rclone.

use std::io::{BufRead as _, BufReader};
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::{Cluster, Said};

/// A gateway that is ended with its test.
struct Gateway {
    child: Child,
    endpoint: String,
    keys: Vec<(String, String)>,
}

impl Gateway {
    fn start(cluster: &Cluster) -> Gateway {
        Gateway::of(cluster, cluster.command(&["gateway"]))
    }

    /// A gateway that may have few files open.
    fn with_few_files(cluster: &Cluster, files: usize) -> Gateway {
        let plain = cluster.command(&["gateway"]);
        let mut command = Command::new("sh");
        command.args(["-c", "ulimit -n $0; exec \"$@\"", &files.to_string()]);
        command.arg(plain.get_program()).args(plain.get_args());
        command.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
        Gateway::of(cluster, command)
    }

    fn of(cluster: &Cluster, mut command: Command) -> Gateway {
        let mut child =
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the command can be run");
        let mut line = String::new();
        let stdout = child.stdout.take().expect("it is piped");
        BufReader::new(stdout).read_line(&mut line).expect("it says where it is");
        let endpoint = line.strip_prefix("S3 at ").and_then(|rest| rest.split(',').next());
        let endpoint = endpoint.unwrap_or_else(|| panic!("{line}")).to_owned();
        assert!(endpoint.starts_with("http://127.0.0.1:"), "{line}");
        let file = std::fs::read_to_string(cluster.0.join("gateway.key")).expect("`up` makes it");
        let pairs = file.lines().filter_map(|line| line.split_once('='));
        let keys: Vec<(String, String)> =
            pairs.map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
        assert!(line.contains(&keys[0].1) && !line.contains(&keys[1].1), "the secret is not printed: {line}");
        Gateway { child, endpoint, keys }
    }

    /// Asks it to end.
    fn end(mut self) {
        kill(Pid::from_raw(self.child.id() as i32), Signal::SIGTERM).expect("it runs");
        let status = self.child.wait().expect("it ends");
        assert_eq!(status.code(), Some(0), "to be stopped is no failure");
    }

    /// Runs a part of `s3.py`. Debian's Python has the boto3 of Debian.
    fn boto(&self, part: &str) {
        self.boto_of("/usr/bin/python3", part);
    }

    fn boto_of(&self, python: &str, part: &str) {
        let said = self.script(python, "s3.py", part);
        assert_eq!((said.code, said.stdout.as_str()), (0, "done\n"), "{}", said.stderr);
    }

    /// Runs a script with an argument and the address of the gateway.
    fn script(&self, python: &str, name: &str, argument: &str) -> Said {
        let script = format!("{}/tests/store/{name}", env!("CARGO_MANIFEST_DIR"));
        let mut command = bare(python);
        command.args([&script, argument, &self.endpoint]).envs(self.keys.iter().cloned());
        Said::of(&command.output().expect("Python is there: scripts/setup.sh packages test"))
    }

    fn rclone(&self, words: &[&str]) -> String {
        let mut command = bare("rclone");
        command.args(words).args(["--config", "/notfound", "--retries", "1"]);
        let [(_, access), (_, secret)] = &self.keys[..] else { panic!("{:?}", self.keys) };
        for (key, value) in [
            ("TYPE", "s3"),
            ("PROVIDER", "Other"),
            ("REGION", "us-east-1"),
            ("ENDPOINT", &self.endpoint),
            ("ACCESS_KEY_ID", access),
            ("SECRET_ACCESS_KEY", secret),
        ] {
            command.env(format!("RCLONE_CONFIG_TANK_{key}"), value);
        }
        let said = Said::of(&command.output().expect("rclone is there: scripts/setup.sh packages test"));
        assert_eq!(said.code, 0, "{words:?}: {}{}", said.stdout, said.stderr);
        said.stdout
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        // It has ended, unless the test failed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A command without the S3 settings of the machine or of the user's home.
fn bare(program: &str) -> Command {
    let mut command = Command::new(program);
    command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default()).env("HOME", "/nonexistent");
    command
}

fn left(cluster: &Cluster, prefix: &str) -> Vec<String> {
    cluster.run(&["ls", prefix]).done().lines().map(str::to_owned).collect()
}

/// All requests of boto3, a restarted gateway, and the remains of a crash.
#[test]
fn boto3_is_answered() {
    let cluster = Cluster::up("boto3", &["--osds", "3", "--groups", "4"]);
    let gateway = Gateway::start(&cluster);
    gateway.boto("all");
    assert_eq!(cluster.run(&["gateway"]).code, 1, "one gateway works on a cluster at a time");
    gateway.end();
    // Orphaned objects, as after a crash between pieces and manifest; and a manifest's own pieces.
    cluster.put("s3/pieces/dead-00000000/000000", b"left behind");
    let before = left(&cluster, "s3/pieces/");
    let cleaned = cluster.run(&["gateway", "--clean"]).done();
    assert_eq!(cleaned, "1 pieces and 0 parts that belonged to nothing are removed\n");
    assert_eq!(left(&cluster, "s3/pieces/").len(), before.len() - 1);
    let gateway = Gateway::start(&cluster);
    gateway.boto("again");
    assert_eq!(left(&cluster, "s3/pieces/"), Vec::<String>::new());
    assert_eq!(left(&cluster, "s3/parts/"), Vec::<String>::new());
    assert_eq!(left(&cluster, "s3/"), Vec::<String>::new());
    gateway.end();
    cluster.verified();
}

/// Python with the newest boto3 that this project knows, which `scripts/python.sh` installs.
fn newest() -> String {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let mut command = Command::new("scripts/python.sh");
    let said = Said::of(&command.arg("s3").current_dir(root).output().expect("the checkout has it"));
    assert_eq!(said.code, 0, "{}", said.stderr);
    format!("{}/python", said.stdout.trim())
}

/// The table of what S3 knows, in the crate of the gateway.
const TABLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../gateway/src/allowed/model.tsv");

/// The newest boto3 is answered too, and of all that it can ask for, what is not honoured gets 501.
#[test]
fn the_newest_botocore_gets_what_the_table_says() {
    let python = newest();
    let cluster = Cluster::up("botocore", &["--osds", "1", "--replicas", "1", "--groups", "1"]);
    let gateway = Gateway::start(&cluster);
    gateway.boto_of(&python, "all");
    gateway.boto_of(&python, "again");
    let said = gateway.script(&python, "s3_model.py", TABLE);
    assert_eq!((said.code, said.stdout.starts_with("done: ")), (0, true), "{}{}", said.stdout, said.stderr);
    // Planted: a table with other verdicts.
    let planted = cluster.0.join("model.tsv");
    let lines = std::fs::read_to_string(TABLE).expect("the checkout has it");
    let wrong: Vec<String> =
        lines
            .lines()
            .filter(|line| line.starts_with("DeleteBucketCors\t") || line.starts_with("HeadBucket\t-\t"))
            .map(|line| {
                if line.ends_with("yes") { line.replace("yes", "no") } else { line.replace("\tno", "\tyes") }
            })
            .collect();
    std::fs::write(&planted, wrong.join("\n")).expect("it can be written");
    let said = gateway.script(&python, "s3_model.py", planted.to_str().expect("it is text"));
    for what in ["DeleteBucketCors - ", "HeadBucket - "] {
        assert!(said.code == 1 && said.stdout.contains(what), "{what}: {}{}", said.stdout, said.stderr);
    }
    gateway.end();
}

/// The table has every operation and parameter that the newest botocore knows. A line that is taken out
/// stands for one that a newer botocore adds.
#[test]
fn what_a_newer_botocore_adds_is_named() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let python = newest();
    let check = |table: &std::path::Path| {
        let mut command = bare(&python);
        command.args(["scripts/s3-model.py", "--check", "--table"]).arg(table).current_dir(root);
        Said::of(&command.output().expect("it can be run"))
    };
    let said = check(TABLE.as_ref());
    assert_eq!((said.code, said.stdout.as_str()), (0, ""), "{}", said.stderr);
    let lines = std::fs::read_to_string(TABLE).expect("the checkout has it");
    let planted: Vec<&str> = lines
        .lines()
        .filter(|line| !line.contains("x-amz-write-offset-bytes") && !line.starts_with("RenameObject\t"))
        .collect();
    let file = std::env::temp_dir().join(format!("towtank-model-{}.tsv", std::process::id()));
    std::fs::write(&file, planted.join("\n")).expect("it can be written");
    let said = check(&file);
    std::fs::remove_file(&file).expect("it was written");
    for what in ["PutObject WriteOffsetBytes", "RenameObject - "] {
        assert!(said.code == 1 && said.stdout.contains(what), "{what}: {}{}", said.stdout, said.stderr);
    }
}

/// Seconds of processor time of a process.
fn processor_seconds(id: u32) -> f64 {
    let text = std::fs::read_to_string(format!("/proc/{id}/stat")).expect("it runs");
    let words: Vec<&str> = text.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    // The 14th and 15th field, in hundredths of a second.
    words[11..13].iter().map(|ticks| ticks.parse::<f64>().expect("it is a number") / 100.0).sum()
}

/// Where silent connections have taken all files, they are closed one after another, and the gateway waits
/// between its attempts.
#[test]
fn a_gateway_without_files_does_not_spin() {
    let cluster = Cluster::up("files", &["--osds", "1", "--replicas", "1", "--groups", "1"]);
    let gateway = Gateway::with_few_files(&cluster, 48);
    let address = gateway.endpoint.trim_start_matches("http://").to_owned();
    let silent: Vec<_> =
        (0..100).map(|_| std::net::TcpStream::connect(&address).expect("the backlog has room")).collect();
    let before = processor_seconds(gateway.child.id());
    std::thread::sleep(std::time::Duration::from_secs(2));
    let used = processor_seconds(gateway.child.id()) - before;
    assert!(used < 0.7, "{used} s of processor time in 2 s");
    gateway.boto("alive");
    drop(silent);
    gateway.end();
}

/// Clients of the gateway do not notice that a daemon is killed.
#[test]
fn rclone_copies_a_tree() {
    let cluster = Cluster::up("rclone", &["--osds", "3", "--groups", "4"]);
    let tree = cluster.0.join("tree");
    for (name, size) in [("a", 0), ("b c", 10), ("d/e", 70_000), ("d/f/ä+&", 300), ("g", 11 << 20)] {
        let path = tree.join(name);
        std::fs::create_dir_all(path.parent().expect("it lies in the tree")).expect("it can be made");
        let data: Vec<u8> = (0..size as u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        std::fs::write(&path, data).expect("it can be written");
    }
    let tree = tree.to_str().expect("it is text");
    let gateway = Gateway::start(&cluster);
    let small = ["--s3-upload-cutoff", "5Mi", "--s3-chunk-size", "5Mi"];
    gateway.rclone(&["mkdir", "tank:bucket"]);
    gateway.rclone(&[&["copy", tree, "tank:bucket/tree"], &small[..]].concat());
    gateway.rclone(&["check", "--download", tree, "tank:bucket/tree"]);
    gateway.rclone(&["check", tree, "tank:bucket/tree"]);
    let mut names: Vec<String> = gateway
        .rclone(&["lsf", "-R", "--files-only", "tank:bucket/tree"])
        .lines()
        .map(str::to_owned)
        .collect();
    names.sort();
    assert_eq!(names, ["a", "b c", "d/e", "d/f/ä+&", "g"]);
    assert_eq!(gateway.rclone(&["lsf", "tank:bucket/tree/d"]), "e\nf/\n");
    cluster.run(&["osd", "kill", "1"]).done();
    gateway.rclone(&["copyto", "tank:bucket/tree/g", "tank:bucket/copy"]);
    gateway.rclone(&["check", "--download", tree, "tank:bucket/tree"]);
    gateway.rclone(&["sync", &format!("{tree}/d"), "tank:bucket/tree"]);
    gateway.rclone(&["check", "--download", &format!("{tree}/d"), "tank:bucket/tree"]);
    gateway.rclone(&["purge", "tank:bucket"]);
    assert_eq!(left(&cluster, "s3/"), Vec::<String>::new());
    gateway.end();
}

#[test]
fn a_gateway_for_others_is_asked_for_by_name() {
    let cluster = Cluster::up("gateway-refusals", &["--osds", "1", "--replicas", "1", "--groups", "1"]);
    let refusal = |words: &[&str]| {
        let said = cluster.run(words);
        format!("{}: {}", said.code, said.stderr.replace(&cluster.0.display().to_string(), "DIR"))
    };
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has a port");
    let taken = listener.local_addr().expect("it is bound").to_string();
    let all = [
        refusal(&["gateway", "--listen", "0.0.0.0:0"]),
        refusal(&["gateway", "--listen", "somewhere"]),
        refusal(&["gateway", "--listen", &taken]).replace(&taken, "TAKEN"),
        {
            std::fs::write(cluster.0.join("gateway.key"), "nonsense").expect("it can be written");
            refusal(&["gateway"])
        },
    ];
    insta::assert_snapshot!(all.join("\n"));
}
