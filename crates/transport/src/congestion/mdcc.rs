//! Multi-domain congestion control (Krämer, Molnár, Solymos and Mihály, "On the Benefits of Multi-Domain
//! Congestion Control in LTE Networks", 2019, §II-C and §III): a window for each part of the path, each
//! with its own law and its own clock. The smaller window applies.
//!
//! The window of the internet domain is CUBIC's and is clocked by the reports of a PEP at the border. The
//! window of the radio access network is Scalable's, with a larger step, and is clocked by the client; in
//! slow start by [`SlowStartClock`], which the paper leaves open. The transport determines the domain of an
//! acknowledgment or a loss ([`MultiDomain::on_domain_ack`]); while the PEP is silent, the client clocks both
//! windows.
//!
//! The paper gives the laws and the clocks. Three parts are reconstructed: the decrease of Scalable
//! (Kelly 2003); that a loss reduces only the window of its domain; and that a window which does not
//! limit the sender does not grow beyond what is validated (RFC 7661), since the larger window would
//! otherwise grow without limit. An ECN mark (RFC 3168) does not show where it was set, so it reduces
//! both.
//!
//! HyStart uses the delays to the PEP, which exclude the radio, and the train of the PEP's reports.

#[cfg(feature = "journal")]
pub mod journal;

use airlane_core::Duration;

use super::controller::Law;
use super::{
    AckSample, CongestionController, Controller, Cubic, CubicConfig, LossCause, LossEpisode, Needs, Restart,
    SegmentWindow, Snapshot, TimeoutEpisode,
};

/// Kelly 2003 §3: b = 1/8, as a shift.
const DECREASE_SHIFT: u32 = 3;

/// A part of the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Domain {
    /// From the server to the PEP.
    Internet,
    /// From the PEP to the client.
    Ran,
}

impl Domain {
    /// Both domains.
    pub const ALL: [Self; 2] = [Self::Internet, Self::Ran];
}

/// The data that the windows limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InflightScope {
    /// Both limit the data that the client has not acknowledged.
    EndToEnd,
    /// The internet window limits the data that the PEP has not seen; the window of the radio access
    /// network limits the data that the client has not acknowledged.
    PerDomain,
    /// The window of the radio access network limits the data that the client has not acknowledged; there is no
    /// internet window. This is Scalable with the larger step, which needs no PEP.
    RanOnly,
}

/// What increases the window of the radio access network in slow start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlowStartClock {
    /// The client's acknowledgments.
    Client,
    /// The PEP's acknowledgments; the client's while the PEP is silent.
    Pep,
    /// Each segment sent: the window does not limit the sender before its first loss.
    Sent,
}

/// Parameters of multi-domain congestion control.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MdccConfig {
    /// Acknowledgments per segment of growth of the radio window: 1/a, AI_CNT in Linux.
    pub acks_per_increase: u32,
    /// The data that the windows limit.
    pub inflight_scope: InflightScope,
    /// What increases the radio window in slow start.
    pub slow_start: SlowStartClock,
    /// Whether a loss behind the PEP needs evidence: the longest delay before the PEP, above its minimum, with which
    /// it has some ([`Domains`](crate::model::Domains)). `None`: each report is believed.
    pub wired_queue: Option<Duration>,
}

impl MdccConfig {
    /// As in the paper: a = 0.1 (§III).
    pub const PAPER: Self = Self {
        acks_per_increase: 10,
        inflight_scope: InflightScope::EndToEnd,
        slow_start: SlowStartClock::Client,
        wired_queue: None,
    };
}

/// The controller.
#[derive(Clone, Debug)]
pub struct Mdcc {
    config: MdccConfig,
    internet: SegmentWindow,
    cubic: Cubic,
    ran: SegmentWindow,
    /// The windows of both domains before the current loss episode.
    before: [Snapshot; 2],
    /// The number of the connection in the journal.
    #[cfg(feature = "journal")]
    connection: u32,
}

/// Records a call of the law, where the journal is compiled.
macro_rules! note {
    ($law:expr, $window:expr, $($call:tt)*) => {
        #[cfg(feature = "journal")]
        $law.note($window, journal::Call::$($call)*);
    };
}

impl Mdcc {
    /// A controller whose two windows are `window`.
    #[must_use]
    pub fn new(config: MdccConfig, window: &SegmentWindow, hystart: bool) -> Self {
        let law = Self {
            config,
            internet: *window,
            cubic: Cubic::new(CubicConfig::RFC9438, hystart, false),
            ran: *window,
            before: [Snapshot::default(); 2],
            #[cfg(feature = "journal")]
            connection: journal::next_connection(),
        };
        note!(law, window, Begin { hystart, acks_per_increase: config.acks_per_increase });
        law
    }

