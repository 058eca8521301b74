//! `foreword cache`: why prompt-cache reads missed. Per conversation how much came from the cache, and for each request that
//! read less than it could have, where the prefix diverged, why, and what that cost.

use std::process::ExitCode;

use foreword_agent::cache_report::{CacheReport, CauseSum, Miss, Talk};
use foreword_core::id::ConversationId;
use foreword_core::money::Money;
use foreword_prompt::text::with_thousands;
use foreword_prompt::untrusted::display_line;
use jiff::tz::TimeZone;

use crate::cli::observe::CacheArgs;
use crate::failure::Failure;
use crate::looking::{Looker, moment};
use crate::output::{BOLD, DIM, Output, YELLOW, counted, styled};
use crate::stored::Stored;
use crate::world::World;

/// How many misses of a conversation are shown.
const SHOWN: usize = 20;
/// The longest text that is shown as it is.
const LONGEST: usize = 600;
/// How far back is looked if nobody says.
const USUAL: &str = "30d";

pub(crate) fn run(args: &CacheArgs, world: &World, output: &Output) -> Result<ExitCode, Failure> {
    let workspace = world.open()?;
    let looker = Looker::of(&args.look, &workspace, world, output)?;
    let only = args.look.conversation.as_deref().map(ConversationId::new).transpose();
    let only =
        only.map_err(|error| Failure::usage(error.to_string(), "name one that `foreword cache` lists"))?;
    let since = moment(Some(args.since.as_deref().unwrap_or(USUAL)), world)?;
    let report = match Stored::open_existing(&workspace, world)? {
        Some(stored) => {
            let viewer = looker.viewer(&stored.store, world);
            stored.wait(CacheReport::seen_by(&viewer, only.clone(), since))?
        }
        None => CacheReport::default(),
    };
    if output.wants_json() {
        output.json(&report)?;
        return Ok(ExitCode::SUCCESS);
    }
    if report.conversations.is_empty() {
        output.say(&styled(DIM, nothing(only.as_ref())));
        return Ok(ExitCode::SUCCESS);
    }
    output.print(text(&report, world.now.time_zone()).trim_end())?;
    if report.cut {
        output.warn("there were more calls than are looked at; `--since` asks for fewer");
    }
    Ok(ExitCode::SUCCESS)
}

fn nothing(only: Option<&ConversationId>) -> String {
    match only {
        Some(id) => format!("no model was called in `{id}` in that time, as far as you may see"),
        None => "no model was called in that time; `foreword chat` begins a conversation".to_owned(),
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
    let misses = if sum.misses == 1 { "1 miss".to_owned() } else { format!("{} misses", sum.misses) };
    let mut line = format!("{}: {misses}, {tokens} tokens again", styled(YELLOW, &sum.cause));
    if sum.unpriced < sum.misses {
        line.push_str(&format!(", {} more than hits", dollars(sum.extra_usd)));
    }
    match sum.unpriced {
        0 => line,
        unpriced => format!("{line}, {} without a known price", counted(unpriced, "miss")),
    }
}

fn conversation(talk: &Talk, zone: &TimeZone) -> String {
    let id = display_line(talk.conversation.as_str(), LONGEST);
    let mut text = format!("\n{} {}\n", styled(BOLD, format!("conversation {id}:")), talk.rate);
    if talk.misses.is_empty() && talk.rate.share().is_some() {
        text.push_str(&format!("  {}\n", styled(DIM, "nothing was missed that could have been read")));
    }
    let earlier = talk.misses.len().saturating_sub(SHOWN);
    if earlier > 0 {
        let words = format!("{} before these; `--json` has them all", counted(earlier as u64, "miss"));
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
        // It passed through a drop-in endpoint: its turns are its client's.
        (None, Some(request)) => format!("request {}", shown(request)),
        (None, None) => "a summary".to_owned(),
    };
    let summary = miss.text("summary").map(shown).unwrap_or_default();
    let mut text = format!("  {} {}\n", styled(BOLD, format!("{turn}:")), summary);
    let mut about = vec![at];
    about.extend(miss.turn_id.as_ref().map(|turn| format!("`foreword trace {turn}`")));
    about.extend(miss.text("file").map(|file| format!("file {}", shown(file))));
    about.extend(miss.text("provider_reason").map(|reason| format!("the provider says: {}", shown(reason))));
    text.push_str(&format!("    {}\n", styled(DIM, about.join(", "))));
    if let Some(with) = miss.text("compared_with") {
        let words = format!("compared with the last request of {}", shown(with));
        text.push_str(&format!("    {}\n", styled(DIM, words)));
    }
    for unknown in miss.texts("unknown") {
        text.push_str(&format!("    {}\n", styled(DIM, format!("not known: {}", shown(unknown)))));
    }
    text
}

/// A text on one line; backticks are ours.
fn shown(text: &str) -> String {
    display_line(text, LONGEST)
}

fn dollars(amount: f64) -> String {
    Money::from_picodollars((amount.max(0.0) * 1e12).round() as u64).to_string()
}
