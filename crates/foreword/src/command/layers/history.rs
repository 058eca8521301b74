//! How a layer's text came about: every version with what it changed, the newest first.

use std::process::ExitCode;

use foreword_agent::stored_changes::layer_version;
use foreword_store::layers::{LayerVersion, Origin};
use serde_json::{Value, json};

use super::Desk;
use crate::failure::Failure;
use crate::output::text_diff::changes;
use crate::output::{BOLD, DIM, Output, styled, when};
use crate::stored::Stored;

/// How many versions are read at once.
const PAGE: u32 = 100;

pub(super) fn run(desk: &Desk<'_>, id: &str, output: &Output) -> Result<ExitCode, Failure> {
    let layer = desk.layer(id)?;
    let versions = match desk.existing()? {
        Some(stored) if layer.mutable.is_some() => all(&stored, desk.name(), id)?,
        _ => Vec::new(),
    };
    if output.wants_json() {
        let versions: Vec<Value> = versions.iter().map(with_text).collect();
        output.json(&json!({ "layer": id, "versions": versions }))?;
        return Ok(ExitCode::SUCCESS);
    }
    if versions.is_empty() {
        let reason = if layer.mutable.is_some() {
            "is at its default; nothing was stored yet"
        } else {
            "can't be changed"
        };
        output.say(&format!("Layer `{id}` {reason}."));
    }
    for (index, version) in versions.iter().enumerate() {
        output.print(&heading(version))?;
        // What a version changed is seen against what was in force before it, not against a default that only waited.
        let before = versions[index + 1..].iter().find(|before| before.applied);
        output.print(&changes(before.map_or("", |before| &before.text), &version.text))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn all(stored: &Stored, blueprint: &str, id: &str) -> Result<Vec<LayerVersion>, Failure> {
    let mut out: Vec<LayerVersion> = Vec::new();
    loop {
        let before = out.last().map(|version| version.version);
        let page = stored.wait(stored.store.layer_history(blueprint, id, before, PAGE))?;
        let done = page.len() < PAGE as usize;
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
        Origin::Default if version.applied => "the program's default".to_owned(),
        Origin::Default => "a newer default, on record only".to_owned(),
        Origin::Edit => "an edit".to_owned(),
        Origin::Rollback { restores } => format!("back to v{restores}"),
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