    #[cfg(feature = "journal")]
    fn note(&self, window: &SegmentWindow, call: journal::Call) {
        let (connection, internet, ran) = (self.connection, self.internet, self.ran);
        journal::note(journal::Step { connection, call, window: *window, internet, ran });
    }

    /// The window of a domain.
    #[must_use]
    pub const fn window_of(&self, domain: Domain) -> &SegmentWindow {
        match domain {
            Domain::Internet => &self.internet,
            Domain::Ran => &self.ran,
        }
    }

    /// Its parameters.
    #[must_use]
    pub const fn config(&self) -> MdccConfig {
        self.config
    }

    /// True if the window of this domain limits the data in flight, of which the PEP has seen `beyond_pep`
    /// segments.
    #[must_use]
    pub const fn limits(&self, domain: Domain, beyond_pep: u32) -> bool {
        let internet = match self.config.inflight_scope {
            InflightScope::EndToEnd => self.internet.segments,
            InflightScope::PerDomain => self.internet.segments.saturating_add(beyond_pep),
            InflightScope::RanOnly => u32::MAX,
        };
        match domain {
            Domain::Internet => internet <= self.ran.segments,
            Domain::Ran => self.ran.segments <= internet,
        }
    }

    /// Sets the window for the data that the client has not acknowledged.
    fn govern(&self, window: &mut SegmentWindow) {
        let internet = match self.config.inflight_scope {
            InflightScope::EndToEnd => (self.internet.segments, self.internet.ssthresh),
            InflightScope::PerDomain | InflightScope::RanOnly => (u32::MAX, u32::MAX),
        };
        (window.segments, window.ssthresh) = internet.min((self.ran.segments, self.ran.ssthresh));
    }

    /// Data was acknowledged in a domain.
    fn on_domain_ack(&mut self, window: &mut SegmentWindow, domain: Domain, ack: &AckSample) {
        match domain {
            Domain::Internet => self.cubic.on_ack(&mut self.internet, ack),
            Domain::Ran => self.grow_ran(ack),
        }
        if self.ran.in_slow_start() {
            self.slow_start_ran(domain, ack);
        }
        self.govern(window);
        note!(self, window, Ack(domain, *ack));
    }

    /// §III: in congestion avoidance one step per acknowledgment, independent of its size.
    fn grow_ran(&mut self, ack: &AckSample) {
        if !ack.may_grow || !self.ran.used_by(ack) {
            return;
        }
        if self.ran.in_slow_start()
            && (self.config.slow_start != SlowStartClock::Client
                || self.ran.slow_start(ack.delivered_segments) == 0)
        {
            return;
        }
        self.ran.additive_increase(self.ran.segments.min(self.config.acks_per_increase), 1);
    }

    /// Slow start of the radio window by another clock than the client's.
    fn slow_start_ran(&mut self, domain: Domain, ack: &AckSample) {
        match (self.config.slow_start, domain) {
            (SlowStartClock::Pep, Domain::Internet) if ack.may_grow && self.ran.used_by(ack) => {
                self.ran.slow_start(ack.delivered_segments);
            }
            (SlowStartClock::Sent, _) => {
                let sent = self.internet.segments.saturating_add(ack.outstanding_segments);
                self.ran.segments = self.ran.segments.max(sent.min(self.ran.ssthresh));
            }
            _ => {}
        }
    }

    /// A loss episode begins.
    fn on_episode(&mut self) {
        self.before = [self.internet.snapshot(), self.ran.snapshot()];
    }

    /// A domain has lost a segment.
    fn on_domain_loss(&mut self, window: &mut SegmentWindow, domain: Domain) {
        let half = match domain {
            Domain::Internet => {
                let threshold = self.cubic.threshold(&self.internet);
                self.internet.reduce_to(threshold);
                &mut self.internet
            }
            Domain::Ran => {
                self.ran.reduce_to(self.ran_threshold());
                &mut self.ran
            }
        };
        half.segments = half.ssthresh;
        self.govern(window);
        note!(self, window, Loss(domain));
    }

    const fn ran_threshold(&self) -> u32 {
        self.ran.segments - (self.ran.segments >> DECREASE_SHIFT)
    }

    /// The clock of the internet window changes: its delays are measured differently from now on.
    fn on_clock_change(&mut self) {
        self.cubic.forget_delay();
    }
}

