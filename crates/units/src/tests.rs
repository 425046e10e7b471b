//! Parsing and printing: tables of texts, the messages for refused texts, and round trips.

use crate::{
    Bits, Bytes, Frequency, HINT_MARK, Percent, Quantity, Rate, SimSpan, SimTime, UnitErrorKind, plain,
};
use proptest::prelude::*;

fn check_read<T: Quantity + std::fmt::Debug>(table: &[(&str, u64)]) {
    for (text, want) in table {
        let got = T::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(got.base_units(), *want, "{text}");
    }
}

#[test]
fn spans_read_exactly() {
    check_read::<SimSpan>(&[
        ("0s", 0),
        ("1ns", 1),
        ("250us", 250_000),
        ("250 us", 250_000),
        ("250µs", 250_000),
        (" 1.5ms ", 1_500_000),
        ("1.000001ms", 1_000_001),
        ("1_000_000ns", 1_000_000),
        ("0.1s", 100_000_000),
        ("2min", 120_000_000_000),
        ("1.5h", 5_400_000_000_000),
        ("1d", 86_400_000_000_000),
        ("1y", 31_557_600_000_000_000),
        ("18446744073.709551615s", u64::MAX),
        ("1.50000000000000000000000000000s", 1_500_000_000),
    ]);
}

#[test]
fn sizes_read_exactly() {
    check_read::<Bytes>(&[
        ("512B", 512),
        ("4KiB", 4096),
        ("1kB", 1000),
        ("1KB", 1000),
        ("1MB", 1_000_000),
        ("1.5GiB", 1_610_612_736),
        ("0.3GB", 300_000_000),
        ("60TiB", 65_970_697_666_560),
        ("0.0009765625KiB", 1),
        ("15EiB", 15 << 60),
        ("18446744073709551615B", u64::MAX),
    ]);
}

#[test]
fn rates_frequencies_and_shares_read_exactly() {
    check_read::<Rate>(&[
        ("8bit/s", 1),
        ("12kbit/s", 1_500),
        ("10Gbit/s", 1_250_000_000),
        ("1.5GiB/s", 1_610_612_736),
        ("400MiB/s", 419_430_400),
    ]);
    check_read::<Frequency>(&[
        ("0/s", 0),
        ("0.9/s", 900_000_000),
        ("200000/s", 200_000_000_000_000),
        ("50k/s", 50_000_000_000_000),
        ("50/ms", 50_000_000_000_000),
        ("6/min", 100_000_000),
        ("36/h", 10_000_000),
        ("86.4/d", 1_000_000),
    ]);
    check_read::<Percent>(&[
        ("35%", 350_000_000),
        ("0.8%", 8_000_000),
        ("0.0000001%", 1),
        ("250 %", 2_500_000_000),
    ]);
}

#[test]
fn values_print_with_the_fewest_digits() {
    for (ns, want) in [
        (0, "0s"),
        (1, "1ns"),
        (999, "999ns"),
        (1_000, "1us"),
        (1_500_000, "1.5ms"),
        (1_000_001, "1.000001ms"),
        (100_000_000, "100ms"),
        (2_000_000_000, "2s"),
        (90_000_000_000, "90s"),
        (300_000_000_000, "5min"),
        (129_600_000_000_000, "36h"),
        (604_800_000_000_000, "7d"),
        (31_557_600_000_000_000, "1y"),
        (1_234_567_891_234, "1234.567891234s"),
        (u64::MAX, "18446744073.709551615s"),
    ] {
        assert_eq!(SimSpan::from_ns(ns).to_string(), want);
        assert_eq!(SimTime::from_ns(ns).to_string(), want);
    }
    for (bytes, want) in [
        (0, "0B"),
        (512, "512B"),
        (1_000, "1kB"),
        (1 << 10, "1KiB"),
        (1_000_000, "1MB"),
        (3 << 29, "1.5GiB"),
        (60 << 40, "60TiB"),
        (1_234_567, "1.234567MB"),
        (2_000 << 20, "2000MiB"),
        (u64::MAX, "18446744.073709551615TB"),
    ] {
        assert_eq!(Bytes::new(bytes).to_string(), want);
    }
    assert_eq!(Rate::from_bytes_per_second(1_250_000_000).unwrap().to_string(), "1.25GB/s");
    assert_eq!(Frequency::from_per_billion_seconds(900_000_000).to_string(), "0.9/s");
    assert_eq!(Percent::from_billionths(8_000_000).to_string(), "0.8%");
    assert_eq!(format!("[{:>8}]", SimSpan::from_us(3)), "[     3us]");
}

