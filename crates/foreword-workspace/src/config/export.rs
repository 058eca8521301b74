//! Where numbers and traces go.

use std::time::Duration;

use foreword_core::event::Level;
use foreword_core::provider::BaseUrl;

/// Where numbers and traces go, if anywhere.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ExportConfig {
    /// The file that metrics are kept in: below the workspace, or absolute.
    pub metrics_file: Option<String>,
    /// The collector that traces are sent to.
    pub otlp: Option<OtlpConfig>,
}

/// A collector that traces are sent to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OtlpConfig {
    /// Where it is.
    pub endpoint: BaseUrl,
    /// The environment variable with the headers to send.
    pub headers_env: Option<String>,
    /// How long one request may take.
    pub timeout: Duration,
    /// What the service is called there.
    pub service_name: String,
    /// Spans of libraries below this level are left out.
    pub level: Level,
}
