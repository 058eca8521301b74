//! Export of metrics and traces: keys `otlp` and `metrics_file` of section `logging`. Messages never repeat a URL or the
//! value of a variable name, since either may contain a password.

use std::time::Duration;

use foreword_core::event::Level;
use foreword_core::provider::{BadBaseUrl, BaseUrl, Secret, is_key_variable};
use foreword_prompt::file_rules::plain_path;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_saphyr::Spanned;

use super::parse::ConfigParser;

/// An OpenTelemetry collector that receives traces over HTTP (OTLP).
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RawOtlp {
    /// Its base URL, such as `http://127.0.0.1:4318`; `/v1/traces` is appended.
    #[schemars(with = "String")]
    pub endpoint: Spanned<Secret>,
    /// The environment variable with the request headers, as `name=value,name=value`. Default: no headers.
    #[schemars(with = "Option<String>")]
    pub headers_env: Option<Spanned<Secret>>,
    /// The timeout of a request in seconds. Default: 10.
    #[schemars(with = "Option<u64>")]
    pub timeout_seconds: Option<Spanned<u64>>,
    /// The value of `service.name`. Default: `foreword`.
    #[schemars(with = "Option<String>")]
    pub service_name: Option<Spanned<String>>,
    /// The minimum level of spans from libraries: `debug`, `info`, `warn` or `error`. Default: `info`.
    #[schemars(with = "Option<String>")]
    pub level: Option<Level>,
}

/// Where metrics and traces are exported to.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ExportConfig {
    /// The Prometheus text file for metrics: relative to the workspace, or absolute.
    pub metrics_file: Option<String>,
    /// The OTLP collector for traces.
    pub otlp: Option<OtlpConfig>,
}

/// An OTLP collector for traces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OtlpConfig {
    /// Its base URL.
    pub endpoint: BaseUrl,
    /// The environment variable with the request headers.
    pub headers_env: Option<String>,
    /// The timeout of one request.
    pub timeout: Duration,
    /// The value of `service.name`.
    pub service_name: String,
    /// The minimum level of spans from libraries.
    pub level: Level,
}

const TIMEOUT_SECONDS: u64 = 10;
const SERVICE: &str = "foreword";

impl ConfigParser<'_> {
    pub(super) fn export(
        &mut self,
        otlp: Option<&RawOtlp>,
        metrics_file: Option<&Spanned<String>>,
    ) -> ExportConfig {
        ExportConfig {
            metrics_file: metrics_file.and_then(|written| self.metrics_file(written)),
            otlp: otlp.and_then(|raw| self.otlp(raw)),
        }
    }

    fn metrics_file(&mut self, written: &Spanned<String>) -> Option<String> {
        let below = match written.value.strip_prefix('/') {
            Some(below) => plain_path(below).map(|path| format!("/{path}")),
            None => plain_path(&written.value),
        };
        match below {
            Ok(path) => Some(path),
            Err(reason) => {
                let message = format!("`logging.metrics_file`: {reason}");
                let help = "name a file below the workspace, or write the whole path from `/`, without `..`";
                self.refuse(written.defined, message, help.to_owned());
                None
            }
        }
    }

    fn otlp(&mut self, raw: &RawOtlp) -> Option<OtlpConfig> {
        let endpoint = self.endpoint(raw);
        let headers_env = raw.headers_env.as_ref().and_then(|name| {
            if is_key_variable(name.value.reveal()) {
                return Some(name.value.reveal().to_owned());
            }
            let message = "`logging.otlp.headers_env` is not a valid environment variable name".to_owned();
            let help = "write the variable's name in capitals, such as `OTEL_EXPORTER_OTLP_HEADERS`, and not the headers";
            self.refuse(name.defined, message, help.to_owned());
            None
        });
        let timeout = self.within(
            raw.timeout_seconds.as_ref(),
            "logging.otlp.timeout_seconds",
            1..=300,
            TIMEOUT_SECONDS,
        );
        let service_name = self.word(raw.service_name.as_ref(), "logging.otlp.service_name", SERVICE);
        if let (Some(endpoint), Some(_)) = (&endpoint, &headers_env)
            && endpoint.is_readable_on_the_way()
        {
            let message = "the headers of `logging.otlp` are sent without encryption".to_owned();
            let help = "use `https://`, or a collector on this machine".to_owned();
            self.note(raw.endpoint.defined, message, help);
        }
        Some(OtlpConfig {
            endpoint: endpoint?,
            headers_env,
            timeout: Duration::from_secs(timeout),
            service_name,
            level: raw.level.unwrap_or(Level::Info),
        })
    }

    fn endpoint(&mut self, raw: &RawOtlp) -> Option<BaseUrl> {
        match BaseUrl::parse(raw.endpoint.value.reveal().trim()) {
            Ok(endpoint) => Some(endpoint),
            Err(bad) => {
                let message = format!("`logging.otlp.endpoint` can't be used: {bad}");
                let help = match bad {
                    BadBaseUrl::UserInfo | BadBaseUrl::Query => {
                        "keep the address to host and path; put a password into the variable named by `headers_env`"
                    }
                    _ => "write it as `http://127.0.0.1:4318`, or `https://collector.example.org`",
                };
                self.refuse(raw.endpoint.defined, message, help.to_owned());
                None
            }
        }
    }
}
