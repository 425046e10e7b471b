//! The processes of a cluster on this machine: which of them run, and how to start and end them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::OpenOptions;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};

use crate::StoreError;
use crate::clock::now;
use crate::lock;
use crate::settings::{Home, SettingsError};

/// A process of a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Daemon {
    /// The monitor.
    Monitor,
    /// A device daemon.
    Osd(u32),
}

impl std::fmt::Display for Daemon {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Daemon::Monitor => to.write_str("monitor"),
            Daemon::Osd(id) => write!(to, "osd.{id}"),
        }
    }
}

/// How a process ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Gracefully: it is asked to end, and tells the monitor.
    Asked,
    /// Immediately, as in a crash.
    Killed,
}

/// How long a process may take to end after it is asked.
const END_TIME: Duration = Duration::from_secs(10);

fn pid_file(daemon: Daemon) -> String {
    format!("run/{daemon}.pid")
}

/// The process id of a daemon, if it runs.
#[must_use]
pub fn running(home: &Home, daemon: Daemon) -> Option<u32> {
    let pid: u32 = std::fs::read_to_string(home.path(&pid_file(daemon))).ok()?.trim().parse().ok()?;
    is_ours(home, daemon, pid).then_some(pid)
}

/// Process ids are reused: a process of another program is not the daemon.
fn is_ours(home: &Home, daemon: Daemon, pid: u32) -> bool {
    let command = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let words: Vec<&[u8]> = command.split(|byte| *byte == 0).collect();
    let directory = home.directory().as_os_str().as_encoded_bytes();
    let name = daemon.to_string();
    words.contains(&directory) && words.contains(&name.as_bytes())
}

/// Starts a process of a cluster with this program, detached from the terminal. Its output goes to the file
/// with its name in `log/`.
///
/// # Errors
/// When it is already running, or cannot be started.
pub fn start(home: &Home, program: &Path, daemon: Daemon) -> Result<Child, StoreError> {
    if let Some(pid) = running(home, daemon) {
        return Err(StoreError::Refused(format!("{daemon} is already running as process {pid}")));
    }
    lock::expect_free(home, &daemon)?;
    let path = home.path(&format!("log/{daemon}.log"));
    let log = OpenOptions::new().create(true).append(true).open(&path);
    let log = log.map_err(|error| SettingsError::File { path, why: error.to_string() })?;
    let mut command = Command::new(program);
    command.args(["store", "daemon", &daemon.to_string(), "--dir"]).arg(home.directory());
    command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let child = command.spawn()?;
    home.write(&pid_file(daemon), child.id().to_string().as_bytes())?;
    Ok(child)
}

/// Ends a process of a cluster, and waits until it has ended.
///
/// # Errors
/// When it is not running, or does not end.
pub fn end(home: &Home, daemon: Daemon, ending: Ending) -> Result<(), StoreError> {
    match end_if_running(home, daemon, ending)? {
        true => Ok(()),
        false => Err(StoreError::Refused(format!("{daemon} is not running"))),
    }
}

/// The same of one that may end by itself meanwhile; false if it was not running.
///
/// # Errors
/// When it does not end.
pub fn end_if_running(home: &Home, daemon: Daemon, ending: Ending) -> Result<bool, StoreError> {
    let Some(pid) = running(home, daemon) else { return Ok(false) };
    end_process(pid, ending, || Ok(is_ours(home, daemon, pid) && !is_zombie(pid)))?;
    // It has no command line from then on, but its lock until the system has freed its memory.
    lock::wait_until_free(home, &daemon, END_TIME)?;
    Ok(true)
}

