//! Checks of the radio network information service.

use super::{Checked, Place, whole_subframes};
use crate::format::{Cell, Flow, FlowDirection, LossDiscriminator, MeldThreshold, Resolved, RnisFault};
use crate::quantity::Size;

pub(super) fn rnis(scenario: &Resolved, at: &Place<'_>) -> Checked {
    let Some(rnis) = &scenario.rnis else { return Ok(()) };
    let at = at.under("rnis");
    whole_subframes(&at, rnis.period, "period", 1)?;
    match &rnis.fault {
        RnisFault::Silent(silent) => {
            let ordered = silent.until.is_none_or(|until| until > silent.from);
            at.require(ordered, "fault.until", "not after `from`", "it must be above `from`")
        }
        RnisFault::Late(late) => at.positive(late.by, "fault.by"),
        RnisFault::None | RnisFault::Reorders(_) | RnisFault::WrongUe(_) | RnisFault::Nonsense(_) => Ok(()),
    }
}

/// PBE-CC needs a service that reports the use of the cell.
pub(super) fn law(flow: &Flow, scenario: &Resolved, at: &Place<'_>) -> Checked {
    const USER: User = User {
        key: "transport.congestion",
        instead: "another controller",
        without_service: "another controller",
    };
    if flow.transport.needs_cell_use() { listener(flow, scenario, &USER, at) } else { Ok(()) }
}

/// A sender that uses radio information needs a service that sends it.
pub(super) fn discriminator(flow: &Flow, scenario: &Resolved, at: &Place<'_>) -> Checked {
    let Some(discriminator) = flow.transport.loss_discriminator() else { return Ok(()) };
    const USER: User = User {
        key: "transport.loss_discriminator",
        instead: "another discriminator",
        without_service: "legacy, veno, ncpld or lda-eq",
    };
    let key = USER.key;
    match discriminator {
        LossDiscriminator::MeldDe(meld) => {
            listener(flow, scenario, &USER, at)?;
            inequality(meld.pdu, meld.harq_processes, at)
        }
        LossDiscriminator::MeldMe(meld) => {
            listener(flow, scenario, &USER, at)?;
            inequality(meld.pdu, meld.harq_processes, at)?;
            let mut sizes = scenario.cell.iter().map(Cell::block_sizes);
            let first = sizes.next();
            let one = sizes.all(|sizes| Some(sizes) == first);
            at.require(
                one || meld.threshold != MeldThreshold::Present,
                &format!("{key}.threshold"),
                "the cells have transport blocks of different sizes",
                "use the same mac.cqi_to_mcs, and in NR the same radio and resource_blocks, or choose as-run or derived",
            )
        }
        LossDiscriminator::LdaEq(usage) => {
            let inside = usage.threshold.0 > 0.0 && usage.threshold.0 < 1.0;
            let help = "it must be above 0 % and below 100 %";
            at.require(inside, &format!("{key}.threshold"), "out of range", help)
        }
        LossDiscriminator::Legacy
        | LossDiscriminator::Ignore
        | LossDiscriminator::Veno
        | LossDiscriminator::Ncpld => Ok(()),
    }
}

/// What uses radio information: its key, and what may replace it, also where there is no service.
struct User {
    key: &'static str,
    instead: &'static str,
    without_service: &'static str,
}

/// MELD and PBE-CC use the base station's information, which covers downlinks.
fn listener(flow: &Flow, scenario: &Resolved, user: &User, at: &Place<'_>) -> Checked {
    let &User { key, instead, without_service } = user;
    let downlink = flow.direction == FlowDirection::Downlink;
    let help = format!("radio network information describes the downlink; choose {instead}");
    at.require(downlink, key, "it does not work on the uplink", &help)?;
    let listens = flow.app.application().has_one_connection();
    let help = format!("choose {instead}");
    at.require(listens, key, "it does not work with web pages and videos", &help)?;
    let help = format!("add [rnis], or choose {without_service}");
    at.require(scenario.rnis.is_some(), key, "it needs [rnis]", &help)
}

/// The two sides of MELD's Inequality 1.
fn inequality(pdu: Size, harq_processes: u8, at: &Place<'_>) -> Checked {
    let key = |name: &str| format!("transport.loss_discriminator.{name}");
    let packet = (1..=65_535).contains(&pdu.0.get()); // the total length of an IP packet, RFC 791 §3.1
    at.require(packet, &key("pdu"), "out of range", "it must be from 1 B to 65535 B")?;
    // FDD has 8 in LTE, 16 with two layers (TS 36.213 §7), and at most 16 in NR, 32 from release 17 (TS 38.214 §5.1).
    let known = (1..=32).contains(&harq_processes);
    at.require(known, &key("harq_processes"), "out of range", "it must be from 1 to 32")
}
