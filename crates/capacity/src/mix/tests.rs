//! Valid and invalid texts of mixes and plans.

use super::*;

fn refused(text: &str) -> String {
    let error = Mix::parse(text).unwrap_err();
    format!("{} [{}] {}", error.reason, &text[error.span], error.hint)
}

#[test]
fn a_mix_reads_back() {
    for (text, want) in [
        ("16KiB:90%:r70,1MiB:10%:r100", "16KiB:90%:r70,1MiB:10%:r100"),
        (" 4KiB : 33.3% : r0 ,8KiB:66.7%:r12.5%", "4KiB:33.3%:r0,8KiB:66.7%:r12.5"),
        ("1MB:100%:r100", "1MB:100%:r100"),
    ] {
        let mix = Mix::parse(text).unwrap();
        assert_eq!(mix.to_string(), want);
        assert!(Mix::parse(want).unwrap().is(&mix));
    }
}

#[test]
fn what_is_no_mix_is_refused_with_its_place() {
    insta::assert_snapshot!(refused("16KiB:90%:r70,1MiB:20%:r100"), @"the shares add up to 110%, not to 100% [16KiB:90%:r70,1MiB:20%:r100] make them add up to 100%");
    insta::assert_snapshot!(refused("16KiB:90%"), @"`16KiB:90%` is not a part of a mix [16KiB:90%] a part is SIZE:SHARE%:rREADPERCENT, such as 16KiB:90%:r70");
    insta::assert_snapshot!(refused("16KiB:50%:r70,1M:50%:r10"), @"`1M`: `M` is not a unit of a size [1M] write `MiB` (1024² bytes) or `MB` (1000² bytes)");
    insta::assert_snapshot!(refused("16KiB:50:r70,1MiB:50%:r10"), @r#"
    `50` has no unit, but a percentage needs one [50] write "50%" for hundredths; the units are %
    "#);
    insta::assert_snapshot!(refused("16KiB:0%:r70,1MiB:100%:r10"), @"a share of 0% is not allowed [0%] a share is above 0% and at most 100%; leave out parts without a share");
    insta::assert_snapshot!(refused("16KiB:100%:70"), @"`70` is not a read share [70] write `r` and the reads in percent, from r0 to r100");
    insta::assert_snapshot!(refused("16KiB:100%:r101"), @"`r101` is not a read share [r101] write `r` and the reads in percent, from r0 to r100");
    insta::assert_snapshot!(refused("16KiB:100%:rNaN"), @"`rNaN` is not a read share [rNaN] write `r` and the reads in percent, from r0 to r100");
    insta::assert_snapshot!(refused("0B:100%:r1"), @"an operation must have at least 1 byte [0B] write a size such as 16KiB");
    insta::assert_snapshot!(refused(""), @"`` is not a part of a mix [] a part is SIZE:SHARE%:rREADPERCENT, such as 16KiB:90%:r70");
}

#[test]
fn plans_are_of_operations_or_bytes() {
    for (text, want) in [
        ("200000iops", Plan::Operations(2e5)),
        ("200k iops", Plan::Operations(2e5)),
        ("1.5MIOPS", Plan::Operations(1.5e6)),
        ("500/s", Plan::Operations(500.0)),
        ("1KiB/s", Plan::Bytes(1024.0)),
    ] {
        assert_eq!(Plan::parse(text), Ok(want), "{text}");
    }
    for wrong in ["", "200000", "0iops", "-1iops", "infiops", "many", "4GiB"] {
        assert!(Plan::parse(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn diversity_is_of_sizes() {
    for (text, want) in [
        ("4KiB:100%:r1", 0.0),
        ("4KiB:50%:r1,4KiB:50%:r2", 0.0),
        ("4KiB:50%:r1,8KiB:50%:r1", 1.0),
        ("4KiB:90%:r1,8KiB:10%:r1", 0.36),
    ] {
        assert!((Mix::parse(text).unwrap().diversity() - want).abs() < 1e-12, "{text}");
    }
}
