//! Limits the bytes of one answer in proportion to the requested tokens, in case a provider streams past its own limit.
//! The answer then ends as if it had reached the maximum number of tokens.

use foreword_core::message::ContentBlock;
use foreword_core::model::{ModelEvent, ModelRequest, Note};

/// The tokens assumed where the request names no limit.
pub(crate) const DEFAULT_MAX_TOKENS: usize = 16_384;
/// The bytes allowed for each requested token. Text has about four; runs of white space have the most.
const MAX_BYTES_PER_TOKEN: usize = 32;
/// The bytes allowed however few tokens were requested.
const MIN_BYTES: usize = 64 << 10;

/// The remaining bytes of one answer.
#[derive(Debug)]
pub(crate) struct OutputLimit {
    left: usize,
}

/// The part of an event that fits into the limit.
#[derive(Debug, PartialEq)]
pub(crate) enum Admitted {
    /// It fits.
    Whole(ModelEvent),
    /// Only this part fits. The answer ends after it.
    Last(Option<ModelEvent>),
}

impl OutputLimit {
    /// The limit of an answer to `request`.
    pub(crate) fn of(request: &ModelRequest) -> Self {
        let tokens = request.max_output.unwrap_or(DEFAULT_MAX_TOKENS);
        Self { left: tokens.saturating_mul(MAX_BYTES_PER_TOKEN).max(MIN_BYTES) }
    }

    /// Counts `event` and truncates it at the limit.
    pub(crate) fn admit(&mut self, event: ModelEvent) -> Admitted {
        if let ModelEvent::Note(Note::Buffered(bytes)) = event {
            // Counted as part of their block once it is complete.
            return if bytes <= self.left { Admitted::Whole(event) } else { Admitted::Last(None) };
        }
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
            // A partial tool call or provider block is useless.
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
    fn text_is_truncated_at_a_character_boundary() {
        let mut limit = OutputLimit { left: 8 };
        let text = |text: &str| ModelEvent::Text(text.to_owned());
        assert_eq!(limit.admit(text("four")), Admitted::Whole(text("four")));
        assert_eq!(limit.admit(text("one€€")), Admitted::Last(Some(text("one"))));
        assert_eq!(limit.admit(text("more")), Admitted::Last(None));
    }

    #[test]
    fn oversized_block_is_dropped_but_stop_fits() {
        let mut limit = OutputLimit { left: 10 };
        let input = json!({ "path": "a longer name than fits" });
        let call =
            ContentBlock::ToolCall { id: "call-1".parse().unwrap(), name: "read_file".to_owned(), input };
        assert_eq!(limit.admit(ModelEvent::Block(call)), Admitted::Last(None));
        let stopped = ModelEvent::Stopped(StopReason::EndTurn);
        assert_eq!(OutputLimit { left: 0 }.admit(stopped.clone()), Admitted::Whole(stopped));
    }

    #[test]
    fn unfinished_blocks_end_the_answer_at_the_limit() {
        let mut limit = OutputLimit { left: 100 };
        let buffered = |bytes| ModelEvent::Note(Note::Buffered(bytes));
        assert_eq!(limit.admit(buffered(90)), Admitted::Whole(buffered(90)));
        assert_eq!(limit.admit(buffered(101)), Admitted::Last(None));
    }

    #[test]
    fn limit_follows_requested_tokens() {
        assert_eq!(limit(Some(10_000)).left, 320_000);
        assert_eq!(limit(Some(1)).left, MIN_BYTES);
        assert_eq!(limit(None).left, DEFAULT_MAX_TOKENS * MAX_BYTES_PER_TOKEN);
        assert_eq!(limit(Some(usize::MAX)).left, usize::MAX);
    }
}
