//! Congestion controllers of TCP and QUIC: checks, and from the format to `airlane_transport`.

use airlane_core::Duration;
use airlane_transport::congestion::{
    self, AbcConfig, C2tcpConfig, CopaConfig, CubicConfig, LawParameters, MdccConfig, OwnControllers,
    PragueConfig, SlowStartRules,
};

use crate::check::{Checked, Place};
use crate::endpoints::Setup;
use crate::format::{
    Congestion, CubicEpoch, CubicVariant, Ecn, InflightScope, Mdcc, Quic, SlowStartAlgorithm, SlowStartClock,
    Tcp,
};
use crate::quantity::{Share, Time};

/// The settings of a congestion controller, which TCP and QUIC have under the same keys.
pub(crate) struct ControllerKeys<'a> {
    congestion: Congestion,
    /// The name of the user's own controller.
    controller: Option<&'a str>,
    mdcc: Option<&'a Mdcc>,
    cubic: CubicVariant,
    cubic_beta: f64,
    cubic_epoch: Option<CubicEpoch>,
    abe: Option<bool>,
    ecn_max_rtt: Option<Time>,
    classic_fallback: Option<bool>,
    copa_delta: Option<f64>,
    copa_mode_switching: Option<bool>,
    abc_fallback: Option<bool>,
    c2tcp_target: Option<Time>,
    slow_start: Option<SlowStartAlgorithm>,
    slow_start_rtt_exit: bool,
    slow_start_loss: Share,
    marks: Marks,
}

/// A sender's knowledge of congestion marks.
struct Marks {
    /// Whether it receives them.
    received: bool,
    /// Whether it receives their number.
    counted: bool,
    /// The setting of `ecn` with which it does.
    help: &'static str,
}

macro_rules! keys_of {
    ($settings:expr, $marks:expr) => {
        ControllerKeys {
            congestion: $settings.congestion,
            controller: $settings.controller.as_deref(),
            mdcc: $settings.mdcc.as_ref(),
            cubic: $settings.cubic,
            cubic_beta: $settings.cubic_beta,
            cubic_epoch: $settings.cubic_epoch,
            abe: $settings.abe,
            ecn_max_rtt: $settings.ecn_max_rtt,
            classic_fallback: $settings.classic_fallback,
            copa_delta: $settings.copa_delta,
            copa_mode_switching: $settings.copa_mode_switching,
            abc_fallback: $settings.abc_fallback,
            c2tcp_target: $settings.c2tcp_target,
            slow_start: $settings.slow_start,
            slow_start_rtt_exit: $settings.slow_start_rtt_exit,
            slow_start_loss: $settings.slow_start_loss,
            marks: $marks,
        }
    };
}

impl Tcp {
    pub(crate) fn controller_keys(&self) -> ControllerKeys<'_> {
        let (received, counted) = (self.ecn != Ecn::Off, self.ecn == Ecn::Accurate);
        keys_of!(self, Marks { received, counted, help: "write ecn = \"accurate\"" })
    }
}

impl Quic {
    pub(crate) fn controller_keys(&self) -> ControllerKeys<'_> {
        keys_of!(self, Marks { received: self.ecn, counted: self.ecn, help: "write ecn = true" })
    }
}

/// From the format to `airlane_transport`.
impl ControllerKeys<'_> {
    /// The user's controller; `run::build_from` has checked that it is there.
    pub(super) fn own(&self, setup: Setup<'_>) -> Option<OwnControllers> {
        setup.extensions.controllers.get(self.controller?).cloned()
    }

    pub(super) fn laws(&self) -> LawParameters {
        LawParameters {
            cubic: self.cubic(),
            abe: self.abe.unwrap_or(false),
            ecn_max_rtt: self.ecn_max_rtt.map(|rtt| rtt.0),
            copa: self.copa(),
            abc: AbcConfig { fallback: self.abc_fallback.unwrap_or(AbcConfig::PAPER.fallback) },
            c2tcp: C2tcpConfig { target: self.c2tcp_target.map(|target| target.0) },
            prague: PragueConfig { classic_fallback: self.classic_fallback.unwrap_or(false) },
            mdcc: self.mdcc.map_or(MdccConfig::PAPER, mdcc_config),
        }
    }

    fn cubic(&self) -> CubicConfig {
        let variant = match self.cubic {
            CubicVariant::Rfc9438 => congestion::CubicVariant::Rfc9438,
            CubicVariant::Picoquic2020 => congestion::CubicVariant::Picoquic2020,
        };
        let epoch = match self.cubic_epoch {
            None | Some(CubicEpoch::Linux) => congestion::CubicEpoch::Linux,
            Some(CubicEpoch::Rfc9438) => congestion::CubicEpoch::Rfc9438,
        };
        CubicConfig { variant, beta_1024: (self.cubic_beta * 1024.0).round() as u32, epoch }
    }

    fn copa(&self) -> CopaConfig {
        let default = CopaConfig::PAPER;
        let permille = |delta: f64| (delta * 1e3).round() as u32;
        CopaConfig {
            delta_permille: self.copa_delta.map_or(default.delta_permille, permille),
            mode_switching: self.copa_mode_switching.unwrap_or(default.mode_switching),
        }
    }

    pub(super) fn slow_start(&self) -> SlowStartRules {
        let loss_max_ppm = (self.slow_start_loss.0 * 1e6).round() as u32;
        let algorithm = self.slow_start.map(|algorithm| match algorithm {
            SlowStartAlgorithm::Standard => congestion::SlowStartAlgorithm::Standard,
            SlowStartAlgorithm::HyStart => congestion::SlowStartAlgorithm::HyStart,
            SlowStartAlgorithm::HyStartPlusPlus => congestion::SlowStartAlgorithm::HyStartPlusPlus,
            SlowStartAlgorithm::Search => congestion::SlowStartAlgorithm::Search,
        });
        SlowStartRules { algorithm, rtt_exit: self.slow_start_rtt_exit, loss_max_ppm }
    }
}

