//! The audit, checked against states broken on purpose.

use towtank_kernel::{RunOptions, run};
use towtank_negotiation::bids::State as ReservationState;
use towtank_negotiation::{NegotiatingServer, Size, Step, Window};
use towtank_streams::{Draws, Purpose, Seed};
use towtank_testkit::Finished;
use towtank_units::{Bytes, Frequency, Percent, SimSpan, SimTime};

use super::*;
use crate::spec::{Bids, Network, Spec};

type State = Finished<Cluster>;
type Damage = fn(&mut State);

/// Twelve gateways and eighteen servers, stopped at the first moment whose state is `wanted`.
fn finished(protocol: Protocol, read_share: u64, wanted: &dyn Fn(&State) -> bool) -> (Cluster, State) {
    let spec = Spec {
        gateways: 12,
        servers: 18,
        in_flight: 3,
        read_share: Percent::from_percent(read_share).expect("it is a share"),
        duration: SimSpan::from_ms(4),
        warm_up: SimSpan::from_ms(1),
        start_spread: SimSpan::from_us(500),
        bids: Bids { keep_holes: Some(true), ..Bids::default() },
        ..Spec::default()
    };
    let cluster = spec.cluster(protocol, false);
    for end in (3_456_789..).step_by(1_711) {
        let options = RunOptions { end: Some(SimTime::from_ns(end)), ..RunOptions::default() };
        let state = Finished::of(run(&cluster, options).expect("the cluster runs"));
        if wanted(&state) {
            return (cluster, state);
        }
    }
    unreachable!("there are many moments")
}

fn has(state: &State, of: fn(&Event) -> bool) -> bool {
    state.pending.iter().any(|one| of(&one.event))
}

fn gateway(state: &mut State) -> &mut Gateway {
    let Entity::Gateway(gateway) = &mut state.entities[0] else { panic!("gateways come first") };
    gateway
}

fn server(state: &mut State, at: usize) -> &mut Server {
    let Entity::Server(server) = &mut state.entities[12 + at] else { panic!("then come servers") };
    server
}

fn place(state: &State, of: fn(&Event) -> bool) -> usize {
    state.pending.iter().position(|one| of(&one.event)).expect("it is in flight")
}

fn lose(state: &mut State, of: fn(&Event) -> bool) {
    state.pending.remove(place(state, of));
}

fn double(state: &mut State, of: fn(&Event) -> bool) {
    let again = state.pending[place(state, of)].clone();
    state.pending.push(again);
}

fn is_data(event: &Event) -> bool {
    matches!(event, Event::Data { .. }) || frame_of(event).is_some_and(|frame| frame.is_put())
}

fn is_delivery(event: &Event) -> bool {
    matches!(event, Event::GetData { .. }) || frame_of(event).is_some_and(|frame| !frame.is_put())
}

fn is_ack(event: &Event) -> bool {
    matches!(message_of(event), Some(Message::Ack { .. }))
}

/// Whether another invariant also notices the loss of this event.
fn is_counted(event: &Event) -> bool {
    is_data(event) || is_delivery(event) || is_ack(event)
}

/// A task with no event in flight that another invariant counts.
fn plain_task(state: &State, wanted: fn(Task) -> bool) -> Option<Task> {
    let of_gateway = |(id, entity): (u32, &Entity)| match entity {
        Entity::Gateway(gateway) => gateway.machine.tasks(GatewayId(id)),
        _ => Vec::new(),
    };
    let held: Vec<Task> = (0..).zip(&state.entities).flat_map(of_gateway).collect();
    let counted =
        |task: Task| state.pending.iter().any(|one| task_of(one) == Some(task) && is_counted(&one.event));
    let waits = |task: Task| {
        state.entities.iter().any(|entity| match entity {
            Entity::Server(server) => match &server.machine {
                Target::Unicast(machine) => machine.puts().any(|put| Task::Put(put) == task),
                Target::Negotiating(_) => false,
            },
            _ => false,
        })
    };
    held.into_iter().find(|task| wanted(*task) && !counted(*task) && !waits(*task))
}

/// Removes all events of some task.
fn forget_a_task(state: &mut State, wanted: fn(Task) -> bool) {
    let task = plain_task(state, wanted).expect("some task has only messages in flight");
    state.pending.retain(|one| task_of(one) != Some(task));
}

fn is_put(task: Task) -> bool {
    matches!(task, Task::Put(_))
}

fn is_get(task: Task) -> bool {
    matches!(task, Task::Get(_))
}

