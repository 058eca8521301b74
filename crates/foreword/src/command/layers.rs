//! `foreword layers`: all layers of the blueprint, and the versions of the mutable ones. A layer that was never stored
//! has its built-in default; reading never creates a database.

mod history;
mod list;
mod write;

use std::process::ExitCode;
use std::sync::Arc;

use foreword_agent::prompt::stored_changes::layer_version;
use foreword_prompt::blueprint::{Blueprint, builtin};
use foreword_prompt::diagnostic::did_you_mean;
use foreword_prompt::layer::{Layer, Source};
use foreword_prompt::layer_update::default_text;
use foreword_workspace::workspace::Workspace;
use serde_json::json;

use crate::cli::stored::{LayersArgs, LayersCommand};
use crate::failure::Failure;
use crate::output::Output;
use crate::process_context::ProcessContext;
use crate::workspace_store::WorkspaceStore;

pub(crate) fn run(args: &LayersArgs, process: &ProcessContext, output: &Output) -> Result<ExitCode, Failure> {
    let workspace = process.open()?;
    let view = workspace.snapshot().of_agent(args.agent.as_deref())?;
    let context = LayersContext { blueprint: Arc::clone(&view.config.blueprint), workspace, process };
    match &args.command {
        LayersCommand::List => list::run(&context, output),
        LayersCommand::Show { id, version } => show(&context, id, *version, output),
        LayersCommand::Set(args) => write::set(&context, args, output),
        LayersCommand::History { id } => history::run(&context, id, output),
        LayersCommand::Rollback(args) => write::rollback(&context, args, output),
    }
}

/// The arguments shared by these commands.
struct LayersContext<'w> {
    blueprint: Arc<Blueprint>,
    workspace: Workspace,
    process: &'w ProcessContext,
}

impl LayersContext<'_> {
    fn name(&self) -> &str {
        &self.blueprint.name
    }

    fn existing(&self) -> Result<Option<WorkspaceStore>, Failure> {
        WorkspaceStore::open_existing(&self.workspace, self.process)
    }

    fn layer(&self, id: &str) -> Result<&Layer, Failure> {
        let layers = &self.blueprint.layers;
        layers.iter().find(|layer| layer.id.as_str() == id).ok_or_else(|| {
            let help = match did_you_mean(id, layers.iter().map(|layer| layer.id.as_str())) {
                Some(near) => format!("did you mean `{near}`?"),
                None => "see `foreword layers list`".to_owned(),
            };
            let name = self.name();
            Failure::failed(format!("blueprint `{name}` has no layer `{}`", id.escape_debug()), help)
        })
    }
}

fn show(
    context: &LayersContext<'_>,
    id: &str,
    version: Option<u64>,
    output: &Output,
) -> Result<ExitCode, Failure> {
    let layer = context.layer(id)?;
    let stored = match (layer.mutable, context.existing()?) {
        (Some(_), Some(stored)) => match version {
            Some(version) => Some(stored.wait(stored.store.layer_version(context.name(), id, version))?),
            None => stored.wait(stored.store.layer(context.name(), id))?.map(|layer| layer.current),
        },
        _ => None,
    };
    let text = match (&stored, version) {
        (Some(found), _) => found.text.clone(),
        (None, Some(version)) => {
            let message = format!("layer `{id}` has no version `{version}`: none was stored yet");
            return Err(Failure::failed(message, "see `foreword layers list`"));
        }
        (None, None) => known_text(layer).ok_or_else(|| {
            let message = format!("the text of layer `{id}` is generated for each occasion");
            Failure::failed(message, "see it with `foreword explain` or `foreword build`")
        })?,
    };
    if output.wants_json() {
        let mut out = stored.as_ref().map_or_else(|| json!({ "layer": id, "version": null }), layer_version);
        out["text"] = json!(text);
        out["mutable"] = json!(layer.mutable.is_some());
        output.json(&out)?;
    } else {
        output.print_exact(&text)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The text of a layer that is not stored and is the same on every occasion.
fn known_text(layer: &Layer) -> Option<String> {
    match &layer.source {
        Source::Builtin { name, .. } => builtin::text(name).map(|text| text.trim_end().to_owned()),
        Source::Text(text) => Some(text.to_string()),
        _ => default_text(layer),
    }
}
