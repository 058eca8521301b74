//! User messages as the model reads them: quoted, with the author's name, so that no user can impersonate another. Only
//! the owner's private messages are unquoted.

use foreword_core::message::{ContentBlock, NewMessage, Provenance};
use foreword_prompt::trust::Trust;
use foreword_prompt::untrusted::{Marker, Origin, Untrusted, frame, quote_group_message};

use crate::conversation::inbound::{Purpose, TurnOrigin, is_shared};
use crate::turn::saved_state::SavedOrigin;

/// The text of `message` as the model reads it in `situation`.
pub(crate) fn quoted_text(message: &NewMessage, situation: &str, random: u128) -> String {
    let text = ContentBlock::joined_text(&message.content);
    let name = message.author.as_deref().unwrap_or("unknown");
    match (message.provenance, is_shared(situation)) {
        (Provenance::Owner | Provenance::Agent, false) => text,
        // A step of the owner's workflow, which has already framed its untrusted text.
        (Provenance::Outside, false) if is_step(message) && message.trust == Trust::Full => text,
        (Provenance::Outside, true) => {
            let marker = Marker::from_random_bytes(random.to_be_bytes());
            frame(&[Untrusted::new(Origin::group(name), text)], &marker).as_str().to_owned()
        }
        _ => quote_group_message(name, Some(message.trust.as_str()), &text),
    }
}

/// Whether the message is a step of a workflow.
fn is_step(message: &NewMessage) -> bool {
    let occasion = SavedOrigin::in_message(&message.content).map(TurnOrigin::from);
    occasion.is_some_and(|occasion| matches!(occasion.purpose, Purpose::Workflow { .. }))
}
