//! The names under which everything that is counted is published, and what they mean. Names, units and labels are a promise
//! to whoever has a dashboard: docs/telemetry.md has the same table, and a test holds them together.

use super::Gauges;
use super::labels::OTHER;
use super::tallies::{ERROR_KINDS, OUTCOMES, OfTool, Tallies};
use super::text::Kind::{Counter, Gauge, Histogram};
use super::text::Page;

pub(super) fn render(tallies: &Tallies, gauges: Gauges, running: i64) -> String {
    let mut page = Page::default();
    turns(&mut page, tallies, running);
    models(&mut page, tallies);
    tokens(&mut page, tallies);
    tools(&mut page, tallies);
    rest(&mut page, tallies);
    own(&mut page, gauges);
    page.finish()
}

fn turns(page: &mut Page, tallies: &Tallies, running: i64) {
    page.family("foreword_turns_total", Counter, "Turns that have ended, by how.");
    for (outcome, count) in OUTCOMES.into_iter().zip(tallies.turns) {
        if count > 0 || outcome != OTHER {
            page.sample(&[("outcome", outcome)], count);
        }
    }
    page.family("foreword_turn_duration_seconds", Histogram, "How long turns took.");
    page.histogram(&[], &tallies.turn_seconds);
    page.single("foreword_turns_running", Gauge, "Turns that run in this process.", running.max(0));
}

/// Who provides a model: what stands in front of its `/`. A failure that names no model counts for its provider.
fn provider_of(model: &str) -> &str {
    model.split_once('/').map_or(model, |(provider, _)| provider)
}

fn models(page: &mut Page, tallies: &Tallies) {
    page.family("foreword_model_calls_total", Counter, "Calls that a model has answered.");
    for (name, model) in tallies.models.iter() {
        page.sample(&[("provider", provider_of(name)), ("model", name)], model.calls);
    }
    page.family("foreword_model_errors_total", Counter, "Calls that failed, by what sort of failure it was.");
    for (name, model) in tallies.models.iter() {
        let provider = provider_of(name);
        let seen = ERROR_KINDS.into_iter().zip(model.errors).filter(|(_, count)| *count > 0);
        for (kind, count) in seen {
            page.sample(&[("provider", provider), ("model", name), ("kind", kind)], count);
        }
    }
    page.family("foreword_model_call_duration_seconds", Histogram, "How long answered calls took.");
    for (name, model) in tallies.models.iter().filter(|(_, model)| model.seconds.count() > 0) {
        page.histogram(&[("model", name)], &model.seconds);
    }
    page.family("foreword_model_rate_limits_total", Counter, "How often a provider wanted fewer calls.");
    for (provider, count) in tallies.rate_limits.iter() {
        page.sample(&[("provider", provider)], count);
    }
}

fn tokens(page: &mut Page, tallies: &Tallies) {
    let help = "Tokens by kind. `input` is what was neither read from a cache nor written to one.";
    page.family("foreword_model_tokens_total", Counter, help);
    for (name, model) in tallies.models.iter() {
        let kinds = [
            ("input", model.input),
            ("output", model.output),
            ("cache_read", model.cache_read),
            ("cache_write", model.cache_write),
        ];
        for (kind, count) in kinds {
            page.sample(&[("model", name), ("type", kind)], count);
        }
    }
    page.family(
        "foreword_model_cost_dollars_total",
        Counter,
        "What calls have cost, where a price is known.",
    );
    for (name, model) in tallies.models.iter() {
        page.sample(&[("model", name)], model.dollars);
    }
    page.family("foreword_model_unpriced_calls_total", Counter, "Answered calls whose price nobody knows.");
    for (name, model) in tallies.models.iter() {
        page.sample(&[("model", name)], model.unpriced);
    }
    let help = "The share of all input that was read from a cache since the process began.";
    page.family("foreword_model_cache_read_ratio", Gauge, help);
    for (name, model) in tallies.models.iter() {
        let all = model.input + model.cache_read + model.cache_write;
        if all > 0 {
            page.sample(&[("model", name)], model.cache_read as f64 / all as f64);
        }
    }
    page.family(
        "foreword_cache_misses_total",
        Counter,
        "Caches that were read less than they could be, by cause.",
    );
    for (cause, count) in tallies.cache_misses.iter() {
        page.sample(&[("cause", cause)], count);
    }
}

