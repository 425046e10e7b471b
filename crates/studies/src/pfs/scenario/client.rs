//! Properties of clients: their costs, which copy they read, and their data caches.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use towtank_pfs::{ClientCacheSpec, ClientSpec, Syncs};
use towtank_scenario::{Draft, Problems};
use towtank_units::{Bytes, Rate, SimSpan};

use super::filled::{filled, rate};
use super::{Filled, Form, Given, Parda};

/// Clients. Defaults are those of the preset.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, bound = "")]
#[schemars(default, rename = "Client", bound = "Self: Default")]
pub struct Client<F: Form = Given> {
    /// CPU time before each request.
    pub request_cost: F::Key<SimSpan>,
    /// CPU time for each job of a request.
    pub job_cost: F::Key<SimSpan>,
    /// Bytes of a request that are in flight at once.
    pub window: F::Key<Bytes>,
    /// Whether a client asks for a file's layout only once, or for each request.
    pub keeps_layouts: F::Key<bool>,
    /// Which of several copies is read: the `first`, or all in turn (`spread`).
    #[serde(default, skip_serializing_if = "F::omits_usual")]
    pub reads: Reads,
    /// Its data cache.
    #[serde(default = "F::no_cache", skip_serializing_if = "F::omits_part")]
    #[schemars(with = "ClientCache")]
    pub cache: F::Part<ClientCache<F>>,
    /// Whether its jobs report the service of other servers, so that `mclock` at servers shares all servers
    /// together (dmClock).
    #[serde(default, skip_serializing_if = "F::omits_usual")]
    pub feedback: bool,
    /// Limit on its outstanding jobs by their latency.
    #[serde(default = "F::no_parda", skip_serializing_if = "F::omits_part")]
    #[schemars(with = "Parda")]
    pub parda: F::Part<Parda<F>>,
}

/// A client's data cache, which exists if `size` is above zero.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, bound = "")]
#[schemars(default, rename = "ClientCache", bound = "Self: Default")]
pub struct ClientCache<F: Form = Given> {
    /// Its capacity. Left out: there is no cache, and each request goes to servers at once.
    pub size: F::Key<Bytes>,
    /// Maximum of data dirty or in flight to servers before writes wait. Left out: a quarter of `size`.
    pub dirty: F::Key<Bytes>,
    /// Dirty data above which write-back begins in the background. Left out: one `batch`.
    pub background: F::Key<Bytes>,
    /// Maximum size of one write-back, of one file. Left out: 4MiB, or `dirty` or `window` if less.
    pub batch: F::Key<Bytes>,
    /// Number of write-backs in flight at once. Left out: 8.
    #[schemars(range(min = 1, max = 1_024))]
    pub flushes: F::Key<u32>,
    /// Rate of copies to and from it. Left out: 4GB/s.
    pub copy: F::Key<Rate>,
    /// Whether it is emptied when the measured phase begins. Left out: no.
    pub cold: F::Key<bool>,
}

/// Which copy is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Reads {
    /// The first.
    #[default]
    First,
    /// All in turn, window by window.
    Spread,
}

/// When a write waits for servers, if its client has a cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Fsync {
    /// Only at the end of the phase.
    #[default]
    Phase,
    /// With a client's last request of each file.
    File,
    /// With each request.
    Request,
}

impl Fsync {
    /// The corresponding value of the model.
    pub(super) fn spec(self) -> Syncs {
        match self {
            Fsync::Phase => Syncs::Phase,
            Fsync::File => Syncs::File,
            Fsync::Request => Syncs::Request,
        }
    }
}

impl ClientCache {
    /// Whether clients have a cache.
    pub(super) fn is_on(&self) -> bool {
        self.size.is_some_and(|size| !size.is_zero())
    }

    fn filled(self, window: Bytes) -> Option<ClientCache<Filled>> {
        let size = self.size.filter(|size| !size.is_zero())?;
        let dirty = self.dirty.unwrap_or(Bytes::new((size.get() / 4).max(1)));
        let batch = self.batch.unwrap_or(Bytes::from_mib(4).min(dirty)).min(window);
        Some(ClientCache {
            size,
            dirty,
            background: self.background.unwrap_or(batch),
            batch,
            flushes: self.flushes.unwrap_or(8),
            copy: self.copy.unwrap_or(rate(4_000_000_000)),
            cold: self.cold.unwrap_or(false),
        })
    }
}

impl Client {
    pub(super) fn filled(self, preset: &Client<Filled>) -> Client<Filled> {
        let window = self.window.unwrap_or(preset.window);
        let (cache, parda) = (self.cache.filled(window), self.parda.filled());
        let (reads, feedback) = (self.reads, self.feedback);
        filled!(Client, self or preset: request_cost, job_cost, keeps_layouts;
            window, reads, cache, feedback, parda)
    }
}

impl Client<Filled> {
    pub(super) fn check(&self, draft: &Draft, problems: &mut Problems) {
        let Some(cache) = &self.cache else { return };
        for (key, bytes) in [("client.cache.dirty", cache.dirty), ("client.cache.batch", cache.batch)] {
            if bytes.is_zero() {
                problems.refuse(draft, key, format!("`{key}` is 0B"), "set it to at least 1B");
            }
        }
        if cache.dirty > cache.size {
            let message =
                format!("`client.cache.dirty` is {}, but the cache holds {}", cache.dirty, cache.size);
            problems.refuse(draft, "client.cache.dirty", message, "the default is a quarter of it");
        }
        if cache.background > cache.dirty {
            let message = format!(
                "`client.cache.background` is {}, above `client.cache.dirty`, {}",
                cache.background, cache.dirty
            );
            let hint = "set it to at most `dirty`, where writes wait";
            problems.refuse(draft, "client.cache.background", message, hint);
        }
    }

    /// The clients of the model, which write `copies` copies and have these windows.
    pub(super) fn spec(&self, copies: u32, parda: Option<towtank_pfs::Parda>) -> ClientSpec {
        ClientSpec {
            request: self.request_cost,
            job: self.job_cost,
            window: self.window.get(),
            layouts_are_kept: self.keeps_layouts,
            copies,
            reads: match self.reads {
                Reads::First => towtank_pfs::Reads::First,
                Reads::Spread => towtank_pfs::Reads::Spread,
            },
            parda,
            feedback: self.feedback,
            cache: self.cache.as_ref().map(|cache| ClientCacheSpec {
                bytes: cache.size.get(),
                dirty: cache.dirty.get(),
                background: cache.background.get(),
                batch: cache.batch.get(),
                flushes: cache.flushes.clamp(1, 1_024) as u16,
                copy: Some(cache.copy),
                cold: cache.cold,
            }),
        }
    }
}
