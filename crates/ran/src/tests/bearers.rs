//! Bearers for tests: those of ns-3.37, and one as deployed networks have it. The presets of scenarios are their
//! TOML files.

use airlane_core::{Bytes, Duration};

use crate::bearer::{BearerConfig, RlcConfig, RlcMode};
use crate::pdcp::PdcpConfig;
use crate::pdcp::nr::ReorderingConfig;
use crate::rlc::nr::{self, NrConfig, NrRlc};
use crate::rlc::{AmConfig, Aqm, UmConfig};
use crate::sdap::SdapHeaders;
use crate::x2::{self, X2Config};

pub(crate) const LENA_UM: UmConfig = UmConfig { sn_bits: 10, t_reordering: Duration::from_millis(100) };

pub(crate) const LENA_AM: AmConfig = AmConfig {
    sn_bits: 10,
    t_poll_retransmit: Duration::from_millis(20),
    t_reordering: Duration::from_millis(10),
    t_status_prohibit: Duration::from_millis(10),
    poll_pdu: Some(1),
    poll_byte: Some(Bytes(50)),
    max_retx: 5,
    status_alone: false,
};

pub(crate) const TYPICAL_AM: AmConfig = AmConfig {
    sn_bits: 10,
    t_poll_retransmit: Duration::from_millis(120),
    t_reordering: Duration::from_millis(50),
    t_status_prohibit: Duration::from_millis(50),
    poll_pdu: Some(64),
    poll_byte: Some(Bytes(750_000)),
    max_retx: 32,
    status_alone: false,
};

pub(crate) const NO_DISCARD: PdcpConfig =
    PdcpConfig { sn_bits: 12, discard: None, retransmission_queue: None, status_report: true };

/// 6 ms one way; in order, without loss.
pub(crate) const X2: X2Config =
    X2Config { delay: Duration::from_millis(6), jitter: Duration::ZERO, loss: 0.0, fresh: x2::FRESH_LIMIT };

/// In this mode, with a buffer of 10 KiB.
pub(crate) fn lena(mode: RlcMode) -> BearerConfig {
    BearerConfig {
        rlc: match mode {
            RlcMode::Tm => RlcConfig::Tm,
            RlcMode::Um => RlcConfig::Um(LENA_UM),
            RlcMode::Am => RlcConfig::Am(LENA_AM),
        },
        buffer: Bytes(10 * 1024),
        aqm: Aqm::DropTail,
        pdcp: NO_DISCARD,
        pdu_overhead: Bytes::ZERO,
    }
}

/// In acknowledged mode, with a buffer of 512 KiB and a discard timer.
pub(crate) fn typical() -> BearerConfig {
    BearerConfig {
        rlc: RlcConfig::Am(TYPICAL_AM),
        buffer: Bytes(512 * 1024),
        pdcp: PdcpConfig { discard: Some(Duration::from_millis(150)), ..NO_DISCARD },
        ..lena(RlcMode::Am)
    }
}

/// The settings of acknowledged mode.
pub(crate) fn am_of(config: &BearerConfig) -> AmConfig {
    let RlcConfig::Am(am) = config.rlc else { panic!("{:?}", config.rlc) };
    am
}

/// Of NR: polls only when there is nothing left to send; the timers differ by enough to distinguish them.
pub(crate) const NR_AM: nr::AmConfig = nr::AmConfig {
    sn_bits: 12,
    t_poll_retransmit: Duration::from_millis(70),
    t_reassembly: Duration::from_millis(20),
    t_status_prohibit: Duration::from_millis(30),
    poll_pdu: None,
    poll_byte: None,
    max_retx: 5,
};

pub(crate) const NR_UM: nr::UmConfig = nr::UmConfig { sn_bits: 12, t_reassembly: Duration::from_millis(50) };

pub(crate) const NO_SDAP: SdapHeaders = SdapHeaders { downlink: false, uplink: false };

/// A bearer of NR whose limits are never reached, and whose PDCP gives a gap up after 100 ms with RLC UM, and never
/// with RLC AM.
pub(crate) fn nr(rlc: NrRlc) -> BearerConfig {
    let t_reordering = match rlc {
        NrRlc::Um(_) => Some(Duration::from_millis(100)),
        NrRlc::Am(_) => None,
    };
    let reordering = ReorderingConfig { t_reordering, out_of_order: false };
    let rlc = RlcConfig::Nr(NrConfig { rlc, reordering, sdap: NO_SDAP });
    BearerConfig { rlc, buffer: Bytes(1 << 30), ..lena(RlcMode::Am) }
}
