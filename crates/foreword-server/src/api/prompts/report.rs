//! The JSON of a built prompt, the same as `foreword build` writes.

use foreword_prompt::layer::{Authority, Stability};
use foreword_prompt::prompt::CacheClass;
use foreword_prompt::report::{LayerReport, Report};
use foreword_prompt::trust::Trust;
use serde::Serialize;
use utoipa::ToSchema;

/// A built prompt.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct BuiltPrompt {
    /// The system blocks, in order.
    system: Vec<SystemBlock>,
    /// The turn context, if it is sent in a message.
    turn_context: Option<String>,
    /// The whole text as the model reads it.
    text: String,
    /// Its size in tokens.
    tokens: Tokens,
    /// The token budget.
    budget: TokenBudgetReport,
    /// The hash of the frozen text.
    #[schema(example = "blake3:…")]
    fingerprint: String,
    /// The trust it was built with.
    trust: TrustReport,
    /// Its layers, in order.
    layers: Vec<PromptLayer>,
    /// Warnings of the build.
    warnings: Vec<BuildWarning>,
}

/// A block of system text.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SystemBlock {
    /// Its text.
    text: String,
    /// How long it can be cached: `static`, `agent`, `conversation` or `none`.
    #[schema(value_type = String, example = "static")]
    cache: CacheClass,
    /// The layers in it.
    layers: Vec<String>,
}

/// Token counts.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Tokens {
    /// The whole prompt.
    total: usize,
    /// The frozen part.
    frozen: usize,
    /// The turn context.
    turn: usize,
    /// The name of the token counter.
    counter: String,
}

/// The token budget.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Budget)]
pub(crate) struct TokenBudgetReport {
    /// The maximum.
    limit: usize,
    /// The unused part.
    remaining: usize,
}

/// The trust of a build.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct TrustReport {
    /// The user's trust.
    #[schema(value_type = String, example = "full")]
    user: Trust,
    /// The maximum in the situation.
    #[schema(value_type = String, example = "familiar")]
    ceiling: Trust,
    /// The effective trust.
    #[schema(value_type = String, example = "familiar")]
    effective: Trust,
}

/// One layer.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct PromptLayer {
    /// Its id.
    id: String,
    /// Its title.
    title: String,
    /// The rank that decides conflicts between layers.
    #[schema(value_type = String, example = "policy")]
    authority: Authority,
    /// How long its text stays the same.
    #[schema(value_type = String, example = "static")]
    stability: Stability,
    /// The kind of its source.
    source: String,
    /// The file or built-in text.
    #[serde(skip_serializing_if = "Option::is_none")]
    origin: Option<String>,
    /// The trust needed to see it.
    #[schema(value_type = String, example = "public")]
    trust: Trust,
    /// Size in tokens.
    tokens: usize,
    /// `included`, `cut` or `menu`; for the owner also `withheld`, `absent` and `empty`.
    #[schema(example = "included")]
    status: &'static str,
    /// Its byte range in `text`.
    range: [usize; 2],
    /// The hash of its text.
    #[serde(skip_serializing_if = "Option::is_none")]
    hash: Option<String>,
    /// What was cut to fit the budget.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    cut: Option<foreword_prompt::cut::Cut>,
    /// Why it is not in the prompt.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

impl From<LayerReport> for PromptLayer {
    fn from(layer: LayerReport) -> Self {
        Self {
            id: layer.id,
            title: layer.title,
            authority: layer.authority,
            stability: layer.stability,
            source: layer.source,
            origin: layer.origin,
            trust: layer.trust,
            tokens: layer.tokens,
            status: layer.status,
            range: layer.range,
            hash: layer.hash.map(|hash| hash.to_string()),
            cut: layer.cut,
            reason: layer.reason,
        }
    }
}

/// A warning of a build.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct BuildWarning {
    /// A stable code.
    code: &'static str,
    /// The layer.
    layer: Option<String>,
    /// The message.
    message: String,
}

impl From<Report> for BuiltPrompt {
    fn from(report: Report) -> Self {
        let block = |block: foreword_prompt::report::SystemBlockReport| SystemBlock {
            text: block.text,
            cache: block.cache,
            layers: block.layers,
        };
        let warning = |warning: foreword_prompt::prompt::Warning| BuildWarning {
            code: warning.code,
            layer: warning.layer.map(|layer| layer.to_string()),
            message: warning.message,
        };
        Self {
            system: report.system.into_iter().map(block).collect(),
            turn_context: report.turn_context,
            text: report.text,
            tokens: Tokens {
                total: report.tokens.total,
                frozen: report.tokens.frozen,
                turn: report.tokens.turn,
                counter: report.tokens.counter,
            },
            budget: TokenBudgetReport { limit: report.budget.limit, remaining: report.budget.remaining },
            fingerprint: report.fingerprint.to_string(),
            trust: TrustReport {
                user: report.trust.user,
                ceiling: report.trust.ceiling,
                effective: report.trust.effective,
            },
            layers: report.layers.into_iter().map(PromptLayer::from).collect(),
            warnings: report.warnings.into_iter().map(warning).collect(),
        }
    }
}
