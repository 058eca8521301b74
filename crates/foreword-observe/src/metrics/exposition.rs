//! Metric names, help texts, units and labels. They are stable, since dashboards use them: docs/telemetry.md has the
//! same table, and a test compares them.

use super::Gauges;
use super::counters::{Counters, ERROR_KINDS, OUTCOMES, OfTool};
use super::labels::OTHER;
use super::text::Kind::{Counter, Gauge, Histogram};
use super::text::Page;

pub(super) fn render(tallies: &Counters, gauges: Gauges, running: i64) -> String {
    let mut page = Page::default();
    turns(&mut page, tallies, running);
    models(&mut page, tallies);
    tokens(&mut page, tallies);
    tools(&mut page, tallies);
    rest(&mut page, tallies);
    own(&mut page, gauges);
    page.finish()
}

fn turns(page: &mut Page, tallies: &Counters, running: i64) {
    page.family("foreword_turns_total", Counter, "Finished turns by outcome.");
    for (outcome, count) in OUTCOMES.into_iter().zip(tallies.turns) {
        if count > 0 || outcome != OTHER {
            page.sample(&[("outcome", outcome)], count);
        }
    }
    page.family("foreword_turn_duration_seconds", Histogram, "Duration of turns.");
    page.histogram(&[], &tallies.turn_seconds);
    page.single("foreword_turns_running", Gauge, "Turns running in this process.", running.max(0));
}

/// The provider of a model: the part before the `/`. A failure without a model is counted for its provider.
fn provider_of(model: &str) -> &str {
    model.split_once('/').map_or(model, |(provider, _)| provider)
}

fn models(page: &mut Page, tallies: &Counters) {
    page.family("foreword_model_calls_total", Counter, "Answered model calls.");
    for (name, model) in tallies.models.iter() {
        page.sample(&[("provider", provider_of(name)), ("model", name)], model.calls);
    }
    page.family("foreword_model_errors_total", Counter, "Failed model calls by kind of error.");
    for (name, model) in tallies.models.iter() {
        let provider = provider_of(name);
        let seen = ERROR_KINDS.into_iter().zip(model.errors).filter(|(_, count)| *count > 0);
        for (kind, count) in seen {
            page.sample(&[("provider", provider), ("model", name), ("kind", kind)], count);
        }
    }
    page.family("foreword_model_call_duration_seconds", Histogram, "Duration of answered model calls.");
    for (name, model) in tallies.models.iter().filter(|(_, model)| model.seconds.count() > 0) {
        page.histogram(&[("model", name)], &model.seconds);
    }
    page.family("foreword_model_rate_limits_total", Counter, "Rate limit responses of providers.");
    for (provider, count) in tallies.rate_limits.iter() {
        page.sample(&[("provider", provider)], count);
    }
}

fn tokens(page: &mut Page, tallies: &Counters) {
    let help = "Tokens by kind. `input` was neither read from a cache nor written to one.";
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
    page.family("foreword_model_cost_dollars_total", Counter, "Cost of calls with a known price.");
    for (name, model) in tallies.models.iter() {
        page.sample(&[("model", name)], model.dollars);
    }
    page.family("foreword_model_unpriced_calls_total", Counter, "Answered calls without a known price.");
    for (name, model) in tallies.models.iter() {
        page.sample(&[("model", name)], model.unpriced);
    }
    let help = "Share of the input read from a cache since the process started.";
    page.family("foreword_model_cache_read_ratio", Gauge, help);
    for (name, model) in tallies.models.iter() {
        let all = model.input + model.cache_read + model.cache_write;
        if all > 0 {
            page.sample(&[("model", name)], model.cache_read as f64 / all as f64);
        }
    }
    page.family("foreword_cache_misses_total", Counter, "Cache misses by cause.");
    for (cause, count) in tallies.cache_misses.iter() {
        page.sample(&[("cause", cause)], count);
    }
}

fn tools(page: &mut Page, tallies: &Counters) {
    type Counted = fn(&OfTool) -> u64;
    let counters: [(_, _, Counted); 4] = [
        ("foreword_tool_calls_total", "Executed tool calls.", |tool| tool.calls),
        ("foreword_tool_errors_total", "Failed tool calls.", |tool| tool.errors),
        ("foreword_tool_blocked_total", "Tool calls that were not permitted.", |tool| tool.blocked),
        ("foreword_tool_timeouts_total", "Tool calls stopped by their timeout.", |tool| tool.timeouts),
    ];
    for (name, help, of) in counters {
        page.family(name, Counter, help);
        for (tool, tally) in tallies.tools.iter() {
            page.sample(&[("tool", tool)], of(tally));
        }
    }
    page.family("foreword_tool_duration_seconds", Histogram, "Duration of tool calls.");
    for (name, tool) in tallies.tools.iter().filter(|(_, tool)| tool.seconds.count() > 0) {
        page.histogram(&[("tool", name)], &tool.seconds);
    }
}

fn rest(page: &mut Page, tallies: &Counters) {
    page.family("foreword_messages_received_total", Counter, "Received messages by channel family.");
    for (family, channel) in tallies.channels.iter() {
        page.sample(&[("channel", family)], channel.received);
    }
    page.family("foreword_messages_sent_total", Counter, "Sent messages by channel family.");
    for (family, channel) in tallies.channels.iter() {
        page.sample(&[("channel", family)], channel.sent);
    }
    let singles = [
        ("foreword_schedules_fired_total", "Fired schedules.", tallies.schedules_fired),
        ("foreword_schedules_failed_total", "Failed schedules.", tallies.schedules_failed),
        ("foreword_compactions_total", "Histories replaced by a summary.", tallies.compactions),
        ("foreword_compactions_failed_total", "Failed compactions.", tallies.compactions_failed),
        ("foreword_budget_warnings_total", "Warnings about a nearly spent budget.", tallies.budget_warnings),
        ("foreword_budget_stops_total", "Calls not made because a budget was spent.", tallies.budget_stops),
    ];
    for (name, help, value) in singles {
        page.single(name, Counter, help, value);
    }
}

/// The metrics of the process itself.
fn own(page: &mut Page, gauges: Gauges) {
    let waiting = gauges.event_queue_depth;
    page.single("foreword_event_queue_depth", Gauge, "Events waiting to be stored.", waiting);
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
    page.family("foreword_store_errors_total", Counter, "Failed database operations by fault.");
    for (fault, count) in gauges.store_errors.into_iter().filter(|(fault, _)| !fault.is_empty()) {
        page.sample(&[("fault", fault)], count);
    }
    let version = env!("CARGO_PKG_VERSION");
    page.family("foreword_build_info", Gauge, "The running version; always 1.");
    page.sample(&[("version", version)], 1);
}
