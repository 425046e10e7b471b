//! The rows. Sources are files of Ceph's source, as read at 15.2.0 (a development tree), 17.2.7, 18.2.7,
//! 20.2.4 and main; its options, also of 16.2.15; pull requests of `ceph/ceph` (PR); and measurements of
//! 16.2.15. Of 19 no source was read: what 18 and 20 have alike, and what its notes say, is taken.

use super::value::Disk::{Hdd, Ssd};
use super::value::Profile::{self, Balanced, HighClientOps, HighRecoveryOps};
use super::value::Queue::{Mclock, Wpq};
use super::value::{BY_CLASS, Cost, Kind, Modelled, Resets, Rule, Share, Value};
use super::{Release, Row};

const V15: Release = Release::new(15, 0, 0);
const V17: Release = Release::new(17, 0, 0);
/// The third mClock: lower limits of recovery.
const V17_2_6: Release = Release::new(17, 2, 6);
/// The mClock that counts bytes.
const V17_2_7: Release = Release::new(17, 2, 7);
const V18: Release = Release::new(18, 0, 0);
const V18_2_1: Release = Release::new(18, 2, 1);
/// One shard a rotating disk, and corrections of measured capacities.
const V18_2_5: Release = Release::new(18, 2, 5);
const V19: Release = Release::new(19, 0, 0);
/// As 18.2.5.
const V19_2_1: Release = Release::new(19, 2, 1);
/// Reads of shards for recovery by class, and shares of best effort.
const V20_2_4: Release = Release::new(20, 2, 4);
const V21: Release = Release::new(21, 0, 0);
/// Behind the last release.
const END: Release = Release::new(22, 0, 0);

const MIB: u64 = 1 << 20;

/// The first version of a row, and the first one after.
type Span = (Release, Release);

const fn row(
    rule: Rule,
    (from, before): Span,
    value: Value,
    source: &'static str,
    modelled: Modelled,
) -> Row {
    Row { rule, from, before, value, source, modelled }
}

const fn yes(rule: Rule, span: Span, value: Value, source: &'static str) -> Row {
    row(rule, span, value, source, Modelled::Yes)
}

const fn count(rule: Rule, span: Span, count: u32, source: &'static str) -> Row {
    yes(rule, span, Value::Count(count), source)
}

const fn no(rule: Rule, span: Span, words: &'static str, source: &'static str) -> Row {
    row(rule, span, Value::Words(words), source, Modelled::No)
}

const fn shares(profile: Profile, span: Span, shares: [Share; 3], source: &'static str) -> Row {
    let modelled = if span.0.major < V17.major { OF_17 } else { Modelled::Yes };
    row(Rule::Shares(profile), span, Value::Shares(shares), source, modelled)
}

const fn of(reservation: u32, weight: u32, limit: Option<u32>) -> Share {
    Share { reservation, weight, limit }
}

const fn per_operation(per_io: u64, per_byte: u64, unit: u64) -> Value {
    Value::Cost(Cost::Operations { per_io, per_byte, unit })
}

/// What is taken where values were not seen.
const NOT_OF_15: Modelled = Modelled::Assumed("15 was not read");
const OF_17: Modelled = Modelled::Assumed("the numbers of 17 before 17.2.7 were not seen");

const AS_16: Modelled = Modelled::Assumed("17 before 17.2.6 was not seen, and is taken to be as 16");
const NOT_17_2_6: Modelled = Modelled::Assumed("17.2.6 was not seen");

const OPTIONS: &str = "`osd.yaml.in`";
const SCHEDULER: &str = "`mClockScheduler.cc`";
const MEASURED: &str = "PR 41004; [measured](measurements/mclock.md) (16.2.15)";
const LOWER: &str = "PR 49437 (of 48226)";
const BY_BYTES: &str = "PR 49973 (of 49975)";
const BEST_EFFORT: &str = "PR 64618 (20: 69773)";
const RESET: &str = "`OSD.cc`, `maybe_override_options_for_qos`";
const CLIENTS: &str = "PR 53092, 53093";
const NO_BANDWIDTH: Value = Value::Words("–");
/// Operations; bytes until reads of shards have a class; and since then.
const OLD: Span = (V15, V17_2_7);
const BEFORE: Span = (V17_2_7, V20_2_4);
const SINCE: Span = (V20_2_4, END);
const THIRD: Modelled =
    Modelled::Unknown("the numbers of its profiles are not known, so those of 17.2.5 are taken");
const NOT_OF_20: Modelled = Modelled::Assumed("20.2.0 to 20.2.3 were not seen");
const PRIORITY: &str = "`PeeringState::get_recovery_op_priority`";
const AT_ONCE: &str = "at once, before all queues";
const EACH: &str = "of each client; the model has all together";
const ALL: &str = "of all together";

