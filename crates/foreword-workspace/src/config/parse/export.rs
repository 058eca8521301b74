//! Where numbers and traces go. No message repeats an address or what stands in place of a variable's name: there may be a
//! password in it.

use std::time::Duration;

use foreword_core::event::Level;
use foreword_core::provider::{BadBaseUrl, BaseUrl, is_key_variable};
use foreword_prompt::file_rules::plain_path;
use serde_saphyr::Spanned;

use super::Reader;
use crate::config::raw::RawOtlp;
use crate::config::{ExportConfig, OtlpConfig};

const TIMEOUT_SECONDS: u64 = 10;
const SERVICE: &str = "foreword";

impl Reader<'_> {
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
            let message = "`logging.otlp.headers_env` is no name of an environment variable".to_owned();
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
                        "keep the address to host and path; a password belongs into the variable that `headers_env` names"
                    }
                    _ => "write it as `http://127.0.0.1:4318`, or `https://collector.example.org`",
                };
                self.refuse(raw.endpoint.defined, message, help.to_owned());
                None
            }
        }
    }
}
