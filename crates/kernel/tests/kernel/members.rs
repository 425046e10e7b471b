//! Crews whose members are built separately, each with only the entities of its own partition.

use std::sync::Mutex;

use serde::{Deserialize, Serialize};
use towtank_kernel::{
    Context, Crew, Ended, EntityId, Executor, Fault, Links, Model, RunError, RunOptions, Step, Transport, run,
};
use towtank_streams::{Purpose, Seed, Uniform};
use towtank_testkit::{Fatal, RandomModel, Shuffle, differences};
use towtank_units::{SimSpan, SimTime};

const PARALLEL: [Executor; 2] = [Executor::Conservative, Executor::Optimistic];

fn options(end: u64, executor: Executor) -> RunOptions<'static> {
    RunOptions {
        seed: Seed(3),
        end: Some(SimTime::from_ns(end)),
        executor,
        batch: 16,
        ..RunOptions::default()
    }
}

/// Each entity answers an event by sending another to some entity; the model records which entities it has
/// created.
#[derive(Debug, Default)]
struct Answers {
    created: Mutex<Vec<u32>>,
    cannot_start: Option<u32>,
}

const ENTITIES: u32 = 12;

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct Answerer {
    answered: u32,
}

impl Model for Answers {
    type Entity = Answerer;
    type Event = u8;
    type Undo = ();
    type Statistics = ();
    type Output = u8;

    fn entities(&self) -> u32 {
        ENTITIES
    }

    fn links(&self) -> Links {
        Links::all(SimSpan::from_ns(10))
    }

    fn create(&self, id: EntityId) -> Answerer {
        self.created.lock().expect("nobody panicked").push(id.0);
        Answerer { answered: 0 }
    }

    fn start(&self, _: &mut Answerer, context: &mut Context<'_, Self>) -> Result<(), Fault> {
        if self.cannot_start.is_some_and(|id| context.me().0 >= id) {
            return Err("a planted fault".into());
        }
        context.send(EntityId((context.me().0 + 5) % ENTITIES), SimSpan::from_ns(10), 1);
        Ok(())
    }

    fn handle(
        &self,
        answerer: &mut Answerer,
        event: &u8,
        context: &mut Context<'_, Self>,
    ) -> Result<(), Fault> {
        answerer.answered += u32::from(*event);
        context.emit(*event);
        let mut draws = context.draws(Purpose(0));
        let (to, after) = (EntityId(draws.below(u64::from(ENTITIES)) as u32), 10 + draws.below(30));
        context.send(to, SimSpan::from_ns(after), event.wrapping_mul(3));
        Ok(())
    }
}

#[test]
fn each_member_creates_its_own_entities_and_all_give_the_sequential_result() {
    let want = run(&Answers::default(), options(2_000, Executor::Sequential)).expect("it runs");
    for executor in PARALLEL {
        for members in [1u32, 2, 3, 5] {
            let models: Vec<Answers> = (0..members).map(|_| Answers::default()).collect();
            let shuffle = Shuffle { seed: u64::from(members), delay_max: 20 };
            let ends = shuffle
                .run_members(&models.iter().collect::<Vec<_>>(), &options(2_000, executor))
                .expect("members can be built");
            let mut created = Vec::new();
            for model in &models {
                let mine = model.created.lock().expect("nobody panicked").clone();
                // All weigh the same, so that members differ by one entity at most.
                let share = ENTITIES / members;
                assert!((share..=share + 1).contains(&(mine.len() as u32)), "a member created {mine:?}");
                created.extend(mine);
            }
            assert_eq!(created, (0..ENTITIES).collect::<Vec<_>>(), "{executor}, {members} members");
            let mut ends = ends.into_iter().map(|end| end.expect("nothing fails"));
            let Some(Some(Ended::Outcome(got))) = ends.next() else { panic!("member 0 has the outcome") };
            assert_eq!(differences(&want, &got), [""; 0], "{executor}, {members} members");
            assert!(ends.all(|end| end.is_none()), "members other than the first have an outcome");
        }
    }
}

