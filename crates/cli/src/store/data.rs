//! Writes and reads objects of a cluster.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::Path;

use serde_json::json;
use towtank::Trouble;
use towtank_scenario::Problem;
use towtank_store::client::{Client, Object};
use towtank_store::content::DATA_MAX;
use towtank_store::names;
use towtank_store::walk::Walk;

use super::flags::{Damage, Form, Get, Ls, Names, Put, Stat};
use super::{client, home, print, trouble, unwritten};
use crate::exit::Exit;
use crate::screen;

/// The bytes of a listing that are printed at once.
const PRINTED_BYTES: usize = 64 << 10;

/// `put`.
pub fn put(flags: &Put) -> Result<Exit, Trouble> {
    named(&flags.name)?;
    let attributes = attributes(&flags.attribute)?;
    let data = read(&flags.file)?;
    if data.len() > DATA_MAX {
        let message = format!(
            "`{}` holds {} bytes, and an object at most {DATA_MAX}",
            flags.file.display(),
            data.len()
        );
        return Err(Trouble::from(
            Problem::new(message).hint("split it, and put each part under a name of its own"),
        ));
    }
    let mut client = client(&flags.place.dir, flags.patience.timeout)?;
    client.put(&flags.name, &attributes, &data).map_err(trouble)?;
    Ok(Exit::Done)
}

fn named(name: &str) -> Result<(), Trouble> {
    match names::fault_of(name) {
        Some(fault) => Err(Trouble::from(Problem::new(fault))),
        None => Ok(()),
    }
}

fn attributes(given: &[String]) -> Result<BTreeMap<String, String>, Trouble> {
    given
        .iter()
        .map(|pair| match pair.split_once('=') {
            Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
            _ => {
                Err(Trouble::from(Problem::new(format!("`{pair}` is no attribute")).hint("write KEY=VALUE")))
            }
        })
        .collect()
}

/// The bytes of a file, read to just above the greatest size of an object.
fn read(file: &Path) -> Result<Vec<u8>, Trouble> {
    let most = DATA_MAX as u64 + 1;
    let mut data = Vec::new();
    let read = if file.as_os_str() == "-" {
        std::io::stdin().lock().take(most).read_to_end(&mut data)
    } else {
        std::fs::File::open(file).and_then(|file| file.take(most).read_to_end(&mut data))
    };
    read.map_err(|error| Trouble::from(Problem::new(format!("`{}`: {error}", file.display()))))?;
    Ok(data)
}

fn found(client: &mut Client, name: &str) -> Result<Object, Trouble> {
    named(name)?;
    let object = client.get(name).map_err(trouble)?;
    object.ok_or_else(|| {
        let problem = Problem::new(format!("there is no object `{name}`"));
        Trouble::Failed(problem.hint("`towtank store ls` lists those that there are"))
    })
}

/// `get`.
pub fn get(flags: &Get) -> Result<Exit, Trouble> {
    let mut client = client(&flags.place.dir, flags.patience.timeout)?;
    let object = found(&mut client, &flags.name)?;
    match &flags.file {
        Some(file) if file.as_os_str() != "-" => {
            let part = file.with_extension("part");
            let written = std::fs::write(&part, &object.data).and_then(|()| std::fs::rename(&part, file));
            written.map_err(|error| Trouble::failed(format!("`{}`: {error}", file.display())))?;
            Ok(Exit::Done)
        }
        _ => {
            screen::print_bytes(&object.data).map_err(unwritten)?;
            Ok(Exit::Done)
        }
    }
}

/// `rm`. Missing objects are not an error, since they are absent afterwards either way.
pub fn remove(flags: &Names) -> Result<Exit, Trouble> {
    flags.names.iter().try_for_each(|name| named(name))?;
    let mut client = client(&flags.place.dir, flags.patience.timeout)?;
    for name in &flags.names {
        client.remove(name).map_err(trouble)?;
    }
    Ok(Exit::Done)
}

/// `damage`: flips a bit of an object behind the store's back.
pub(super) fn damage(flags: &Damage) -> Result<Exit, Trouble> {
    let home = home(&flags.place.dir)?;
    let settings = home.settings().map_err(|error| trouble(error.into()))?;
    let at = names::address(&flags.name, settings.groups);
    let is_damaged = towtank_store::torture::damage(&home, flags.osd, at).map_err(trouble)?;
    if is_damaged {
        return Ok(Exit::Done);
    }
    Err(Trouble::Failed(Problem::new(format!("osd.{} does not hold `{}`", flags.osd, flags.name))))
}

/// `ls`. Names are printed as they arrive: there may be more than fit in memory.
pub fn list(flags: &Ls) -> Result<Exit, Trouble> {
    let mut client = client(&flags.place.dir, flags.patience.timeout)?;
    let mut walk = Walk::new(&client, &flags.prefix, "");
    let (mut text, mut is_first) = (String::new(), true);
    while let Some(head) = walk.next(&mut client).map_err(trouble)? {
        match flags.format {
            Form::Text => text += &format!("{}\n", head.name),
            Form::Json => {
                let row = format!("{:#}", json!({ "name": head.name, "stored_bytes": head.size }));
                text += if is_first { "[\n  " } else { ",\n  " };
                text += &row.replace('\n', "\n  ");
            }
        }
        is_first = false;
        if text.len() >= PRINTED_BYTES {
            let is_read = screen::print_while_read(text.as_bytes()).map_err(unwritten)?;
            if !is_read {
                return Ok(Exit::Done);
            }
            text.clear();
        }
    }
    if flags.format == Form::Json {
        text += if is_first { "[]\n" } else { "\n]\n" };
    }
    print(&text)
}

/// `stat`.
pub fn stat(flags: &Stat) -> Result<Exit, Trouble> {
    let mut client = client(&flags.place.dir, flags.patience.timeout)?;
    let Object { head, version, .. } = found(&mut client, &flags.name)?;
    let at = names::address(&flags.name, client.settings().groups);
    let holders = client.holders(at.group);
    match flags.format {
        Form::Json => print(&format!(
            "{:#}\n",
            json!({
                "name": head.name,
                "bytes": head.length,
                "version": version.to_string(),
                "attributes": head.attributes,
                "group": at.group,
                "osds": holders,
            })
        )),
        Form::Text => {
            let osds: Vec<String> = holders.iter().map(|osd| format!("osd.{osd}")).collect();
            let mut text = format!(
                "{}\n  bytes    {}\n  version  {version}\n  group    {} on {}\n",
                head.name,
                head.length,
                at.group,
                osds.join(", ")
            );
            for (key, value) in &head.attributes {
                text += &format!("  {key} = {value}\n");
            }
            print(&text)
        }
    }
}
