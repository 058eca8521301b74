//! Both engines have the same tables and columns, as the shared SQL requires.

use std::collections::BTreeSet;

use super::server::{open, within};
use crate::contract::{create_database, drop_database, now, server_under_test};
use foreword_store::location::Location;
use foreword_store::store::Store;

/// `table.column kind nullable`.
type Columns = BTreeSet<String>;

async fn on_postgres(database: &str) -> Columns {
    let (client, connection) = tokio_postgres::connect(database, tokio_postgres::NoTls).await.unwrap();
    tokio::spawn(connection);
    let select = "SELECT table_name, column_name, data_type, is_nullable FROM information_schema.columns
         WHERE table_schema = 'public' AND table_name <> 'write_marks'";
    let rows = client.query(select, &[]).await.unwrap();
    let column = |row: &tokio_postgres::Row| {
        let [table, column, kind, nullable]: [String; 4] = [row.get(0), row.get(1), row.get(2), row.get(3)];
        let kind = match kind.as_str() {
            "text" => "TEXT",
            "bigint" => "INTEGER",
            "double precision" => "REAL",
            other => panic!("{table}.{column} is {other}, which SQLite has nothing like"),
        };
        format!("{table}.{column} {kind} {nullable}")
    };
    rows.iter().map(column).collect()
}

fn on_sqlite(path: &std::path::Path) -> Columns {
    let connection = rusqlite::Connection::open(path).unwrap();
    let select = "SELECT m.name, p.name, p.type, p.\"notnull\" OR p.pk > 0
         FROM sqlite_schema m, pragma_table_info(m.name) p WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite_%'";
    let mut statement = connection.prepare(select).unwrap();
    let columns = statement.query_map([], |row| {
        let (table, column, kind): (String, String, String) = (row.get(0)?, row.get(1)?, row.get(2)?);
        let nullable = if row.get::<_, bool>(3)? { "NO" } else { "YES" };
        Ok(format!("{table}.{column} {kind} {nullable}"))
    });
    columns.unwrap().collect::<Result<_, _>>().unwrap()
}

#[test]
fn both_engines_have_the_same_tables_and_columns() {
    let Some(server) = server_under_test() else { return };
    within(60, async {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("foreword.db");
        Store::open(&Location::file(&file), now()).await.unwrap();
        let database = create_database(&server).await;
        open(&database).await.unwrap();
        let (sqlite, postgres) = (on_sqlite(&file), on_postgres(&database).await);
        drop_database(&server, &database).await;
        let difference: Vec<&String> = sqlite.symmetric_difference(&postgres).collect();
        assert!(difference.is_empty(), "only on one engine: {difference:#?}");
        assert!(sqlite.len() > 30);
    });
}
