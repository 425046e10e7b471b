//! What a model must not do, and the resulting errors, which are the same on every executor.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use towtank_kernel::{
    Again, Context, Ended, EntityId, Executor, Fault, Links, Model, Notice, RunError, RunOptions, UndoBy, run,
};
use towtank_units::{SimSpan, SimTime};

/// What entity 0 does when it handles its event, at 10 ns.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Deed {
    Nothing,
    ShortLink,
    NoLink,
    NoEntity,
    Past,
    Overflow,
    TooLate,
    ZeroDelayForEver,
    ForEver,
    Fault,
    Panic,
    TimerTwice,
    AuditFails,
}

#[derive(Debug)]
struct Script {
    deed: Deed,
    /// Whether entity 2 does not speculate.
    careful: bool,
}

impl Model for Script {
    type Entity = u64;
    type Event = u8;
    type Undo = ();
    type Statistics = ();
    type Output = String;

    fn entities(&self) -> u32 {
        3
    }

    fn links(&self) -> Links {
        let mut links = Links::none();
        links.connect(EntityId(0), EntityId(1), SimSpan::from_ns(100));
        links.connect(EntityId(1), EntityId(0), SimSpan::from_ns(100));
        links.connect(EntityId(1), EntityId(2), SimSpan::from_ns(30));
        links
    }

    fn create(&self, _id: EntityId) -> u64 {
        0
    }

    fn start(&self, _state: &mut u64, context: &mut Context<'_, Self>) -> Result<(), Fault> {
        if context.me() == EntityId(0) {
            context.send(EntityId(0), SimSpan::from_ns(10), 0);
        }
        Ok(())
    }

    fn handle(&self, state: &mut u64, event: &u8, context: &mut Context<'_, Self>) -> Result<(), Fault> {
        *state += 1;
        context.emit(format!("{} got {event} at {}", context.me(), context.now().as_ns()));
        let me = context.me();
        match (*event, self.deed) {
            (1, _) => context.send(EntityId(2), SimSpan::from_ns(30), 2),
            (2, _) => {}
            (0, Deed::Nothing) => context.send(EntityId(1), SimSpan::from_ns(100), 1),
            (0, Deed::ShortLink) => context.send(EntityId(1), SimSpan::from_ns(99), 1),
            (0, Deed::NoLink) => context.send(EntityId(2), SimSpan::from_ns(100), 1),
            (0, Deed::NoEntity) => context.send(EntityId(7), SimSpan::from_ns(100), 1),
            (0, Deed::Past) => context.send_at(me, SimTime::from_ns(9), 1),
            (0, Deed::Overflow) => context.send(me, SimSpan::MAX, 1),
            (0, Deed::TooLate) => context.send_at(me, SimTime::from_ns(u64::MAX - 50), 6),
            (6, _) => context.send_at(EntityId(1), SimTime::MAX, 1),
            (_, Deed::ZeroDelayForEver) => context.send(me, SimSpan::ZERO, 3),
            (_, Deed::ForEver) => context.send(me, SimSpan::from_ns(1), 3),
            (0, Deed::Fault) => return Err("the cup is empty".into()),
            (0, Deed::Panic) => panic!("the cup is broken"),
            (0, Deed::TimerTwice) => {
                let timer = context.set_timer(SimSpan::from_ns(5), 4);
                let kept = context.set_timer(SimSpan::from_ns(6), 5);
                assert!(context.cancel(timer), "a timer just set is live");
                assert!(!context.cancel(timer), "a cancelled timer is not");
                let _ = kept;
            }
            _ => {}
        }
        Ok(())
    }

    fn speculative(&self, id: EntityId) -> bool {
        !(self.careful && id == EntityId(2))
    }

    fn describe(&self, id: EntityId) -> String {
        ["tap", "cup", "drain"][id.0 as usize].to_owned()
    }

    fn audit(&self, committed: &towtank_kernel::Committed<'_, Self>) -> Result<(), Fault> {
        if self.deed == Deed::AuditFails && committed.entities[0] == 1 {
            Err("one drop is missing".into())
        } else {
            Ok(())
        }
    }
}

