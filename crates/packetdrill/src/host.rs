//! The configuration of TCP on the host: from its settings and from socket options.

use airlane_core::{Bytes, Duration};
use airlane_transport::{CongestionKind, EcnConfig, LossDetection, ReceiveWindowKind, TcpConfig};

use crate::shell::Settings;

/// Options of a socket that a connection takes over.
#[derive(Clone, Debug, Default)]
pub(crate) struct SocketOptions {
    pub(crate) nodelay: bool,
    /// A socket of Multipath TCP.
    pub(crate) multipath: bool,
    pub(crate) cork: bool,
    pub(crate) receive_buffer: Option<u64>,
    pub(crate) send_buffer: Option<u64>,
    pub(crate) segment_max: Option<u16>,
    pub(crate) congestion: Option<String>,
    pub(crate) syn_retries: Option<u32>,
    /// `SO_LINGER` with a time of zero: a close aborts.
    pub(crate) aborts: bool,
    /// `SO_ZEROCOPY`: sends with MSG_ZEROCOPY are notified.
    pub(crate) zero_copy: bool,
    /// `TCP_INQ`: a read reports how much is left.
    pub(crate) reports_rest: bool,
}

/// Settings that have no effect on what is modelled: offloads, memory of the host, caches, cookies, and Fast
/// Open, whose use is detected by its own calls and options.
const WITHOUT_EFFECT: [&str; 29] = [
    "tcp_wmem",
    "tcp_dsack",
    "tcp_fack",
    "tcp_syncookies",
    "tcp_tso_win_divisor",
    "tcp_min_tso_segs",
    "tcp_tso_rtt_log",
    "tcp_pacing_ss_ratio",
    "tcp_pacing_ca_ratio",
    "tcp_notsent_lowat",
    "tcp_limit_output_bytes",
    "tcp_no_metrics_save",
    "tcp_fastopen",
    "tcp_fastopen_key",
    "tcp_fastopen_blackhole_timeout_sec",
    "tcp_base_mss",
    "tcp_autocorking",
    "tcp_max_syn_backlog",
    "tcp_fin_timeout",
    "tcp_tw_reuse",
    "tcp_mem",
    "tcp_ecn_option_beacon",
    "tcp_reflect_tos",
    "tcp_workaround_signed_windows",
    "tcp_challenge_ack_limit",
    "tcp_collapse_rcvbuf",
    "tcp_keepalive_time",
    "tcp_backlog_ack_defer",
    "tcp_probe_interval",
];

/// A setting as a number.
fn number(key: &str, text: &str) -> Result<u64, String> {
    let digits = text.strip_prefix("0x");
    let parsed = digits.map_or_else(|| text.parse(), |d| u64::from_str_radix(d, 16));
    parsed.map_err(|_| format!("sysctl {key}={text}, which is no number"))
}

/// The controller with this name in Linux.
fn controller(name: &str) -> Result<CongestionKind, String> {
    let kind = if name == "reno" { Some(CongestionKind::NewReno) } else { CongestionKind::from_name(name) };
    kind.ok_or_else(|| format!("the congestion control {name:?}"))
}

/// The initial window that a buffer of this many bytes gives, half of its memory in whole segments (Linux
/// `tcp_select_initial_window`).
fn window_of(buffer: u64, segment: u64) -> Bytes {
    let space = buffer / 2;
    Bytes(if space > segment { space / segment * segment } else { space })
}

