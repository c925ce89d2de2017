//! Videos: from the format to `airlane_traffic`, and the two ends of a flow with a viewer.

use airlane_core::{Bytes, Direction, Duration, Instant, Node};
use airlane_traffic::dialogue::Dialogue;
use airlane_traffic::dns::Resolver;
use airlane_traffic::http::{HttpOverQuic, HttpOverTcp, HttpServer, HttpSettings, Message, QuicHttpServer};
use airlane_traffic::{
    BolaParameters, Media, PlayoutRules, ReadLimit, Rule, SegmentedVideo, Video, Viewer, Viewing,
};
use airlane_transport::Path;

use crate::endpoints::Setup;
use crate::expand::OneFlow;
use crate::format::{App, Dash, DashRule, Satisfied, Watching};
use crate::web::{Carrier, HTTP_PORT, HTTPS_PORT, listening, listening_over_quic};

/// The video of a flow and its use; `None` if the flow has none.
pub(crate) fn watching(app: &App) -> Option<(Media, &Watching, Satisfied)> {
    match app {
        App::Video(settings) => {
            let rules = PlayoutRules { start: settings.start_buffer.0, resume: settings.resume_buffer.0 };
            let block = settings.read_block.0;
            let limit = settings.buffer.map(|buffer| ReadLimit { buffer: buffer.0, block });
            let (bitrate, length) = (settings.bitrate.0, settings.length.0);
            let video = Video { bitrate, length, rules, limit };
            Some((Media::File(video), &settings.watching, settings.satisfied))
        }
        App::Dash(settings) => {
            Some((Media::Segments(segmented(settings)), &settings.watching, settings.satisfied))
        }
        App::Bulk
        | App::Fixed(_)
        | App::Cbr(_)
        | App::Ppbp(_)
        | App::OnOff(_)
        | App::Web(_)
        | App::Ping(_) => None,
    }
}

fn segmented(settings: &Dash) -> SegmentedVideo {
    let bitrates: Vec<_> = settings.bitrates.iter().map(|rate| rate.0).collect();
    let segment = settings.segment.0.as_nanos() as f64;
    let buffer = settings.buffer.0.as_nanos() as f64 / segment;
    let rule = match &settings.rule {
        DashRule::Rate(rate) => Rule::Rate { safety: rate.safety, samples: rate.samples },
        DashRule::Bola(bola) => Rule::Bola(match bola.buffer_low {
            None => BolaParameters::from_gamma(&bitrates, bola.gamma_p, buffer),
            Some(low) => BolaParameters::from_levels(&bitrates, low.0.as_nanos() as f64 / segment, buffer),
        }),
    };
    SegmentedVideo {
        bitrates: bitrates.into(),
        segment: settings.segment.0,
        length: settings.length.0,
        rules: PlayoutRules { start: settings.start_buffer.0, resume: settings.resume_buffer.0 },
        buffer: settings.buffer.0,
        rule,
    }
}

/// The end that sends along `path`: the viewer in the UE, or the server.
pub(crate) fn end(setup: Setup<'_>, one: &OneFlow, path: Path, carrier: Carrier) -> Box<dyn Node> {
    let app = &setup.scenario.flow[one.section].app;
    let (media, watching, _) = watching(app).expect("the flow is one by which videos are watched");
    let Path { flow, direction, .. } = path;
    let dialogue: Dialogue<Message> = setup.dialogues[flow.index()].clone();
    if direction == Direction::Downlink {
        let resolver = Resolver::new(path, Duration::ZERO);
        let keys = carrier.keys(setup.scenario, flow);
        return match carrier {
            Carrier::Tcp(tcp) => Box::new(listening(HttpServer::new(tcp, path, dialogue, resolver), keys)),
            Carrier::Quic(quic) => {
                Box::new(listening_over_quic(QuicHttpServer::new(quic, path, resolver), keys))
            }
        };
    }
    let start: Instant = one.start(setup.scenario);
    let (request, head): (Bytes, Bytes) = (watching.request.0, watching.response_head.0);
    let viewing = Viewing { media, views: watching.views, pause: watching.pause.0, start, request, head };
    let draws = setup.seeds.stream(&format!("flow/{}/views", one.name));
    let keep_alive = watching.keep_alive.0;
    let settings = |port| HttpSettings { per_server: 1, in_all: 1, pipeline: 1, keep_alive, port };
    match carrier {
        Carrier::Tcp(tcp) => {
            let http = HttpOverTcp::new(settings(HTTP_PORT), tcp, path, dialogue);
            Box::new(Viewer::new(http, flow, viewing, draws))
        }
        Carrier::Quic(quic) => {
            let http = HttpOverQuic::new(settings(HTTPS_PORT), quic, path);
            Box::new(Viewer::new(http, flow, viewing, draws))
        }
    }
}
