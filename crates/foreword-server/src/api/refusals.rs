//! The refusals that routes have in common, for the document.

use std::collections::BTreeMap;

use utoipa::IntoResponses;
use utoipa::openapi::{ContentBuilder, Ref, RefOr, Response, ResponseBuilder};

/// What every route that needs a token may answer.
pub(crate) struct Refusals;
/// What a route for one thing may answer besides.
pub(crate) struct NotThere;
/// What a route that changes something may answer besides.
pub(crate) struct Clashes;

impl IntoResponses for Refusals {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        problems(&[
            ("400", "What was sent makes no sense."),
            ("401", "There is no token, or one that opens nothing."),
            ("403", "This token, or this user, may not."),
            ("429", "Too many requests of this token."),
            ("503", "It can't be done now; try again."),
        ])
    }
}

impl IntoResponses for NotThere {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        problems(&[("404", "There is no such thing, or none that this caller may know of.")])
    }
}

impl IntoResponses for Clashes {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        problems(&[
            ("409", "Something else is in the way."),
            ("413", "The body, or what is in it, is too long."),
            ("415", "The body is not said to be JSON."),
            ("422", "The body is JSON, and not what this route takes."),
        ])
    }
}

fn problems(statuses: &[(&str, &str)]) -> BTreeMap<String, RefOr<Response>> {
    let problem = |(status, words): &(&str, &str)| {
        let content = ContentBuilder::new().schema(Some(Ref::from_schema_name("Problem"))).build();
        let response =
            ResponseBuilder::new().description(*words).content("application/problem+json", content);
        ((*status).to_owned(), RefOr::T(response.build()))
    };
    statuses.iter().map(problem).collect()
}
