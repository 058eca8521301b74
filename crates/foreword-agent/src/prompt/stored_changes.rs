//! Log events for changed layers and templates.

use foreword_core::event::{Event, EventType};
use foreword_store::layers::{LayerVersion, VersionOrigin};
use foreword_store::templates::TemplateRecord;
use serde_json::{Value, json};

/// The event for a changed layer of `blueprint`.
#[must_use]
pub fn layer_changed(blueprint: &str, version: &LayerVersion) -> Event {
    let mut metadata = layer_version(version);
    metadata["blueprint"] = json!(blueprint);
    Event {
        user_id: version.writer.name().map(Into::into),
        metadata: Some(metadata),
        ..Event::new(EventType::LayerChanged, version.at)
    }
}

/// The event for a stored template.
#[must_use]
pub fn template_changed(template: &TemplateRecord) -> Event {
    Event {
        user_id: Some(template.author.as_str().into()),
        metadata: Some(template_version(template)),
        ..Event::new(EventType::TemplateChanged, template.at)
    }
}

/// A version of a layer, without its text.
#[must_use]
pub fn layer_version(version: &LayerVersion) -> Value {
    let restores = match version.origin {
        VersionOrigin::Rollback { restores } => Some(restores),
        VersionOrigin::Default | VersionOrigin::Edit => None,
    };
    json!({
        "layer": version.layer, "version": version.version, "origin": version.origin.as_str(), "restores": restores,
        "in_force": version.applied, "writer": { "kind": version.writer.kind(), "name": version.writer.name() },
        "turn": version.turn, "message": version.message, "at": version.at, "hash": version.hash,
    })
}

/// A version of the template, without its text.
#[must_use]
pub fn template_version(template: &TemplateRecord) -> Value {
    json!({
        "version": template.version, "source": "stored", "origin": null, "author": template.author,
        "message": template.message, "at": template.at, "hash": template.hash,
    })
}