fn every_way(deed: Deed) -> Vec<Result<Vec<String>, RunError>> {
    let mut results = Vec::new();
    for (executor, workers) in [
        (Executor::Sequential, 1),
        (Executor::Check, 1),
        (Executor::Conservative, 1),
        (Executor::Conservative, 3),
        (Executor::Optimistic, 1),
        (Executor::Optimistic, 3),
    ] {
        let options = RunOptions {
            executor,
            workers,
            event_limit: 1_000,
            step_limit: 50,
            batch: 8,
            ..RunOptions::default()
        };
        let outcome = run(&Script { deed, careful: false }, options);
        results
            .push(outcome.map(|outcome| outcome.outputs.into_iter().map(|written| written.output).collect()));
    }
    results
}

fn check_error(deed: Deed, want: &str) {
    for result in every_way(deed) {
        assert_eq!(result.expect_err("the deed is forbidden").to_string(), want, "{deed:?}");
    }
}

#[test]
fn what_is_allowed_happens_in_order() {
    for result in every_way(Deed::Nothing) {
        assert_eq!(result.expect("nothing is wrong"), ["0 got 0 at 10", "1 got 1 at 110", "2 got 2 at 140"]);
    }
}

#[test]
fn forbidden_sends_name_the_link() {
    let at = "tap at 10 ns, handling 0 (step 0, from entity 0)";
    check_error(
        Deed::ShortLink,
        &format!(
            "{at}: sent to cup after 99 ns, but the link from entity 0 to entity 1 declares at least 100 ns; declare a shorter delay or send later"
        ),
    );
    check_error(
        Deed::NoLink,
        &format!(
            "{at}: sent to drain, but no link from entity 0 to entity 2 is declared; add it to the model's links"
        ),
    );
    check_error(Deed::NoEntity, &format!("{at}: sent to entity 7, but the model has only 3 entities"));
    check_error(
        Deed::Past,
        &format!("{at}: scheduled an event at 9 ns, which is in the past; the earliest possible is 10 ns"),
    );
    check_error(
        Deed::Overflow,
        &format!(
            "{at}: a delay of 18446744073709551615 ns exceeds the latest possible time, 18446744073709551615 ns"
        ),
    );
}

#[test]
fn an_endless_chain_without_delay_names_the_entity() {
    check_error(
        Deed::ZeroDelayForEver,
        "tap at 10 ns, handling 3 (step 50, from entity 0): time did not advance in a chain of 50 sends without delay; give one of these sends a delay, or raise the limit of zero-delay steps",
    );
}

#[test]
fn a_runaway_model_is_stopped() {
    for result in every_way(Deed::ForEver) {
        let error = result.expect_err("it never ends");
        assert!(matches!(&error, RunError::TooManyEvents { limit: 1_000, .. }), "{error}");
        assert!(error.to_string().starts_with("tap at "), "{error}");
    }
}

#[test]
fn faults_and_panics_are_reported_where_they_happen() {
    check_error(Deed::Fault, "tap at 10 ns, handling 0 (step 0, from entity 0): the cup is empty");
    check_error(Deed::Panic, "tap at 10 ns, handling 0 (step 0, from entity 0): panicked: the cup is broken");
}

#[test]
fn a_cancelled_timer_does_not_fire() {
    for result in every_way(Deed::TimerTwice) {
        assert_eq!(result.expect("nothing is wrong"), ["0 got 0 at 10", "0 got 5 at 16"]);
    }
}

#[test]
fn a_broken_conservation_law_fails_the_run() {
    check_error(Deed::AuditFails, "the audit of the committed state failed: one drop is missing");
}

#[test]
fn careful_entities_wait_and_the_result_is_the_same() {
    let want =
        run(&Script { deed: Deed::Nothing, careful: true }, RunOptions::default()).expect("it runs").digest;
    for workers in [1, 2, 3] {
        let options = RunOptions { executor: Executor::Optimistic, workers, ..RunOptions::default() };
        assert_eq!(
            run(&Script { deed: Deed::Nothing, careful: true }, options).expect("it runs").digest,
            want
        );
    }
}

