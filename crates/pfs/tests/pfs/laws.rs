//! Laws over generated inputs: the requests of the work, their placement by layouts, the conservation of
//! recorded requests, and the treatment of jobs by a gate.

use std::collections::BTreeSet;

use proptest::prelude::*;
use towtank_iosched::{Flows, PardaSpec};
use towtank_pfs::{
    Application, Component, Gate, Job, Loop, Operation, Order, Phase, Record, Replay, RuleCommand, Ruled,
    Sharing, Stripe, Striping, Syncs, TimedRule, Window, Work,
};
use towtank_streams::{Draws, Purpose, Seed};
use towtank_units::{SimSpan, SimTime};

fn application(clients: u32, files: u64) -> Application {
    Application {
        clients,
        files,
        file_bytes: 1_000,
        request_bytes: 100,
        phases: vec![Phase::Write],
        order: Order::Sequential,
        sharing: Sharing::Own,
        flows: 1,
        think: SimSpan::ZERO,
        arrivals: None,
        syncs: Syncs::Phase,
        replay: None,
    }
}

fn job(application: u16, bytes: u64) -> Job {
    Job {
        client: 0,
        flow: 0,
        application,
        write: false,
        jobs: 1,
        object: 0,
        offset: 0,
        bytes,
        rose: SimTime::ZERO,
        record: 1,
        server: 0,
        ticket: 0,
        ticket_before: 7,
        feedback: None,
    }
}