#[test]
fn generated_models_give_the_sequential_result() {
    for seed in 0..40 {
        let model = RandomModel::new(seed);
        let want = run(&model, options(800, Executor::Sequential)).expect("a model without faults runs");
        for executor in PARALLEL {
            let models = vec![&model; 2 + seed as usize % 3];
            let undo = Some(towtank_kernel::UndoBy::Clone);
            let options = RunOptions { undo, ..options(800, executor) };
            let mut ends =
                Shuffle { seed, delay_max: 20 }.run_members(&models, &options).expect("members can be built");
            let Ok(Some(Ended::Outcome(got))) = ends.swap_remove(0) else {
                panic!("member 0 has the outcome")
            };
            assert_eq!(differences(&want, &got), [""; 0], "replay: model {seed}, {executor}");
        }
    }
}

/// An entity that cannot start is known only in its own process; the others must not wait for it for ever.
#[test]
fn every_member_learns_that_an_entity_cannot_start() {
    let model = || Answers { cannot_start: Some(7), ..Answers::default() };
    let want = run(&model(), options(2_000, Executor::Sequential)).expect_err("entity 7 cannot start");
    assert!(matches!(&want, RunError::Start { entity: EntityId(7), .. }), "{want}");
    for executor in PARALLEL {
        for seed in 0..20 {
            let models = [model(), model(), model(), model()];
            let ends =
                Shuffle { seed, delay_max: 20 }.run_members(&models.each_ref(), &options(2_000, executor));
            let ends = ends.expect("members can be built");
            assert_eq!(ends.len(), 4);
            for end in ends {
                assert_eq!(end.err(), Some(want.clone()), "{executor}, shuffle {seed}");
            }
        }
        let whole = Crew::new(&model(), RunOptions { workers: 4, ..options(2_000, executor) }).err();
        assert_eq!(whole, Some(want.clone()));
    }
}

#[test]
fn every_member_learns_of_a_fault() {
    let mut model = RandomModel::new(4);
    model.fatal = Some((EntityId(0), Fatal::Fault(5)));
    let want = run(&model, options(800, Executor::Sequential)).err();
    assert!(want.is_some(), "the fault must happen");
    for executor in PARALLEL {
        let options = RunOptions { undo: Some(towtank_kernel::UndoBy::Clone), ..options(800, executor) };
        let shuffle = Shuffle { seed: 2, delay_max: 20 };
        for end in shuffle.run_members(&[&model, &model], &options).expect("members can be built") {
            assert_eq!(end.err(), want, "{executor}");
        }
    }
}

/// No packet is sent to a member without entities, so it needs no transport.
struct Nobody;

impl<M: Model> Transport<M> for Nobody {
    fn send(&mut self, to: usize, _: towtank_kernel::Packet<M>) {
        panic!("something was sent to member {to}");
    }

    fn receive(&mut self) -> Option<towtank_kernel::Packet<M>> {
        None
    }
}

#[test]
fn members_without_entities_finish_at_once() {
    let model = Answers::default();
    let options = RunOptions { workers: 20, ..options(2_000, Executor::Optimistic) };
    let mut spare = Crew::member(&model, options.clone(), 19).expect("it is one of twenty");
    assert_eq!(spare.partitions(), ENTITIES as usize);
    assert_eq!(spare.step(&mut Nobody), Step::Finished);
    assert!(matches!(spare.finish(), Ok(None)));
    let error = Crew::member(&model, options, 20).expect_err("twenty members count from 0 to 19");
    assert_eq!(error.to_string(), "there is no member 20 in a crew of 20; members count from 0");
}

#[test]
fn an_executor_without_workers_has_no_members() {
    let error =
        Crew::member(&Answers::default(), options(1, Executor::Sequential), 0).expect_err("it is sequential");
    assert_eq!(error.to_string(), "the sequential executor has no workers; use `prepare`");
}
