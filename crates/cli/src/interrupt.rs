//! Ctrl-C, SIGTERM and SIGHUP: the first signal stops cleanly and keeps finished work, the second ends the
//! process at once. In both cases the exit code is 130, within a second; if the command has processes of its
//! own to end, or a check to finish, within the time that it names. A server that is stopped ends with 0,
//! once requests under way have ended.
//!
//! While no run is under way (a map is read, a scenario checked) there is nothing to report, and the first
//! signal ends the process. A run under way is asked to stop, and its partial result is reported. Runs that
//! do not stop in time are abandoned, and the last words say how many are finished and where they are kept;
//! where they are kept nowhere, or the machine is busy with other work, they have more time to stop. Once all
//! runs are back, the report has the time that it takes. Files are written atomically, so none is left
//! incomplete.
//!
//! Some parents (`timeout`, package runners) send a signal to a process and then to its whole group: signals
//! within a short time count as one. Under `nohup` SIGHUP is ignored, and stays so.

// The command line may read the clock; it does not affect results.
#![allow(clippy::disallowed_methods)]

use std::path::{Path, PathBuf};
use std::process::exit;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use towtank_campaign::Stop;

use crate::exit::Exit;
use crate::{progress, screen};

/// Raised by the first signal.
static STOP: Stop = Stop::new();

/// The instant of the first signal.
static SINCE: OnceLock<Instant> = OnceLock::new();

/// Whether a command that checks the flag is under way.
static HEEDED: AtomicBool = AtomicBool::new(false);

/// Signals within this time count as one.
const ONE_MOMENT: Duration = Duration::from_millis(250);

/// The time that a run may take to stop and be reported, in milliseconds: a second, less the time to end the
/// process.
static PATIENCE_MS: AtomicU64 = AtomicU64::new(900);

/// A server stops by itself, without a limit, which counts as success.
const ENDLESS: u64 = u64::MAX;

/// The time that runs have to stop on a machine that is busy with other work, or where finished runs would be
/// lost with them. A choice: the user can end the process at any time with a second signal.
const PATIENCE_AT_MOST: Duration = Duration::from_secs(10);

/// The processor time that runs have to stop: on a busy machine a second may pass in which they do nothing.
const WORK_TO_STOP: Duration = Duration::from_millis(500);

/// What is finished of the campaign under way.
static CAMPAIGN: Mutex<Campaign> =
    Mutex::new(Campaign { stage: Stage::None, done: 0, of: 0, keeps: Keeps::NoRuns });

/// How a user ends processes that are left if a command is abandoned.
static LEFT: OnceLock<String> = OnceLock::new();

/// The time that a command may usually take to end processes of its own.
pub(crate) const TO_END_PROCESSES: Duration = Duration::from_secs(30);

/// Installs the signal handler. Called once, before threads start, since they inherit the signal mask.
///
/// If it cannot be installed, which does not happen in practice, a signal still ends the process, and
/// finished points are kept.
pub(crate) fn install() {
    keep_hangups_ignored();
    let _ = ctrlc::set_handler(|| {
        let since = SINCE.get_or_init(Instant::now);
        if STOP.raised() {
            if since.elapsed() >= ONE_MOMENT {
                let kept = campaign(|campaign| campaign.kept());
                end(&kept.map_or(String::new(), |kept| format!("interrupted: {kept}\n")));
            }
            return;
        }
        STOP.raise();
        if !HEEDED.load(Ordering::SeqCst) {
            end("interrupted\n");
        }
        progress::aside(|| screen::say("stopping; press Ctrl-C once more to end at once\n"));
        if is_endless() {
            return;
        }
        // If no thread can be started, a second signal ends the process.
        let _ = thread::Builder::new().spawn(give_up_in_time);
    });
}

/// Ends the process once its time is over, unless all that is left is to report what is done.
fn give_up_in_time() {
    let (begun, worked) = (Instant::now(), processor_time());
    thread::sleep(Duration::from_millis(PATIENCE_MS.load(Ordering::SeqCst)));
    loop {
        let (stage, loses, kept) =
            campaign(|campaign| (campaign.stage, campaign.would_lose(), campaign.kept()));
        let spent = worked.zip(processor_time()).map(|(before, now)| now.saturating_sub(before));
        if stage == Stage::Report {
            return;
        }
        if !waits(stage, loses, spent, begun.elapsed()) {
            let kept = kept.map_or(String::new(), |kept| format!("; {kept}"));
            end(&format!(
                "interrupted: what was under way did not stop in time, so it is not reported{kept}\n"
            ));
        }
        thread::sleep(Duration::from_millis(20));
    }
}

