//! `foreword cost`: the cost of model calls, grouped by day, conversation, user, model or agent. Only the owner sees
//! it. Days start at midnight in this machine's time zone.

mod report;

use std::io::{self, IsTerminal};
use std::process::ExitCode;

use foreword_agent::reports::cost_report::{CostReport, CostSpan, SpanError};
use foreword_prompt::trust::Trust;

use crate::cli::observe::CostArgs;
use crate::failure::Failure;
use crate::output::{DIM, Output, styled};
use crate::process_context::ProcessContext;
use crate::viewer::{ViewerIdentity, moment};
use crate::workspace_store::WorkspaceStore;

pub(crate) fn run(args: &CostArgs, process: &ProcessContext, output: &Output) -> Result<ExitCode, Failure> {
    let workspace = process.open()?;
    let identity = ViewerIdentity::of(&args.look, &workspace, process, output)?;
    if !identity.trust.permits(Trust::Full) {
        return Err(Failure::failed(
            "only the owner may see costs",
            "use a user with `full` trust: `--as NAME`",
        ));
    }
    let span = span(args, process)?;
    let by = args.by.grouping();
    let stored = WorkspaceStore::open_existing(&workspace, process)?;
    let costs = match &stored {
        Some(stored) => stored.wait(CostReport::read(&stored.store, by, &span, &process.now, None))?,
        None => CostReport::none(by, &span),
    };
    if output.wants_json() {
        output.json(&report::as_json(&costs))?;
        return Ok(ExitCode::SUCCESS);
    }
    output.print(&report::text(&costs, io::stdout().is_terminal()))?;
    if costs.total.is_empty() {
        output.print_stderr(&styled(DIM, "no model calls in that period; look further back with `--since`"));
    } else if costs.total.unpriced > 0 {
        output.print_stderr(&styled(DIM, report::unpriced(costs.total.unpriced)));
    }
    Ok(ExitCode::SUCCESS)
}

/// The requested period.
fn span(args: &CostArgs, process: &ProcessContext) -> Result<CostSpan, Failure> {
    let (since, until) = (moment(args.since.as_deref(), process)?, moment(args.until.as_deref(), process)?);
    CostSpan::new(since, until, &process.now).map_err(|bad| {
        let help = match bad {
            SpanError::Backwards => "such as --since 7d --until today",
            SpanError::TooLong => "shorten the period, or group otherwise: --by model",
        };
        Failure::usage(bad.to_string(), help)
    })
}
