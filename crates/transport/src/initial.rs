//! Initial sequence numbers (RFC 6528).

use core::net::IpAddr;

use airlane_core::{Instant, Stream};

/// Generates the initial sequence numbers of a host: `M + F(localip, localport, remoteip, remoteport, secretkey)`,
/// where M is a timer of 4 µs (RFC 6528 §3). F is BLAKE3 with a key; the RFC asks for a pseudorandom function that
/// cannot be computed from outside. Numbers of one pair of sockets grow with time, so that segments of an old
/// connection are not accepted by a new one; numbers of different pairs are independent.
#[derive(Clone)]
pub struct InitialSequence {
    key: [u8; 32],
}

impl core::fmt::Debug for InitialSequence {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("InitialSequence") // the key is a secret
    }
}

impl InitialSequence {
    /// A generator whose key is drawn from this stream. In a network with real peers, the stream must come from a
    /// secret seed.
    #[must_use]
    pub fn new(stream: &mut Stream) -> Self {
        let mut key = [0; 32];
        for part in key.chunks_exact_mut(8) {
            part.copy_from_slice(&stream.bits().to_le_bytes());
        }
        Self { key }
    }

    /// The number for a connection between these sockets that is opened now.
    #[must_use]
    pub fn at(&self, now: Instant, local: (IpAddr, u16), remote: (IpAddr, u16)) -> u32 {
        let mut hasher = blake3::Hasher::new_keyed(&self.key);
        for (address, port) in [local, remote] {
            match address {
                IpAddr::V4(address) => hasher.update(&address.octets()),
                IpAddr::V6(address) => hasher.update(&address.octets()),
            };
            hasher.update(&port.to_be_bytes());
        }
        let [a, b, c, d, ..] = *hasher.finalize().as_bytes();
        let timer = (now.as_nanos() / 4_000) as u32;
        timer.wrapping_add(u32::from_le_bytes([a, b, c, d]))
    }
}

#[cfg(test)]
mod tests {
    use airlane_core::{Duration, Seeds};

    use super::*;

    #[test]
    fn numbers_grow_with_time_and_differ_between_sockets_and_keys() {
        let isn = |seed| InitialSequence::new(&mut Seeds::new(seed).stream("isn"));
        let (a, b): (IpAddr, IpAddr) = ([10, 0, 0, 1].into(), [10, 0, 0, 2].into());
        let first = isn(1).at(Instant::ZERO, (a, 1), (b, 2));
        assert_eq!(first, isn(1).at(Instant::from_nanos(3_999), (a, 1), (b, 2)));
        let later = Instant::ZERO + Duration::from_millis(1);
        assert_eq!(isn(1).at(later, (a, 1), (b, 2)).wrapping_sub(first), 250); // 1 ms / 4 µs
        let wide: IpAddr = [0; 16].into();
        let others = [
            isn(2).at(Instant::ZERO, (a, 1), (b, 2)),
            isn(1).at(Instant::ZERO, (b, 2), (a, 1)),
            isn(1).at(Instant::ZERO, (a, 1), (b, 3)),
            isn(1).at(Instant::ZERO, (wide, 1), (wide, 2)),
        ];
        for (i, other) in others.iter().enumerate() {
            assert!(*other != first && !others[..i].contains(other), "{i}");
        }
    }
}
