//! Rules for new notes: only in stores the turn's trust permits, limited in size, and permanently marked if the text
//! may be from outside.

use foreword_core::id::{ConversationId, ObservationId, TurnId};
use foreword_core::memory_store::MemoryStore;
use foreword_core::message::Provenance;
use foreword_core::timestamp::Timestamp;
use foreword_prompt::text::normalise_line_ends;
use foreword_prompt::trust::Trust;
use foreword_store::observations::Observation;

use super::error::MemoryError;

/// The maximum length of a title, in characters.
pub(super) const MAX_TITLE_CHARS: usize = 200;
/// The maximum size of a text, in bytes.
pub(super) const MAX_TEXT_BYTES: usize = 16 * 1024;
/// The digits of an id, without easily confused ones.
const DIGITS: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
/// The length of an id: short, but enough for a billion notes.
const ID_DIGITS: u32 = 12;

/// A note to store.
#[derive(Debug, Clone)]
pub struct NewNote {
    /// The store to keep it in.
    pub store: MemoryStore,
    /// Its title in one line.
    pub title: String,
    /// The text to remember.
    pub text: String,
    /// The trust of the turn that writes it.
    pub trust: Trust,
    /// The least trusted provenance of the turn's text.
    pub provenance: Provenance,
    /// Whether the turn has read text from outside.
    pub tainted: bool,
    /// The conversation it is from.
    pub conversation: Option<ConversationId>,
    /// The turn it is from.
    pub turn: Option<TurnId>,
    /// The name of the author.
    pub author: Option<String>,
    pub at: Timestamp,
    /// Random bits for its id.
    pub random: u128,
}

/// A stored note.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// Its path, for `memory_get`.
    pub path: String,
    /// The store it is in.
    pub store: MemoryStore,
    /// The size of its text in bytes.
    pub bytes: usize,
    /// Whether it is marked as text from outside.
    pub from_outside: bool,
}

impl NewNote {
    /// Checks the rules.
    ///
    /// # Errors
    /// The rule that is violated.
    pub fn check(&self) -> Result<(), MemoryError> {
        self.clone().checked().map(drop)
    }

    /// The note in its stored form, if the rules permit it.
    pub(super) fn checked(self) -> Result<Observation, MemoryError> {
        if !self.trust.permits(self.store.needed_trust()) {
            return Err(MemoryError::AboveTrust { store: self.store, trust: self.trust });
        }
        let title = self.title.trim();
        let bad_title = |reason| Err(MemoryError::Title { reason });
        if title.is_empty() {
            return bad_title("it is empty");
        }
        if title.chars().any(char::is_control) || title.contains(['\u{2028}', '\u{2029}']) {
            return bad_title("it has a line end or a control character");
        }
        if title.chars().nth(MAX_TITLE_CHARS).is_some() {
            return bad_title("it is too long");
        }
        let text = normalise_line_ends(self.text.trim_end());
        let bad_text = |reason: String| Err(MemoryError::Text { reason });
        if text.trim().is_empty() {
            return bad_text("it is empty".to_owned());
        }
        if text.contains('\0') {
            return bad_text("it has a NUL character".to_owned());
        }
        if text.len() > MAX_TEXT_BYTES {
            return bad_text(format!("it has {}", text.len()));
        }
        let id = note_id(self.random);
        Ok(Observation {
            id: ObservationId::new(&id).map_err(|_| MemoryError::IdTaken { id })?,
            store: self.store,
            title: title.to_owned(),
            text: text.into_owned(),
            trust: self.trust,
            provenance: self.provenance,
            // Set here too, for readers that check only this field.
            tainted: self.tainted || !is_trusted(self.provenance),
            conversation: self.conversation,
            turn: self.turn,
            author: self.author,
            at: self.at,
        })
    }
}

/// Whether a note must be marked as text from outside. Only text of the owner or the agent's own, from a turn that had
/// read nothing from outside, is not.
pub(super) fn is_from_outside(note: &Observation) -> bool {
    note.tainted || !is_trusted(note.provenance)
}

fn is_trusted(provenance: Provenance) -> bool {
    match provenance {
        Provenance::Owner | Provenance::Agent => true,
        Provenance::User | Provenance::Outside => false,
    }
}

fn note_id(random: u128) -> String {
    let digit = |place: u32| char::from(DIGITS[usize::try_from(random >> (5 * place) & 31).unwrap_or(0)]);
    (0..ID_DIGITS).map(digit).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note() -> NewNote {
        NewNote {
            store: MemoryStore::Social,
            title: "Tea".to_owned(),
            text: "Carol likes tea.".to_owned(),
            trust: Trust::Familiar,
            provenance: Provenance::Owner,
            tainted: false,
            conversation: None,
            turn: None,
            author: None,
            at: Timestamp::from_micros(0),
            random: 7,
        }
    }

    #[test]
    fn note_is_never_stored_above_the_turns_trust() {
        for trust in Trust::ALL {
            for store in MemoryStore::ALL {
                let checked = NewNote { store, trust, ..note() }.checked();
                assert_eq!(
                    checked.is_ok(),
                    MemoryStore::permitted(trust).contains(&store),
                    "{trust} {store}"
                );
            }
        }
    }

    #[test]
    fn notes_of_others_or_tainted_turns_are_marked() {
        let table = [
            (Provenance::Owner, false, false),
            (Provenance::Agent, false, false),
            (Provenance::Owner, true, true),
            (Provenance::Agent, true, true),
            (Provenance::User, false, true),
            (Provenance::User, true, true),
            (Provenance::Outside, false, true),
            (Provenance::Outside, true, true),
        ];
        for (provenance, tainted, expected) in table {
            let kept = NewNote { provenance, tainted, ..note() }.checked().unwrap();
            assert_eq!(
                (kept.tainted, is_from_outside(&kept)),
                (expected, expected),
                "{provenance:?} {tainted}"
            );
            // A stored row counts as from outside if either mark is set.
            let row = Observation { provenance, tainted, ..kept };
            assert_eq!(is_from_outside(&row), expected);
        }
    }

    #[test]
    fn titles_and_texts_have_limits() {
        let ok = |title: &str, text: &str| {
            NewNote { title: title.to_owned(), text: text.to_owned(), ..note() }.check().is_ok()
        };
        assert!(ok(&"ä".repeat(MAX_TITLE_CHARS), &"x".repeat(MAX_TEXT_BYTES)));
        for title in ["", "  ", "a\nb", "a\u{2028}b", "a\u{1b}[0m", &"x".repeat(MAX_TITLE_CHARS + 1)] {
            assert!(!ok(title, "text"), "{title:?}");
        }
        for text in ["", " \n ", "a\0b", &"x".repeat(MAX_TEXT_BYTES + 1)] {
            assert!(!ok("title", text));
        }
    }

    #[test]
    fn note_id_is_short_and_fully_random() {
        assert_eq!(note_id(0), "000000000000");
        assert_eq!(note_id(u128::MAX), "zzzzzzzzzzzz");
        assert_ne!(note_id(1 << 59), note_id(0));
    }
}