/// Whether runs that have not stopped within the usual time are given more: where finished ones would be
/// lost, or where the process has hardly worked since, because the machine is busy.
fn waits(stage: Stage, loses: bool, spent: Option<Duration>, elapsed: Duration) -> bool {
    let busy = spent.is_some_and(|spent| spent < WORK_TO_STOP);
    stage == Stage::Runs && (loses || busy) && elapsed < PATIENCE_AT_MOST
}

/// The processor time of this process, where the system tells it, to a hundredth of a second.
fn processor_time() -> Option<Duration> {
    ticks(&std::fs::read_to_string("/proc/self/stat").ok()?).map(|ticks| Duration::from_millis(10 * ticks))
}

/// Hundredths of a second in user and system mode according to `/proc/self/stat`: fields 14 and 15, counted
/// behind the name of the command, which is in brackets and may contain any character.
fn ticks(stat: &str) -> Option<u64> {
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_ascii_whitespace().skip(11).map(|field| field.parse::<u64>().ok());
    Some(fields.next()?? + fields.next()??)
}

/// What is finished of a campaign, for the last words of a process.
struct Campaign {
    stage: Stage,
    /// Finished runs, and those of the whole.
    done: usize,
    of: usize,
    keeps: Keeps,
}

/// Where a command keeps finished runs.
#[derive(Clone, Debug)]
enum Keeps {
    /// It has an answer only once all runs are done.
    NoRuns,
    /// Nowhere, since no directory is given.
    Nowhere,
    /// In this directory.
    In(PathBuf),
}

/// What a command does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// No run has begun.
    None,
    /// Runs are under way.
    Runs,
    /// All runs are back.
    Report,
}

impl Campaign {
    /// Whether finished runs are kept nowhere.
    fn would_lose(&self) -> bool {
        self.stage == Stage::Runs && self.done > 0 && matches!(self.keeps, Keeps::Nowhere)
    }

    /// What is finished, and where it is kept; nothing if no run has begun.
    fn kept(&self) -> Option<String> {
        let Campaign { stage, done, of, keeps } = self;
        let are = if *done == 1 { "is" } else { "are" };
        match keeps {
            _ if *stage == Stage::None => None,
            Keeps::NoRuns => None,
            _ if *done == 0 => Some(format!("none of {of} runs was finished")),
            Keeps::In(dir) => Some(format!(
                "{done} of {of} runs {are} finished and kept in `{}`: the same command goes on from there",
                dir.display()
            )),
            Keeps::Nowhere => Some(format!(
                "{done} of {of} runs {are} finished and lost; with --out DIR they would be kept"
            )),
        }
    }
}

fn campaign<R>(work: impl FnOnce(&mut Campaign) -> R) -> R {
    // Its fields are set one by one, and any mix of them is sound.
    work(&mut CAMPAIGN.lock().unwrap_or_else(PoisonError::into_inner))
}

/// The command keeps finished runs here from now on; nowhere if no directory is given.
pub(crate) fn keeps_in(dir: Option<&Path>) {
    campaign(|campaign| campaign.keeps = dir.map_or(Keeps::Nowhere, |dir| Keeps::In(dir.to_owned())));
}

/// The runs of a campaign begin.
pub(crate) fn runs_begin() {
    campaign(|campaign| (campaign.stage, campaign.done, campaign.of) = (Stage::Runs, 0, 0));
}

/// So many runs are finished.
pub(crate) fn runs_finished(done: usize, of: usize) {
    campaign(|campaign| (campaign.done, campaign.of) = (done, of));
}

/// All runs are back, finished or not.
pub(crate) fn runs_end() {
    campaign(|campaign| campaign.stage = Stage::Report);
}

/// From here on a signal raises the flag instead of ending the process: for commands that check it.
pub fn watch() -> &'static Stop {
    HEEDED.store(true, Ordering::SeqCst);
    &STOP
}

/// The same for a command that starts processes and ends them, which takes at most `patience`. If it takes
/// longer, or a second signal comes, the user reads `left`: how to end processes that still run.
pub(crate) fn watch_with_processes(patience: Duration, left: String) -> &'static Stop {
    PATIENCE_MS.store(patience.as_millis() as u64, Ordering::SeqCst);
    LEFT.get_or_init(|| left);
    watch()
}

/// The same for a command that serves until it is stopped: requests under way are completed first, and being
/// stopped is not a failure.
pub(crate) fn watch_to_the_end() -> &'static Stop {
    PATIENCE_MS.store(ENDLESS, Ordering::SeqCst);
    watch()
}

fn is_endless() -> bool {
    PATIENCE_MS.load(Ordering::SeqCst) == ENDLESS
}

/// The exit code of a command during which a signal came: it may not have been complete at that time.
pub(crate) fn marked(exit: Exit) -> Exit {
    if STOP.raised() && !is_endless() { marked_by_signal(exit) } else { exit }
}

