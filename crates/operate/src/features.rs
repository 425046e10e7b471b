//! What a cluster has that is not modelled: refused where the answer would be wrong, else named in it.

use towtank_ceph::{Cluster, PoolState, rule_name};
use towtank_imports::ceph::{OsdDump, PoolEntry};
use towtank_placement::crush::RuleKind;
use towtank_recovery::releases::CephRelease;
use towtank_report::{Warning, human};
use towtank_scenario::{Draft, Problems};

use crate::asked::Asked;

/// Plugins of erasure codes that are modelled: any k shards give the data, and a repair reads k whole ones.
const PLUGINS: [&str; 2] = ["jerasure", "isa"];

/// A plugin of which any k shards give the data, and whose repairs read less in some releases.
const CLAY: &str = "clay";

/// Flags of pools that are known: those that change no answer, and those that are named elsewhere.
const POOL_FLAGS: [&str; 20] = [
    "hashpspool",
    "full",
    "ec_overwrites",
    "incomplete_clones",
    "nodelete",
    "nopgchange",
    "nosizechange",
    "write_fadvise_dontneed",
    "noscrub",
    "nodeep-scrub",
    "full_quota",
    "nearfull",
    "backfillfull",
    "selfmanaged_snaps",
    "pool_snaps",
    "creating",
    "eio",
    "bulk",
    "crimson",
    "ec_optimizations",
];

/// What is not modelled in any answer.
pub(crate) fn named(dump: &OsdDump) -> Vec<Warning> {
    let mut said = Vec::new();
    if dump.is_stretched() {
        said.push(Warning::unknown(
            "stretch mode is on, which is not modelled: groups count as served with `min_size` devices anywhere, and \
             nothing is said of the loss of a site",
        ));
    }
    let of = |fits: &dyn Fn(&PoolEntry) -> bool, [one, several]: [&str; 2], rest: &str| {
        let pools: Vec<&PoolEntry> = dump.pools.iter().filter(|pool| fits(pool)).collect();
        let who = match pools[..] {
            [] => return None,
            [pool] => format!("pool `{}` {one}", pool.name),
            [pool, ..] => {
                format!("{} pools, such as `{}`, {several}", human::digits(pools.len() as f64), pool.name)
            }
        };
        Some(format!("{who} {rest}"))
    };
    let tiers = of(
        &PoolEntry::is_tiered,
        ["belongs", "belong"],
        "to a cache tier, which is not modelled: what it flushes, evicts and promotes does not count",
    );
    let codes = of(
        &|pool| pool.has_flag("ec_optimizations"),
        ["has", "have"],
        "`ec_optimizations`, which are not modelled: other devices may lead their groups",
    );
    said.extend([tiers, codes].into_iter().flatten().map(Warning::unknown));
    for pool in &dump.pools {
        let strange = pool.flags().filter(|flag| !POOL_FLAGS.contains(flag));
        said.extend(strange.map(|flag| {
            let name = &pool.name;
            Warning::unknown(format!("pool `{name}` has the flag `{flag}`, and what it does is not modelled"))
        }));
    }
    let scaled = of(
        &|pool| pool.is_scaled() && (pool.has_flag("bulk") || pool.has_target_size()),
        ["is", "are"],
        "scaled by the autoscaler to a target (`bulk`, `target_size_ratio`), which is not modelled: it may change `pg_num` \
         when the cluster changes",
    );
    said.extend(scaled.map(Warning::note));
    said
}

/// Changes of a number of groups that Ceph refuses because of a flag of the pool, in words.
pub(crate) fn locked(dump: &OsdDump, asked: &Asked) -> Vec<String> {
    let numbers = ["pg_num", "pgp_num"];
    let mut said = Vec::new();
    for pool in dump.pools.iter().filter(|pool| pool.has_flag("nopgchange")) {
        let name = &pool.name;
        let changed = numbers.iter().find(|verb| asked.map.iter().any(|own| own.sets(verb, pool)));
        said.extend(changed.map(|verb| {
            format!(
                "Ceph refuses a change of `{verb}` of pool `{name}`: its flag `nopgchange` is set (`ceph osd pool set {name} \
                 nopgchange false` unsets it)"
            )
        }));
    }
    said
}

/// The first release with rules of multi-step retry.
const MSR_FROM: u32 = 19;

/// Pools with a rule that devices of a known release do not have.
pub(crate) fn of_rules(cluster: &Cluster, release: Option<CephRelease>) -> Vec<Warning> {
    let Some(major) = release.map(|known| known.0.major).filter(|major| *major < MSR_FROM) else {
        return Vec::new();
    };
    let is_new = |pool: &&PoolState| {
        let rule = cluster.map.rule(pool.placed.rule as usize);
        rule.is_some_and(|rule| rule.kind.msr_mode().is_some())
    };
    let said = |pool: &PoolState| {
        let rule = rule_name(&cluster.map, pool.placed.rule);
        Warning::unknown(format!(
            "pool `{}` has the rule `{rule}`, which retries over several steps (MSR): Ceph has such rules from {MSR_FROM} on, \
             and the exports are of Ceph {major}",
            pool.name
        ))
    };
    cluster.pools.iter().filter(is_new).map(said).collect()
}

/// What is not modelled where time and risk are answered. Pools whose codes are not known are refused.
pub(crate) fn check(dump: &OsdDump, key: &str, draft: &Draft, problems: &mut Problems) -> Vec<Warning> {
    let mut said = Vec::new();
    for pool in dump.pools.iter().filter(|pool| pool.kind() == RuleKind::Erasure) {
        let (name, profile) = (&pool.name, &pool.erasure_code_profile);
        match dump.plugin(profile) {
            Some(plugin) if PLUGINS.contains(&plugin) => {}
            Some(CLAY) => said.push(Warning::unknown(format!(
                "pool `{name}` has the code `{CLAY}`: repairs read k whole shards here, as in Ceph 20; earlier releases \
                 read less, so its times are upper bounds"
            ))),
            Some(plugin) => {
                let message = format!(
                    "pool `{name}` has the code `{plugin}` (profile `{profile}`), which is not modelled: what a repair \
                     reads, and which losses it survives, would be wrong"
                );
                let hint = "ask for what moves alone, with --moves-only; modelled are jerasure, isa and clay";
                problems.push(draft.problem(key, message).hint(hint));
            }
            None => said.push(Warning::unknown(format!(
                "the osd dump does not say which code pool `{name}` has (`plugin` of profile `{profile}`): one is assumed \
                 with which any k shards give the data"
            ))),
        }
    }
    said
}
