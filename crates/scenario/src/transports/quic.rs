//! QUIC: from the format to `airlane_quic`.

use std::sync::Arc;

use airlane_core::Seeds;
use airlane_quic::{self as quic, QuicConfig};

use crate::endpoints::Setup;
use crate::extensions::Extensions;
use crate::files::Files;
use crate::format::{Quic, QuicCrypto, QuicPacing, QuicTimeouts, Resolved, Transport};
use crate::quantity::Size;
use crate::rnis::loss_discrimination;

/// QUIC's configuration of a flow, for a server with sockets; `None` for a flow over another transport.
#[must_use]
pub fn quic_of(scenario: &Resolved, flow: usize, seeds: Seeds) -> Option<QuicConfig> {
    let Transport::Quic(quic) = &scenario.flow.get(flow)?.transport else { return None };
    let (extensions, files) = (Extensions::default(), Files::default());
    let setup = Setup { scenario, seeds, qlog: None, contents: &[], extensions: &extensions, files: &files };
    Some(quic_config(quic, setup, ""))
}

/// QUIC's configuration for the flow of this name: from the format to `airlane_quic`.
pub(super) fn quic_config(quic: &Quic, setup: Setup<'_>, name: &str) -> QuicConfig {
    let Setup { scenario, seeds, .. } = setup;
    let mtu = |size: Size| u16::try_from(size.0.get()).expect("checked when the scenario was resolved");
    let controller = quic.controller_keys();
    QuicConfig {
        congestion: quic.congestion.kind(),
        own: controller.own(setup),
        loss_discriminator: loss_discrimination(&quic.loss_discriminator, scenario),
        hystart: quic.hystart,
        laws: controller.laws(),
        slow_start: controller.slow_start(),
        timeouts: match quic.timeouts {
            QuicTimeouts::Probe => quic::QuicTimeouts::Probe,
            QuicTimeouts::Collapse => quic::QuicTimeouts::Collapse { floor: quic.rto_min.0 },
        },
        pacing: match quic.pacing {
            QuicPacing::Quinn => quic::QuicPacing::Quinn,
            QuicPacing::Picoquic2020 => quic::QuicPacing::Picoquic2020,
        },
        packet_threshold: quic.packet_threshold,
        time_threshold_permille: (quic.time_threshold * 1e3).round() as u32,
        persistent_congestion: Some(quic.persistent_congestion).filter(|n| *n > 0),
        initial_window: quic.initial_window,
        mtu: mtu(quic.mtu),
        initial_mtu: mtu(quic.initial_mtu),
        mtu_discovery: quic.mtu_discovery,
        stream_receive_window: quic.stream_window.0,
        receive_window: quic.connection_window.map(|size| size.0),
        send_window: quic.send_window.0,
        initial_rtt: quic.initial_rtt.0,
        idle_timeout: Some(quic.idle_timeout.0).filter(|span| !span.is_zero()),
        ecn: quic.ecn,
        crypto: match quic.crypto {
            QuicCrypto::Null => quic::QuicCrypto::Null,
            QuicCrypto::Tls => quic::QuicCrypto::Tls,
        },
        application: "airlane",
        sends_data: true, // set by the application
        seeds,
        qlog: setup.qlog.map(|files| (name.to_owned(), Arc::clone(files))),
    }
}
