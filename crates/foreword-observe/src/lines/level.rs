//! Log levels: our own events are filtered by a level; library output is limited to warnings, unless the level is the
//! lowest.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use foreword_core::event::Level;
use tracing::level_filters::LevelFilter;
use tracing::subscriber::Interest;
use tracing::{Metadata, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;

use crate::carrier::TARGET;

/// The log level. Clones share it, and it can be changed at run time.
///
/// As the outermost layer it disables library output that no other layer writes.
#[derive(Debug, Clone)]
pub struct Levels {
    lines: Arc<AtomicU8>,
    /// The level of library spans for layers that do not write lines.
    spans: Option<Level>,
}

impl Levels {
    /// Lines of `level` and above.
    #[must_use]
    pub fn new(level: Level) -> Self {
        Self { lines: Arc::new(AtomicU8::new(level as u8)), spans: None }
    }

    /// Also admits library spans of `level` and above, for layers that export spans.
    #[must_use]
    pub fn with_spans(self, level: Option<Level>) -> Self {
        Self { spans: level, ..self }
    }

    /// Changes the level.
    pub fn set(&self, level: Level) {
        self.lines.store(level as u8, Ordering::Relaxed);
    }

    /// Whether one of our lines of this level is written.
    #[must_use]
    pub fn takes(&self, level: Level) -> bool {
        level as u8 >= self.lines.load(Ordering::Relaxed)
    }

    /// Whether a library's line of this level is written.
    #[must_use]
    pub fn takes_of_libraries(&self, level: Level) -> bool {
        self.takes(level) && (level >= Level::Warn || self.takes(Level::Debug))
    }
}

/// Converts a `tracing` level.
pub(super) fn level_of(level: tracing::Level) -> Level {
    match level {
        tracing::Level::ERROR => Level::Error,
        tracing::Level::WARN => Level::Warn,
        tracing::Level::INFO => Level::Info,
        _ => Level::Debug,
    }
}

impl Levels {
    fn wants(&self, metadata: &Metadata<'_>) -> bool {
        let level = level_of(*metadata.level());
        let as_span = metadata.is_span() && self.spans.is_some_and(|least| level >= least);
        as_span || self.takes_of_libraries(level)
    }
}

impl<S: Subscriber> Layer<S> for Levels {
    fn register_callsite(&self, metadata: &'static Metadata<'static>) -> Interest {
        if metadata.target() == TARGET {
            Interest::always()
        } else if *metadata.level() == tracing::Level::TRACE {
            Interest::never()
        } else {
            // The level can change.
            Interest::sometimes()
        }
    }

    fn enabled(&self, metadata: &Metadata<'_>, _context: Context<'_, S>) -> bool {
        metadata.target() == TARGET || (*metadata.level() != tracing::Level::TRACE && self.wants(metadata))
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(LevelFilter::DEBUG)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn library_output_needs_warning_unless_level_is_lowest() {
        let heard = |level| {
            let levels = Levels::new(level);
            let ours: Vec<Level> = Level::ALL.into_iter().filter(|level| levels.takes(*level)).collect();
            let theirs = Level::ALL.into_iter().filter(|level| levels.takes_of_libraries(*level)).count();
            (ours.len(), theirs)
        };
        assert_eq!(Level::ALL.map(heard), [(4, 4), (3, 2), (2, 2), (1, 1)]);
    }
}
