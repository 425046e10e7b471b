//! Connections of strangers to each listener of a store: silent ones, handshakes that do not finish, and a
//! good one that was recorded and is sent again. Clients, daemons and scrapes go on meanwhile.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::{Cluster, Said, folder};

/// The most connections of strangers to a port for daemons and clients, with those that are to end.
const STRANGERS_MAX: usize = 64 + 16;

/// The same of the metrics port, with those that are answered.
const SCRAPES_MAX: usize = 32 + 16 + 4;

const PROCESSES: [&str; 2] = ["monitor", "osd.0"];

/// Descriptors and threads that come and go while a process works: its own connections, and files of tables.
const OTHERS_MAX: usize = 12;

/// How long a handshake may take.
const HANDSHAKE_TIME: Duration = Duration::from_secs(5);

#[allow(clippy::disallowed_methods)]
fn now() -> Instant {
    Instant::now()
}

/// A cluster of one daemon, whose processes have so many descriptors each, or as many as this one.
fn up(name: &str, files: Option<u32>, planted: &str) -> Cluster {
    let cluster = Cluster(folder(name));
    let limit = files.map_or(String::new(), |files| format!("ulimit -n {files} && "));
    let up = "store up --osds 1 --replicas 1 --groups 2 --grace 2s";
    let mut command = Command::new("sh");
    command.args(["-c", &format!("{limit}exec \"$0\" {up}"), env!("CARGO_BIN_EXE_towtank")]);
    command.env("TOWTANK_STORE", &cluster.0).env("TOWTANK_DOORS_PLANTED", planted);
    Said::of(&command.output().expect("the command can be run")).done();
    cluster
}

fn pid(cluster: &Cluster, name: &str) -> u32 {
    let text = fs::read_to_string(cluster.0.join(format!("run/{name}.pid"))).expect("it runs");
    text.trim().parse().expect("a number")
}

/// The descriptors and the threads of a process.
fn held(pid: u32) -> [usize; 2] {
    let count = |what: &str| fs::read_dir(format!("/proc/{pid}/{what}")).expect("it runs").count();
    [count("fd"), count("task")]
}

/// Hundredths of a second of processor time that a process has used.
fn ticks(pid: u32) -> u64 {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).expect("it runs");
    let fields: Vec<&str> = stat.rsplit(") ").next().expect("there is a name").split_whitespace().collect();
    [11, 12].iter().map(|at| fields[*at].parse::<u64>().expect("a number")).sum()
}

/// The addresses of the monitor, the daemon and the metrics.
fn targets(cluster: &Cluster) -> [String; 3] {
    let read = |name: &str| fs::read_to_string(cluster.0.join(name)).expect("the monitor writes it");
    let osd = cluster.standing()["osds"][0]["address"].as_str().expect("it is up").to_owned();
    [read("monitor.address"), osd, read("metrics.address")]
}

/// The first message of a good handshake, as the command sends it to what it takes for its monitor.
fn recorded(cluster: &Cluster) -> Vec<u8> {
    let copy = folder(&format!("{}-copy", cluster.0.file_name().expect("it has one").display()));
    fs::create_dir_all(&copy).expect("a directory can be made");
    for name in ["cluster.json", "cluster.key", "cluster.id"] {
        fs::copy(cluster.0.join(name), copy.join(name)).expect("a file can be copied");
    }
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has a port");
    let at = listener.local_addr().expect("it is bound").to_string();
    fs::write(copy.join("monitor.address"), at).expect("a file can be written");
    let mut command = Command::new(env!("CARGO_BIN_EXE_towtank"));
    command.args(["store", "status", "--dir"]).arg(&copy).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().expect("the command can be run");
    let mut stream = listener.accept().expect("it connects").0;
    let mut message = vec![0; 2];
    stream.read_exact(&mut message).expect("it greets");
    let length = u16::from_be_bytes([message[0], message[1]]);
    message.resize(2 + usize::from(length), 0);
    stream.read_exact(&mut message[2..]).expect("it greets");
    drop(stream);
    child.wait().expect("it ends");
    message
}

/// Connections that have sent these bytes. The other side may have closed them already.
fn crowd(address: &str, count: usize, bytes: &[u8]) -> Vec<TcpStream> {
    let enter = |_| {
        let mut stream = TcpStream::connect(address).expect("it listens");
        let _ = stream.write_all(bytes);
        stream
    };
    (0..count).map(enter).collect()
}

/// Whether an object can be written and read, and the metrics are answered, each within a few seconds.
fn goes_on(cluster: &Cluster, [.., metrics]: &[String; 3]) -> Result<(), String> {
    let scrape = || -> std::io::Result<String> {
        let mut stream = TcpStream::connect(metrics)?;
        stream.set_read_timeout(Some(Duration::from_secs(3)))?;
        stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n")?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok(answer)
    };
    let page = scrape().map_err(|error| format!("no metrics: {error}"))?;
    if !page.starts_with("HTTP/1.1 200") || !page.contains("towtank_osd_up{osd=\"0\"} 1\n") {
        return Err(format!("other metrics: {page}"));
    }
    let file = cluster.0.join("a file");
    fs::write(&file, "words").expect("a file can be written");
    let file = file.to_str().expect("it is text").to_owned();
    for words in
        [&["put", "an object", &file, "--timeout", "10s"][..], &["get", "an object", "--timeout", "10s"]]
    {
        let said = cluster.run(words);
        if said.code != 0 {
            return Err(format!("{}: {}", words[0], said.stderr));
        }
    }
    Ok(())
}

