//! Section `providers`, on top of the built-in providers. Keys and header values are [`Secret`]s from the start, and
//! messages never repeat them or a URL.

use std::collections::BTreeMap;
use std::sync::Arc;

use foreword_core::provider::{
    BaseUrl, KeySource, OFFLINE, Provider, Secret, Timeouts, WireDialect, builtin_providers, is_header_name,
    is_header_value, is_key_variable,
};
use foreword_prompt::diagnostic::did_you_mean;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_saphyr::Spanned;

use super::parse::ConfigParser;
use super::raw::Named;

/// A model provider.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RawProvider {
    /// The API: `anthropic` (Messages) or `openai` (chat completions). Default: the built-in value, otherwise `openai`.
    pub dialect: Option<WireDialect>,
    /// The base URL, as for the provider's own client. Required for a provider that is not built in.
    #[schemars(with = "Option<String>")]
    pub base_url: Option<Spanned<String>>,
    /// The environment variable with the API key.
    #[schemars(with = "Option<String>")]
    pub api_key_env: Option<Spanned<Secret>>,
    /// The API key itself. Prefer `api_key_env`: an agent that may read files may read this one.
    #[schemars(with = "Option<String>")]
    pub api_key: Option<Spanned<Secret>>,
    /// Additional HTTP headers by name.
    #[schemars(with = "BTreeMap<String, String>")]
    pub headers: Named<Spanned<Secret>>,
    /// Timeouts.
    pub timeouts: RawTimeouts,
    /// Whether to request cache diagnostics, which Anthropic's own API supports. `foreword cache` shows them beside
    /// Foreword's own reason. Default: false.
    pub cache_diagnostics: Option<bool>,
}

/// Timeouts of a provider.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RawTimeouts {
    /// The connect timeout in milliseconds. Default: 10,000.
    #[schemars(with = "Option<u64>")]
    pub connect_ms: Option<Spanned<u64>>,
    /// The timeout for the first byte of an answer, in milliseconds. Default: 120,000.
    #[schemars(with = "Option<u64>")]
    pub first_byte_ms: Option<Spanned<u64>>,
    /// The idle timeout while streaming an answer, in milliseconds. Default: 60,000.
    #[schemars(with = "Option<u64>")]
    pub idle_ms: Option<Spanned<u64>>,
}

/// Providers by name.
pub(super) type Providers = BTreeMap<Arc<str>, Provider>;

