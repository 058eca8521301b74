//! All versions of a layer with their diffs, newest first.

use std::process::ExitCode;

use foreword_agent::prompt::stored_changes::layer_version;
use foreword_store::layers::{LayerVersion, VersionOrigin};
use serde_json::{Value, json};

use super::LayersContext;
use crate::failure::Failure;
use crate::output::text_diff::changes;
use crate::output::{BOLD, DIM, Output, styled, when};
use crate::workspace_store::WorkspaceStore;

const PAGE_SIZE: u32 = 100;

pub(super) fn run(context: &LayersContext<'_>, id: &str, output: &Output) -> Result<ExitCode, Failure> {
    let layer = context.layer(id)?;
    let versions = match context.existing()? {
        Some(stored) if layer.mutable.is_some() => all(&stored, context.name(), id)?,
        _ => Vec::new(),
    };
    if output.wants_json() {
        let versions: Vec<Value> = versions.iter().map(with_text).collect();
        output.json(&json!({ "layer": id, "versions": versions }))?;
        return Ok(ExitCode::SUCCESS);
    }
    if versions.is_empty() {
        let reason = if layer.mutable.is_some() {
            "has its default text; none was stored yet"
        } else {
            "is immutable"
        };
        output.print_stderr(&format!("Layer `{id}` {reason}."));
    }
    for (index, version) in versions.iter().enumerate() {
        output.print(&heading(version))?;
        // A version is compared with the previously active version, not with a default that was never used.
        let before = versions[index + 1..].iter().find(|before| before.applied);
        output.print(&changes(before.map_or("", |before| &before.text), &version.text))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn all(stored: &WorkspaceStore, blueprint: &str, id: &str) -> Result<Vec<LayerVersion>, Failure> {
    let mut out: Vec<LayerVersion> = Vec::new();
    loop {
        let before = out.last().map(|version| version.version);
        let page = stored.wait(stored.store.layer_history(blueprint, id, before, PAGE_SIZE))?;
        let done = page.len() < PAGE_SIZE as usize;
        out.extend(page);
        if done {
            return Ok(out);
        }
    }
}

fn with_text(version: &LayerVersion) -> Value {
    let mut out = layer_version(version);
    out["text"] = json!(version.text);
    out
}

fn heading(version: &LayerVersion) -> String {
    let what = match version.origin {
        VersionOrigin::Default if version.applied => "built-in default".to_owned(),
        VersionOrigin::Default => "newer built-in default, not active".to_owned(),
        VersionOrigin::Edit => "edit".to_owned(),
        VersionOrigin::Rollback { restores } => format!("back to v{restores}"),
    };
    let by = version.writer.name().map(|name| format!(" by {}", name.escape_debug())).unwrap_or_default();
    let turn = version.turn.as_ref().map(|turn| format!(", turn {turn}")).unwrap_or_default();
    let message =
        version.message.as_deref().map(|text| format!(": {}", text.escape_debug())).unwrap_or_default();
    format!(
        "{} {what}{by}{message} {}",
        styled(BOLD, format!("v{}", version.version)),
        styled(DIM, format!("{}{turn}", when(version.at)))
    )
}
