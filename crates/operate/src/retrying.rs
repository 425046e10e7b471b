//! Pools that use multi-step-retry rules, in each of the studies of this crate.

use serde_json::Value;
use towtank_imports::{File, ceph};
use towtank_placement::crush::pools::{PgId, Placer};
use towtank_placement::crush::reference::{self, Question};
use towtank_placement::crush::{ItemId, Map, RuleKind};
use towtank_report::Outcome;
use towtank_scenario::{Document, Problems, Source};
use towtank_streams::Seed;
use towtank_study::{RunContext, Study};

use crate::balance::Balance;
use crate::exports::samples::{EXAMPLE, Folder, example, unpacked};
use crate::preview::Preview;
use crate::whatif::Whatif;

/// The cluster of the guides with multi-step-retry rules, without explicit mappings, and its groups where the
/// rules place them; `shards` are the steps of the rule for shards after its `take`.
fn retrying(shards: &str) -> Folder {
    let text = rules(shards);
    let groups = unpacked(&example(), "pg_dump.json.gz");
    let Folder(mut files) = example();
    files.insert("crush.txt".to_owned(), text.into_bytes());
    let mut osds: Value = serde_json::from_slice(&files["osd_dump.json"]).unwrap();
    osds["pg_upmap_items"] = Value::Array(Vec::new());
    files.insert("osd_dump.json".to_owned(), osds.to_string().into_bytes());
    let mut groups: Value = serde_json::from_str(&groups).unwrap();
    let (map, dump) = read(&files);
    let overlay = dump.overlay();
    let placer = Placer::new(&map, &overlay);
    for stat in groups["pg_map"]["pg_stats"].as_array_mut().unwrap() {
        let (pool, seed) = stat["pgid"].as_str().unwrap().split_once('.').unwrap();
        let id = PgId { pool: pool.parse().unwrap(), seed: u32::from_str_radix(seed, 16).unwrap() };
        let pool = dump.pools.iter().find(|pool| pool.id == id.pool).unwrap().placed();
        let up = placer.place(&pool, id.seed).up;
        (stat["up"], stat["acting"]) = (up.devices.clone().into(), up.devices.into());
        (stat["up_primary"], stat["acting_primary"]) = (up.primary.into(), up.primary.into());
    }
    files.insert("pg_dump.json.gz".to_owned(), groups.to_string().into_bytes());
    Folder(files)
}

/// The text map of the guides with other rules.
fn rules(shards: &str) -> String {
    let text = String::from_utf8(example().0["crush.txt"].clone()).unwrap();
    let buckets = &text[..text.find("rule ").unwrap()];
    format!(
        "{buckets}rule copies {{\n id 0\n type msr_firstn\n step take default class hdd\n step choosemsr 0 type host\n \
         step choosemsr 1 type osd\n step emit\n}}\nrule coded {{\n id 1\n type msr_indep\n step take default\n \
         {shards} step emit\n}}\n"
    )
}

fn read(files: &std::collections::BTreeMap<String, Vec<u8>>) -> (Map, ceph::OsdDump) {
    let file = |name| File { name, bytes: files[name].as_slice() };
    (
        ceph::read_map(file("crush.txt")).unwrap().value,
        ceph::read_osd_dump(file("osd_dump.json")).unwrap().value,
    )
}

fn run(study: &dyn Study, folder: Folder, text: &str) -> Result<Outcome, Problems> {
    let text = format!("study = \"{}\"\n{EXAMPLE}{text}", study.name());
    let document =
        Document::parse(&Source::file("retrying.toml", text))?.with_files(std::sync::Arc::new(folder));
    let outline = document.outline()?;
    let prepared = study.check(outline.points()[0].draft())?;
    Ok(prepared.run(&RunContext::alone(Seed(1), 0)).unwrap())
}

fn value(outcome: &Outcome, measure: &str) -> f64 {
    let found = &outcome.measures[measure];
    found.value().unwrap_or_else(|| panic!("{measure} is missing: {:?}", found.reason()))
}

const BY_HOST: &str = "step choosemsr 0 type host\n step choosemsr 1 type osd\n";
const TWO_A_HOST: &str = "step choosemsr 2 type host\n step choosemsr 2 type osd\n";

/// The devices of a group by the definition alone, with one device out and without explicit mappings.
fn by_definition(
    map: &Map,
    dump: &ceph::OsdDump,
    (pool, seed): (usize, u32),
    out: Option<usize>,
) -> Vec<ItemId> {
    let pool = dump.pools[pool].placed();
    let mut weights: Vec<u32> = dump.overlay().devices.iter().map(|device| device.weight).collect();
    out.into_iter().for_each(|device| weights[device] = 0);
    let question = Question {
        x: pool.input(seed),
        result_max: pool.size as usize,
        weights: &weights,
        choose_args: map.choose_args_for(pool.id),
    };
    reference::do_rule(map, pool.rule as usize, question)
}

