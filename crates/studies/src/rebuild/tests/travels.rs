//! The model of a rebuild, whose messages between workers are serialised ([`crate::travel`]).

use towtank_streams::Seed;
use towtank_study::RunContext;

use super::complete;
use crate::rebuild::generated::Staged;
use crate::travel::{Travelling, counted};

#[test]
fn rebuilds_travel() {
    let kinds = [
        "servers = 8\nper_server = \"1GiB\"\nplacement = \"crush-straw\"\ngroups = 40\nmax_backfills = 1",
        "servers = 9\nper_server = \"500MiB\"\nec = \"4+2\"\ngather = \"target\"\nfail = [\"server\", \"server\"]",
        "servers = 8\nper_server = \"1GiB\"\nfail = [\"server=1\", \"server=2@50ms\"]\ndetection = \"20ms\"\ndown_out = \"30ms\"",
        "servers = 12\nracks = 4\nuplink = \"200MiB/s\"\nper_server = \"500MiB\"\ndisks_per_server = 2\nfailure_domain = \"rack\"\nplacement = \"crush-straw2\"\nclient_load = \"100/s\"\nlatency = \"200us\"",
        "preset = \"ceph\"\nservers = 6\nper_server = \"1GiB\"\ngroups = 40\nqueue = \"mclock\"\nosd_capacity = 1000000\nreturns = \"1s\"",
    ];
    for text in kinds {
        let complete = complete(text);
        // Replicate 1: replicate 0 does more than the others, for the figures.
        let context = RunContext::alone(Seed(3), 1);
        let staged = Staged::of(&complete, &context).unwrap().expect("nobody stops it");
        counted(text, || {
            staged.recovery(&complete, &context).run(&Travelling(context)).unwrap();
        });
    }
}
