//! Early throttling: when many bearers are set up, a cell throttles the UEs that it serves before the
//! new ones have data.
//!
//! Proposed as further work by B. Nguyen et al., "Towards Understanding TCP Performance on LTE/EPC Mobile
//! Networks", AllThingsCellular 2014, §3.1: an eNodeB that anticipates competing flows could allocate fewer
//! resource blocks to existing UEs. The paper gives no details; the following is our design.
//!
//! A bearer counts as set up with the UE's first packet in either direction, or at the time given in the
//! scenario: the signalling before that packet is not modelled. When enough bearers have been set up within a
//! given time, an episode begins. These bearers and later ones are *new*, the others *old*. With equal
//! shares, old bearers would have `share` = old / (old + new) of the cell. Their part decreases linearly from
//! all of it to `share`, stays there for a while, and is then unrestricted again. With [`ThrottleBy::Share`],
//! old UEs take part in that share of the slots, under any policy. With [`ThrottleBy::Queue`], the limit of
//! their transmit queues is reduced to that share, which drains in the same time as the whole limit did
//! before.
//!
//! Not included: the end of a bearer; an idle one still counts as old.

use std::collections::VecDeque;

use airlane_core::{Bytes, Duration, Instant};

/// Settings of early throttling.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ThrottleConfig {
    /// Number of new bearers that begins an episode.
    pub bearers: u32,
    /// The time within which they must be set up.
    pub within: Duration,
    /// Duration of the decrease.
    pub ramp: Duration,
    /// Duration of the lowest level.
    pub hold: Duration,
    /// The restricted resource.
    pub by: ThrottleBy,
}

/// The resource that early throttling restricts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThrottleBy {
    /// The slots in which their UEs take part.
    Share,
    /// The limit of their transmit queues.
    Queue,
}

/// Resolution of shares.
const WHOLE: u64 = 1 << 20;

/// A period of early throttling.
#[derive(Clone, Copy, Debug)]
struct Episode {
    since: Instant,
    /// Bearers set up before this time are old.
    first_new: Instant,
    old: u64,
    new: u64,
}

/// Early throttling of one cell.
#[derive(Debug)]
pub(crate) struct Throttle {
    config: ThrottleConfig,
    /// When the bearer of each UE of the network was set up in this cell.
    set_up: Vec<Option<Instant>>,
    /// The latest set-ups, [`ThrottleConfig::bearers`] of them at most.
    recent: VecDeque<Instant>,
    /// Bearers that will be set up, the next one last.
    announced: Vec<(Instant, u32)>,
    /// Bearers set up so far.
    bearers: u64,
    episode: Option<Episode>,
    /// Accumulated shares of slots for old UEs.
    credit: u64,
    /// True if old UEs take part in this slot.
    open: bool,
    /// The start of the episode in the latest slot, if there was one.
    latest: Option<Instant>,
}

impl Throttle {
    pub(crate) fn new(config: ThrottleConfig, ues: usize) -> Self {
        assert!(config.bearers > 0, "no bearer would begin an episode");
        assert!(!config.within.is_zero(), "no two bearers are set up within no time");
        Self {
            config,
            set_up: vec![None; ues],
            recent: VecDeque::with_capacity(config.bearers as usize + 1),
            announced: Vec::new(),
            bearers: 0,
            episode: None,
            credit: 0,
            open: true,
            latest: None,
        }
    }

    /// A UE was added to the network.
    pub(crate) fn add_ue(&mut self) {
        self.set_up.push(None);
    }

    /// The bearer of a UE will be set up at this time.
    pub(crate) fn announce(&mut self, at: Instant, ue: u32) {
        let place = self.announced.partition_point(|&other| other > (at, ue));
        self.announced.insert(place, (at, ue));
    }

    /// A packet of this UE has arrived, in either direction.
    pub(crate) fn packet(&mut self, now: Instant, ue: u32) {
        self.set_up_announced(now);
        self.set_up(now, ue);
    }

