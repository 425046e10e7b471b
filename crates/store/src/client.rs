//! Reads and writes of objects through the primary of each object's group; a request is repeated unchanged
//! until it is answered.

pub mod asking;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use towtank_replication::{Key, Operation, RequestId, Version};
use towtank_units::SimSpan;

use crate::StoreError;
use crate::clock::{Clock, now};
use crate::content::{self, DATA_MAX, Encoded, Head};
use crate::engine::ObjectHead;
use crate::frames::{Answer, Ask, FromMonitor, Hello, Inventory, Reply, Standing, ToMonitor, Wanted};
use crate::map::{ClusterMap, Places};
use crate::names::{address, fault_of};
use crate::osd::Line;
use crate::settings::{Home, Settings};
use crate::ways;
use crate::wire::{self, ClusterKey, WireError};
use asking::Asking;

/// How long to wait before a monitor that has just been started is tried again.
const RETRY: Duration = Duration::from_nanos(asking::RETRY.as_ns());

/// How long one daemon may take before the client looks for a newer map.
const ANSWER_TIME: Duration = Duration::from_secs(5);

/// How long a monitor may take to start listening.
const START_TIME: Duration = Duration::from_secs(10);

/// An object that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Object {
    /// Its name, its attributes and its length.
    pub head: Head,
    /// Its version.
    pub version: Version,
    /// Its data.
    pub data: Vec<u8>,
}

/// The result of comparing all replicas.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Compared {
    /// The number of distinct objects.
    pub objects: u64,
    /// The number of replicas of groups that were read.
    pub replicas: u64,
    /// The number of copies whose bytes are not those that were written.
    pub damaged: u64,
    /// Descriptions of the faults.
    pub faults: Vec<String>,
}

/// A client of a cluster.
#[derive(Debug)]
pub struct Client {
    home: Home,
    settings: Settings,
    key: ClusterKey,
    map: ClusterMap,
    places: Places,
    lines: BTreeMap<u32, (u64, wire::Sender, wire::Receiver)>,
    id: u64,
    asked: u64,
    patience: Duration,
    answer_time: Duration,
    /// If present, the connection is closed this long after the next request, so that its answer is lost.
    loses_answer: Option<Duration>,
}

impl Client {
    /// Connects to a cluster. Later requests fail after `patience` without an answer.
    ///
    /// # Errors
    /// When there is no cluster, or its monitor does not answer.
    pub fn open(home: &Home, patience: Duration) -> Result<Client, StoreError> {
        let (settings, key) = (home.settings()?, home.key()?);
        let mut id = [0; 8];
        getrandom::fill(&mut id).map_err(|error| StoreError::Refused(error.to_string()))?;
        let map = newest(home, &key, 0)?;
        let map = map.ok_or_else(|| StoreError::Refused("the monitor has no map".to_owned()))?;
        Ok(Client {
            places: Places::new(&settings, &map),
            home: home.clone(),
            settings,
            key,
            map,
            lines: BTreeMap::new(),
            id: u64::from_le_bytes(id),
            asked: 0,
            patience,
            answer_time: ANSWER_TIME,
            loses_answer: None,
        })
    }

    /// Like [`Client::open`], for a cluster whose monitor has just been started: waits until it listens.
    ///
    /// # Errors
    /// When there is no cluster, or its monitor does not answer in time.
    pub fn reach(home: &Home, patience: Duration) -> Result<Client, StoreError> {
        let until = now() + START_TIME;
        loop {
            match Client::open(home, patience) {
                Err(_) if now() < until => std::thread::sleep(RETRY),
                opened => return opened,
            }
        }
    }

    /// Sets how long one daemon may take to answer before the client looks for a newer map; the default is 5
    /// s.
    pub(crate) fn answers_within(&mut self, span: Duration) {
        self.answer_time = span;
    }

    /// Closes the connection this long after the next request was sent, as if the answer were lost on the
    /// way. The request is then repeated.
    pub(crate) fn lose_next_answer(&mut self, after: Duration) {
        self.loses_answer = Some(after);
    }

