//! `foreword simulate`: the bill of a conversation before it is had, under the rules of a provider's cache, for three ways to
//! send the words of this workspace. Measures the workspace and shows the result; the rules are in `foreword-core`.

mod assumptions;
mod choosing;
mod measuring;
mod screen;

use std::process::ExitCode;

use foreword_core::compaction::Moment;
use foreword_core::models::ModelFacts;
use foreword_core::simulate::{
    BadScenario, CacheRules, Finding, Provider, Scenario, Simulated, Way, simulate,
};
use foreword_prompt::blueprint::builtin;
use foreword_workspace::build::Built;
use foreword_workspace::config::Config;
use foreword_workspace::request::Request;
use foreword_workspace::workspace::Workspace;
use serde_json::{Value, json};

use self::measuring::Sizes;
use crate::cli::simulate::SimulateArgs;
use crate::failure::Failure;
use crate::occasion::{context_fits, request};
use crate::output::Output;
use crate::output::sparkline::in_stretches;
use crate::world::World;

/// The most points of a curve.
const POINTS: usize = 50;

pub(crate) fn run(args: &SimulateArgs, world: &World, output: &Output) -> Result<ExitCode, Failure> {
    let workspace = world.open()?;
    let request = request(&args.occasion(), &workspace, world)?;
    context_fits(&request, &workspace)?;
    let config = workspace.snapshot().of_agent(request.agent.as_deref())?.config.clone();
    let chosen = choosing::models(&args.models, &config)?;
    let mut bills = Vec::new();
    for facts in &chosen.models {
        bills.push(Compared::of(args, &workspace, (&request, &config), facts)?);
    }
    let assumed = chosen.why.into_iter().chain(assumptions::lines(args, &bills)).collect::<Vec<_>>();
    if output.wants_json() {
        output.json(&report(args, &bills, assumed))?;
    } else {
        output.print(&screen::text(args, &bills, &assumed))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The bills of one conversation with one model, for each way to send it.
struct Compared {
    facts: ModelFacts,
    rules: CacheRules,
    scenario: Scenario,
    sizes: Sizes,
    built: std::sync::Arc<Built>,
    /// How many layers come from files that can be edited.
    files: usize,
    ways: Vec<(Way, usize, Simulated)>,
}

impl Compared {
    fn of(
        args: &SimulateArgs,
        workspace: &Workspace,
        (request, config): (&Request, &Config),
        facts: &ModelFacts,
    ) -> Result<Self, Failure> {
        let request = Request { model: Some(facts.id.as_str().into()), ..request.clone() };
        let built = workspace.build(&request)?;
        let sizes = measuring::measure(workspace, &request, &built)?;
        let scenario = scenario(args, config, (facts, &sizes));
        let rules = CacheRules::of(facts, args.idle);
        let ttl = args.ttl.map_or(config.cache_ttl, Into::into);
        let measured = sizes.measured(&built);
        let (mut ways, mut files) = (Vec::new(), 0);
        for way in Way::ALL {
            let layout = measured.layout(way);
            let simulated = simulate(&layout, &scenario, Provider { facts, rules, ttl })
                .map_err(|error| refused(&error, way, facts))?;
            files = layout.files;
            ways.push((way, layout.head_tokens(), simulated));
        }
        Ok(Self { facts: facts.clone(), rules, scenario, sizes, built, files, ways })
    }

    /// What the others are compared with.
    fn frozen(&self) -> Option<&Simulated> {
        self.ways.first().map(|(_, _, simulated)| simulated)
    }

    /// What the turns cost in dollars, in stretches; nothing if it is not known.
    fn curve(simulated: &Simulated) -> Vec<f64> {
        let costs: Option<Vec<f64>> =
            simulated.bill.turns.iter().map(|cost| Some(cost.known()?.dollars())).collect();
        in_stretches(&costs.unwrap_or_default(), POINTS)
    }
}

fn scenario(args: &SimulateArgs, config: &Config, (facts, sizes): (&ModelFacts, &Sizes)) -> Scenario {
    let times = |every: Option<u32>| every.and_then(|every| usize::try_from(every).ok());
    let asked = builtin::text("compaction").unwrap_or_default();
    Scenario {
        turns: args.turns,
        message: args.message_tokens,
        answer: args.answer_tokens,
        tool_rounds: args.tool_rounds.unwrap_or(usize::from(sizes.tools > 0)),
        tool_result: args.tool_tokens,
        pauses: args.pause.value.clone().with_a_night_every(times(args.night_every)),
        edit_every: times(args.edit_every),
        compact_above: config.compaction.limit(Moment::TurnEnded, facts.context_window),
        summary_asked: facts.tokenizer.get().count(asked),
        ..Scenario::default()
    }
}

fn refused(error: &BadScenario, way: Way, facts: &ModelFacts) -> Failure {
    match error {
        BadScenario::Turns { .. } => Failure::usage(error.to_string(), "write it as --turns 100"),
        BadScenario::Rounds { .. } => Failure::usage(error.to_string(), "write it as --tool-rounds 4"),
        BadScenario::Tokens { .. } => {
            Failure::usage(error.to_string(), "lower --message-tokens, --answer-tokens or --tool-tokens")
        }
        BadScenario::EditEvery => Failure::usage(error.to_string(), "write it as --edit-every 20"),
        BadScenario::Overflow { .. } | BadScenario::Refused(_) => Failure::failed(
            format!("{} with `{}`: {error}", way.title(), facts.id),
            "use fewer tokens in a turn, `agent.compaction.share` in foreword.yaml, or a model with a larger window",
        ),
    }
}

/// Everything, for programs. The names are kept.
fn report(args: &SimulateArgs, bills: &[Compared], assumed: Vec<String>) -> Value {
    let occasion = bills.first().map(|compared| {
        let occasion = &compared.built.occasion;
        json!({
            "user": occasion.user, "channel": occasion.channel.as_ref().map(|channel| channel.as_str()),
            "situation": occasion.situation, "agent": occasion.agent,
        })
    });
    json!({
        "occasion": occasion,
        "blueprint": bills.first().map(|compared| &*compared.built.prompt.facts.blueprint),
        "scenario": bills.first().map(|compared| scenario_json(args, &compared.scenario)),
        "models": bills.iter().map(model_json).collect::<Vec<_>>(),
        "assumptions": assumed,
    })
}

fn scenario_json(args: &SimulateArgs, scenario: &Scenario) -> Value {
    json!({
        "turns": scenario.turns, "message_tokens": scenario.message, "answer_tokens": scenario.answer,
        "tool_rounds": scenario.tool_rounds, "tool_call_tokens": scenario.tool_call,
        "tool_result_tokens": scenario.tool_result, "pause": args.pause.text,
        "night_every": args.night_every, "edit_every": args.edit_every,
    })
}

fn model_json(compared: &Compared) -> Value {
    let Compared { facts, rules, scenario, sizes, .. } = compared;
    json!({
        "model": facts.id,
        "prices": { "source": facts.source, "date": facts.date },
        "counter": facts.tokenizer.to_string(),
        "cache": {
            "finds": finds(rules.finding), "minimum_tokens": rules.minimum,
            "kept_seconds": rules.kept, "kept_seconds_1h": rules.kept_for_an_hour,
        },
        "compacted_above_tokens": scenario.compact_above,
        "tools_tokens": sizes.tools,
        "ways": compared.ways.iter().map(|way| way_json(compared, way)).collect::<Vec<_>>(),
    })
}

fn finds(finding: Finding) -> &'static str {
    match finding {
        Finding::AtMarks { .. } => "at_marks",
        Finding::AtMarksAndTheEnd { .. } => "at_marks_and_the_end",
        Finding::LongestPrefix { .. } => "longest_prefix",
        Finding::Nothing => "nothing",
    }
}

fn way_json(compared: &Compared, (way, head, simulated): &(Way, usize, Simulated)) -> Value {
    let bill = &simulated.bill;
    json!({
        "way": way,
        "marks": simulated.marking,
        "system_tokens": head,
        "tokens": {
            "input": bill.usage.input, "written": bill.usage.cache_write,
            "written_1h": bill.usage.cache_write_1h, "read": bill.usage.cache_read, "output": bill.usage.output,
        },
        "hit_rate": bill.hit_rate(),
        "cost": bill.cost,
        "cost_per_turn": screen::per_turn(bill),
        "ratio": compared.frozen().and_then(|frozen| bill.times(&frozen.bill)),
        "parts": bill.parts,
        "calls": bill.calls,
        "summaries": bill.summaries,
        "prompts": bill.prompts,
        "cost_curve": Compared::curve(simulated),
    })
}
