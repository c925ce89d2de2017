//! The sinks of a run.

use airlane_core::{FlowId, Instant, UeId};
use airlane_record::{
    BearerDescription, CaptureFlow, CaptureParameters, CapturePoint, CaptureSubflow, CellDescription,
    FlowDescription, Recorder, RecorderParameters, Satisfaction, Sinks,
};
use airlane_scenario::applications;
use airlane_scenario::endpoints::Setup;
use airlane_scenario::expand::{Leg, OneFlow, OneUe, Route};
use airlane_scenario::format::{
    self, App, Cell, Congestion, FlowDirection, Quic, ReceiveWindow, Resolved, Tcp, Transport,
};
use airlane_scenario::real::{HOST, host_names};
use airlane_scenario::transports::{fresh_ports, path_names, subflow_ports};
use airlane_scenario::{middlebox, rnis};
use airlane_transport::congestion::LossDiscrimination;

/// The sinks of the scenario; captures start when their folder is known.
pub(crate) fn sinks(
    scenario: &Resolved,
    ues: &[OneUe],
    flows: &[OneFlow],
    pages: Vec<Vec<String>>,
    bearers: Vec<BearerDescription>,
) -> Sinks {
    let parameters = RecorderParameters { pages, bearers, ..recorder_parameters(scenario, ues, flows) };
    Sinks { recorder: Recorder::new(parameters), capture: None, own: None }
}

/// Adds flows and UEs to the sinks of a running scenario.
pub(crate) fn extend(
    sinks: &mut Sinks,
    setup: Setup<'_>,
    ues: &[OneUe],
    flows: &[OneFlow],
    bearers: Vec<BearerDescription>,
) {
    let scenario = setup.scenario;
    let pages = applications::page_names(setup.contents);
    sinks.recorder.extend(RecorderParameters { pages, bearers, ..recorder_parameters(scenario, ues, flows) });
    if let Some((capture, parameters)) = sinks.capture.as_mut().zip(capture_parameters(scenario, ues, flows))
    {
        capture.extend(&parameters);
    }
}

/// The parameters of captures, if there are any.
pub(crate) fn capture_parameters(
    scenario: &Resolved,
    ues: &[OneUe],
    flows: &[OneFlow],
) -> Option<CaptureParameters> {
    let point = |point: &format::CapturePoint| match point {
        format::CapturePoint::Server => CapturePoint::Server,
        format::CapturePoint::Ue => CapturePoint::Ue,
        format::CapturePoint::S1u => CapturePoint::S1u,
    };
    let direction = |flow: &OneFlow| scenario.flow[flow.section].direction.data();
    let flow = |(flow, ue): (&OneFlow, u32)| CaptureFlow {
        ue,
        direction: direction(flow),
        tcp: matches!(
            scenario.flow[flow.section].transport,
            Transport::Tcp(_) | Transport::Kernel(_) | Transport::Mptcp(_)
        ),
    };
    let points: Vec<CapturePoint> = scenario.output.pcap.iter().map(point).collect();
    (!points.is_empty()).then(|| CaptureParameters {
        points,
        snaplen: u32::try_from(scenario.output.snaplen.0.get()).expect("checked: at most 65535"),
        flows: flows.iter().zip(hosts(flows)).map(flow).collect(),
        ues: host_names(ues),
        cells: cell_names(scenario),
        subflows: capture_subflows(scenario, flows),
    })
}

/// The subflows of all flows over Multipath TCP, and the paths of those over QUIC.
fn capture_subflows(scenario: &Resolved, flows: &[OneFlow]) -> Vec<CaptureSubflow> {
    let of_flow = |(flow, one): (FlowId, &OneFlow)| {
        let own = one.ue.unwrap_or(0) as u32;
        let subflow = move |(ue_port, route): (u16, &Route)| match *route {
            Route::Ue(ue) => CaptureSubflow { flow, ue_port, ue: ue as u32, link: None },
            Route::Internet => CaptureSubflow { flow, ue_port, ue: own, link: None },
            Route::Link(link) => CaptureSubflow { flow, ue_port, ue: own, link: Some(link as u32) },
        };
        let ports = subflow_ports(scenario, flow, one);
        let fresh = fresh_ports(scenario, flow, one);
        let fresh = fresh.iter().map(|(port, route)| subflow((*port, route))).collect::<Vec<_>>();
        ports.into_iter().zip(&one.routes).map(subflow).chain(fresh).collect::<Vec<_>>()
    };
    (0..).map(FlowId).zip(flows).flat_map(of_flow).collect()
}

