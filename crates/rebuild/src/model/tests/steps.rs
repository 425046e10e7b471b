//! The steps of an object in the queue of Ceph 16.2.15, worked by hand: pushes, pulls, and the work items
//! that move nothing. Measured costs: 109 for an object that is pushed, 153 where osd.0 replies, 218 for one
//! that is pulled, and 240 from osd.0 (docs/measurements/mclock.md).

use towtank_devices::{CardSpec, DiskSpec};
use towtank_units::Bytes;

use super::*;
use crate::hardware::Layout;

/// The limit of a flow: units of cost in a second.
const LIMIT: u64 = 63;
const OBJECT: u64 = 4 << 20;

/// A group: its number, who leads it, from where to where its objects go, and how many there are.
#[derive(Clone, Copy)]
struct Group {
    number: u32,
    leads: u32,
    from: u32,
    to: u32,
    objects: u32,
    by_log: bool,
}

/// Objects that their leader pushes, as a backfill does.
fn pushed(number: u32, (from, to): (u32, u32), objects: u32) -> Group {
    Group { number, leads: from, from, to, objects, by_log: false }
}

/// Objects that their leader pulls.
fn pulled(number: u32, (from, to): (u32, u32), objects: u32) -> Group {
    Group { leads: to, by_log: true, ..pushed(number, (from, to), objects) }
}

/// Three devices so fast that only the queue takes time.
fn fast() -> Hardware {
    let rate = sample::rate(1 << 50);
    let disk = DiskSpec {
        read: rate,
        write: rate,
        read_overhead: SimSpan::ZERO,
        write_overhead: SimSpan::ZERO,
        seeks: Vec::new(),
        extent: Bytes::new(0),
    };
    let layout = Layout { server_of: vec![0, 1, 2], rack_of: vec![0; 3], class_of: vec![0; 3] };
    let card = CardSpec { rate, latency: SimSpan::from_ns(100), gap: SimSpan::ZERO };
    Hardware::new(layout, vec![disk], card, None, Bytes::from_mib(8))
}

/// A plan of these groups. Each is counted in a row of its own, and all have the same priority.
fn plan(groups: &[Group]) -> Plan {
    let mut plan = Plan::new().of_groups(true);
    for driver in 0..3 {
        plan.next_driver();
        for (row, group) in (0u32..).zip(groups).filter(|(_, group)| group.leads == driver) {
            plan.next_task(group.number, (row, false), &[]);
            plan.wait_as(0);
            if group.by_log {
                plan.recover_by_log();
            }
            let (from, to) = ([DeviceId(group.from)], [DeviceId(group.to)]);
            (0..group.objects).for_each(|_| plan.next_job(OBJECT, 0, &from, &to));
        }
    }
    plan
}

/// Work items share the limit of what osd.0 sends.
fn limits() -> Limits {
    let limits = wpq_no_more(Some(DeviceId(0)));
    Limits { window: 1, ..limits }
}

/// When the last object of each group was done and when all was, in units of cost at the limit.
fn costs(groups: &[Group], limits: &Limits) -> (Vec<f64>, f64) {
    let (hardware, plan) = (fast(), plan(groups));
    let done = outcome(&Rebuild::new(&hardware, &plan, limits), RunOptions::default());
    let counts = done.merged_statistics();
    assert_eq!(counts.jobs as usize, plan.jobs().len());
    let cost = |at: SimTime| at.as_secs_f64() * LIMIT as f64;
    (counts.last[..groups.len()].iter().map(|at| cost(*at)).collect(), cost(done.now))
}

/// Whether the last objects of groups were done after these costs. Disks and network take less than a
/// hundredth of a unit of cost.
fn is(groups: &[Group], wanted: &[u32]) -> bool {
    let (found, _) = costs(groups, &limits());
    println!("{found:?}, expected {wanted:?}");
    found.len() == wanted.len()
        && found.iter().zip(wanted).all(|(found, wanted)| (found - f64::from(*wanted)).abs() < 0.01)
}