    /// Asks the monitor for the newest map now, without waiting for a daemon to time out.
    pub(crate) fn learn_map(&mut self) {
        self.renew_map(now() + ANSWER_TIME);
    }

    /// The state of the cluster.
    ///
    /// # Errors
    /// When the monitor does not answer.
    pub fn standing(&self) -> Result<Standing, StoreError> {
        match Line::open(&self.home, &self.key)?.ask(&ToMonitor::Status)? {
            FromMonitor::Status(standing) => Ok(standing),
            other => Err(StoreError::Refused(format!("unexpected reply of the monitor: {other:?}"))),
        }
    }

    /// Requests a change from the monitor. One that has just started is given time to hear its daemons.
    ///
    /// # Errors
    /// When the monitor does not answer, or refuses.
    pub fn change(&self, ask: &ToMonitor) -> Result<FromMonitor, StoreError> {
        let until = now() + Duration::from_millis(self.settings.grace_ms) + START_TIME;
        loop {
            match Line::open(&self.home, &self.key)?.ask(ask)? {
                FromMonitor::Later(_) if now() < until => std::thread::sleep(RETRY),
                FromMonitor::Refused(why) | FromMonitor::Later(why) => return Err(StoreError::Refused(why)),
                answer => return Ok(answer),
            }
        }
    }

    /// Writes an object, whether or not one with this name exists.
    ///
    /// # Errors
    /// When the name or the data is not valid for an object, or the group does not answer in time.
    pub fn put(
        &mut self,
        name: &str,
        attributes: &BTreeMap<String, String>,
        data: &[u8],
    ) -> Result<Version, StoreError> {
        if let Some(fault) = fault_of(name) {
            return Err(StoreError::Refused(fault));
        }
        if data.len() > DATA_MAX {
            let (length, most) = (data.len(), DATA_MAX >> 20);
            return Err(StoreError::Refused(format!(
                "{length} bytes exceed an object's limit of {most} MiB"
            )));
        }
        match self.operate(name, Operation::Write(content::encode(name, attributes, data)))? {
            Reply::Done(version) => Ok(version),
            other => Err(unexpected(&other)),
        }
    }

    /// Removes an object, if it exists.
    ///
    /// # Errors
    /// When the group does not answer in time.
    pub fn remove(&mut self, name: &str) -> Result<Version, StoreError> {
        match self.operate(name, Operation::Delete)? {
            Reply::Done(version) => Ok(version),
            other => Err(unexpected(&other)),
        }
    }

    /// Reads an object; none if it does not exist.
    ///
    /// # Errors
    /// When its bytes are not those that were written, or the group does not answer in time.
    pub fn get(&mut self, name: &str) -> Result<Option<Object>, StoreError> {
        match self.operate(name, Operation::Read)? {
            Reply::Found(None) => Ok(None),
            Reply::Found(Some((version, bytes))) => {
                let read = content::decode(&bytes).map(|(head, data)| (head, data.to_vec()));
                let (head, data) = read.map_err(|why| StoreError::Content { name: name.to_owned(), why })?;
                Ok(Some(Object { head, version, data }))
            }
            other => Err(unexpected(&other)),
        }
    }

    /// The head of an object, without reading its data; none if the object does not exist. It is the
    /// primary's state, which may include a write that is not answered yet.
    ///
    /// # Errors
    /// When the group does not answer in time.
    pub fn head(&mut self, name: &str) -> Result<Option<ObjectHead>, StoreError> {
        let at = address(name, self.settings.groups);
        match self.ask(at.group, &Wanted::Head { key: at.key })? {
            Reply::Head(head) => Ok(head),
            other => Err(unexpected(&other)),
        }
    }

    /// Heads of at most `most` objects of one group, in the order of their names, from `from` on; and whether
    /// no name follows. There may be fewer heads, if they are large.
    ///
    /// # Errors
    /// When the group does not answer in time.
    pub(crate) fn heads(
        &mut self,
        group: u32,
        prefix: &str,
        from: &str,
        most: u32,
    ) -> Result<(Vec<ObjectHead>, bool), StoreError> {
        let what = Wanted::Names { prefix: prefix.to_owned(), from: from.to_owned(), most };
        match self.ask(group, &what)? {
            Reply::Names { heads, is_last } => Ok((heads, is_last)),
            other => Err(unexpected(&other)),
        }
    }

