//! `foreword layers`: every layer of the blueprint, and the texts of those that can be changed, version by version. What
//! was never stored is at its built-in default; looking never makes a database.

mod history;
mod list;
mod write;

use std::process::ExitCode;
use std::sync::Arc;

use foreword_agent::stored_changes::layer_version;
use foreword_prompt::blueprint::{Blueprint, builtin};
use foreword_prompt::diagnostic::did_you_mean;
use foreword_prompt::layer::{Layer, Source};
use foreword_prompt::layer_update::default_text;
use foreword_workspace::workspace::Workspace;
use serde_json::json;

use crate::cli::stored::{LayersArgs, LayersCommand};
use crate::failure::Failure;
use crate::output::Output;
use crate::stored::Stored;
use crate::world::World;

pub(crate) fn run(args: &LayersArgs, world: &World, output: &Output) -> Result<ExitCode, Failure> {
    let workspace = world.open()?;
    let view = workspace.snapshot().of_agent(args.agent.as_deref())?;
    let desk = Desk { blueprint: Arc::clone(&view.config.blueprint), workspace, world };
    match &args.command {
        LayersCommand::List => list::run(&desk, output),
        LayersCommand::Show { id, version } => show(&desk, id, *version, output),
        LayersCommand::Set(args) => write::set(&desk, args, output),
        LayersCommand::History { id } => history::run(&desk, id, output),
        LayersCommand::Rollback(args) => write::rollback(&desk, args, output),
    }
}

/// What every one of these commands needs.
struct Desk<'w> {
    blueprint: Arc<Blueprint>,
    workspace: Workspace,
    world: &'w World,
}

impl Desk<'_> {
    fn name(&self) -> &str {
        &self.blueprint.name
    }

    fn existing(&self) -> Result<Option<Stored>, Failure> {
        Stored::open_existing(&self.workspace, self.world)
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

fn show(desk: &Desk<'_>, id: &str, version: Option<u64>, output: &Output) -> Result<ExitCode, Failure> {
    let layer = desk.layer(id)?;
    let stored = match (layer.mutable, desk.existing()?) {
        (Some(_), Some(stored)) => match version {
            Some(version) => Some(stored.wait(stored.store.layer_version(desk.name(), id, version))?),
            None => stored.wait(stored.store.layer(desk.name(), id))?.map(|layer| layer.current),
        },
        _ => None,
    };
    let text = match (&stored, version) {
        (Some(found), _) => found.text.clone(),
        (None, Some(version)) => {
            let message =
                format!("there is no version `{version}` of layer `{id}`: nothing of it was stored yet");
            return Err(Failure::failed(message, "see `foreword layers list`"));
        }
        (None, None) => known_text(layer).ok_or_else(|| {
            let message = format!("the text of layer `{id}` is made for each occasion");
            Failure::failed(message, "see it with `foreword explain` or `foreword build`")
        })?,
    };
    if output.wants_json() {
        let mut out = stored.as_ref().map_or_else(|| json!({ "layer": id, "version": null }), layer_version);
        out["text"] = json!(text);
        out["mutable"] = json!(layer.mutable.is_some());
        output.json(&out)?;
    } else {
        output.exactly(&text)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The text of a layer that is the same for everybody and has not been stored.
fn known_text(layer: &Layer) -> Option<String> {
    match &layer.source {
        Source::Builtin { name, .. } => builtin::text(name).map(|text| text.trim_end().to_owned()),
        Source::Text(text) => Some(text.to_string()),
        _ => default_text(layer),
    }
}
