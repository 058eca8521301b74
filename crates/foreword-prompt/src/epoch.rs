//! Epochs: when a frozen prompt may be reused, and why a new epoch opens. A pure decision; the store persists epochs.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::prompt::Frozen;
use crate::text::ContentHash;
use crate::trust::Trust;

/// The hard dependencies of a frozen prompt: a change of one opens a new epoch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HardDependencies {
    /// Who may see it.
    pub trust: Trust,
    /// The agent.
    pub agent: Arc<str>,
    /// The blueprint.
    pub blueprint: Arc<str>,
    /// The working directory.
    pub cwd: Arc<str>,
    /// The names and descriptions of the tools.
    pub tools: ContentHash,
    /// The channel's family.
    pub channel_family: Option<Arc<str>>,
    /// The model's family.
    pub model_family: Arc<str>,
    /// The user whose private texts the prompt contains, if any. Another user of the same trust must not receive it.
    pub personal_to: Option<Arc<str>>,
    /// The session instructions, if the conversation has any.
    #[serde(default)]
    pub session_instructions: Option<ContentHash>,
    /// The values for templates, if the conversation has any.
    #[serde(default)]
    pub context: Option<ContentHash>,
}

/// Everything a frozen prompt was built from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dependencies {
    /// What forces a new epoch.
    pub hard: HardDependencies,
    /// A change is sent to the model as a note and included in the next epoch: the content hash of each text by name.
    pub soft: BTreeMap<Arc<str>, ContentHash>,
}

impl Dependencies {
    /// The dependencies of `frozen`: the given hard ones, and each layer's text as a soft one.
    #[must_use]
    pub fn of(frozen: &Frozen, hard: HardDependencies) -> Self {
        let words = |segment| ContentHash::of(frozen.text_of(segment));
        let soft = frozen.segments.iter().map(|segment| (segment.layer.id.as_str().into(), words(segment)));
        Self { hard, soft: soft.collect() }
    }

    /// Copies the values of unreadable layers from the epoch `current`: a failing source is not a change. `is_unread`
    /// selects these layers; `speaker` is the user the prompt was built for.
    pub fn assume_unread_unchanged(
        &mut self,
        current: &Self,
        speaker: Option<&str>,
        is_unread: impl Fn(&str) -> bool,
    ) {
        let mut any = false;
        for (layer, hash) in current.soft.iter().filter(|(layer, _)| is_unread(layer)) {
            self.soft.insert(Arc::clone(layer), *hash);
            any = true;
        }
        self.soft.retain(|layer, _| !is_unread(layer) || current.soft.contains_key(layer));
        // Without reading the layer it is unknown whether the prompt contains the speaker's private texts. Never assume
        // it for another user: that epoch must not be reused.
        let is_speakers = speaker.is_some() && current.hard.personal_to.as_deref() == speaker;
        if any && is_speakers && self.hard.personal_to.is_none() {
            self.hard.personal_to.clone_from(&current.hard.personal_to);
        }
    }

    /// The hash of all dependencies.
    #[must_use]
    pub fn fingerprint(&self) -> ContentHash {
        let hard = &self.hard;
        let tools = hard.tools.to_string();
        let mut parts = vec![
            hard.trust.as_str().to_owned(),
            hard.agent.to_string(),
            hard.blueprint.to_string(),
            hard.cwd.to_string(),
            tools,
            format!("{:?}", hard.channel_family),
            hard.model_family.to_string(),
            format!("{:?}", hard.personal_to),
        ];
        // Include only set values, so that earlier prompts keep their fingerprint.
        let settings = [("session instructions", hard.session_instructions), ("context", hard.context)];
        for (name, hash) in settings.into_iter().filter_map(|(name, hash)| Some((name, hash?))) {
            parts.push(format!("{name}: {hash}"));
        }
        for (name, hash) in &self.soft {
            parts.push(name.to_string());
            parts.push(hash.to_string());
        }
        ContentHash::of_parts(parts.iter().map(String::as_str))
    }
}

/// A frozen prompt of one conversation at one trust level.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Epoch {
    /// The prompt.
    pub frozen: Arc<Frozen>,
    /// What it was built from.
    pub dependencies: Dependencies,
    /// Why it was opened.
    pub reason: Reason,
}

/// A changed hard dependency.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HardChange {
    /// The name.
    pub what: Arc<str>,
    /// The old value.
    pub from: String,
    /// The new value.
    pub to: String,
}

