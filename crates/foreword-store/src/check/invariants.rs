//! Invariants between rows. Each is a query for violations that returns a name per violation, at most 20.

use super::facts::Texts;
use super::{Problems, RESTORE};
use crate::error::StoreError;
use crate::store::Store;

/// An invariant between rows.
struct Invariant {
    table: &'static str,
    /// The problem, to be followed by the name of the row.
    broken: &'static str,
    /// Selects the names of the violating rows.
    search: &'static str,
}

const INVARIANTS: &[Invariant] = &[
    Invariant {
        table: "messages",
        broken: "an unknown value is in message",
        search: "SELECT conversation_id || ' ' || CAST(seq AS TEXT) FROM messages
                 WHERE role NOT IN ('user', 'assistant', 'tool', 'system')
                 OR kind NOT IN ('message', 'summary', 'notice', 'sent')
                 OR provenance NOT IN ('owner', 'user', 'outside', 'agent')
                 OR trust NOT IN ('public', 'familiar', 'inner', 'full') LIMIT 20",
    },
    Invariant {
        table: "layer_versions",
        broken: "an unknown value is in layer",
        search: "SELECT blueprint || ' ' || layer_id || ' ' || CAST(version AS TEXT) FROM layer_versions
                 WHERE origin NOT IN ('default', 'edit', 'rollback')
                 OR writer_kind NOT IN ('program', 'owner', 'agent') LIMIT 20",
    },
    Invariant {
        table: "turns",
        broken: "an unknown value is in turn",
        search: "SELECT id FROM turns
                 WHERE state NOT IN ('running', 'done', 'failed', 'cancelled', 'interrupted')
                 OR trust NOT IN ('public', 'familiar', 'inner', 'full') LIMIT 20",
    },
    Invariant {
        table: "observations",
        broken: "an unknown value is in observation",
        search: "SELECT id FROM observations WHERE store NOT IN ('private', 'shared', 'social')
                 OR provenance NOT IN ('owner', 'user', 'outside', 'agent')
                 OR trust NOT IN ('public', 'familiar', 'inner', 'full') LIMIT 20",
    },
    Invariant {
        table: "templates",
        broken: "missing version of the template below",
        search: "SELECT CAST(MAX(version) AS TEXT) FROM templates
                 HAVING COUNT(*) > 0 AND (MIN(version) <> 1 OR MAX(version) <> COUNT(*))",
    },
    Invariant {
        table: "epochs",
        broken: "no frozen text of epoch",
        search: "SELECT e.conversation_id || ' ' || CAST(e.number AS TEXT) FROM epochs AS e
                 LEFT JOIN texts AS t ON t.hash = e.text_hash WHERE t.hash IS NULL LIMIT 20",
    },
    Invariant {
        table: "epochs",
        broken: "missing epoch in",
        search: "SELECT conversation_id FROM epochs GROUP BY conversation_id
                 HAVING MIN(number) <> 1 OR MAX(number) <> COUNT(*) LIMIT 20",
    },
    Invariant {
        table: "layer_versions",
        broken: "missing version of layer",
        search: "SELECT blueprint || ' ' || layer_id FROM layer_versions GROUP BY blueprint, layer_id
                 HAVING MIN(version) <> 1 OR MAX(version) <> COUNT(*) LIMIT 20",
    },
    Invariant {
        table: "messages",
        broken: "a message has a number that was not allocated:",
        search: "SELECT m.conversation_id || ' ' || CAST(m.seq AS TEXT) FROM messages AS m
                 JOIN conversations AS c ON c.id = m.conversation_id WHERE m.seq >= c.next_seq OR m.seq < 1 LIMIT 20",
    },
    Invariant {
        table: "messages",
        broken: "missing message in",
        search: "SELECT c.id FROM conversations AS c LEFT JOIN messages AS m ON m.conversation_id = c.id
                 GROUP BY c.id, c.next_seq HAVING COUNT(m.seq) < c.next_seq - 1 LIMIT 20",
    },
    Invariant {
        table: "compactions",
        broken: "missing compaction in",
        search: "SELECT conversation_id FROM compactions GROUP BY conversation_id
                 HAVING MIN(number) <> 1 OR MAX(number) <> COUNT(*) LIMIT 20",
    },
    Invariant {
        table: "layers",
        broken: "no current version of layer",
        search: "SELECT v.blueprint || ' ' || v.layer_id FROM layer_versions AS v
                 LEFT JOIN layers AS c ON c.blueprint = v.blueprint AND c.layer_id = v.layer_id
                 WHERE v.applied = 1 AND c.version IS NULL GROUP BY v.blueprint, v.layer_id LIMIT 20",
    },
    Invariant {
        table: "compactions",
        broken: "no summary of compaction",
        search: "SELECT k.conversation_id || ' ' || CAST(k.number AS TEXT) FROM compactions AS k
                 LEFT JOIN messages AS m ON m.conversation_id = k.conversation_id AND m.seq = k.summary_seq
                 WHERE m.seq IS NULL LIMIT 20",
    },
    Invariant {
        table: "turn_steps",
        broken: "missing step in turn",
        search: "SELECT turn_id FROM turn_steps GROUP BY turn_id
                 HAVING MIN(number) <> 1 OR MAX(number) <> COUNT(*) LIMIT 20",
    },
];

/// Checks the invariants of a table.
pub(super) async fn check(store: &Store, table: &str, problems: &mut Problems) -> Result<(), StoreError> {
    for invariant in INVARIANTS.iter().filter(|invariant| invariant.table == table) {
        let found = store.run(Texts(invariant.search)).await;
        for name in problems.note(Some(invariant.table), found)?.unwrap_or_default() {
            problems.add(Some(invariant.table), format!("{} `{name}`", invariant.broken), RESTORE);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use foreword_core::memory_store::MemoryStore;
    use foreword_core::message::{Kind, Provenance, Role};
    use foreword_core::turn_journal::TurnState;
    use foreword_prompt::trust::Trust;

    use super::*;
    use crate::schema::schema;

    /// A new enum value would otherwise be reported as a problem.
    #[test]
    fn invariants_know_every_stored_value() {
        let knows = |table: &str, words: &[&str]| {
            let invariant = INVARIANTS.iter().find(|invariant| invariant.table == table).unwrap();
            for word in words {
                assert!(invariant.search.contains(&format!("'{word}'")), "{table}: {word}");
            }
        };
        knows("messages", &Role::ALL.map(Role::as_str));
        knows("messages", &Kind::ALL.map(Kind::as_str));
        knows("turns", &TurnState::ALL.map(TurnState::as_str));
        knows("observations", &MemoryStore::ALL.map(MemoryStore::as_str));
        for table in ["messages", "observations"] {
            knows(table, &Provenance::ALL.map(Provenance::as_str));
            knows(table, &Trust::ALL.map(Trust::as_str));
        }
    }

    #[test]
    fn every_invariant_names_an_existing_table() {
        for invariant in INVARIANTS {
            assert!(
                schema().unwrap().tables.iter().any(|table| table.name == invariant.table),
                "{}",
                invariant.table
            );
        }
    }
}
