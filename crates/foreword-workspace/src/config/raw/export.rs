//! Where traces go, as people write it: key `otlp` of section `logging`.

use foreword_core::event::Level;
use foreword_core::provider::Secret;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_saphyr::Spanned;

/// A collector that traces are sent to, by the OpenTelemetry protocol over HTTP.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RawOtlp {
    /// Where it is, such as `http://127.0.0.1:4318`; `/v1/traces` is added.
    #[schemars(with = "String")]
    pub endpoint: Spanned<Secret>,
    /// The environment variable with the headers to send, as `name=value,name=value`. Default: none are sent.
    #[schemars(with = "Option<String>")]
    pub headers_env: Option<Spanned<Secret>>,
    /// How many seconds one request may take. Default: 10.
    #[schemars(with = "Option<u64>")]
    pub timeout_seconds: Option<Spanned<u64>>,
    /// What the service is called there. Default: `foreword`.
    #[schemars(with = "Option<String>")]
    pub service_name: Option<Spanned<String>>,
    /// Spans of libraries below this level are left out: `debug`, `info`, `warn` or `error`. Default: `info`.
    #[schemars(with = "Option<String>")]
    pub level: Option<Level>,
}