/// Refused texts, each with its kind, message and hint.
#[test]
fn every_refusal_says_what_to_write() {
    use UnitErrorKind as K;
    let spans: &[(&str, K, &str, &str)] = &[
        ("", K::Empty, "an empty text is not a duration", "such as \"250us\""),
        ("abc", K::NotANumber, "`abc` is not a duration", "write digits"),
        (".5s", K::NotANumber, "`.5s` is not a duration", "write digits"),
        ("5.s", K::NotANumber, "`5.s` is not a duration", "write digits"),
        ("1_s", K::NotANumber, "`1_s` is not a duration", "write digits"),
        ("1.2.3s", K::NotANumber, "`1.2.3s` is not a duration", "write digits"),
        ("1,5s", K::NotANumber, "`1,5s` is not a duration", "a point before any decimals"),
        ("-5s", K::Negative, "`-5s` is negative, but a duration must not be", "zero or more"),
        (
            "1e6ns",
            K::Exponent,
            "`1e6ns` has an exponent, but a duration must not have one",
            "write the number without",
        ),
        (
            "250",
            K::MissingUnit,
            "`250` has no unit, but a duration needs one",
            "write \"250s\" for seconds; the units are ns, us",
        ),
        (
            "5m",
            K::UnknownUnit { unit: "m".into() },
            "`5m`: `m` is not a unit of a duration",
            "`min` for minutes or `ms`",
        ),
        (
            "5MS",
            K::UnknownUnit { unit: "MS".into() },
            "`5MS`: `MS` is not a unit of a duration",
            "did you mean `ms`?",
        ),
        (
            "5 parsec",
            K::UnknownUnit { unit: "parsec".into() },
            "`5 parsec`: `parsec` is not a unit",
            "the units are ns, us",
        ),
        ("1.5ns", K::NotWhole, "`1.5ns` is not a whole number of nanoseconds", "the smallest step is 1ns"),
        (
            "0.0000000000000000001s",
            K::NotWhole,
            "`0.0000000000000000001s` is not a whole",
            "the smallest step is 1ns",
        ),
        (
            "600y",
            K::TooLarge,
            "`600y` is too large for a duration",
            "the largest value is 18446744073.709551615s",
        ),
        ("99999999999999999999999s", K::TooLarge, "is too large for a duration", "the largest value is"),
    ];
    for (text, kind, message, hint) in spans {
        let error = SimSpan::parse(text).expect_err(text);
        assert_eq!(error.kind(), kind, "{text}");
        assert!(error.to_string().contains(message), "{text}: {error}");
        assert!(error.hint().contains(hint), "{text}: {}", error.hint());
    }
}

