//! `update_prompt_layer`: replaces the text of one of the agent's own layers. The store checks layer, size and version;
//! policy checks that no text from outside caused the call, and this tool checks again.

use foreword_core::event::{Event, EventType};
use foreword_prompt::layer_update::{default_text, mutable_layer};
use foreword_prompt::untrusted::{sanitize_message, single_line};
use foreword_store::error::StoreError;
use foreword_store::layers::{LayerWrite, Updated, VersionWriter};
use serde_json::json;

use super::arguments::Arguments;
use super::builtin_tool::BuiltinTool;
use super::limits::event_of;
use crate::tool::{ToolCall, ToolOutput};

/// The tool `update_prompt_layer`.
pub(super) fn tool() -> BuiltinTool {
    BuiltinTool::new("update_prompt_layer", |arguments, call| async move { update(&arguments, &call).await })
        .with_side_effects()
}

async fn update(arguments: &Arguments, call: &ToolCall) -> Result<ToolOutput, ToolOutput> {
    let (id, content) = (arguments.text("layer_id")?, arguments.text("content")?);
    let expected = arguments.optional_number("expected_version", 0)?;
    if call.tainted && !call.confirmed {
        return Err(ToolOutput::failed(
            "not written: this turn has read text from outside, and what comes from there changes no layer. \
             Do it in a later turn, if you still think it right.",
        ));
    }
    let blueprint = &call.snapshot.config.blueprint;
    let layer = mutable_layer(blueprint, id).map_err(|refused| failed(&StoreError::from(refused)))?;
    if !call.trust.permits(layer.trust) {
        let needed = layer.trust;
        return Err(ToolOutput::failed(format!("not written: layer `{}` needs `{needed}` trust", layer.id)));
    }
    let expected = match expected {
        Some(expected) => Some(expected),
        None => version_in_prompt(call, layer.id.as_str()).await.map_err(|error| failed(&error))?,
    };
    let writer = VersionWriter::Agent(call.agent.to_string());
    let by = LayerWrite { turn: Some(call.turn.clone()), expected, ..LayerWrite::new(writer, call.now) };
    match call.store.update_layer(blueprint, id, content, by.clone()).await {
        Ok(updated) => Ok(output(&updated, &by, call)),
        Err(StoreError::VersionConflict { expected, found, .. }) => {
            let stored = call.store.layer(&blueprint.name, id).await.map_err(|error| failed(&error))?;
            let current =
                stored.map(|stored| stored.current.text).or_else(|| default_text(layer)).unwrap_or_default();
            Err(ToolOutput::failed(format!(
                "not written: layer `{}` is at version {found}, not {expected}. Its text is now:\n\n{current}\n\n\
                 Decide anew, and call again with expected_version {found}.",
                layer.id
            )))
        }
        Err(error) => Err(failed(&error)),
    }
}

/// The version of a layer in this turn's prompt; 0 for the layer's default text. `None` for a call outside a turn, such
/// as a workflow step, which has no prompt.
async fn version_in_prompt(call: &ToolCall, layer: &str) -> Result<Option<u64>, StoreError> {
    let prompt = match call.store.turn(&call.turn).await {
        Ok(turn) => turn.prompt,
        Err(StoreError::NotFound { .. }) => None,
        Err(error) => return Err(error),
    };
    Ok(prompt.map(|prompt| prompt.layer_versions.get(layer).copied().unwrap_or(0)))
}

/// The store's own message. It may contain a name the model has chosen.
fn failed(error: &StoreError) -> ToolOutput {
    ToolOutput::failed(sanitize_message(&format!("not written: {error}; {}", error.help())))
}

fn output(updated: &Updated, by: &LayerWrite, call: &ToolCall) -> ToolOutput {
    let version = &updated.version;
    let (layer, number) = (&version.layer, version.version);
    // Storing the current text again creates no new version, so this call did not write it.
    if version.turn != by.turn || version.at != by.at || version.writer != by.writer {
        return ToolOutput::trusted(format!(
            "layer `{layer}` already has this text at version {number}: nothing was written"
        ));
    }
    let room = updated.accepted.remaining;
    let room = room
        .map(|room| format!(" All layers together may grow by {room} characters more."))
        .unwrap_or_default();
    let text = format!(
        "layer `{layer}` is now at version {number}. It takes effect at the next epoch, when the prompt is rebuilt.{room}"
    );
    ToolOutput::trusted(text).with_event(changed(updated, call))
}

fn changed(updated: &Updated, call: &ToolCall) -> Event {
    let version = &updated.version;
    // The same fields as when the owner writes a layer.
    let mut metadata = json!({
        "blueprint": &*call.snapshot.config.blueprint.name,
        "layer": version.layer.as_str(),
        "version": version.version,
        "origin": version.origin.as_str(),
        "in_force": version.applied,
        "writer": { "kind": version.writer.kind(), "name": version.writer.name() },
        "hash": version.hash.to_string(),
    });
    if !updated.accepted.labels.is_empty() {
        let phrases = updated.accepted.labels.iter().map(|label| single_line(&label.phrase, 120));
        metadata["phrases"] = phrases.collect::<Vec<_>>().into();
    }
    event_of(EventType::LayerChanged, call, metadata)
}
