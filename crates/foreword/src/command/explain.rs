//! `foreword explain`: the owner's view of a prompt. Every layer with its weight, trust and source, what was withheld
//! or cut, where the cache breaks, and what a turn costs.

use std::process::ExitCode;
use std::time::Duration;

use anstyle::Style;
use foreword_agent::explained::{Explained, cache_points, turn_price};
use foreword_core::models::Breakpoints;
use foreword_core::money::{Price, Rate};
use foreword_prompt::cache_plan::Breakpoint;
use foreword_prompt::layer::Stability;
use foreword_prompt::report::{LayerReport, Report, View};
use foreword_prompt::text::with_thousands;
use foreword_workspace::build::Built;
use foreword_workspace::request::Request;
use foreword_workspace::workspace::{Refreshed, Workspace};
use jiff::Zoned;

use crate::cli::ExplainArgs;
use crate::failure::Failure;
use crate::name_hints::Names;
use crate::occasion::{context_fits, request};
use crate::output::table::{Align, Table};
use crate::output::{BLUE, BOLD, CYAN, DIM, GREEN, MAGENTA, Output, RED, YELLOW, styled};
use crate::stored::texts;
use crate::world::World;

/// How often `--watch` looks for changes.
const LOOK_EVERY: Duration = Duration::from_millis(300);
const BAR_WIDTH: usize = 12;

pub(crate) fn run(args: &ExplainArgs, world: &World, output: &Output) -> Result<ExitCode, Failure> {
    let workspace = world.open()?;
    let request = request(&args.occasion, &workspace, world)?;
    context_fits(&request, &workspace)?;
    Names::from(&args.occasion).warn(&workspace.snapshot().config, output);
    show(&workspace, &request, output)?;
    if args.watch {
        watch(&workspace, request, world, output)?;
    }
    Ok(ExitCode::SUCCESS)
}

pub(crate) fn show(workspace: &Workspace, request: &Request, output: &Output) -> Result<(), Failure> {
    let built = workspace.build(request)?;
    let report = Report::of(&built.prompt, View::Owner);
    let points = cache_points(&built);
    if output.wants_json() {
        return output.json(&Explained::of(&built));
    }
    output.print(&text(&built, &report, &points))
}

/// Shows the prompt again whenever a file or a stored text changes; ended by the user.
fn watch(workspace: &Workspace, mut request: Request, world: &World, output: &Output) -> Result<(), Failure> {
    output.say(&styled(DIM, "watching for changes; Ctrl-C ends it"));
    loop {
        std::thread::sleep(LOOK_EVERY);
        let refreshed = workspace.refresh();
        let stored = texts(workspace, request.agent.as_deref(), world)?;
        match refreshed {
            Refreshed::Unchanged if stored == request.stored => continue,
            Refreshed::Unchanged | Refreshed::Changed { .. } => {}
            Refreshed::Refused(error) => {
                output.failure(&Failure::Refused(error));
                output.say(&styled(DIM, "the configuration before it stays in force"));
            }
        }
        request = Request { now: Zoned::now(), stored, ..request };
        if let Err(failure) = show(workspace, &request, output) {
            output.failure(&failure);
        }
    }
}

fn text(built: &Built, report: &Report, points: &[Breakpoint]) -> String {
    let mut parts =
        vec![heading(built, report), layers(built, report, points), totals(built, report, points)];
    let left_out = left_out(report);
    if !left_out.is_empty() {
        parts.push(left_out);
    }
    if !report.warnings.is_empty() {
        let lines: Vec<String> = report
            .warnings
            .iter()
            .map(|warning| format!("  {} {}", styled(YELLOW, "!"), warning.message))
            .collect();
        parts.push(format!("{}\n{}", styled(BOLD, "Worth knowing"), lines.join("\n")));
    }
    parts.join("\n\n")
}

