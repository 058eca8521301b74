//! The tables and columns, for operations on all tables. Read from the migrations, so there is no second list to
//! maintain. Both engines use the same names; a test compares them.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use rusqlite::Connection;

use crate::engine::sqlite::connection::make_tables;
use crate::engine::{Row, Transaction};
use crate::error::StoreError;

/// How many rows are held in memory at a time.
const PAGE_ROWS: usize = 200;

/// Time columns whose names do not end in `_at`.
const TIMES: [&str; 3] = ["timestamp", "first_seen", "last_activity"];

/// All tables except the one of migrations, ordered so that referenced tables come first.
#[derive(Debug)]
pub(crate) struct Schema {
    pub(crate) tables: Vec<Table>,
    /// The table of migrations.
    pub(crate) versions: Table,
}

/// A table and its generated statements.
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) name: String,
    pub(crate) columns: Vec<Column>,
    /// The tables it references.
    pub(crate) refers_to: Vec<String>,
    /// Counts its rows.
    pub(crate) count: String,
    /// Inserts a row with all columns, without `VALUES`.
    pub(crate) insert: String,
    /// Reads all columns.
    pub(crate) all: Pages,
    /// Reads the columns that have a format rule, if there are any.
    pub(crate) ruled: Option<Pages>,
    /// On Postgres: advances the sequence beyond the highest id.
    pub(crate) renumber: Option<String>,
}

/// Statements that read a table page by page: the key columns first, then the others.
#[derive(Debug)]
pub(crate) struct Pages {
    pub(crate) first: String,
    /// Takes the key of the last row.
    pub(crate) next: String,
    /// The number of key columns.
    pub(crate) key: usize,
    /// The selected columns, as indexes into [`Table::columns`].
    pub(crate) columns: Vec<usize>,
}

impl Pages {
    /// The page after the row `last`, or the first one. An empty page is the end.
    pub(crate) async fn behind(
        &'static self,
        sql: &mut Transaction<'_>,
        last: Option<&Row>,
    ) -> Result<Vec<Row>, StoreError> {
        match last {
            Some(row) => sql.query(&self.next, &row.0[..self.key]).await,
            None => sql.query(&self.first, &[]).await,
        }
    }
}

#[derive(Debug)]
pub(crate) struct Column {
    pub(crate) name: String,
    pub(crate) rule: Option<Rule>,
    /// Its position in the key from 1, or 0.
    key: u32,
    whole_number: bool,
}

/// The format rule of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rule {
    /// JSON, as the migration's comment says.
    Json,
    /// A time, by its name.
    Time,
    /// A text whose hash is in the column `hash`.
    Hashed,
    /// The hash of the previous column.
    Hash,
}

/// The schema of this program.
pub(crate) fn schema() -> Result<&'static Schema, StoreError> {
    static SCHEMA: LazyLock<Result<Schema, StoreError>> = LazyLock::new(|| {
        let failed = |error: rusqlite::Error| StoreError::Engine {
            place: "the schema in memory".to_owned(),
            reason: error.to_string().into(),
        };
        let connection = Connection::open_in_memory().map_err(failed)?;
        make_tables(&connection).and_then(|()| read(&connection)).map_err(failed)
    });
    SCHEMA.as_ref().map_err(Clone::clone)
}

fn read(connection: &Connection) -> rusqlite::Result<Schema> {
    let select =
        "SELECT name, sql FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite!_%' ESCAPE '!'
                  ORDER BY name";
    let mut tables = BTreeMap::new();
    for row in connection.prepare(select)?.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))? {
        let (name, sql): (String, String) = row?;
        tables.insert(name.clone(), table(connection, name, &sql)?);
    }
    let versions = tables.remove("schema_migrations").ok_or(rusqlite::Error::QueryReturnedNoRows)?;
    Ok(Schema { tables: in_order(tables), versions })
}

/// Sorts tables topologically. Those in a reference cycle come last.
fn in_order(mut waiting: BTreeMap<String, Table>) -> Vec<Table> {
    let mut ordered: Vec<Table> = Vec::new();
    loop {
        let known = |name: &String| ordered.iter().any(|table| table.name == *name);
        let ready = |table: &Table| table.refers_to.iter().all(|name| *name == table.name || known(name));
        let next = waiting.values().find(|table| ready(table)).map(|table| table.name.clone());
        match next.and_then(|name| waiting.remove(&name)) {
            Some(table) => ordered.push(table),
            None => break,
        }
    }
    ordered.extend(waiting.into_values());
    ordered
}

