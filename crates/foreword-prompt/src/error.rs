//! Why a prompt could not be built. Callers can distinguish the variants; every message says what, where and what to
//! do.

use crate::layer::LayerId;
use crate::text::with_thousands;

/// A layer and its tokens, for error messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LayerTokens {
    /// The layer.
    pub layer: LayerId,
    /// Its tokens.
    pub tokens: usize,
}

/// Why a prompt could not be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PromptError {
    /// One layer exceeds its own limit and may not be cut.
    #[error("layer `{layer}` does not fit: needs {} tokens, its limit is {}", with_thousands(*.tokens), with_thousands(*.limit))]
    LayerTooLarge {
        /// The layer.
        layer: LayerId,
        /// Its minimum size in tokens.
        tokens: usize,
        /// Its limit.
        limit: usize,
    },
    /// The prompt is too large after all permitted cuts.
    #[error(
        "the prompt does not fit: needs at least {} tokens, {limit_name} is {}; the layers that can't be cut further are {}",
        with_thousands(*.tokens), with_thousands(*.limit), token_list(.layers)
    )]
    DoesNotFit {
        /// The smallest limit under which it would fit.
        tokens: usize,
        /// The effective limit.
        limit: usize,
        /// `prompt.budget` or the model's window.
        limit_name: String,
        /// The largest first.
        layers: Vec<LayerTokens>,
    },
}

impl PromptError {
    /// What to do about it.
    #[must_use]
    pub fn help(&self) -> String {
        match self {
            Self::LayerTooLarge { layer, .. } => {
                format!(
                    "shorten `{layer}`, raise its `max_tokens`, or let it be cut with `overflow: head_tail`"
                )
            }
            Self::DoesNotFit { limit_name, layers, .. } => {
                let heaviest =
                    layers.first().map_or("a layer".to_owned(), |weight| format!("`{}`", weight.layer));
                if limit_name == "prompt.budget" {
                    format!("raise `prompt.budget.tokens`, or shorten {heaviest}")
                } else {
                    format!("choose a model with a larger context window, or shorten {heaviest}")
                }
            }
        }
    }
}

fn token_list(layers: &[LayerTokens]) -> String {
    let named: Vec<String> = layers
        .iter()
        .take(5)
        .map(|weight| format!("`{}` ({})", weight.layer, with_thousands(weight.tokens)))
        .collect();
    let more = layers.len().saturating_sub(named.len());
    let tail = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{tail}", named.join(", "))
}
