//! The agent's state from the configured source. A failing source becomes a line in the state and never fails the turn.

use std::sync::Arc;

use foreword_core::budget::{Budget, RATE_WINDOW, Spending};
use foreword_store::error::StoreError;
use foreword_workspace::config::{Config, StateSource};
use foreword_workspace::document::YamlSource;
use foreword_workspace::roots::Root;
use serde_json::{Map, Value};

use super::command;
use crate::shared::Shared;

/// Maximum number of entries.
const MAX_LINES: usize = 32;

/// The entries of the agent's state.
pub(super) async fn state(shared: &Shared, config: &Config) -> Map<String, Value> {
    let (what, lines) = match &config.state {
        None => return Map::new(),
        Some(StateSource::File(path)) => (format!("`{path}`"), file(shared, path).await),
        Some(StateSource::Command { words, timeout }) => {
            let printed = command::output(words, shared.workspace.directory(), *timeout).await;
            let program = words.first().map_or("", String::as_str);
            (format!("`{program}`"), printed.and_then(|text| mapping("what it printed", &text)))
        }
        Some(StateSource::Budget(budget)) => {
            let spent = spending(shared, *budget).await;
            ("the cost record".to_owned(), spent.map_err(|error| error.to_string()))
        }
    };
    match lines {
        Ok(lines) => bounded(lines),
        Err(why) => Map::from_iter([("state_unknown".to_owned(), format!("{what}: {why}").into())]),
    }
}

async fn file(shared: &Shared, path: &str) -> Result<Map<String, Value>, String> {
    let (workspace, path) = (Arc::clone(&shared.workspace), path.to_owned());
    let read = tokio::task::spawn_blocking(move || {
        // Read each time: it may have changed since the last workspace refresh.
        let root = Root::open("workspace", workspace.directory()).map_err(|error| error.to_string())?;
        let text = root.read(&path).map_err(|error| error.to_string())?.text;
        mapping(&path, &text)
    });
    read.await.unwrap_or_else(|_| Err("it can't be read now".to_owned()))
}

/// A mapping in JSON or YAML.
fn mapping(name: &str, text: &str) -> Result<Map<String, Value>, String> {
    YamlSource::whole(name, text.into())
        .parse()
        .map_err(|error| format!("it is not a mapping: {}", error.message))
}

async fn spending(shared: &Shared, budget: Budget) -> Result<Map<String, Value>, StoreError> {
    let now = shared.clock_and_rng.now();
    let began = budget.per().began(&now).timestamp().into();
    let period = shared.store.spend_since(began).await?;
    let lately = shared.store.spend_since(shared.now().minus(RATE_WINDOW)).await?;
    let spending =
        Spending { period_usd: period.usd, lately_usd: lately.usd, unpriced_calls: period.unpriced };
    let lines = budget.status(&spending).lines(budget);
    Ok(lines.into_iter().map(|(name, value)| (name, value.into())).collect())
}

fn bounded(lines: Map<String, Value>) -> Map<String, Value> {
    let more = lines.len().saturating_sub(MAX_LINES);
    let mut kept: Map<String, Value> = lines.into_iter().take(MAX_LINES).collect();
    if more > 0 {
        kept.insert("not_shown".to_owned(), format!("{more} more").into());
    }
    kept
}
