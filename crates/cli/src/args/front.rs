//! The first page of help: all commands, in groups by what they are for.
//!
//! `clap` lists subcommands in one column without groups, so the page is a template with the list in it.

use towtank_report::text::wrap;

use crate::screen;

/// The most columns of the page; a narrower terminal has fewer.
const WIDTH_MAX: usize = 80;

/// Commands that are for one thing.
struct Group {
    title: &'static str,
    commands: &'static [&'static str],
}

/// The group of studies that no other group names: those that a caller adds.
const STUDIES: &str = "About systems that a scenario describes";

/// All commands, in the order of the page. A test holds that each is named once.
const GROUPS: &[Group] = &[
    Group {
        title: "About a cluster that runs, from its exports or measurements",
        commands: &[
            "whatif",
            "eta",
            "durability",
            "preview",
            "balance",
            "capacity",
            "learn",
            "record",
            "crush",
        ],
    },
    Group {
        title: STUDIES,
        commands: &["rebuild", "backfill", "place", "put", "pfs", "capacity-sim", "queue"],
    },
    Group {
        title: "Scenarios and results",
        commands: &["list", "show", "schema", "run", "compare", "merge", "reproduce"],
    },
    Group { title: "The store", commands: &["store"] },
    Group { title: "The tool itself", commands: &["bench", "completions", "man"] },
];

/// The command with its page.
pub(super) fn with_page(command: clap::Command) -> clap::Command {
    let page = page(&command, screen::stdout().width.min(WIDTH_MAX));
    command.help_template(format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{page}Options:\n{{options}}{{after-help}}"
    ))
}

/// The groups with their commands.
fn page(command: &clap::Command, width: usize) -> String {
    let all: Vec<&clap::Command> = command.get_subcommands().collect();
    let names = all.iter().map(|one| one.get_name().len()).max().unwrap_or(0);
    let mut page = String::new();
    for group in GROUPS {
        let named = group.commands.iter().filter_map(|name| all.iter().find(|one| one.get_name() == *name));
        let others = all.iter().filter(|one| group.title == STUDIES && !is_named(one.get_name()));
        page.push_str(&format!("{}:\n", group.title));
        for one in named.chain(others) {
            let about = one.get_about().map(ToString::to_string).unwrap_or_default();
            let lines = wrap(&about, width.saturating_sub(names + 4));
            let first = format!("  {:names$}  {}\n", one.get_name(), lines[0]);
            page.push_str(&first);
            lines[1..].iter().for_each(|line| page.push_str(&format!("  {:names$}  {line}\n", "")));
        }
        page.push('\n');
    }
    page
}

fn is_named(command: &str) -> bool {
    GROUPS.iter().any(|group| group.commands.contains(&command))
}

#[cfg(test)]
mod tests {
    use clap::{Command, CommandFactory as _};
    use towtank::Registry;

    use super::*;
    use crate::args::{Help, Towtank, command};

    /// Commands that the groups do not name once, and names in groups that are no command.
    fn misplaced(command: &Command) -> Vec<String> {
        let names: Vec<&str> = GROUPS.iter().flat_map(|group| group.commands).copied().collect();
        let count = |name: &str| names.iter().filter(|other| **other == name).count();
        let commands: Vec<&str> = command.get_subcommands().map(Command::get_name).collect();
        let unnamed = commands.iter().filter(|name| count(name) != 1);
        let unknown = names.iter().filter(|name| !commands.contains(*name));
        unnamed.chain(unknown).map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn each_command_is_in_one_group() {
        let whole = command(&Registry::builtin(), Help::Full);
        assert_eq!(misplaced(&whole), [""; 0]);
        // Planted: a command in no group, and a command that is gone.
        let more = misplaced(&whole.clone().subcommand(Command::new("brew")));
        assert_eq!(more, ["brew"]);
        assert!(misplaced(&Towtank::command()).contains(&"queue".to_owned()));
    }

    #[test]
    fn a_page_is_as_wide_as_the_terminal_and_has_every_command() {
        let whole = command(&Registry::builtin(), Help::Full);
        let too_wide = |page: &str, width: usize| page.lines().any(|line| line.chars().count() > width);
        for width in [60, 80] {
            let page = page(&whole, width);
            assert!(!too_wide(&page, width), "{page}");
            for one in whole.get_subcommands() {
                assert!(page.contains(&format!("\n  {} ", one.get_name())), "{page}");
            }
        }
        // Planted: what is laid out for more columns is too wide.
        assert!(too_wide(&page(&whole, 100), 80));
    }

    /// A study that a caller adds has its place, too.
    #[test]
    fn a_command_that_no_group_names_is_among_the_studies() {
        let whole = command(&Registry::builtin(), Help::Full).subcommand(Command::new("brew"));
        let page = page(&whole, 80);
        let (studies, rest) = page.split_once("Scenarios and results:").expect("it has both");
        assert!(studies.contains("\n  brew ") && !rest.contains("brew"), "{page}");
    }
}