const BOTH: [(&str, &str, Damage); 13] = [
    ("data lost on their way", "bytes were sent, but", |state| lose(state, is_data)),
    ("data doubled", "bytes were sent, but", |state| double(state, is_data)),
    ("a byte that nobody sent", "bytes were sent, but", |state| server(state, 3).tally.bytes_received += 1),
    ("bytes at another server", "server 3 received", |state| {
        server(state, 3).tally.bytes_received -= 9_000;
        server(state, 4).tally.bytes_received += 9_000;
    }),
    ("an acknowledgement lost", "replicas were stored", |state| lose(state, is_ack)),
    ("an acknowledgement doubled", "replicas were stored", |state| double(state, is_ack)),
    ("a replica stored twice", "replicas were stored", |state| server(state, 2).tally.replicas += 1),
    ("a chunk lost", "chunks arrived, but", |state| gateway(state).tally.created += 1),
    ("a chunk stored twice", "chunks arrived, but", |state| gateway(state).tally.done += 1),
    ("a chunk of another gateway", "at gateway 0", |state| {
        gateway(state).tally.created += 1;
        let Entity::Gateway(other) = &mut state.entities[1] else { return };
        other.tally.created -= 1;
    }),
    ("a put that nobody goes on with", "no pending event continues it", |state| {
        forget_a_task(state, is_put);
    }),
    ("puts counted twice", "puts were counted", |state| state.statistics[0].puts += 1_000_000),
    ("a disk busier than time", "was busy for", |state| state.statistics[20].busy_ns = 4_000_001),
];

const READS: [(&str, &str, Damage); 7] = [
    ("a delivery lost", "bytes were sent to readers", |state| lose(state, is_delivery)),
    ("a delivery doubled", "bytes were sent to readers", |state| double(state, is_delivery)),
    ("a byte that nobody read", "bytes were sent to readers", |state| {
        gateway(state).tally.bytes_received += 1
    }),
    ("a get lost", "chunks were requested, but", |state| gateway(state).tally.gets_created += 1),
    ("a get that nobody goes on with", "no pending event continues it", |state| {
        forget_a_task(state, is_get);
    }),
    ("a link that carries more than there is time for", "was given", |state| {
        server(state, 3).ports.data_out.lane.busy = SimSpan::from_secs(5);
    }),
    ("gets counted twice", "gets were counted", |state| {
        (0..100_000).for_each(|_| state.statistics[0].got.record(1))
    }),
];

#[test]
fn the_audit_notices_what_is_lost_doubled_or_in_wrong_hands() {
    for protocol in Protocol::ALL {
        let (cluster, sound) = finished(protocol, 0, &|state| {
            has(state, is_data) && has(state, is_ack) && plain_task(state, is_put).is_some()
        });
        for (what, law, damage) in BOTH {
            let complaint = sound.complaint(&cluster, &format!("{}: {what}", protocol.name()), damage);
            assert!(complaint.contains(law), "{}: {what}: {complaint}", protocol.name());
        }
    }
}

#[test]
fn the_audit_notices_it_of_what_is_read_too() {
    for protocol in Protocol::ALL {
        let (cluster, sound) =
            finished(protocol, 50, &|state| has(state, is_delivery) && plain_task(state, is_get).is_some());
        for (what, law, damage) in READS {
            let complaint = sound.complaint(&cluster, &format!("{}: {what}", protocol.name()), damage);
            assert!(complaint.contains(law), "{}: {what}: {complaint}", protocol.name());
        }
    }
}

/// As [`finished`], with servers that have room for eight chunks, and gateways that may ask every 300 us.
fn finished_with_limits(protocol: Protocol, wanted: &dyn Fn(&State) -> bool) -> (Cluster, State) {
    let spec = Spec {
        gateways: 12,
        servers: 18,
        in_flight: 3,
        capacity: Some(Bytes::from_mib(1)),
        duration: SimSpan::from_ms(4),
        network: Network { request_rate: Frequency::from_per_second(3_333), ..Network::default() },
        ..Spec::default()
    };
    let cluster = spec.cluster(protocol, false);
    for end in (456_789..).step_by(1_711) {
        let options = RunOptions { end: Some(SimTime::from_ns(end)), ..RunOptions::default() };
        let state = Finished::of(run(&cluster, options).expect("the cluster runs"));
        if wanted(&state) {
            return (cluster, state);
        }
    }
    unreachable!("there are many moments")
}

