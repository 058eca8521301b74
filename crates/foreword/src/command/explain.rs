//! `foreword explain`: the owner's view of a prompt. Every layer with its token count, trust and source, what was
//! withheld or cut, the cache breakpoints, and the cost of a turn.

use std::process::ExitCode;
use std::time::Duration;

use anstyle::Style;
use foreword_agent::reports::prompt_report::{Explained, cache_points, turn_price};
use foreword_core::models::Breakpoints;
use foreword_core::money::{Price, Rate};
use foreword_prompt::cache_plan::Breakpoint;
use foreword_prompt::layer::Stability;
use foreword_prompt::report::{LayerReport, Report, View};
use foreword_prompt::text::with_thousands;
use foreword_workspace::build::Built;
use foreword_workspace::request::Request;
use foreword_workspace::workspace::{RefreshOutcome, Workspace};
use jiff::Zoned;

use crate::cli::ExplainArgs;
use crate::failure::Failure;
use crate::name_hints::Names;
use crate::occasion::{context_fits, request};
use crate::output::table::{Align, Table};
use crate::output::{BLUE, BOLD, CYAN, DIM, GREEN, MAGENTA, Output, RED, YELLOW, styled};
use crate::process_context::ProcessContext;
use crate::workspace_store::{self, texts};

/// How often `--watch` checks for changes.
const POLL_INTERVAL: Duration = Duration::from_millis(300);
const BAR_WIDTH: usize = 12;

pub(crate) fn run(
    args: &ExplainArgs,
    process: &ProcessContext,
    output: &Output,
) -> Result<ExitCode, Failure> {
    let workspace = process.open()?;
    let request = request(&args.occasion, &workspace, process)?;
    context_fits(&request, &workspace)?;
    Names::from(&args.occasion).warn(&workspace.snapshot().config, output);
    let built = workspace_store::build(&workspace, &request, process)?;
    show(&built, output)?;
    if args.watch {
        watch(&workspace, request, process, output)?;
    }
    Ok(ExitCode::SUCCESS)
}

pub(crate) fn show(built: &Built, output: &Output) -> Result<(), Failure> {
    let report = Report::of(&built.prompt, View::Owner);
    let points = cache_points(built);
    if output.wants_json() {
        return output.json(&Explained::of(built));
    }
    output.print(&text(built, &report, &points))
}

/// Shows the prompt again whenever a file or a stored text changes, until Ctrl-C.
fn watch(
    workspace: &Workspace,
    mut request: Request,
    process: &ProcessContext,
    output: &Output,
) -> Result<(), Failure> {
    output.print_stderr(&styled(DIM, "watching for changes; Ctrl-C ends it"));
    loop {
        std::thread::sleep(POLL_INTERVAL);
        let refreshed = workspace.refresh();
        let stored = texts(workspace, request.speaker.agent.as_deref(), process)?;
        match refreshed {
            RefreshOutcome::Unchanged if stored == request.stored => continue,
            RefreshOutcome::Unchanged | RefreshOutcome::Changed { .. } => {}
            RefreshOutcome::Refused(error) => {
                output.failure(&Failure::Refused(error));
                output.print_stderr(&styled(DIM, "the previous configuration stays active"));
            }
        }
        request = Request { now: Zoned::now(), stored, ..request };
        let shown =
            workspace_store::build(workspace, &request, process).and_then(|built| show(&built, output));
        if let Err(failure) = shown {
            output.failure(&failure);
        }
    }
}

fn text(built: &Built, report: &Report, points: &[Breakpoint]) -> String {
    let mut parts =
        vec![heading(built, report), layers(built, report, points), totals(built, report, points)];
    let left_out = omitted_layers(report);
    if !left_out.is_empty() {
        parts.push(left_out);
    }
    if !report.warnings.is_empty() {
        let lines: Vec<String> = report
            .warnings
            .iter()
            .map(|warning| format!("  {} {}", styled(YELLOW, "!"), warning.message))
            .collect();
        parts.push(format!("{}\n{}", styled(BOLD, "Notes"), lines.join("\n")));
    }
    parts.join("\n\n")
}

fn heading(built: &Built, report: &Report) -> String {
    let occasion = &built.occasion;
    let who = occasion.user.as_deref().unwrap_or("unknown user");
    let channel = occasion.channel.as_ref().map_or("nowhere", |channel| channel.as_str());
    let compact = if built.prompt.facts.compact { ", compact form" } else { "" };
    format!(
        "{} at {} in {}\n{}\ntrust: {} has at most {}, {} allows {}, so it is {}",
        styled(BOLD, who),
        styled(BOLD, channel),
        styled(BOLD, format!("`{}`", occasion.situation)),
        styled(
            DIM,
            format!(
                "agent {}, blueprint {}{compact}, model {}",
                occasion.agent, built.prompt.facts.blueprint, occasion.model
            )
        ),
        who,
        report.trust.user,
        occasion.situation,
        report.trust.ceiling,
        styled(BOLD, report.trust.effective),
    )
}

fn layers(built: &Built, report: &Report, points: &[Breakpoint]) -> String {
    let mut table = Table::new(&[
        ("LAYER", Align::Left),
        ("STABILITY", Align::Left),
        ("TOKENS", Align::Right),
        ("", Align::Left),
        ("NEEDS", Align::Left),
        ("FROM", Align::Left),
        ("", Align::Left),
    ]);
    let heaviest = visible_layers(report).map(|layer| layer.tokens).max().unwrap_or(1).max(1);
    for layer in visible_layers(report) {
        let bar = if layer.status == "menu" { String::new() } else { bar(layer.tokens, heaviest) };
        table.row(vec![
            layer.id.clone(),
            styled(colour(layer.stability), layer.stability),
            with_thousands(layer.tokens),
            styled(colour(layer.stability), bar),
            layer.trust.to_string(),
            from(layer),
            note(layer),
        ]);
        if let Some(point) =
            points.iter().find(|point| point.at == layer.range[1] && layer.stability != Stability::Turn)
        {
            let line = format!("cache breakpoint: the first {} tokens", with_thousands(point.tokens));
            table.rule(&styled(CYAN, line));
        }
    }
    if built.prompt.is_empty() {
        return "the prompt is empty: nothing would be sent".to_owned();
    }
    table.render()
}