#[test]
fn each_quantity_knows_its_own_mistakes() {
    let error = "0GB/s".parse::<Rate>().unwrap_err();
    assert_eq!(error.to_string(), "`0GB/s` is zero, but a rate must not be");
    assert_eq!(error.hint(), "write a value above zero, such as \"1.5GiB/s\"");
    let hints = [
        ("12bit/s".parse::<Rate>().unwrap_err(), "the smallest step is 1B/s"),
        ("10Gbps".parse::<Rate>().unwrap_err(), "write `Gbit/s`"),
        ("0.9".parse::<Percent>().unwrap_err(), "write \"90%\" for 0.9 of all"),
        ("0.07".parse::<Percent>().unwrap_err(), "write \"7%\" for 0.07 of all"),
        ("10Gb/s".parse::<Rate>().unwrap_err(), "write `Gbit/s` for bits or `GB/s` for bytes"),
        ("4k".parse::<Bytes>().unwrap_err(), "write `KiB` (1024 bytes) or `kB` (1000 bytes)"),
        ("1/h".parse::<Frequency>().unwrap_err(), "the smallest step is 0.000000001/s"),
        ("100 IOPS".parse::<Frequency>().unwrap_err(), "write `/s`"),
    ];
    for (error, hint) in hints {
        assert_eq!(error.hint(), hint, "{error}");
    }
}

#[test]
fn a_bare_number_in_a_file_is_refused_with_a_hint() {
    let error = serde_json::from_str::<SimSpan>("250").unwrap_err().to_string();
    let (message, hint) = error.split_once(HINT_MARK).unwrap();
    assert_eq!(message, "`250` has no unit, but a duration needs one");
    assert!(hint.starts_with("write \"250s\" for seconds"), "{hint}");
    let error = serde_json::from_str::<Bytes>("-1").unwrap_err().to_string();
    assert!(error.starts_with("`-1` is negative"), "{error}");
    let error = serde_json::from_str::<Bytes>("[1]").unwrap_err().to_string();
    assert!(error.contains("expected a size as a string with its unit, such as \"4KiB\""), "{error}");
}