fn heading(built: &Built, report: &Report) -> String {
    let occasion = &built.occasion;
    let who = occasion.user.as_deref().unwrap_or("somebody unknown");
    let channel = occasion.channel.as_ref().map_or("nowhere", |channel| channel.as_str());
    let compact = if built.prompt.facts.compact { ", compact form" } else { "" };
    format!(
        "{} at {} in {}\n{}\ntrust: {} may go up to {}, {} allows {}, so this is {}",
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
    let heaviest = shown(report).map(|layer| layer.tokens).max().unwrap_or(1).max(1);
    for layer in shown(report) {
        let bar = if layer.status == "menu" { String::new() } else { bar(layer.tokens, heaviest) };
        table.row(vec![
            layer.id.clone(),
            styled(colour(layer.stability), layer.stability),
            with_thousands(layer.tokens),
            styled(colour(layer.stability), bar),
            layer.trust.to_string(),
            from(layer),
            remark(layer),
        ]);
        if let Some(point) =
            points.iter().find(|point| point.at == layer.range[1] && layer.stability != Stability::Turn)
        {
            let line = format!("cache breakpoint: the first {} tokens", with_thousands(point.tokens));
            table.rule(&styled(CYAN, line));
        }
    }
    if built.prompt.is_empty() {
        return "nothing would be sent: the prompt is empty".to_owned();
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
        None => "set `prices` in foreword.yaml to know".to_owned(),
    };
    let source = if source.is_empty() { "as `prices` in foreword.yaml says".to_owned() } else { source };
    let mut lines = vec![
        format!(
            "{}  {} tokens: {} frozen + {} each turn; {} of {} left {}",
            styled(BOLD, "Weight"),
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

/// What an order that the cache does not like costs: tokens cached for less long than they could be.
fn unsafe_order(built: &Built, report: &Report) -> Option<String> {
    let mut reached = Stability::Static;
    let mut behind = 0;
    for layer in shown(report).filter(|layer| layer.stability != Stability::Turn) {
        if layer.stability < reached {
            behind += layer.tokens;
        }
        reached = reached.max(layer.stability);
    }
    (behind > 0).then(|| {
        format!(
            "{}   {} tokens stand behind a layer that changes more often, and are cached only as long as that; \
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

/// What writing `tokens` to the cache costs more than reading them from it.
fn rewriting(built: &Built, tokens: usize) -> Price {
    let more = || {
        let model = built.model.as_ref()?;
        let prices = model.prices_at(built.prompt.tokens())?;
        let (write, read) = match model.breakpoints {
            Breakpoints::Explicit => (prices.cache_write_5m?, prices.cache_read?),
            Breakpoints::Automatic | Breakpoints::Either => {
                (prices.cache_write_5m.unwrap_or(prices.input), prices.cache_read?)
            }
            // Without a cache, no order is dearer than another.
            Breakpoints::None => (prices.input, prices.input),
        };
        let more = Rate::per_million((f64::from(write) - f64::from(read)).max(0.0)).ok()?;
        Some(more.times(tokens))
    };
    more().into()
}

fn left_out(report: &Report) -> String {
    let sections =
        [("withheld", "Withheld from this occasion"), ("absent", "Not there"), ("empty", "There, but empty")];
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

fn shown(report: &Report) -> impl Iterator<Item = &LayerReport> {
    report.layers.iter().filter(|layer| matches!(layer.status, "included" | "cut" | "menu"))
}

fn from(layer: &LayerReport) -> String {
    match &layer.origin {
        Some(origin) if layer.source == "file" => origin.clone(),
        Some(origin) => format!("{} {origin}", layer.source),
        None => layer.source.clone(),
    }
}

fn remark(layer: &LayerReport) -> String {
    match (layer.status, layer.cut) {
        ("cut", Some(cut)) => styled(YELLOW, format!("cut from {}", with_thousands(cut.tokens_before))),
        ("menu", _) => styled(YELLOW, "in the menu; that is what loading it costs"),
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
