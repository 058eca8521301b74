//! A prompt in the form that was asked for, as the document says it: which of them it is stands in the question.

use std::borrow::Cow;

use utoipa::openapi::schema::{AnyOfBuilder, ObjectBuilder};
use utoipa::openapi::{Ref, RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

/// A prompt, the owner's view of one, or the beginning of a provider's request.
pub(super) struct AsAskedFor;

impl PartialSchema for AsAskedFor {
    fn schema() -> RefOr<Schema> {
        let forms = ["BuiltPrompt", "ExplainedPrompt"].map(Ref::from_schema_name);
        let any = forms.into_iter().fold(AnyOfBuilder::new(), |any, form| any.item(form));
        let any =
            any.item(ObjectBuilder::new().description(Some("As the provider's own documentation has it.")));
        RefOr::T(any.build().into())
    }
}

impl ToSchema for AsAskedFor {
    fn name() -> Cow<'static, str> {
        "AsAskedFor".into()
    }
}
