//! What cannot be asked is refused with the key that is wrong.

use super::asked::{reason, refused};

const BASE: &str = "disks_per_server = 20\nec = \"8+2\"\n";

#[test]
fn each_key_that_means_nothing_is_refused() {
    for (keys, why) in [
        ("repair_time = \"1d\"\nreport = \"report.json\"", "`report` is of exports of a cluster"),
        ("repair_time = \"1d\"\ndown_out = \"10min\"", "`down_out` is of exports of a cluster"),
        ("repair_time = \"1d\"\nreplace_after = \"1d\"", "`replace_after` is of exports"),
        ("repair_time = \"1d\"\nreplicas = 3", "`replicas` and `ec` both"),
        ("repair_time = \"1d\"\nrepair_rate = \"1MB/s\"", "both say how long a repair takes"),
        ("repair_rate = \"1MB/s\"", "needs the bytes of a disk"),
        ("", "how long a repair takes is missing"),
        ("repair_time = \"0s\"", "a repair takes no time"),
        ("repair_time = \"1d\"\nrepair_law = \"never\"", "`repair_time` is of repairs"),
        ("repair_time = \"1d\"\npool_disks = 10", "`pool_disks` is of pools"),
        ("repair_time = \"1d\"\ngroups = 10", "`groups` is of groups"),
        ("repair_time = \"1d\"\nscatter_width = 4", "`scatter_width` is of sets of servers"),
        ("repair_time = \"1d\"\nlayout = \"groups\"", "the number of groups is missing"),
        (
            "repair_time = \"1d\"\nlayout = \"pool\"\nshared_by = \"array\"",
            "`shared_by` means nothing for a pool",
        ),
        ("repair_time = \"1d\"\nlayout = \"pool\"\nrepair_law = \"exponential\"", "as long as their work"),
        ("repair_time = \"1d\"\namplification = \"data-and-one\"", "`amplification` is of pools"),
        ("repair_time = \"1d\"\nlayout = \"pool\"\nfailure_domain = \"server\"", "another failure domain"),
        ("repair_time = \"1d\"\nfailure_rate = \"1%\"\nfailure_probability = \"1%\"", "both say how often"),
        ("repair_time = \"1d\"\nfailure_probability = \"100%\"", "no probability of failing"),
        ("repair_time = \"1d\"\nfailures = 3", "`failures` were counted are missing"),
        ("repair_time = \"1d\"\ndisk_years = 3", "`disk_years` goes with `failures`"),
        ("repair_time = \"1d\"\nage = \"1y\"", "`age` is of laws of age"),
        ("repair_time = \"1d\"\nweibull_shape = 2.0", "needs the probability of a year"),
        ("repair_time = \"1d\"\nused = \"50%\"", "`used` is a share of `disk_capacity`"),
        ("repair_time = \"1d\"\nerrors_per_bit = 1e-15", "`errors_per_bit` needs the bytes"),
        ("repair_time = \"1d\"\nscrub_interval = \"14d\"", "`scrub_interval` goes with `latent_error_rate`"),
        ("repair_time = \"1d\"\nserver_outage_rate = \"10%\"", "`server_outage_rate` goes with"),
        ("repair_time = \"1d\"\nyear = \"360d\"", "`year` is 360d"),
        ("repair_time = \"1d\"\nmin_size = 7", "`min_size` is 7"),
        ("repair_time = \"1d\"\nmin_size = 11", "`min_size` is 11"),
        ("repair_time = \"1d\"\nracks = 3", "do not fill 3 racks evenly"),
        ("repair_time = \"1d\"\nfailure_domain = \"server\"", "need as many servers"),
        ("repair_time = \"1d\"\ntop = \"9+1\"", "`top` needs more arrays"),
        ("repair_time = \"1d\"\ntop = \"1+1\"\nserver_ruin_rate = \"1%\"", "not modelled beside `top`"),
        ("repair_time = \"1d\"\ntop = \"x\"", "`x` is no code"),
        ("repair_time = \"1d\"\nmission = \"0s\"", "`mission` is"),
        ("burst = \"21 disks\"", "has 20 disks"),
        ("burst = \"3 disks in 2 racks\"", "has no racks"),
    ] {
        let said = refused(&format!("{BASE}{keys}"));
        assert!(said.contains(why), "{keys}: {said}");
    }
    assert!(refused("ec = \"8+2\"\nrepair_time = \"1d\"").contains("the number of disks is missing"));
    assert!(refused("disks_per_server = 10\nec = \"0+2\"\nrepair_time = \"1d\"").contains("no code"));
    let sets = "servers = 12\nrepair_time = \"1d\"\nlayout = \"scattered\"\nscatter_width = ";
    assert!(refused(&format!("{sets}1")).contains("`scatter_width` is 1"));
    assert!(refused(&format!("{sets}12")).contains("`scatter_width` is 12"));
    assert!(refused(&format!("{sets}4\nreplicas = 1")).contains("sets of one server"));
    let deep = "disks_per_server = 20\nec = \"8+7\"\nlayout = \"pool\"\nrepair_time = \"1d\"";
    assert!(refused(deep).contains("survive 7 failures are not modelled"));
    let many = "servers = 30000\nlayout = \"groups\"\ngroups = 10\nrepair_time = \"1d\"";
    assert!(refused(many).contains("at most 20000 are simulated together"));
}

/// A burst needs no repair; the probability in a mission then has none, and says why.
#[test]
fn a_burst_alone_has_no_probability_of_a_mission() {
    let why = reason(&format!("{BASE}burst = \"3 disks\""), "loss_probability");
    assert!(why.contains("how long a repair takes is not given"), "{why}");
}