/// The configuration for a new connection. `mss` is the segment size of the device.
pub(crate) fn config(settings: &Settings, socket: &SocketOptions, mss: u16) -> Result<TcpConfig, String> {
    let mut config = TcpConfig { nagle: !socket.nodelay, ..TcpConfig::linux() };
    for (key, value) in &settings.sysctl {
        set(&mut config, key, value)?;
    }
    let mut mss = mss;
    for (key, value) in &settings.route {
        let n = number(key, value).ok().and_then(|n| u32::try_from(n).ok());
        let n = n.filter(|_| key != "congctl").unwrap_or(0);
        match &**key {
            "initcwnd" => config.initial_window_segments = n.max(1),
            "advmss" => mss = mss.min(n.min(65_495) as u16),
            "mtu" => mss = mss.min(n.saturating_sub(40).min(65_495) as u16),
            "congctl" => config.congestion = controller(value)?,
            _ => return Err(format!("the attribute {key:?} of a route")),
        }
    }
    if let Some(most) = socket.segment_max {
        mss = mss.min(most);
    }
    config.mtu = (mss + 40).max(128);
    if let Some(name) = &socket.congestion {
        config.congestion = controller(name)?;
    }
    if let Some(retries) = socket.syn_retries {
        config.syn_retries = retries;
    }
    if let Some(buffer) = socket.receive_buffer {
        // Linux doubles the value and locks the buffer.
        config.receive_window = ReceiveWindowKind::Fixed(window_of(2 * buffer, u64::from(mss)));
    }
    Ok(config)
}

fn set(config: &mut TcpConfig, key: &str, value: &str) -> Result<(), String> {
    let flag = || number(key, value).map(|n| n != 0);
    let count = || number(key, value).map(|n| u32::try_from(n).unwrap_or(u32::MAX));
    match key {
        "tcp_timestamps" => config.timestamps = flag()?,
        "tcp_sack" => config.sack = flag()?,
        "tcp_window_scaling" => config.window_scaling = flag()?,
        "tcp_frto" => config.frto = flag()?,
        "tcp_slow_start_after_idle" => config.slow_start_after_idle = flag()?,
        "tcp_syn_retries" => config.syn_retries = count()?,
        "tcp_syn_linear_timeouts" => config.syn_linear_timeouts = count()?,
        "tcp_synack_retries" => config.synack_retries = count()?,
        "tcp_retries2" => config.retries = count()?,
        "tcp_rto_min_us" => config.rto_min = Duration::from_micros(number(key, value)?),
        "tcp_rto_max_ms" => config.rto_max = Duration::from_millis(number(key, value)?),
        "tcp_congestion_control" => config.congestion = controller(value)?,
        "tcp_comp_sack_nr" | "tcp_comp_sack_delay_ns" => config.compressed_sack &= flag()?,
        "tcp_recovery" if number(key, value)? & 1 == 0 => config.loss_detection = LossDetection::Rfc6675,
        "tcp_ecn" => {
            let EcnConfig { options, fallback, .. } = config.ecn;
            let found = EcnConfig::from_sysctl(count()?).ok_or_else(|| format!("sysctl {key}={value}"))?;
            config.ecn = EcnConfig { options, fallback, ..found };
        }
        "tcp_ecn_option" => config.ecn.options = flag()?,
        "tcp_ecn_fallback" => config.ecn.fallback = flag()?,
        "tcp_rmem" => {
            let sizes: Vec<u64> =
                value.split_whitespace().map(|n| number(key, n)).collect::<Result<_, _>>()?;
            let [_, initial, max] = sizes[..] else {
                return Err(format!("sysctl {key}={value}, which are not three numbers"));
            };
            let (initial, max) = (Bytes(initial), Bytes(max));
            config.receive_window = ReceiveWindowKind::Autotuned { initial, max };
        }
        "net.mptcp.enabled" | "tcp_recovery" | "tcp_moderate_rcvbuf" if flag()? => {}
        "net.mptcp.checksum_enabled" if !flag()? => {}
        "tcp_reordering" if number(key, value)? == 3 => {}
        "tcp_early_retrans" if number(key, value)? >= 3 => {}
        "tcp_mtu_probing" | "tcp_shrink_window" | "tcp_thin_linear_timeouts" if !flag()? => {}
        _ if WITHOUT_EFFECT.contains(&key) || key.starts_with("net.core.") => {}
        _ => return Err(format!("sysctl {key}={value}")),
    }
    Ok(())
}
