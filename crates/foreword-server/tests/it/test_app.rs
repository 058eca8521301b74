//! A complete server for tests: a workspace, a database, an agent with the offline model or a scripted provider, tokens
//! for alice (the owner), bob and carol, and an HTTP client.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use foreword_agent::agent::Agent;
use foreword_agent::clock_and_rng::{ClockAndRng, Machine};
use foreword_agent::memory::Memory;
use foreword_agent::models::Models;
use foreword_agent::shared::{Parts, into_store};
use foreword_agent::tools::{self, ToolSettings};
use foreword_core::api_token::{ProxyMode, Scope, TokenLimits};
use foreword_core::model::{ErrorKind, Model, ModelError};
use foreword_core::models::ModelId;
use foreword_core::provider::{KeySource, OFFLINE, Secret};
use foreword_observe::metrics::Metrics;
use foreword_observe::recorder::Recorder;
use foreword_observe::redact::{RedactionRules, Redactor};
use foreword_offline::OfflineModel;
use foreword_providers::HttpModel;
use foreword_server::auth::credential::Credential;
use foreword_server::server::{Secrets, Server, ServerParts};
use foreword_store::events::{EventQueue, QueueConfig};
use foreword_store::location::Location;
use foreword_store::store::Store;
use foreword_store::tokens::NewToken;
use foreword_workspace::config::Config;
use foreword_workspace::workspace::{Environment, Workspace};

