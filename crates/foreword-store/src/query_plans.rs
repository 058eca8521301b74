//! Tests that opening and reading one conversation does not slow down with the number of conversations: every
//! statement uses an index.

use rusqlite::Connection;

use crate::conversations::{FIRST, FIRST_OF_USER, GET, NEXT, NEXT_OF_USER, search};
use crate::engine::migrations::MIGRATIONS;
use crate::{compaction, conversation_size, epochs, hand_overs, messages, metrics};

/// A database with empty tables, for which the planner is most likely to choose a full scan.
fn tables() -> Connection {
    let connection = Connection::open_in_memory().unwrap();
    for part in MIGRATIONS.iter().flat_map(|migration| migration.sqlite) {
        connection.execute_batch(part).unwrap();
    }
    connection
}

fn plan(connection: &Connection, sql: &str) -> Vec<String> {
    let mut statement = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
    let parameters = statement.parameter_count();
    for parameter in 1..=parameters {
        statement.raw_bind_parameter(parameter, "1").unwrap();
    }
    let mut rows = statement.raw_query();
    let mut steps = Vec::new();
    while let Some(row) = rows.next().unwrap() {
        steps.push(row.get(3).unwrap());
    }
    steps
}

/// Whether a step of a query plan scans or sorts.
fn is_slow(step: &str) -> bool {
    step.starts_with("SCAN") || step.contains("TEMP B-TREE")
}

#[test]
fn conversation_queries_use_an_index() {
    let connection = tables();
    let statements = epochs::STATEMENTS
        .iter()
        .chain(messages::STATEMENTS)
        .chain(compaction::STATEMENTS)
        .chain(conversation_size::STATEMENTS)
        .chain(metrics::STATEMENTS)
        .chain(hand_overs::STATEMENTS);
    for sql in statements.chain(&[GET, NEXT, FIRST_OF_USER, NEXT_OF_USER]) {
        let steps = plan(&connection, sql);
        assert!(!steps.is_empty() && !steps.iter().any(|step| is_slow(step)), "{sql}\n{steps:#?}");
    }
}

#[test]
fn search_uses_indexes() {
    let connection = tables();
    for (sql, index) in [
        (search::OF_ALL, "SEARCH c USING INDEX idx_conversations_activity ("),
        (search::OF_USER, "SEARCH c USING INDEX idx_conversations_user (user_id=? AND "),
        (search::MATCHING_MESSAGES, "SEARCH messages USING "),
    ] {
        let steps = plan(&connection, sql);
        assert!(steps[0].starts_with(index) && !steps.iter().any(|step| is_slow(step)), "{sql}\n{steps:#?}");
    }
}

#[test]
fn first_page_and_pending_use_indexes() {
    let connection = tables();
    let first = plan(&connection, FIRST);
    assert_eq!(first, ["SCAN conversations USING INDEX idx_conversations_activity"]);
    // Scans all pending messages to find the oldest, and nothing else.
    let waiting = plan(&connection, messages::WITH_PENDING);
    assert_eq!(waiting[0], "SCAN messages USING INDEX idx_messages_pending");
}

#[test]
fn deleting_a_conversation_uses_indexes() {
    let connection = tables();
    let mut children = connection
        .prepare(
            "SELECT DISTINCT t.name, f.\"table\", f.\"from\" FROM sqlite_schema t, pragma_foreign_key_list(t.name) f
             WHERE t.type = 'table'",
        )
        .unwrap();
    let children = children.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))).unwrap();
    let children: Vec<(String, String, String)> = children.map(Result::unwrap).collect();
    assert!(children.iter().any(|(child, ..)| child == "messages"), "{children:?}");
    for (child, _, column) in children {
        let steps = plan(&connection, &format!("SELECT 1 FROM {child} WHERE {column} = ?1"));
        assert!(!steps.iter().any(|step| is_slow(step)), "{child}.{column}: {steps:?}");
    }
}