fn table(connection: &Connection, name: String, sql: &str) -> rusqlite::Result<Table> {
    let columns = columns(connection, &name, sql)?;
    let select = "SELECT DISTINCT \"table\" FROM pragma_foreign_key_list(?1)";
    let refers_to =
        connection.prepare(select)?.query_map([&name], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
    let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
    let everything: Vec<usize> = (0..columns.len()).collect();
    let ruled: Vec<usize> = (0..columns.len()).filter(|place| columns[*place].rule.is_some()).collect();
    Ok(Table {
        count: format!("SELECT COUNT(*) FROM {name}"),
        insert: format!("INSERT INTO {name} ({})", names.join(", ")),
        all: pages(&name, &columns, everything),
        ruled: (!ruled.is_empty()).then(|| pages(&name, &columns, ruled)),
        renumber: renumber(&name, &columns),
        refers_to,
        columns,
        name,
    })
}

fn columns(connection: &Connection, table: &str, sql: &str) -> rusqlite::Result<Vec<Column>> {
    let select = "SELECT name, type, pk FROM pragma_table_info(?1) ORDER BY cid";
    let mut statement = connection.prepare(select)?;
    let read = |row: &rusqlite::Row<'_>| {
        let (name, kind, key): (String, String, u32) = (row.get(0)?, row.get(1)?, row.get(2)?);
        let rule = if is_json(sql, &name) {
            Some(Rule::Json)
        } else if name.ends_with("_at") || TIMES.contains(&name.as_str()) {
            Some(Rule::Time)
        } else {
            None
        };
        Ok(Column { rule, key, whole_number: kind == "INTEGER", name })
    };
    let mut columns = statement.query_map([table], read)?.collect::<rusqlite::Result<Vec<_>>>()?;
    let place = |wanted: &[&str]| columns.iter().position(|column| wanted.contains(&column.name.as_str()));
    if let (Some(hash), Some(text)) = (place(&["hash"]), place(&["text", "content"])) {
        columns[hash].rule = Some(Rule::Hash);
        columns[text].rule = Some(Rule::Hashed);
    }
    Ok(columns)
}

/// Whether the migration has the comment `-- JSON` after the column.
fn is_json(sql: &str, column: &str) -> bool {
    sql.lines().any(|line| {
        line.split_whitespace().next() == Some(column)
            && line.split_once("--").is_some_and(|(_, comment)| comment.trim_start().starts_with("JSON"))
    })
}

fn key(columns: &[Column]) -> Vec<&str> {
    let mut key: Vec<&Column> = columns.iter().filter(|column| column.key > 0).collect();
    key.sort_by_key(|column| column.key);
    key.into_iter().map(|column| column.name.as_str()).collect()
}

fn pages(table: &str, columns: &[Column], wanted: Vec<usize>) -> Pages {
    let key = key(columns);
    let marks: Vec<String> = (1..=key.len()).map(|number| format!("?{number}")).collect();
    let selected: Vec<&str> =
        key.iter().copied().chain(wanted.iter().map(|place| columns[*place].name.as_str())).collect();
    let select = format!("SELECT {} FROM {table}", selected.join(", "));
    let (names, marks) = (key.join(", "), marks.join(", "));
    Pages {
        first: format!("{select} ORDER BY {names} LIMIT {PAGE_ROWS}"),
        next: format!("{select} WHERE ({names}) > ({marks}) ORDER BY {names} LIMIT {PAGE_ROWS}"),
        key: key.len(),
        columns: wanted,
    }
}

/// `None` if the database does not generate the ids.
fn renumber(table: &str, columns: &[Column]) -> Option<String> {
    let numbered = columns.iter().find(|column| column.key > 0 && column.whole_number)?;
    let (one, column) = (key(columns).len() == 1, &numbered.name);
    one.then(|| {
        format!(
            "SELECT CAST(setval(pg_get_serial_sequence('{table}', '{column}'), \
             GREATEST(COALESCE(MAX({column}), 1), 1), MAX({column}) IS NOT NULL) AS BIGINT) FROM {table}"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(name: &str) -> &'static Table {
        schema().unwrap().tables.iter().find(|table| table.name == name).unwrap()
    }

    #[test]
    fn tables_have_keys_and_follow_their_references() {
        let tables = &schema().unwrap().tables;
        for (place, table) in tables.iter().enumerate() {
            assert!(table.all.key > 0, "`{}` has no primary key", table.name);
            for other in &table.refers_to {
                let found = tables[..place].iter().any(|earlier| earlier.name == *other);
                assert!(found, "`{}` refers to `{other}`, itself or in a circle", table.name);
            }
        }
    }

    #[test]
    fn column_rules_come_from_the_migrations() {
        let rules = |name: &str| -> Vec<(&str, Rule)> {
            find(name).columns.iter().filter_map(|c| Some((c.name.as_str(), c.rule?))).collect()
        };
        assert_eq!(rules("texts"), [("hash", Rule::Hash), ("text", Rule::Hashed)]);
        assert_eq!(
            rules("epochs"),
            [
                ("dependencies", Rule::Json),
                ("blocks", Rule::Json),
                ("layers", Rule::Json),
                ("layer_versions", Rule::Json),
                ("reason", Rule::Json),
                ("opened_at", Rule::Time)
            ]
        );
        assert_eq!(
            rules("templates"),
            [("text", Rule::Hashed), ("hash", Rule::Hash), ("created_at", Rule::Time)]
        );
        assert!(rules("messages").contains(&("content", Rule::Json)));
    }

    #[test]
    fn tables_are_read_in_key_order() {
        let pages = find("turn_steps").ruled.as_ref().unwrap();
        assert_eq!(
            pages.next,
            "SELECT turn_id, number, data, created_at FROM turn_steps WHERE (turn_id, number) > (?1, ?2) \
             ORDER BY turn_id, number LIMIT 200"
        );
    }
}
