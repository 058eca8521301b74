//! Lists come in pages. Whoever wants the next one says where the last ended.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::problem::Problem;

/// How many things a page has, unless somebody says it.
const USUAL: u64 = 50;
/// And at most.
const MOST: u64 = 500;

/// Which page is wanted.
#[derive(Debug, Clone, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct PageQuery {
    /// How many things, 500 at most. Default: 50.
    #[param(minimum = 1, maximum = 500)]
    limit: Option<u64>,
    /// Where the last page ended: its `next`.
    after: Option<String>,
}

impl PageQuery {
    /// How many things to give.
    pub(crate) fn limit(&self) -> Result<u64, Problem> {
        match self.limit {
            None => Ok(USUAL),
            Some(limit) if (1..=MOST).contains(&limit) => Ok(limit),
            Some(limit) => {
                let detail = format!("`limit` is {limit}, a page has 1 to {MOST} things");
                Err(Problem::bad_request("bad_limit", detail))
            }
        }
    }

    /// What was said last time.
    pub(crate) fn after(&self) -> Option<&str> {
        self.after.as_deref().filter(|after| !after.is_empty())
    }
}

/// One page of a list.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct Page<T> {
    /// The things.
    pub(crate) items: Vec<T>,
    /// What to ask for `after` to get the next page; `null` if there is none.
    pub(crate) next: Option<String>,
}
