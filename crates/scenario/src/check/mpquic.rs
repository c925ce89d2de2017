//! Checks of flows over QUIC with several paths.

use airlane_core::Duration;

use super::{Checked, Place};
use crate::format::{
    Congestion, Flow, LossDiscriminator, Middlebox, Mpquic, MpquicScheduler, Quic, QuicCrypto, QuicPacing,
    QuicTimeouts, Resolved,
};
use crate::transports::SUBFLOWS_MAX;

/// Three keep-alives fit in between.
const PATH_IDLE_MIN: Duration = Duration::from_millis(10);

/// The correct form where there are weights without their scheduler, or the scheduler without weights.
pub(super) const WEIGHTS_HELP: &str = "write both scheduler = \"weighted\" and weights, or neither";

/// The error then, by whether the scheduler is there.
pub(super) const fn unlike(weighted: bool) -> &'static str {
    if weighted { "the weighted scheduler has none" } else { "they are for the weighted scheduler" }
}

/// A connection over this number of accesses.
pub(super) fn mpquic(mpquic: &Mpquic, accesses: usize, at: &Place<'_>) -> Checked {
    let paths = mpquic.paths.as_ref().map_or(accesses, Vec::len);
    let help = format!("name from 1 to {SUBFLOWS_MAX} paths");
    at.require((1..=SUBFLOWS_MAX).contains(&paths), "paths", "too many paths", &help)?;
    let weighted = mpquic.scheduler == MpquicScheduler::Weighted;
    at.require(weighted == mpquic.weights.is_some(), "weights", unlike(weighted), WEIGHTS_HELP)?;
    if let Some(weights) = &mpquic.weights {
        let fits = weights.len() == paths && weights.iter().all(|weight| (1..=1_000).contains(weight));
        let help = format!("write a number from 1 to 1000 for each of the {paths} paths");
        at.require(fits, "weights", "out of range", &help)?;
    }
    let idle = mpquic.path_idle_timeout.0;
    let help = "it must be at least 10 ms, or 0 s for never";
    let lasts = idle.is_zero() || idle >= PATH_IDLE_MIN;
    at.require(lasts, "path_idle_timeout", "too short for keep-alives", help)?;
    settings(&mpquic.quic, &at.under("quic"))
}

/// The settings of QUIC that need its implementation over one path.
fn settings(quic: &Quic, at: &Place<'_>) -> Checked {
    let help = "use crypto = \"null\": packets have the sizes of AES-GCM";
    at.require(quic.crypto == QuicCrypto::Null, "crypto", "not supported over several paths", help)?;
    let help = "use timeouts = \"probe\"; that of picoquic is for transport = \"quic\"";
    let probes = quic.timeouts == QuicTimeouts::Probe;
    at.require(probes, "timeouts", "not supported over several paths", help)?;
    let help = "use pacing = \"quinn\", of which noq is a fork; that of picoquic is for transport = \"quic\"";
    at.require(quic.pacing == QuicPacing::Quinn, "pacing", "not supported over several paths", help)?;
    let plain = matches!(quic.loss_discriminator, LossDiscriminator::Legacy);
    let help = "leave it out";
    at.require(plain, "loss_discriminator", "not supported over several paths", help)?;
    let law = match quic.congestion {
        Congestion::Mdcc | Congestion::Pbe => Some("it needs information about one path"),
        Congestion::Dctcp | Congestion::Prague | Congestion::Abc | Congestion::C4 => {
            Some("it needs the number of congestion marks, which noq does not report")
        }
        _ => None,
    };
    at.require(law.is_none(), "congestion", law.unwrap_or_default(), "choose another controller")?;
    let marks = quic.ecn_max_rtt.is_none();
    let message = "BBRv3 needs the number of congestion marks for it, which noq does not report";
    at.require(marks, "ecn_max_rtt", message, help)
}

/// What QUIC over several paths is not combined with.
pub(super) fn unsupported(one: &Flow, scenario: &Resolved, at: &Place<'_>) -> Checked {
    let boxes =
        scenario.middlebox.iter().position(|one| matches!(one, Middlebox::SplitProxy(_) | Middlebox::Pep(_)));
    let help = "leave out the middlebox, or use transport = \"quic\"";
    at.require(boxes.is_none(), "transport", "QUIC over several paths does not pass middleboxes", help)?;
    for (set, key) in [
        (one.five_qi.is_some(), "five_qi"),
        (one.qos.is_some(), "qos"),
        (one.server_delay.is_some(), "server_delay"),
    ] {
        at.require(!set, key, "not supported over several paths", "leave it out")?;
    }
    Ok(())
}
