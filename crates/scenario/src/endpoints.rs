//! The two ends of a flow: an application on a transport.

use std::sync::Arc;

use airlane_core::{Direction, Ecn, FlowId, Instant, Node, Seeds};
use airlane_engine::Exit;
use airlane_quic::{self as quic, QlogFiles, QuicConfig};
use airlane_traffic::dialogue::Dialogue;
use airlane_traffic::http::Message;
use airlane_traffic::{
    Pace, PingResponder, PingSource, Pings, QuicClient, QuicServer, QuicTransfer, TcpSink, TcpSource,
    Transfer, UdpSink, UdpSource, Writes,
};
use airlane_transport as transport;
use airlane_transport::congestion::{
    self, ArwaSender, CodeStep, CubicConfig, MdccConfig, OwnControllers, PragueConfig, SlowStart,
    SlowStartRules,
};
use airlane_transport::window::{ArwaReceiver, CaseTwo, DelayMeasure, DrwaReceiver, OldCode};
use airlane_transport::{Path, TcpConfig};

use crate::datagrams::datagrams;
use crate::expand::OneFlow;
use crate::files::Files;
use crate::format::{
    App, ArwaCaseTwo, ArwaDelay, ArwaObeys, ArwaOldCode, ArwaSlowStart, ArwaStep, ArwaWindow, Congestion,
    CubicEpoch, CubicVariant, FlowDirection, Growth, InflightScope, LossDetection, Mdcc, Quic, QuicCrypto,
    QuicPacing, QuicTimeouts, RateReduction, ReceiveBuffer, ReceiveWindow, Resolved, RttSampling, Tcp,
    Transport, UdpEcn,
};
use crate::middlebox;
use crate::quantity::{Share, Size, Time};
use crate::rnis::{self, loss_discrimination};
use crate::run::Own;
use crate::viewing;
use crate::web::{self, Carrier, Web};
use crate::wiring::data_direction;

/// The data that the ends of all flows share.
#[derive(Clone, Copy)]
pub(crate) struct Setup<'a> {
    pub(crate) scenario: &'a Resolved,
    pub(crate) seeds: Seeds,
    /// The qlog files for the ends of QUIC, if qlog is enabled.
    pub(crate) qlog: Option<&'a Arc<QlogFiles>>,
    /// The pages of browsers and the dialogues of their ends, by flow.
    pub(crate) webs: &'a [Option<Web>],
    /// The HTTP dialogue of each flow's two ends.
    pub(crate) dialogues: &'a [Dialogue<Message>],
    /// Users' own controllers and scheduler policies.
    pub(crate) own: &'a Own,
    /// The source of the files that the scenario names.
    pub(crate) files: &'a Files,
}

fn written(told: &crate::format::Writes) -> Writes {
    let pace = match told.rate {
        Some(rate) => Pace::Rate(rate.0),
        None if told.pause => Pace::Nothing,
        None => Pace::Everything,
    };
    Writes { at: Instant::ZERO + told.at.0, pace }
}

/// The server's end of a flow.
pub(crate) fn server(setup: Setup<'_>, id: FlowId, one: &OneFlow) -> Box<dyn Node> {
    endpoint(setup, one, Path::new(id, Direction::Downlink))
}

/// The end in the UE, or the host.
pub(crate) fn host(setup: Setup<'_>, id: FlowId, one: &OneFlow) -> Box<dyn Node> {
    endpoint(setup, one, Path::new(id, Direction::Uplink))
}