/// The functions of a controller with a window for each domain. They have no effect with other laws.
pub trait MultiDomain {
    /// The law, if it has a window for each domain.
    #[must_use]
    fn domains(&self) -> Option<&Mdcc>;
    /// Data was acknowledged in a domain.
    fn on_domain_ack(&mut self, domain: Domain, ack: &AckSample);
    /// A loss episode begins.
    fn on_episode(&mut self);
    /// A domain has lost a segment.
    fn on_domain_loss(&mut self, domain: Domain);
    /// The clock of the internet window changes: its delays are measured differently from now on.
    fn on_clock_change(&mut self);
}

impl MultiDomain for Controller {
    fn domains(&self) -> Option<&Mdcc> {
        if let Law::Mdcc(law) = &self.law { Some(law) } else { None }
    }

    fn on_domain_ack(&mut self, domain: Domain, ack: &AckSample) {
        if let Law::Mdcc(law) = &mut self.law {
            law.on_domain_ack(&mut self.window, domain, ack);
        }
    }

    fn on_episode(&mut self) {
        if let Law::Mdcc(law) = &mut self.law {
            law.on_episode();
            note!(law, &self.window, Episode);
        }
    }

    fn on_domain_loss(&mut self, domain: Domain) {
        if let Law::Mdcc(law) = &mut self.law {
            law.on_domain_loss(&mut self.window, domain);
        }
    }

    fn on_clock_change(&mut self) {
        if let Law::Mdcc(law) = &mut self.law {
            law.on_clock_change();
            note!(law, &self.window, ClockChange);
        }
    }
}

impl CongestionController for Mdcc {
    fn needs(&self) -> Needs {
        Needs::NOTHING
    }

    #[cfg_attr(not(feature = "journal"), expect(unused_variables, reason = "for the journal"))]
    fn on_restart(&mut self, window: &mut SegmentWindow, restart: &Restart) {
        self.cubic.on_restart(&mut self.internet, restart);
        note!(self, window, Restart(*restart));
    }

    fn on_ack(&mut self, window: &mut SegmentWindow, ack: &AckSample) {
        self.on_domain_ack(window, Domain::Ran, ack);
    }

    fn threshold(&mut self, _: &SegmentWindow) -> u32 {
        match self.config.inflight_scope {
            InflightScope::RanOnly => self.ran_threshold(),
            InflightScope::EndToEnd | InflightScope::PerDomain => self.cubic.threshold(&self.internet),
        }
    }

    /// If the domain of a loss is unknown, the more conservative law reacts.
    fn on_loss(&mut self, window: &mut SegmentWindow, _: &LossEpisode, cause: LossCause) {
        if cause == LossCause::Congestion {
            let domain = match self.config.inflight_scope {
                InflightScope::RanOnly => Domain::Ran,
                InflightScope::EndToEnd | InflightScope::PerDomain => Domain::Internet,
            };
            self.on_domain_loss(window, domain);
        }
    }

    fn on_ecn(&mut self, window: &mut SegmentWindow, _: &LossEpisode) {
        Domain::ALL.into_iter().for_each(|domain| self.on_domain_loss(window, domain));
    }

    /// The sender's window shrinks; the windows of the domains must not be larger.
    fn on_window_validation(&mut self, window: &mut SegmentWindow) {
        for half in [&mut self.internet, &mut self.ran] {
            if half.segments > window.segments {
                half.ssthresh = half.kept_ssthresh();
                half.segments = window.segments;
            }
        }
        note!(self, window, Validation(window.segments));
    }

    /// The windows were already reduced when the losses were detected.
    fn on_recovery_exit(&mut self, _: &mut SegmentWindow) {}

    fn on_timeout(&mut self, window: &mut SegmentWindow, timeout: &TimeoutEpisode) {
        if timeout.new_episode {
            self.on_episode();
            self.ran.reduce_to(self.ran_threshold());
        }
        self.ran.restart_from(timeout.restart_segments);
        self.cubic.on_timeout(&mut self.internet, timeout);
        self.govern(window);
        note!(self, window, Timeout(*timeout));
    }

    fn on_undo(&mut self, window: &mut SegmentWindow, snapshot: &Snapshot) {
        if *snapshot != Snapshot::default() {
            self.internet.undo(&self.before[0]);
            self.ran.undo(&self.before[1]);
        }
        self.govern(window);
        if *snapshot != Snapshot::default() {
            note!(self, window, Undo);
        }
    }
}