fn mdcc_config(mdcc: &Mdcc) -> MdccConfig {
    MdccConfig {
        acks_per_increase: (1.0 / mdcc.increase).round() as u32,
        inflight_scope: match mdcc.inflight_scope {
            InflightScope::EndToEnd => congestion::InflightScope::EndToEnd,
            InflightScope::PerDomain => congestion::InflightScope::PerDomain,
            InflightScope::RanOnly => congestion::InflightScope::RanOnly,
        },
        slow_start: match mdcc.slow_start {
            SlowStartClock::Client => congestion::SlowStartClock::Client,
            SlowStartClock::Pep => congestion::SlowStartClock::Pep,
            SlowStartClock::Sent => congestion::SlowStartClock::Sent,
        },
        wired_queue: mdcc.wired_queue.map(|time| time.0),
    }
}

/// Checks.
impl ControllerKeys<'_> {
    pub(crate) fn check(&self, at: &Place<'_>) -> Checked {
        let beta = (0.1..=0.99).contains(&self.cubic_beta);
        at.require(beta, "cubic_beta", "out of range", "it must be from 0.1 to 0.99")?;
        let less = self.slow_start_loss.0 < 1.0;
        at.require(less, "slow_start_loss", "slow start would never end", "it must be below 100 %")?;
        self.check_copa(at)?;
        self.check_abc(at)?;
        self.check_c2tcp(at)?;
        self.check_slow_start(at)?;
        self.check_own(at)?;
        self.check_mdcc(at)?;
        self.check_marks(at)
    }

    fn check_copa(&self, at: &Place<'_>) -> Checked {
        if let Some(delta) = self.copa_delta {
            self.check_law(Congestion::Copa, "copa_delta", at)?;
            let fits = (0.001..=1.0).contains(&delta);
            at.require(fits, "copa_delta", "out of range", "it must be from 0.001 to 1")?;
        }
        if self.copa_mode_switching.is_some() {
            self.check_law(Congestion::Copa, "copa_mode_switching", at)?;
        }
        Ok(())
    }

    fn check_abc(&self, at: &Place<'_>) -> Checked {
        if self.abc_fallback.is_some() {
            self.check_law(Congestion::Abc, "abc_fallback", at)?;
        }
        let counted = self.marks.counted || self.congestion != Congestion::Abc;
        at.require(counted, "ecn", "ABC needs the number of marks", self.marks.help)
    }

    fn check_c2tcp(&self, at: &Place<'_>) -> Checked {
        if let Some(target) = self.c2tcp_target {
            self.check_law(Congestion::C2tcp, "c2tcp_target", at)?;
            let fits = target.0 >= Duration::from_millis(1);
            at.require(fits, "c2tcp_target", "out of range", "it must be at least 1 ms")?;
        }
        Ok(())
    }

    fn check_slow_start(&self, at: &Place<'_>) -> Checked {
        let kind = self.congestion.kind();
        let what = format!("congestion = {:?} has a start of its own", kind.name());
        let help = "leave it out, or write another `congestion`";
        at.require(self.slow_start.is_none() || !kind.has_own_start(), "slow_start", &what, help)
    }

    fn check_own(&self, at: &Place<'_>) -> Checked {
        let help = "write both congestion = \"own\" and controller = \"NAME\", or neither";
        let (own, named) = (self.congestion == Congestion::Own, self.controller.is_some());
        at.require(!own || named, "congestion", "`controller` is missing", help)?;
        at.require(own || !named, "controller", "it needs congestion = \"own\"", help)
    }

    fn check_mdcc(&self, at: &Place<'_>) -> Checked {
        let Some(mdcc) = self.mdcc else { return Ok(()) };
        self.check_law(Congestion::Mdcc, "mdcc", at)?;
        mdcc.out_of_range()
            .map_or(Ok(()), |(key, help)| at.fail(&format!("mdcc.{key}"), "out of range", help))
    }

    /// The rules of controllers that respond to congestion marks.
    fn check_marks(&self, at: &Place<'_>) -> Checked {
        let Marks { received, counted, help } = self.marks;
        let needs = matches!(self.congestion, Congestion::Dctcp | Congestion::Prague);
        at.require(received || !needs, "ecn", "DCTCP and Prague need congestion marks", help)?;
        if let Some(rtt_max) = self.ecn_max_rtt {
            self.check_law(Congestion::Bbr3, "ecn_max_rtt", at)?;
            at.require(counted, "ecn", "`ecn_max_rtt` needs the number of marks", help)?;
            at.positive(rtt_max, "ecn_max_rtt")?;
        }
        if self.classic_fallback.is_some() {
            self.check_law(Congestion::Prague, "classic_fallback", at)?;
            at.require(counted, "ecn", "`classic_fallback` needs the number of marks", help)?;
        }
        Ok(())
    }

    /// A key of one controller.
    fn check_law(&self, law: Congestion, key: &str, at: &Place<'_>) -> Checked {
        let name = law.kind().name();
        let what = format!("it needs congestion = {name:?}");
        let help = format!("write congestion = {name:?}, or leave it out");
        at.require(self.congestion == law, key, &what, &help)
    }
}
