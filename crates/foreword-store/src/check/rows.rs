//! Checks the format of column values. Reports which row is wrong, never its content.

use foreword_core::timestamp::Timestamp;
use foreword_prompt::text::ContentHash;
use serde::de::IgnoredAny;

use super::{Problems, RESTORE};
use crate::engine::{Access, Operation, Row, Transaction, Value};
use crate::error::StoreError;
use crate::schema::{Pages, Rule, Table};
use crate::store::Store;

/// Checks every row of a table that has format rules. `seen` receives the number of rows so far.
pub(super) async fn check(
    store: &Store,
    table: &'static Table,
    problems: &mut Problems,
    seen: impl Fn(u64) + Send + Sync,
) -> Result<(), StoreError> {
    let Some(pages) = &table.ruled else { return Ok(()) };
    let mut last: Option<Row> = None;
    let mut rows = 0;
    loop {
        // One transaction per page, so that the database need not keep an old snapshot for long.
        let page = store.run(Page { pages, last }).await?;
        for row in &page {
            for what in wrong(table, pages, row) {
                problems.add(Some(&table.name), what, RESTORE);
            }
        }
        rows += page.len() as u64;
        seen(rows);
        last = page.into_iter().next_back();
        if last.is_none() {
            return Ok(());
        }
    }
}

struct Page {
    pages: &'static Pages,
    last: Option<Row>,
}

impl Operation for Page {
    type Output = Vec<Row>;
    const ACCESS: Access = Access::Read;

    async fn run(&self, sql: &mut Transaction<'_>) -> Result<Vec<Row>, StoreError> {
        self.pages.behind(sql, self.last.as_ref()).await
    }
}

fn wrong(table: &Table, pages: &Pages, row: &Row) -> Vec<String> {
    let (key, values) = row.0.split_at(pages.key);
    let columns = || pages.columns.iter().map(|place| &table.columns[*place]).zip(values);
    let of_rule = |rule| columns().find(|(column, _)| column.rule == Some(rule)).map(|(_, value)| value);
    let hash = of_rule(Rule::Hash);
    let broken = |rule: Rule, value: &Value| match (rule, value) {
        (_, Value::Null) | (Rule::Hash, _) => None,
        (Rule::Json, Value::Text(text)) => {
            serde_json::from_str::<IgnoredAny>(text).is_err().then_some("is not JSON")
        }
        (Rule::Time, Value::Text(text)) => (!is_time(text)).then_some("is not a time in the stored format"),
        (Rule::Hashed, Value::Text(text)) => {
            let named = Value::Text(ContentHash::of(text).to_string());
            (hash != Some(&named)).then_some("does not match its hash")
        }
        _ => Some("is no text"),
    };
    columns()
        .filter_map(|(column, value)| {
            let what = broken(column.rule?, value)?;
            Some(format!("`{}` of row {} {what}", column.name, name(key)))
        })
        .collect()
}

/// Whether a time has the one format that sorts as text.
fn is_time(text: &str) -> bool {
    text.parse::<Timestamp>().is_ok_and(|at| at.to_string() == text)
}

fn name(key: &[Value]) -> String {
    let parts: Vec<String> = key
        .iter()
        .map(|value| match value {
            Value::Null => "`null`".to_owned(),
            Value::Int(number) => format!("`{number}`"),
            Value::Real(number) => format!("`{number}`"),
            Value::Text(text) => format!("`{text}`"),
        })
        .collect();
    parts.join(", ")
}
