//! The models this program can call: the built-in offline model, and the configured providers with their keys from the
//! environment.

use std::collections::BTreeMap;
use std::sync::Arc;

use foreword_agent::clock_and_rng::{ClockAndRng, Machine};
use foreword_agent::models::Models;
use foreword_core::model::{ErrorKind, Model, ModelError};
use foreword_core::models::ModelId;
use foreword_core::provider::{KeySource, Provider, Secret};
use foreword_offline::OfflineModel;
use foreword_providers::HttpModel;
use foreword_workspace::config::Config;
use parking_lot::Mutex;

/// The name of the built-in provider.
const OFFLINE: &str = "offline";

/// The models of this process.
pub(crate) struct Registry {
    offline: Arc<OfflineModel>,
    /// Clients by provider, reused until the provider's configuration changes.
    connected: Mutex<BTreeMap<String, (Provider, Arc<HttpModel>)>>,
}

impl Registry {
    pub(crate) fn new() -> Self {
        Self { offline: Arc::new(OfflineModel::default()), connected: Mutex::default() }
    }
}

impl Models for Registry {
    fn find(&self, id: &ModelId, config: &Config) -> Result<Arc<dyn Model>, ModelError> {
        if id.provider() == OFFLINE {
            return Ok(Arc::clone(&self.offline) as Arc<dyn Model>);
        }
        let Some(provider) = config.providers.get(id.provider()) else {
            let known: Vec<&str> = config.providers.keys().map(|name| &**name).collect();
            let message = format!("unknown provider; configured: {}", known.join(", "));
            return Err(not_configured(id.provider(), message));
        };
        let mut connected = self.connected.lock();
        if let Some((_, model)) = connected.get(id.provider()).filter(|(known, _)| known == provider) {
            return Ok(Arc::clone(model) as Arc<dyn Model>);
        }
        let clock = Arc::new(|| (&Machine as &dyn ClockAndRng).timestamp());
        let model = Arc::new(HttpModel::new(provider.clone(), key(provider)?, clock)?);
        connected.insert(id.provider().to_owned(), (provider.clone(), Arc::clone(&model)));
        Ok(model)
    }
}

fn key(provider: &Provider) -> Result<Option<Secret>, ModelError> {
    match &provider.key {
        KeySource::None => Ok(None),
        KeySource::Written(secret) => Ok(Some(secret.clone())),
        KeySource::Environment(variable) => match std::env::var(variable) {
            Ok(key) if !key.trim().is_empty() => Ok(Some(Secret::new(key.trim()))),
            _ => Err(not_configured(&provider.name, format!("missing API key: set `{variable}`"))),
        },
    }
}

fn not_configured(provider: &str, message: String) -> ModelError {
    ModelError {
        kind: ErrorKind::NotConfigured,
        provider: provider.to_owned(),
        status: None,
        message,
        retry_after: None,
        request_id: None,
    }
}
