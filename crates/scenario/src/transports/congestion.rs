//! Congestion controllers: from the format to `airlane_transport`.

use airlane_transport::congestion::{self, CubicConfig, MdccConfig, OwnControllers, SlowStartRules};

use crate::endpoints::Setup;
use crate::format::{CubicEpoch, CubicVariant, InflightScope, Mdcc};
use crate::quantity::Share;

/// The user's controller with this name; `run::build_from` has checked that it is there.
pub(super) fn own_controller(name: Option<&str>, setup: Setup<'_>) -> Option<OwnControllers> {
    setup.own.controllers.get(name?).cloned()
}

pub(super) fn mdcc_config(mdcc: Option<&Mdcc>) -> MdccConfig {
    mdcc.map_or(MdccConfig::PAPER, |mdcc| MdccConfig {
        acks_per_increase: (1.0 / mdcc.increase).round() as u32,
        inflight_scope: match mdcc.inflight_scope {
            InflightScope::EndToEnd => congestion::InflightScope::EndToEnd,
            InflightScope::PerDomain => congestion::InflightScope::PerDomain,
        },
        wired_queue: mdcc.wired_queue.map(|time| time.0),
    })
}

pub(super) fn cubic_config(variant: CubicVariant, beta: f64, epoch: Option<CubicEpoch>) -> CubicConfig {
    let variant = match variant {
        CubicVariant::Rfc9438 => congestion::CubicVariant::Rfc9438,
        CubicVariant::Picoquic2020 => congestion::CubicVariant::Picoquic2020,
    };
    let epoch = match epoch {
        None | Some(CubicEpoch::Linux) => congestion::CubicEpoch::Linux,
        Some(CubicEpoch::Rfc9438) => congestion::CubicEpoch::Rfc9438,
    };
    CubicConfig { variant, beta_1024: (beta * 1024.0).round() as u32, epoch }
}

pub(super) fn slow_start_rules(rtt_exit: bool, loss: Share) -> SlowStartRules {
    SlowStartRules { rtt_exit, loss_max_ppm: (loss.0 * 1e6).round() as u32 }
}