/// Ends a process, and waits until `runs` returns false. It is killed if that takes too long.
fn end_process(
    pid: u32,
    ending: Ending,
    mut runs: impl FnMut() -> Result<bool, StoreError>,
) -> Result<(), StoreError> {
    signal(pid, ending)?;
    let until = now() + END_TIME;
    while runs()? {
        if now() >= until {
            signal(pid, Ending::Killed)?;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    Ok(())
}

/// Whether the process has ended but its parent has not collected its status.
fn is_zombie(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with('Z'))
}

fn signal(pid: u32, ending: Ending) -> Result<(), StoreError> {
    send(pid, if ending == Ending::Asked { Signal::SIGTERM } else { Signal::SIGKILL })
}

fn send(pid: u32, signal: Signal) -> Result<(), StoreError> {
    let pid = i32::try_from(pid).map_err(|_| StoreError::Refused(format!("{pid} is not a process id")))?;
    match kill(nix::unistd::Pid::from_raw(pid), signal) {
        // The process has just ended by itself.
        Ok(()) | Err(nix::errno::Errno::ESRCH) => Ok(()),
        Err(error) => Err(std::io::Error::from(error).into()),
    }
}

/// Processes of a cluster started by this one. Those that still run are killed when this value is dropped.
#[derive(Debug)]
pub(crate) struct Children {
    home: Home,
    program: PathBuf,
    running: BTreeMap<Daemon, Child>,
}

impl Children {
    /// No processes yet, for the cluster in this directory; `program` is the executable to run.
    #[must_use]
    pub fn new(home: &Home, program: &Path) -> Children {
        Children { home: home.clone(), program: program.to_owned(), running: BTreeMap::new() }
    }

    /// Starts a process.
    ///
    /// # Errors
    /// When it is already running, or cannot be started.
    pub fn start(&mut self, daemon: Daemon) -> Result<(), StoreError> {
        let child = start(&self.home, &self.program, daemon)?;
        self.running.insert(daemon, child);
        Ok(())
    }

    /// Starts the monitor and `osds` device daemons.
    ///
    /// # Errors
    /// When one is already running, or cannot be started.
    pub(crate) fn start_all(&mut self, osds: u32) -> Result<(), StoreError> {
        self.start(Daemon::Monitor)?;
        (0..osds).try_for_each(|osd| self.start(Daemon::Osd(osd)))
    }

    /// Ends a process started here, and waits until it has ended.
    ///
    /// # Errors
    /// When it does not end.
    pub fn end(&mut self, daemon: Daemon, ending: Ending) -> Result<(), StoreError> {
        let Some(mut child) = self.running.remove(&daemon) else { return Ok(()) };
        // Nobody else has the number of a child whose status was not collected. Its command line cannot be
        // asked for: the system does not show it yet if the child has just been started.
        end_process(child.id(), ending, || Ok(child.try_wait()?.is_none()))
    }

    /// Stops or continues a process started here.
    ///
    /// # Errors
    /// When the system refuses it.
    pub(crate) fn pause(&self, daemon: Daemon, stands: bool) -> Result<(), StoreError> {
        let signal = if stands { Signal::SIGSTOP } else { Signal::SIGCONT };
        self.running.get(&daemon).map_or(Ok(()), |child| send(child.id(), signal))
    }

    /// Asks all processes to end, the monitor last, and waits until they have.
    ///
    /// # Errors
    /// When one does not end.
    pub(crate) fn end_all(&mut self) -> Result<(), StoreError> {
        let daemons: Vec<Daemon> = self.running.keys().rev().copied().collect();
        daemons.into_iter().try_for_each(|daemon| self.end(daemon, Ending::Asked))
    }

    /// Whether a process was started here and has not been ended.
    #[must_use]
    pub fn has(&self, daemon: Daemon) -> bool {
        self.running.contains_key(&daemon)
    }

    /// The processes that have ended by themselves, with their status. They no longer count as started.
    ///
    /// # Errors
    /// When the system does not report their status.
    pub(crate) fn ended_by_themselves(&mut self) -> Result<Vec<(Daemon, ExitStatus)>, StoreError> {
        let mut ended = Vec::new();
        for (daemon, child) in &mut self.running {
            ended.extend(child.try_wait()?.map(|status| (*daemon, status)));
        }
        ended.iter().for_each(|(daemon, _)| drop(self.running.remove(daemon)));
        Ok(ended)
    }
}

impl Drop for Children {
    fn drop(&mut self) {
        for child in self.running.values_mut() {
            // The process may have ended already.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// The resources that a process has used so far.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Used {
    /// User and system processor time in seconds, to a hundredth.
    pub cpu_s: f64,
    /// The peak resident memory in bytes.
    pub peak_bytes: u64,
}

/// The resources that a process of a cluster has used so far; none if it does not run.
#[must_use]
pub fn used(home: &Home, daemon: Daemon) -> Option<Used> {
    let pid = running(home, daemon)?;
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The fields from the third on follow the name, which may contain anything; times are the 14th and 15th
    // field, in hundredths of a second (proc(5); Linux reports 100 ticks per second to programs everywhere).
    let fields: Vec<&str> = stat.rsplit(") ").next()?.split_whitespace().collect();
    let ticks: u64 = fields.get(11)?.parse::<u64>().ok()? + fields.get(12)?.parse::<u64>().ok()?;
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: u64 = peak.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(Used { cpu_s: ticks as f64 / 100.0, peak_bytes: kib << 10 })
}

/// The device daemons that have a directory here, or run here.
#[must_use]
pub fn osds(home: &Home) -> Vec<u32> {
    let names = |path: &Path| std::fs::read_dir(path).into_iter().flatten().flatten();
    let number = |name: std::ffi::OsString| {
        let name = name.to_str()?.strip_prefix("osd.")?;
        name.strip_suffix(".pid").unwrap_or(name).parse::<u32>().ok()
    };
    let numbers = |path: &Path| names(path).filter_map(|entry| number(entry.file_name())).collect::<Vec<_>>();
    let runs = |osd: &u32| running(home, Daemon::Osd(*osd)).is_some();
    let run = numbers(&home.path("run")).into_iter().filter(runs);
    let found: BTreeSet<u32> = numbers(home.directory()).into_iter().chain(run).collect();
    found.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Right after the start of a process the system may not show its command line yet. Here it never shows
    /// one that names the daemon.
    #[test]
    fn a_process_ends_whatever_its_command_line_is() {
        let directory = std::env::temp_dir().join(format!("towtank-control-{}", std::process::id()));
        let home = Home::at(&directory);
        for name in ["log", "run"] {
            std::fs::create_dir_all(home.path(name)).expect("a directory can be made");
        }
        let mut command = Command::new("sleep");
        let child = command.arg("100").spawn().expect("it can be started");
        let pid = child.id();
        let mut children = Children::new(&home, Path::new("sleep"));
        children.running.insert(Daemon::Monitor, child);
        assert_eq!(running(&home, Daemon::Monitor), None);
        children.pause(Daemon::Monitor, true).expect("it can be stopped");
        children.end(Daemon::Monitor, Ending::Killed).expect("it can be ended");
        assert!(!children.has(Daemon::Monitor));
        assert!(!Path::new(&format!("/proc/{pid}")).exists(), "its status was collected");
        std::fs::remove_dir_all(&directory).expect("the directory can be removed");
    }
}
