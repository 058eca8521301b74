//! The models this program can call: the one that needs nothing, and whatever providers the configuration names, with
//! their keys out of the environment.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use foreword_agent::models::Models;
use foreword_agent::surroundings::{Machine, Surroundings};
use foreword_core::model::{ErrorKind, Model, ModelError};
use foreword_core::models::ModelId;
use foreword_core::provider::{KeySource, Provider, Secret};
use foreword_providers::HttpModel;
use foreword_providers::offline::OfflineModel;
use foreword_workspace::config::Config;

/// The provider that is this program itself.
const OFFLINE: &str = "offline";

/// All models that can be called from here.
pub(crate) struct Registry {
    offline: Arc<OfflineModel>,
    /// Connections are kept for as long as the configuration says the same of a provider.
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
            let message = format!("there is no such provider; known here: {}", known.join(", "));
            return Err(not_configured(id.provider(), message));
        };
        let mut connected = self.connected.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, model)) = connected.get(id.provider()).filter(|(known, _)| known == provider) {
            return Ok(Arc::clone(model) as Arc<dyn Model>);
        }
        let clock = Arc::new(|| (&Machine as &dyn Surroundings).timestamp());
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
            _ => Err(not_configured(&provider.name, format!("its key is missing: set `{variable}`"))),
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
