//! The packets of Sprout as bytes.
//!
//! Sizes and fields are those of the authors' packets (`network.cc`, `sproutconn.h`): the sequence number in the nonce, two
//! times of 16 bits, throwaway window, time to next, the authentication tag, and a forecast after its length. The two
//! times, which only the authors' terminal program uses, and the tag are zeros here. The forecast has a fixed length; in
//! the authors' packets its length varies.

use airlane_core::Duration;

use super::TICKS;

/// Bytes before the forecast: nonce 8, times 4, throwaway window 2, time to next 2, tag 16, length of the forecast 2.
const HEADER: usize = 34;
/// Bytes of a forecast: bytes received or lost, and a count for each tick.
const FORECAST: usize = 8 + 2 * TICKS;
/// Most bytes of the data of a packet (`sproutbt2.cc`, 1440), and of a datagram over IPv4 and Ethernet.
const DATA_MAX: usize = 1440;
const DATAGRAM_MAX: usize = 1500 - 28;
/// Bytes by which a sequence number grows with each packet, beyond those of its message (`network.cc`).
pub(super) const OVERHEAD: u64 = 50;
/// Bytes of the header that count as part of a message: the length of the forecast.
const LENGTH: usize = 2;

/// The report of the receiver of a direction to its sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Forecast {
    /// Bytes of the sender's sequence that have arrived, or that it has given up.
    pub received_or_lost: u64,
    /// Packets that the link delivers within one, two and up to eight ticks.
    pub counts: [u16; TICKS],
}

/// A packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// Bytes sent before it.
    pub sequence: u64,
    /// Number of bytes before its sequence number from which packets may still arrive. Earlier ones that have not
    /// arrived are lost.
    pub throwaway_window: u16,
    /// When the next packet follows at the latest; zero if at once.
    pub time_to_next: Duration,
    /// The newest forecast for the other direction, if it has not been sent.
    pub forecast: Option<Forecast>,
    /// Bytes of the application.
    pub data: usize,
}

impl Message {
    /// The most data that a packet carries.
    pub(super) fn data_max(with_forecast: bool) -> usize {
        DATA_MAX.min(DATAGRAM_MAX - HEADER - if with_forecast { FORECAST } else { 0 })
    }

    /// Its length as the two ends count it: data, forecast and the length of the forecast.
    #[must_use]
    pub fn counted(&self) -> u64 {
        (LENGTH + self.forecast.map_or(0, |_| FORECAST) + self.data) as u64
    }

    /// As bytes, of which those of the application are zeros.
    #[must_use]
    pub fn encode(&self) -> Box<[u8]> {
        let forecast = if self.forecast.is_some() { FORECAST } else { 0 };
        let mut bytes = vec![0; HEADER + forecast + self.data].into_boxed_slice();
        bytes[..8].copy_from_slice(&self.sequence.to_be_bytes());
        bytes[12..14].copy_from_slice(&self.throwaway_window.to_be_bytes());
        let next_ms = self.time_to_next.as_millis() as u16;
        bytes[14..16].copy_from_slice(&next_ms.to_be_bytes());
        bytes[32..34].copy_from_slice(&(forecast as u16).to_be_bytes());
        if let Some(Forecast { received_or_lost, counts }) = &self.forecast {
            bytes[34..42].copy_from_slice(&received_or_lost.to_be_bytes());
            for (place, count) in bytes[42..HEADER + FORECAST].chunks_exact_mut(2).zip(counts) {
                place.copy_from_slice(&count.to_be_bytes());
            }
        }
        bytes
    }

    /// The message of these bytes; `None` if they are no packet of Sprout.
    #[must_use]
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let (header, rest) = bytes.split_at_checked(HEADER)?;
        let short = |at: usize| u16::from_be_bytes([header[at], header[at + 1]]);
        let (forecast, data) = rest.split_at_checked(usize::from(short(32)))?;
        let forecast = match forecast.len() {
            0 => None,
            FORECAST => {
                let (received, counts) = forecast.split_first_chunk::<8>()?;
                let count = |tick: usize| u16::from_be_bytes([counts[2 * tick], counts[2 * tick + 1]]);
                Some(Forecast {
                    received_or_lost: u64::from_be_bytes(*received),
                    counts: core::array::from_fn(count),
                })
            }
            _ => return None,
        };
        Some(Self {
            sequence: u64::from_be_bytes(*header.first_chunk()?),
            throwaway_window: short(12),
            time_to_next: Duration::from_millis(u64::from(short(14))),
            forecast,
            data: data.len(),
        })
    }
}
