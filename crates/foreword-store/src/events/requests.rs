//! Finds the trace of a proxied request by the request id that its client received.

use foreword_core::event::TraceId;
use serde_json::Value;

use crate::engine::{Access, Operation, Transaction, values};
use crate::error::StoreError;
use crate::store::Store;

/// The maximum number of log entries compared: clients may send their own ids, and reuse them.
const MAX_CANDIDATES: u32 = 20;

impl Store {
    /// The trace of the newest proxied request with this id, or `None`. Scans the calls in the log, which is fine for
    /// single lookups.
    pub async fn request_trace(&self, request: &str) -> Result<Option<TraceId>, StoreError> {
        self.run(OfRequest(request.to_owned())).await
    }
}

struct OfRequest(String);

impl Operation for OfRequest {
    type Output = Option<TraceId>;
    const ACCESS: Access = Access::Read;

    async fn run(&self, sql: &mut Transaction<'_>) -> Result<Option<TraceId>, StoreError> {
        let select = "SELECT trace_id, metadata FROM events
            WHERE event_type IN ('api_call', 'api_error') AND trace_id IS NOT NULL AND substr(trace_id, 17) = ?1
            ORDER BY timestamp DESC, id DESC LIMIT ?2";
        let rows = sql.query(select, values![TraceId::name_digits(&self.0), MAX_CANDIDATES]).await?;
        for row in &rows {
            // The trace id holds only half a hash, so the full id is compared.
            let metadata: Value = row.json(1)?;
            if metadata["requestId"].as_str() == Some(&self.0) {
                return row.parse(0).map(Some);
            }
        }
        Ok(None)
    }
}
