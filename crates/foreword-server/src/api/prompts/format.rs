//! The schema of a prompt response, which depends on the query.

use std::borrow::Cow;

use utoipa::openapi::schema::{AnyOfBuilder, ObjectBuilder};
use utoipa::openapi::{Ref, RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

/// A prompt, the owner's view of one, or the start of a provider's request.
pub(super) struct PromptInFormat;

impl PartialSchema for PromptInFormat {
    fn schema() -> RefOr<Schema> {
        let forms = ["BuiltPrompt", "ExplainedPrompt"].map(Ref::from_schema_name);
        let any = forms.into_iter().fold(AnyOfBuilder::new(), |any, form| any.item(form));
        let any = any.item(ObjectBuilder::new().description(Some("See the provider's documentation.")));
        RefOr::T(any.build().into())
    }
}

impl ToSchema for PromptInFormat {
    fn name() -> Cow<'static, str> {
        "PromptInFormat".into()
    }
}
