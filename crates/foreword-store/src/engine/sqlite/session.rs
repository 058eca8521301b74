//! A transaction on a SQLite connection.

use std::sync::Arc;

use foreword_core::id::NodeId;
use rusqlite::types::{ToSqlOutput, Value as SqliteValue, ValueRef};
use rusqlite::{Connection, Row as SqliteRow, ToSql, params_from_iter};

use super::file::DatabaseFile;
use crate::changes::StoreChange;
use crate::engine::{Row, Value, value};
use crate::error::StoreError;

/// An open transaction.
#[derive(Debug)]
pub(crate) struct Session<'c> {
    pub(crate) connection: &'c mut Connection,
    pub(crate) place: &'c Arc<DatabaseFile>,
    /// The notifications to send after the commit.
    pub(crate) announced: &'c mut Vec<StoreChange>,
}

impl Session<'_> {
    pub(crate) fn execute(&mut self, sql: &str, values: &[Value]) -> Result<u64, StoreError> {
        value::storable(values)?;
        let run = || self.connection.prepare_cached(sql)?.execute(params_from_iter(values));
        run().map(|rows| rows as u64).map_err(|error| self.place.error(&error))
    }

    pub(crate) fn query(&mut self, sql: &str, values: &[Value]) -> Result<Vec<Row>, StoreError> {
        value::storable(values)?;
        let run = || {
            let mut statement = self.connection.prepare_cached(sql)?;
            let columns = statement.column_count();
            statement
                .query_map(params_from_iter(values), |row| read(row, columns))?
                .collect::<rusqlite::Result<_>>()
        };
        run().map_err(|error| self.place.error(&error))
    }

    pub(crate) fn insert_many(&mut self, insert: &str, rows: &[Vec<Value>]) -> Result<(), StoreError> {
        let Some(first) = rows.first() else { return Ok(()) };
        let marks: Vec<String> = (1..=first.len()).map(|number| format!("?{number}")).collect();
        let sql = format!("{insert} VALUES ({})", marks.join(", "));
        rows.iter().try_for_each(|row| value::storable(row))?;
        let run = || {
            let mut statement = self.connection.prepare_cached(&sql)?;
            rows.iter().try_for_each(|row| statement.execute(params_from_iter(row)).map(|_| ()))
        };
        run().map_err(|error| self.place.error(&error))
    }

    pub(crate) fn is_dead(&self, node: &NodeId) -> bool {
        self.place.node_locks().is_dead(node)
    }
}

impl ToSql for Value {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(match self {
            Self::Null => ToSqlOutput::Owned(SqliteValue::Null),
            Self::Int(number) => ToSqlOutput::Owned(SqliteValue::Integer(*number)),
            Self::Real(number) => ToSqlOutput::Owned(SqliteValue::Real(*number)),
            Self::Text(text) => ToSqlOutput::Borrowed(ValueRef::Text(text.as_bytes())),
        })
    }
}

fn read(row: &SqliteRow<'_>, columns: usize) -> rusqlite::Result<Row> {
    let values = (0..columns).map(|column| {
        Ok(match row.get_ref(column)? {
            ValueRef::Null => Value::Null,
            ValueRef::Integer(number) => Value::Int(number),
            ValueRef::Real(number) => Value::Real(number),
            // Damaged bytes are detected later by the hash or the JSON parser.
            ValueRef::Text(bytes) | ValueRef::Blob(bytes) => Value::Text(match std::str::from_utf8(bytes) {
                Ok(text) => text.to_owned(),
                Err(_) => String::from_utf8_lossy(bytes).into_owned(),
            }),
        })
    });
    values.collect::<rusqlite::Result<_>>().map(Row)
}
