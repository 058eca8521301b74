//! Decides which layers enter a prompt, before anything is read: by trust, and then by expanding layers into files.
//! Never renders text; see [`crate::assemble`].

use std::sync::Arc;

use crate::blueprint::Blueprint;
use crate::content::fill;
use crate::file_rules::{FileRequirement, required_trust};
use crate::layer::{FileSource, Layer, Source, Stability};
use crate::trust::{Trust, TrustDecision};

/// The configured trust of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileRule {
    /// The path below the workspace, or below the user's folder.
    pub path: String,
    /// Who may see it.
    pub trust: Trust,
    /// Whether each user has their own.
    pub per_user: bool,
}

/// A layer that is not in the prompt, with the reason. For the owner only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// The layer.
    pub layer: Arc<Layer>,
    /// Why.
    pub reason: String,
}

/// The input of a plan.
#[derive(Debug, Clone, Copy)]
pub struct PlanFor<'a> {
    /// The trust decision.
    pub trust: TrustDecision,
    /// The configured file rules.
    pub files: &'a [FileRule],
    /// The values of `{name}` in paths and built-in texts: `user`, `family`, `soul` …
    pub fills: &'a [(&'a str, &'a str)],
    /// The model's context window, if it is known.
    pub window: Option<usize>,
}

impl PlanFor<'_> {
    /// The known user of the plan.
    fn user(&self) -> Option<&str> {
        self.fills.iter().find(|(name, _)| *name == "user").map(|(_, user)| *user)
    }
}

/// The layers of one prompt, included and withheld, in physical order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// The trust decision.
    pub trust: TrustDecision,
    /// The layers this reader may see, frozen ones first.
    pub layers: Vec<Arc<Layer>>,
    /// The layers this reader may not see.
    pub withheld: Vec<LeftOut>,
    /// Layers without content on this occasion.
    pub absent: Vec<LeftOut>,
    /// The separator between two layers.
    pub separator: Arc<str>,
    /// Whether this is the compact form.
    pub compact: bool,
}

impl Plan {
    /// The plan of `blueprint` for an occasion.
    ///
    /// ```
    /// use foreword_prompt::blueprint::builtin;
    /// use foreword_prompt::plan::{Plan, PlanFor};
    /// use foreword_prompt::trust::{Trust, TrustDecision};
    ///
    /// let gateway = builtin::blueprint("gateway").unwrap();
    /// let stranger = TrustDecision::new(Trust::Public, Trust::Full);
    /// let plan = Plan::new(&gateway, PlanFor { trust: stranger, files: &[], fills: &[], window: None });
    /// assert!(plan.layers.iter().all(|layer| layer.id.as_str() != "soul"));
    /// ```
    #[must_use]
    pub fn new(blueprint: &Blueprint, wanted: PlanFor<'_>) -> Self {
        let mut plan = Self {
            trust: wanted.trust,
            layers: Vec::new(),
            withheld: Vec::new(),
            absent: Vec::new(),
            separator: Arc::clone(&blueprint.separator),
            compact: blueprint.is_compact_for(wanted.window),
        };
        for layer in &blueprint.layers {
            for concrete in concrete_layers(layer, &wanted) {
                plan.admit(concrete, &wanted);
            }
        }
        if blueprint.allow_cache_unsafe {
            // Keep the author's order; only turn layers are moved to the end.
            plan.layers.sort_by_key(|layer| layer.stability == Stability::Turn);
        } else {
            plan.layers.sort_by_key(|layer| layer.stability);
        }
        plan
    }

    fn admit(&mut self, mut layer: Layer, wanted: &PlanFor<'_>) {
        if let (true, Some(line)) = (self.compact, layer.compact.clone()) {
            layer.source = Source::Text(fill(&line, wanted.fills).into());
        }
        match fill_source(&layer.source, wanted.fills) {
            Ok(Some(source)) => layer.source = source,
            Ok(None) => {}
            Err(missing) => {
                let reason = format!("there is no `{missing}` on this occasion");
                self.absent.push(LeftOut { layer: Arc::new(layer), reason });
                return;
            }
        }
        let trust = wanted.trust.effective();
        let withheld = match &layer.source {
            Source::File(file) => match required_trust(&file.path, wanted.user(), wanted.files) {
                FileRequirement::Trust(needed) => {
                    layer.trust = layer.trust.stricter(needed);
                    None
                }
                FileRequirement::Never => Some(format!("`{}` is not for this person", file.path)),
                FileRequirement::NoRule => {
                    layer.trust = layer.trust.stricter(file.unlisted);
                    None
                }
            },
            _ => None,
        };
        let above = || format!("needs `{}`, this is `{trust}`", layer.trust);
        match withheld.or_else(|| (!trust.permits(layer.trust)).then(above)) {
            Some(reason) => self.withheld.push(LeftOut { layer: Arc::new(layer), reason }),
            None => self.layers.push(Arc::new(layer)),
        }
    }
}

/// The layer itself, or one layer per file.
fn concrete_layers(layer: &Layer, wanted: &PlanFor<'_>) -> Vec<Layer> {
    let Source::Files(selection) = &layer.source else { return vec![layer.clone()] };
    let takes = |rule: &&FileRule| selection.takes(&rule.path, rule.per_user);
    let one_layer = |rule: &FileRule| {
        let path = if rule.per_user { format!("users/{{user}}/{}", rule.path) } else { rule.path.clone() };
        Layer {
            id: layer.id.for_file(&rule.path),
            title: rule.path.clone(),
            heading: Some(layer.heading.clone().unwrap_or_else(|| format!("## {}", rule.path))),
            source: Source::File(FileSource { path, required: false, unlisted: rule.trust, builtin: None }),
            ..layer.clone()
        }
    };
    wanted.files.iter().filter(takes).map(one_layer).collect()
}

/// The source with its placeholders replaced, or the first placeholder without a value.
fn fill_source(source: &Source, fills: &[(&str, &str)]) -> Result<Option<Source>, String> {
    let filled = |text: &str| {
        let out = fill(text, fills);
        match unfilled(text, fills) {
            Some(missing) => Err(missing),
            None => Ok(out),
        }
    };
    match source {
        Source::File(file) => Ok(Some(Source::File(FileSource {
            path: filled(&file.path)?,
            required: file.required,
            unlisted: file.unlisted,
            builtin: file.builtin.as_deref().map(filled).transpose()?,
        }))),
        Source::Builtin { name, active_skills } => {
            Ok(Some(Source::Builtin { name: filled(name)?, active_skills: *active_skills }))
        }
        _ => Ok(None),
    }
}

/// The first `{placeholder}` of `text` that `fills` has no value for.
fn unfilled(text: &str, fills: &[(&str, &str)]) -> Option<String> {
    let mut rest = text;
    while let Some((_, after)) = rest.split_once('{') {
        let (name, tail) = after.split_once('}')?;
        if !fills.iter().any(|(known, _)| *known == name) {
            return Some(name.to_owned());
        }
        rest = tail;
    }
    None
}
