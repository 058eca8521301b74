//! Session instructions in blueprints without a layer for them: appends the layer of blueprint `vm`, so that they are
//! never ignored.

use std::sync::Arc;

use foreword_prompt::blueprint::builtin;
use foreword_prompt::layer::{Generated, Layer, Source};

use crate::config::Config;
use crate::request::Request;

/// The blueprint that provides the layer.
const BLUEPRINT: &str = "vm";

/// The configuration with a layer for session instructions, if `request` has instructions and the blueprint has no such
/// layer.
pub(super) fn extended(config: &Config, request: &Request) -> Option<Config> {
    request.session_instructions.as_ref()?;
    if config.blueprint.layers.iter().any(shows_session_instructions) {
        return None;
    }
    let vm = builtin::blueprint(BLUEPRINT).ok()?;
    let layer = vm.layers.into_iter().find(shows_session_instructions)?;
    let mut blueprint = (*config.blueprint).clone();
    blueprint.layers.push(layer);
    Some(Config { blueprint: Arc::new(blueprint), ..config.clone() })
}

fn shows_session_instructions(layer: &Layer) -> bool {
    layer.source == Source::Generated(Generated::Session)
}
