//! `foreword cache`: why prompt-cache reads missed. For each conversation the cached share, and for each miss where the
//! prefix diverged, the cause and the cost.

use std::process::ExitCode;

use foreword_agent::reports::cache_report::{CacheConversation, CacheReport, CauseSum, Miss};
use foreword_core::id::ConversationId;
use foreword_core::money::Money;
use foreword_prompt::text::with_thousands;
use foreword_prompt::untrusted::display_line;
use jiff::tz::TimeZone;

use crate::cli::observe::CacheArgs;
use crate::failure::Failure;
use crate::output::{BOLD, DIM, Output, YELLOW, counted, styled};
use crate::process_context::ProcessContext;
use crate::viewer::{ViewerIdentity, moment};
use crate::workspace_store::WorkspaceStore;

/// How many misses are listed per conversation.
const MAX_MISSES: usize = 20;
const MAX_TEXT_CHARS: usize = 600;
const DEFAULT_SINCE: &str = "30d";

pub(crate) fn run(args: &CacheArgs, process: &ProcessContext, output: &Output) -> Result<ExitCode, Failure> {
    let workspace = process.open()?;
    let identity = ViewerIdentity::of(&args.look, &workspace, process, output)?;
    let only = args.look.conversation.as_deref().map(ConversationId::new).transpose();
    let only =
        only.map_err(|error| Failure::usage(error.to_string(), "name one that `foreword cache` lists"))?;
    let since = moment(Some(args.since.as_deref().unwrap_or(DEFAULT_SINCE)), process)?;
    let report = match WorkspaceStore::open_existing(&workspace, process)? {
        Some(stored) => {
            let viewer = identity.viewer(&stored.store, process);
            stored.wait(CacheReport::visible_to(&viewer, only.clone(), since))?
        }
        None => CacheReport::default(),
    };
    if output.wants_json() {
        output.json(&report)?;
        return Ok(ExitCode::SUCCESS);
    }
    if report.conversations.is_empty() {
        output.print_stderr(&styled(DIM, nothing(only.as_ref())));
        return Ok(ExitCode::SUCCESS);
    }
    output.print(text(&report, process.now.time_zone()).trim_end())?;
    if report.cut {
        output.warn("there are more calls than this command reads; narrow them with `--since`");
    }
    Ok(ExitCode::SUCCESS)
}

fn nothing(only: Option<&ConversationId>) -> String {
    match only {
        Some(id) => format!("no visible model calls in `{id}` in that period"),
        None => "no model calls in that period; start a conversation with `foreword chat`".to_owned(),
    }
}

fn text(report: &CacheReport, zone: &TimeZone) -> String {
    let mut text = format!("{} {}\n", styled(BOLD, "read from the cache:"), report.rate);
    for sum in &report.causes {
        text.push_str(&format!("  {}\n", cause(sum)));
    }
    for talk in &report.conversations {
        text.push_str(&conversation(talk, zone));
    }
    text
}

fn cause(sum: &CauseSum) -> String {
    let tokens = with_thousands(usize::try_from(sum.tokens_rewritten).unwrap_or(usize::MAX));
    let misses = counted(sum.misses, "miss");
    let mut line = format!("{}: {misses}, {tokens} tokens rewritten", styled(YELLOW, &sum.cause));
    if sum.unpriced < sum.misses {
        line.push_str(&format!(", {} more than with cache hits", dollars(sum.extra_usd)));
    }
    match sum.unpriced {
        0 => line,
        unpriced => format!("{line}, {} without a price", counted(unpriced, "miss")),
    }
}

fn conversation(talk: &CacheConversation, zone: &TimeZone) -> String {
    let id = display_line(talk.conversation.as_str(), MAX_TEXT_CHARS);
    let mut text = format!("\n{} {}\n", styled(BOLD, format!("conversation {id}:")), talk.rate);
    if talk.misses.is_empty() && talk.rate.share().is_some() {
        text.push_str(&format!("  {}\n", styled(DIM, "no cache misses")));
    }
    let earlier = talk.misses.len().saturating_sub(MAX_MISSES);
    if earlier > 0 {
        let words = format!("{} earlier; `--json` lists all", counted(earlier as u64, "miss"));
        text.push_str(&format!("  {}\n", styled(DIM, words)));
    }
    for miss in talk.misses.iter().skip(earlier) {
        text.push_str(&missed(miss, zone));
    }
    text
}

fn missed(miss: &Miss, zone: &TimeZone) -> String {
    let at = jiff::Timestamp::from(miss.at).to_zoned(zone.clone()).strftime("%Y-%m-%d %H:%M:%S").to_string();
    let turn = match (miss.turn, miss.text("requestId")) {
        (Some(number), _) => format!("turn {number}"),
        // A proxied request has no turn.
        (None, Some(request)) => format!("request {}", one_line(request)),
        (None, None) => "a summary".to_owned(),
    };
    let summary = miss.text("summary").map(one_line).unwrap_or_default();
    let mut text = format!("  {} {}\n", styled(BOLD, format!("{turn}:")), summary);
    let mut about = vec![at];
    about.extend(miss.turn_id.as_ref().map(|turn| format!("`foreword trace {turn}`")));
    about.extend(miss.text("file").map(|file| format!("file {}", one_line(file))));
    about.extend(
        miss.text("provider_reason").map(|reason| format!("the provider says: {}", one_line(reason))),
    );
    text.push_str(&format!("    {}\n", styled(DIM, about.join(", "))));
    if let Some(with) = miss.text("compared_with") {
        let words = format!("compared with the last request, of {}", one_line(with));
        text.push_str(&format!("    {}\n", styled(DIM, words)));
    }
    for unknown in miss.texts("unknown") {
        text.push_str(&format!("    {}\n", styled(DIM, format!("not known: {}", one_line(unknown)))));
    }
    text
}

/// `text` on one line, without backticks.
fn one_line(text: &str) -> String {
    display_line(text, MAX_TEXT_CHARS)
}

fn dollars(amount: f64) -> String {
    Money::from_picodollars((amount.max(0.0) * 1e12).round() as u64).to_string()
}
