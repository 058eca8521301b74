//! Reads runs and their steps.

use foreword_core::id::RunId;

use super::{RunFilter, WorkflowRun, WorkflowStepRecord, lease};
use crate::engine::{Access, Operation, Row, Transaction, values};
use crate::error::StoreError;

pub(super) struct Get(pub(super) RunId);

impl Operation for Get {
    type Output = (WorkflowRun, Vec<WorkflowStepRecord>);
    const ACCESS: Access = Access::Read;

    async fn run(&self, sql: &mut Transaction<'_>) -> Result<Self::Output, StoreError> {
        let select =
            "SELECT id, workflow, parameters, state, conversation_id, started_by, holder, output, error,
                started_at, ended_at, occasion, workflow_hash, tainted
            FROM workflow_runs WHERE id = ?1";
        let row =
            sql.query_optional(select, values![&self.0]).await?.ok_or_else(|| lease::missing(&self.0))?;
        let select =
            "SELECT number, name, output, error, started_at, ended_at, attempts, side_effects, definition
            FROM workflow_steps WHERE run_id = ?1 ORDER BY number";
        let steps = sql.query(select, values![&self.0]).await?;
        Ok((run(&row)?, steps.iter().map(step).collect::<Result<_, _>>()?))
    }
}

pub(super) struct List {
    pub(super) filter: RunFilter,
    pub(super) limit: u32,
}

impl Operation for List {
    type Output = Vec<WorkflowRun>;
    const ACCESS: Access = Access::Read;

    async fn run(&self, sql: &mut Transaction<'_>) -> Result<Vec<WorkflowRun>, StoreError> {
        let select =
            "SELECT id, workflow, parameters, state, conversation_id, started_by, holder, output, error,
                started_at, ended_at, occasion, workflow_hash, tainted
            FROM workflow_runs
            WHERE (CAST(?1 AS TEXT) IS NULL OR workflow = ?1)
                AND (CAST(?2 AS TEXT) IS NULL OR (started_at, id) < (?2, ?3))
                AND (CAST(?4 AS TEXT) IS NULL OR started_by = ?4)
            ORDER BY started_at DESC, id DESC LIMIT ?5";
        let (at, id) = self.filter.before.as_ref().map(|(at, id)| (*at, id)).unzip();
        let values =
            values![self.filter.workflow.as_deref(), at, id, self.filter.started_by.as_deref(), self.limit];
        sql.query(select, values).await?.iter().map(run).collect()
    }
}

/// The number of a run's columns.
pub(super) const COLUMNS: usize = 14;

/// Reads a run from a row that begins with the columns of [`Get`].
pub(super) fn run(row: &Row) -> Result<WorkflowRun, StoreError> {
    Ok(WorkflowRun {
        id: row.parse(0)?,
        workflow: row.get(1)?,
        parameters: row.json(2)?,
        state: row.parse(3)?,
        conversation: row.parse_optional(4)?,
        started_by: row.get(5)?,
        holder: row.parse(6)?,
        output: json_optional(row, 7)?,
        error: row.get::<Option<String>>(8)?.map(Into::into),
        started_at: row.parse(9)?,
        ended_at: row.parse_optional(10)?,
        occasion: json_optional(row, 11)?,
        workflow_hash: row.parse_optional(12)?,
        tainted: row.get(13)?,
    })
}

fn step(row: &Row) -> Result<WorkflowStepRecord, StoreError> {
    Ok(WorkflowStepRecord {
        number: row.get(0)?,
        name: row.get(1)?,
        output: json_optional(row, 2)?,
        error: row.get::<Option<String>>(3)?.map(Into::into),
        started_at: row.parse(4)?,
        ended_at: row.parse_optional(5)?,
        attempts: row.get(6)?,
        side_effects: row.get(7)?,
        definition: row.parse_optional(8)?,
    })
}

fn json_optional(row: &Row, column: usize) -> Result<Option<serde_json::Value>, StoreError> {
    match row.get::<Option<String>>(column)? {
        Some(_) => row.json(column).map(Some),
        None => Ok(None),
    }
}
