//! Formats a simulation for a terminal: a table per model, the cost breakdown, and the cost per turn over time.

use foreword_agent::reports::simulation::{Compared, Simulation, SimulationParams};
use foreword_core::simulate::{SendStrategy, Simulated};
use foreword_prompt::text::with_thousands;

use crate::output::sparkline::sparkline;
use crate::output::table::{Align, Table};
use crate::output::{BOLD, CYAN, DIM, GREEN, YELLOW, counted, styled};

const MAX_WIDTH: usize = 100;

pub(super) fn text(simulation: &Simulation) -> String {
    let Simulation { params, comparisons, assumed } = simulation;
    let mut parts: Vec<String> =
        comparisons.first().map(|first| heading(params, first)).into_iter().collect();
    for compared in comparisons {
        parts.push(format!("{}\n{}", styled(BOLD, &compared.facts.id), strategies(compared)));
        parts.push(money(compared));
        parts.push(curves(compared));
    }
    let assumed: Vec<String> = assumed.iter().flat_map(|line| wrapped(line)).collect();
    parts.push(format!("{}\n{}", styled(BOLD, "Assumed"), assumed.join("\n")));
    parts.join("\n\n")
}

/// A sentence wrapped to lines, with a marker on the first one.
fn wrapped(text: &str) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let last = lines.len() - 1;
        if !lines[last].is_empty() && lines[last].chars().count() + word.chars().count() >= MAX_WIDTH {
            lines.push(word.to_owned());
        } else {
            let space = if lines[last].is_empty() { "" } else { " " };
            lines[last].push_str(space);
            lines[last].push_str(word);
        }
    }
    let mark = |at: usize| if at == 0 { "·" } else { " " };
    lines.iter().enumerate().map(|(at, line)| styled(DIM, format!("  {} {line}", mark(at)))).collect()
}

fn heading(params: &SimulationParams, compared: &Compared) -> String {
    let (occasion, scenario) = (&compared.built.occasion, &compared.scenario);
    let who = occasion.user.as_deref().unwrap_or("unknown user");
    let channel = occasion.channel.as_ref().map_or("nowhere", |channel| channel.as_str());
    let nights = params.night_every.map(|every| format!(", a pause of eight hours every {every} turns"));
    let edits = params.edit_every.map(|every| format!(", a file edited every {every} turns"));
    let tools = match scenario.tool_rounds {
        0 => "no tools".to_owned(),
        rounds => format!(
            "{} of {} tokens",
            counted(rounds as u64, "tool result"),
            with_thousands(scenario.tool_result)
        ),
    };
    format!(
        "{} at {} in {}, blueprint {}\n{}",
        styled(BOLD, who),
        styled(BOLD, channel),
        styled(BOLD, format!("`{}`", occasion.situation)),
        compared.built.prompt.facts.blueprint,
        styled(
            DIM,
            format!(
                "{}, {} apart{}{}; each message {} tokens, answer {} tokens, {tools}",
                counted(scenario.turns as u64, "turn"),
                params.pause_text,
                nights.unwrap_or_default(),
                edits.unwrap_or_default(),
                with_thousands(scenario.message),
                with_thousands(scenario.answer),
            )
        ),
    )
}

fn strategies(compared: &Compared) -> String {
    let right = Align::Right;
    let mut table = Table::new(&[
        ("", Align::Left),
        ("INPUT", right),
        ("WRITTEN", right),
        ("READ", right),
        ("OUTPUT", right),
        ("HIT RATE", right),
        ("COST", right),
        ("A TURN", right),
        ("RATIO", right),
    ]);
    for (strategy, _, simulated) in &compared.strategies {
        let (costs, usage) = (&simulated.costs, &simulated.costs.usage);
        let tokens = [usage.input, usage.cache_write, usage.cache_read, usage.output].map(short);
        let mut row = vec![strategy.title().to_owned()];
        row.extend(tokens);
        row.push(format!("{:.1} %", costs.hit_rate() * 100.0));
        row.push(styled(colour(*strategy), costs.cost));
        row.push(Compared::per_turn(costs).to_string());
        row.push(ratio(compared, simulated));
        table.row(row);
    }
    table.render()
}

fn ratio(compared: &Compared, simulated: &Simulated) -> String {
    let times = compared.frozen().and_then(|frozen| simulated.costs.times(&frozen.costs));
    times.map_or_else(|| "–".to_owned(), |times| format!("{times:.2} ×"))
}

/// A short count: 1,234, 567k or 8.90M.
fn short(tokens: u64) -> String {
    match tokens {
        0..100_000 => with_thousands(usize::try_from(tokens).unwrap_or(usize::MAX)),
        100_000..1_000_000 => format!("{:.0}k", tokens as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.2}M", tokens as f64 / 1e6),
        _ => format!("{:.2}G", tokens as f64 / 1e9),
    }
}

fn money(compared: &Compared) -> String {
    let right = Align::Right;
    let mut table = Table::new(&[
        ("WHERE THE MONEY GOES", Align::Left),
        ("SYSTEM", right),
        ("HISTORY", right),
        ("TAIL", right),
        ("ANSWERS", right),
    ]);
    for (strategy, _, simulated) in &compared.strategies {
        let parts = &simulated.costs.parts;
        let mut row = vec![strategy.title().to_owned()];
        row.extend([parts.system, parts.history, parts.tail, parts.answers].map(|part| part.to_string()));
        table.row(row);
    }
    table.render()
}

fn curves(compared: &Compared) -> String {
    let curves: Vec<(SendStrategy, Vec<f64>)> = compared
        .strategies
        .iter()
        .map(|(strategy, _, simulated)| (*strategy, Compared::curve(simulated)))
        .collect();
    let highest = curves.iter().flat_map(|(_, curve)| curve).copied().fold(0.0, f64::max);
    let mut table = Table::new(&[("COST OF A TURN", Align::Left), ("FIRST TO LAST", Align::Left)]);
    for (strategy, curve) in &curves {
        table.row(vec![strategy.title().to_owned(), styled(colour(*strategy), sparkline(curve, highest))]);
    }
    table.render()
}

fn colour(strategy: SendStrategy) -> anstyle::Style {
    match strategy {
        SendStrategy::FreezeThenAppend => GREEN,
        SendStrategy::RebuildEachTurn => YELLOW,
        SendStrategy::InjectEverything => CYAN,
    }
}
