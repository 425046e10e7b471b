//! A gateway of S3 in the world: a depot whose questions to the store are those of a client, and the one user
//! that it has, who asks for one thing at a time.
//!
//! A call of the depot returns when the store has answered all that it wants, so it has a thread of its own.
//! Either that thread runs or the world's, never both, so nothing depends on which is faster. The gateway
//! ends without a word between two questions to the store, and another one begins. What is not in it:
//! requests of a gateway that has ended and that the store carries out later, several requests at once, HTTP.

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use towtank_gateway::driven::{Act, Driven, Given, Shown, Store, Want};
use towtank_replication::Operation;
use towtank_store::content;
use towtank_store::frames::{Reply, Wanted};
use towtank_store::names::address;
use towtank_units::SimSpan;

use super::World;
use crate::planted::{Gateway as Rule, Planted};

/// The keys that the user has.
const KEYS: u64 = 6;

/// How often a gateway ends after an answer of the store: once in so many.
const ENDS: u64 = 60;

/// What the thread of a gateway says.
enum Word {
    Begun(Result<(), String>),
    Wants(Want),
    Tells(Result<Shown, String>),
}

/// The store as the gateway's thread sees it.
struct Line {
    groups: u32,
    words: Mutex<Sender<Word>>,
    given: Mutex<Receiver<Given>>,
}

impl Store for Line {
    fn groups(&self) -> u32 {
        self.groups
    }

    fn ask(&self, want: Want) -> Option<Given> {
        self.words.lock().ok()?.send(Word::Wants(want)).ok()?;
        self.given.lock().ok()?.recv().ok()
    }
}

/// A gateway that runs. Its thread ends when nobody answers it any more.
#[derive(Debug)]
struct Life {
    acts: Option<Sender<Act>>,
    given: Option<Sender<Given>>,
    words: Receiver<Word>,
    thread: Option<JoinHandle<()>>,
}

impl Life {
    fn begin(groups: u32, run: String) -> Life {
        let ((acts, asked), (given, answers), (said, words)) = (channel(), channel(), channel());
        let thread = std::thread::spawn(move || {
            let line = Line { groups, words: Mutex::new(said.clone()), given: Mutex::new(answers) };
            let driven = Driven::begin(Arc::new(line), &run);
            let word = Word::Begun(driven.as_ref().map(|_| ()).map_err(Clone::clone));
            let (Ok(()), Ok(driven)) = (said.send(word), driven) else { return };
            // Who does not listen any more does not act any more either.
            asked.into_iter().for_each(|act: Act| drop(said.send(Word::Tells(driven.act(&act)))));
        });
        Life { acts: Some(acts), given: Some(given), words, thread: Some(thread) }
    }
}

impl Drop for Life {
    fn drop(&mut self) {
        (self.acts, self.given) = (None, None);
        if let Some(thread) = self.thread.take() {
            // What it says when it panics is a fault of the run.
            drop(thread.join());
        }
    }
}

/// The gateway of a run, and what its user may find.
#[derive(Debug, Default)]
pub(super) struct Gateway {
    life: Option<Life>,
    lives: u64,
    act: Option<Act>,
    written: u8,
    /// What each key may hold.
    possible: BTreeMap<String, Vec<Option<Vec<u8>>>>,
}

/// What is written under a key, if the act writes.
fn written_by(act: &Act) -> Option<(&String, Option<Vec<u8>>)> {
    match act {
        Act::Put(key, data) => Some((key, Some(data.clone()))),
        Act::Upload(key, parts) => Some((key, Some(parts.concat()))),
        Act::Remove(key) => Some((key, None)),
        Act::Get(_) | Act::List => None,
    }
}

impl Gateway {
    /// It ended before the user got an answer.
    fn ends(&mut self) {
        self.life = None;
        if let Some((key, content)) = self.act.take().as_ref().and_then(written_by) {
            self.possible.entry(key.clone()).or_insert_with(|| vec![None]).push(content);
        }
    }

    /// What is wrong with what the user gets.
    fn fault(&mut self, shown: Shown) -> Option<String> {
        let act = self.act.take()?;
        if let Some((key, content)) = written_by(&act) {
            self.possible.insert(key.clone(), vec![content]);
            return None;
        }
        match (act, shown) {
            (Act::Get(key), Shown::Object(found)) => {
                let possible = self.possible.entry(key.clone()).or_insert_with(|| vec![None]);
                if !possible.contains(&found) {
                    return Some(format!(
                        "{key} is {found:?} for a user of S3, and can be one of {possible:?}"
                    ));
                }
                *possible = vec![found];
                None
            }
            (Act::List, Shown::Keys(keys)) => {
                let is_wrong = |(key, possible): &(&String, &Vec<Option<Vec<u8>>>)| {
                    possible.iter().all(|it| it.is_some() != keys.contains(key))
                };
                let wrong = self.possible.iter().find(is_wrong);
                wrong.map(|(key, possible)| {
                    format!("a listing has {keys:?}, and {key} is one of {possible:?}")
                })
            }
            (act, shown) => Some(format!("{act:?} is answered by {shown:?}")),
        }
    }
}

impl World {
    fn breaks(&self, rule: Rule) -> bool {
        self.plan.planted == Some(Planted::Gateway(rule))
    }

    /// The number of acts with which the user finds out what there is.
    pub(super) fn acts_at_the_end(&self) -> u64 {
        self.gateway.possible.len() as u64 + 1
    }

