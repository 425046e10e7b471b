//! `towtank place` as users run it.

use insta::assert_snapshot;

use super::tool::Folder;

#[test]
fn the_whole_answer_at_eighty_columns() {
    let folder = Folder::new("place");
    let said = folder.run(&[
        "place",
        "--algorithm",
        "ring",
        "--servers",
        "8",
        "--keys",
        "2000",
        "--replicates",
        "2",
        "--quiet",
        "--verbose",
    ]);
    assert_snapshot!(said.without_keys(), @"
    ring: the standard deviation of load is 5.759 % of the expected load (2.887 % with independent
    draws), and the change moves 1.02 times what the weights require.

    Summary over 2 replicates
                                      mean  95 % interval
    load_deviation           5.759 %        0.2114 to 156.9 %
    load_deviation_binomial  2.887 %        2.887 %
    load_max                 1.076          0.9338 to 1.24
    load_max_binomial        1.041          1.041
    unplaced                     0          0
    unplaced_fraction            0 %        0 %
    unplaced_after_fraction      0 %        0 %
    peers_mean                   7 servers  7 servers
    peers_min                    7 servers  7 servers
    failure_lost               765          420.7 to 1,391
    failure_expected           750          750
    rebuilt_max              155.5          43.82 to 551.8
    rebuilt_none                 0 servers  0 servers
    unrebuilt                    0          0
    rebuilt_max_over_mean    1.419          0.725 to 2.779
    moved_fraction           12.75 %        6.859 to 22.48 %
    minimum_fraction          12.5 %        12.5 %
    moved_over_minimum        1.02          0.5609 to 1.855

    Results of each placement
    Means over the replicates. The last server fails, and is the one that a change removes or halves.
    Placement  Placed        Load deviation [%]  Load deviation binomial [%]  Maximum load
    ring       2000 objects               5.759                        2.887         1.076

    Placement  Load max binomial  Unplaced  Unplaced [%]  Unplaced after [%]  Mean peers [servers]
    ring                   1.041         0             0                   0                     7

    Placement  Minimum peers [servers]  Failure lost  Failure expected  Maximum rebuilt
    ring                             7           765               750            155.5

    Placement  Rebuilt none [servers]  Unrebuilt  Mean rebuilt max over  Moved [%]  Minimum [%]
    ring                            0          0                  1.419      12.75         12.5

    Placement  Moved over minimum
    ring                     1.02

    Guarantees of the algorithms
    Properties by construction, without sampling noise. Replicas are on different servers; no larger
    failure domain is known.
    Placement  Balance            Peers              Weights           On add     On remove  On reweight
    ring       arcs of 64         neighbours of 64   in steps of 1/64  the least  the least  the least
               virtual nodes      nodes

    Placement  Cost
    ring       constant

    seed 1, 4,000 events, executor sequential, digest KEY, scenario
    KEY, towtank 0.1.0 (results 2)
    --
    exit 0
    ");
}

#[test]
fn what_makes_no_sense_is_refused() {
    let folder = Folder::new("place_refused");
    let refused = |flags: &[&str]| folder.run(&[&["place"], flags].concat());
    assert_snapshot!(refused(&["--algorithm", "rign"]), @r#"
    error: `algorithm` is "rign", but it must be "crush-straw2", "crush-straw", "crush-vring", "ring", "multiring", "rendezvous", "jump", "maglev", "static-modulo", "two-choice", "xor", "two-d" or "negotiating"
      --> --algorithm rign
                      ^^^^
    hint: did you mean "ring"?
    exit 2
    "#);
    assert_snapshot!(refused(&["--algorithm", "ring", "--servers", "2", "--replicas", "3"]), @r"
    error: `replicas` is 3, but only 1 server with a weight is left after the change
      --> --replicas 3
                     ^
    hint: set `replicas` to at most 1, or add servers
    exit 2
    ");
    assert_snapshot!(refused(&["--algorithm", "ring", "--servers", "0"]), @r"
    error: `servers` is 0, but it must be from 1 to 16384
      --> --servers 0
                    ^
    hint: set `servers` to a value from 1 to 16384
    exit 2
    ");
    assert_snapshot!(refused(&["--algorithm", "ring", "--change", "remov"]), @r#"
    error: `change` is "remov", but it must be "remove", "add" or "halve"
      --> --change remov
                   ^^^^^
    hint: did you mean "remove"?
    exit 2
    "#);
    assert_snapshot!(refused(&["--algorithm", "ring", "--keys", "-5"]), @r"
    error: `keys` is -5, but it must be from 1 to 1000000000
      --> --keys -5
                 ^^
    hint: set `keys` to a value from 1 to 1000000000
    exit 2
    ");
    assert_snapshot!(refused(&["--algorithm", "ring", "--vnode", "5"]), @r"
    error: unexpected argument '--vnode' found

      tip: a similar argument exists: '--vnodes'

    Usage: towtank place --algorithm <VALUE> --vnodes <N>

    For more information, try '--help'.
    exit 2
    ");
}
