//! The two ends of a flow: an application on a transport.

use airlane_core::{Direction, FlowId, Instant, Node, Seeds};
use airlane_traffic::{
    BurstParameters, Bursts, Datagrams, PpbpSender, Reading, TcpSink, TcpSource, Transfer, UdpSink, UdpSource,
};
use airlane_transport as transport;
use airlane_transport::congestion::LossDiscrimination;
use airlane_transport::{CongestionKind, Path, TcpConfig, UdpSender};

use crate::expand::OneFlow;
use crate::format::{
    App, Congestion, Growth, LossDetection, LossDiscriminator, Ppbp, PpbpReading, ReceiveWindow, Resolved,
    RttSampling, Tcp, Transport,
};
use crate::wiring::data_direction;

/// The server's end of a flow.
pub(crate) fn server(scenario: &Resolved, id: FlowId, one: &OneFlow, seeds: Seeds) -> Box<dyn Node> {
    endpoint(scenario, one, Path { flow: id, direction: Direction::Downlink }, seeds)
}

/// The end in the UE, or the host.
pub(crate) fn host(scenario: &Resolved, id: FlowId, one: &OneFlow, seeds: Seeds) -> Box<dyn Node> {
    endpoint(scenario, one, Path { flow: id, direction: Direction::Uplink }, seeds)
}

/// The end that sends along `path`: the source, if that is the way the data goes.
fn endpoint(scenario: &Resolved, one: &OneFlow, path: Path, seeds: Seeds) -> Box<dyn Node> {
    let flow = &scenario.flow[one.section];
    let is_source = data_direction(flow.direction) == path.direction;
    let start = one.start(scenario);
    let stop = flow.stop.map(|stop| Instant::ZERO + stop.0);
    let transfer = |app: &App| match app {
        App::Bulk => Transfer::Bulk,
        App::Fixed(fixed) => Transfer::Fixed(fixed.size.0),
        App::Cbr(_) | App::Ppbp(_) => unreachable!("checked when the scenario was resolved"),
    };
    match (&flow.transport, &flow.app) {
        (Transport::Tcp(tcp), app) if is_source => {
            Box::new(TcpSource::new(tcp_config(tcp, seeds), path, transfer(app), start, stop))
        }
        (Transport::Tcp(tcp), _) => Box::new(TcpSink::new(tcp_config(tcp, seeds), path, start)),
        (Transport::Udp, App::Cbr(cbr)) if is_source => {
            let stop = stop.unwrap_or(Instant::FAR_FUTURE);
            let sender = UdpSender::new(cbr.rate.0, cbr.payload.0, start, stop);
            Box::new(UdpSource::new(Datagrams::Constant(sender), path))
        }
        (Transport::Udp, App::Ppbp(ppbp)) if is_source => {
            let stop = stop.unwrap_or(Instant::ZERO + scenario.run.duration.0);
            let draws = seeds.stream(&format!("flow/{}/bursts", one.name));
            let bursts = Bursts::new(burst_parameters(ppbp), start, draws);
            let sender = PpbpSender::new(bursts, ppbp.rate.0, ppbp.payload.0, ppbp.spacing.0, stop);
            Box::new(UdpSource::new(Datagrams::Bursts(Box::new(sender)), path))
        }
        (Transport::Udp, _) => Box::new(UdpSink::new()),
    }
}

/// A burst process in the words of its implementation.
pub(crate) const fn burst_parameters(ppbp: &Ppbp) -> BurstParameters {
    BurstParameters {
        active: ppbp.active,
        length: ppbp.length.0,
        hurst: ppbp.hurst,
        reading: match ppbp.reading {
            PpbpReading::Module => Reading::Module,
            PpbpReading::Literal => Reading::Literal,
        },
    }
}

/// A controller in the words of the transport.
pub(crate) fn congestion_kind(congestion: Congestion) -> CongestionKind {
    match congestion {
        Congestion::Cubic => CongestionKind::Cubic,
        Congestion::NewReno => CongestionKind::NewReno,
        Congestion::Scalable => CongestionKind::Scalable,
        Congestion::Vegas => CongestionKind::Vegas,
        Congestion::Westwood => CongestionKind::Westwood,
        Congestion::Veno => CongestionKind::Veno,
        Congestion::Bbr => CongestionKind::Bbr,
        Congestion::Bbr3 => CongestionKind::Bbr3,
    }
}

/// TCP's settings in the words of its implementation.
fn tcp_config(tcp: &Tcp, seeds: Seeds) -> TcpConfig {
    let options = if tcp.timestamps { 12 } else { 0 }; // RFC 7323 appendix A
    let mss_mtu = tcp.mss.map_or(u64::MAX, |mss| mss.0.get() + 40 + options);
    TcpConfig {
        congestion: congestion_kind(tcp.congestion),
        loss_discriminator: match tcp.loss_discriminator {
            LossDiscriminator::None => LossDiscrimination::None,
            LossDiscriminator::Veno => LossDiscrimination::Veno,
        },
        growth: match tcp.growth {
            Growth::PerSegment => transport::Growth::PerSegment,
            Growth::PerAck => transport::Growth::PerAck,
        },
        timestamps: tcp.timestamps,
        sack: tcp.sack,
        window_scaling: tcp.window_scaling,
        delayed_ack: tcp.delayed_ack,
        compressed_sack: tcp.compressed_sack,
        initial_window_segments: tcp.initial_window,
        rto_min: tcp.rto_min.0,
        rto_max: tcp.rto_max.0,
        rto_initial: tcp.rto_initial.0,
        loss_detection: match tcp.loss_detection {
            LossDetection::RackTlp => transport::LossDetection::RackTlp,
            LossDetection::Rfc6675 => transport::LossDetection::Rfc6675,
        },
        frto: tcp.frto,
        hystart: tcp.hystart,
        slow_start_after_idle: tcp.slow_start_after_idle,
        rtt_from_sack: tcp.rtt_from_sack,
        rtt_sampling: match tcp.rtt_sampling {
            RttSampling::EachAck => transport::RttSampling::EachAck,
            RttSampling::OncePerWindow => transport::RttSampling::OncePerWindow,
            RttSampling::FrozenAfter(time) => transport::RttSampling::FrozenAfter(Instant::ZERO + time.0),
        },
        receive_window: match &tcp.receive_window {
            ReceiveWindow::Fixed(window) => transport::ReceiveWindowKind::Fixed(window.size.0),
            ReceiveWindow::Autotuned(window) => {
                transport::ReceiveWindowKind::Autotuned { initial: window.initial.0, max: window.max.0 }
            }
        },
        ecn: tcp.ecn,
        pacing: tcp.pacing,
        seeds,
        send_buffer: tcp.send_buffer.map(|size| size.0),
        write_size: tcp.write_size.map(|size| size.0),
        mtu: u16::try_from(tcp.mtu.0.get().min(mss_mtu)).expect("checked when the scenario was resolved"),
        initial_sequence: 0,
    }
}