    /// The objects that a daemon holds of a group. With `repairs`, damaged ones are repaired from other
    /// replicas.
    ///
    /// # Errors
    /// When the daemon does not answer.
    pub(crate) fn inventory(&mut self, osd: u32, group: u32, repairs: bool) -> Result<Inventory, StoreError> {
        let ask = Ask { request: self.request(), group, what: Wanted::Inventory { repairs } };
        match self.exchange(osd, &ask, Duration::from_secs(60))? {
            Reply::Inventory(inventory) => Ok(inventory),
            other => Err(unexpected(&other)),
        }
    }

    /// Reads all replicas of all groups, and compares them. With `repairs`, damaged objects are repaired.
    ///
    /// # Errors
    /// When a daemon does not answer.
    pub fn compare_replicas(&mut self, repairs: bool) -> Result<Compared, StoreError> {
        let mut found = Compared::default();
        self.renew_map(now() + ANSWER_TIME);
        for group in 0..self.settings.groups {
            let mut first: Option<(u32, Inventory)> = None;
            for osd in self.holders(group) {
                let held = self.inventory(osd, group, repairs)?;
                found.replicas += 1;
                found.damaged += held.damaged.len() as u64;
                let damaged = held
                    .damaged
                    .iter()
                    .map(|(_, name)| format!("osd.{osd}, group {group}: `{name}` is damaged"));
                found.faults.extend(damaged);
                if !held.sums_up {
                    found
                        .faults
                        .push(format!("osd.{osd}, group {group}: tree and sketch do not match its objects"));
                }
                if !held.is_complete {
                    found.faults.push(format!("osd.{osd}, group {group}: the replica is not complete"));
                }
                match &first {
                    Some((other, expected)) if expected.objects != held.objects => {
                        let message =
                            format!("group {group}: osd.{other} and osd.{osd} hold different objects");
                        found.faults.push(message);
                    }
                    Some(_) => {}
                    None => {
                        found.objects += held.objects.len() as u64;
                        first = Some((osd, held));
                    }
                }
            }
            if first.is_none() {
                found.faults.push(format!("group {group}: all its daemons are down"));
            }
        }
        Ok(found)
    }

    /// The daemons that should hold a group, according to the newest map that is known.
    #[must_use]
    pub fn holders(&self, group: u32) -> Vec<u32> {
        self.places.up(group)
    }

