//! Connections through split-connection proxies on bad links, between peers with arbitrary behaviour.

mod cells;
mod flights;
mod peer;
mod random;
mod row;

pub(crate) use cells::{Cells, Hop, Plan};
pub(crate) use flights::Channel;
pub(crate) use peer::{Peer, Script, with};
pub(crate) use random::{Mischief, channel, pairs, pick, proxy};
pub(crate) use row::World;

use airlane_core::{Duration, Instant};
use airlane_middlebox::{Ending, SplitProxy, SplitStatistics};
use airlane_transport::ConnectionState;

/// Asserts that a proxy keeps its bound; the message contains `run`.
pub(crate) fn is_bounded(proxy: &SplitProxy, most: u64, run: &str) {
    let held: u64 = proxy.statistics().held.iter().sum();
    let (used, peak) = proxy.memory();
    assert!(held <= used && used <= peak && peak <= most, "{held} {used} {peak} {most}: {run}");
}

/// Asserts that a proxy has no state left.
pub(crate) fn is_done(proxy: &SplitProxy, run: &str) {
    assert!(proxy.is_empty(), "connections are left: {:?} {run}", proxy.statistics());
    assert_eq!(proxy.memory().0, 0, "memory is left: {run}");
    assert_eq!((proxy.statistics().held, proxy.statistics().open), ([0; 2], 0), "{run}");
    let legs = proxy.legs(Instant::FAR_FUTURE);
    for leg in &legs {
        let left = [leg.opening, leg.established, leg.closed, leg.waiting, leg.windows_closed_now];
        assert_eq!(left, [0; 5], "{run}");
        assert!((leg.window_closed > Duration::ZERO) <= (leg.windows_closed > 0), "{leg:?} {run}");
    }
    // A reset occurs on one leg, or by both peers at once.
    let resets = proxy.statistics().ended(Ending::Reset) + proxy.statistics().ended(Ending::ConnectRefused);
    assert!((resets..=2 * resets).contains(&legs.iter().map(|leg| leg.resets_received).sum()), "{run}");
}

/// The circumstances of a run that excuse an incomplete end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Circumstances {
    pub(crate) mischief: Mischief,
    /// Connections were reset for lack of room.
    pub(crate) turned_away: bool,
    /// Connections were not proxied: no proxy gives them up.
    pub(crate) passed: bool,
    /// A proxy had no room for all ended connections: their last acknowledgment is not repeated.
    pub(crate) forgotten: bool,
    /// No packet was lost.
    pub(crate) reliable: bool,
}

impl Circumstances {
    pub(crate) fn new(mischief: Mischief, reliable: bool, statistics: &[SplitStatistics]) -> Self {
        let any = |of: fn(&SplitStatistics) -> u64| statistics.iter().any(|one| of(one) > 0);
        let [turned_away, passed] = [any(|one| one.turned_away), any(|one| one.passed)];
        Self { mischief, turned_away, passed, forgotten: any(|one| one.forgotten), reliable }
    }

    /// True if packets may continue between ends without state in a proxy.
    pub(crate) const fn may_leave_packets(&self) -> bool {
        self.passed || self.forgotten
    }
}

/// Asserts that each end has received what the other sent, or knows that it has not. Returns the received
/// amounts in one line.
pub(crate) fn judge(ends: (&[Peer], &[Peer]), how: Circumstances, run: &str) -> String {
    let mut lines = vec![];
    for (server, client) in ends.0.iter().zip(ends.1) {
        for (from, to) in [(server, client), (client, server)] {
            let (sent, state) = (from.script.total(), to.end.state());
            assert!(to.read <= sent, "more came than was sent: {run}");
            assert!(state != ConnectionState::Closed || to.read == sent, "a FIN came before its time: {run}");
            if how.mischief == Mischief::None && !how.turned_away {
                assert_eq!(to.read, sent, "not all came: {run}");
                assert!(state == ConnectionState::Closed || how.forgotten, "{state:?} {run}");
            } else {
                let over = matches!(
                    state,
                    ConnectionState::Closed | ConnectionState::Reset | ConnectionState::Listen
                );
                // An end without data to send does not notice a lost RST, and no proxy gives up a passing
                // connection.
                let excused = to.gone || how.passed || how.forgotten || !how.reliable;
                assert!(over || excused, "{state:?} {run}");
            }
            lines.push(format!("{} {:?}", to.read, to.end.stats().established_at));
        }
    }
    format!("{lines:?}")
}