/// Why a new epoch is opened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// No epoch exists yet.
    FirstTurn,
    /// Compaction replaces the history anyway.
    Compaction,
    /// The frozen prompt must not be seen at the current, lower trust.
    TrustFell {
        /// The old trust.
        from: Trust,
        /// The new trust.
        to: Trust,
    },
    /// Hard dependencies changed.
    Changed(Vec<HardChange>),
    /// The provider's cache has expired, so including changes costs nothing.
    CacheCold,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::FirstTurn => f.write_str("this is the first turn"),
            Self::Compaction => f.write_str("the conversation is compacted"),
            Self::TrustFell { from, to } => write!(f, "trust fell from `{from}` to `{to}`"),
            Self::CacheCold => f.write_str("the provider's cache is cold and there are changes to fold in"),
            Self::Changed(changes) => {
                for (index, change) in changes.iter().enumerate() {
                    let comma = if index == 0 { "" } else { ", " };
                    write!(f, "{comma}{} changed from `{}` to `{}`", change.what, change.from, change.to)?;
                }
                Ok(())
            }
        }
    }
}

/// What can end an epoch in this turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct EpochTriggers {
    /// Whether the history is being compacted.
    pub compacting: bool,
    /// Whether the provider's cache is known to have expired.
    pub cache_cold: bool,
}

/// Whether to reuse an epoch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// Reuse the same bytes; the model receives a note about changed layers.
    Reuse {
        /// The names of changed, added and removed texts.
        drifted: Vec<Arc<str>>,
    },
    /// Open a new epoch.
    Open(Reason),
}

/// Decides whether `current` may be reused for a turn whose prompt would now be built from `now`.
///
/// ```
/// use foreword_prompt::epoch::{decide, EpochTriggers, Decision, Reason};
/// # use foreword_prompt::epoch::{Dependencies, HardDependencies};
/// # use foreword_prompt::{text::ContentHash, trust::Trust};
/// # let now = Dependencies { soft: Default::default(), hard: HardDependencies {
/// #     trust: Trust::Full, agent: "a".into(), blueprint: "b".into(), cwd: "/".into(),
/// #     tools: ContentHash::of(""), channel_family: None, model_family: "claude".into(), personal_to: None,
/// #     session_instructions: None, context: None } };
/// assert_eq!(decide(None, &now, EpochTriggers::default()), Decision::Open(Reason::FirstTurn));
/// ```
#[must_use]
pub fn decide(current: Option<&Dependencies>, now: &Dependencies, triggers: EpochTriggers) -> Decision {
    let Some(current) = current else { return Decision::Open(Reason::FirstTurn) };
    let (from, to) = (current.hard.trust, now.hard.trust);
    if !to.permits(from) {
        return Decision::Open(Reason::TrustFell { from, to });
    }
    let changes = hard_changes(&current.hard, &now.hard);
    if !changes.is_empty() {
        return Decision::Open(Reason::Changed(changes));
    }
    if triggers.compacting {
        return Decision::Open(Reason::Compaction);
    }
    let drifted = drift(&current.soft, &now.soft);
    if triggers.cache_cold && !drifted.is_empty() {
        return Decision::Open(Reason::CacheCold);
    }
    Decision::Reuse { drifted }
}

fn hard_changes(from: &HardDependencies, to: &HardDependencies) -> Vec<HardChange> {
    let word = |word: &Option<Arc<str>>| word.as_deref().unwrap_or("none").to_owned();
    let hash = |hash: Option<ContentHash>| hash.map_or_else(|| "none".to_owned(), |hash| hash.to_string());
    let pairs = [
        ("trust", from.trust.to_string(), to.trust.to_string()),
        ("agent", from.agent.to_string(), to.agent.to_string()),
        ("blueprint", from.blueprint.to_string(), to.blueprint.to_string()),
        ("working directory", from.cwd.to_string(), to.cwd.to_string()),
        ("tool set", from.tools.to_string(), to.tools.to_string()),
        ("channel family", word(&from.channel_family), word(&to.channel_family)),
        ("model family", from.model_family.to_string(), to.model_family.to_string()),
        ("person", word(&from.personal_to), word(&to.personal_to)),
        ("session instructions", hash(from.session_instructions), hash(to.session_instructions)),
        ("context", hash(from.context), hash(to.context)),
    ];
    pairs
        .into_iter()
        .filter(|(_, from, to)| from != to)
        .map(|(what, from, to)| HardChange { what: what.into(), from, to })
        .collect()
}

