//! Tests of the audit, on states that were damaged deliberately.

use towtank_iosched::{Discipline, FlowId, Request};
use towtank_kernel::{RunOptions, Scheduled, run};
use towtank_rebuild::hardware::Hardware;
use towtank_rebuild::model::{
    Arrivals, Clients, Device, Entity, Event, Kind, Limits, Load, Rebuild, Server, Slot, Weights,
};
use towtank_rebuild::plan::{DeviceId, Plan};
use towtank_testkit::Finished;
use towtank_units::{Frequency, Rate, SimSpan, SimTime};

use crate::cluster::COPIES;
use crate::sample::{self, Size, UNIT};

/// Groups that are copied under reservations, and a coded one whose shards are gathered.
struct Setting {
    hardware: Hardware,
    plan: Plan,
    limits: Limits,
    dead: Vec<bool>,
    clients: bool,
}

impl Setting {
    fn new() -> Setting {
        let hardware = sample::hardware(Size { racks: 1, servers: 5, disks: 1 });
        let mut plan = Plan::new().of_groups(true);
        let device = DeviceId;
        for driver in 0..5 {
            plan.next_driver();
            if driver < 3 {
                for group in 0..3 {
                    let target = device((driver + 1 + group % 2) % 5);
                    plan.next_task(10 * driver + group, (group, group == 0), &[target]);
                    (0..4).for_each(|job| {
                        plan.next_job((3 + job) * 3 * UNIT / 4, 0, &[device(driver)], &[target])
                    });
                }
            }
            if driver == 3 {
                plan.next_task(99, (0, false), &[device(1), device(4)]);
                for _ in 0..4 {
                    plan.next_job(
                        9 * UNIT / 4,
                        1,
                        &[device(3), device(0), device(2)],
                        &[device(1), device(4)],
                    );
                }
            }
        }
        let limits = Limits { window: 2, streams: 4, reservations: Some(1), ..sample::limits() };
        Setting { hardware, plan, limits, dead: vec![false; 5], clients: false }
    }

    fn model(&self) -> Rebuild<'_> {
        let often = Frequency::from_per_second(100_000).expect("not so often");
        let weights = Weights::against_one(1);
        let load =
            Load { arrivals: Arrivals::Open(often), reads: 0.7, bytes: 500, redundancy: COPIES, weights };
        let clients = self.clients.then(|| Clients::new(load, &self.hardware, |_| true)).flatten();
        Rebuild::new(&self.hardware, &self.plan, &self.limits)
            .with_dead(self.dead.clone())
            .with_clients(clients)
    }

    /// The state at an instant, or at the end.
    fn state<'a>(model: &Rebuild<'a>, at_us: Option<u64>) -> Finished<Rebuild<'a>> {
        let end = at_us.map(|us| SimTime::from_ns(us * 1_000));
        Finished::of(run(model, RunOptions { end, ..RunOptions::default() }).expect("the model is sound"))
    }
}

type State<'a> = Finished<Rebuild<'a>>;

fn server<'s>(state: &'s mut State<'_>, of: impl Fn(&Server) -> bool) -> &'s mut Server {
    let servers = state.entities.iter_mut().filter_map(|entity| match entity {
        Entity::Server(server) => Some(server),
        Entity::Rack(_) | Entity::Monitor { .. } => None,
    });
    servers.into_iter().find(|server| of(server)).expect("a server is like that")
}

fn device<'s>(state: &'s mut State<'_>, of: impl Fn(&Device) -> bool) -> &'s mut Device {
    let like = |server: &Server| server.devices.iter().any(&of);
    server(state, like).devices.iter_mut().find(|device| of(device)).expect("a device is like that")
}

fn pending(state: &State<'_>, of: impl Fn(&Event) -> bool) -> usize {
    let like = |one: &Scheduled<Event>| of(&one.event);
    state.pending.iter().position(like).expect("such an event is pending")
}

fn in_work(device: &Device) -> bool {
    device.slots.iter().any(|slot| slot.job != Slot::NONE && slot.next > slot.left)
}

fn has_parts(slot: &Slot) -> bool {
    slot.parts.iter().any(|&parts| parts > 0)
}

/// A state in which units are on their way to targets, some parts of a unit are gathered and others are on
/// their way, and tasks wait.
fn midway<'a>(model: &Rebuild<'a>) -> State<'a> {
    for us in 1.. {
        let state = Setting::state(model, Some(us));
        let any = |of: &dyn Fn(&Event) -> bool| state.pending.iter().any(|one| of(&one.event));
        let on_its_way = any(&|event| event.kind == Kind::In && !event.marks.gathers());
        let gathered = any(&|event| event.kind == Kind::In && event.marks.gathers());
        let servers = state.entities.iter().filter_map(|entity| match entity {
            Entity::Server(server) => Some(server),
            _ => None,
        });
        let devices: Vec<&Device> = servers.flat_map(|server| &server.devices).collect();
        let waits = devices.iter().any(|device| !device.asking.is_empty());
        let partly = devices.iter().any(|device| device.slots.iter().any(has_parts));
        if on_its_way && gathered && waits && partly {
            return state;
        }
        assert!(us < 10_000, "some moment is like that");
    }
    unreachable!("the loop ends by returning")
}