/// Without explicit mappings, the groups that a device leaves are those of the definition.
#[test]
fn a_preview_moves_the_groups_that_the_definition_moves() {
    for steps in [BY_HOST, TWO_A_HOST] {
        let (map, dump) = read(&retrying(steps).0);
        let mut want = 0;
        for (at, pool) in dump.pools.iter().enumerate() {
            for seed in 0..pool.pg_num {
                let before = by_definition(&map, &dump, (at, seed), None);
                let after = by_definition(&map, &dump, (at, seed), Some(6));
                assert_eq!((before.len(), after.len()), (pool.size as usize, pool.size as usize));
                let is_new = |(position, device): (usize, &ItemId)| match pool.kind() {
                    RuleKind::Erasure => *device != before[position],
                    _ => !before.contains(device),
                };
                want += u32::from(after.iter().enumerate().any(is_new));
            }
        }
        let shown = run(&Preview, retrying(steps), "mark_out = \"osd.6\"").unwrap();
        assert!(want > 20, "{want}");
        assert_eq!(value(&shown, "moved_groups"), f64::from(want), "{steps}");
        let seen = run(&Whatif, retrying(steps), "mark_out = \"osd.6\"").unwrap();
        for measure in ["moved_groups", "moved_bytes", "minimum_bytes"] {
            assert_eq!(value(&seen, measure), value(&shown, measure), "{steps}: {measure}");
        }
    }
}

/// The plan passes its own check of what the rules allow, and wins something.
#[test]
fn a_plan_of_balance_keeps_to_the_rules() {
    for steps in [BY_HOST, TWO_A_HOST] {
        let seen = run(&Balance, retrying(steps), "").unwrap();
        assert!(value(&seen, "moved_groups") > 3.0, "{steps}: {}", value(&seen, "moved_groups"));
        assert!(value(&seen, "fill_max_after") < value(&seen, "max_device_fill"), "{steps}");
        assert!(value(&seen, "usable_bytes_after_plan") > value(&seen, "usable_bytes"), "{steps}");
    }
}

/// A rule that finds no device is refused by name where a pool has it, and nowhere else.
#[test]
fn a_rule_of_another_form_is_refused_only_where_a_pool_has_it() {
    let bad = "rule bad {\n id 2\n type msr_indep\n step take default\n step emit\n}\n";
    let with_bad = || {
        let Folder(mut files) = retrying(BY_HOST);
        files.get_mut("crush.txt").unwrap().extend(bad.bytes());
        files
    };
    let refused = |files, study: &dyn Study, text: &str| {
        run(study, Folder(files), text)
            .unwrap_err()
            .iter()
            .map(|problem| problem.message().to_owned())
            .collect::<Vec<_>>()
    };
    let studies: [&dyn Study; 3] = [&Preview, &Whatif, &Balance];
    for study in studies {
        run(study, Folder(with_bad()), "").unwrap();
        let mut files = with_bad();
        let dump = String::from_utf8(files["osd_dump.json"].clone()).unwrap();
        let dump = dump.replace("\"crush_rule\":1", "\"crush_rule\":2");
        files.insert("osd_dump.json".to_owned(), dump.into_bytes());
        let why = "`osd_dump.json`: `pools[1].crush_rule`: pool `archive` has rule `bad`, which finds no device: its \
                   block ends at step 2 without a `choosemsr`";
        assert_eq!(refused(files, study, ""), [why]);
    }
    let why = "`rule` is \"archive=bad\": rule `bad` finds no device: its block ends at step 2 without a `choosemsr`";
    assert_eq!(refused(with_bad(), &Preview, "rule = \"archive=bad\""), [why]);
    let why = "`rule` is \"rbd=coded\": rule `coded` is for erasure-coded (`msr_indep`) pools, but pool `rbd` is replicated";
    assert_eq!(refused(with_bad(), &Preview, "rule = \"rbd=coded\""), [why]);
}

/// A release that has no such rules is named; one that has them, and one that is not known, are not.
#[test]
fn a_release_without_such_rules_is_named() {
    let said = |release: &str, study: &dyn Study| {
        let Folder(mut files) = retrying(BY_HOST);
        let mut dump: Value = serde_json::from_slice(&files["osd_dump.json"]).unwrap();
        dump["require_osd_release"] = release.into();
        files.insert("osd_dump.json".to_owned(), dump.to_string().into_bytes());
        let outcome = run(study, Folder(files), "mark_out = \"osd.6\"").unwrap();
        let named = outcome.warnings.iter().filter(|warning| warning.text.contains("(MSR)"));
        named.map(|warning| warning.text.clone()).collect::<Vec<_>>()
    };
    let studies: [&dyn Study; 2] = [&Preview, &Whatif];
    for study in studies {
        let found = said("reef", study);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(
            found[0].ends_with("Ceph has such rules from 19 on, and the exports are of Ceph 18"),
            "{found:?}"
        );
        assert!(said("squid", study).is_empty() && said("", study).is_empty());
    }
}
