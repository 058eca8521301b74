//! `foreword diff`: the changes between two occasions, layer by layer, and whether switching from one to the other
//! starts a new epoch.

use std::process::ExitCode;

use foreword_prompt::epoch::{Decision, Dependencies, EpochTriggers, decide};
use foreword_prompt::prompt::Prompt;
use foreword_prompt::text::with_thousands;
use foreword_workspace::build::Built;
use serde_json::{Value, json};

use crate::cli::DiffArgs;
use crate::failure::Failure;
use crate::name_hints::Names;
use crate::occasion::{parse_occasion, request};
use crate::output::text_diff::whole;
use crate::output::{BOLD, DIM, GREEN, Output, RED, YELLOW, styled};
use crate::process_context::ProcessContext;
use crate::workspace_store;

/// A layer on both sides; either may be missing.
struct Pair {
    id: String,
    a: Option<String>,
    b: Option<String>,
}

pub(crate) fn run(args: &DiffArgs, process: &ProcessContext, output: &Output) -> Result<ExitCode, Failure> {
    let workspace = process.open()?;
    let (a, b) = (parse_occasion(&args.a)?, parse_occasion(&args.b)?);
    for occasion in [&a, &b] {
        Names::from(occasion).warn(&workspace.snapshot().config, output);
    }
    let a = workspace_store::build(&workspace, &request(&a, &workspace, process)?, process)?;
    let b = workspace_store::build(&workspace, &request(&b, &workspace, process)?, process)?;
    let pairs = pairs(&a.prompt, &b.prompt);
    let decision = decide(Some(&dependencies(&a)), &dependencies(&b), EpochTriggers::default());
    if output.wants_json() {
        output.json(&as_json(&a, &b, &pairs, &decision))?;
    } else {
        output.print(&text(&a, &b, &pairs, &decision))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn dependencies(built: &Built) -> Dependencies {
    Dependencies::of(&built.prompt.frozen, built.dependencies.clone())
}

fn segments(prompt: &Prompt) -> Vec<(String, String)> {
    let frozen =
        prompt.frozen.segments.iter().map(|segment| {
            (segment.layer.id.to_string(), prompt.frozen.text[segment.range.clone()].to_owned())
        });
    let turn = prompt.turn.iter().map(|one| (one.segment.layer.id.to_string(), one.text.to_string()));
    // Separators are not part of a layer's text.
    frozen.chain(turn).map(|(id, text)| (id, text.trim_matches('\n').to_owned())).collect()
}

fn pairs(a: &Prompt, b: &Prompt) -> Vec<Pair> {
    let (a, mut b) = (segments(a), segments(b));
    let mut out: Vec<Pair> = Vec::new();
    for (id, text) in a {
        let other = b.iter().position(|(other, _)| *other == id).map(|index| b.remove(index).1);
        out.push(Pair { id, a: Some(text), b: other });
    }
    out.extend(b.into_iter().map(|(id, text)| Pair { id, a: None, b: Some(text) }));
    out
}

fn text(a: &Built, b: &Built, pairs: &[Pair], decision: &Decision) -> String {
    let mut out = vec![
        format!("{} {}", styled(RED, "---"), side(a)),
        format!("{} {}", styled(GREEN, "+++"), side(b)),
        String::new(),
    ];
    for pair in pairs {
        match (&pair.a, &pair.b) {
            (Some(before), Some(after)) if before == after => {
                out.push(styled(DIM, format!("  {} is unchanged", pair.id)));
            }
            (Some(before), Some(after)) => {
                out.push(format!("{} {} differs", styled(YELLOW, "~"), styled(BOLD, &pair.id)));
                out.push(whole(before, after));
            }
            (Some(before), None) => {
                out.push(format!("{} {} removed", styled(RED, "-"), styled(BOLD, &pair.id)));
                out.push(whole(before, ""));
            }
            (None, Some(after)) => {
                out.push(format!("{} {} added", styled(GREEN, "+"), styled(BOLD, &pair.id)));
                out.push(whole("", after));
            }
            (None, None) => {}
        }
    }
    out.push(String::new());
    out.push(match decision {
        Decision::Open(reason) => {
            format!("{} {reason}", styled(BOLD, "Switching from one to the other starts a new epoch:"))
        }
        Decision::Reuse { drifted } if drifted.is_empty() => {
            "Both are in the same epoch: the frozen bytes are reused.".to_owned()
        }
        Decision::Reuse { drifted } => {
            format!("Both are in the same epoch; the model is notified of changes in {}.", drifted.join(", "))
        }
    });
    out.join("\n")
}

fn side(built: &Built) -> String {
    let occasion = &built.occasion;
    format!(
        "{} at {}, {}: {}, {} tokens",
        occasion.user.as_deref().unwrap_or("unknown user"),
        occasion.channel.as_ref().map_or("nowhere", |channel| channel.as_str()),
        occasion.situation,
        built.prompt.facts.trust.effective(),
        with_thousands(built.prompt.tokens()),
    )
}

fn as_json(a: &Built, b: &Built, pairs: &[Pair], decision: &Decision) -> Value {
    let side = |built: &Built| {
        json!({
            "user": built.occasion.user, "situation": built.occasion.situation,
            "trust": built.prompt.facts.trust.effective(), "tokens": built.prompt.tokens(),
            "fingerprint": built.prompt.frozen.fingerprint,
        })
    };
    let layers: Vec<Value> = pairs
        .iter()
        .map(|pair| {
            let status = match (&pair.a, &pair.b) {
                (Some(before), Some(after)) if before == after => "same",
                (Some(_), Some(_)) => "changed",
                (Some(_), None) => "removed",
                (None, _) => "added",
            };
            json!({ "id": pair.id, "status": status, "a": pair.a, "b": pair.b })
        })
        .collect();
    let epoch = match decision {
        Decision::Open(reason) => {
            json!({ "decision": "open", "reason": reason, "message": reason.to_string() })
        }
        Decision::Reuse { drifted } => json!({ "decision": "reuse", "drifted": drifted }),
    };
    json!({ "a": side(a), "b": side(b), "layers": layers, "epoch": epoch })
}