/// The end that sends along `path`: the source, if this is the direction of the data.
fn endpoint(setup: Setup<'_>, one: &OneFlow, path: Path) -> Box<dyn Node> {
    let scenario = setup.scenario;
    let flow = &scenario.flow[one.section];
    let is_source = data_direction(flow.direction) == path.direction;
    let start = one.start(scenario);
    let stop = flow.stop.map(|stop| Instant::ZERO + stop.0);
    match (&flow.transport, &flow.app) {
        (Transport::Tcp(tcp), App::Web(app)) => {
            web::end(setup, one, path, (app, Carrier::Tcp(tcp_config(tcp, setup))))
        }
        (Transport::Quic(quic), App::Web(app)) => {
            let config = quic_config(quic, setup, &one.name);
            web::end(setup, one, path, (app, Carrier::Quic(config)))
        }
        (Transport::Tcp(tcp), App::Video(_) | App::Dash(_)) => {
            viewing::end(setup, one, path, Carrier::Tcp(tcp_config(tcp, setup)))
        }
        (Transport::Quic(quic), App::Dash(_)) => {
            viewing::end(setup, one, path, Carrier::Quic(quic_config(quic, setup, &one.name)))
        }
        (Transport::Tcp(tcp), _) if is_source => tcp_source(tcp, setup, one, path),
        (Transport::Tcp(tcp), _) => Box::new(TcpSink::new(tcp_config(tcp, setup), path, start)),
        (Transport::Udp(udp), app) if is_source => {
            let ecn = match udp.ecn {
                UdpEcn::NotEct => Ecn::NotCapable,
                UdpEcn::Ect0 => Ecn::Capable0,
                UdpEcn::Ect1 => Ecn::Capable1,
            };
            Box::new(UdpSource::new(datagrams(setup, one, app, start, stop), path).with_ecn(ecn))
        }
        (Transport::Udp(_), _) => Box::new(UdpSink::new()),
        (Transport::Icmp, App::Ping(ping)) if is_source => {
            let stop = stop.unwrap_or(Instant::ZERO + scenario.run.duration.0);
            let (interval, payload) = (ping.interval.0, ping.payload.0);
            let count = ping.count.map_or(u64::MAX, u64::from);
            Box::new(PingSource::new(Pings { start, stop, interval, payload, count }, path))
        }
        (Transport::Icmp, _) => Box::new(PingResponder::new(path)),
        (Transport::External, _) => Box::new(Exit::new()),
        (Transport::Kernel(kernel), _) => match kernel.simulated(path.direction == Direction::Downlink) {
            None => Box::new(Exit::of_streams()),
            Some(tcp) if is_source => tcp_source(tcp, setup, one, path),
            Some(tcp) => Box::new(TcpSink::new(tcp_config(tcp, setup), path, start)),
        },
        (Transport::Quic(quic), _) => quic_end(quic, setup, one, path),
    }
}

/// The amount of data of an application that only sends.
fn transfer(app: &App) -> Transfer {
    match app {
        App::Bulk => Transfer::Bulk,
        App::Fixed(fixed) => Transfer::Fixed(fixed.size.0),
        App::Cbr(_)
        | App::Ppbp(_)
        | App::OnOff(_)
        | App::Web(_)
        | App::Video(_)
        | App::Dash(_)
        | App::Ping(_) => {
            unreachable!("checked when the scenario was resolved")
        }
    }
}

/// The sender of a TCP flow.
fn tcp_source(tcp: &Tcp, setup: Setup<'_>, one: &OneFlow, path: Path) -> Box<dyn Node> {
    let scenario = setup.scenario;
    let flow = &scenario.flow[one.section];
    let start = one.start(scenario);
    let stop = flow.stop.map(|stop| Instant::ZERO + stop.0);
    let config = tcp_config(tcp, setup);
    let source = match &flow.app {
        app @ App::OnOff(_) => TcpSource::new(config, path, Transfer::Bulk, start, stop)
            .with_process(datagrams(setup, one, app, start, stop)),
        app => TcpSource::new(config, path, transfer(app), start, stop),
    };
    let source = match &flow.writes {
        Some(writes) => source.with_writes(writes.iter().map(written).collect()),
        None => source,
    };
    let source = match rnis::consumer(scenario, path.flow, one) {
        Some(consumer) => source.with_information(consumer),
        None => source,
    };
    match middlebox::receiver(scenario, path.flow) {
        Some(receiver) if tcp.congestion == Congestion::Mdcc => Box::new(source.with_pep(receiver)),
        _ => Box::new(source),
    }
}

/// An end of a QUIC flow: the client is in the UE.
fn quic_end(quic: &Quic, setup: Setup<'_>, one: &OneFlow, path: Path) -> Box<dyn Node> {
    let scenario = setup.scenario;
    let flow = &scenario.flow[one.section];
    let start = one.start(scenario);
    let stop = flow.stop.map(|stop| Instant::ZERO + stop.0);
    let objects = if let App::Fixed(fixed) = &flow.app { fixed.objects } else { 1 };
    let to_host = flow.direction == FlowDirection::Downlink;
    let transfer = QuicTransfer { transfer: transfer(&flow.app), objects, start, stop, to_host };
    let config = quic_config(quic, setup, &one.name);
    match path.direction {
        Direction::Downlink => {
            let server = QuicServer::new(config, path, transfer);
            let server = match middlebox::receiver(scenario, path.flow) {
                Some(receiver) if quic.congestion == Congestion::Mdcc => server.with_pep(receiver),
                _ => server,
            };
            match rnis::consumer(scenario, path.flow, one) {
                Some(consumer) => Box::new(server.with_information(consumer)),
                None => Box::new(server),
            }
        }
        Direction::Uplink => Box::new(QuicClient::new(config, path, transfer)),
    }
}

/// The user's controller with this name; `run::build_from` has checked that it is there.
fn own_controller(name: Option<&str>, setup: Setup<'_>) -> Option<OwnControllers> {
    setup.own.controllers.get(name?).cloned()
}