fn drift(from: &BTreeMap<Arc<str>, ContentHash>, to: &BTreeMap<Arc<str>, ContentHash>) -> Vec<Arc<str>> {
    let changed =
        to.iter().filter(|(name, hash)| from.get(*name) != Some(hash)).map(|(name, _)| Arc::clone(name));
    let gone = from.keys().filter(|name| !to.contains_key(*name)).cloned();
    let mut all: Vec<Arc<str>> = changed.chain(gone).collect();
    all.sort();
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dependencies() -> Dependencies {
        Dependencies {
            hard: HardDependencies {
                trust: Trust::Inner,
                agent: "Assistant".into(),
                blueprint: "gateway".into(),
                cwd: "/home/alice".into(),
                tools: ContentHash::of("tools"),
                channel_family: Some("signal".into()),
                model_family: "claude".into(),
                personal_to: None,
                session_instructions: None,
                context: None,
            },
            soft: [("soul".into(), ContentHash::of("kind"))].into(),
        }
    }

    fn check(change: impl Fn(&mut Dependencies), triggers: EpochTriggers, expected: Decision) {
        let current = dependencies();
        let mut now = dependencies();
        change(&mut now);
        assert_eq!(decide(Some(&current), &now, triggers), expected);
    }

    #[test]
    fn unchanged_inputs_reuse_the_epoch() {
        check(|_| {}, EpochTriggers::default(), Decision::Reuse { drifted: vec![] });
        let cold = EpochTriggers { cache_cold: true, ..EpochTriggers::default() };
        check(|_| {}, cold, Decision::Reuse { drifted: vec![] });
    }

    #[test]
    fn falling_trust_always_opens_a_new_epoch() {
        for triggers in [EpochTriggers::default(), EpochTriggers { compacting: true, cache_cold: true }] {
            let fell = Reason::TrustFell { from: Trust::Inner, to: Trust::Familiar };
            check(|now| now.hard.trust = Trust::Familiar, triggers, Decision::Open(fell));
        }
    }

    #[test]
    fn every_hard_dependency_opens_a_new_named_epoch() {
        type Change = fn(&mut HardDependencies);
        let changes: [(&str, Change); 10] = [
            ("trust", |hard| hard.trust = Trust::Full),
            ("agent", |hard| hard.agent = "Other".into()),
            ("blueprint", |hard| hard.blueprint = "vm".into()),
            ("working directory", |hard| hard.cwd = "/tmp".into()),
            ("tool set", |hard| hard.tools = ContentHash::of("more tools")),
            ("channel family", |hard| hard.channel_family = None),
            ("model family", |hard| hard.model_family = "gpt".into()),
            ("person", |hard| hard.personal_to = Some("bob".into())),
            ("session instructions", |hard| hard.session_instructions = Some(ContentHash::of("Be brief."))),
            ("context", |hard| hard.context = Some(ContentHash::of("{}"))),
        ];
        for (what, change) in changes {
            let current = dependencies();
            let mut now = dependencies();
            change(&mut now.hard);
            let decision = decide(Some(&current), &now, EpochTriggers::default());
            let Decision::Open(Reason::Changed(changes)) = decision else { panic!("{what}: {decision:?}") };
            assert_eq!(changes.iter().map(|change| &*change.what).collect::<Vec<_>>(), [what]);
        }
    }

    #[test]
    fn soft_drift_is_announced_and_rebuilt_when_free() {
        let edit = |now: &mut Dependencies| {
            now.soft.insert("soul".into(), ContentHash::of("kinder"));
            now.soft.insert("skills".into(), ContentHash::of("new"));
        };
        let drifted = vec!["skills".into(), "soul".into()];
        check(edit, EpochTriggers::default(), Decision::Reuse { drifted });
        check(
            edit,
            EpochTriggers { cache_cold: true, ..EpochTriggers::default() },
            Decision::Open(Reason::CacheCold),
        );
        check(
            edit,
            EpochTriggers { compacting: true, ..EpochTriggers::default() },
            Decision::Open(Reason::Compaction),
        );
    }

    #[test]
    fn unread_layers_count_as_unchanged_for_the_same_person() {
        let mut current = dependencies();
        current.hard.personal_to = Some("alice".into());
        current.soft.insert("user".into(), ContentHash::of("Alice likes tea."));
        let unread = |speaker: &str| {
            let mut now = dependencies();
            now.assume_unread_unchanged(&current, Some(speaker), |layer| layer == "user");
            decide(Some(&current), &now, EpochTriggers::default())
        };
        assert_eq!(unread("alice"), Decision::Reuse { drifted: vec![] });
        let Decision::Open(Reason::Changed(changes)) = unread("bob") else { panic!("reused for bob") };
        assert_eq!(&*changes[0].what, "person");
    }

    #[test]
    fn fingerprint_depends_on_every_dependency() {
        let before = dependencies().fingerprint();
        assert_eq!(before, dependencies().fingerprint());
        let mut edited = dependencies();
        edited.soft.insert("soul".into(), ContentHash::of("kinder"));
        assert_ne!(before, edited.fingerprint());
        let mut moved = dependencies();
        moved.hard.cwd = "/tmp".into();
        assert_ne!(before, moved.fingerprint());
        let mut instructed = dependencies();
        instructed.hard.session_instructions = Some(ContentHash::of("Be brief."));
        let mut with_context = dependencies();
        with_context.hard.context = Some(ContentHash::of("Be brief."));
        assert_ne!(before, instructed.fingerprint());
        assert_ne!(instructed.fingerprint(), with_context.fingerprint());
    }

    #[test]
    fn epochs_stored_before_settings_existed_are_read() {
        let mut stored = serde_json::to_value(dependencies()).unwrap();
        let hard = stored["hard"].as_object_mut().unwrap();
        hard.remove("session_instructions");
        hard.remove("context");
        assert_eq!(serde_json::from_value::<Dependencies>(stored).unwrap(), dependencies());
    }
}