/// The names of the paths of each flow; empty if no flow has several.
fn paths(scenario: &Resolved, flows: &[OneFlow]) -> Vec<Vec<String>> {
    let has_any = scenario.flow.iter().any(|flow| flow.transport.is_multipath());
    if has_any { flows.iter().map(|one| path_names(scenario, one)).collect() } else { vec![] }
}

/// For each flow the index of its UE, or of the host.
fn hosts(flows: &[OneFlow]) -> Vec<u32> {
    flows.iter().map(|flow| flow.ue.unwrap_or(0) as u32).collect()
}

fn cell_names(scenario: &Resolved) -> Vec<String> {
    scenario.cell.iter().map(|cell| cell.name.clone()).collect()
}

/// The name of the controller in results.
fn controller_name(tcp: &Tcp) -> &str {
    tcp.controller.as_deref().unwrap_or_else(|| tcp.congestion.kind().name())
}

fn quic_controller_name(quic: &Quic) -> &str {
    quic.controller.as_deref().unwrap_or_else(|| quic.congestion.kind().name())
}

/// A flow for the recorder.
fn flow_description(scenario: &Resolved, ues: &[OneUe], one: &OneFlow) -> FlowDescription {
    let flow = &scenario.flow[one.section];
    let (kind, congestion) = match &flow.transport {
        Transport::Udp(_) => ("udp", flow.app.rate_controller().unwrap_or("")),
        Transport::Icmp => ("icmp", ""),
        Transport::External => ("ip", ""),
        Transport::Kernel(kernel) => {
            let sender = kernel.simulated(flow.direction == FlowDirection::Downlink);
            ("kernel", sender.map_or(kernel.congestion.as_str(), controller_name))
        }
        Transport::Mptcp(mptcp) => ("mptcp", mptcp.congestion_name()),
        Transport::Tcp(tcp) => ("tcp", controller_name(tcp)),
        Transport::Quic(quic) => ("quic", quic_controller_name(quic)),
        Transport::Mpquic(mpquic) => ("mpquic", quic_controller_name(&mpquic.quic)),
    };
    let (to, direction) = match one.leg() {
        Some(Leg::First) => (&flow.from, flow.direction.data().reversed()),
        Some(Leg::Second) | None => (&flow.to, flow.direction.data()),
    };
    FlowDescription {
        name: one.name.clone(),
        to: to.clone().unwrap_or_else(|| HOST.to_owned()),
        ue: one.ue.map(|ue| (ues[ue].name.clone(), UeId(ue as u32))),
        kind: kind.to_owned(),
        congestion: congestion.to_owned(),
        app: match &flow.transport {
            Transport::External => String::new(),
            Transport::Kernel(kernel) if kernel.exec.is_some() => String::new(),
            // It delivers no media, and fairness is between flows of one application.
            _ if one.leg() == Some(Leg::First) => "relay".to_owned(),
            _ => flow.app.kind().to_owned(),
        },
        direction,
        both_directions: match &flow.transport {
            Transport::External => true,
            Transport::Kernel(kernel) => kernel.exec.is_some(),
            Transport::Udp(_) => flow.app.carries_both_directions(),
            Transport::Tcp(_)
            | Transport::Quic(_)
            | Transport::Mptcp(_)
            | Transport::Mpquic(_)
            | Transport::Icmp => false,
        },
        start: one.start(scenario),
        stop: flow.stop.map(|stop| Instant::ZERO + stop.0),
        streams: matches!(flow.transport, Transport::Tcp(_) | Transport::Kernel(_))
            && !flow.transport.is_multipath(),
        proxies: match &flow.transport {
            Transport::Tcp(_) | Transport::Kernel(_) | Transport::External => {
                middlebox::split_places(scenario)
            }
            Transport::Udp(_)
            | Transport::Quic(_)
            | Transport::Mptcp(_)
            | Transport::Mpquic(_)
            | Transport::Icmp => String::new(),
        },
    }
}