/// One group. The first item goes at once; the first object of a backfill comes with the second.
#[test]
fn an_object_costs_what_its_steps_cost() {
    for objects in 1..5 {
        let more = objects - 1;
        assert!(is(&[pushed(0, (1, 2), objects)], &[109 + 109 * more]), "an item for each");
        // The reply of osd.0 shares the limit: 44.
        assert!(is(&[pushed(0, (1, 0), objects)], &[109 + 44 + 153 * more]));
        assert!(is(&[pulled(0, (1, 2), objects)], &[109 + 218 * more]), "an item and a context");
        // The push of osd.0 shares the limit: 22.
        assert!(is(&[pulled(0, (0, 2), objects)], &[22 + 109 + 240 * more]));
        // osd.0 itself leads: it pulls from another, and the push is in the flow of that one.
        assert!(is(&[pulled(0, (1, 0), objects)], &[109 + 218 * more]));
    }
    // By log, an object that is pushed comes with the first item.
    assert!(is(&[Group { by_log: true, ..pushed(0, (1, 2), 3) }], &[218]));
}

/// The check above tells each of these costs from the others.
#[test]
fn a_wrong_cost_is_noticed() {
    assert!(!is(&[pulled(0, (1, 2), 3)], &[131 + 2 * 240]), "240 is from osd.0");
    assert!(!is(&[pulled(0, (0, 2), 3)], &[109 + 2 * 218]), "218 is from another");
    assert!(!is(&[pushed(0, (1, 2), 3)], &[153 * 3]), "153 is to osd.0");
    assert!(!is(&[pushed(0, (1, 0), 3)], &[109 * 3]), "109 is to another");
    assert!(!is(&[pulled(0, (1, 2), 3)], &[109 * 3]), "a pull has a context");
    assert!(!is(&[Group { by_log: true, ..pushed(0, (1, 2), 3) }], &[109 * 3]), "a log has no first item");
    // If items and contexts cost 1, the requests of 44 are what takes time.
    let mut cheap = limits();
    cheap.queues.as_mut().expect("these limits have queues").throttles[0].item = Some(0);
    let (found, _) = costs(&[pulled(0, (1, 2), 3)], &cheap);
    assert!((found[0] - 88.0).abs() < 0.01, "{found:?}");
}

/// Two groups in one shard take turns, so each object takes twice as long; in two shards none waits for the
/// other.
#[test]
fn groups_of_a_shard_share_its_limit() {
    // Items at 0 and 109, contexts at 218 and 327, items at 436 and 545, contexts at 654 and 763.
    let two = |second: u32| [pulled(0, (1, 2), 2), pulled(second, (1, 2), 2)];
    assert!(is(&two(5), &[654, 763]));
    assert!(is(&two(1), &[327, 327]));
    assert!(!is(&two(5), &[327, 327]) && !is(&two(1), &[654, 763]), "shards are distinguished");
    // From osd.0: items at 0 and 109, pushes at 131 and 153, contexts at 262 and 371; items at 480 and 589,
    // pushes at 611 and 633, contexts at 742 and 851.
    let zero = |second: u32| [pulled(0, (0, 2), 2), pulled(second, (0, 2), 2)];
    assert!(is(&zero(5), &[742, 851]));
    assert!(is(&zero(1), &[371, 371]));
    // Pushes: the items that move nothing at 0 and 109, the objects at 218 and 327, and at 436 and 545.
    let pushes = |second: u32| [pushed(0, (1, 2), 2), pushed(second, (1, 2), 2)];
    assert!(is(&pushes(5), &[436, 545]));
    assert!(is(&pushes(1), &[218, 218]));
}

/// A group that ends leaves one item behind its last object if its log said what was missing, and two after
/// a backfill. Another group of the shard waits for them.
#[test]
fn items_behind_the_last_object_move_nothing() {
    // By log: items at 0 and 109, contexts at 218 and 327. The first group ends with an item at 436; the
    // second has its next item at 545, and its context at 654.
    assert!(is(&[pulled(0, (1, 2), 1), pulled(5, (1, 2), 2)], &[218, 654]));
    assert!(!is(&[pulled(0, (1, 2), 1), pulled(5, (1, 2), 2)], &[218, 545]), "without that item");
    // A backfill: items at 0 and 109, objects at 218 and 327. The first group ends with items at 436, and at
    // 654; the second has its objects at 545 and 763.
    assert!(is(&[pushed(0, (1, 2), 1), pushed(5, (1, 2), 3)], &[218, 763]));
    assert!(!is(&[pushed(0, (1, 2), 1), pushed(5, (1, 2), 3)], &[218, 654]), "with one item less");
    // Alone, all ends with the last of them.
    let end = |group: Group| costs(&[group], &limits()).1;
    let near = |found: f64, wanted: f64| assert!((found - wanted).abs() < 0.01, "{found}, not {wanted}");
    near(end(pushed(0, (1, 2), 3)), 3.0 * 109.0 + 2.0 * 109.0);
    near(end(pulled(0, (1, 2), 3)), 109.0 + 2.0 * 218.0 + 109.0);
    near(end(Group { by_log: true, ..pushed(0, (1, 2), 3) }), 2.0 * 109.0 + 109.0);
}