#[test]
fn machine_data_is_plain_numbers() {
    #[derive(serde::Serialize, serde::Deserialize, PartialEq, Debug)]
    struct Row {
        #[serde(with = "plain")]
        elapsed_ns: SimSpan,
        #[serde(with = "plain")]
        rate_bytes_per_second: Rate,
    }
    let row = Row { elapsed_ns: SimSpan::from_us(3), rate_bytes_per_second: "1MB/s".parse().unwrap() };
    let text = serde_json::to_string(&row).unwrap();
    assert_eq!(text, r#"{"elapsed_ns":3000,"rate_bytes_per_second":1000000}"#);
    assert_eq!(serde_json::from_str::<Row>(&text).unwrap(), row);
    let error = serde_json::from_str::<Row>(&text.replace("1000000", "0")).unwrap_err().to_string();
    assert!(error.starts_with("0 is not a rate"), "{error}");
}

#[test]
fn schemas_show_pattern_and_examples() {
    let schema = serde_json::to_value(schemars::schema_for!(Bytes)).unwrap();
    assert_eq!(schema["type"], "string");
    assert_eq!(schema["examples"][1], "1.5GiB");
    assert_eq!(
        schema["pattern"],
        r"^[0-9]+(_[0-9]+)*(\.[0-9]+)? ?(B|kB|KB|KiB|MB|MiB|GB|GiB|TB|TiB|PB|PiB|EB|EiB)$"
    );
}

#[test]
fn examples_are_legal() {
    fn check<T: Quantity>() {
        for text in T::scale().examples() {
            assert!(T::parse(text).is_ok(), "{text}");
        }
    }
    check::<SimSpan>();
    check::<Bytes>();
    check::<Rate>();
    check::<Frequency>();
    check::<Percent>();
}

#[test]
fn transfers_round_up_and_progress_rounds_down() {
    let rate = Rate::from_bytes_per_second(3).unwrap();
    assert_eq!(rate.span_for(Bytes::new(1)), SimSpan::from_ns(333_333_334));
    assert_eq!(rate.bytes_in(SimSpan::from_ns(333_333_333)), Bytes::ZERO);
    assert_eq!(rate.span_for(Bytes::MAX), SimSpan::MAX);
    assert_eq!(Rate::from_bytes_per_second(u64::MAX).unwrap().bytes_in(SimSpan::MAX), Bytes::MAX);
    assert_eq!(Bytes::new(10).pieces_of(Bytes::new(4)), Some(3));
    assert_eq!(Bytes::new(10).pieces_of(Bytes::ZERO), None);
    assert_eq!(Percent::from_percent(35).unwrap().of(1_001), 350);
}

#[test]
fn bits_are_compared_by_their_bits() {
    assert_eq!(Bits(f64::NAN), Bits(f64::NAN));
    assert_ne!(Bits(0.0), Bits(-0.0));
    let text = serde_json::to_string(&Bits(0.1)).unwrap();
    assert_eq!(serde_json::from_str::<Bits>(&text).unwrap(), Bits(0.1));
}

/// Numbers as they occur: small, round in decimal or binary, and arbitrary.
fn counts() -> impl Strategy<Value = u64> {
    prop_oneof![
        any::<u64>(),
        0..5_000_u64,
        (1..5_000_u64, 0..6_u32).prop_map(|(n, k)| n * 1000_u64.pow(k) / 1000),
        (1..5_000_u64, 0..5_u32).prop_map(|(n, k)| n << (10 * k)),
    ]
}

fn round_trips<T>(value: T) -> Result<(), TestCaseError>
where
    T: Quantity
        + PartialEq
        + std::fmt::Debug
        + std::fmt::Display
        + serde::Serialize
        + serde::de::DeserializeOwned,
{
    let text = value.to_string();
    prop_assert_eq!(T::parse(&text).map_err(|e| TestCaseError::fail(e.to_string()))?, value);
    let json = serde_json::to_string(&value).expect("a quantity is a string");
    prop_assert_eq!(serde_json::from_str::<T>(&json).expect("it was just written"), value);
    Ok(())
}

proptest! {
    #[test]
    fn what_is_printed_reads_back(count in counts()) {
        round_trips(SimTime::from_ns(count))?;
        round_trips(SimSpan::from_ns(count))?;
        round_trips(Bytes::new(count))?;
        round_trips(Frequency::from_per_billion_seconds(count))?;
        round_trips(Percent::from_billionths(count))?;
        if let Some(rate) = Rate::from_bytes_per_second(count) {
            round_trips(rate)?;
        }
    }

    /// Compared with an oracle in 128-bit integers: thousandths of a unit.
    #[test]
    fn decimals_agree_with_integer_arithmetic(thousandths in 0..10_000_000_u64, unit in 0..5_usize) {
        let (name, size) = [("KiB", 1 << 10), ("MiB", 1 << 20), ("GB", 1_000_000_000), ("B", 1), ("TiB", 1 << 40)][unit];
        let text = format!("{}.{:03}{name}", thousandths / 1000, thousandths % 1000);
        let product = u128::from(thousandths) * size;
        match Bytes::parse(&text) {
            Ok(bytes) => prop_assert_eq!(u128::from(bytes.get()) * 1000, product),
            Err(error) => {
                prop_assert_eq!(error.kind(), &UnitErrorKind::NotWhole);
                prop_assert!(product % 1000 != 0);
            }
        }
    }

    #[test]
    fn a_transfer_ends_when_its_last_byte_has_moved(rate in 1..u64::MAX, size in 0..u64::MAX / 4) {
        let (rate, size) = (Rate::from_bytes_per_second(rate).expect("not zero"), Bytes::new(size));
        let span = rate.span_for(size);
        if span < SimSpan::MAX {
            prop_assert!(rate.bytes_in(span) >= size);
            if let Some(shorter) = span.checked_sub(SimSpan::from_ns(1)) {
                prop_assert!(rate.bytes_in(shorter) < size);
            }
        }
    }

    #[test]
    fn any_text_is_read_or_refused(text in ".{0,12}") {
        let _ = SimSpan::parse(&text);
        let _ = Rate::parse(&text).map_err(|e| e.with_hint());
    }
}
