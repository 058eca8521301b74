//! An in-memory workspace for tests: from a blueprint and texts to a prompt.

use std::collections::BTreeMap;
use std::sync::Arc;

use foreword_prompt::assemble::{FrozenMaterial, Materials, Provenance, Settings, TurnMaterial, assemble};
use foreword_prompt::blueprint::{Blueprint, builtin};
use foreword_prompt::budget::TokenBudget;
use foreword_prompt::content::{Content, fill, merge};
use foreword_prompt::dynamic::runtime;
use foreword_prompt::error::PromptError;
use foreword_prompt::layer::{Authority, Dynamic, Fit, Layer, LayerId, Merge, Overflow, Source, Stability};
use foreword_prompt::menu::{MemoryTools, Menu, MenuEntry, MenuLines};
use foreword_prompt::occasion::{Channel, FormattedTime, Occasion};
use foreword_prompt::plan::{FileRule, Plan, PlanFor};
use foreword_prompt::prompt::{Prompt, TurnPlacement};
use foreword_prompt::report::{LayerReport, Report, View};
use foreword_prompt::tokens::Tokenizer;
use foreword_prompt::trust::{Trust, TrustDecision};
use foreword_prompt::turn_text::{TurnContent, TurnText};

/// The inputs of a prompt.
#[derive(Debug, Clone)]
pub(crate) struct Fixture {
    pub(crate) blueprint: Blueprint,
    pub(crate) trust: TrustDecision,
    pub(crate) rules: Vec<FileRule>,
    /// The texts of files, generated and other sources, by path or by layer id.
    pub(crate) texts: BTreeMap<String, Content>,
    pub(crate) entries: Vec<MenuEntry>,
    pub(crate) situation: TurnText,
    pub(crate) occasion: Occasion,
    pub(crate) budget: TokenBudget,
    pub(crate) counter: Tokenizer,
    pub(crate) placement: TurnPlacement,
    /// Whether the reader has `memory_get`.
    pub(crate) can_read: bool,
}

impl Fixture {
    /// The blueprint `yaml`, for the owner, with a large budget.
    pub(crate) fn of(yaml: &str) -> Self {
        let spec = serde_saphyr::from_str(yaml).unwrap();
        Self::with(Blueprint::from_spec("mine", &spec).unwrap())
    }

    pub(crate) fn built_in(name: &str) -> Self {
        Self::with(builtin::blueprint(name).unwrap())
    }

    pub(crate) fn layers(layers: Vec<Layer>) -> Self {
        let mut blueprint = builtin::blueprint("template").unwrap();
        blueprint.layers = layers;
        Self::with(blueprint)
    }

    fn with(blueprint: Blueprint) -> Self {
        Self {
            blueprint,
            trust: TrustDecision::new(Trust::Full, Trust::Full),
            rules: Vec::new(),
            texts: BTreeMap::new(),
            entries: Vec::new(),
            situation: TurnText::default(),
            occasion: occasion(),
            budget: TokenBudget { tokens: 30_000, window: None, history: 0 },
            counter: Tokenizer::Estimate,
            placement: TurnPlacement::Message,
            can_read: true,
        }
    }

    pub(crate) fn trust(mut self, trust: Trust) -> Self {
        self.trust = TrustDecision::new(trust, Trust::Full);
        self
    }

    pub(crate) fn budget(mut self, tokens: usize) -> Self {
        self.budget.tokens = tokens;
        self
    }

    pub(crate) fn text(mut self, name: &str, text: &str) -> Self {
        self.texts.insert(name.to_owned(), Content::of_block(&text.into()));
        self
    }

    pub(crate) fn rule(mut self, path: &str, trust: Trust) -> Self {
        self.rules.push(FileRule { path: path.to_owned(), trust, per_user: false });
        self
    }

    pub(crate) fn plan(&self) -> Plan {
        let family = self.occasion.channel.as_ref().and_then(Channel::family).unwrap_or("none");
        let fills = [("soul", "Ada"), ("user", "bob"), ("family", family)];
        let wanted =
            PlanFor { trust: self.trust, files: &self.rules, fills: &fills, window: self.budget.window };
        Plan::new(&self.blueprint, wanted)
    }

    pub(crate) fn build(&self) -> Result<Prompt, PromptError> {
        let plan = self.plan();
        let materials = self.materials(&plan);
        let settings = Settings {
            blueprint: &self.blueprint.name,
            budget: self.budget,
            counter: self.counter.get(),
            placement: self.placement,
        };
        assemble(&plan, materials, settings)
    }

