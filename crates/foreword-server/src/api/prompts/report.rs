//! A built prompt as it is told: the JSON of `foreword build`.

use foreword_prompt::layer::{Authority, Stability};
use foreword_prompt::prompt::CacheClass;
use foreword_prompt::report::{LayerReport, Report};
use foreword_prompt::trust::Trust;
use serde::Serialize;
use utoipa::ToSchema;

/// A prompt for an occasion.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct BuiltPrompt {
    /// The system blocks, in order.
    system: Vec<SystemBlock>,
    /// The turn's context, if it goes in a message.
    turn_context: Option<String>,
    /// All of it as the model reads it.
    text: String,
    /// What it weighs.
    tokens: Tokens,
    /// What it may weigh.
    budget: Budget,
    /// The name of the frozen bytes.
    #[schema(example = "blake3:…")]
    fingerprint: String,
    /// How the trust came about.
    trust: TrustReport,
    /// Its layers, in the order the model reads them.
    layers: Vec<PromptLayer>,
    /// What to know about this build.
    warnings: Vec<BuildWarning>,
}

/// A block of system text.
#[derive(Debug, Serialize, ToSchema)]
struct SystemBlock {
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
struct Tokens {
    /// All of it.
    total: usize,
    /// The frozen part.
    frozen: usize,
    /// The turn's context.
    turn: usize,
    /// Who counted.
    counter: String,
}

/// The budget and what is left of it.
#[derive(Debug, Serialize, ToSchema)]
struct Budget {
    /// What it may weigh.
    limit: usize,
    /// What is left.
    remaining: usize,
}

/// How the trust came about.
#[derive(Debug, Serialize, ToSchema)]
struct TrustReport {
    /// The user's own.
    #[schema(value_type = String, example = "full")]
    user: Trust,
    /// The most the place allows.
    #[schema(value_type = String, example = "familiar")]
    ceiling: Trust,
    /// What counted.
    #[schema(value_type = String, example = "familiar")]
    effective: Trust,
}

/// One layer.
#[derive(Debug, Serialize, ToSchema)]
struct PromptLayer {
    /// Its name.
    id: String,
    /// Its name for people.
    title: String,
    /// Which layer wins a conflict.
    #[schema(value_type = String, example = "policy")]
    authority: Authority,
    /// How long its bytes stay the same.
    #[schema(value_type = String, example = "static")]
    stability: Stability,
    /// The kind of source its text came from.
    source: String,
    /// The file or built-in text it came from.
    #[serde(skip_serializing_if = "Option::is_none")]
    origin: Option<String>,
    /// Who may see it.
    #[schema(value_type = String, example = "public")]
    trust: Trust,
    /// What it weighs.
    tokens: usize,
    /// `included`, `cut` or `menu`; for the owner also `withheld`, `absent` and `empty`.
    #[schema(example = "included")]
    status: &'static str,
    /// Its bytes in `text`.
    range: [usize; 2],
    /// The name of its bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    hash: Option<String>,
    /// What was cut out.
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

/// Something to know about a build.
#[derive(Debug, Serialize, ToSchema)]
struct BuildWarning {
    /// A stable name for this kind of warning.
    code: &'static str,
    /// The layer it is about.
    layer: Option<String>,
    /// What to know.
    message: String,
}

impl From<Report> for BuiltPrompt {
    fn from(report: Report) -> Self {
        let block = |block: foreword_prompt::report::SystemBlock| SystemBlock {
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
            budget: Budget { limit: report.budget.limit, remaining: report.budget.remaining },
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
