//! Compares the mappings of two maps, as `crushtool --compare` does.

use super::{TestError, TestPlan, weights};
use crate::crush::general::{USUAL_DIGITS, general};
use crate::crush::map::Map;
use crate::crush::mapper::{Ask, Mappings, Workspace};
use std::fmt::Write;

/// Maps every input of the plan with both maps, prints the number of differences per rule, and returns
/// whether there were none. The weights at which devices are in come from the first map and the plan.
pub fn compare(map: &Map, other: &Map, plan: &TestPlan, out: &mut dyn Write) -> Result<bool, TestError> {
    let weights = weights(map, plan)?;
    let (mapper, other) = (map.compile()?, other.compile()?);
    let mut workspace = Workspace::default();
    let (mut ours, mut theirs) = (Mappings::default(), Mappings::default());
    let (first, last) = plan.inputs();
    let mut equal = true;
    for rule in plan.rules(map) {
        let Some(known) = map.rule(rule) else { continue };
        let (min, max) = plan.replicas(known);
        let mut differ = 0u32;
        for replicas in min..=max {
            let result_max = usize::try_from(replicas).unwrap_or(0);
            let ask = Ask { rule, x: 0, result_max, weights: &weights, pool: 0 };
            for (_, placed) in plan.blocks(result_max) {
                mapper.map_all(ask, &placed, &mut workspace, &mut ours);
                other.map_all(ask, &placed, &mut workspace, &mut theirs);
                differ +=
                    ours.iter().zip(theirs.iter()).filter(|(ours, theirs)| ours != theirs).count() as u32;
            }
        }
        equal &= differ == 0;
        let span = |from: i32, to: i32| to.wrapping_sub(from).wrapping_add(1);
        let asked = span(min, max).wrapping_mul(span(first, last));
        let share = general(f64::from(differ) / f64::from(asked), USUAL_DIGITS);
        writeln!(out, "rule {rule} had {differ}/{asked} mismatched mappings ({share})")?;
    }
    if equal {
        writeln!(out, "maps appear equivalent")?;
    }
    Ok(equal)
}
