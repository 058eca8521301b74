//! The cost of observability: recording an event with all sinks, redacting secrets, and hashing a request for the
//! cache diagnosis.

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use foreword_core::cache::{RequestShape, ShapeKey};
use foreword_core::event::{Event, EventType, Level};
use foreword_core::price::CacheTtl;
use foreword_core::timestamp::Timestamp;
use foreword_observe::lines::queue::{LineQueue, LineWriter, Unwritten};
use foreword_observe::lines::{Levels, LineForm, LineLayer};
use foreword_observe::metrics::Metrics;
use foreword_observe::recorder::{EventLayer, Recorder};
use foreword_observe::redact::{Redacted, RedactionRules, Redactor};
use foreword_observe::sink::SinkLayer;
use regex::RegexSet;
use serde_json::json;
use tracing_subscriber::Layer as _;

use crate::Outcome;
use crate::storage::spread::Spread;
use crate::table::{Table, readable};
use crate::timing::compare;

const RECORDED: usize = 50_000;
/// The maximum cost of a fingerprint, in BLAKE3 passes over the same bytes.
const MAX_PASSES: f64 = 2.0;
const REQUEST: usize = 200 * 1024;
const TEXT: usize = 1024 * 1024;

pub(crate) fn measure(table: &mut Table) -> Outcome {
    recording(table)?;
    redaction(table)?;
    fingerprint(table);
    Ok(())
}

/// A log writer that discards everything: disk time is not the caller's.
struct Nowhere;

impl LineWriter for Nowhere {
    fn write(&mut self, lines: &[String]) -> Result<(), Unwritten> {
        black_box(lines);
        Ok(())
    }
}

fn recording(table: &mut Table) -> Outcome {
    table.section("One event, for whoever records it", "the same event put into JSON");
    let redactor = Redactor::new(&RedactionRules::default(), [7; 16])?;
    let at: Timestamp = "2026-11-16T02:47:00Z".parse()?;
    let queue = LineQueue::start(Nowhere, |_| String::new())?;
    let levels = Levels::new(Level::Info);
    let lines =
        LineLayer::new(queue.clone(), LineForm::Json, levels.clone(), redactor.clone(), Arc::new(move || at));
    let sink = SinkLayer::new(|event: &Redacted| drop(black_box(event.clone())));
    let ways: Vec<EventLayer> = vec![sink.boxed(), Metrics::new().layer().boxed(), lines.boxed()];
    let recorder = Recorder::to_all(redactor, ways, levels);
    for (what, event) in [("a call to a model", call(at)), ("a prompt of 12 layers", prompt(at))] {
        let mut times = Vec::with_capacity(RECORDED);
        for _ in 0..RECORDED {
            let event = event.clone();
            let begun = Instant::now();
            recorder.record(event);
            times.push(begun.elapsed());
        }
        let spread = Spread::of(times);
        table.note(&format!(
            "  {what}: p50 {}, p99 {} (redacted, counted, and as a line)",
            readable(spread.median()),
            readable(spread.permille(990))
        ));
        let comparison = compare(
            || recorder.record(event.clone()),
            || serde_json::to_string(&event).map(|json| json.len()),
        );
        table.compare(&format!("  {what}"), &comparison, None);
    }
    queue.close(Duration::from_secs(1));
    Ok(())
}

fn call(at: Timestamp) -> Event {
    Event {
        session_id: "c-066064fa4b".parse().ok(),
        user_id: Some("alice".into()),
        channel: Some("signal:+15550100".into()),
        duration_ms: Some(1_200),
        tokens_in: Some(31_200),
        tokens_out: Some(310),
        cost_usd: Some(0.0123),
        metadata: Some(
            json!({ "model": "anthropic/claude-haiku-4-5", "provider": "anthropic", "estimatedTokens": 31_000 }),
        ),
        ..Event::new(EventType::ApiCall, at)
    }
}

fn prompt(at: Timestamp) -> Event {
    let layer = |number: u32| json!({ "id": format!("layer-{number}"), "hash": format!("blake3:{number:064x}"), "tokens": 400, "stability": "agent", "cut": false });
    let layers: Vec<_> = (0..12).map(layer).collect();
    let metadata = json!({ "epoch": 3, "trust": "full", "tokens": 4_200, "layers": layers });
    Event { metadata: Some(metadata), ..Event::new(EventType::PromptBuilt, at) }
}

/// Prose with occasional paths, addresses and numbers, as tools print it.
fn text(size: usize) -> String {
    let line = "Build 4711 of /srv/app/target finished in 3.2 s; see https://example.org/jobs/4711?page=2 for the log of task-list.\n";
    line.repeat(size / line.len() + 1)
}

fn redaction(table: &mut Table) -> Outcome {
    table.section(
        "Taking secrets out of 1 MB of text",
        "one pass of `regex::RegexSet` with a pattern for each kind",
    );
    let redactor = Redactor::new(&RedactionRules::default(), [7; 16])?;
    let set = RegexSet::new([
        r"sk-(?:ant-|proj-)?[A-Za-z0-9_-]{20,}",
        r"(?i)bearer\s+[A-Za-z0-9._~+/-]{16,}",
        r"eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}",
        r"(?:AKIA|ASIA)[0-9A-Z]{16}",
        r"gh[pousr]_[A-Za-z0-9]{36,}",
        r"xox[baprs]-[A-Za-z0-9-]{10,}",
        r"-----BEGIN [A-Z ]*PRIVATE KEY-----",
        r"[a-z][a-z0-9+.-]*://[^/\s:@]+:[^/\s@]+@",
        r"(?i)(?:password|passwd|secret|token|api[_-]?key)\s*[=:]\s*\S+",
    ])?;
    let clean = text(TEXT);
    let token = format!("Authorization: Bearer {}\n", "a1B2c3D4".repeat(5));
    let dirty: String = clean.lines().enumerate().fold(String::new(), |mut all, (number, line)| {
        all.push_str(line);
        all.push('\n');
        if number % 100 == 0 {
            all.push_str(&token);
        }
        all
    });
    for (what, text) in [("  without any", &clean), ("  with one every 11 KB", &dirty)] {
        let comparison = compare(|| redactor.text(text).len(), || set.matches(text).iter().count());
        let rate = text.len() as f64 / 1e6 / comparison.subject.as_secs_f64();
        table.compare(what, &comparison, None);
        table.note(&format!("    {rate:.0} MB/s"));
    }
    Ok(())
}

fn fingerprint(table: &mut Table) {
    table.section("The shape of a request of 200 KB", "one BLAKE3 pass over the same bytes");
    let key = ShapeKey::from_bytes([7; 32]);
    let system = text(40 * 1024);
    let message = text(1_500);
    let messages = (REQUEST - system.len()) / message.len();
    let whole: Vec<u8> = system.bytes().chain(message.repeat(messages).into_bytes()).collect();
    let layers = [("identity", 0..10_000), ("behaviour", 10_000..30_000), ("tools", 30_000..system.len())];
    let shape = || {
        let mut builder = RequestShape::builder(&key, "anthropic/claude-haiku-4-5").system_block(
            &*system,
            &layers,
            Some(CacheTtl::FiveMinutes),
        );
        for number in 0..messages {
            let role = if number % 2 == 0 { "user" } else { "assistant" };
            builder = builder.message(role, &*message, None);
        }
        builder.build().sections().len()
    };
    let comparison = compare(shape, || blake3::hash(&whole));
    table.compare("  40 KB of system prompt, and messages of 1.5 KB", &comparison, Some(MAX_PASSES));
}
