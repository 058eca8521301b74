//! Lists all layers: which are mutable, who changed them last, and how many characters are left.

use std::collections::BTreeMap;
use std::process::ExitCode;

use foreword_agent::prompt::stored_changes::layer_version;
use foreword_prompt::layer::{Layer, LayerId, Stability};
use foreword_prompt::layer_update::{check_update, default_text};
use foreword_prompt::text::with_thousands;
use foreword_store::layers::MutableLayer;
use serde_json::{Value, json};

use super::LayersContext;
use crate::failure::Failure;
use crate::output::table::{Align, Table};
use crate::output::{BOLD, CYAN, DIM, Output, styled, when};

pub(super) fn run(context: &LayersContext<'_>, output: &Output) -> Result<ExitCode, Failure> {
    let stored = match context.existing()? {
        Some(stored) => stored.wait(stored.store.layers(context.name()))?,
        None => Vec::new(),
    };
    let stored: BTreeMap<LayerId, MutableLayer> =
        stored.into_iter().map(|layer| (layer.current.layer.clone(), layer)).collect();
    let rows: Vec<Row<'_>> =
        context.blueprint.layers.iter().map(|layer| Row::of(context, layer, &stored)).collect();
    if output.wants_json() {
        let layers: Vec<Value> = rows.iter().map(Row::json).collect();
        output.json(
            &json!({ "blueprint": context.name(), "max_chars": context.blueprint.max_chars, "layers": layers }),
        )?;
        return Ok(ExitCode::SUCCESS);
    }
    let left = Align::Left;
    let columns = [
        ("layer", left),
        ("", left),
        ("kind", left),
        ("version", Align::Right),
        ("characters", Align::Right),
        ("by", left),
    ];
    let mut table = Table::new(&columns);
    for row in &rows {
        table.row(row.cells());
    }
    output.print(&table.render())?;
    match rows.iter().find_map(|row| row.room).zip(context.blueprint.max_chars) {
        Some((room, limit)) => output.print_stderr(&styled(
            DIM,
            format!(
                "All layers together may have {} characters; {} left.",
                with_thousands(limit),
                with_thousands(room)
            ),
        )),
        None if rows.iter().all(|row| row.layer.mutable.is_none()) => {
            output
                .print_stderr(&styled(DIM, format!("Blueprint `{}` has no mutable layer.", context.name())));
        }
        None => {}
    }
    Ok(ExitCode::SUCCESS)
}

struct Row<'a> {
    layer: &'a Layer,
    stored: Option<&'a MutableLayer>,
    chars: Option<usize>,
    /// The characters left for all layers together.
    room: Option<usize>,
}

impl<'a> Row<'a> {
    fn of(
        context: &LayersContext<'_>,
        layer: &'a Layer,
        stored: &'a BTreeMap<LayerId, MutableLayer>,
    ) -> Self {
        let text_of = |id: &LayerId| stored.get(id).map(|layer| layer.current.text.as_str());
        let default = default_text(layer);
        let text = text_of(&layer.id).or(default.as_deref());
        let room = text.and_then(|text| {
            // Uses the rule that would reject an update.
            check_update(&context.blueprint, layer.id.as_str(), text, text_of)
                .ok()
                .and_then(|accepted| accepted.remaining)
        });
        Self { layer, stored: stored.get(&layer.id), chars: text.map(|text| text.chars().count()), room }
    }

    fn kind(&self) -> &'static str {
        match (self.layer.mutable, self.layer.stability) {
            (Some(_), _) => "mutable",
            (None, Stability::Turn) => "dynamic",
            (None, _) => "immutable",
        }
    }

    fn cells(&self) -> Vec<String> {
        let limit = self.layer.mutable.map(|mutable| mutable.max_chars);
        let chars = match (self.chars, limit) {
            (Some(chars), Some(limit)) => format!("{} of {}", with_thousands(chars), with_thousands(limit)),
            _ => String::new(),
        };
        let kind = if limit.is_some() { styled(CYAN, self.kind()) } else { styled(DIM, self.kind()) };
        let (version, by) = match (self.stored, limit) {
            (Some(layer), _) => (format!("v{}", layer.current.version), written_by(layer)),
            (None, Some(_)) => ("default".to_owned(), String::new()),
            (None, None) => (String::new(), String::new()),
        };
        vec![styled(BOLD, &self.layer.id), self.layer.title.to_string(), kind, version, chars, by]
    }

    fn json(&self) -> Value {
        let mut out = json!({
            "id": self.layer.id, "title": self.layer.title, "kind": self.kind(),
            "mutable": self.layer.mutable.is_some(), "stability": self.layer.stability,
            "chars": self.chars, "max_chars": self.layer.mutable.map(|mutable| mutable.max_chars),
        });
        if let Some(layer) = self.stored {
            out["current"] = layer_version(&layer.current);
            out["follows_defaults"] = json!(layer.follows_defaults);
            out["newer_default"] = json!(layer.newer_default);
        }
        out
    }
}

fn written_by(layer: &MutableLayer) -> String {
    let version = &layer.current;
    let writer = version.writer.name().unwrap_or(version.writer.kind()).escape_debug().to_string();
    let newer = layer.newer_default.map(|newer| format!("; v{newer} is a newer default")).unwrap_or_default();
    format!("{writer}, {}, {}{newer}", version.origin.as_str(), when(version.at))
}
