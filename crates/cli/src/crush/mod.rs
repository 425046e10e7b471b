//! `towtank crush`: a replacement for Ceph's `crushtool` 16.2.15. Parses, calls `towtank_placement::crush`,
//! reads and writes files.
//!
//! Its output on success equals crushtool's byte for byte, on stdout; for crushtool's remarks and errors on
//! stderr the words are ours. The stages are also crushtool's: input, tunables, changes, display and test,
//! output.

mod change;
mod display;
mod files;
mod flags;
mod out;

use towtank::Trouble;
use towtank_placement::crush::Map;
use towtank_placement::crush::build::{Layer, build};
use towtank_placement::crush::{Alg, binary, text};
use towtank_scenario::Problem;

use crate::exit::Exit;
use crate::screen;
use out::Out;

use files::read_binary;
pub(crate) use files::read_either;
pub use files::{name as name_of, put, read as read_bytes};
pub use flags::Flags;

/// The name of crushtool in its messages.
const NAME: &str = "crushtool";

/// Runs the stages that the flags ask for.
pub fn run(flags: &Flags) -> Result<Exit, Trouble> {
    flags.check()?;
    let mut out = Out::new();
    match stages(flags, &mut out) {
        Ok(exit) => out.finish(exit),
        // The reader has closed the pipe: crushtool would have ended here, so later output is omitted.
        Err(_) if out.is_closed() => Ok(Exit::Done),
        Err(trouble) => {
            out.finish(Exit::Failed)?;
            Err(trouble)
        }
    }
}

fn stages(flags: &Flags, out: &mut Out) -> Result<Exit, Trouble> {
    change::announce(flags, out)?;
    let mut map = input(flags)?;
    let changed = change::apply(flags, &mut map, out)?;
    let exit = display::show(flags, &map, out)?;
    if exit != Exit::Done {
        return Ok(exit);
    }
    if changed || flags.compile.is_some() || flags.build {
        map.finalize();
        match &flags.outfn {
            Some(path) => files::put(path, &binary::write(&map))?,
            None => out.say(&format!(
                "{NAME} successfully built or modified map.  Use '-o <file>' to write it out.\n"
            ))?,
        }
    }
    Ok(Exit::Done)
}

/// The input map: compiled, built or read.
fn input(flags: &Flags) -> Result<Map, Trouble> {
    if let Some(path) = &flags.compile {
        let source = files::read_text(path)?;
        return text::compile(source.text()).map_err(|error| files::text_problem(&source, &error).into());
    }
    if flags.build {
        let layers = flags.layers.chunks(3).map(layer).collect::<Result<Vec<Layer>, Problem>>()?;
        let built = build(flags.num_osds.unwrap_or(0), &layers).map_err(Trouble::input)?;
        if built.roots > 1 {
            let (roots, root) = (built.roots, &built.root);
            screen::say(&format!(
                "note: the map has {roots} roots, and its rule uses `{root}` alone; add a layer such as `root straw2 0`\n"
            ));
        }
        return Ok(built.map);
    }
    let Some(path) = flags.decompile.as_ref().or(flags.infn.as_ref()) else {
        return Err(Problem::new("no map is given")
            .hint("add -i FILE, or make a map with -c or --build")
            .into());
    };
    read_binary(path).map_err(Trouble::from)
}

fn layer(words: &[String]) -> Result<Layer, Problem> {
    let [name, alg, size] = words else {
        return Err(Problem::new(format!(
            "a layer is NAME ALGORITHM SIZE, but `{}` is less",
            words.join(" ")
        ))
        .hint("for example `host straw2 4`; a size of 0 takes everything into one bucket"));
    };
    let known = Alg::named(alg).filter(|alg| *alg != Alg::Vring).ok_or_else(|| {
        Problem::new(format!("there is no bucket algorithm `{alg}`"))
            .hint("use uniform, list, tree, straw or straw2")
    })?;
    let size = size.parse().map_err(|_| {
        Problem::new(format!("`{size}` is no size of a bucket"))
            .hint("a size is a whole number; 0 takes everything into one bucket")
    })?;
    Ok(Layer { name: name.clone(), alg: known, size })
}
