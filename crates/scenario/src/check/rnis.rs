//! Checks of the radio network information service.

use super::{Checked, Place};
use crate::format::{App, Flow, FlowDirection, LossDiscriminator, Resolved, RnisFault, Transport};

pub(super) fn rnis(scenario: &Resolved, at: &Place<'_>) -> Checked {
    let Some(rnis) = &scenario.rnis else { return Ok(()) };
    let at = at.under("rnis");
    at.slots(rnis.period, "period", 1)?;
    match &rnis.fault {
        RnisFault::Silent(silent) => {
            let ordered = silent.until.is_none_or(|until| until > silent.from);
            at.require(ordered, "fault.until", "before it begins", "it must be above `from`")
        }
        RnisFault::Late(late) => at.positive(late.by, "fault.by"),
        RnisFault::None | RnisFault::Reorders(_) | RnisFault::WrongUe(_) | RnisFault::Nonsense(_) => Ok(()),
    }
}

/// Who listens to a base station needs one that speaks.
pub(super) fn discriminator(flow: &Flow, scenario: &Resolved, at: &Place<'_>) -> Checked {
    let discriminator = match &flow.transport {
        Transport::Tcp(tcp) => &tcp.loss_discriminator,
        Transport::Quic(quic) => &quic.loss_discriminator,
        Transport::Udp => return Ok(()),
    };
    let key = "transport.loss_discriminator";
    match discriminator {
        LossDiscriminator::MeldDe(_) | LossDiscriminator::MeldMe(_) => {
            let downlink = flow.direction == FlowDirection::Downlink;
            let help = "a base station tells servers of what goes to the UE; choose another";
            at.require(downlink, key, "of no use on the uplink", help)?;
            let listens = !matches!(flow.app, App::Web(_) | App::Video(_) | App::Dash(_));
            let help = "choose another: servers of pages and videos do not listen to a base station";
            at.require(listens, key, "of no use for pages and videos", help)?;
            let help = "add [rnis], or choose legacy, veno, ncpld or lda-eq";
            at.require(scenario.rnis.is_some(), key, "no base station says anything", help)
        }
        LossDiscriminator::LdaEq(usage) => {
            let inside = usage.threshold.0 > 0.0 && usage.threshold.0 < 1.0;
            let help = "above 0 % and below 100 %";
            at.require(inside, &format!("{key}.threshold"), "no part of a queue", help)
        }
        LossDiscriminator::Legacy | LossDiscriminator::Veno | LossDiscriminator::Ncpld => Ok(()),
    }
}