/// The users of every test.
pub(crate) const CONFIG: &str = "\
agent: { name: Ada, model: offline/echo }
users:
  - { name: alice, trust: full, match: [\"terminal:default\", \"signal:alice\"] }
  - { name: bob, trust: inner, match: [\"signal:bob\"] }
  - { name: carol, trust: familiar, match: [\"signal:carol\"] }
retry: { base_delay_ms: 20, max_delay_ms: 100, requeue: { delay_ms: 50, max_delay_ms: 100 } }
";

/// A variable that is never set: the program refuses a provider whose key it names.
pub(crate) const MISSING_KEY: &str = "MISSING_TEST_KEY";

/// The heartbeat timeout of a node.
pub(crate) const LEASE: Duration = Duration::from_secs(30);

/// The models of a test: the offline one, and those of configured providers.
struct TestModels {
    offline: Arc<OfflineModel>,
    clock: Arc<dyn Fn() -> foreword_core::timestamp::Timestamp + Send + Sync>,
}

impl Models for TestModels {
    fn find(&self, id: &ModelId, config: &Config) -> Result<Arc<dyn Model>, ModelError> {
        if id.provider() == OFFLINE {
            return Ok(Arc::clone(&self.offline) as Arc<dyn Model>);
        }
        let Some(provider) = config.providers.get(id.provider()) else {
            return Err(ModelError {
                kind: ErrorKind::NotConfigured,
                provider: id.provider().to_owned(),
                status: None,
                message: "there is no such provider".to_owned(),
                retry_after: None,
                request_id: None,
            });
        };
        if let KeySource::Environment(variable) = &provider.key
            && variable == MISSING_KEY
        {
            return Err(ModelError {
                kind: ErrorKind::NotConfigured,
                provider: id.provider().to_owned(),
                status: None,
                message: format!("its key is missing: set `{variable}`"),
                retry_after: None,
                request_id: None,
            });
        }
        Ok(Arc::new(HttpModel::new(provider.clone(), None, Arc::clone(&self.clock))?))
    }
}

/// The environment of a test.
struct TestSecrets(BTreeMap<String, String>);

impl Secrets for TestSecrets {
    fn variable(&self, name: &str) -> Option<Secret> {
        self.0.get(name).map(Secret::new)
    }
}

/// A running server with its clock_and_rng.
pub(crate) struct TestApp {
    pub(crate) server: Option<Server>,
    pub(crate) agent: Agent,
    pub(crate) store: Store,
    pub(crate) workspace: Arc<Workspace>,
    pub(crate) events: EventQueue,
    pub(crate) client: reqwest::Client,
    /// `http://127.0.0.1:…`.
    pub(crate) url: String,
    /// The owner's token with all scopes but `assert`.
    pub(crate) alice: String,
    pub(crate) bob: String,
    pub(crate) carol: String,
    pub(crate) folder: tempfile::TempDir,
}

impl TestApp {
    /// A server with the default configuration.
    pub(crate) async fn start() -> Self {
        Self::with("").await
    }

    /// With additional configuration.
    pub(crate) async fn with(more: &str) -> Self {
        Self::with_secrets(more, &[]).await
    }

    /// With environment variables.
    pub(crate) async fn with_secrets(more: &str, secrets: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("foreword.yaml"), format!("{CONFIG}{more}")).unwrap();
        let location = Location::file(folder.path().join(".foreword/foreword.db"));
        Self::open(folder, &location, secrets).await
    }

    /// In this directory, on this database, which several servers may share.
    pub(crate) async fn open(
        folder: tempfile::TempDir,
        location: &Location,
        secrets: &[(&str, &str)],
    ) -> Self {
        Self::with_lease(folder, location, secrets, LEASE).await
    }

    /// With a short heartbeat timeout.
    pub(crate) async fn with_lease(
        folder: tempfile::TempDir,
        location: &Location,
        secrets: &[(&str, &str)],
        lease: Duration,
    ) -> Self {
        let node = parts_with_lease(folder.path(), location, secrets, lease).await;
        let (agent, store, workspace) = (node.agent.clone(), node.store.clone(), Arc::clone(&node.workspace));
        let events = node.events.clone();
        let server = Server::start(node, "127.0.0.1:0".parse().unwrap()).await.unwrap();
        agent.recover().await.unwrap();
        server.ready();
        let url = format!("http://{}", server.address());
        // No TLS is used here, but the client needs a provider.
        let _ = tokio_rustls::rustls::crypto::ring::default_provider().install_default();
        let client = reqwest::Client::builder().timeout(Duration::from_secs(30)).no_proxy().build().unwrap();
        let everything = [Scope::Chat, Scope::Observe, Scope::Admin];
        let alice = add_token(&store, "alice", &everything, None).await;
        let bob = add_token(&store, "bob", &[Scope::Chat, Scope::Observe], None).await;
        let carol = add_token(&store, "carol", &[Scope::Chat, Scope::Observe], None).await;
        let server = Some(server);
        Self { server, agent, store, workspace, events, client, url, alice, bob, carol, folder }
    }

    /// A token of `user`.
    pub(crate) async fn token(&self, user: &str, scopes: &[Scope], mode: Option<ProxyMode>) -> String {
        add_token(&self.store, user, scopes, mode).await
    }

    /// A token with its own limits.
    pub(crate) async fn limited_token(&self, user: &str, scopes: &[Scope], limits: TokenLimits) -> String {
        add_limited_token(&self.store, user, scopes, None, limits).await
    }

    /// A request with a token.
    pub(crate) fn request(&self, method: &str, path: &str, token: &str) -> reqwest::RequestBuilder {
        let method = method.parse().unwrap();
        self.client.request(method, format!("{}{path}", self.url)).bearer_auth(token)
    }

    /// The status and JSON of a GET.
    pub(crate) async fn get(&self, path: &str, token: &str) -> (u16, serde_json::Value) {
        read(self.request("GET", path, token).send().await.unwrap()).await
    }

    /// All items of a list, page by page. The path must contain a question mark.
    pub(crate) async fn all_pages(&self, path: &str, token: &str) -> Vec<serde_json::Value> {
        let (mut all, mut after) = (Vec::new(), String::new());
        loop {
            let (status, page) = self.get(&format!("{path}{after}"), token).await;
            assert_eq!(status, 200, "{path}{after}: {page}");
            all.extend(page["items"].as_array().unwrap().clone());
            match page["next"].as_str() {
                Some(next) => after = format!("&after={next}"),
                None => return all,
            }
        }
    }

    /// The status and JSON of a request with a JSON body.
    pub(crate) async fn send(
        &self,
        method: &str,
        path: &str,
        token: &str,
        body: &serde_json::Value,
    ) -> (u16, serde_json::Value) {
        let request = self.request(method, path, token).header("content-type", "application/json");
        read(request.body(body.to_string()).send().await.unwrap()).await
    }

    /// Stops the server as an operator does.
    pub(crate) async fn stop(mut self) {
        if let Some(server) = self.server.take() {
            server.shut_down().await;
        }
        self.agent.shut_down().await;
        self.events.close().await;
    }
}

pub(crate) async fn read(response: reqwest::Response) -> (u16, serde_json::Value) {
    let status = response.status().as_u16();
    let body = response.text().await.unwrap();
    let body = serde_json::from_str(&body).unwrap_or(serde_json::Value::String(body));
    (status, body)
}

async fn add_token(store: &Store, user: &str, scopes: &[Scope], mode: Option<ProxyMode>) -> String {
    add_limited_token(store, user, scopes, mode, TokenLimits::default()).await
}

async fn add_limited_token(
    store: &Store,
    user: &str,
    scopes: &[Scope],
    mode: Option<ProxyMode>,
    limits: TokenLimits,
) -> String {
    let clock_and_rng: Arc<dyn ClockAndRng> = Arc::new(Machine);
    let (one, other) = (clock_and_rng.random().to_ne_bytes(), clock_and_rng.random().to_ne_bytes());
    let mut bytes = [0; 32];
    bytes[..16].copy_from_slice(&one);
    bytes[16..].copy_from_slice(&other);
    let credential = Credential::from_random(bytes);
    let new = NewToken {
        id: clock_and_rng.id("tok").unwrap(),
        hash: credential.hash(),
        name: format!("{user}'s"),
        user: user.to_owned(),
        scopes: scopes.iter().copied().collect(),
        mode,
        created_at: clock_and_rng.timestamp(),
        expires_at: None,
        limits,
    };
    store.add_token(new).await.unwrap();
    credential.reveal().to_owned()
}

/// The parts of a server in this directory, on this database.
pub(crate) async fn parts_with_lease(
    folder: &Path,
    location: &Location,
    secrets: &[(&str, &str)],
    lease: Duration,
) -> ServerParts {
    let workspace = Arc::new(Workspace::open(folder, Environment::default()).unwrap());
    let clock_and_rng: Arc<dyn ClockAndRng> = Arc::new(Machine);
    let store = Store::open(location, clock_and_rng.timestamp()).await.unwrap();
    let clock = Arc::clone(&clock_and_rng);
    let clock: Arc<dyn Fn() -> _ + Send + Sync> = Arc::new(move || clock.timestamp());
    let events = EventQueue::start(store.clone(), Arc::clone(&clock), QueueConfig::default());
    let redactor = Redactor::new(&RedactionRules::default(), [0; 16]).unwrap();
    let recorder = Recorder::to_sink(redactor, into_store(&events));
    let node: foreword_core::id::NodeId = clock_and_rng.id("node").unwrap();
    for agent in workspace.snapshot().config.all_agents() {
        store.sync_defaults(&agent.blueprint, clock_and_rng.timestamp()).await.unwrap();
    }
    let parts = Parts {
        workspace: Arc::clone(&workspace),
        store: store.clone(),
        recorder: recorder.clone(),
        events: events.clone(),
        models: Arc::new(TestModels { offline: Arc::new(OfflineModel::default()), clock }),
        tools: [tools::builtin(ToolSettings::default()), tools::memory(Memory::new(store.clone()))].concat(),
        outside: None,
        node: node.clone(),
        clock_and_rng: Arc::clone(&clock_and_rng),
    };
    let agent = Agent::with_lease(parts, lease);
    let secrets = secrets.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let secrets = Arc::new(TestSecrets(secrets));
    ServerParts {
        agent,
        workspace,
        store,
        recorder,
        events,
        metrics: Metrics::new(),
        clock_and_rng,
        node,
        secrets,
        page: None,
    }
}