/// The names and settings for the recorder.
fn recorder_parameters(scenario: &Resolved, ues: &[OneUe], flows: &[OneFlow]) -> RecorderParameters {
    let cell = |cell: &Cell| CellDescription {
        name: cell.name.clone(),
        downlink_prbs: cell.resource_blocks,
        uplink_prbs: cell.resource_blocks,
        slot: cell.slot(),
        pattern: cell.slot_directions(),
        harq_transmissions: if cell.harq { cell.mac.harq_transmissions } else { 1 },
        bler_target: match &cell.mac.mcs_rule {
            format::McsRule::WorstSubband => None,
            format::McsRule::Effective(rule) => Some(rule.target_bler.0),
        },
    };
    let output = &scenario.output;
    let listens = |flow: &format::Flow| matches!(&flow.transport, Transport::Tcp(tcp) if tcp.congestion == Congestion::Mdcc);
    let discriminators: Vec<_> = flows.iter().map(|flow| discriminator_name(scenario, flow)).collect();
    let discriminates = |name: &String| !name.is_empty() && name != LossDiscrimination::None.name();
    RecorderParameters {
        information: scenario.rnis.is_some(),
        discriminators: if scenario.rnis.is_some() || discriminators.iter().any(discriminates) {
            discriminators
        } else {
            vec![]
        },
        pep: scenario.middlebox.iter().any(|one| matches!(one, format::Middlebox::Pep(_)))
            || scenario.flow.iter().any(listens),
        flows: flows.iter().map(|flow| flow_description(scenario, ues, flow)).collect(),
        cells: scenario.cell.iter().map(cell).collect(),
        ues: ues.len(),
        hosts: host_names(ues),
        warmup: Instant::ZERO + scenario.run.warmup.0,
        end: Instant::ZERO + scenario.run.duration.0,
        bin: Some(scenario.run.series_bin.0),
        handovers: scenario.handover.is_some(),
        connections: scenario.cell.iter().any(|cell| !cell.interferer && !cell.rrc.is_always_connected()),
        carriers: scenario.ue.iter().any(|ue| ue.carriers.is_some()),
        uplink_carriers: scenario.ue.iter().any(|ue| ue.uplink_carriers.is_some()),
        secondary_nodes: scenario.ue.iter().any(|ue| ue.secondary_node.is_some()),
        codes: scenario.flow.iter().any(sends_codes),
        pings: scenario.flow.iter().any(|flow| matches!(flow.app, App::Ping(_))),
        media: scenario.flow.iter().any(|flow| matches!(flow.app, App::Rtc(_))),
        frames: scenario.flow.iter().any(|flow| matches!(flow.app, App::Xr(_))),
        pages: vec![],   // set by the caller that has read them
        bearers: vec![], // set by the caller that knows which were admitted
        viewers: viewers(scenario, flows),
        tracked: scenario.run.ue_series && !ues.is_empty(),
        sleeps: scenario.cell.iter().any(Cell::sleeps),
        ran_log: output.ran_log,
        deliveries: output.deliveries,
        losses: output.losses,
        proxies: if output.proxy_series { middlebox::proxy_names(scenario) } else { vec![] },
        path_models: output.path_model,
        paths: paths(scenario, flows),
    }
}

/// The flows with video viewers.
fn viewers(scenario: &Resolved, flows: &[OneFlow]) -> Vec<(FlowId, Satisfaction)> {
    let viewers = (0..).map(FlowId).zip(flows);
    let viewer = |(id, one): (_, &OneFlow)| Some((id, scenario.flow[one.section].app.satisfaction()?));
    viewers.filter_map(viewer).collect()
}

/// The name of a flow's loss discriminator; empty if it has none.
fn discriminator_name(scenario: &Resolved, flow: &OneFlow) -> String {
    let own = rnis::discriminator_of(scenario, flow);
    own.map_or("", |own| rnis::loss_discrimination(own, scenario).name()).to_owned()
}

fn sends_codes(flow: &format::Flow) -> bool {
    matches!(&flow.transport, Transport::Tcp(tcp) if matches!(tcp.receive_window, ReceiveWindow::Arwa(_)))
}
