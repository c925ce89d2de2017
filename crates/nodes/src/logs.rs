//! Messages of a node on the standard error.

use std::io;

use tracing::level_filters::LevelFilter;
use tracing_subscriber::fmt;

use crate::common::{Format, Level, Log};

/// Begins to write messages. A second call has no effect: the messages of a process have one destination.
pub(crate) fn begin(log: Log) {
    let level = match log.level {
        Level::Error => LevelFilter::ERROR,
        Level::Warn => LevelFilter::WARN,
        Level::Info => LevelFilter::INFO,
        Level::Debug => LevelFilter::DEBUG,
    };
    let messages = fmt().with_max_level(level).with_writer(io::stderr).with_target(false);
    let _ = match log.format {
        Format::Text => tracing::subscriber::set_global_default(messages.with_ansi(false).finish()),
        Format::Json => tracing::subscriber::set_global_default(messages.json().flatten_event(true).finish()),
    };
}