    /// The user asks for the next thing, or for a gateway.
    pub(super) fn use_gateway(&mut self, client: usize, reads: Option<usize>) {
        if self.gateway.life.is_none() {
            self.gateway.lives += 1;
            let run = format!("run{:06}", self.gateway.lives);
            self.tell(|| format!("a gateway begins, {run}"));
            self.gateway.life = Some(Life::begin(self.settings.groups, run));
            return self.hear_gateway(client);
        }
        let act = match reads {
            Some(at) => self.gateway.possible.keys().nth(at).map_or(Act::List, |key| Act::Get(key.clone())),
            None => self.draw_act(),
        };
        self.begin_act(client);
        self.tell(|| format!("the user of S3 asks: {act:?}"));
        self.gateway.act = Some(act.clone());
        let acts = self.gateway.life.as_ref().and_then(|life| life.acts.as_ref());
        if acts.is_some_and(|acts| acts.send(act).is_ok()) {
            self.hear_gateway(client);
        } else {
            self.wrong("the gateway has ended by itself".to_owned());
        }
    }

    fn draw_act(&mut self) -> Act {
        let key = format!("key-{}", self.below(KEYS));
        let data = |world: &mut World| {
            world.gateway.written = world.gateway.written.wrapping_add(1);
            let length = [16, 64, 65, 200][world.below(4) as usize];
            (0..length).map(|at: u8| at ^ world.gateway.written).collect::<Vec<u8>>()
        };
        match self.below(10) {
            0..3 => Act::Put(key, data(self)),
            3..5 => Act::Upload(key, (0..=self.below(3)).map(|_| data(self)).collect()),
            5 => Act::Remove(key),
            6 => Act::List,
            _ => Act::Get(key),
        }
    }

    /// Waits for what the gateway's thread says next.
    fn hear_gateway(&mut self, client: usize) {
        loop {
            let word = self.gateway.life.as_ref().and_then(|life| life.words.recv().ok());
            let shown = match word {
                Some(Word::Wants(want)) => match self.lie(&want) {
                    Some(given) => {
                        self.give_gateway(given);
                        continue;
                    }
                    None => return self.want(client, want),
                },
                Some(Word::Begun(Ok(()))) => return self.rest_user(client),
                Some(Word::Tells(Ok(shown))) => shown,
                Some(Word::Begun(Err(why)) | Word::Tells(Err(why))) => {
                    return self.wrong(format!("the gateway fails: {why}"));
                }
                None => return self.wrong("the gateway panics".to_owned()),
            };
            self.tell(|| format!("the user of S3 gets {shown:?}"));
            if let Some(why) = self.gateway.fault(shown) {
                return self.wrong(why);
            }
            self.outcome.operations += 1;
            self.outcome.acts += 1;
            return self.rest_user(client);
        }
    }

    /// What a store answers that breaks a rule, without doing anything.
    fn lie(&self, want: &Want) -> Option<Given> {
        let is_lie = match want {
            Want::Set(name, ..) if name.starts_with("s3/pieces/") => self.breaks(Rule::LosesPieces),
            Want::Set(name, ..) if name.starts_with("s3/objects/") => self.breaks(Rule::LosesObjects),
            Want::Remove(name) if name.starts_with("s3/objects/") => self.breaks(Rule::KeepsRemoved),
            _ => false,
        };
        is_lie.then_some(Given::Done)
    }

    fn give_gateway(&mut self, given: Given) {
        if let Some(to) = self.gateway.life.as_ref().and_then(|life| life.given.as_ref()) {
            // A thread that has ended is noticed by what it does not say.
            drop(to.send(given));
        }
    }

    /// The gateway wants something of the store.
    fn want(&mut self, client: usize, want: Want) {
        let groups = self.settings.groups;
        let of = |name: &str, operation| {
            let at = address(name, groups);
            (at.group, Wanted::Object { key: at.key, operation })
        };
        let (name, (group, what)) = match want {
            Want::Set(name, labels, data) => {
                let what = of(&name, Operation::Write(content::encode(&name, &labels, &data)));
                (name, what)
            }
            Want::Get(name) => (name.clone(), of(&name, Operation::Read)),
            Want::Remove(name) => (name.clone(), of(&name, Operation::Delete)),
            Want::Head(name) => {
                let at = address(&name, groups);
                (name, (at.group, Wanted::Head { key: at.key }))
            }
            Want::Names { group, prefix, from, most } => {
                (prefix.clone(), (group, Wanted::Names { prefix, from, most }))
            }
        };
        self.open(client, name, group, what);
    }

    /// The store has answered the gateway.
    pub(super) fn answer_gateway(&mut self, client: usize, name: &str, reply: Reply) {
        let given = match reply {
            Reply::Done(_) => Given::Done,
            Reply::Found(None) => Given::Object(None),
            Reply::Found(Some((_, bytes))) => match content::decode(&bytes) {
                Ok((head, data)) if head.name == name => {
                    Given::Object(Some((head.attributes, data.to_vec())))
                }
                _ => return self.wrong(format!("the gateway reads bytes that nobody wrote to {name}")),
            },
            Reply::Head(head) => Given::Head(head.map(|head| head.attributes)),
            Reply::Names { mut heads, is_last } => {
                if self.breaks(Rule::ListsTooFew) && self.gateway.act == Some(Act::List) {
                    heads.pop();
                }
                Given::Names(heads, is_last)
            }
            other => return self.wrong(format!("the gateway is answered by {other:?}")),
        };
        if !self.is_calm && self.below(ENDS) == 0 {
            self.tell(|| "the gateway ends".to_owned());
            self.gateway.ends();
            return self.rest_user(client);
        }
        self.give_gateway(given);
        self.hear_gateway(client);
    }

    fn rest_user(&mut self, client: usize) {
        let pause = [1_000, 20_000, 200_000][self.below(3) as usize];
        let pause = if self.is_calm { SimSpan::from_ms(1) } else { self.around(pause) };
        self.think_after(client, pause);
    }
}