    pub(crate) fn prompt(&self) -> Prompt {
        self.build().unwrap()
    }

    pub(crate) fn report(&self, view: View) -> Report {
        Report::of(&self.prompt(), view)
    }

    /// The report's line about a layer, in the owner's view.
    pub(crate) fn layer(&self, id: &str) -> LayerReport {
        let report = self.report(View::Owner);
        report.layers.into_iter().find(|layer| layer.id == id).unwrap()
    }

    fn materials(&self, plan: &Plan) -> Materials {
        let mut materials = Materials::default();
        for layer in plan.layers.iter().cloned() {
            let from = self.provenance(&layer);
            match layer.source {
                Source::Dynamic(dynamic) => {
                    materials.turn.push(TurnMaterial { content: self.made(dynamic), layer, from });
                }
                _ if layer.stability == Stability::Turn => {
                    let content = self.content(&layer).into();
                    materials.turn.push(TurnMaterial { layer, content, from });
                }
                _ => {
                    let content = self.content(&layer);
                    materials.frozen.push(FrozenMaterial { layer, content, from });
                }
            }
        }
        materials
    }

    fn content(&self, layer: &Layer) -> Content {
        let soul = [("soul", "Ada")];
        let builtin = |name: &str| builtin::text(name).map(|text| fill(text, &soul));
        let named = |name: &str| {
            self.texts.get(name).cloned().unwrap_or_else(|| Content::Absent(format!("there is no `{name}`")))
        };
        match &layer.source {
            Source::Text(text) => Content::of_block(text),
            Source::Builtin { name, .. } | Source::Stored { default: name } => {
                Content::of_block(&builtin(name).unwrap().into())
            }
            Source::File(file) => {
                let builtin = file.builtin.as_deref().and_then(builtin);
                merge(named(&file.path), builtin.as_deref(), layer.merge).0
            }
            _ => named(layer.id.as_str()),
        }
    }

    fn made(&self, dynamic: Dynamic) -> TurnContent {
        let trust = self.trust.effective();
        match dynamic {
            Dynamic::Runtime => TurnText::new(&runtime(&self.occasion, trust)).into(),
            Dynamic::Situation => self.situation.clone().into(),
            Dynamic::MemoryMenu => TurnContent::Menu(Menu {
                trust,
                entries: MenuLines::new(self.entries.clone(), self.counter.get()).into(),
                moved: Vec::new(),
                remaining: None,
                tools: MemoryTools { search: self.can_read, get: self.can_read },
            }),
        }
    }

    fn provenance(&self, layer: &Layer) -> Provenance {
        let path: Option<Arc<str>> = match &layer.source {
            Source::File(file) => Some(file.path.as_str().into()),
            _ => None,
        };
        let read_path = path.clone().filter(|_| self.can_read);
        Provenance { kind: layer.source.kind(), origin: path, read_path, description: "".into() }
    }
}

/// A text layer visible to everybody, to be changed with `..`.
pub(crate) fn layer(id: &str, stability: Stability, text: &str) -> Layer {
    Layer {
        id: LayerId::parse(id).unwrap(),
        title: id.to_owned(),
        authority: Authority::Instructions,
        stability,
        trust: Trust::Public,
        source: Source::Text(text.into()),
        heading: None,
        merge: Merge::Fallback,
        fit: Fit { overflow: Overflow::HeadTail, priority: 50, min_tokens: 0, max_tokens: None },
        mutable: None,
        compact: None,
    }
}

/// `count` distinct lines of a few words each.
pub(crate) fn lines(count: usize) -> String {
    (1..=count).map(|line| format!("- note {line} about the harbour\n")).collect()
}

pub(crate) fn occasion() -> Occasion {
    Occasion {
        user: Some("bob".into()),
        channel: Some(Channel::new("signal:bob")),
        situation: "dm".into(),
        agent: "Assistant".into(),
        model: "offline/echo".into(),
        conversation: None,
        now: formatted_time("Monday", "2026-11-16", "08:30"),
    }
}

pub(crate) fn formatted_time(weekday: &str, date: &str, time: &str) -> FormattedTime {
    FormattedTime {
        timestamp: format!("{date}T{time}:00Z").into(),
        date: date.into(),
        time: time.into(),
        weekday: weekday.into(),
        zone: "UTC".into(),
    }
}

pub(crate) fn entry(path: &str, tokens: usize, description: &str) -> MenuEntry {
    MenuEntry { path: path.into(), tokens, description: description.into() }
}
