//! Studies and scenarios by name: the built-in ones, and those that a caller adds.
//!
//! There is no global list of studies; code that needs one is given a registry.

use towtank_operate::{balance, durability, eta, preview, whatif};
use towtank_scenario::{Problem, did_you_mean};
use towtank_studies::{backfill, capacity_sim, pfs, place, put, queue, rebuild};
use towtank_study::Study;

use crate::catalogue::{self, Builtin};

/// Studies and scenarios, by name. By default there are none.
#[derive(Clone, Default)]
pub struct Registry {
    studies: Vec<&'static dyn Study>,
    scenarios: Vec<Builtin>,
}

/// The studies that come with Towtank, in the order of `towtank list`.
#[must_use]
pub fn studies() -> &'static [&'static dyn Study] {
    &[
        &queue::Queue,
        &place::Place,
        &preview::Preview,
        &rebuild::Rebuild,
        &whatif::WhatifStudy,
        &eta::Eta,
        &durability::Durability,
        &balance::Balance,
        &backfill::Backfill,
        &pfs::Pfs,
        &put::Put,
        &capacity_sim::CapacitySim,
    ]
}

/// Two studies or two scenarios with one name, which would be ambiguous.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a {what} called `{name}` already exists; choose another name")]
pub struct NameTaken {
    /// `study` or `scenario`.
    pub what: &'static str,
    /// The name.
    pub name: String,
}

impl Registry {
    /// All built-in studies and scenarios.
    #[must_use]
    pub fn builtin() -> Registry {
        Registry { studies: studies().to_vec(), scenarios: catalogue::ALL.to_vec() }
    }

    /// Adds a study.
    ///
    /// # Errors
    /// When another study has its name.
    pub fn with(mut self, study: &'static dyn Study) -> Result<Registry, NameTaken> {
        if self.named(study.name()).is_some() {
            return Err(NameTaken { what: "study", name: study.name().to_owned() });
        }
        self.studies.push(study);
        Ok(self)
    }

    /// Adds a scenario, which can then be run by its name.
    ///
    /// # Errors
    /// When another scenario has its name.
    pub fn with_scenario(mut self, scenario: Builtin) -> Result<Registry, NameTaken> {
        if self.scenario(scenario.name()).is_some() {
            return Err(NameTaken { what: "scenario", name: scenario.name().to_owned() });
        }
        self.scenarios.push(scenario);
        Ok(self)
    }

    /// The studies, in the order of `towtank list`.
    #[must_use]
    pub fn studies(&self) -> &[&'static dyn Study] {
        &self.studies
    }

    /// The study with this name.
    #[must_use]
    pub fn named(&self, name: &str) -> Option<&'static dyn Study> {
        towtank_study::named(&self.studies, name)
    }

    /// The scenarios that need no file, in the order of `towtank list`.
    #[must_use]
    pub fn scenarios(&self) -> &[Builtin] {
        &self.scenarios
    }

    /// The scenario with this name.
    #[must_use]
    pub fn scenario(&self, name: &str) -> Option<&Builtin> {
        self.scenarios.iter().find(|scenario| scenario.name() == name)
    }

    /// The scenario with this name, or an error with a suggestion.
    ///
    /// # Errors
    /// When there is none; names the nearest name.
    pub fn find_scenario(&self, name: &str) -> Result<&Builtin, Problem> {
        self.scenario(name).ok_or_else(|| {
            if self.named(name).is_some() {
                let message = format!("`{name}` is a study, and `run` takes a scenario");
                let hint = format!(
                    "`towtank {name} -h` shows how to ask it; `towtank list {name}` lists scenarios of it"
                );
                return Problem::new(message).hint(hint);
            }
            let hint = did_you_mean(name, self.scenarios.iter().map(Builtin::name)).unwrap_or_else(|| {
                "`towtank list` shows the built-in ones; name a file of your own by its path".to_owned()
            });
            Problem::new(format!("there is no scenario called `{name}`, and no such file")).hint(hint)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_given_once() {
        let builtin = Registry::builtin();
        let first = builtin.studies()[0];
        let twice = builtin.clone().with(first).err().map(|error| error.to_string());
        let want = format!("a study called `{}` already exists; choose another name", first.name());
        assert_eq!(twice, Some(want));

        let mine = Builtin { path: "mine/two-counters.toml", text: "study = \"queue\"" };
        let more = builtin.with_scenario(mine).expect("no other is called so");
        assert_eq!(more.scenario("two-counters"), Some(&mine));
        let twice = more.with_scenario(Builtin { path: "two-counters.toml", text: "" }).err();
        assert_eq!(twice, Some(NameTaken { what: "scenario", name: "two-counters".to_owned() }));
    }
}
