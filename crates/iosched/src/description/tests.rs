//! Every description reads back as itself, and every error says what to write instead.

use proptest::prelude::*;

use super::*;
use crate::{Discipline, FlowSpec};

fn parsed(text: &str) -> Description {
    text.parse().unwrap_or_else(|error| panic!("{error}"))
}

fn refused(text: &str) -> String {
    text.parse::<Description>().expect_err(text).to_string()
}

#[test]
fn texts_read_back_as_they_are_printed() {
    for (text, printed) in [
        ("fifo", "fifo"),
        ("fifo:8", "fifo:8"),
        ("fifo:-1", "fifo"),
        ("FIFO:none", "fifo"),
        ("sfq:4", "sfq:4"),
        ("ssfq:4:piece=64KiB", "ssfq:4:piece=64KiB"),
        ("ssfq:4:piece=131072", "ssfq:4"),
        ("wf2q", "wf2q+"),
        ("drr:quantum=100", "drr:quantum=100B"),
        ("dsfq-a:4", "dsfq-a:4"),
        ("dsfq-atb:4:100ms", "dsfq-atb:4:100ms"),
        ("dsfq-alb:none:1MiB", "dsfq-alb:none:1MiB"),
        ("i2l:avatar=2s", "i2l:avatar=2s"),
        ("sfqrc:4:seek=5ms:read=50MB/s", "sfqrc:4:read=50MB/s:seek=5ms"),
        ("dta:4:lag=40", "dta:4:lag=40"),
        ("dmclock", "mclock"),
        ("mclock:8:at-limit=allow:idle-after=5s", "mclock:8:at-limit=allow:idle-after=5s"),
        ("mclock:8:idle-after=0s", "mclock:8:idle-after=0s"),
        ("crr-n:quantum=16", "crr-n:quantum=16"),
        ("orr:for=both", "orr:for=both"),
        ("tbf:depth=3", "tbf"),
        ("tbf:8:depth=5:realtime", "tbf:8:depth=5:realtime"),
        ("tbf:realtime", "tbf:realtime"),
        ("bfq:1:idle=0ns", "bfq:1:idle=0s"),
        ("htb:rate=100MB/s:lend", "htb:rate=100000000:lend"),
    ] {
        assert_eq!(parsed(text).to_string(), printed, "{text}");
        assert_eq!(parsed(printed), parsed(text), "{text}");
    }
}

/// Every usage is understood, with and without its optional parts, and every kind has a usage.
#[test]
fn every_usage_is_understood() {
    for (name, usage) in Description::USAGES {
        let given = usage.replace("PERIOD", "1s").replace("BYTES", "1MiB").replace("RATE", "1MB/s");
        let given = given.replace("wait|allow", "allow").replace("reads|writes|both", "both");
        let full = given.replace(['[', ']'], "").replace(":D", ":7");
        let mut bare = given.replace(":D:", ":none:");
        while let (Some(open), Some(close)) = (bare.find('['), bare.find(']')) {
            bare.replace_range(open..=close, "");
        }
        for text in [full, bare] {
            let description = parsed(&text);
            assert!(description.to_string().starts_with(name), "{text}: {description}");
            assert_eq!(parsed(&description.to_string()), description, "{text}");
            let scheduler: Scheduler<u32> = description.build(&Flows::equal(2)).expect("they have weights");
            assert_eq!(scheduler.waiting().count(), 0);
        }
    }
}

