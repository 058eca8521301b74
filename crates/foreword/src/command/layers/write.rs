//! Writes a layer: a new text, or an earlier version. The store enforces the rules; this prints the outcome.

use std::io::{BufRead, IsTerminal};
use std::process::ExitCode;

use foreword_agent::prompt::stored_changes::{layer_changed, layer_version};
use foreword_prompt::layer_update::{default_text, mutable_layer};
use foreword_prompt::text::with_thousands;
use foreword_store::error::StoreError;
use foreword_store::layers::{LayerWrite, Updated, VersionWriter};
use serde_json::json;

use super::LayersContext;
use crate::cli::stored::{LayerSetArgs, RollbackArgs};
use crate::failure::Failure;
use crate::output::text_diff::changes;
use crate::output::{DIM, GREEN, Output, styled};
use crate::text_input;
use crate::workspace_store::{WorkspaceStore, author, check_history_text, now, unless_damaged};

pub(super) fn set(
    context: &LayersContext<'_>,
    args: &LayerSetArgs,
    output: &Output,
) -> Result<ExitCode, Failure> {
    let layer = mutable_layer(&context.blueprint, &args.id).map_err(StoreError::from)?;
    let input = text_input::read(&args.file, context.process)?;
    let stored = WorkspaceStore::open(&context.workspace, context.process)?;
    let before = unless_damaged(stored.wait(stored.store.layer(context.name(), &args.id)), output)?;
    let by = LayerWrite { expected: args.expect, ..written(context, args.message.as_ref())? };
    let updated = stored.wait(stored.store.update_layer(&context.blueprint, &args.id, &input.text, by))?;
    let before = before.map(|layer| layer.current.text).or_else(|| default_text(layer));
    note_change(context, &stored, before.as_deref(), &updated)?;
    report(before.as_deref(), &updated, output)
}

pub(super) fn rollback(
    context: &LayersContext<'_>,
    args: &RollbackArgs,
    output: &Output,
) -> Result<ExitCode, Failure> {
    mutable_layer(&context.blueprint, &args.id).map_err(StoreError::from)?;
    let nothing = || {
        let message =
            format!("layer `{}` has its default text: there is no version to roll back to", args.id);
        Failure::failed(message, "see `foreword layers list`")
    };
    let stored = context.existing()?.ok_or_else(nothing)?;
    let current = stored.wait(stored.store.layer(context.name(), &args.id))?.ok_or_else(nothing)?.current;
    let to = match args.to {
        Some(to) => to,
        None => version_before(&stored, context, &args.id, current.version)?.ok_or_else(nothing)?,
    };
    let target = stored.wait(stored.store.layer_version(context.name(), &args.id, to))?;
    if !args.yes {
        let question =
            format!("Restore the text of v{to} in layer `{}`, as v{}?", args.id, current.version + 1);
        if !confirmed(&changes(&current.text, &target.text), &question, output)? {
            output.print_stderr("Nothing was changed.");
            return Ok(ExitCode::FAILURE);
        }
    }
    // A concurrent write would otherwise be undone unnoticed.
    let by = LayerWrite { expected: Some(current.version), ..written(context, args.message.as_ref())? };
    let updated = stored.wait(stored.store.rollback_layer(&context.blueprint, &args.id, to, by))?;
    note_change(context, &stored, Some(&current.text), &updated)?;
    report(Some(&current.text), &updated, output)
}

/// Records the change as an event.
fn note_change(
    context: &LayersContext<'_>,
    stored: &WorkspaceStore,
    before: Option<&str>,
    updated: &Updated,
) -> Result<(), Failure> {
    let version = &updated.version;
    if before == Some(version.text.as_str()) {
        return Ok(());
    }
    let event = layer_changed(context.name(), version);
    Ok(stored.wait(stored.store.add_events(&[event]))?)
}

fn written(context: &LayersContext<'_>, message: Option<&String>) -> Result<LayerWrite, Failure> {
    message.map_or(Ok(()), |message| check_history_text(message))?;
    let writer = VersionWriter::Owner(author(&context.workspace.snapshot().config));
    Ok(LayerWrite { message: message.cloned(), ..LayerWrite::new(writer, now(context.process)) })
}

/// The last active version before `version`.
fn version_before(
    stored: &WorkspaceStore,
    context: &LayersContext<'_>,
    id: &str,
    version: u64,
) -> Result<Option<u64>, Failure> {
    let mut before = version;
    loop {
        let page = stored.wait(stored.store.layer_history(context.name(), id, Some(before), 50))?;
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
        return Err(Failure::usage("confirmation needs a terminal", "add --yes to skip the confirmation"));
    }
    output.print_stderr(preview);
    output.print_stderr(&format!("{question} [y/N]"));
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer).map_err(|error| {
        Failure::failed(format!("can't read the answer: {error}"), "add --yes to skip the confirmation")
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
            "Layer `{}` already has this text, as v{}. Nothing was stored.",
            version.layer, version.version
        ))?;
        return Ok(ExitCode::SUCCESS);
    }
    for label in &updated.accepted.labels {
        output.warn(&format!("check this text: it looks like `{}`", label.phrase));
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
        .map(|room| format!(" {} characters left for all layers.", with_thousands(room)))
        .unwrap_or_default();
    output.print_stderr(&styled(DIM, format!("Conversations use it from their next epoch on.{room}")));
    Ok(ExitCode::SUCCESS)
}
