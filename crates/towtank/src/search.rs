//! A study's search for settings that meet goals: the scenario is run repeatedly, each time with other keys
//! set.

use std::path::PathBuf;

use serde_json::{Value, json};
use towtank_report::Report;
use towtank_scenario::gate::Gate;
use towtank_scenario::{Problem, Problems};
use towtank_study::{Found, Search, Summary, TrialError, Trials};

use crate::{Document, Observer, Options, Registry, Scenario, Trouble, answer, gates, run};

/// The result of a search.
#[derive(Clone, Debug)]
pub struct Searched {
    /// The settings found, and whether the goals are met.
    pub found: Found,
    /// The result as a report.
    pub report: Report,
}

/// Searches for settings of a scenario that meet goals, by its study's method. `None` if it was stopped.
///
/// # Errors
/// When the study supports no search, the scenario or a goal is invalid, or a run fails.
pub fn search(
    document: Document,
    registry: &Registry,
    (goals, schedulers): (&[String], &[String]),
    options: &Options,
    observer: &dyn Observer,
) -> Result<Option<Searched>, Trouble> {
    let folder = document.folder().to_owned();
    let scenario = document.check(registry)?;
    let study = scenario.study();
    let Some(search) = study.search() else {
        let message = format!("the study `{}` cannot search for settings", study.name());
        return Err(Problem::new(message).hint("`pfs` can: towtank pfs tune").into());
    };
    let mut trials = Laid::new(&scenario, folder, goals, Around { registry, options, observer })?;
    match (search.find)(&mut trials, schedulers) {
        Ok(found) => {
            let report = report(&scenario, search, (goals, schedulers), &found)?;
            Ok(Some(Searched { found, report }))
        }
        Err(TrialError::Stopped) => Ok(None),
        Err(TrialError::Input(problems)) => Err(Trouble::Input(problems)),
        Err(TrialError::Failed(problem)) => Err(Trouble::Failed(problem)),
    }
}

fn report(
    scenario: &Scenario,
    search: &Search,
    (goals, schedulers): (&[String], &[String]),
    found: &Found,
) -> Result<Report, Trouble> {
    let asked = json!({
        "study": scenario.study().name(),
        "subcommand": search.name,
        "goals": goals,
        "schedulers": schedulers,
        "scenario": scenario.resolved().scenario(),
    });
    answer::of_answer(scenario.study(), (search.name, search.about), asked, &found.answer)
}

/// The resolved scenario, with other values set for each trial.
struct Laid<'a> {
    text: String,
    folder: PathBuf,
    resolved: Value,
    goals: Vec<Gate>,
    registry: &'a Registry,
    options: &'a Options,
    observer: &'a dyn Observer,
}

/// What a search is given beside its scenario.
struct Around<'a> {
    registry: &'a Registry,
    options: &'a Options,
    observer: &'a dyn Observer,
}

impl<'a> Laid<'a> {
    fn new(
        scenario: &Scenario,
        folder: PathBuf,
        texts: &[String],
        around: Around<'a>,
    ) -> Result<Laid<'a>, Trouble> {
        let [point] = scenario.points() else {
            let message =
                format!("the scenario has {} points, but only one can be tuned", scenario.points().len());
            return Err(Problem::new(message).hint("leave its sweep out: --set sweep={}").into());
        };
        let Around { registry, options, observer } = around;
        let resolved = point.prepared.resolved();
        let measures = gates::with_reasons(scenario.study(), &[&resolved]);
        let known = gates::known(&measures);
        let (mut goals, mut problems) = (Vec::new(), Problems::new());
        for text in texts {
            match Gate::parse("--goal", text, &known) {
                Ok(goal) => goals.push(goal),
                Err(found) => problems.extend(found),
            }
        }
        problems.into_result(())?;
        let text = scenario.resolved().to_toml();
        Ok(Laid { text, folder, resolved, goals, registry, options, observer })
    }
}

impl Trials for Laid<'_> {
    fn scenario(&self) -> &Value {
        &self.resolved
    }

    fn goals(&self) -> &[Gate] {
        &self.goals
    }

    fn run(&mut self, changes: &[(String, String)]) -> Result<Summary, TrialError> {
        let input = |problem: Problem| TrialError::Input(problem.into());
        let document = Document::named("the resolved scenario", &self.text).map_err(TrialError::Input)?;
        let mut document = document.beside(&self.folder);
        for (key, value) in changes {
            document.set(key, value).map_err(input)?;
        }
        let scenario = document.check(self.registry).map_err(TrialError::Input)?;
        let ran = run(&scenario, self.options, self.observer).map_err(|trouble| match trouble {
            Trouble::Input(problems) => TrialError::Input(problems),
            Trouble::Failed(problem) => TrialError::Failed(problem),
        })?;
        let report = ran.report.filter(|_| !ran.interrupted).ok_or(TrialError::Stopped)?;
        Ok(report.summary.iter().map(|(name, measure)| (name.clone(), measure.clone())).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: &str = "study = \"pfs\"\nfiles = 3\nclients = 4\nfile_size = \"1MiB\"\nscheduler = \"sfq:2\"\ncache.direct = true\n\
                         [applications.a]\n[applications.b]\n";

    fn searched(text: &str, goal: &str) -> Result<Option<Searched>, Trouble> {
        let document = Document::parse(text)?;
        search(document, &Registry::builtin(), (&[goal.to_owned()], &[]), &Options::default(), &())
    }

    #[test]
    fn a_scenario_is_tuned_and_reported() {
        let searched = searched(SMALL, "latency_p99_s[a] < 1h").expect("it runs").expect("nobody stopped it");
        assert!(searched.found.met);
        assert_eq!((searched.report.study.as_str(), searched.report.tables.len()), ("pfs-tune", 1));
    }

    #[test]
    fn what_cannot_be_tuned_is_refused() {
        let refusal = |text: &str, goal: &str| searched(text, goal).expect_err("it is refused").to_string();
        let sweep = format!("{SMALL}[sweep]\nservers = [1, 2]");
        assert_eq!(
            refusal(&sweep, "makespan_s < 1h"),
            "the scenario has 2 points, but only one can be tuned"
        );
        assert_eq!(refusal(SMALL, "makespam_s < 1h"), "unknown measure `makespam_s`");
        let queue =
            "study = \"queue\"\nspan = \"1s\"\n[stations.a]\narrival_rate = \"1/s\"\nservice_time = \"1ms\"";
        assert!(!refusal(queue, "makespan_s < 1h").is_empty());
    }
}