proptest! {
    /// Each wish lies inside a file of its own application, whatever the order, and their number is as
    /// specified.
    #[test]
    fn wishes_lie_inside_files(
        clients in 1_u32..5, files in 1_u64..4, file_bytes in 1_u64..5_000, request_bytes in 1_u64..900,
        sharing in 0_usize..3, random in any::<bool>(), seed in 0_u64..100,
    ) {
        let sharing = [Sharing::Own, Sharing::Interleaved, Sharing::Segmented][sharing];
        let order = if random { Order::Random } else { Order::Sequential };
        let one = Application { files, file_bytes, request_bytes, sharing, order, ..application(clients, files) };
        let work = Work::new(vec![one.clone(), one]);
        prop_assert_eq!(work.clients(), 2 * clients);
        prop_assert!(work.first_file(1) > work.first_file(0));
        for client in 0..work.clients() {
            let rank = work.rank(client);
            prop_assert!(rank.rank < rank.of && rank.of == clients);
            let application = work.of(rank);
            let first = work.first_file(usize::from(rank.application));
            prop_assert_eq!(rank.first_file, first);
            let mut draws = Draws::new(Seed(seed), client, 0);
            let mut draws = draws.of(Purpose(1));
            let all = application.requests(Phase::Write, rank);
            for number in 0..all {
                let wish = application.wish(rank, Phase::Write, number, &mut draws);
                prop_assert!(wish.bytes > 0 && wish.bytes <= request_bytes);
                prop_assert!(wish.offset + wish.bytes <= file_bytes);
                prop_assert!(wish.file >= first);
                let last = if rank.application == 0 { work.first_file(1) } else { 2 * work.first_file(1) };
                prop_assert!(wish.file < last, "file {} of application {}", wish.file, rank.application);
            }
        }
    }

    /// A layout partitions a range: no server occurs twice in a component, and two halves make up the whole.
    #[test]
    fn layouts_divide_without_rest(
        servers in 1_u32..9, count in 1_u32..9, stripe in 1_u64..500, end in 1_u64..2_000,
        file in 0_u64..20, offset in 0_u64..4_000, bytes in 2_u64..4_000, own in any::<bool>(),
    ) {
        let count = count.min(servers);
        let component = |end, count| Component { end, count, stripe };
        let mut striping = Striping::new(servers, vec![component(Some(end), 1), component(None, count)]);
        if own {
            let stripes = (0..count).map(|server| Stripe { server, bytes: stripe + u64::from(server) });
            striping = striping.with_file(file, stripes.collect());
        }
        let sum = |offset: u64, bytes: u64| -> u64 {
            striping.parts(file, offset, bytes).iter().map(|part| part.bytes).sum()
        };
        prop_assert_eq!(sum(offset, bytes), bytes);
        let half = bytes / 2;
        prop_assert_eq!(sum(offset, half) + sum(offset + half, bytes - half), bytes);
        let parts = striping.parts(file, offset, bytes);
        prop_assert!(parts.iter().all(|part| part.server < servers && part.bytes > 0));
        let objects: BTreeSet<(u32, u64)> = parts.iter().map(|part| (part.server, part.object)).collect();
        prop_assert_eq!(objects.len(), parts.len(), "a server has two parts of one object");
        prop_assert!(parts.len() <= count as usize + 1);
    }

    /// Distributing records loses none; an open loop has them in order of time, a closed loop in their given
    /// order.
    #[test]
    fn replays_keep_all_records(
        times in proptest::collection::vec((0_u64..1_000, 0_u32..4, 1_u32..100), 1..60), open in any::<bool>(),
    ) {
        let record = |&(at, client, bytes): &(u64, u32, u32)| Record {
            at: SimSpan::from_ns(at),
            offset: at,
            bytes,
            file: client,
            client,
            operation: Operation::Read,
            from_start: false,
        };
        let pace = if open { Loop::Open } else { Loop::Closed };
        let replay = Replay::new(pace, 4, times.iter().map(record).collect());
        prop_assert_eq!(replay.pace(), pace);
        prop_assert_eq!(replay.records().len(), times.len());
        prop_assert_eq!(replay.bytes(), times.iter().map(|one| u64::from(one.2)).sum::<u64>());
        let work = Work::new(vec![Application { replay: None, ..application(4, 1) }]);
        let mut all = 0;
        for client in 0..4 {
            let rank = work.rank(client);
            let own = replay.of(rank);
            all += own.len();
            prop_assert!(own.iter().all(|one| one.client == client));
            if open {
                prop_assert!(own.is_sorted_by_key(|one| one.at));
            } else {
                let came: Vec<u32> = times.iter().filter(|one| one.1 == client).map(|one| one.2).collect();
                prop_assert_eq!(own.iter().map(|one| one.bytes).collect::<Vec<_>>(), came);
            }
            prop_assert!(replay.wish(rank, own.len() as u64).is_none());
        }
        prop_assert_eq!(all, times.len());
    }

    /// A gate under any scheduler lets each job go once, keeps the number outstanding within its window, and
    /// keeps the ticket of the previous gate.
    #[test]
    fn gates_lose_and_double_nothing(
        steps in proptest::collection::vec((0_u8..3, 0_u16..2, 1_u64..5_000, 0_u64..2_000), 1..80),
        scheduler in 0_usize..4, window in proptest::option::of(1_u32..6),
    ) {
        let text = ["fifo:3", "sfq:2", "drr", "mclock:4"][scheduler];
        let description: towtank_iosched::Description = text.parse().expect("it is one");
        let queue = description.build(&Flows::weighted(&[1, 3])).expect("all are served");
        let parda = window.map(|window_max| PardaSpec {
            threshold: SimSpan::from_us(3),
            gain_percent: 50,
            smoothing_percent: 50,
            share_thousandths: 500,
            window_max,
        });
        let interval = SimSpan::from_us(5);
        let due = SimTime::ZERO.saturating_add(interval);
        let window_of = |spec| Window { parda: towtank_iosched::Parda::new(spec), interval, due };
        let mut gate = Gate::new(queue, parda.map(window_of));
        let (mut now, mut out, mut came) = (SimTime::ZERO, Vec::new(), 0);
        for (kind, application, bytes, rest) in steps {
            now = now.saturating_add(SimSpan::from_ns(rest));
            match kind {
                0 | 1 => {
                    gate.take(now, Job { ticket: 9, ..job(application, bytes) });
                    came += 1;
                }
                _ => {
                    if let Some(slot) = out.pop() {
                        prop_assert_eq!(gate.done(now, slot), Ok(()));
                        prop_assert!(gate.done(now, slot).is_err(), "a job is done once");
                    }
                }
            }
            while let Some(job) = gate.next(now) {
                prop_assert_eq!(job.ticket_before, 9);
                prop_assert!(!out.contains(&job.ticket), "slot {} is out twice", job.ticket);
                out.push(job.ticket);
            }
            if let Some(most) = window {
                prop_assert!(out.len() <= most as usize, "{} are out", out.len());
            }
            prop_assert!(gate.wake_wanted(now).is_none_or(|at| at >= now));
            prop_assert_eq!(gate.waiting() + out.len() as u64 + gate.done, came);
            prop_assert_eq!(gate.audit(), Ok(()));
        }
    }

    /// Commands are carried out in order, each once, when they are due.
    #[test]
    fn rules_come_in_their_order(
        gaps in proptest::collection::vec(0_u64..50, 1..12), steps in proptest::collection::vec(0_u64..40, 1..30),
    ) {
        let mut at = SimSpan::ZERO;
        let rules: Vec<TimedRule> = gaps
            .into_iter()
            .map(|gap| {
                at = at.saturating_add(SimSpan::from_ns(gap));
                let command = RuleCommand::Change { name: "default".to_owned(), rate: 1 + gap, rank: None };
                TimedRule { at, command }
            })
            .collect();
        let description: towtank_iosched::Description = "tbf".parse().expect("it is one");
        let mut queue = description.build(&Flows::equal(1)).expect("all are served");
        let mut ruled = Ruled::default();
        prop_assert_eq!(ruled.next_at(&rules), None, "nothing is due before the phase begins");
        ruled.since = Some(SimTime::ZERO);
        let mut now = SimTime::ZERO;
        for step in steps {
            now = now.saturating_add(SimSpan::from_ns(step));
            let before = ruled.done;
            prop_assert_eq!(ruled.carry_out(&mut queue, &rules, now), Ok(()));
            prop_assert!(ruled.done >= before);
            prop_assert!(ruled.next_at(&rules).is_none_or(|at| at > now));
            let due = rules.iter().filter(|rule| SimTime::ZERO.saturating_add(rule.at) <= now).count();
            prop_assert_eq!(ruled.done as usize, due);
            prop_assert_eq!(ruled.audit(&queue, 0, &rules), Ok(()));
            prop_assert!(ruled.wakes(&queue, &rules).is_none(), "nobody waits");
        }
        // A server that has carried out more commands than there are is noticed.
        ruled.done = rules.len() as u32 + 1;
        prop_assert!(ruled.audit(&queue, 0, &rules).is_err());
    }
}
