//! Bounds the bytes of one answer relative to the tokens that were requested. A provider that keeps streaming past its
//! own limit fills neither the memory nor the history; the answer ends there as one that reached its most tokens.

use foreword_core::message::ContentBlock;
use foreword_core::model::{ModelEvent, ModelRequest};

/// The tokens assumed where the request names no limit.
pub(crate) const DEFAULT_MAX_TOKENS: usize = 16_384;
/// The bytes allowed for each requested token. Text has about four; runs of white space have the most.
const MAX_BYTES_PER_TOKEN: usize = 32;
/// The bytes allowed however few tokens were requested.
const MIN_BYTES: usize = 64 << 10;

/// How much more one answer may hold.
#[derive(Debug)]
pub(crate) struct OutputLimit {
    left: usize,
}

/// What to do with an event of an answer.
#[derive(Debug, PartialEq)]
pub(crate) enum Admitted {
    /// It fits.
    Whole(ModelEvent),
    /// Only this much of it fits, and the answer ends behind it.
    Last(Option<ModelEvent>),
}

impl OutputLimit {
    /// The limit of an answer to `request`.
    pub(crate) fn of(request: &ModelRequest) -> Self {
        let tokens = request.max_output.unwrap_or(DEFAULT_MAX_TOKENS);
        Self { left: tokens.saturating_mul(MAX_BYTES_PER_TOKEN).max(MIN_BYTES) }
    }

    /// Counts `event`, and cuts it where the limit is.
    pub(crate) fn admit(&mut self, event: ModelEvent) -> Admitted {
        let size = size(&event);
        if size <= self.left {
            self.left -= size;
            return Admitted::Whole(event);
        }
        match event {
            ModelEvent::Text(mut text) => {
                text.truncate(text.floor_char_boundary(self.left));
                self.left = 0;
                Admitted::Last((!text.is_empty()).then_some(ModelEvent::Text(text)))
            }
            // Part of a tool call or of a provider's own block means nothing.
            _ => Admitted::Last(None),
        }
    }
}

fn size(event: &ModelEvent) -> usize {
    match event {
        ModelEvent::Text(text) => text.len(),
        ModelEvent::Block(ContentBlock::Text { text }) => text.len(),
        ModelEvent::Block(ContentBlock::ToolCall { name, input, .. }) => name.len() + input.to_string().len(),
        ModelEvent::Block(block) => serde_json::to_string(block).map_or(0, |json| json.len()),
        ModelEvent::Usage(_) | ModelEvent::Note(_) | ModelEvent::Stopped(_) => 0,
    }
}

#[cfg(test)]
mod tests {
    use foreword_core::model::{CachePlan, StopReason};
    use serde_json::json;

    use super::*;

    fn limit(max_output: Option<usize>) -> OutputLimit {
        OutputLimit::of(&ModelRequest {
            model: "fake/model-1".parse().unwrap(),
            tools: [].into(),
            system: vec![],
            messages: vec![],
            max_output,
            cache: CachePlan::NONE,
        })
    }

    #[test]
    fn text_is_cut_at_the_limit_between_two_characters() {
        let mut limit = OutputLimit { left: 8 };
        let text = |text: &str| ModelEvent::Text(text.to_owned());
        assert_eq!(limit.admit(text("four")), Admitted::Whole(text("four")));
        assert_eq!(limit.admit(text("one€€")), Admitted::Last(Some(text("one"))));
        assert_eq!(limit.admit(text("more")), Admitted::Last(None));
    }

    #[test]
    fn a_block_that_does_not_fit_is_dropped_and_the_end_always_fits() {
        let mut limit = OutputLimit { left: 10 };
        let input = json!({ "path": "a longer name than fits" });
        let call =
            ContentBlock::ToolCall { id: "call-1".parse().unwrap(), name: "read_file".to_owned(), input };
        assert_eq!(limit.admit(ModelEvent::Block(call)), Admitted::Last(None));
        let stopped = ModelEvent::Stopped(StopReason::EndTurn);
        assert_eq!(OutputLimit { left: 0 }.admit(stopped.clone()), Admitted::Whole(stopped));
    }

    #[test]
    fn the_limit_follows_the_requested_tokens() {
        assert_eq!(limit(Some(10_000)).left, 320_000);
        assert_eq!(limit(Some(1)).left, MIN_BYTES);
        assert_eq!(limit(None).left, DEFAULT_MAX_TOKENS * MAX_BYTES_PER_TOKEN);
        assert_eq!(limit(Some(usize::MAX)).left, usize::MAX);
    }
}