fn mdcc_config(mdcc: Option<&Mdcc>) -> MdccConfig {
    mdcc.map_or(MdccConfig::PAPER, |mdcc| MdccConfig {
        acks_per_increase: (1.0 / mdcc.increase).round() as u32,
        inflight_scope: match mdcc.inflight_scope {
            InflightScope::EndToEnd => congestion::InflightScope::EndToEnd,
            InflightScope::PerDomain => congestion::InflightScope::PerDomain,
        },
        wired_queue: mdcc.wired_queue.map(|time| time.0),
    })
}

fn cubic_config(variant: CubicVariant, beta: f64, epoch: Option<CubicEpoch>) -> CubicConfig {
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

fn slow_start_rules(rtt_exit: bool, loss: Share) -> SlowStartRules {
    SlowStartRules { rtt_exit, loss_max_ppm: (loss.0 * 1e6).round() as u32 }
}

/// QUIC's configuration of a flow, for a server with sockets; `None` for a flow over another transport.
#[must_use]
pub fn quic_of(scenario: &Resolved, flow: usize, seeds: Seeds) -> Option<QuicConfig> {
    let Transport::Quic(quic) = &scenario.flow.get(flow)?.transport else { return None };
    let (own, files) = (Own::default(), Files::default());
    let setup = Setup { scenario, seeds, qlog: None, webs: &[], dialogues: &[], own: &own, files: &files };
    Some(quic_config(quic, setup, ""))
}

/// QUIC's configuration for the flow of this name: from the format to `airlane_quic`.
fn quic_config(quic: &Quic, setup: Setup<'_>, name: &str) -> QuicConfig {
    let Setup { scenario, seeds, .. } = setup;
    let mtu = |size: Size| u16::try_from(size.0.get()).expect("checked when the scenario was resolved");
    QuicConfig {
        congestion: quic.congestion.kind(),
        own: own_controller(quic.controller.as_deref(), setup),
        loss_discriminator: loss_discrimination(&quic.loss_discriminator, scenario),
        hystart: quic.hystart,
        cubic: cubic_config(quic.cubic, quic.cubic_beta, quic.cubic_epoch),
        abe: quic.abe.unwrap_or(false),
        ecn_max_rtt: quic.ecn_max_rtt.map(|rtt| rtt.0),
        prague: PragueConfig { classic_fallback: quic.classic_fallback.unwrap_or(false) },
        mdcc: mdcc_config(quic.mdcc.as_ref()),
        slow_start: slow_start_rules(quic.slow_start_rtt_exit, quic.slow_start_loss),
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

/// TCP's configuration: from the format to `airlane_transport`.
pub(crate) fn tcp_config(tcp: &Tcp, setup: Setup<'_>) -> TcpConfig {
    let options = if tcp.timestamps { 12 } else { 0 }; // RFC 7323 appendix A
    let mss_mtu = tcp.mss.map_or(u64::MAX, |mss| mss.0.get() + 40 + options);
    TcpConfig {
        congestion: tcp.congestion.kind(),
        own: own_controller(tcp.controller.as_deref(), setup),
        loss_discriminator: loss_discrimination(&tcp.loss_discriminator, setup.scenario),
        cubic: cubic_config(tcp.cubic, tcp.cubic_beta, tcp.cubic_epoch),
        abe: tcp.abe.unwrap_or(false),
        ecn_max_rtt: tcp.ecn_max_rtt.map(|rtt| rtt.0),
        prague: PragueConfig { classic_fallback: tcp.classic_fallback.unwrap_or(false) },
        slow_start: slow_start_rules(tcp.slow_start_rtt_exit, tcp.slow_start_loss),
        mdcc: mdcc_config(tcp.mdcc.as_ref()),
        growth: match tcp.growth {
            Growth::PerSegment => transport::Growth::PerSegment,
            Growth::PerAck => transport::Growth::PerAck,
        },
        timestamps: tcp.timestamps,
        sack: tcp.sack,
        window_scaling: tcp.window_scaling,
        delayed_ack: tcp.delayed_ack,
        compressed_sack: tcp.compressed_sack,
        gro: tcp.gro.unwrap_or(false),
        batched_reads: tcp.batched_reads.unwrap_or(false),
        gso: tcp.gso.unwrap_or(false),
        initial_window_segments: tcp.initial_window,
        rto_min: tcp.rto_min.0,
        rto_max: tcp.rto_max.0,
        rto_initial: tcp.rto_initial.0,
        syn_retries: tcp.syn_retries,
        syn_linear_timeouts: tcp.syn_linear_timeouts,
        synack_retries: tcp.synack_retries,
        retries: tcp.retries,
        loss_detection: match tcp.loss_detection {
            LossDetection::RackTlp => transport::LossDetection::RackTlp,
            LossDetection::Rfc6675 => transport::LossDetection::Rfc6675,
        },
        careful_fast_retransmit: tcp.careful_fast_retransmit,
        frto: tcp.frto,
        hystart: tcp.hystart,
        rate_reduction: match tcp.rate_reduction {
            RateReduction::Proportional => transport::RateReductionKind::Proportional,
            RateReduction::Halving => transport::RateReductionKind::Halving,
        },
        slow_start_after_idle: tcp.slow_start_after_idle,
        rtt_from_sack: tcp.rtt_from_sack,
        rtt_sampling: match tcp.rtt_sampling {
            RttSampling::EachAck => transport::RttSampling::EachAck,
            RttSampling::OncePerWindow => transport::RttSampling::OncePerWindow,
            RttSampling::FrozenAfter(time) => transport::RttSampling::FrozenAfter(Instant::ZERO + time.0),
        },
        receive_window: receive_window(&tcp.receive_window),
        obeys_codes: match &tcp.receive_window {
            ReceiveWindow::Arwa(window) => Some(arwa_sender(window)),
            ReceiveWindow::Fixed(_) | ReceiveWindow::Autotuned(_) | ReceiveWindow::Drwa(_) => None,
        },
        ecn: tcp.ecn.config(),
        pacing: tcp.pacing,
        seeds: setup.seeds,
        send_buffer: tcp.send_buffer.map(|size| size.0),
        write_size: tcp.write_size.map(|size| size.0),
        nagle: tcp.nagle,
        mtu: u16::try_from(tcp.mtu.0.get().min(mss_mtu)).expect("checked when the scenario was resolved"),
        initial_sequence: 0,
    }
}

fn receive_window(window: &ReceiveWindow) -> transport::ReceiveWindowKind {
    match window {
        ReceiveWindow::Fixed(window) => transport::ReceiveWindowKind::Fixed(window.size.0),
        ReceiveWindow::Autotuned(window) => {
            transport::ReceiveWindowKind::Autotuned { initial: window.initial.0, max: window.max.0 }
        }
        ReceiveWindow::Drwa(window) => transport::ReceiveWindowKind::Drwa(DrwaReceiver {
            buffer: receive_buffer(&window.buffer),
            floor_segments: window.floor,
            lambda_millionths: millionths(window.lambda),
            alpha_millionths: u32::try_from(millionths(window.alpha)).expect("checked to be below one"),
        }),
        ReceiveWindow::Arwa(window) => transport::ReceiveWindowKind::Arwa(arwa_receiver(window)),
    }
}

/// A positive factor, which has been checked, in millionths.
fn millionths(factor: f64) -> u64 {
    (factor * 1e6).round() as u64
}

fn receive_buffer(buffer: &ReceiveBuffer) -> transport::ReceiveBuffer {
    match buffer {
        ReceiveBuffer::Fixed(window) => transport::ReceiveBuffer::Fixed(window.size.0),
        ReceiveBuffer::Autotuned(window) => {
            transport::ReceiveBuffer::Autotuned { initial: window.initial.0, max: window.max.0 }
        }
    }
}

fn arwa_receiver(window: &ArwaWindow) -> ArwaReceiver {
    let ns = |time: Time| i64::try_from(time.0.as_nanos()).expect("a time has a limit below 2^63 ns");
    ArwaReceiver {
        buffer: receive_buffer(&window.buffer),
        delay: match window.delay {
            ArwaDelay::OneWay => DelayMeasure::OneWay,
            ArwaDelay::Relative => DelayMeasure::Relative,
            ArwaDelay::RoundTrip => DelayMeasure::RoundTrip,
        },
        clock_offset_ns: ns(window.clock_ahead) - ns(window.clock_behind),
        short_segments: window.short_segments,
        case_two: match window.case_two {
            ArwaCaseTwo::Scaled => CaseTwo::Scaled,
            ArwaCaseTwo::Difference => CaseTwo::Difference,
        },
        old_code: match window.old_code {
            ArwaOldCode::Lessened => OldCode::Lessened,
            ArwaOldCode::Estimated => OldCode::Estimated,
        },
    }
}

fn arwa_sender(window: &ArwaWindow) -> ArwaSender {
    let step = |step: ArwaStep| match step {
        ArwaStep::Percent => CodeStep::Percent,
        ArwaStep::Bytes => CodeStep::Bytes,
    };
    ArwaSender {
        cut: step(window.cut),
        gain: step(window.gain),
        window_min: window.window_min.0,
        upper_target: window.upper_target.0,
        only_changes: window.obeys == ArwaObeys::Changes,
        slow_start: match window.slow_start {
            ArwaSlowStart::GoesOn => SlowStart::GoesOn,
            ArwaSlowStart::Ends => SlowStart::Ends,
        },
    }
}
