//! The variables of a template: `context`, `ctx`, `agent_name`, `agent_class`, and every top-level key of the context.
//! Reserved names take precedence over keys. Built once and shared by many renderings without copying values.

use std::sync::Arc;

use minijinja::Value;
use minijinja::value::{Enumerator, Object, Serde};

/// Names that keys of the context cannot override.
pub const RESERVED_NAMES: [&str; 4] = ["agent_class", "agent_name", "context", "ctx"];

/// The context of a rendering. Cheap to clone.
///
/// ```
/// use foreword_prompt::jinja::{RenderContext, Value};
/// let context = Value::from_pairs([("user_id", "u-42"), ("ctx", "not this one")]);
/// let seen = RenderContext::new(context, "ChatAgent", "Agent");
/// assert!(seen.names().contains(&"user_id".to_owned()));
/// ```
#[derive(Debug, Clone)]
pub struct RenderContext {
    root: Value,
    context: Value,
}

impl RenderContext {
    /// A context for the agent called `agent_name`, an instance of `agent_class`.
    #[must_use]
    pub fn new(context: Value, agent_name: &str, agent_class: &str) -> Self {
        let names = Names {
            context: context.clone(),
            agent_name: Value::from(agent_name),
            agent_class: Value::from(agent_class),
        };
        Self { root: Value::from_object(names), context }
    }

    /// The same from anything that can be serialized, such as a parsed JSON document.
    #[must_use]
    pub fn from_serialize(context: &impl serde::Serialize, agent_name: &str, agent_class: &str) -> Self {
        Self::new(Value::from(Serde(context)), agent_name, agent_class)
    }

    /// Every name a template can use directly, in order.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        keys_of(&self.root)
    }

    /// The context as it was handed in.
    #[must_use]
    pub fn context(&self) -> &Value {
        &self.context
    }

    pub(super) fn root(&self) -> &Value {
        &self.root
    }
}

/// The string keys of a map; empty for any other value.
pub(super) fn keys_of(value: &Value) -> Vec<String> {
    let pairs = value.as_object().filter(|_| value.kind() == minijinja::value::ValueKind::Map);
    pairs
        .and_then(|object| object.try_iter())
        .into_iter()
        .flatten()
        .filter_map(|key| key.as_str().map(str::to_owned))
        .collect()
}

#[derive(Debug)]
struct Names {
    context: Value,
    agent_name: Value,
    agent_class: Value,
}

impl Object for Names {
    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        self.get_value_by_str(key.as_str()?)
    }

    fn get_value_by_str(self: &Arc<Self>, key: &str) -> Option<Value> {
        match key {
            "context" | "ctx" => Some(self.context.clone()),
            "agent_name" => Some(self.agent_name.clone()),
            "agent_class" => Some(self.agent_class.clone()),
            _ => self.context.as_object()?.get_value_by_str(key),
        }
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        let mut names: Vec<String> = keys_of(&self.context);
        names.extend(RESERVED_NAMES.map(str::to_owned));
        names.sort();
        names.dedup();
        Enumerator::Values(names.into_iter().map(Value::from).collect())
    }
}
