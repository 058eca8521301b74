//! Texts edited at run time: a snapshot of the template and the mutable layers. A value passed to a build, independent
//! of the store.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;

use crate::layer::LayerId;
use crate::text::ContentHash;

/// A stored template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredTemplate {
    /// Its number.
    pub version: u64,
    /// The template itself.
    pub text: Arc<str>,
}

/// The stored text of a mutable layer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredLayer {
    /// Its number.
    pub version: u64,
    /// The text.
    pub text: Arc<str>,
    /// Whether it is a built-in default, in which `{soul}` is replaced. Edited text is used verbatim.
    pub is_default: bool,
}

/// A snapshot of the stored texts. Cheap to compare: equal texts have the same [`identity`](Self::identity).
///
/// ```
/// use std::collections::BTreeMap;
/// use foreword_prompt::layer::LayerId;
/// use foreword_prompt::stored::{StoredLayer, StoredTexts};
///
/// let six = LayerId::parse("6").unwrap();
/// let text = StoredLayer { version: 3, text: "Check the runway first.".into(), is_default: false };
/// let stored = StoredTexts::new("sovereign", None, BTreeMap::from([(six.clone(), text)]));
/// assert_eq!(stored.layer("sovereign", &six).unwrap().version, 3);
/// assert!(stored.layer("another", &six).is_none());
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredTexts {
    blueprint: Arc<str>,
    template: Option<StoredTemplate>,
    layers: BTreeMap<LayerId, StoredLayer>,
    identity: ContentHash,
}

impl StoredTexts {
    /// The template, and the layers of `blueprint`.
    #[must_use]
    pub fn new(
        blueprint: &str,
        template: Option<StoredTemplate>,
        layers: BTreeMap<LayerId, StoredLayer>,
    ) -> Self {
        let identity = identity(blueprint, template.as_ref(), &layers);
        Self { blueprint: blueprint.into(), template, layers, identity }
    }

    /// The snapshot after storing `text` as the template: the next version, unless the text is unchanged.
    ///
    /// ```
    /// use std::collections::BTreeMap;
    /// use foreword_prompt::stored::StoredTexts;
    ///
    /// let stored = StoredTexts::new("template", None, BTreeMap::new()).with_template("Be kind.".into());
    /// let version = |texts: &StoredTexts| texts.template().map(|template| template.version);
    /// assert_eq!(version(&stored), Some(1));
    /// assert_eq!(version(&stored.with_template("Be brief.".into())), Some(2));
    /// assert_eq!(stored.with_template("Be kind.".into()), stored);
    /// ```
    #[must_use]
    pub fn with_template(&self, text: Arc<str>) -> Self {
        let version = match &self.template {
            Some(there) if there.text == text => there.version,
            Some(there) => there.version.saturating_add(1),
            None => 1,
        };
        Self::new(&self.blueprint, Some(StoredTemplate { version, text }), self.layers.clone())
    }

    /// The blueprint its layers belong to.
    #[must_use]
    pub fn blueprint(&self) -> &str {
        &self.blueprint
    }

    /// The template, if one was ever stored.
    #[must_use]
    pub fn template(&self) -> Option<&StoredTemplate> {
        self.template.as_ref()
    }

    /// The text of a layer of `blueprint`, if there is one. Layers of other blueprints are distinct, even with the same
    /// name.
    #[must_use]
    pub fn layer(&self, blueprint: &str, id: &LayerId) -> Option<&StoredLayer> {
        self.layers.get(id).filter(|_| *self.blueprint == *blueprint)
    }

    /// All its layers.
    pub fn layers(&self) -> impl Iterator<Item = (&LayerId, &StoredLayer)> {
        self.layers.iter()
    }

    /// The hash of the snapshot.
    #[must_use]
    pub fn identity(&self) -> ContentHash {
        self.identity
    }
}

fn identity(
    blueprint: &str,
    template: Option<&StoredTemplate>,
    layers: &BTreeMap<LayerId, StoredLayer>,
) -> ContentHash {
    let mut parts = vec![blueprint.to_owned()];
    parts.extend(template.iter().flat_map(|one| ["template".to_owned(), one.version.to_string()]));
    parts.extend(template.map(|one| one.text.to_string()));
    for (id, layer) in layers {
        parts.push(format!("layer {id} v{} {}", layer.version, layer.is_default));
        parts.push(layer.text.to_string());
    }
    ContentHash::of_parts(parts.iter().map(String::as_str))
}

/// The versions of the stored texts a prompt was built from. Excludes files and built-in texts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct StoredVersions {
    /// The template's.
    pub template: Option<u64>,
    /// Each layer's.
    pub layers: BTreeMap<LayerId, u64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stored(template: Option<(u64, &str)>, layers: &[(&str, u64, &str)]) -> StoredTexts {
        let template = template.map(|(version, text)| StoredTemplate { version, text: text.into() });
        let layer = |(id, version, text): &(&str, u64, &str)| {
            let layer = StoredLayer { version: *version, text: (*text).into(), is_default: false };
            (LayerId::parse(id).unwrap(), layer)
        };
        StoredTexts::new("mine", template, layers.iter().map(layer).collect())
    }

    #[test]
    fn identity_changes_with_any_text() {
        let all = [
            stored(None, &[]),
            stored(Some((1, "a")), &[]),
            stored(Some((2, "a")), &[]),
            stored(Some((1, "b")), &[]),
            stored(None, &[("6", 1, "a")]),
            stored(None, &[("6", 2, "a")]),
            stored(None, &[("7", 1, "a")]),
            stored(Some((1, "a")), &[("6", 1, "a")]),
        ];
        for (i, one) in all.iter().enumerate() {
            for (j, other) in all.iter().enumerate() {
                assert_eq!(one.identity() == other.identity(), i == j, "{one:?} {other:?}");
            }
        }
        assert_eq!(stored(None, &[("6", 1, "a")]).identity(), all[4].identity());
    }
}
