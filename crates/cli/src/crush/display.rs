//! Output about a map: text, tree, JSON, tests, comparisons.

use std::fmt::Write as _;
use std::path::Path;

use towtank::Trouble;
use towtank_placement::crush::tester::{Show, Table, TestError, TestPlan, check_devices, compare, test};
use towtank_placement::crush::{Map, MsrFault, dump, location, slot_of, text, tree};
use towtank_scenario::Problem;

use super::change::{device, number};
use super::files;
use super::flags::{Display, Flags, Plan};
use super::out::Out;
use crate::exit::Exit;
use crate::screen;

/// Prints the requested output, in crushtool's order.
pub fn show(flags: &Flags, map: &Map, out: &mut Out) -> Result<Exit, Trouble> {
    let display = &flags.display;
    if let Some(id) = display.show_location {
        for (kind, name) in location(map, i32::try_from(id).unwrap_or(i32::MAX)) {
            out.say(&format!("{kind}\t{name}\n"))?;
        }
    }
    if display.tree {
        tree(map, out).map_err(Trouble::failed)?;
    }
    if display.dump {
        check_devices(map).map_err(trouble)?;
        dump(map, out).map_err(Trouble::failed)?;
    }
    if flags.decompile.is_some() {
        let text = text::print(map).map_err(Trouble::input)?;
        match &flags.outfn {
            Some(path) => files::put(path, text.as_bytes())?,
            None => out.say(&text)?,
        }
    }
    if let Some(Some(most)) = display.check {
        check_names(map, most)?;
    }
    let plan = plan(&flags.plan)?;
    if display.test {
        tests(display, map, &plan, out)?;
    }
    match &display.compare {
        Some(path) => compared(path, map, &plan, out),
        None => Ok(Exit::Done),
    }
}

fn plan(flags: &Plan) -> Result<TestPlan, Problem> {
    let number_of = |value: Option<i64>| value.and_then(|value| i32::try_from(value).ok());
    let mut weights = std::collections::BTreeMap::new();
    for pair in flags.weight.chunks_exact(2) {
        let fixed = number(&pair[1], "--weight")? * 65_536.0;
        weights.insert(device(&pair[0], "--weight")?, fixed.clamp(0.0, 65_536.0) as u32);
    }
    Ok(TestPlan {
        rule: number_of(flags.rule),
        min_rep: number_of(flags.num_rep.or(flags.min_rep)),
        max_rep: number_of(flags.num_rep.or(flags.max_rep)),
        min_x: number_of(flags.x.or(flags.min_x)),
        max_x: number_of(flags.x.or(flags.max_x)),
        weights,
        pool: flags.pool_id.and_then(|pool| u32::try_from(pool).ok()),
    })
}

fn tests(display: &Display, map: &Map, plan: &TestPlan, out: &mut Out) -> Result<(), Trouble> {
    let show = Show {
        mappings: display.show_mappings,
        bad_mappings: display.show_bad_mappings,
        statistics: display.show_statistics,
        utilization: display.show_utilization,
        utilization_all: display.show_utilization_all,
        choose_tries: display.show_choose_tries,
        tables: display.output_csv,
    };
    let any = [
        show.mappings,
        show.bad_mappings,
        show.statistics,
        show.utilization,
        show.utilization_all,
        show.choose_tries,
        show.tables,
        display.compare.is_some(),
        display.check.is_some(),
    ];
    if !any.contains(&true) {
        screen::say("note: the test prints nothing: add --show-… or --output-csv\n");
    }
    if let Some(rule) = plan.rule
        && usize::try_from(rule).is_ok_and(|rule| map.rule(rule).is_none())
    {
        screen::say(&format!("note: the map has no rule {rule}, so there is nothing to test\n"));
    }
    for (rule, fault) in faults(map, plan) {
        let name = map.rule_names.get(&i32::try_from(rule).unwrap_or(-1)).cloned().unwrap_or_default();
        screen::say(&format!("note: rule {rule} ({name}) finds no device: {fault}\n"));
    }
    let tables = test(map, plan, show, out).map_err(trouble)?;
    write_tables(&tables, display.output_name.as_deref())
}

/// The multi-step-retry rules among those tested that can find no device.
fn faults<'a>(map: &'a Map, plan: &TestPlan) -> impl Iterator<Item = (usize, MsrFault)> + 'a {
    let only = plan.rule;
    let is_tested = move |rule: &usize| only.is_none_or(|only| usize::try_from(only) == Ok(*rule));
    (0..map.rules.len()).filter(is_tested).filter_map(|rule| Some((rule, map.msr_fault(rule)?)))
}

fn trouble(error: TestError) -> Trouble {
    match error {
        TestError::Output(error) => Trouble::failed(error),
        error => Trouble::input(error),
    }
}

/// Writes the tables. A rule's name comes from the map, and must not lead out of the directory.
fn write_tables(tables: &[Table], prefix: Option<&str>) -> Result<(), Trouble> {
    if let Some(table) = tables.iter().find(|table| table.name.contains(['/', '\\', '\0'])) {
        return Err(Problem::new(format!("`{}` cannot be a file's name", table.name))
            .hint("test rules whose names have no slash, with --rule")
            .into());
    }
    for table in tables {
        let name = prefix.map_or(table.name.clone(), |prefix| format!("{prefix}-{}", table.name));
        files::put(Path::new(&name), table.text.as_bytes())?;
    }
    Ok(())
}

fn compared(path: &Path, map: &Map, plan: &TestPlan, out: &mut Out) -> Result<Exit, Trouble> {
    let other = files::read_binary(path)?;
    if compare(map, &other, plan, out).map_err(trouble)? {
        return Ok(Exit::Done);
    }
    out.flush()?;
    screen::say("warning: maps are NOT equivalent\n");
    Ok(Exit::Failed)
}

/// Checks that every bucket reachable from a root has a name and a named type, and that device ids are below
/// `most`.
fn check_names(map: &Map, most: i64) -> Result<(), Trouble> {
    let mut wrong = String::new();
    let held = || map.each_bucket().flat_map(|bucket| &bucket.items);
    if let Some(item) = held().find(|&&item| most > 0 && i64::from(item) >= most) {
        let _ = write!(wrong, "device {item} is in a bucket, but device ids must be below {most}");
    } else if let Some(bucket) = map.each_bucket().find(|bucket| !map.item_names.contains_key(&bucket.id)) {
        let _ = write!(wrong, "bucket {} has no name", bucket.id);
    } else if let Some(bucket) =
        map.each_bucket().find(|bucket| !map.type_names.contains_key(&i32::from(bucket.kind)))
    {
        let _ = write!(wrong, "bucket {} is of type {}, which has no name", bucket.id, bucket.kind);
    } else if !map.type_names.contains_key(&0) && held().any(|&item| slot_of(item).is_none()) {
        wrong.push_str("type 0, that of devices, has no name");
    }
    if wrong.is_empty() {
        return Ok(());
    }
    Err(Problem::new(wrong).hint("decompile the map with -d, mend it, and compile it with -c").into())
}
