//! Writing a layer: a new text, or an earlier one again. The rules are the store's; here is what people see of them.

use std::io::{BufRead, IsTerminal};
use std::process::ExitCode;

use foreword_agent::stored_changes::{layer_changed, layer_version};
use foreword_prompt::layer_update::{default_text, mutable_layer};
use foreword_prompt::text::with_thousands;
use foreword_store::error::StoreError;
use foreword_store::layers::{LayerWrite, Updated, Writer};
use serde_json::json;

use super::Desk;
use crate::cli::stored::{LayerSetArgs, RollbackArgs};
use crate::failure::Failure;
use crate::output::text_diff::changes;
use crate::output::{DIM, GREEN, Output, styled};
use crate::stored::{Stored, author, damaged_or, fits_a_line, now};
use crate::text_input;

pub(super) fn set(desk: &Desk<'_>, args: &LayerSetArgs, output: &Output) -> Result<ExitCode, Failure> {
    let layer = mutable_layer(&desk.blueprint, &args.id).map_err(StoreError::from)?;
    let input = text_input::read(&args.file, desk.world)?;
    let stored = Stored::open(&desk.workspace, desk.world)?;
    let before = damaged_or(stored.wait(stored.store.layer(desk.name(), &args.id)), output)?;
    let by = LayerWrite { expected: args.expect, ..written(desk, args.message.as_ref())? };
    let updated = stored.wait(stored.store.update_layer(&desk.blueprint, &args.id, &input.text, by))?;
    let before = before.map(|layer| layer.current.text).or_else(|| default_text(layer));
    note_change(desk, &stored, before.as_deref(), &updated)?;
    report(before.as_deref(), &updated, output)
}

pub(super) fn rollback(desk: &Desk<'_>, args: &RollbackArgs, output: &Output) -> Result<ExitCode, Failure> {
    mutable_layer(&desk.blueprint, &args.id).map_err(StoreError::from)?;
    let nothing = || {
        let message = format!("layer `{}` is at its default: there is nothing to go back to", args.id);
        Failure::failed(message, "see `foreword layers list`")
    };
    let stored = desk.existing()?.ok_or_else(nothing)?;
    let current = stored.wait(stored.store.layer(desk.name(), &args.id))?.ok_or_else(nothing)?.current;
    let to = match args.to {
        Some(to) => to,
        None => version_before(&stored, desk, &args.id, current.version)?.ok_or_else(nothing)?,
    };
    let target = stored.wait(stored.store.layer_version(desk.name(), &args.id, to))?;
    if !args.yes {
        let question =
            format!("Give layer `{}` the text of v{to} again, as v{}?", args.id, current.version + 1);
        if !confirmed(&changes(&current.text, &target.text), &question, output)? {
            output.say("Nothing was changed.");
            return Ok(ExitCode::FAILURE);
        }
    }
    // Whoever wrote in between would be undone unseen.
    let by = LayerWrite { expected: Some(current.version), ..written(desk, args.message.as_ref())? };
    let updated = stored.wait(stored.store.rollback_layer(&desk.blueprint, &args.id, to, by))?;
    note_change(desk, &stored, Some(&current.text), &updated)?;
    report(Some(&current.text), &updated, output)
}

/// That a layer was changed, for whoever looks for a reason later.
fn note_change(
    desk: &Desk<'_>,
    stored: &Stored,
    before: Option<&str>,
    updated: &Updated,
) -> Result<(), Failure> {
    let version = &updated.version;
    if before == Some(version.text.as_str()) {
        return Ok(());
    }
    let event = layer_changed(desk.name(), version);
    Ok(stored.wait(stored.store.add_events(&[event]))?)
}

fn written(desk: &Desk<'_>, message: Option<&String>) -> Result<LayerWrite, Failure> {
    message.map_or(Ok(()), |message| fits_a_line(message))?;
    let writer = Writer::Owner(author(&desk.workspace.snapshot().config));
    Ok(LayerWrite { message: message.cloned(), ..LayerWrite::new(writer, now(desk.world)) })
}

/// The newest version before `version` that was in force.
fn version_before(stored: &Stored, desk: &Desk<'_>, id: &str, version: u64) -> Result<Option<u64>, Failure> {
    let mut before = version;
    loop {
        let page = stored.wait(stored.store.layer_history(desk.name(), id, Some(before), 50))?;
        if let Some(found) = page.iter().find(|version| version.applied) {
            return Ok(Some(found.version));
        }
        match page.last() {
            Some(last) => before = last.version,
            None => return Ok(None),
        }
    }
}

fn confirmed(preview: &str, question: &str, output: &Output) -> Result<bool, Failure> {
    if !std::io::stdin().is_terminal() {
        return Err(Failure::usage("nobody is here to be asked", "add --yes to go back without a question"));
    }
    output.say(preview);
    output.say(&format!("{question} [y/N]"));
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer).map_err(|error| {
        Failure::failed(format!("can't read the answer: {error}"), "add --yes to go back without a question")
    })?;
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}

fn report(before: Option<&str>, updated: &Updated, output: &Output) -> Result<ExitCode, Failure> {
    let version = &updated.version;
    let unchanged = before == Some(version.text.as_str());
    if output.wants_json() {
        let mut out = layer_version(version);
        out["stored"] = json!(!unchanged);
        out["remaining"] = json!(updated.accepted.remaining);
        let labels: Vec<String> = updated.accepted.labels.iter().map(|label| label.phrase.clone()).collect();
        out["labels"] = json!(labels);
        output.json(&out)?;
        return Ok(ExitCode::SUCCESS);
    }
    if unchanged {
        output.print(&format!(
            "Layer `{}` has this text already, as v{}. Nothing was stored.",
            version.layer, version.version
        ))?;
        return Ok(ExitCode::SUCCESS);
    }
    for label in &updated.accepted.labels {
        output.warn(&format!("worth a second look: it reads like `{}`", label.phrase));
    }
    output.print(&format!(
        "{} v{} of layer `{}`.",
        styled(GREEN, "Stored"),
        version.version,
        version.layer
    ))?;
    if let Some(before) = before {
        output.print(&changes(before, &version.text))?;
    }
    let room = updated.accepted.remaining;
    let room = room
        .map(|room| format!(" {} characters are left for all layers.", with_thousands(room)))
        .unwrap_or_default();
    output.say(&styled(DIM, format!("Conversations use it from their next epoch on.{room}")));
    Ok(ExitCode::SUCCESS)
}
