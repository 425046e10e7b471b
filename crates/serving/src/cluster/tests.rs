//! Tests of the audit, on states that were damaged deliberately.

use towtank_devices::{CardSpec, DiskSpec};
use towtank_kernel::{RunOptions, Scheduled, run};
use towtank_testkit::Finished;
use towtank_units::Rate;

use super::*;

type State = Finished<Cluster>;

/// Half reads, some of them from a cache, and writes to three of six servers.
fn cluster(load: Load) -> Cluster {
    let us = SimSpan::from_us;
    // Operations without bytes: only their overheads take time.
    let rate = Rate::from_bytes_per_second(1).expect("above zero");
    let disk = |read: u64, write: u64| {
        let (read_overhead, write_overhead) = (us(read), us(write));
        let (seeks, extent) = (Vec::new(), Bytes::ZERO);
        let spec = DiskSpec { read: rate, write: rate, read_overhead, write_overhead, seeks, extent };
        DiskClock::new(spec, Bytes::ZERO)
    };
    Cluster {
        servers: 6,
        fast: 2,
        replicas: 3,
        acks: 3,
        parts: vec![Part { size: Bytes::ZERO, reads: u64::MAX / 2, up_to: u64::MAX }],
        disks: [disk(100, 150), disk(40, 60)],
        card: CardClock::new(CardSpec { rate, latency: us(10), gap: us(30) }, Bytes::ZERO),
        cached: us(5),
        hits: u64::MAX / 4,
        load,
        admission: Admission::Open,
        from: SimTime::from_ns(1_000_000),
        until: SimTime::from_ns(5_000_000),
        phase: us(1_000),
        window: us(500),
    }
}

/// Stopped at the first instant at which every kind of message is in flight.
fn finished(cluster: &Cluster) -> State {
    for end in (3_333_333..).step_by(1_711) {
        let options = RunOptions { end: Some(SimTime::from_ns(end)), ..RunOptions::default() };
        let state = Finished::of(run(cluster, options).expect("the cluster runs"));
        let has = |of: fn(&Event) -> bool| state.pending.iter().any(|one| of(&one.event));
        if has(is_request) && has(is_answer) && has(is_served) {
            return state;
        }
    }
    unreachable!("there are many moments")
}

fn clients(state: &mut State) -> &mut Clients {
    let Entity::Clients(clients) = &mut state.entities[0] else { panic!("the first entity is the clients") };
    clients
}

fn server(state: &mut State, at: usize) -> &mut Server {
    let Entity::Server(server) = &mut state.entities[1 + at] else { panic!("the others are servers") };
    server
}

fn place(state: &State, of: fn(&Event) -> bool) -> usize {
    state.pending.iter().position(|one| of(&one.event)).expect("it is in flight")
}

fn is_request(event: &Event) -> bool {
    matches!(event, Event::Request { .. })
}

fn is_answer(event: &Event) -> bool {
    matches!(event, Event::Answer { .. })
}

fn is_served(event: &Event) -> bool {
    matches!(event, Event::Served { work_ns: 1.., .. })
}

fn lose(state: &mut State, of: fn(&Event) -> bool) {
    state.pending.remove(place(state, of));
}

fn double(state: &mut State, of: fn(&Event) -> bool) {
    let again: Scheduled<Event> = state.pending[place(state, of)].clone();
    state.pending.push(again);
}

