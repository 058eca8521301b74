//! `foreword_cost`: tokens and cost of model calls, as in `foreword cost`. For the owner only.

use foreword_core::cost_sum::CostSum;
use foreword_core::money::Money;
use foreword_core::since::{BadSince, since};
use foreword_prompt::text::with_thousands;
use foreword_prompt::trust::Trust;
use foreword_prompt::untrusted::single_line;
use foreword_store::events::CostBy;
use jiff::tz::TimeZone;

use super::arguments::Arguments;
use super::builtin_tool::BuiltinTool;
use super::event_line::{is_a_name, moment};
use super::limits::{OutputLimits, counted, limited};
use crate::reports::cost_report::{CostGrouping, CostReport, CostSpan};
use crate::tool::{ToolCall, ToolOutput};

const NAME: &str = "foreword_cost";
/// The maximum length of a name.
const NAME_CHARS: usize = 120;

/// The tool `foreword_cost`, with these limits.
pub(super) fn tool(limits: OutputLimits) -> BuiltinTool {
    let run = move |arguments, call| async move { costs(&arguments, &call, limits).await };
    BuiltinTool::new(NAME, run).that_reads_the_log()
}

async fn costs(
    arguments: &Arguments,
    call: &ToolCall,
    limits: OutputLimits,
) -> Result<ToolOutput, ToolOutput> {
    // `tools.trust` may lower the trust the tool needs, but costs stay visible to the owner only.
    if !call.trust.permits(Trust::Full) {
        return Err(ToolOutput::failed("what was spent is for the owner to see"));
    }
    let report = report(arguments, call).await?;
    let listed = report.rows.iter().map(|(name, sum)| {
        let name = name.as_deref().map_or_else(|| "(none)".to_owned(), |name| single_line(name, NAME_CHARS));
        format!("- {name}: {}", figures(sum))
    });
    let lines: Vec<String> = head(&report).into_iter().chain(listed).collect();
    let mut output = limited(lines, call, NAME, limits);
    // Others may have named conversations and users.
    output.from_outside = !report.rows.iter().filter_map(|(name, _)| name.as_deref()).all(is_a_name);
    Ok(output)
}

async fn report(arguments: &Arguments, call: &ToolCall) -> Result<CostReport, ToolOutput> {
    let text = |name: &str| arguments.optional_text(name).map(str::trim).filter(|text| !text.is_empty());
    let by = match text("by") {
        Some(word) => word.parse().map_err(|_| {
            let known = CostGrouping::ALL.map(CostGrouping::as_str).join(", ");
            ToolOutput::failed(format!("`{}` is not one of {known}", single_line(word, 40)))
        })?,
        None => CostGrouping::By(CostBy::Session),
    };
    let now = jiff::Timestamp::from(call.now).to_zoned(TimeZone::system());
    let refused = |bad: BadSince| BadSince { text: single_line(&bad.text, 40) }.to_string();
    let begin = text("since").map(|when| since(when, &now)).transpose();
    let begin = begin.map_err(|bad| ToolOutput::failed(refused(bad)))?;
    let span = CostSpan::new(begin, None, &now).map_err(|bad| ToolOutput::failed(bad.to_string()))?;
    CostReport::read(&call.store, by, &span, &now, None)
        .await
        .map_err(|error| ToolOutput::failed(format!("the costs can't be read: {error}")))
}

fn head(report: &CostReport) -> Vec<String> {
    let mut lines = vec![format!("since {}: {}", moment(report.since), figures(&report.total))];
    if let Some((name, sum)) = &report.longest {
        let tokens = number(sum.tokens());
        lines.push(format!("most tokens: conversation `{}`, {tokens}", single_line(name, NAME_CHARS)));
    }
    if !report.rows.is_empty() {
        let order = if report.by == CostGrouping::ByDay { "" } else { ", the highest cost first" };
        lines.push(format!("by {}{order}:", report.by.as_str()));
    }
    lines
}

fn figures(sum: &CostSum) -> String {
    if sum.is_empty() {
        return "no model was called".to_owned();
    }
    let cost = if sum.unpriced < sum.calls { sum.cost().to_string() } else { "unknown".to_owned() };
    let unpriced = match sum.unpriced {
        0 => String::new(),
        unpriced => format!(" without {} of unknown price", counted(as_size(unpriced), "call")),
    };
    let per_turn =
        sum.usd_per_turn().map(|usd| format!(", {} per turn on average", Money::from_dollars(usd)));
    format!(
        "{} tokens in, {} out, {} in {}, cost {cost}{unpriced}{}",
        number(sum.tokens_in),
        number(sum.tokens_out),
        counted(as_size(sum.calls), "call"),
        counted(as_size(sum.turns), "turn"),
        per_turn.unwrap_or_default()
    )
}

fn number(number: u64) -> String {
    with_thousands(as_size(number))
}

fn as_size(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}
