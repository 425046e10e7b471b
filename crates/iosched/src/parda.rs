//! PARDA (Gulati, Ahmad and Waldspurger, FAST 2009): a host limits its outstanding requests by a window that
//! it adjusts by the latency that it observes, so that hosts share a disk array without exchanging messages.
//! PARDA runs at the client and is not a discipline.
//!
//! w <- (1 - g) w + g (Lt/L w + b), clamped to [1, most], once per interval: L is the mean latency, smoothed
//! exponentially, Lt the latency threshold, and b is proportional to the host's share, so that at equal
//! latency windows are proportional to b.

use towtank_units::SimSpan;

/// The configuration of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct PardaSpec {
    /// The latency above which the window shrinks.
    pub threshold: SimSpan,
    /// The gain of the window, in hundredths.
    pub gain_percent: u32,
    /// The weight of the newest latency in the smoothed one, in hundredths.
    pub smoothing_percent: u32,
    /// What is added at each adaptation, in thousandths of a request: the host's share.
    pub share_thousandths: u64,
    /// The largest window, in requests.
    pub window_max: u32,
}

/// The window of one host, in fixed point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Parda {
    spec: PardaSpec,
    /// In 2^-16 of a request.
    window: u64,
    /// `None` until a latency was observed.
    latency: Option<SimSpan>,
    /// Latencies of this interval: the sum in nanoseconds, and the count.
    seen: (u128, u64),
}

const ONE: u64 = 1 << 16;

impl Parda {
    /// Starts with the largest window and no latency observed.
    ///
    /// # Panics
    /// When the largest window is zero, or a percentage is above 100.
    #[must_use]
    pub fn new(spec: PardaSpec) -> Parda {
        assert!(spec.window_max > 0, "with a window of zero nothing is ever sent");
        assert!(spec.gain_percent <= 100 && spec.smoothing_percent <= 100, "a part is at most the whole");
        Parda { spec, window: u64::from(spec.window_max) * ONE, latency: None, seen: (0, 0) }
    }

    /// The number of requests that may be outstanding.
    #[must_use]
    pub fn window(&self) -> u32 {
        u32::try_from(self.window / ONE).unwrap_or(u32::MAX).max(1)
    }

    /// Records the latency of a completed request.
    pub fn complete(&mut self, latency: SimSpan) {
        self.seen = (self.seen.0 + u128::from(latency.as_ns()), self.seen.1 + 1);
    }

    /// Ends an interval. An interval without completions changes nothing.
    pub fn adapt(&mut self) {
        let (sum, count) = std::mem::take(&mut self.seen);
        let Some(mean) = sum.checked_div(u128::from(count)) else { return };
        let smoothing = u128::from(self.spec.smoothing_percent);
        let old = self.latency.map_or(mean, |latency| u128::from(latency.as_ns()));
        let latency = ((old * (100 - smoothing) + mean * smoothing) / 100).max(1);
        self.latency = Some(SimSpan::from_ns(u64::try_from(latency).unwrap_or(u64::MAX)));
        let (window, gain) = (u128::from(self.window), u128::from(self.spec.gain_percent));
        let scaled = window * u128::from(self.spec.threshold.as_ns()) / latency;
        let share = u128::from(self.spec.share_thousandths) * u128::from(ONE) / 1_000;
        let moved = (window * (100 - gain) + (scaled + share) * gain) / 100;
        let most = u128::from(self.spec.window_max) * u128::from(ONE);
        self.window = moved.clamp(u128::from(ONE), most) as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parda(share_thousandths: u64) -> Parda {
        Parda::new(PardaSpec {
            threshold: SimSpan::from_ms(20),
            gain_percent: 50,
            smoothing_percent: 100,
            share_thousandths,
            window_max: 64,
        })
    }

    /// w = 64, L = 40, Lt = 20, g = 1/2, b = 4: 32 + (32 + 4)/2 = 50; then 25 + (25 + 4)/2 = 39.5.
    #[test]
    fn the_window_by_hand() {
        let mut parda = parda(4_000);
        parda.complete(SimSpan::from_ms(30));
        parda.complete(SimSpan::from_ms(50));
        parda.adapt();
        assert_eq!(parda.window(), 50);
        parda.adapt();
        assert_eq!(parda.window(), 50);
        parda.complete(SimSpan::from_ms(40));
        parda.adapt();
        assert_eq!((parda.window(), parda.window), (39, 39 * ONE + ONE / 2));
    }

    #[test]
    fn the_window_stays_between_one_and_the_most() {
        let mut slow = parda(0);
        (0..50).for_each(|_| {
            slow.complete(SimSpan::from_secs(9));
            slow.adapt();
        });
        assert_eq!(slow.window(), 1);
        (0..50).for_each(|_| {
            slow.complete(SimSpan::from_us(9));
            slow.adapt();
        });
        assert_eq!(slow.window(), 64);
    }

    /// Two hosts at one array whose latency in ms is the sum of their windows: the windows settle in
    /// proportion to the shares. The planted rule without b does not settle: any split is stable under it.
    #[test]
    fn windows_settle_by_shares() {
        let settle = |shares: [u64; 2], windows: [u64; 2]| {
            let mut hosts = shares.map(parda);
            (0..2).for_each(|host| hosts[host].window = windows[host] * ONE);
            for _ in 0..500 {
                let latency = SimSpan::from_ns((hosts[0].window + hosts[1].window) * 1_000_000 / ONE);
                hosts.iter_mut().for_each(|host| {
                    host.complete(latency);
                    host.adapt();
                });
            }
            hosts[1].window as f64 / hosts[0].window as f64
        };
        let fair = |ratio: f64| (1.95..2.05).contains(&ratio);
        assert!(fair(settle([2_000, 4_000], [40, 10])), "{}", settle([2_000, 4_000], [40, 10]));
        assert!(!fair(settle([0, 0], [40, 10])));
    }
}