/// The connections of crowds at all listeners that the monitor and the daemon hold beyond their limits, and
/// those that they still hold when the time for a handshake is over; an error if something does not go on.
fn endured(cluster: &Cluster, count: usize, bytes: &[u8]) -> Result<[[usize; 2]; 2], String> {
    let all = targets(cluster);
    let pids = PROCESSES.map(|name| pid(cluster, name));
    let before = pids.map(held);
    let beyond = |most: [usize; 2]| {
        let of = |process: usize, what: usize| {
            held(pids[process])[what].saturating_sub(before[process][what] + most[process] + OTHERS_MAX)
        };
        [0, 1].map(|process| of(process, 0).max(of(process, 1)))
    };
    let limits = [STRANGERS_MAX + SCRAPES_MAX, STRANGERS_MAX];
    let crowds: Vec<_> = all.iter().map(|address| crowd(address, count, bytes)).collect();
    let (began, mut most) = (now(), beyond(limits));
    // The last ones may not have been accepted yet.
    while now() - began < Duration::from_secs(1) {
        let now = beyond(limits);
        most = [0, 1].map(|process| now[process].max(most[process]));
        std::thread::sleep(Duration::from_millis(20));
    }
    let goes_on = goes_on(cluster, &all);
    std::thread::sleep((HANDSHAKE_TIME + Duration::from_secs(2)).saturating_sub(now() - began));
    let late = beyond([0, 0]);
    drop(crowds);
    goes_on.map(|()| [most, late])
}

/// What strangers send, by what they do: nothing, half a handshake, and one that was recorded.
fn attacks(cluster: &Cluster) -> [(usize, Vec<u8>); 3] {
    let recorded = recorded(cluster);
    let mut stream = TcpStream::connect(&targets(cluster)[0]).expect("it listens");
    stream.write_all(&recorded).expect("it reads");
    stream.read_exact(&mut [0; 2]).expect("the recorded handshake is a good one: it is answered");
    [(200, Vec::new()), (200, recorded[..20].to_vec()), (500, recorded)]
}

#[test]
fn strangers_hold_few_places_and_not_for_long() {
    let cluster = up("strangers", None, "");
    for (count, bytes) in attacks(&cluster) {
        assert_eq!(endured(&cluster, count, &bytes), Ok([[0, 0], [0, 0]]), "{} bytes", bytes.len());
    }
    assert_eq!(cluster.standing()["osds"][0]["up"], true);
}

/// The planted violation: without limits the same checks see connections beyond them, and handshakes that
/// last.
#[test]
fn strangers_without_limits_are_noticed() {
    let cluster = up("strangers-planted", None, "unbounded");
    for (count, bytes) in attacks(&cluster) {
        let seen = endured(&cluster, count, &bytes).expect("there are descriptors enough");
        assert!(seen.iter().flatten().all(|beyond| *beyond > 50), "{} bytes: {seen:?}", bytes.len());
    }
}

#[test]
fn few_descriptors_suffice_among_strangers() {
    let cluster = up("few-files", Some(64), "");
    let all = targets(&cluster);
    let pids = PROCESSES.map(|name| pid(&cluster, name));
    for (count, bytes) in attacks(&cluster) {
        let crowds: Vec<_> = all.iter().map(|address| crowd(address, count.min(150), &bytes)).collect();
        assert_eq!(goes_on(&cluster, &all), Ok(()), "{} bytes", bytes.len());
        drop(crowds);
    }
    assert_eq!(PROCESSES.map(|name| pid(&cluster, name)), pids);
}

/// Processor time that a monitor without descriptors takes in two seconds, in hundredths of a second, and how
/// many lines it writes about that. Nobody new gets in, and those that it knows stay.
fn without_descriptors(name: &str, planted: &str) -> (u64, usize) {
    let cluster = up(name, Some(64), planted);
    let (all, monitor) = (targets(&cluster), pid(&cluster, "monitor"));
    let epoch = cluster.standing()["map"].as_u64().expect("a number");
    let crowd = crowd(&all[0], 150, b"");
    std::thread::sleep(Duration::from_millis(500));
    let before = ticks(monitor);
    std::thread::sleep(Duration::from_secs(2));
    let used = ticks(monitor) - before;
    assert!(goes_on(&cluster, &all).is_err(), "without limits strangers shut others out");
    // Longer than the time after which a silent daemon is down.
    std::thread::sleep(Duration::from_secs(1));
    drop(crowd);
    let log = fs::read_to_string(cluster.0.join("log/monitor.log")).expect("it is written");
    std::thread::sleep(Duration::from_millis(500));
    assert_eq!(goes_on(&cluster, &all), Ok(()));
    assert_eq!(cluster.standing()["map"].as_u64(), Some(epoch), "no daemon was marked down:\n{log}");
    assert_eq!(pid(&cluster, "monitor"), monitor);
    (used, log.matches("a connection cannot be accepted: Too many open files").count())
}

#[test]
fn a_daemon_without_descriptors_waits() {
    let (used, lines) = without_descriptors("no-files", "unbounded");
    assert!(used < 30, "{used} hundredths of a second");
    assert!((1..=2).contains(&lines), "{lines} lines: one for each port");
    // Planted: one that tries again at once.
    let (used, _) = without_descriptors("no-files-planted", "unbounded,restless");
    assert!(used > 30, "{used} hundredths of a second");
}