#[test]
fn the_audit_notices_room_and_requests_that_are_lost() {
    let bids = |state: &State| {
        let undecided = |machine: &mut NegotiatingServer| {
            machine.reservations().iter().any(|one| one.state == ReservationState::Tentative)
        };
        state.clone().entities.iter_mut().filter_map(negotiating).any(undecided)
    };
    let held = |state: &State| {
        state
            .entities
            .iter()
            .any(|entity| matches!(entity, Entity::Gateway(gateway) if !gateway.held.is_empty()))
    };
    for protocol in [Protocol::ReplicastM, Protocol::ReplicastH] {
        let (cluster, sound) = finished_with_limits(protocol, &|state| bids(state) && held(state));
        // The same server with rules without a capacity: room is neither reserved nor given back.
        let mut free = cluster.terms.clone();
        free.fixed.capacity = None;
        let hear = |state: &mut State, at: usize, of: &dyn Fn(&NegotiatingServer) -> Message| {
            let machine = negotiating(&mut state.entities[12 + at]).expect("it is a server");
            let mut draws = Draws::new(Seed(1), 0, 0);
            let mut draws = draws.of(Purpose(1));
            let message = of(machine);
            machine.hear(&message, &mut Step::new(&free, state.now, &mut draws));
        };
        let put = PutId { gateway: GatewayId(11), number: 999 };
        let request = |_: &NegotiatingServer| Message::Request {
            put,
            size: Size(0),
            chunk: None,
            round: 1,
            from: SimTime::ZERO,
        };
        let complaint = sound.complaint(&cluster, "a bid without room", |state| hear(state, 3, &request));
        assert!(complaint.contains("1 bids without room"), "{complaint}");
        let at = (0..18).find(|at| {
            let machine = negotiating(&mut sound.clone().entities[12 + at]).cloned();
            machine.is_some_and(|machine| machine.room().puts().next().is_some())
        });
        let at = at.expect("some server has a bid");
        let complaint = sound.complaint(&cluster, "room without a bid", |state| {
            let machine = negotiating(&mut state.entities[12 + at]).expect("it is a server");
            let put = machine.room().puts().next().expect("it has room reserved");
            let mut draws = Draws::new(Seed(1), 0, 0);
            let mut draws = draws.of(Purpose(1));
            machine.receive(put, Size(0), &mut Step::new(&free, state.now, &mut draws));
        });
        assert!(complaint.contains("room for 1 puts without a bid"), "{complaint}");
        let complaint = sound.complaint(&cluster, "requests that nothing releases", |state| {
            state.pending.retain(|one| !matches!(one.event, Event::Release));
        });
        assert!(complaint.contains("no pending event continues it"), "{complaint}");
        let complaint = sound.complaint(&cluster, "requests that are never sent", |state| {
            for entity in &mut state.entities {
                if let Entity::Gateway(gateway) = entity {
                    gateway.held.clear();
                }
            }
        });
        assert!(complaint.contains("no pending event continues it"), "{complaint}");
    }
}

/// An accepted window, and a put whose bid is undecided, at one server.
fn undecided(machine: &NegotiatingServer) -> Option<(PutId, Window)> {
    let of = |state| machine.reservations().iter().find(move |one| one.state == state);
    Some((of(ReservationState::Tentative)?.put, of(ReservationState::Accepted)?.window))
}

fn negotiating(entity: &mut Entity) -> Option<&mut NegotiatingServer> {
    match entity {
        Entity::Server(server) => match &mut server.machine {
            Target::Negotiating(machine) => Some(machine),
            Target::Unicast(_) => None,
        },
        _ => None,
    }
}

#[test]
fn the_audit_notices_a_broken_reservation_and_windows_that_overlap() {
    let both = |state: &State| {
        state.clone().entities.iter_mut().filter_map(negotiating).any(|machine| undecided(machine).is_some())
    };
    let (cluster, sound) = finished(Protocol::ReplicastM, 0, &both);
    let broken = sound.complaint(&cluster, "a violation", |state| server(state, 0).tally.violations += 1);
    assert!(broken.contains("broke a reservation"), "{broken}");
    // Assigns the window of one put to another one as well.
    let overlap = sound.complaint(&cluster, "a window twice", |state| {
        let mut machines = state.entities.iter_mut().filter_map(negotiating);
        let found = machines.find_map(|machine| Some((undecided(machine)?, machine)));
        let ((put, window), machine) = found.expect("such a moment was asked for");
        let mut draws = Draws::new(Seed(1), 0, 0);
        let mut draws = draws.of(Purpose(1));
        machine.hear(&Message::Accept { put, window }, &mut Step::new(&cluster.terms, state.now, &mut draws));
    });
    assert!(overlap.contains("overlap"), "{overlap}");
}
