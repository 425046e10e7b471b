//! Completion scripts: names of scenarios and studies, in a real bash.

use std::process::Command;

use crate::tool::Folder;

/// What bash offers for command lines of which the last word is to be completed.
fn offered(script: &str, lines: &[&str]) -> Vec<Vec<String>> {
    let folder = Folder::new("completions");
    folder.write("towtank.bash", script);
    folder.write(
        "ask.sh",
        "source ./towtank.bash\n\
         for line in \"$@\"; do\n\
         read -ra COMP_WORDS <<< \"$line\"\n\
         [[ $line == *' ' ]] && COMP_WORDS+=('')\n\
         COMP_CWORD=$((${#COMP_WORDS[@]} - 1))\n\
         COMPREPLY=()\n\
         _towtank towtank \"${COMP_WORDS[COMP_CWORD]}\" \"${COMP_WORDS[COMP_CWORD - 1]}\"\n\
         echo \"${COMPREPLY[*]}\"\n\
         done\n",
    );
    let output = Command::new("bash").arg("ask.sh").args(lines).current_dir(folder.path()).output();
    let output = output.expect("there is a bash");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("names are text");
    text.lines().map(|line| line.split_whitespace().map(str::to_owned).collect()).collect()
}

fn script(shell: &str) -> String {
    Folder::new("script").run(&["completions", shell]).data()
}

const LINES: [&str; 9] = [
    "towtank run queue-n",
    "towtank show put-table2-1",
    "towtank pfs tune pfs-in",
    "towtank schema whatif",
    "towtank list bala",
    "towtank reproduce put-figure8",
    "towtank man completi",
    "towtank run ./my",
    "towtank run ",
];

#[test]
fn bash_knows_the_names_of_scenarios_studies_and_commands() {
    let offers = offered(&script("bash"), &LINES);
    let want: [&[&str]; 8] = [
        &["queue-network"],
        &["put-table2-128k", "put-table2-16k", "put-table2-1m"],
        &["pfs-interactive"],
        &["whatif"],
        &["balance"],
        &["put-figure8"],
        &["completions"],
        // Then bash completes files.
        &[],
    ];
    assert_eq!(offers[..8], want);
    for scenario in towtank::Registry::builtin().scenarios() {
        assert!(offers[8].iter().any(|offer| offer == scenario.name()), "{}", scenario.name());
    }
    // A former fault: what `reproduce` takes was listed a second time here, without `capacity`.
    let reproduce = &offered(&script("bash"), &["towtank reproduce "])[0];
    let wanted: Vec<&str> = towtank::reproducible(&towtank::Registry::builtin()).collect();
    assert!(wanted.contains(&"capacity") && wanted.contains(&"capacity-ceph"));
    let missing =
        |offers: &[String]| wanted.iter().filter(|name| !offers.iter().any(|offer| offer == *name)).count();
    assert_eq!(missing(reproduce), 0, "{reproduce:?}");
    let without: Vec<String> = reproduce.iter().filter(|offer| *offer != "capacity").cloned().collect();
    assert_eq!(missing(&without), 1);
    // Planted: a script that does not know a name.
    let without = offered(&script("bash").replace("queue-network", "tea"), &LINES[..1]);
    assert_eq!(without, [[""; 0]]);
}

#[test]
fn zsh_completes_files_beside_scenarios() {
    let script = script("zsh");
    assert_eq!(script.matches(":_towtank_scenario_or_file'").count(), 2, "`run` and `pfs tune`");
    assert_eq!(script.matches("\n_towtank_scenario_or_file() {").count(), 1);
    assert!(script.contains("'scenarios:scenario:(") && script.contains("'files:file:_files'"));
    assert!(script.starts_with("#compdef towtank"));
}

#[test]
fn fish_completes_arguments() {
    let script = script("fish");
    let line = |start: &str| script.lines().find(|line| line.starts_with(start)).unwrap_or_default();
    let run = line("complete -c towtank -n \"__fish_seen_subcommand_from run\" -a");
    assert!(run.contains(" queue-mm1 "), "{run}");
    let tune =
        "complete -c towtank -n \"__fish_seen_subcommand_from pfs; and __fish_seen_subcommand_from tune\" -a";
    assert!(line(tune).contains(" pfs-interactive "));
    let schema = line("complete -c towtank -n \"__fish_seen_subcommand_from schema\" -f -a");
    assert!(schema.contains("queue") && !schema.contains("queue-mm1"), "{schema}");
}
