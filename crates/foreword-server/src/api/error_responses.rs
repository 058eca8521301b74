//! The error responses that routes have in common, for the OpenAPI document.

use std::collections::BTreeMap;

use utoipa::IntoResponses;
use utoipa::openapi::{ContentBuilder, Ref, RefOr, Response, ResponseBuilder};

/// Errors of every route that needs a token.
pub(crate) struct CommonErrors;
/// Errors of routes of a single resource.
pub(crate) struct NotFoundError;
/// Errors of routes with a request body.
pub(crate) struct BodyErrors;

impl IntoResponses for CommonErrors {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        problems(&[
            ("400", "Malformed request."),
            ("401", "Missing, invalid, expired or revoked token."),
            ("403", "The token or its user is not permitted."),
            ("429", "The token's limits are exceeded."),
            ("503", "Temporarily unavailable; try again."),
        ])
    }
}

impl IntoResponses for NotFoundError {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        problems(&[("404", "Does not exist, or the caller may not see it.")])
    }
}

impl IntoResponses for BodyErrors {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        problems(&[
            ("409", "Conflicts with the current state."),
            ("413", "The body, or a field in it, is too long."),
            ("415", "The `Content-Type` is not JSON."),
            ("422", "The JSON does not match the schema."),
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
