//! `store rebuild-monitor`: makes the directory of a monitor that is lost anew.

use towtank::Trouble;
use towtank_scenario::Problem;
use towtank_store::rebuilding::{Ask, Lost, Outcome, rebuild};

use super::devices::words_of;
use super::flags::RebuildMonitor;
use super::{home, trouble};
use crate::exit::Exit;
use crate::screen;

pub(super) fn run(flags: &RebuildMonitor) -> Result<Exit, Trouble> {
    let home = home(&flags.place.dir)?;
    let (without, dir) = (flags.without.iter().copied().collect(), flags.place.dir.display());
    let ask = Ask { without, accepts_loss: flags.yes_i_know, planted: None };
    match rebuild(&home, &ask).map_err(trouble)? {
        Outcome::Done { devices, newest, epoch, lost, aside } => {
            tell(&ask, &lost);
            if let Some(aside) = aside {
                screen::say(&format!("the old directory is `{}` now\n", aside.display()));
            }
            screen::say(&format!(
                "monitor/ is made from {}, which know map {newest}; its map is {epoch}\n\
                 `towtank store up --dir {dir}` starts the cluster\n",
                names(devices)
            ));
            Ok(Exit::Done)
        }
        Outcome::InOrder(epoch) => {
            let words = format!(
                "`{}` is in order: it has map {epoch}, and no device knows a later one; nothing is done",
                home.path("monitor").display()
            );
            let hint = format!("`towtank store up --dir {dir}` starts the cluster");
            Err(Trouble::from(Problem::new(words).hint(hint)))
        }
        Outcome::NoSuch(osd) => {
            let words = format!("--without {osd}: there is no osd.{osd}");
            Err(Trouble::from(Problem::new(words).hint("leave it out")))
        }
        Outcome::Loses(lost) => {
            let flags: Vec<String> = ask.without.iter().map(|osd| format!("--without {osd}")).collect();
            let hint = format!(
                "bring back the directories, or accept this with `towtank store rebuild-monitor {} --yes-i-know`",
                flags.join(" ")
            );
            Err(Trouble::from(Problem::new(words_of_all(&ask, &lost)).hint(hint)))
        }
    }
}

fn tell(ask: &Ask, lost: &Lost) {
    if !lost.loss.is_nothing() || lost.after.is_some() {
        screen::say(&format!("{}\n", words_of_all(ask, lost)));
    }
}

fn names(osds: impl IntoIterator<Item = u32>) -> String {
    let names: Vec<String> = osds.into_iter().map(|osd| format!("osd.{osd}")).collect();
    names.join(", ")
}

fn words_of_all(ask: &Ask, Lost { loss, after }: &Lost) -> String {
    let names = names(ask.without.iter().copied());
    let after = after.map(|epoch| {
        format!(
            "what {names} acknowledged without any other after map {epoch}, the newest that the others know"
        )
    });
    match after {
        Some(after) if loss.is_nothing() => format!("without {names} the cluster may lose {after}"),
        Some(after) => format!("{}; and {after}", words_of(&names, loss)),
        None => words_of(&names, loss),
    }
}