impl ConfigParser<'_> {
    pub(super) fn providers(&mut self, raw: &Named<Option<RawProvider>>) -> Providers {
        let mut all = builtin_providers();
        for (name, written) in &raw.0 {
            if !self.is_provider_name(name) {
                continue;
            }
            let written = written.clone().unwrap_or_default();
            let known = all.get(name.value.as_str());
            let new = || Provider {
                name: name.value.as_str().into(),
                dialect: WireDialect::OpenAi,
                base_url: String::new(),
                key: KeySource::None,
                headers: Vec::new(),
                timeouts: Timeouts::default(),
                cache_diagnostics: false,
            };
            let provider = known.cloned().unwrap_or_else(new);
            let provider = self.provider(name, &written, provider);
            all.insert(Arc::clone(&provider.name), provider);
        }
        all
    }

    fn is_provider_name(&mut self, name: &Spanned<String>) -> bool {
        let sound = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
        if name.value == OFFLINE {
            let help = "choose another name: this one is the offline model's, which is part of Foreword";
            self.refuse(name.defined, format!("the provider `{OFFLINE}` is reserved"), help.to_owned());
            false
        } else if name.value.is_empty() || !name.value.chars().all(sound) {
            let help = "use letters, digits, `_`, `-` and `.`: it is the part of a model before the `/`";
            self.refuse(name.defined, "invalid provider name".to_owned(), help.to_owned());
            false
        } else {
            true
        }
    }

    /// Applies the written settings to `provider`.
    fn provider(&mut self, name: &Spanned<String>, raw: &RawProvider, mut provider: Provider) -> Provider {
        let key = format!("providers.{}", name.value);
        provider.dialect = raw.dialect.unwrap_or(provider.dialect);
        provider.key = self.key(&key, raw, provider.key);
        provider.timeouts = self.timeouts(&key, &raw.timeouts, provider.timeouts);
        provider.cache_diagnostics = raw.cache_diagnostics.unwrap_or(provider.cache_diagnostics);
        self.headers(&key, &raw.headers, &mut provider);
        match &raw.base_url {
            Some(written) => match BaseUrl::parse(&written.value) {
                Ok(url) => self.address(&key, written, &url, &mut provider),
                Err(bad) => {
                    let message = format!("`{key}.base_url` can't be used: {bad}");
                    self.refuse(written.defined, message, bad.help().to_owned());
                }
            },
            None if provider.base_url.is_empty() => {
                let help = match did_you_mean(&name.value, builtin_providers().keys().map(|name| &**name)) {
                    Some(near) => {
                        format!("add `base_url: https://…`; or did you mean `{near}`, which has one?")
                    }
                    None => "add `base_url: https://…`".to_owned(),
                };
                self.refuse(name.defined, format!("`{key}` has no `base_url`"), help);
            }
            None => {}
        }
        provider
    }

    fn address(&mut self, key: &str, written: &Spanned<String>, url: &BaseUrl, provider: &mut Provider) {
        url.as_str().clone_into(&mut provider.base_url);
        let has_secrets = provider.key != KeySource::None || !provider.headers.is_empty();
        if url.is_readable_on_the_way() && has_secrets {
            self.note(
                written.defined,
                format!("the key and the headers of `{key}` are sent without encryption"),
                "use `https://`, or a server on this machine".to_owned(),
            );
        }
        if provider.dialect == WireDialect::Anthropic && url.as_str().ends_with("/v1") {
            self.note(
                written.defined,
                format!("requests of `{key}` go to `…/v1/v1/messages`"),
                "leave out the `/v1` at the end: the dialect `anthropic` adds it".to_owned(),
            );
        }
    }

    fn key(&mut self, key: &str, raw: &RawProvider, known: KeySource) -> KeySource {
        match (&raw.api_key, &raw.api_key_env) {
            (Some(written), Some(_)) => {
                let message = format!("`{key}` has both `api_key` and `api_key_env`");
                self.refuse(written.defined, message, "keep `api_key_env` and remove this line".to_owned());
                known
            }
            (Some(written), None) => self.written_key(key, written).unwrap_or(known),
            (None, Some(name)) if is_key_variable(name.value.reveal()) => {
                KeySource::Environment(name.value.reveal().to_owned())
            }
            (None, Some(name)) => {
                let message = format!("`{key}.api_key_env` is not a valid environment variable name");
                let help = "write the variable's name in capitals, such as `OPENAI_API_KEY`, and not the key";
                self.refuse(name.defined, message, help.to_owned());
                known
            }
            (None, None) => known,
        }
    }

    fn written_key(&mut self, key: &str, written: &Spanned<Secret>) -> Option<KeySource> {
        if !is_header_value(written.value.reveal()) {
            let message = format!("`{key}.api_key` is empty, or has characters that can't be sent");
            let help = "write it on one line, or use `api_key_env`";
            self.refuse(written.defined, message, help.to_owned());
            return None;
        }
        self.note(
            written.defined,
            format!("`{key}.api_key` is stored in the file, where an agent with file access may read it"),
            "put it into an environment variable and name that in `api_key_env`".to_owned(),
        );
        Some(KeySource::Written(written.value.clone()))
    }

    fn headers(&mut self, key: &str, raw: &Named<Spanned<Secret>>, provider: &mut Provider) {
        for (name, value) in &raw.0 {
            if !is_header_name(&name.value) {
                let help = "use letters, digits and `-`; the value follows the `:`";
                self.refuse(name.defined, format!("`{key}.headers`: invalid header name"), help.to_owned());
            } else if !is_header_value(value.value.reveal()) {
                let message = format!("`{key}.headers`: the value of `{}` can't be sent", name.value);
                let help = "use one line of letters, digits and signs, with no space at either end";
                self.refuse(value.defined, message, help.to_owned());
            } else if provider.headers.iter().any(|(known, _)| known.eq_ignore_ascii_case(&name.value)) {
                let message = format!("`{key}.headers`: `{}` occurs twice", name.value);
                let help = "keep one of them; header names are case-insensitive";
                self.refuse(name.defined, message, help.to_owned());
            } else {
                provider.headers.push((name.value.clone(), value.value.clone()));
            }
        }
    }

    fn timeouts(&mut self, key: &str, raw: &RawTimeouts, known: Timeouts) -> Timeouts {
        let named = |part: &str| format!("{key}.timeouts.{part}");
        Timeouts {
            connect: self.milliseconds(raw.connect_ms.as_ref(), &named("connect_ms"), known.connect),
            first_byte: self.milliseconds(
                raw.first_byte_ms.as_ref(),
                &named("first_byte_ms"),
                known.first_byte,
            ),
            idle: self.milliseconds(raw.idle_ms.as_ref(), &named("idle_ms"), known.idle),
        }
    }

    /// Checks that a provider serves the configured model.
    pub(super) fn served(&mut self, model: Option<&Spanned<String>>, providers: &Providers) {
        let Some(model) = model else { return };
        let Some((provider, _)) = model.value.split_once('/') else { return };
        if provider == OFFLINE || providers.contains_key(provider) {
            return;
        }
        let known = || providers.keys().map(|name| &**name).chain([OFFLINE]);
        let help = match did_you_mean(provider, known()) {
            Some(near) => format!("did you mean `{near}`? If not, configure it in `providers`"),
            None => {
                let all: Vec<String> = known().map(|name| format!("`{name}`")).collect();
                format!("use one of {}, or configure it in `providers`", all.join(", "))
            }
        };
        let message =
            format!("unknown provider `{}` in `{}`", provider.escape_debug(), model.value.escape_debug());
        self.refuse(model.defined, message, help);
    }
}
