//! Lists come in pages. Whoever wants the next one says where the last ended.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::cursor;
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

    /// The part of a list that is wanted where all of it is at hand, and what to ask for next. Everything is told apart by its
    /// name. As much is given as a page can have, unless somebody says less: most such lists are short.
    pub(crate) fn cut<T>(
        &self,
        mut all: Vec<T>,
        name: impl Fn(&T) -> &str,
    ) -> Result<(Vec<T>, Option<String>), Problem> {
        let limit = if self.limit.is_some() { self.limit()? } else { MOST };
        if let Some(after) = self.after() {
            let [last] = cursor::parts::<1>(after)?;
            let at = all.iter().position(|one| name(one) == last).ok_or_else(|| {
                Problem::bad_request(
                    "bad_cursor",
                    "what the page before ended with is not in the list any more",
                )
                .help("begin again, without `after`")
            })?;
            all.drain(..=at);
        }
        let rest = all.split_off(all.len().min(usize::try_from(limit).unwrap_or(usize::MAX)));
        let next = all.last().filter(|_| !rest.is_empty()).map(|last| cursor::cursor(&[name(last)]));
        Ok((all, next))
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
    fn page_after_page_a_list_is_given_whole_and_once() {
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
    fn a_place_that_is_gone_is_no_place_to_go_on_from() {
        for after in [cursor::cursor(&["n-99"]), "zz".to_owned()] {
            assert_eq!(cut(None, Some(after), 10).unwrap_err().code(), "bad_cursor");
        }
        assert_eq!(cut(Some(0), None, 10).unwrap_err().code(), "bad_limit");
    }
}
