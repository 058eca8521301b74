//! Pagination of lists.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::cursor;
use crate::problem::Problem;

const DEFAULT_LIMIT: u64 = 50;
const MAX_LIMIT: u64 = 500;

const MAX_QUERY_CHARS: usize = 200;

/// Pagination parameters.
#[derive(Debug, Clone, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct PageQuery {
    /// The maximum number of items, up to 500. Default: 50.
    #[param(minimum = 1, maximum = 500)]
    limit: Option<u64>,
    /// The cursor: `next` of the previous page.
    after: Option<String>,
}

impl PageQuery {
    /// The maximum number of items.
    pub(crate) fn limit(&self) -> Result<u64, Problem> {
        match self.limit {
            None => Ok(DEFAULT_LIMIT),
            Some(limit) if (1..=MAX_LIMIT).contains(&limit) => Ok(limit),
            Some(limit) => {
                let detail = format!("`limit` is {limit}, but must be from 1 to {MAX_LIMIT}");
                Err(Problem::bad_request("bad_limit", detail))
            }
        }
    }

    /// Returns a page of a complete list, and the next cursor. Items are identified by `name`. Without a limit the page
    /// has the maximum size, since such lists are usually short.
    pub(crate) fn cut<T>(
        &self,
        mut all: Vec<T>,
        name: impl Fn(&T) -> &str,
    ) -> Result<(Vec<T>, Option<String>), Problem> {
        let limit = if self.limit.is_some() { self.limit()? } else { MAX_LIMIT };
        if let Some(after) = self.after() {
            let [last] = cursor::parts::<1>(after)?;
            let at = all.iter().position(|one| name(one) == last).ok_or_else(|| {
                Problem::bad_request(
                    "bad_cursor",
                    "the last item of the previous page is no longer in the list",
                )
                .help("start again without `after`")
            })?;
            all.drain(..=at);
        }
        let rest = all.split_off(all.len().min(usize::try_from(limit).unwrap_or(usize::MAX)));
        let next = all.last().filter(|_| !rest.is_empty()).map(|last| cursor::cursor(&[name(last)]));
        Ok((all, next))
    }

    /// The cursor.
    pub(crate) fn after(&self) -> Option<&str> {
        self.after.as_deref().filter(|after| !after.is_empty())
    }
}

/// Search parameters.
#[derive(Debug, Clone, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct SearchQuery {
    /// Only items that contain this text, ignoring case; at most 200 characters.
    #[param(max_length = 200)]
    q: Option<String>,
}

impl SearchQuery {
    /// The search text, if any.
    pub(crate) fn text(&self) -> Result<Option<&str>, Problem> {
        let words = self.q.as_deref().map(str::trim).filter(|words| !words.is_empty());
        match words.map_or(0, |words| words.chars().count()) {
            count if count > MAX_QUERY_CHARS => {
                let detail = format!("`q` has {count} characters, but the maximum is {MAX_QUERY_CHARS}");
                Err(Problem::bad_request("bad_query", detail).help("shorten the query"))
            }
            _ => Ok(words),
        }
    }
}

/// A page of a list.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct Page<T> {
    /// The items.
    pub(crate) items: Vec<T>,
    /// The cursor of the next page; `null` on the last one.
    pub(crate) next: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(
        limit: Option<u64>,
        after: Option<String>,
        count: usize,
    ) -> Result<(Vec<String>, Option<String>), Problem> {
        let all = (0..count).map(|number| format!("n-{number}")).collect();
        PageQuery { limit, after }.cut(all, String::as_str)
    }

    #[test]
    fn pages_cover_a_list_exactly_once() {
        for limit in [1, 3, 7, 10, 500] {
            let (mut all, mut after) = (Vec::new(), None);
            loop {
                let (page, next) = cut(Some(limit), after, 10).unwrap();
                all.extend(page);
                match next {
                    Some(_) => after = next,
                    None => break,
                }
            }
            assert_eq!(all, cut(None, None, 10).unwrap().0, "{limit}");
        }
        assert_eq!(cut(None, None, 600).unwrap().0.len(), 500);
        assert_eq!(cut(None, None, 0).unwrap(), (vec![], None));
    }

    #[test]
    fn unknown_cursor_is_refused() {
        for after in [cursor::cursor(&["n-99"]), "zz".to_owned()] {
            assert_eq!(cut(None, Some(after), 10).unwrap_err().code(), "bad_cursor");
        }
        assert_eq!(cut(Some(0), None, 10).unwrap_err().code(), "bad_limit");
    }
}
