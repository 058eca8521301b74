//! The report of a prompt: its layers, the omitted ones with reasons, and the token counts. The JSON of `foreword build`
//! and `foreword explain`. The principal's view never mentions withheld layers, not even by size.

use serde::Serialize;

use crate::cut::Cut;
use crate::layer::{Authority, Stability};
use crate::plan::LeftOut;
use crate::prompt::{CacheClass, Prompt, Segment, SegmentStatus, TurnPlacement, Warning};
use crate::text::ContentHash;
use crate::trust::Trust;

/// The reader of the report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum View {
    /// The reader of the prompt: withheld layers are omitted.
    Principal,
    /// The owner: everything, with reasons.
    Owner,
}

/// A block of system text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SystemBlockReport {
    /// Its text.
    pub text: String,
    /// How long it can be cached.
    pub cache: CacheClass,
    /// The layers in it.
    pub layers: Vec<String>,
}

/// Token counts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Tokens {
    /// All of it.
    pub total: usize,
    /// The frozen part.
    pub frozen: usize,
    /// The turn's context.
    pub turn: usize,
    /// The token counter.
    pub counter: String,
}

/// The budget and the remaining tokens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BudgetReport {
    /// The effective limit.
    pub limit: usize,
    /// The remaining tokens.
    pub remaining: usize,
}

/// The parts of the trust decision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TrustReport {
    /// The user's own.
    pub user: Trust,
    /// The maximum of the situation.
    pub ceiling: Trust,
    /// The effective trust.
    pub effective: Trust,
}

/// One layer of the report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LayerReport {
    /// Its name.
    pub id: String,
    /// Its name for people.
    pub title: String,
    /// Which layer wins a conflict.
    pub authority: Authority,
    /// How long its bytes stay the same.
    pub stability: Stability,
    /// The kind of source its text came from.
    pub source: String,
    /// The file or built-in text it came from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin: Option<String>,
    /// Who may see it.
    pub trust: Trust,
    /// Its tokens; for a line of the menu, the tokens of loading it.
    pub tokens: usize,
    /// Its status: `included`, `cut`, `menu`; for the owner also `withheld`, `absent`, `empty`.
    pub status: &'static str,
    /// Its bytes in `text`.
    pub range: [usize; 2],
    /// The hash of its bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hash: Option<ContentHash>,
    /// The removed part.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cut: Option<Cut>,
    /// Why it is not in the prompt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// The whole report.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    /// The system blocks, in order.
    pub system: Vec<SystemBlockReport>,
    /// The turn's context, if it goes in a message.
    pub turn_context: Option<String>,
    /// All of it as the model reads it.
    pub text: String,
    /// The token counts.
    pub tokens: Tokens,
    /// The token budget.
    pub budget: BudgetReport,
    /// The hash of the frozen text.
    pub fingerprint: ContentHash,
    /// The parts of the trust decision.
    pub trust: TrustReport,
    /// Its layers, in the order the model reads them.
    pub layers: Vec<LayerReport>,
    /// Warnings of this build.
    pub warnings: Vec<Warning>,
}

impl Report {
    /// The report of `prompt` for `view`.
    #[must_use]
    pub fn of(prompt: &Prompt, view: View) -> Self {
        let facts = &prompt.facts;
        let limit = facts.budget.limit();
        let total = prompt.tokens();
        let sees_all = view == View::Owner || facts.trust.effective().permits(Trust::Full);
        Self {
            system: system_blocks(prompt),
            turn_context: match prompt.placement {
                TurnPlacement::Message => prompt.turn_context(),
                TurnPlacement::System => None,
            },
            text: prompt.text(),
            tokens: Tokens {
                total,
                frozen: prompt.frozen.tokens,
                turn: prompt.turn_tokens(),
                counter: facts.counter.to_owned(),
            },
            budget: BudgetReport { limit, remaining: limit.saturating_sub(total) },
            fingerprint: prompt.frozen.fingerprint,
            trust: TrustReport {
                user: facts.trust.user(),
                ceiling: facts.trust.ceiling(),
                effective: facts.trust.effective(),
            },
            layers: layers(prompt, view),
            warnings: facts
                .warnings
                .iter()
                .filter(|warning| sees_all || !warning.for_owner)
                .cloned()
                .collect(),
        }
    }
}

fn system_blocks(prompt: &Prompt) -> Vec<SystemBlockReport> {
    let mut blocks: Vec<SystemBlockReport> = prompt
        .frozen
        .blocks
        .iter()
        .map(|block| SystemBlockReport {
            text: prompt.frozen.text[block.range.clone()].to_owned(),
            cache: block.class,
            layers: block.layers.iter().map(ToString::to_string).collect(),
        })
        .collect();
    if prompt.placement == TurnPlacement::System
        && let Some(turn) = prompt.turn_context()
    {
        blocks.push(SystemBlockReport {
            text: format!("{}{turn}", prompt.before_turn()),
            cache: CacheClass::None,
            layers: prompt.turn.iter().map(|one| one.segment.layer.id.to_string()).collect(),
        });
    }
    blocks
}

fn layers(prompt: &Prompt, view: View) -> Vec<LayerReport> {
    let facts = &prompt.facts;
    let mut out: Vec<LayerReport> =
        prompt.frozen.segments.iter().map(|segment| included(segment, 0)).collect();
    let turn_at = prompt.frozen.text.len();
    for (index, one) in prompt.turn.iter().enumerate() {
        let mut layer = included(&one.segment, turn_at + prompt.before_turn().len());
        if index == 0 {
            // The separator before the turn context belongs to its first layer, so that the ranges tile the text.
            layer.range[0] = turn_at;
        }
        out.push(layer);
    }
    let end = out.last().map_or(0, |layer| layer.range[1]);
    for segment in &facts.in_menu {
        out.push(LayerReport { range: [end, end], hash: None, ..included(segment, 0) });
    }
    if view == View::Owner {
        for (status, left_out) in
            [("withheld", &facts.withheld), ("absent", &facts.absent), ("empty", &facts.empty)]
        {
            out.extend(left_out.iter().map(|one| not_included(one, status, end)));
        }
    }
    out
}

fn included(segment: &Segment, offset: usize) -> LayerReport {
    let layer = &segment.layer;
    LayerReport {
        id: layer.id.to_string(),
        title: layer.title.clone(),
        authority: layer.authority,
        stability: layer.stability,
        source: segment.kind.to_owned(),
        origin: segment.origin.as_deref().map(str::to_owned),
        trust: layer.trust,
        tokens: segment.tokens,
        status: match segment.status {
            SegmentStatus::Included => "included",
            SegmentStatus::Cut => "cut",
            SegmentStatus::Menu => "menu",
        },
        range: [offset + segment.range.start, offset + segment.range.end],
        hash: Some(segment.hash),
        cut: segment.cut,
        reason: None,
    }
}

fn not_included(left_out: &LeftOut, status: &'static str, at: usize) -> LayerReport {
    let layer = &left_out.layer;
    LayerReport {
        id: layer.id.to_string(),
        title: layer.title.clone(),
        authority: layer.authority,
        stability: layer.stability,
        source: layer.source.kind().to_owned(),
        origin: None,
        trust: layer.trust,
        tokens: 0,
        status,
        range: [at, at],
        hash: None,
        cut: None,
        reason: Some(left_out.reason.clone()),
    }
}