fn tools(page: &mut Page, tallies: &Tallies) {
    type Counted = fn(&OfTool) -> u64;
    let counters: [(_, _, Counted); 4] = [
        ("foreword_tool_calls_total", "Calls of tools that were run.", |tool| tool.calls),
        ("foreword_tool_errors_total", "Those that failed.", |tool| tool.errors),
        ("foreword_tool_blocked_total", "Calls that were not allowed to run.", |tool| tool.blocked),
        ("foreword_tool_timeouts_total", "Calls that took too long and were stopped.", |tool| tool.timeouts),
    ];
    for (name, help, of) in counters {
        page.family(name, Counter, help);
        for (tool, tally) in tallies.tools.iter() {
            page.sample(&[("tool", tool)], of(tally));
        }
    }
    page.family("foreword_tool_duration_seconds", Histogram, "How long tools took.");
    for (name, tool) in tallies.tools.iter().filter(|(_, tool)| tool.seconds.count() > 0) {
        page.histogram(&[("tool", name)], &tool.seconds);
    }
}

fn rest(page: &mut Page, tallies: &Tallies) {
    page.family("foreword_messages_received_total", Counter, "Messages that came in, by family of channel.");
    for (family, channel) in tallies.channels.iter() {
        page.sample(&[("channel", family)], channel.received);
    }
    page.family("foreword_messages_sent_total", Counter, "Messages that went out, by family of channel.");
    for (family, channel) in tallies.channels.iter() {
        page.sample(&[("channel", family)], channel.sent);
    }
    let singles = [
        ("foreword_schedules_fired_total", "Firings of schedules.", tallies.schedules_fired),
        ("foreword_schedules_failed_total", "Firings that failed.", tallies.schedules_failed),
        ("foreword_compactions_total", "Histories that were replaced by a summary.", tallies.compactions),
        (
            "foreword_compactions_failed_total",
            "Histories that were too long and stayed so.",
            tallies.compactions_failed,
        ),
        ("foreword_budget_warnings_total", "How often a budget was nearly spent.", tallies.budget_warnings),
        ("foreword_budget_stops_total", "Calls not made because a budget was spent.", tallies.budget_stops),
    ];
    for (name, help, value) in singles {
        page.single(name, Counter, help, value);
    }
}

/// How the process itself is doing.
fn own(page: &mut Page, gauges: Gauges) {
    let waiting = gauges.event_queue_depth;
    page.single("foreword_event_queue_depth", Gauge, "Events that wait to be stored.", waiting);
    let dropped = [
        ("foreword_events_dropped_total", "Events that could not be stored.", gauges.events_dropped),
        (
            "foreword_log_lines_dropped_total",
            "Log lines that could not be written.",
            gauges.log_lines_dropped,
        ),
        ("foreword_spans_dropped_total", "Spans that could not be exported.", gauges.spans_dropped),
    ];
    for (name, help, value) in dropped {
        page.single(name, Counter, help, value);
    }
    let up = u8::from(!gauges.store_down);
    page.single("foreword_store_up", Gauge, "Whether the database works: 1, or 0 while it fails.", up);
    page.family("foreword_store_errors_total", Counter, "Operations that the database failed, by fault.");
    for (fault, count) in gauges.store_errors.into_iter().filter(|(fault, _)| !fault.is_empty()) {
        page.sample(&[("fault", fault)], count);
    }
    let version = env!("CARGO_PKG_VERSION");
    page.family("foreword_build_info", Gauge, "Which version runs; always 1.");
    page.sample(&[("version", version)], 1);
}