/// All that is assumed.
pub(super) const ROWS: &[Row] = &[
    yes(Rule::Queue, (V15, V17), Value::Queue(Wpq), OPTIONS),
    yes(Rule::Queue, (V17, END), Value::Queue(Mclock), OPTIONS),
    count(Rule::Backfills(Wpq), (V15, END), 1, OPTIONS),
    count(Rule::Active(Wpq, Hdd), (V15, END), 3, OPTIONS),
    count(Rule::Active(Wpq, Ssd), (V15, END), 10, OPTIONS),
    row(Rule::Mclock, (V15, V17_2_6), Value::Kind(Kind::Operations), SCHEDULER, NOT_OF_15),
    row(Rule::Mclock, (V17_2_6, V17_2_7), Value::Kind(Kind::Third), LOWER, THIRD),
    yes(Rule::Mclock, (V17_2_7, END), Value::Kind(Kind::Bytes), BY_BYTES),
    row(Rule::DefaultProfile, (V15, V17_2_7), Value::Profile(HighClientOps), OPTIONS, OF_17),
    yes(Rule::DefaultProfile, (V17_2_7, END), Value::Profile(Balanced), BY_BYTES),
    shares(Balanced, OLD, [of(40, 1, Some(100)), of(40, 1, Some(150)), of(20, 2, None)], SCHEDULER),
    shares(Balanced, BEFORE, [of(50, 1, None), of(50, 1, None), of(0, 1, Some(90))], BY_BYTES),
    shares(Balanced, SINCE, [of(50, 1, None), of(50, 1, None), of(5, 2, Some(90))], BEST_EFFORT),
    shares(HighClientOps, OLD, [of(50, 2, None), of(25, 1, Some(100)), of(25, 2, None)], OPTIONS),
    shares(HighClientOps, BEFORE, [of(60, 2, None), of(40, 1, None), of(0, 1, Some(70))], BY_BYTES),
    shares(HighClientOps, SINCE, [of(60, 2, None), of(40, 1, None), of(5, 4, Some(70))], BEST_EFFORT),
    shares(HighRecoveryOps, OLD, [of(30, 1, Some(80)), of(60, 2, Some(200)), of(0, 2, None)], SCHEDULER),
    shares(HighRecoveryOps, BEFORE, [of(30, 1, None), of(70, 2, None), of(0, 1, None)], BY_BYTES),
    shares(HighRecoveryOps, SINCE, [of(30, 1, None), of(70, 2, None), of(5, 2, None)], BEST_EFFORT),
    yes(Rule::Class, (V15, V17_2_7), Value::Words("recovery"), SCHEDULER),
    yes(Rule::Class, (V17_2_7, END), Value::Words("recovery; best effort if the group only moves"), PRIORITY),
    count(Rule::Backfills(Mclock), (V15, V17), 1_000, MEASURED),
    row(Rule::Backfills(Mclock), (V17, V17_2_6), Value::Count(1_000), "PR 41004", AS_16),
    count(Rule::Backfills(Mclock), (V17_2_6, V17_2_7), 3, LOWER),
    count(Rule::Backfills(Mclock), (V17_2_7, END), 1, RESET),
    count(Rule::Active(Mclock, Hdd), (V15, V17), 1_000, MEASURED),
    row(Rule::Active(Mclock, Hdd), (V17, V17_2_6), Value::Count(1_000), "PR 41004", AS_16),
    row(Rule::Active(Mclock, Hdd), (V17_2_6, V17_2_7), Value::Count(10), RESET, NOT_17_2_6),
    count(Rule::Active(Mclock, Hdd), (V17_2_7, END), 3, RESET),
    count(Rule::Active(Mclock, Ssd), (V15, V17), 1_000, MEASURED),
    row(Rule::Active(Mclock, Ssd), (V17, V17_2_6), Value::Count(1_000), "PR 41004", AS_16),
    row(Rule::Active(Mclock, Ssd), (V17_2_6, V17_2_7), Value::Count(20), RESET, NOT_17_2_6),
    count(Rule::Active(Mclock, Ssd), (V17_2_7, END), 10, RESET),
    row(Rule::Resets, (V15, V17_2_7), Value::Resets(Resets::Always), "PR 41004", OF_17),
    yes(Rule::Resets, (V17_2_7, END), Value::Resets(Resets::Unless), RESET),
    count(Rule::Shards(Hdd), (V15, V18_2_5), 5, OPTIONS),
    count(Rule::Shards(Hdd), (V18_2_5, V19), 1, "PR 59972"),
    count(Rule::Shards(Hdd), (V19, V19_2_1), 5, OPTIONS),
    count(Rule::Shards(Hdd), (V19_2_1, END), 1, "PR 59973"),
    count(Rule::Shards(Ssd), (V15, END), 8, OPTIONS),
    count(Rule::Capacity(Hdd), (V15, END), 315, OPTIONS),
    count(Rule::Capacity(Ssd), (V15, END), 21_500, OPTIONS),
    no(Rule::Measured, OLD, "whatever they are", OPTIONS),
    no(Rule::Measured, (V17_2_7, V18_2_5), "up to 500 (hdd), 80,000 (ssd)", OPTIONS),
    no(Rule::Measured, (V18_2_5, V19), "50 to 500 (hdd), 1,000 to 80,000 (ssd)", "PR 60659, 60660"),
    no(Rule::Measured, (V19, V19_2_1), "up to 500 (hdd), 80,000 (ssd)", OPTIONS),
    no(Rule::Measured, (V19_2_1, END), "50 to 500 (hdd), 1,000 to 80,000 (ssd)", "PR 60659, 60660"),
    yes(Rule::Bandwidth(Hdd), (V15, V17_2_7), NO_BANDWIDTH, OPTIONS),
    yes(Rule::Bandwidth(Hdd), (V17_2_7, END), Value::Bytes(150 * MIB), OPTIONS),
    yes(Rule::Bandwidth(Ssd), (V15, V17_2_7), NO_BANDWIDTH, OPTIONS),
    yes(Rule::Bandwidth(Ssd), (V17_2_7, END), Value::Bytes(1_200 * MIB), OPTIONS),
    row(Rule::Cost(Hdd), OLD, per_operation(250_000, 52, 10_000_000), OPTIONS, OF_17),
    yes(Rule::Cost(Hdd), (V17_2_7, V18), Value::Cost(Cost::Larger), "PR 53860 (of 53417)"),
    yes(Rule::Cost(Hdd), (V18, V18_2_1), Value::Cost(Cost::Sum), BY_BYTES),
    yes(Rule::Cost(Hdd), (V18_2_1, END), Value::Cost(Cost::Larger), "PR 53861 (of 53417)"),
    row(Rule::Cost(Ssd), OLD, per_operation(50_000, 11, 1_000_000), OPTIONS, OF_17),
    yes(Rule::Cost(Ssd), (V17_2_7, V18), Value::Cost(Cost::Larger), "PR 53860 (of 53417)"),
    yes(Rule::Cost(Ssd), (V18, V18_2_1), Value::Cost(Cost::Sum), BY_BYTES),
    yes(Rule::Cost(Ssd), (V18_2_1, END), Value::Cost(Cost::Larger), "PR 53861 (of 53417)"),
    yes(Rule::Item, OLD, Value::Bytes(20 * MIB), "`osd_recovery_cost`"),
    yes(Rule::Item, (V17_2_7, END), Value::Words("those of its object"), "`OSD.cc`, `_queue_for_recovery`"),
    yes(
        Rule::Reply,
        OLD,
        Value::Bytes(1_000 + 8 * MIB),
        "`osd_push_per_object_cost`, `osd_recovery_max_chunk`",
    ),
    yes(Rule::Reply, (V17_2_7, END), Value::Bytes(1), "`PushReplyOp::cost`"),
    row(Rule::IdleItems, OLD, Value::Flag(false), "before 17.2.6 no group waits", NOT_17_2_6),
    yes(Rule::IdleItems, (V17_2_7, END), Value::Flag(true), "`OSD.cc`, `_queue_for_recovery`"),
    row(Rule::ShardReads, (V15, V20_2_4), Value::Words(AT_ONCE), SCHEDULER, NOT_OF_20),
    no(Rule::ShardReads, (V20_2_4, END), BY_CLASS, BEST_EFFORT),
    no(Rule::Clients, (V15, V17_2_7), EACH, CLIENTS),
    yes(Rule::Clients, (V17_2_7, V18), Value::Words(ALL), CLIENTS),
    no(Rule::Clients, (V18, V18_2_1), EACH, CLIENTS),
    yes(Rule::Clients, (V18_2_1, END), Value::Words(ALL), CLIENTS),
    count(Rule::GroupsTarget, (V15, V21), 100, "`global.yaml.in`"),
    count(Rule::GroupsTarget, (V21, END), 200, "notes of 21.1.0"),
    count(Rule::GroupsMax, (V15, V21), 250, "`global.yaml.in`"),
    count(Rule::GroupsMax, (V21, END), 500, "notes of 21.1.0"),
];
