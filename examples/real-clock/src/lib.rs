//! A cell that follows a clock of the host: a program sends datagrams through it in real time, while a simulated
//! download uses the same cell.

use airlane_assembly::{Built, FlowEnd, build};
use airlane_core::{Direction, Duration, FlowId, Header, Instant, Packet, Payload, UdpHeader, UeId};
use airlane_engine::{Late, Pace};
use airlane_scenario::{Scenario, ScenarioError};

/// A phone 300 m away that downloads.
const CELL: &str = r#"
network = "typical"
[run]
duration = "60 s"
[[cell]]
name = "a"
position = ["0 m", "0 m"]
[[ue]]
name = "phone"
position = ["300 m", "0 m"]
[[flow]]
name = "download"
to = "phone"
direction = "downlink"
app = "bulk"
transport = "tcp"
"#;

/// A clock of the host, and a way to wait for it.
pub trait HostClock {
    /// Nanoseconds since any fixed point; never less than before.
    fn now_ns(&mut self) -> u64;
    /// Returns when the clock shows this time, or later.
    fn wait_until(&mut self, ns: u64);
}

/// The choice of a host that was stalled beyond its bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AfterStall {
    /// The missed events happen at their own virtual times; their packets leave late.
    Replay,
    /// The stall is taken out of virtual time.
    Jump,
}

/// The outcome of a session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// One-way delays of the datagrams through internet, core and cell, in virtual time.
    pub delays: Vec<Duration>,
    /// Stalls beyond the bound.
    pub stalls: Vec<Duration>,
}

/// Sends a datagram to the phone every 100 ms for a time, in step with the host's clock. A stall of more than 5 ms
/// is reported.
///
/// # Errors
/// If the scenario cannot be built.
pub fn session(
    clock: &mut impl HostClock,
    time: Duration,
    after_stall: AfterStall,
) -> Result<Report, ScenarioError> {
    let mut run = build(&Scenario::parse(CELL, "cell.toml")?.resolve()?, 1)?;
    let flow = run.open("datagrams", Some(UeId(0)))?;
    let mut pace = Pace::new(clock.now_ns(), run.now(), Duration::from_millis(5));
    let mut report = Report::default();
    let (end, mut next_send) = (run.now() + time, run.now());
    while run.now() < end {
        let next = run.next_event().map_or(next_send, |at| at.min(next_send));
        clock.wait_until(pace.host_ns(next));
        let host_ns = clock.now_ns();
        let now = match pace.due(host_ns, Some(next)) {
            Ok(now) => now,
            Err(Late { by }) => {
                report.stalls.push(by);
                if after_stall == AfterStall::Jump {
                    pace.jump(host_ns, next);
                }
                pace.now(host_ns)
            }
        };
        step(&mut run, flow, now, &mut next_send);
        report.delays.extend(arrived(&mut run, flow));
    }
    Ok(report)
}

/// Advances to `now`, with the datagrams that are sent on the way.
fn step(run: &mut Built, flow: FlowId, now: Instant, next_send: &mut Instant) {
    while *next_send <= now {
        let header = Header::Udp(UdpHeader::default());
        let packet = Packet::new(flow, Direction::Downlink, header, Payload::Length(1000), *next_send);
        run.inject(flow, FlowEnd::Server, packet, *next_send);
        *next_send += Duration::from_millis(100);
    }
    run.advance(now);
}

/// The delays of the datagrams that have reached the phone.
fn arrived(run: &mut Built, flow: FlowId) -> impl Iterator<Item = Duration> {
    std::iter::from_fn(move || run.take(flow, FlowEnd::Host)).map(|(at, packet)| at - packet.sent_at)
}
