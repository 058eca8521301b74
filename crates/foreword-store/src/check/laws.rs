//! What must hold between rows. A law is a query for what breaks it; it gives a name for each, a few at most.

use super::facts::Words;
use super::{Problems, RESTORE};
use crate::error::StoreError;
use crate::store::Store;

/// Something that must hold between rows.
struct Law {
    table: &'static str,
    /// What is wrong, before the name of the thing.
    broken: &'static str,
    /// Finds what is wrong.
    search: &'static str,
}

const LAWS: &[Law] = &[
    Law {
        table: "messages",
        broken: "a word that means nothing here stands in message",
        search: "SELECT conversation_id || ' ' || CAST(seq AS TEXT) FROM messages
                 WHERE role NOT IN ('user', 'assistant', 'tool', 'system')
                 OR kind NOT IN ('message', 'summary', 'notice', 'sent')
                 OR provenance NOT IN ('owner', 'user', 'outside', 'agent')
                 OR trust NOT IN ('public', 'familiar', 'inner', 'full') LIMIT 20",
    },
    Law {
        table: "layer_versions",
        broken: "a word that means nothing here stands in layer",
        search: "SELECT blueprint || ' ' || layer_id || ' ' || CAST(version AS TEXT) FROM layer_versions
                 WHERE origin NOT IN ('default', 'edit', 'rollback')
                 OR writer_kind NOT IN ('program', 'owner', 'agent') LIMIT 20",
    },
    Law {
        table: "turns",
        broken: "a word that means nothing here stands in turn",
        search: "SELECT id FROM turns
                 WHERE state NOT IN ('running', 'done', 'failed', 'cancelled', 'interrupted')
                 OR trust NOT IN ('public', 'familiar', 'inner', 'full') LIMIT 20",
    },
    Law {
        table: "observations",
        broken: "a word that means nothing here stands in observation",
        search: "SELECT id FROM observations WHERE store NOT IN ('private', 'shared', 'social')
                 OR provenance NOT IN ('owner', 'user', 'outside', 'agent')
                 OR trust NOT IN ('public', 'familiar', 'inner', 'full') LIMIT 20",
    },
    Law {
        table: "templates",
        broken: "a version of the template is missing below",
        search: "SELECT CAST(MAX(version) AS TEXT) FROM templates
                 HAVING COUNT(*) > 0 AND (MIN(version) <> 1 OR MAX(version) <> COUNT(*))",
    },
    Law {
        table: "epochs",
        broken: "the frozen text is missing of epoch",
        search: "SELECT e.conversation_id || ' ' || CAST(e.number AS TEXT) FROM epochs AS e
                 LEFT JOIN texts AS t ON t.hash = e.text_hash WHERE t.hash IS NULL LIMIT 20",
    },
    Law {
        table: "epochs",
        broken: "an epoch is missing in",
        search: "SELECT conversation_id FROM epochs GROUP BY conversation_id
                 HAVING MIN(number) <> 1 OR MAX(number) <> COUNT(*) LIMIT 20",
    },
    Law {
        table: "layer_versions",
        broken: "a version is missing of layer",
        search: "SELECT blueprint || ' ' || layer_id FROM layer_versions GROUP BY blueprint, layer_id
                 HAVING MIN(version) <> 1 OR MAX(version) <> COUNT(*) LIMIT 20",
    },
    Law {
        table: "messages",
        broken: "a message stands where none was given out yet:",
        search: "SELECT m.conversation_id || ' ' || CAST(m.seq AS TEXT) FROM messages AS m
                 JOIN conversations AS c ON c.id = m.conversation_id WHERE m.seq >= c.next_seq OR m.seq < 1 LIMIT 20",
    },
    Law {
        table: "messages",
        broken: "a message is missing in",
        search: "SELECT c.id FROM conversations AS c LEFT JOIN messages AS m ON m.conversation_id = c.id
                 GROUP BY c.id, c.next_seq HAVING COUNT(m.seq) < c.next_seq - 1 LIMIT 20",
    },
    Law {
        table: "compactions",
        broken: "a compaction is missing in",
        search: "SELECT conversation_id FROM compactions GROUP BY conversation_id
                 HAVING MIN(number) <> 1 OR MAX(number) <> COUNT(*) LIMIT 20",
    },
    Law {
        table: "layers",
        broken: "nothing says which version is in force of layer",
        search: "SELECT v.blueprint || ' ' || v.layer_id FROM layer_versions AS v
                 LEFT JOIN layers AS c ON c.blueprint = v.blueprint AND c.layer_id = v.layer_id
                 WHERE v.applied = 1 AND c.version IS NULL GROUP BY v.blueprint, v.layer_id LIMIT 20",
    },
    Law {
        table: "compactions",
        broken: "the summary is missing of compaction",
        search: "SELECT k.conversation_id || ' ' || CAST(k.number AS TEXT) FROM compactions AS k
                 LEFT JOIN messages AS m ON m.conversation_id = k.conversation_id AND m.seq = k.summary_seq
                 WHERE m.seq IS NULL LIMIT 20",
    },
    Law {
        table: "turn_steps",
        broken: "a step is missing in turn",
        search: "SELECT turn_id FROM turn_steps GROUP BY turn_id
                 HAVING MIN(number) <> 1 OR MAX(number) <> COUNT(*) LIMIT 20",
    },
];

/// Looks for what breaks the laws of a table.
pub(super) async fn check(store: &Store, table: &str, problems: &mut Problems) -> Result<(), StoreError> {
    for law in LAWS.iter().filter(|law| law.table == table) {
        let found = store.run(Words(law.search)).await;
        for name in problems.note(Some(law.table), found)?.unwrap_or_default() {
            problems.add(Some(law.table), format!("{} `{name}`", law.broken), RESTORE);
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

    /// A new word would otherwise be a false alarm.
    #[test]
    fn every_word_that_can_be_stored_is_known_to_the_laws() {
        let knows = |table: &str, words: &[&str]| {
            let law = LAWS.iter().find(|law| law.table == table).unwrap();
            for word in words {
                assert!(law.search.contains(&format!("'{word}'")), "{table}: {word}");
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
    fn every_law_is_about_a_table_that_there_is() {
        for law in LAWS {
            assert!(schema().unwrap().tables.iter().any(|table| table.name == law.table), "{}", law.table);
        }
    }
}