#[test]
fn a_raised_stop_flag_ends_the_run_with_what_was_committed() {
    let stop = AtomicBool::new(true);
    for (executor, workers) in
        [(Executor::Sequential, 1), (Executor::Conservative, 2), (Executor::Optimistic, 2)]
    {
        let options = RunOptions { executor, workers, stop: Some(&stop), batch: 8, ..RunOptions::default() };
        let outcome = run(&Script { deed: Deed::ForEver, careful: false }, options).expect("it ends");
        assert!(outcome.partial, "{executor}");
        assert_eq!(outcome.pending, 1, "{executor}");
        assert_eq!(outcome.entities[0], outcome.run.committed, "{executor}");
    }
}

#[test]
fn more_workers_than_partitions_are_reported() {
    struct Bound;
    impl Model for Bound {
        type Entity = ();
        type Event = ();
        type Undo = ();
        type Statistics = ();
        type Output = ();
        fn entities(&self) -> u32 {
            4
        }
        fn links(&self) -> Links {
            Links::all(SimSpan::ZERO)
        }
        fn create(&self, _id: EntityId) {}
        fn handle(&self, (): &mut (), (): &(), _context: &mut Context<'_, Self>) -> Result<(), Fault> {
            Ok(())
        }
    }
    let options = RunOptions { executor: Executor::Conservative, workers: 2, ..RunOptions::default() };
    let outcome = run(&Bound, options).expect("it runs");
    assert_eq!(outcome.notices, [Notice::FewerPartitions { workers: 2, partitions: 1 }]);
    assert_eq!(
        outcome.notices[0].to_string(),
        "links without delay put all entities into one partition: only 1 of 2 workers is used"
    );
}

#[test]
fn options_that_make_no_sense_are_refused() {
    let refuse = |options: RunOptions<'_>| match run(&Script { deed: Deed::Nothing, careful: false }, options)
    {
        Err(RunError::Options(message)) => message,
        other => panic!("{other:?}"),
    };
    for (name, options) in [
        ("workers", RunOptions { workers: 0, ..RunOptions::default() }),
        ("batch", RunOptions { batch: 0, ..RunOptions::default() }),
        ("gvt_interval", RunOptions { gvt_interval: 0, ..RunOptions::default() }),
        ("history_max", RunOptions { history_max: 0, ..RunOptions::default() }),
    ] {
        assert_eq!(refuse(options), format!("`{name}` is 0; it must be at least 1"));
    }
    assert_eq!(
        refuse(RunOptions { workers: 2, executor: Executor::Check, ..RunOptions::default() }),
        "`workers` is 2, but the check executor uses one; choose conservative or optimistic"
    );
    assert_eq!(
        refuse(RunOptions { workers: 2, ..RunOptions::default() }),
        "`workers` is 2, but the sequential executor uses one; choose conservative or optimistic"
    );
}

/// An inverse cannot undo a failed handler. The seeded transport makes this case certain; the run must then
/// be restarted with clones, and `run` reports that.
#[test]
fn a_speculative_panic_under_an_inverse_asks_for_clones() {
    let mut restarted = 0;
    for seed in 0..10 {
        let model = towtank_testkit::RandomModel::new(seed);
        let end = Some(SimTime::from_ns(1_000));
        let want = run(&model, RunOptions { end, ..RunOptions::default() }).expect("it runs").digest;
        let options = RunOptions {
            executor: Executor::Optimistic,
            workers: 4,
            batch: 50,
            end,
            ..RunOptions::default()
        };
        let inverse = RunOptions { undo: Some(UndoBy::Inverse), ..options.clone() };
        match (towtank_testkit::Shuffle { seed, delay_max: 30 })
            .run(&model, inverse.clone())
            .expect("it runs")
        {
            Ended::Restart(again) => {
                assert_eq!(again, Again::WithClones, "model {seed}");
                restarted += 1;
            }
            Ended::Outcome(outcome) => assert_eq!(outcome.digest, want, "model {seed}"),
        }
        let threads = run(&model, inverse).expect("it runs");
        assert_eq!(threads.digest, want, "model {seed}");
    }
    assert!(restarted > 0, "no run had to begin again, so the path was not taken");
}

