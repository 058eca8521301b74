//! Reports that opening the store has migrated the tables of an older Foreword, and where the backup is.

use foreword_core::event::{Event, EventType};
use foreword_core::timestamp::Timestamp;
use foreword_store::store::Store;
use serde_json::json;

use crate::output::Output;

/// Prints the notice and stores the event.
pub(crate) async fn report(store: &Store, at: Timestamp) {
    print(store);
    if let Some(event) = event(store, at) {
        // The notice is printed, whether or not the event can be stored.
        let _ = store.add_events(&[event]).await;
    }
}

/// Prints the notice to standard error, also with `--json`: it comes once per upgrade.
pub(crate) fn print(store: &Store) {
    let Some(migrated) = store.migrated() else { return };
    let place = store.location();
    let what =
        format!("migrated the database `{place}` from schema version {} to {}", migrated.from, migrated.to);
    let backup = match &migrated.backup {
        Some(backup) => format!("its backup is `{}`", backup.display()),
        None => {
            "Foreword makes no backup of a Postgres database: before an upgrade, use `pg_dump`".to_owned()
        }
    };
    Output::new(false).print_stderr(&format!("{what}; {backup}"));
}

pub(crate) fn event(store: &Store, at: Timestamp) -> Option<Event> {
    let migrated = store.migrated()?;
    let metadata = json!({ "from": migrated.from, "to": migrated.to, "backup": migrated.backup });
    Some(Event { metadata: Some(metadata), ..Event::new(EventType::StoreMigrated, at) })
}