#[test]
fn mistakes_are_answered_with_what_to_write() {
    let names = Description::USAGES.map(|usage| usage.0).join(", ");
    for (text, want) in [
        ("sfqq:4", format!("`sfqq` is not a scheduler: use `sfq`, or another of {names}")),
        ("dsfq", format!("`dsfq` is not a scheduler: use `dsfq-a`, or another of {names}")),
        ("elevator", format!("`elevator` is not a scheduler: use one of {names}")),
        ("", format!("`` is not a scheduler: use one of {names}")),
        ("sfq:0", "`sfq:0`: a depth of 0 serves no request: use `sfq[:D]`".to_owned()),
        ("sfq:4k", "`sfq:4k`: `4k` is not a depth: use `sfq[:D]`".to_owned()),
        ("sfq:4:5", "`sfq:4:5`: `5` is unknown: use `sfq[:D]`".to_owned()),
        ("sfq:depth=4", "`sfq:depth=4`: `depth` is unknown: use `sfq[:D]`".to_owned()),
        ("dsfq-atb:4", "`dsfq-atb:4`: the period is missing: use `dsfq-atb:D:PERIOD`".to_owned()),
        ("dsfq-atb:4:0s", "`dsfq-atb:4:0s`: the period is zero: use `dsfq-atb:D:PERIOD`".to_owned()),
        ("htb:4", "`htb:4`: a rate is missing: use `htb[:D]:rate=RATE[:burst=BYTES][:lend]`".to_owned()),
        (
            "mclock:at-limit=reject",
            "`mclock:at-limit=reject`: `reject` is not a value of `at-limit`: use \
             `mclock[:D][:at-limit=wait|allow][:idle-after=0s]`"
                .to_owned(),
        ),
        ("i2l:4", "`i2l:4`: i2l chooses its depth itself: use `i2l[:sarc=100ms][:avatar=1s]`".to_owned()),
        (
            "crr-n:quantum=0",
            "`crr-n:quantum=0`: a quantum of 0 serves no request: use `crr-n[:D][:quantum=8]`".to_owned(),
        ),
    ] {
        assert_eq!(refused(text), want);
    }
    assert!(refused("dsfq-atb:4:5m").contains("`m` is not a unit of a duration"));
}

#[test]
fn a_flow_that_would_starve_is_refused() {
    let flows =
        Flows::new(vec![FlowSpec::default(), FlowSpec { weight: 0, reservation: 5, ..FlowSpec::default() }]);
    let error = parsed("sfq:4").build::<u32>(&flows).expect_err("flow 1 would starve");
    assert_eq!(
        error.to_string(),
        "flow 1 has weight 0, and `sfq:4` would never serve it: give it a weight of at least 1"
    );
    assert!(parsed("mclock").build::<u32>(&flows).is_ok());
    assert!(parsed("edf").build::<u32>(&flows).is_ok());
}

fn kinds() -> impl Strategy<Value = Kind> {
    let span = || (1u64..1 << 40).prop_map(SimSpan::from_ns);
    let rate = || (1u64..1 << 40).prop_filter_map("not zero", towtank_units::Rate::from_bytes_per_second);
    prop_oneof![
        (1u64..1 << 50).prop_map(Kind::Ssfq),
        (1u64..1 << 50).prop_map(Kind::Drr),
        span().prop_map(|period| Kind::Dsfq(Report::ArrivalsEvery(period))),
        (1u64..1 << 50).prop_map(|load| Kind::Dsfq(Report::ArrivalsOf(load))),
        (span(), span()).prop_map(|(sarc, avatar)| Kind::I2l(I2lSpec { sarc, avatar })),
        (rate(), rate(), span(), span()).prop_map(|(read, write, seek, step)| Kind::Sfqrc(SfqrcSpec {
            read,
            write,
            seek,
            step
        })),
        (0u32..200).prop_map(Kind::Dta),
        (prop::bool::ANY, prop::option::of(span())).prop_map(|(allow, idle_after)| Kind::Mclock {
            at_limit: if allow { AtLimit::Allow } else { AtLimit::Wait },
            idle_after
        }),
        (1u32..999, 0usize..3).prop_map(|(quantum, one)| Kind::Rounds {
            batch: Batch::Object,
            quantum,
            supported: [Supported::Reads, Supported::Writes, Supported::Both][one],
        }),
        (1u64..1 << 50, prop::bool::ANY).prop_map(|(tokens, realtime)| Kind::Tbf { tokens, realtime }),
        (1u64..1 << 40, 0u64..1 << 40, span(), span()).prop_map(|(budget_min, more, idle, timeout)| {
            Kind::Bfq(BfqSpec { budget_min, budget_max: budget_min + more, idle, timeout })
        }),
        (1u64..1 << 50, 0u64..1 << 50, prop::bool::ANY)
            .prop_map(|(rate, burst, lends)| Kind::BucketTree(Parent { rate, burst, lends })),
    ]
}

proptest! {
    #[test]
    fn any_description_reads_back(depth in prop::option::of(1u32..99), kind in kinds()) {
        let depth = if matches!(kind, Kind::I2l(_)) { None } else { depth };
        let description = Description { depth, kind };
        prop_assert_eq!(description.to_string().parse(), Ok(description));
    }
}