/// An entity with a part on the heap, or without, that is undone by clones.
struct Copied<const HEAP: bool>;

impl<const HEAP: bool> Model for Copied<HEAP>
where
    Part<HEAP>: Owner,
{
    type Entity = <Part<HEAP> as Owner>::State;
    type Event = ();
    type Undo = ();
    type Statistics = ();
    type Output = ();

    fn entities(&self) -> u32 {
        4
    }

    fn links(&self) -> Links {
        Links::all(SimSpan::from_ns(10))
    }

    fn create(&self, _: EntityId) -> Self::Entity {
        Self::Entity::default()
    }

    fn handle(&self, _: &mut Self::Entity, (): &(), _: &mut Context<'_, Self>) -> Result<(), Fault> {
        Ok(())
    }
}

struct Part<const HEAP: bool>;

trait Owner {
    type State: Clone + Default + PartialEq + std::fmt::Debug + std::hash::Hash + Send;
}

impl Owner for Part<true> {
    type State = Vec<u8>;
}

impl Owner for Part<false> {
    type State = u64;
}

/// Before a run that copies memory for each event, and only then, another executor is named.
#[test]
fn costly_copies_are_reported_before_the_run() {
    fn notices_of<M: Model>(model: &M, executor: Executor, undo: Option<UndoBy>) -> Vec<Notice> {
        let notices = std::sync::Mutex::new(Vec::new());
        let note = |notice: &Notice| notices.lock().expect("nobody panicked").push(notice.clone());
        let options = RunOptions { executor, workers: 2, undo, notice: Some(&note), ..RunOptions::default() };
        drop(towtank_kernel::prepare(model, options).expect("the entities start"));
        notices.into_inner().expect("nobody panicked")
    }
    let copies = Notice::UndoneByCopies { slack: false };
    assert_eq!(notices_of(&Copied::<true>, Executor::Optimistic, None), [copies]);
    assert_eq!(notices_of(&Copied::<true>, Executor::Optimistic, Some(UndoBy::Clone)), []);
    assert_eq!(notices_of(&Copied::<true>, Executor::Conservative, None), []);
    assert_eq!(notices_of(&Copied::<false>, Executor::Optimistic, None), []);
    let model =
        Careful { speculative: false, stop_at: u64::MAX, fail_at: u64::MAX, stop: AtomicBool::new(false) };
    assert_eq!(notices_of(&model, Executor::Optimistic, None), [Notice::NoneSpeculates { slack: false }]);
    assert_eq!(notices_of(&model, Executor::Conservative, None), []);
}

static CLONES: AtomicU64 = AtomicU64::new(0);

/// A state that counts how often it is cloned.
#[derive(Debug, Default, PartialEq, Hash)]
struct Counted(Vec<u64>);

impl Clone for Counted {
    fn clone(&self) -> Counted {
        CLONES.fetch_add(1, Ordering::Relaxed);
        Counted(self.0.clone())
    }
}

/// Entities that send a number round.
struct Careful {
    speculative: bool,
    /// The number at which the run is asked to stop.
    stop_at: u64,
    /// The number whose event fails.
    fail_at: u64,
    stop: AtomicBool,
}

impl Model for Careful {
    type Entity = Counted;
    type Event = u64;
    type Undo = ();
    type Statistics = ();
    type Output = u64;

    fn entities(&self) -> u32 {
        3
    }

    fn links(&self) -> Links {
        Links::all(SimSpan::from_ns(1))
    }

    fn create(&self, _: EntityId) -> Counted {
        Counted::default()
    }

    fn start(&self, _: &mut Counted, context: &mut Context<'_, Self>) -> Result<(), Fault> {
        context.send(context.me(), SimSpan::from_ns(u64::from(context.me().0)), 0);
        Ok(())
    }

