//! Bearers with layer 2 of NR in cells of LTE.

use super::world::{World, road};
use super::*;
use crate::pdcp::nr::ReorderingConfig;
use crate::rlc::nr::{AmConfig, NrConfig, NrRlc};
use crate::sdap::SdapHeaders;

/// Polls and reports as a network with load does.
const BUSY_AM: AmConfig = AmConfig {
    sn_bits: 18,
    t_poll_retransmit: Duration::from_millis(45),
    t_reassembly: Duration::from_millis(35),
    t_status_prohibit: Duration::from_millis(5),
    poll_pdu: Some(32),
    ..bearers::NR_AM
};

/// With default headers of SDAP.
fn layer_2(rlc: NrRlc, t_reordering: Option<Duration>) -> BearerConfig {
    let reordering = ReorderingConfig { t_reordering, out_of_order: false };
    let rlc = RlcConfig::Nr(NrConfig { rlc, reordering, sdap: SdapHeaders::DEFAULT });
    BearerConfig { rlc, buffer: Bytes(512 * 1024), ..bearers::lena(RlcMode::Am) }
}

#[test]
fn a_full_cell_carries_what_its_blocks_hold() {
    let mut config = network(1, IDEAL);
    config.cells[0].bearer = layer_2(NrRlc::Um(bearers::NR_UM), Some(Duration::from_millis(100)));
    let mut d = Driver::new(&config);
    for k in 0..20_000_u64 {
        d.send(Instant::from_nanos(k * 56_000), 0, Direction::Downlink, 1400);
    }
    d.conserved();
    let window = d.arrived.iter().filter(|(at, ..)| (200..1000).contains(&(at.as_nanos() / 1_000_000)));
    let goodput = window.count() as f64 * 1400.0 * 8.0 / 0.8 / 1e6;
    // A block of 9422 bytes with D bytes of SDUs of 1430 begins with the rest of one, with a header of 4, and ends with
    // a first segment, with a header of 2; the D / 1430 - 1 between them have 1. So D (1 + 1 / 1430) = 9422 - 5, and D
    // is 9410.4, 1.4 less than in LTE.
    let expected = 9410.4 / 1430.0 * 1400.0 * 8.0 / 1000.0;
    assert!((goodput / expected - 1.0).abs() < 0.002, "{goodput} against {expected} Mbit/s");
}

#[test]
fn rlc_recovers_what_harq_gives_up() {
    let mut config = network(2, IDEAL);
    config.cells[0].bearer = layer_2(NrRlc::Am(BUSY_AM), None);
    config.cells[0].mac.harq_max_transmissions = 1;
    config.channel.fading =
        Some(FadingConfig { profile: Profile::Eva, speed_mps: 10.0, prb_spacing_hz: None });
    config.ues.iter_mut().for_each(|ue| ue.start = Start::At(Position::on_ground(2000.0, 0.0)));
    let mut d = Driver::new(&config);
    for k in 0..10_000_u64 {
        for direction in [Direction::Downlink, Direction::Uplink] {
            d.send(Instant::from_nanos(k * 1_000_000), (k % 2) as u32, direction, 1000);
        }
    }
    d.run_to(Instant::from_millis(20_000));
    let given_up = d.meter.downlink_blocks.iter().filter(|block| !block.decoded).count();
    assert!(given_up > 300, "{given_up} blocks are not decoded, which tests little");
    assert_eq!(d.arrived.len(), 20_000);
    d.conserved();
    assert_eq!((d.pool.live(), d.ran.next_timeout()), (0, None));
}

#[test]
fn a_lossless_handover_delivers_all_in_order() {
    let mut config = road(1);
    for cell in &mut config.cells {
        cell.bearer = layer_2(NrRlc::Am(BUSY_AM), Some(Duration::from_millis(300)));
    }
    let mut world = World::new(&config);
    let mut sent = 0;
    for k in 0..4_000_u64 {
        for direction in [Direction::Downlink, Direction::Uplink] {
            world.send(Instant::from_nanos(k * 1_000_000), (UeId(0), FlowId(0)), direction);
            sent += 1;
        }
        world.conserved();
    }
    world.run_to(Instant::from_millis(8_000));
    assert!(world.handovers.arrived >= 2, "{} handovers", world.handovers.arrived);
    assert_eq!((world.arrived.len(), world.pool.live()), (sent, 0));
    let ue = world.ran.ue_port(0);
    for is_downlink in [true, false] {
        let one_way = world.arrived.iter().filter(|packet| (packet.port == ue) == is_downlink);
        let times: Vec<Instant> = one_way.map(|packet| packet.sent_at).collect();
        assert_eq!(times.len(), sent / 2);
        assert!(times.is_sorted(), "downlink: {is_downlink}");
    }
}