fn totals(built: &Built, report: &Report, points: &[Breakpoint]) -> String {
    let tokens = &report.tokens;
    let price = turn_price(built, points);
    let source = match &built.model {
        Some(model) => {
            [&model.source, &model.date].into_iter().flatten().cloned().collect::<Vec<_>>().join(", ")
        }
        None => "set `prices` in foreword.yaml".to_owned(),
    };
    let source = if source.is_empty() { "from `prices` in foreword.yaml".to_owned() } else { source };
    let mut lines = vec![
        format!(
            "{}    {} tokens: {} frozen + {} each turn; {} of {} left {}",
            styled(BOLD, "Size"),
            styled(BOLD, with_thousands(tokens.total)),
            with_thousands(tokens.frozen),
            with_thousands(tokens.turn),
            with_thousands(report.budget.remaining),
            with_thousands(report.budget.limit),
            styled(DIM, format!("(counted by {})", tokens.counter)),
        ),
        format!(
            "{}   {} cold, {} warm, per turn {}",
            styled(BOLD, "Price"),
            styled(YELLOW, price.cold),
            styled(GREEN, price.warm),
            styled(DIM, format!("({source})")),
        ),
    ];
    lines.push(format!("{}  {}", styled(BOLD, "Frozen"), styled(DIM, report.fingerprint)));
    lines.extend(unsafe_order(built, report));
    lines.join("\n")
}

/// The cost of an unfavourable layer order: tokens that are cached for less time than possible.
fn unsafe_order(built: &Built, report: &Report) -> Option<String> {
    let mut reached = Stability::Static;
    let mut behind = 0;
    for layer in visible_layers(report).filter(|layer| layer.stability != Stability::Turn) {
        if layer.stability < reached {
            behind += layer.tokens;
        }
        reached = reached.max(layer.stability);
    }
    (behind > 0).then(|| {
        format!(
            "{}   {} tokens follow a layer that changes more often, and are cached only until it changes; \
             writing them again costs {}",
            styled(RED, "Order"),
            with_thousands(behind),
            match rewriting(built, behind) {
                Price::Known(more) => format!("{} more than reading them", styled(YELLOW, more)),
                Price::Unknown => Price::Unknown.to_string(),
            },
        )
    })
}

/// The price difference between writing `tokens` to the cache and reading them.
fn rewriting(built: &Built, tokens: usize) -> Price {
    let more = || {
        let model = built.model.as_ref()?;
        let prices = model.prices_at(built.prompt.tokens())?;
        let (write, read) = match model.breakpoints {
            Breakpoints::Explicit => (prices.cache_write_5m?, prices.cache_read?),
            Breakpoints::Automatic | Breakpoints::Either => {
                (prices.cache_write_5m.unwrap_or(prices.input), prices.cache_read?)
            }
            // Without a cache the order does not matter.
            Breakpoints::None => (prices.input, prices.input),
        };
        let more = Rate::per_million((f64::from(write) - f64::from(read)).max(0.0)).ok()?;
        Some(more.times(tokens))
    };
    more().into()
}

fn omitted_layers(report: &Report) -> String {
    let sections = [("withheld", "Withheld on this occasion"), ("absent", "Missing"), ("empty", "Empty")];
    let mut parts = Vec::new();
    for (status, title) in sections {
        let mut table = Table::new(&[("", Align::Left), ("", Align::Left)]).without_header();
        for layer in report.layers.iter().filter(|layer| layer.status == status) {
            table.row(vec![layer.id.clone(), layer.reason.clone().unwrap_or_default()]);
        }
        if !table.is_empty() {
            let style = if status == "withheld" { RED } else { DIM };
            parts.push(format!("{}\n{}", styled(style, title), table.render()));
        }
    }
    parts.join("\n\n")
}

fn visible_layers(report: &Report) -> impl Iterator<Item = &LayerReport> {
    report.layers.iter().filter(|layer| matches!(layer.status, "included" | "cut" | "menu"))
}

fn from(layer: &LayerReport) -> String {
    match &layer.origin {
        Some(origin) if layer.source == "file" => origin.clone(),
        Some(origin) => format!("{} {origin}", layer.source),
        None => layer.source.clone(),
    }
}

fn note(layer: &LayerReport) -> String {
    match (layer.status, layer.cut) {
        ("cut", Some(cut)) => styled(YELLOW, format!("cut from {}", with_thousands(cut.tokens_before))),
        ("menu", _) => styled(YELLOW, "in the menu; tokens if loaded"),
        _ => String::new(),
    }
}

fn colour(stability: Stability) -> Style {
    match stability {
        Stability::Static => BLUE,
        Stability::Agent => CYAN,
        Stability::Conversation => MAGENTA,
        Stability::Turn => YELLOW,
    }
}

fn bar(tokens: usize, heaviest: usize) -> String {
    let eighths = (tokens * BAR_WIDTH * 8).div_ceil(heaviest);
    let partial = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"][eighths % 8];
    format!("{}{partial}", "█".repeat(eighths / 8))
}
