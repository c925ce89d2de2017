//! Two nodes with a wire of 10 ms each way between them, without a rate.

use std::collections::BTreeMap;

use airlane_core::{Cx, Duration, Instant, Node, PacketPool, PacketRef, Probe};
use airlane_traffic::PORT;

/// Runs two nodes until `end`; `lost` returns true for the numbers of the packets that the wire loses.
pub(crate) fn run(
    nodes: [&mut dyn Node; 2],
    end: Instant,
    seen: &mut dyn Probe,
    lost: impl Fn(u64) -> bool,
) -> PacketPool {
    let [a, b] = nodes;
    let (mut pool, mut outbox) = (PacketPool::with_capacity(64), Vec::new());
    let mut wire: BTreeMap<(Instant, u64), (usize, PacketRef)> = BTreeMap::new();
    let mut serial = 0;
    let mut last = Instant::ZERO;
    loop {
        let timers = [&*a, &*b].map(|n| n.next_timeout().unwrap_or(Instant::FAR_FUTURE));
        let arrival = wire.keys().next().map_or(Instant::FAR_FUTURE, |k| k.0);
        let now = timers[0].min(timers[1]).min(arrival);
        assert!(now >= last, "a timer in the past: {timers:?} at {last:?}");
        last = now;
        if now > end {
            return pool;
        }
        let side = if now == arrival { None } else { Some(usize::from(timers[1] == now)) };
        let topics = seen.topics();
        let mut cx = Cx { now, pool: &mut pool, outbox: &mut outbox, topics, probe: seen };
        let side = match side {
            Some(0) => {
                a.handle_timeout(&mut cx);
                0
            }
            Some(_) => {
                b.handle_timeout(&mut cx);
                1
            }
            None => {
                let (_, (to, packet)) = wire.pop_first().expect("an arrival is due");
                if to == 0 {
                    a.handle_packet(&mut cx, PORT, packet);
                } else {
                    b.handle_packet(&mut cx, PORT, packet);
                }
                to
            }
        };
        for (port, packet) in outbox.drain(..) {
            assert_eq!(port, PORT);
            serial += 1;
            if lost(serial) {
                let _ = pool.discard(packet, airlane_core::DropCause::RandomLoss);
            } else {
                wire.insert((now + Duration::from_millis(10), serial), (1 - side, packet));
            }
        }
        assert_eq!(a.packets_held() + b.packets_held(), 0);
        assert_eq!(pool.live(), wire.len());
    }
}