    fn handle(&self, state: &mut Counted, event: &u64, context: &mut Context<'_, Self>) -> Result<(), Fault> {
        state.0.push(*event);
        context.emit(*event);
        if *event >= self.stop_at {
            self.stop.store(true, Ordering::Relaxed);
        }
        if *event >= self.fail_at {
            return Err("a number is too large".into());
        }
        let to = EntityId((context.me().0 + (*event % 3) as u32) % 3);
        context.send(to, SimSpan::from_ns(1 + event % 4), event + 1);
        Ok(())
    }

    fn speculative(&self, _: EntityId) -> bool {
        self.speculative
    }
}

fn careful(
    (stop_at, fail_at): (u64, u64),
    executor: Executor,
    workers: u32,
) -> Result<towtank_kernel::Outcome<Careful>, RunError> {
    let model = Careful { speculative: false, stop_at, fail_at, stop: AtomicBool::new(false) };
    let end = Some(SimTime::from_ns(5_000));
    let stop = (stop_at < u64::MAX).then_some(&model.stop);
    run(&model, RunOptions { executor, workers, batch: 8, end, stop, ..RunOptions::default() })
}

/// What happens at global virtual time is certain, so it is not copied: an event of an entity that does not
/// speculate costs no clone, whether it succeeds, fails, or is the last before a stop.
#[test]
fn what_is_certain_is_not_cloned() {
    const NEVER: u64 = u64::MAX;
    let want = careful((NEVER, NEVER), Executor::Sequential, 1).expect("it runs");
    let fault = careful((NEVER, 50), Executor::Sequential, 1).map(|_| ()).expect_err("it fails");
    CLONES.store(0, Ordering::Relaxed);
    for workers in [1, 2, 3] {
        let got = careful((NEVER, NEVER), Executor::Optimistic, workers).expect("it runs");
        assert_eq!((got.digest, got.outputs), (want.digest, want.outputs.clone()), "{workers} workers");
        assert_eq!(
            careful((NEVER, 50), Executor::Optimistic, workers).map(|_| ()).expect_err("it fails"),
            fault,
            "{workers} workers"
        );
        for stop_at in 1..40 {
            let part = careful((stop_at, NEVER), Executor::Optimistic, workers).expect("it stops");
            assert!(part.partial, "{workers} workers, {stop_at}");
            assert_eq!(part.pending, 3, "{workers} workers, {stop_at}");
            let handled: usize = part.entities.iter().map(|entity| entity.0.len()).sum();
            assert_eq!(handled as u64, part.run.committed, "{workers} workers, {stop_at}");
            assert_eq!(part.outputs, want.outputs[..handled], "{workers} workers, {stop_at}");
            // The event that asks for the stop fails too: it counts as done only if it was not reached.
            match careful((stop_at, stop_at), Executor::Optimistic, workers) {
                Ok(part) => assert!(part.partial && part.outputs.iter().all(|one| one.output < stop_at)),
                Err(error) => assert!(error.to_string().contains("too large"), "{error}"),
            }
        }
    }
    assert_eq!(CLONES.load(Ordering::Relaxed), 0, "clones were made that nothing can need");
    // The counterpart: entities that speculate are cloned.
    let model = Careful { speculative: true, stop_at: NEVER, fail_at: NEVER, stop: AtomicBool::new(false) };
    let end = Some(SimTime::from_ns(5_000));
    let options = RunOptions { executor: Executor::Optimistic, workers: 2, end, ..RunOptions::default() };
    assert_eq!(run(&model, options).expect("it runs").digest, want.digest);
    assert!(CLONES.load(Ordering::Relaxed) > 0, "the counter counts nothing");
}

/// A former bug: a model adds a delay to a time near the end, up to the last instant, and was refused
/// because its link is longer than what is left of time.
#[test]
fn a_link_that_reaches_beyond_the_end_of_time_is_an_overflow() {
    check_error(
        Deed::TooLate,
        "tap at 18446744073709551565 ns, handling 6 (step 0, from entity 0): a delay of 100 ns exceeds the latest possible time, 18446744073709551615 ns",
    );
}