#[test]
fn the_audit_notices_what_is_lost_doubled_or_in_wrong_hands() {
    type Damage = fn(&mut State);
    let damages: [(&str, &str, Damage); 18] = [
        ("a lost request", "waits for", |state| lose(state, is_request)),
        ("a lost answer", "waits for", |state| lose(state, is_answer)),
        ("a write that is never served", "waits for", |state| lose(state, is_served)),
        ("a doubled request", "waits for", |state| double(state, is_request)),
        ("a doubled answer", "waits for", |state| double(state, is_answer)),
        ("an answer of another operation", "waits for", |state| {
            let at = place(state, is_answer);
            let Event::Answer { operation, .. } = &mut state.pending[at].event else { return };
            *operation = (*operation + 1) % 24;
        }),
        ("an answer of no operation", "never began", |state| {
            let at = place(state, is_answer);
            state.pending[at].event = Event::Answer { operation: 999, work_ns: 0 };
        }),
        ("an answer at a server", "is on its way to entity", |state| {
            let at = place(state, is_answer);
            state.pending[at].to = EntityId(3);
        }),
        ("work at another server", "requests came to server", |state| {
            let at = place(state, is_served);
            let to = state.pending[at].to.0;
            state.pending[at].to = EntityId(to % 6 + 1);
        }),
        ("work that no disk did", "disks worked", |state| {
            let at = place(state, is_served);
            let Event::Served { work_ns, .. } = &mut state.pending[at].event else { return };
            *work_ns += 1;
        }),
        ("an operation that is forgotten", "free places", |state| {
            clients(state).under_way.set(5, None);
        }),
        ("an operation too many", "operations began", |state| clients(state).books.done += 1),
        ("an unfinished operation", "are to be", |state| {
            let clients = clients(state);
            clients.books.begun += 1;
            clients.under_way.push(Some(Operation {
                began: SimTime::ZERO,
                answers: 0,
                unacked: 1,
                part: 0,
                write: false,
            }));
        }),
        ("an operation that is acknowledged twice", "are acknowledged", |state| {
            clients(state).books.acked += 1;
        }),
        ("a server that forgets a request", "requests were sent", |state| server(state, 2).asked -= 1),
        ("a server that answers twice", "requests came to server 2", |state| server(state, 2).answered += 1),
        ("a card that carries more than there is time for", "was given", |state| {
            server(state, 1).card_out.lane.busy = SimSpan::from_secs(9);
        }),
        ("a disk busier than time", "of a window of", |state| state.statistics[1].busy_ns[0] = 500_001),
    ];
    for acks in 1..=3 {
        let cluster = Cluster { acks, ..cluster(Load::Closed(24)) };
        let sound = finished(&cluster);
        for (what, law, damage) in damages {
            let complaint = sound.complaint(&cluster, what, damage);
            assert!(complaint.contains(law), "{what}, {acks} acknowledge: {complaint}");
        }
    }
}

/// Two parts, of which the second is a quarter of the operations in flight.
#[test]
fn the_audit_notices_an_operation_of_another_part() {
    let mut cluster = cluster(Load::Streams(vec![18, 6]));
    cluster.parts = vec![Part { up_to: u64::MAX / 2, ..cluster.parts[0] }, cluster.parts[0]];
    let sound = finished(&cluster);
    let changed = sound.complaint(&cluster, "an operation that changes its part", |state| {
        let under_way = &mut clients(state).under_way;
        let at = under_way.get().iter().position(|one| one.is_some_and(|one| one.unacked > 0));
        let at = at.expect("operations are under way");
        let one = under_way.get()[at].expect("it is taken");
        under_way.set(at, Some(Operation { part: 1 - one.part, ..one }));
    });
    assert!(changed.contains("of part 0 are under way, but 18 are to be"), "{changed}");
    let counted = sound.complaint(&cluster, "an operation counted for no part", |state| {
        state.statistics[0].parts[0].reads += 1;
    });
    assert!(counted.contains("by part"), "{counted}");
}

#[test]
fn the_audit_notices_damage_in_an_open_loop() {
    let gaps = Exponential::with_mean(20_000.0).expect("it is above zero");
    let cluster = cluster(Load::Open(vec![(gaps, u64::MAX / 2)]));
    let sound = finished(&cluster);
    assert!(sound.complaint(&cluster, "lost", |state| lose(state, is_served)).contains("waits for"));
    assert!(
        sound
            .complaint(&cluster, "counted", |state| clients(state).books.begun += 1)
            .contains("operations began")
    );
    let done = Sample::Done { span: SimSpan::from_us(1), part: 0, write: false };
    let more = |state: &mut State| state.statistics[0].add(done);
    let counted = sound.complaint(&cluster, "counted twice", |state| (0..10_000).for_each(|_| more(state)));
    assert!(counted.contains("operations were counted"), "{counted}");
}

/// A fault that was mended: such an answer was dropped silently.
#[test]
fn an_answer_that_nobody_waits_for_is_a_fault() {
    let cluster = cluster(Load::Closed(24));
    let sound = finished(&cluster);
    for unknown in [5, 999] {
        let complaint = sound.complaint(&cluster, "an answer too many", |state| {
            let clients = clients(state);
            while clients.under_way.get().get(unknown).is_some_and(Option::is_some) {
                clients.take(unknown as u32, 0);
            }
            clients.take(unknown as u32, 0);
        });
        assert!(complaint.contains("which was not under way"), "{complaint}");
    }
}