/// An object of more than 8 MiB is pulled in several pushes; only the last one has a context.
#[test]
fn a_large_object_has_one_context() {
    let (hardware, mut plan) = (fast(), Plan::new().of_groups(true));
    for driver in 0..3 {
        plan.next_driver();
        if driver == 2 {
            plan.next_task(0, (0, false), &[]);
            plan.recover_by_log();
            plan.next_job(20 << 20, 0, &[DeviceId(1)], &[DeviceId(2)]);
        }
    }
    let limits = limits();
    let done = outcome(&Rebuild::new(&hardware, &plan, &limits), RunOptions::default());
    let found = done.merged_statistics().last[0].as_secs_f64() * LIMIT as f64;
    // Requests at 0, 44 and 88, since each is queued when the push before has come; a push costs 44, and the
    // last one 22. The context is at 109 behind the item, if the last push has come by then.
    assert!((found - 109.0).abs() < 0.01, "{found}");
}

/// A task whose jobs are done waits for its last items: states in between, with errors put in.
#[test]
fn a_last_item_that_is_lost_is_noticed() {
    let (hardware, plan, limits) = (fast(), plan(&[pulled(0, (1, 2), 1)]), limits());
    let model = Rebuild::new(&hardware, &plan, &limits);
    let end = Some(SimTime::from_ns(150 * 1_000_000_000 / LIMIT));
    let state = Finished::of(outcome(&model, RunOptions { end, ..RunOptions::default() }));
    let kinds: Vec<Kind> = state.pending.iter().map(|pending| pending.event.kind).collect();
    assert_eq!(kinds, [Kind::Empty], "the context was at 109, and the last item comes at 218");
    let lost = state.complaint(&model, "lost", |state| state.pending.clear());
    assert!(lost.contains("has 0 work items behind its jobs, not 1"), "{lost}");
    let twice = state.complaint(&model, "twice", |state| {
        let one = state.pending[0].clone();
        state.pending.push(one);
    });
    assert!(twice.contains("has 2 work items behind its jobs, not 1"), "{twice}");
    let strange = state.complaint(&model, "strange", |state| {
        let mut one = state.pending[0].clone();
        one.event.driver = DeviceId(1);
        state.pending.push(one);
    });
    assert!(strange.contains("has no task"), "{strange}");
}

/// A request to pull that is lost, or a second one, breaks the books of the unit.
#[test]
fn a_request_that_is_lost_is_noticed() {
    let (hardware, plan, limits) = (fast(), plan(&[pulled(0, (1, 2), 3)]), limits());
    let model = Rebuild::new(&hardware, &plan, &limits);
    // The second request arrives when the second item runs, at 218; a control message takes some time.
    let end = Some(SimTime::from_ns(218 * 1_000_000_000 / LIMIT + 20));
    let state = Finished::of(outcome(&model, RunOptions { end, ..RunOptions::default() }));
    let kinds: Vec<Kind> = state.pending.iter().map(|pending| pending.event.kind).collect();
    assert_eq!(kinds, [Kind::Pull]);
    let lost = state.complaint(&model, "lost", |state| state.pending.clear());
    assert!(lost.contains("bytes are to be") || lost.contains("accounted for"), "{lost}");
    let twice = state.complaint(&model, "twice", |state| {
        let one = state.pending[0].clone();
        state.pending.push(one);
    });
    assert!(twice.contains("bytes are to be") || twice.contains("accounted for"), "{twice}");
}