    /// The settings of the cluster.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    fn request(&mut self) -> RequestId {
        self.asked += 1;
        RequestId { client: self.id, number: self.asked }
    }

    fn operate(&mut self, name: &str, operation: Operation<Encoded>) -> Result<Reply, StoreError> {
        let at = address(name, self.settings.groups);
        self.ask_object(at.group, at.key, operation)
    }

    fn ask_object(
        &mut self,
        group: u32,
        key: Key,
        operation: Operation<Encoded>,
    ) -> Result<Reply, StoreError> {
        self.ask(group, &Wanted::Object { key, operation })
    }

    /// Asks the primary of a group until it answers. The request id stays the same, so that nothing is
    /// executed twice.
    fn ask(&mut self, group: u32, what: &Wanted) -> Result<Reply, StoreError> {
        let ask = Ask { request: self.request(), group, what: what.clone() };
        let (clock, until) = (Clock::start(), now() + self.patience);
        let mut asking = Asking::new(clock.sim(), span(self.patience), span(self.answer_time));
        loop {
            let primary = self.places.map_of(&self.map, group).acting.first().copied();
            if let Some(primary) = primary {
                match self.exchange(primary.0, &ask, duration(asking.wait(clock.sim()))) {
                    Ok(Reply::Retry(_)) => {}
                    Ok(Reply::Refused(why)) => return Err(StoreError::Refused(why)),
                    Ok(reply) => return Ok(reply),
                    // The daemon may be gone: then the next map tells.
                    Err(error @ (StoreError::Wire(_) | StoreError::Io(_))) => {
                        self.lines.remove(&primary.0);
                        if is_timeout(&error) {
                            asking.timed_out();
                        }
                    }
                    Err(error) => return Err(error),
                }
            }
            let Some(rest) = asking.rest(clock.sim()) else {
                let what = format!("group {group} did not answer{}", self.reason_of_silence(group));
                return Err(StoreError::TimedOut { what, seconds: self.patience.as_secs() });
            };
            std::thread::sleep(duration(rest));
            self.renew_map(until);
        }
    }

    /// Why a group may not answer, as far as the monitor knows.
    fn reason_of_silence(&self, group: u32) -> String {
        let standing = self.standing().ok();
        let reports = standing.iter().flat_map(|standing| standing.reports.values());
        let mut unfound =
            reports.filter_map(|report| report.led.get(&group)).filter(|report| report.unfound > 0);
        unfound.next().map_or(String::new(), |report| {
            let awaited = report.awaited.iter().copied().collect();
            format!(" ({})", crate::health::words_of_unfound(report.unfound, &awaited))
        })
    }

    fn renew_map(&mut self, until: Instant) {
        // While the monitor is away, the known map may still be right.
        if now() < until
            && let Ok(Some(map)) = newest(&self.home, &self.key, self.map.epoch)
        {
            self.places = Places::new(&self.settings, &map);
            self.map = map;
        }
    }

    fn exchange(&mut self, osd: u32, ask: &Ask, wait: Duration) -> Result<Reply, StoreError> {
        let loses_answer = self.loses_answer.take();
        let line = self.line(osd)?;
        line.2.wait_at_most(Some(wait))?;
        line.1.send(ask)?;
        if let Some(after) = loses_answer {
            std::thread::sleep(after);
            return Err(std::io::Error::from(std::io::ErrorKind::ConnectionAborted).into());
        }
        loop {
            let answer: Option<Answer> = line.2.receive()?;
            let Some(answer) = answer else {
                return Err(std::io::Error::from(std::io::ErrorKind::ConnectionReset).into());
            };
            // Otherwise it answers an earlier request that was given up.
            if answer.request == ask.request {
                return Ok(answer.reply);
            }
        }
    }

    fn line(&mut self, osd: u32) -> Result<&mut (u64, wire::Sender, wire::Receiver), StoreError> {
        let state = self.map.osds.get(&osd).filter(|state| state.is_up);
        let Some(state) = state else {
            return Err(
                std::io::Error::new(std::io::ErrorKind::NotConnected, format!("osd.{osd} is down")).into()
            );
        };
        if self.lines.get(&osd).is_some_and(|line| line.0 != state.instance) {
            self.lines.remove(&osd);
        }
        if !self.lines.contains_key(&osd) {
            let stream = ways::open(&state.address, ANSWER_TIME)?;
            let (mut sender, receiver) = wire::connect(stream, &self.key)?;
            sender.send(&Hello::Client)?;
            self.lines.insert(osd, (state.instance, sender, receiver));
        }
        Ok(self.lines.get_mut(&osd).expect("there is one now"))
    }
}

fn span(duration: Duration) -> SimSpan {
    SimSpan::from_ns(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX))
}

fn duration(span: SimSpan) -> Duration {
    Duration::from_nanos(span.as_ns())
}

fn newest(home: &Home, key: &ClusterKey, after: u32) -> Result<Option<ClusterMap>, StoreError> {
    match Line::open(home, key)?.ask(&ToMonitor::Maps { after, digest: None, wait_ms: 0 })? {
        FromMonitor::Maps(maps) => Ok(maps.into_iter().next_back()),
        other => Err(StoreError::Refused(format!("unexpected reply of the monitor: {other:?}"))),
    }
}

fn is_timeout(error: &StoreError) -> bool {
    use std::io::ErrorKind::{TimedOut, WouldBlock};
    match error {
        StoreError::Io(error) | StoreError::Wire(WireError::Io(error)) => {
            matches!(error.kind(), TimedOut | WouldBlock)
        }
        _ => false,
    }
}

fn unexpected(reply: &Reply) -> StoreError {
    StoreError::Refused(format!("unexpected reply of a daemon: {reply:?}"))
}