/// A gate is judged on complete results alone. Where it is not met, that has been said, and the code agrees.
fn marked_by_signal(exit: Exit) -> Exit {
    if exit == Exit::Done { Exit::Interrupted } else { exit }
}

fn end(words: &str) -> ! {
    let left = LEFT.get().map_or("", String::as_str);
    progress::aside(|| screen::say(&[words, left].concat()));
    exit(code())
}

fn code() -> i32 {
    i32::from(Exit::Interrupted.code())
}

/// A parent that ignores SIGHUP (`nohup`) wants the run to continue after a hangup. The handler applies to
/// all three signals or to none, so SIGHUP is blocked instead.
#[cfg(unix)]
fn keep_hangups_ignored() {
    use nix::sys::signal::{SigSet, Signal};
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    if ignores_hangups(&status) {
        let mut hangups = SigSet::empty();
        hangups.add(Signal::SIGHUP);
        // Fails only for a mask that the system does not support.
        let _ = hangups.thread_block();
    }
}

#[cfg(not(unix))]
fn keep_hangups_ignored() {}

/// Whether SIGHUP is ignored according to `/proc/self/status`: its mask of ignored signals has one bit per
/// signal, starting with signal 1, which is SIGHUP.
#[cfg(unix)]
fn ignores_hangups(status: &str) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask & 1 == 1)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    /// A former fault: the last words said that finished runs are kept, but neither where nor how many.
    #[test]
    fn the_last_words_say_what_is_kept_and_where() {
        let words = |stage, done, keeps| {
            let campaign = Campaign { stage, done, of: 8, keeps };
            (campaign.kept().unwrap_or_default(), campaign.would_lose())
        };
        let here = || Keeps::In(PathBuf::from("o"));
        let kept = "3 of 8 runs are finished and kept in `o`: the same command goes on from there";
        assert_eq!(words(Stage::Runs, 3, here()), (kept.to_owned(), false));
        assert_eq!(words(Stage::Report, 3, here()), (kept.to_owned(), false));
        let lost = "1 of 8 runs is finished and lost; with --out DIR they would be kept";
        assert_eq!(words(Stage::Runs, 1, Keeps::Nowhere), (lost.to_owned(), true));
        assert_eq!(words(Stage::Runs, 0, Keeps::Nowhere), ("none of 8 runs was finished".to_owned(), false));
        assert_eq!(words(Stage::None, 0, here()), (String::new(), false));
        assert_eq!(words(Stage::Runs, 3, Keeps::NoRuns), (String::new(), false));
    }

    /// A former fault: on a busy machine the report was dropped after a second in which the process had not
    /// worked for a tenth of one.
    #[test]
    fn runs_have_more_time_where_they_had_none_or_much_would_be_lost() {
        let ms = Duration::from_millis;
        for (stage, loses, spent, elapsed, want) in [
            (Stage::Runs, false, Some(ms(900)), ms(900), false),
            (Stage::Runs, false, Some(ms(100)), ms(900), true),
            (Stage::Runs, false, Some(ms(100)), ms(10_000), false),
            (Stage::Runs, false, None, ms(900), false),
            (Stage::Runs, true, Some(ms(900)), ms(900), true),
            (Stage::Runs, true, Some(ms(9_000)), ms(10_000), false),
            (Stage::None, true, Some(ms(100)), ms(900), false),
        ] {
            assert_eq!(waits(stage, loses, spent, elapsed), want, "{stage:?} {loses} {spent:?} {elapsed:?}");
        }
    }

    /// A former fault: the text said `gate not met`, and the code that the run was interrupted.
    #[test]
    fn a_gate_that_was_said_to_be_missed_is_the_exit_code_too() {
        for (exit, want) in [
            (Exit::Done, Exit::Interrupted),
            (Exit::Interrupted, Exit::Interrupted),
            (Exit::GateNotMet, Exit::GateNotMet),
            (Exit::BadInput, Exit::BadInput),
        ] {
            assert_eq!(marked_by_signal(exit), want, "{exit:?}");
        }
    }

    #[test]
    fn processor_time_is_read_whatever_the_command_is_called() {
        let stat = "17 (a ) b) R 1 17 17 0 -1 4194304 100 0 0 0 25 7 0 0 20 0 1 0 1234 0 0\n";
        assert_eq!(ticks(stat), Some(32));
        assert_eq!(ticks("17 (towtank) R 1"), None);
        assert_eq!(ticks(""), None);
    }

    #[test]
    fn an_ignored_hangup_is_seen_in_the_mask() {
        for (status, want) in [
            ("Name:\tx\nSigIgn:\t0000000000000001\n", true),
            ("SigIgn:\t0000000000001001\n", true),
            ("SigIgn:\t0000000000001006\n", false),
            ("SigIgn:\t0000000000000000\n", false),
            ("", false),
        ] {
            assert_eq!(ignores_hangups(status), want, "{status}");
        }
    }
}