/// A description of the damage, a word of the expected complaint, and the function that does the damage.
type Damage = (&'static str, &'static str, fn(&mut State<'_>));

/// Applies each damage to a state in the middle of a rebuild, and checks that the audit complains of it.
fn each_is_noticed(damages: &[Damage]) {
    let setting = Setting::new();
    let model = setting.model();
    let state = midway(&model);
    for &(what, words, damage) in damages {
        let complaint = state.complaint(&model, what, damage);
        assert!(complaint.contains(words), "{what}: {complaint}");
    }
}

#[test]
fn the_audit_notices_bytes_and_units_that_are_lost_or_doubled() {
    each_is_noticed(&[
        ("a byte received and lost", "received by server", |state| {
            server(state, |server| server.received > 0).received -= 1;
        }),
        ("a byte sent twice", "sent by server", |state| server(state, |server| server.sent > 0).sent += 1),
        ("a byte sent by another", "sent by server", |state| {
            server(state, |server| server.sent > 0).sent -= 1;
            server(state, |server| server.sent == 0).sent += 1;
        }),
        ("a unit written twice", "written to device", |state| {
            device(state, |device| device.written > 0).written += UNIT;
        }),
        ("a unit not read", "read from device", |state| {
            device(state, |device| device.read > 0).read -= UNIT;
        }),
        ("a unit lost on its way", "accounted for", |state| {
            state.pending.remove(pending(state, |event| event.kind == Kind::In && !event.marks.gathers()));
        }),
        ("a part lost on its way", "accounted for", |state| {
            state.pending.remove(pending(state, |event| event.kind == Kind::In && event.marks.gathers()));
        }),
        ("a unit doubled on its way", "accounted for", |state| {
            let again = state.pending[pending(state, |event| event.kind == Kind::In)].clone();
            state.pending.push(again);
        }),
        ("a unit on its way to another disk", "written to device", |state| {
            let at = pending(state, |event| event.kind == Kind::In && !event.marks.gathers());
            let to = &mut state.pending[at].event.device;
            *to = DeviceId((to.0 + 1) % 5);
        }),
        ("a part of the unit forgotten", "accounted for", |state| {
            let device = device(state, |device| device.slots.iter().any(has_parts));
            let slot = device.slots.iter_mut().find(|slot| has_parts(slot)).expect("it has parts");
            slot.parts = Default::default();
        }),
    ]);
}

#[test]
fn the_audit_notices_jobs_tasks_and_reservations_that_are_lost_or_doubled() {
    each_is_noticed(&[
        ("a job gone on too far", "units are left, but", |state| {
            let slots = &mut device(state, in_work).slots;
            slots.iter_mut().find(|slot| slot.job != Slot::NONE).expect("it works").left -= 1;
        }),
        ("a job dropped", "has events, but is not in flight", |state| {
            let slots = &mut device(state, in_work).slots;
            *slots.iter_mut().find(|slot| slot.job != Slot::NONE && slot.flying > 0).expect("it works") =
                Slot::EMPTY;
        }),
        ("a task forgotten", "read from device", |state| {
            let tasks = &mut device(state, |device| !device.tasks.is_empty()).tasks;
            tasks.start += 1;
        }),
        ("a task begun twice", "to be read from device", |state| {
            let tasks = &mut device(state, |device| !device.tasks.is_empty()).tasks;
            tasks.start -= 1;
        }),
        ("a reservation granted to nobody", " granted ", |state| state_granted(state, 1)),
        ("a reservation given back in secret", " granted ", |state| state_granted(state, -1)),
        ("a task that waits, forgotten", "waits for", |state| {
            device(state, |device| !device.asking.is_empty()).asking.clear();
        }),
        ("a job counted twice", "were counted", |state| {
            state.statistics.iter_mut().find(|counts| counts.jobs > 0).expect("a job is done").jobs += 1;
        }),
        ("bytes counted that nobody wrote", "were counted", |state| {
            state.statistics.iter_mut().find(|counts| counts.jobs > 0).expect("a job is done").bytes += 1;
        }),
    ]);
}

fn state_granted(state: &mut State<'_>, more: i32) {
    let granted = &mut device(state, |device| device.granted > 0).granted;
    *granted = granted.checked_add_signed(more).expect("it had one");
}

#[test]
fn the_audit_notices_work_that_is_left_when_nothing_is_under_way() {
    let setting = Setting::new();
    let model = setting.model();
    let state = Setting::state(&model, None);
    let complaint = state.complaint(&model, "a task that was never begun", |state| {
        let device = device(state, |device| device.read > 0);
        device.tasks.start -= 1;
    });
    assert!(complaint.contains("read from device"), "{complaint}");
    // All bytes are accounted for, but nothing continues the work.
    let midway = midway(&model);
    let complaint = midway.complaint(&model, "all that is pending is gone", |state| state.pending.clear());
    assert!(complaint.contains("accounted for"), "{complaint}");
    let start = Setting::state(&model, Some(0));
    let complaint = start.complaint(&model, "nobody has begun", |state| {
        state.pending.clear();
        for entity in &mut state.entities {
            let Entity::Server(server) = entity else { continue };
            for device in &mut server.devices {
                device.tasks.start -= device.active.len() as u32;
                device.active.clear();
                device.slots.iter_mut().for_each(|slot| *slot = Slot::EMPTY);
                device.asking.clear();
                device.granted = 0;
            }
        }
    });
    assert!(complaint.contains("are not finished"), "{complaint}");
}

#[test]
fn the_audit_notices_rests_and_what_the_dead_swallowed() {
    let mut setting = Setting::new();
    setting.limits.sleep = SimSpan::from_us(5);
    let model = setting.model();
    let state = (1..2_000)
        .map(|us| Setting::state(&model, Some(us)))
        .find(|state| state.pending.iter().any(|one| one.event.kind == Kind::Wake))
        .unwrap();
    let complaint = state.complaint(&model, "nobody wakes it", |state| {
        state.pending.remove(pending(state, |event| event.kind == Kind::Wake));
    });
    assert!(complaint.contains("rests, but is woken 0 times"), "{complaint}");

    let mut setting = Setting::new();
    setting.dead[1] = true;
    let model = setting.model();
    let state = Setting::state(&model, None);
    let complaint = state.complaint(&model, "what was swallowed is forgotten", |state| {
        let swallowed = &mut server(state, |server| !server.swallowed.is_empty()).swallowed;
        swallowed.pop();
    });
    assert!(complaint.contains("requested") || complaint.contains("accounted for"), "{complaint}");
}

#[test]
fn the_audit_notices_servers_beyond_their_limits() {
    let mut setting = Setting::new();
    let model = setting.model();
    let complaint = midway(&model).complaint(&model, "a turn where no disks take turns", |state| {
        server(state, |_| true).together.turn = 1;
    });
    assert!(complaint.contains("a limit that is not set"), "{complaint}");
    setting.limits.server_streams = Some(2);
    setting.limits.server_rate = Rate::from_bytes_per_second(100_000_000);
    let model = setting.model();
    let state = midway(&model);
    let complaint = state.complaint(&model, "a job more than the server may drive", |state| {
        let slots = &mut server(state, |server| server.driven() == 2).devices[0].slots;
        let driven = *slots.iter().find(|slot| slot.job != Slot::NONE).expect("it drives two");
        *slots.iter_mut().find(|slot| slot.job == Slot::NONE).expect("it has more slots") = driven;
    });
    assert!(complaint.contains("drives 3 jobs, more than 2"), "{complaint}");
    let complaint = state.complaint(&model, "units that the rate has not granted", |state| {
        let together = &mut server(state, |server| server.driven() == 2).together;
        together.pace_at = SimTime::from_ns(together.pace_at.as_ns() / 2);
    });
    assert!(complaint.contains("were granted"), "{complaint}");
}

#[test]
fn the_audit_notices_devices_with_work_from_nowhere() {
    each_is_noticed(&[
        ("a card that sends more than there is time for", "was given", |state| {
            server(state, |_| true).out.lane.busy = SimSpan::MAX;
        }),
        ("a disk that does more than there is time for", "was given", |state| {
            device(state, |_| true).disk.lane.busy = SimSpan::MAX;
        }),
    ]);
}

#[test]
fn the_audit_notices_a_client_that_is_forgotten() {
    let setting = Setting { clients: true, ..Setting::new() };
    let model = setting.model();
    let client = |event: &Event| event.marks.is_client() && event.kind != Kind::Arrive;
    let state = (1..200)
        .map(|us| Setting::state(&model, Some(us)))
        .find(|state| state.pending.iter().any(|one| client(&one.event)))
        .expect("an operation is under way at some time");
    let complaint = state.complaint(&model, "a part of an operation is lost", |state| {
        state.pending.remove(pending(state, client));
    });
    assert!(complaint.contains("parts in flight"), "{complaint}");
    let waits = state.pending[0].event;
    let complaint = state.complaint(&model, "somebody waits in a line who never came to it", |state| {
        let shared = server(state, |server| server.shared.is_some()).shared.as_mut().expect("it has lines");
        let request = Request::new(FlowId(1), 1, waits);
        shared.out.discipline_mut().arrive(SimTime::ZERO, request);
    });
    assert!(complaint.contains("arrived at a queue"), "{complaint}");
}
