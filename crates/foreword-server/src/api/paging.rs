//! Lists come in pages. Whoever wants the next one says where the last ended.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::problem::Problem;

/// How many things a page has, unless somebody says it.
const USUAL: u64 = 50;
/// And at most.
const MOST: u64 = 500;

/// The most characters that are looked for.
const MOST_SOUGHT: usize = 200;

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

/// What somebody looks for in a list.
#[derive(Debug, Clone, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct SearchQuery {
    /// Only what holds these words, whatever their case; 200 characters at most.
    #[param(max_length = 200)]
    q: Option<String>,
}

impl SearchQuery {
    /// The words, if there are any.
    pub(crate) fn words(&self) -> Result<Option<&str>, Problem> {
        let words = self.q.as_deref().map(str::trim).filter(|words| !words.is_empty());
        match words.map_or(0, |words| words.chars().count()) {
            count if count > MOST_SOUGHT => {
                let detail = format!("`q` has {count} characters, {MOST_SOUGHT} are allowed");
                Err(Problem::bad_request("bad_query", detail).help("look for less"))
            }
            _ => Ok(words),
        }
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
