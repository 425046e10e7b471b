//! The location of schedulers, and the windows with which clients limit their jobs by the observed latency.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use towtank_iosched::{Kind, PardaSpec};
use towtank_pfs::Stands;
use towtank_scenario::{Draft, Problems};
use towtank_units::{Percent, SimSpan};

use super::{Application, Filled, Form, Given, Settled};

/// Location of the schedulers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SchedulerAt {
    /// One in front of each server.
    #[default]
    Server,
    /// One at each client, which holds back its own jobs; rates and limits then apply to each client.
    Client,
    /// In front of all servers, or of some (`proxies`).
    Proxy,
}

/// PARDA: a client's window of jobs, which follows their latency. It is on if `threshold` is set.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, bound = "")]
#[schemars(default, rename = "Parda", bound = "Self: Default")]
pub struct Parda<F: Form = Given> {
    /// The latency of a job above which windows shrink. Left out: there are no windows.
    pub threshold: F::Key<SimSpan>,
    /// Share of the distance that a window moves in each step. Left out: 20%.
    pub gain: F::Key<Percent>,
    /// Weight of the newest mean latency in the smoothed one. Left out: 30%.
    pub smoothing: F::Key<Percent>,
    /// Maximum number of outstanding jobs of a client. Left out: 64.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub window: F::Key<u32>,
    /// Interval between the steps of a window. Left out: ten thresholds.
    pub interval: F::Key<SimSpan>,
}

impl SchedulerAt {
    /// Whether it is the default.
    pub(super) fn is_server(&self) -> bool {
        *self == SchedulerAt::Server
    }
}

impl Parda {
    pub(super) fn filled(self) -> Option<Parda<Filled>> {
        let threshold = self.threshold?;
        let percent = |percent| Percent::from_percent(percent).expect("it is no more than all");
        Some(Parda {
            threshold,
            gain: self.gain.unwrap_or(percent(20)),
            smoothing: self.smoothing.unwrap_or(percent(30)),
            window: self.window.unwrap_or(64),
            interval: self.interval.unwrap_or(threshold.saturating_mul(10)),
        })
    }
}

impl Parda<Filled> {
    pub(super) fn check(&self, draft: &Draft, problems: &mut Problems) {
        for (key, zero) in [
            ("client.parda.threshold", self.threshold.is_zero()),
            ("client.parda.interval", self.interval.is_zero()),
            ("client.parda.window", self.window == 0),
        ] {
            if zero {
                problems.refuse(draft, key, format!("`{key}` is 0"), "set it above zero");
            }
        }
        for (key, share) in [("client.parda.gain", self.gain), ("client.parda.smoothing", self.smoothing)] {
            if share > Percent::FULL || share == Percent::ZERO {
                let message = format!("`{key}` is {share}, but it must be above 0% and at most 100%");
                problems.refuse(draft, key, message, "20% is usual");
            }
        }
    }
}

impl Settled {
    /// The location of schedulers, for the model.
    pub(super) fn stands(&self) -> Stands {
        match self.scheduler_at {
            SchedulerAt::Server => Stands::Servers,
            SchedulerAt::Client => Stands::Clients,
            SchedulerAt::Proxy => Stands::Proxies(self.proxies.unwrap_or(1)),
        }
    }

    /// The windows of clients, for the model. Each step adds to a client's window the weight of its
    /// application divided by the number of its clients, scaled so that the mean over all clients is one job.
    pub(super) fn parda(&self) -> Option<towtank_pfs::Parda> {
        let parda = self.client.parda.as_ref()?;
        let hundredths = |share: Percent| (share.fraction_f64() * 100.0).round() as u32;
        let all: u64 = self.applications.values().map(|one| u64::from(one.clients)).sum();
        let weights: u64 = self.applications.values().map(|one| u64::from(one.weight)).sum();
        let host = |one: &Application<Filled>| {
            let (own, among) = (u128::from(one.weight) * u128::from(all), u128::from(weights));
            let share = 1_000 * own / (among * u128::from(one.clients.max(1))).max(1);
            PardaSpec {
                threshold: parda.threshold,
                gain_percent: hundredths(parda.gain).max(1),
                smoothing_percent: hundredths(parda.smoothing).max(1),
                share_thousandths: u64::try_from(share).unwrap_or(u64::MAX).max(1),
                window_max: parda.window,
            }
        };
        Some(towtank_pfs::Parda {
            hosts: self.applications.values().map(host).collect(),
            interval: parda.interval,
        })
    }

    /// Checks the location of schedulers.
    pub(super) fn check_gates(&self, draft: &Draft, problems: &mut Problems) {
        if let Some(parda) = &self.client.parda {
            parda.check(draft, problems);
        }
        if let Some(proxies) = self.proxies.filter(|count| *count == 0 || *count > self.servers) {
            let message = format!("`proxies` is {proxies}, but there are {} servers", self.servers);
            let hint = format!("set 1 to {}: each proxy needs at least one server", self.servers);
            problems.refuse(draft, "proxies", message, hint);
        }
        let is_at = |kind: fn(&Kind) -> bool| self.schedulers.iter().find(|one| kind(&one.kind));
        let cuts = is_at(|kind| matches!(kind, Kind::Ssfq(_)));
        if let Some(one) = cuts.filter(|_| !self.scheduler_at.is_server()) {
            let message = format!("`{one}` cuts jobs into pieces, which only servers can put together");
            problems.refuse(draft, "scheduler_at", message, "leave `scheduler_at` out, or use `sfq`");
        }
        let tells = is_at(|kind| matches!(kind, Kind::Dsfq(_)));
        if let Some(one) = tells.filter(|_| self.scheduler_at == SchedulerAt::Client) {
            let message = format!("`{one}` at each client would tell all other clients of each job");
            problems.refuse(draft, "scheduler_at", message, "set it to `server` or `proxy`");
        }
        let hears =
            self.scheduler_at.is_server() && is_at(|kind| matches!(kind, Kind::Mclock { .. })).is_some();
        if self.client.feedback && !hears {
            let message = "`client.feedback` is on, but no server's scheduler uses it".to_owned();
            let hint = "set `scheduler` to `mclock:D` at servers, or leave `client.feedback` out";
            problems.refuse(draft, "client.feedback", message, hint);
        }
    }
}