    fn set_up_announced(&mut self, now: Instant) {
        while let Some(&(at, ue)) = self.announced.last().filter(|(at, _)| *at <= now) {
            self.announced.pop();
            self.set_up(at, ue);
        }
    }

    fn set_up(&mut self, now: Instant, ue: u32) {
        let set_up = &mut self.set_up[ue as usize];
        if set_up.is_none() {
            *set_up = Some(now);
            self.bearers += 1;
            self.bearer_set_up(now);
        }
    }

    /// A UE leaves the cell.
    pub(crate) fn forget(&mut self, ue: u32) {
        self.announced.retain(|&(_, other)| other != ue);
        if let Some(set_up) = self.set_up[ue as usize].take() {
            self.bearers -= 1;
            if let Some(episode) = &mut self.episode {
                let count = if set_up < episode.first_new { &mut episode.old } else { &mut episode.new };
                *count -= 1;
            }
        }
    }

    fn bearer_set_up(&mut self, now: Instant) {
        self.end_episode(now);
        if let Some(episode) = &mut self.episode {
            episode.new += 1;
            return;
        }
        self.recent.push_back(now);
        while self.recent.front().is_some_and(|&at| now.saturating_since(at) > self.config.within) {
            self.recent.pop_front();
        }
        let new = self.recent.len() as u64;
        if new < u64::from(self.config.bearers) {
            return;
        }
        let first_new = *self.recent.front().expect("at least one is new");
        // A UE that arrived and left within the time no longer counts.
        let old = self.bearers.saturating_sub(new);
        self.recent.clear();
        if old > 0 {
            self.episode = Some(Episode { since: now, first_new, old, new });
        }
    }

    fn end_episode(&mut self, now: Instant) {
        let lasts = self.config.ramp + self.config.hold;
        if self.episode.is_some_and(|episode| now.saturating_since(episode.since) >= lasts) {
            self.episode = None;
        }
    }

    /// The share of old bearers, in units of 1 / [`WHOLE`].
    fn left(&self, now: Instant) -> u64 {
        let Some(episode) = self.episode else { return WHOLE };
        let taken = WHOLE - WHOLE * episode.old / (episode.old + episode.new).max(1);
        let ramp = self.config.ramp.as_nanos();
        let gone = now.saturating_since(episode.since).as_nanos();
        if gone >= ramp {
            return WHOLE - taken;
        }
        WHOLE - (u128::from(taken) * u128::from(gone) / u128::from(ramp)) as u64
    }

    fn is_old(&self, ue: u32) -> bool {
        let set_up = self.set_up[ue as usize];
        self.episode.is_some_and(|episode| set_up.is_some_and(|at| at < episode.first_new))
    }

    /// A slot begins. Returns true if an episode has begun or ended since the slot before.
    pub(crate) fn begin_slot(&mut self, now: Instant) -> bool {
        self.set_up_announced(now);
        self.end_episode(now);
        self.open = true;
        if self.episode.is_some() && self.config.by == ThrottleBy::Share {
            self.credit += self.left(now);
            self.open = self.credit >= WHOLE;
            self.credit -= if self.open { WHOLE } else { 0 };
        }
        let episode = self.episode.map(|episode| episode.since);
        core::mem::replace(&mut self.latest, episode) != episode
    }

    /// Whether a UE takes part only in the slots that are open.
    pub(crate) fn is_restricted(&self, ue: u32) -> bool {
        self.config.by == ThrottleBy::Share && self.is_old(ue)
    }

    /// Whether old UEs take part in this slot.
    pub(crate) fn is_open(&self) -> bool {
        self.open
    }

    /// Whether a downlink packet of this UE may enter its queue, given the queue's length and limit.
    pub(crate) fn admits(&self, now: Instant, ue: u32, queue: Bytes, limit: Bytes) -> bool {
        self.config.by != ThrottleBy::Queue
            || !self.is_old(ue)
            || u128::from(queue.get()) * u128::from(WHOLE)
                <= u128::from(limit.get()) * u128::from(self.left(now))
    }
}

#[cfg(test)]
mod tests;
