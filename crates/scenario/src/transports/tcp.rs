//! TCP: from the format to `airlane_transport`.

use airlane_core::Instant;
use airlane_transport::congestion::{ArwaSender, CodeStep, SlowStartAfterReduction};
use airlane_transport::window::{ArwaReceiver, CaseTwo, DelayMeasure, DrwaReceiver, OldCode};
use airlane_transport::{self as transport, TcpConfig};

use crate::endpoints::Setup;
use crate::format::{
    ArwaCaseTwo, ArwaDelay, ArwaObeys, ArwaOldCode, ArwaSlowStartAfterReduction, ArwaStep, ArwaWindow,
    LossDetection, RateReduction, ReceiveBuffer, ReceiveWindow, RttSampling, Tcp, WindowGrowth,
};
use crate::quantity::Time;
use crate::rnis::loss_discrimination;

/// TCP's configuration: from the format to `airlane_transport`.
pub fn tcp_config(tcp: &Tcp, setup: Setup<'_>) -> TcpConfig {
    let options = if tcp.timestamps { 12 } else { 0 }; // RFC 7323 appendix A
    let mss_mtu = tcp.mss.map_or(u64::MAX, |mss| mss.0.get() + 40 + options);
    let controller = tcp.controller_keys();
    TcpConfig {
        congestion: tcp.congestion.kind(),
        own: controller.own(setup),
        loss_discriminator: loss_discrimination(&tcp.loss_discriminator, setup.scenario),
        laws: controller.laws(),
        slow_start: controller.slow_start(),
        growth: match tcp.growth {
            WindowGrowth::PerSegment => transport::WindowGrowth::PerSegment,
            WindowGrowth::PerAck => transport::WindowGrowth::PerAck,
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
        option_room: 0,
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
        forget_after: window.forget_after.map(|after| after.0),
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
            ArwaSlowStartAfterReduction::GoesOn => SlowStartAfterReduction::GoesOn,
            ArwaSlowStartAfterReduction::Ends => SlowStartAfterReduction::Ends,
        },
    }
}
