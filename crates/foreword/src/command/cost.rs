//! `foreword cost`: what calls to models came to, by day or by whatever else tells them apart. Only the owner sees it. Days
//! begin where this machine is.

mod shown;

use std::io::{self, IsTerminal};
use std::process::ExitCode;

use foreword_agent::cost_report::{BadSpan, CostReport, CostSpan};
use foreword_prompt::trust::Trust;

use crate::cli::observe::CostArgs;
use crate::failure::Failure;
use crate::looking::{Looker, moment};
use crate::output::{DIM, Output, styled};
use crate::stored::Stored;
use crate::world::World;

pub(crate) fn run(args: &CostArgs, world: &World, output: &Output) -> Result<ExitCode, Failure> {
    let workspace = world.open()?;
    let looker = Looker::of(&args.look, &workspace, world, output)?;
    if !looker.trust.permits(Trust::Full) {
        return Err(Failure::failed(
            "what was spent is for the owner to see",
            "look as somebody of `full` trust: `--as NAME`",
        ));
    }
    let span = span(args, world)?;
    let by = args.by.told_apart();
    let stored = Stored::open_existing(&workspace, world)?;
    let costs = match &stored {
        Some(stored) => stored.wait(CostReport::read(&stored.store, by, (&span, &world.now), None))?,
        None => CostReport::none(by, &span),
    };
    if output.wants_json() {
        output.json(&shown::as_json(&costs))?;
        return Ok(ExitCode::SUCCESS);
    }
    output.print(&shown::text(&costs, io::stdout().is_terminal()))?;
    if costs.total.is_empty() {
        output.say(&styled(DIM, "no model was called in that time; `--since` looks further back"));
    } else if costs.total.unpriced > 0 {
        output.say(&styled(DIM, shown::unpriced(costs.total.unpriced)));
    }
    Ok(ExitCode::SUCCESS)
}

/// The time that is asked for.
fn span(args: &CostArgs, world: &World) -> Result<CostSpan, Failure> {
    let (since, until) = (moment(args.since.as_deref(), world)?, moment(args.until.as_deref(), world)?);
    CostSpan::new(since, until, &world.now).map_err(|bad| {
        let help = match bad {
            BadSpan::Backwards => "such as --since 7d --until today",
            BadSpan::TooLong => "begin later, or tell apart by something else: --by model",
        };
        Failure::usage(bad.to_string(), help)
    })
}
