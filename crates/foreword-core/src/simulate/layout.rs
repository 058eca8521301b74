//! Three ways to send one workspace's words: frozen and appended to, as Foreword does; the same layers in seed 000's order,
//! rebuilt every turn; and everything injected whole, as seed 000 says of `OpenClaw`. Sizes and places only, taken from a
//! prompt that was really built.

use foreword_prompt::layer::{Authority, Dynamic, Layer, Source};
use foreword_prompt::prompt::{CacheClass, Prompt, Segment, TurnPlacement};

use super::chain::{Identity, mix};

/// What makes a layer another text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Changes {
    /// Nothing that happens in a conversation.
    Never,
    /// An edit of the file of this number.
    WithFile(usize),
    /// The clock, which shows minutes.
    EveryMinute,
    /// Whatever happens.
    EveryTurn,
    /// How much the conversation has grown, in the steps the memory menu tells.
    WithHistory,
}

/// A layer as far as a bill depends on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SizedLayer {
    /// Its name.
    pub name: String,
    /// What it weighs.
    pub tokens: usize,
    /// How long it can be cached.
    pub class: CacheClass,
    /// What makes it another text.
    pub changes: Changes,
}

impl SizedLayer {
    pub(super) fn identity(&self) -> Identity {
        Identity(self.name.bytes().fold(0, |before, byte| mix(before, byte.into())))
    }
}

/// How a prompt is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Way {
    /// The system prompt stays the same; what changes is told in the new message.
    FreezeThenAppend,
    /// The same layers in seed 000's order, made anew for every turn.
    RebuildEachTurn,
    /// Every file whole, in one system text that is made anew for every turn.
    InjectEverything,
}

impl Way {
    /// All of them, the one the others are compared with first.
    pub const ALL: [Self; 3] = [Self::FreezeThenAppend, Self::RebuildEachTurn, Self::InjectEverything];

    /// Its name for people.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::FreezeThenAppend => "freeze, then append",
            Self::RebuildEachTurn => "rebuilt each turn",
            Self::InjectEverything => "everything injected",
        }
    }
}

/// What is sent, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    /// How.
    pub way: Way,
    /// The definitions of the tools, in tokens; they stand before the system prompt.
    pub tools: usize,
    /// The system prompt, in order.
    pub system: Vec<SizedLayer>,
    /// What is told in a message, when it is new.
    pub told: Vec<SizedLayer>,
    /// How many files there are that can be edited.
    pub files: usize,
}

impl Layout {
    /// What tools and system prompt weigh.
    #[must_use]
    pub fn head_tokens(&self) -> usize {
        self.tools + self.system.iter().map(|layer| layer.tokens).sum::<usize>()
    }

    /// What is told in messages, if all of it is new.
    #[must_use]
    pub fn told_tokens(&self) -> usize {
        self.told.iter().map(|layer| layer.tokens).sum()
    }
}

/// A file of the workspace, whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WholeFile {
    /// Its path.
    pub path: String,
    /// What it weighs.
    pub tokens: usize,
}

/// What a workspace sends.
#[derive(Debug, Clone, Copy)]
pub struct Measured<'a> {
    /// The prompt for the occasion.
    pub prompt: &'a Prompt,
    /// What the definitions of the tools weigh.
    pub tools: usize,
    /// The files of the convention that are there, whole.
    pub files: &'a [WholeFile],
    /// Whether a template shows a clock.
    pub template_has_clock: bool,
}

impl Measured<'_> {
    /// How this is sent in a way.
    #[must_use]
    pub fn layout(&self, way: Way) -> Layout {
        let frozen = self.frozen();
        let files = frozen.iter().filter(|(_, layer)| matches!(layer.changes, Changes::WithFile(_))).count();
        let turn = self.turn();
        let (system, told) = match way {
            Way::FreezeThenAppend => {
                let (frozen, turn) = (layers(frozen), layers(turn));
                match self.prompt.placement {
                    TurnPlacement::Message => (frozen, turn),
                    TurnPlacement::System => (frozen.into_iter().chain(turn).collect(), Vec::new()),
                }
            }
            Way::RebuildEachTurn => {
                let mut all: Vec<_> = frozen.into_iter().chain(turn).collect();
                all.sort_by_key(|(segment, _)| seed_order(&segment.layer));
                (layers(all), Vec::new())
            }
            Way::InjectEverything => (self.injected(frozen, turn), Vec::new()),
        };
        Layout { way, tools: self.tools, system, told, files }
    }

    fn frozen(&self) -> Vec<(&Segment, SizedLayer)> {
        let mut files = 0;
        let sized = |segment| {
            let changes = match self.changes(segment) {
                Changes::WithFile(_) => {
                    files += 1;
                    Changes::WithFile(files - 1)
                }
                other => other,
            };
            // A layer behind a less stable one is cached no longer than that, so the block decides.
            let block =
                self.prompt.frozen.blocks.iter().find(|block| block.layers.contains(&segment.layer.id));
            let layer = sized(segment, changes);
            let class = block.map_or(layer.class, |block| block.class);
            (segment, SizedLayer { class, ..layer })
        };
        self.prompt.frozen.segments.iter().map(sized).collect()
    }

    fn turn(&self) -> Vec<(&Segment, SizedLayer)> {
        let segments = self.prompt.turn.iter().map(|turn| &turn.segment);
        segments.map(|segment| (segment, sized(segment, self.changes(segment)))).collect()
    }

    fn changes(&self, segment: &Segment) -> Changes {
        match &segment.layer.source {
            Source::Dynamic(Dynamic::Runtime) => Changes::EveryMinute,
            Source::Dynamic(Dynamic::Situation) => Changes::EveryTurn,
            Source::Dynamic(Dynamic::MemoryMenu) => Changes::WithHistory,
            Source::Template { .. } | Source::Instructions if self.template_has_clock => Changes::EveryMinute,
            _ if segment.kind == "file" => Changes::WithFile(0),
            _ => Changes::Never,
        }
    }

    /// All that is no file, then the files whole, then what changes: there is no menu, because there is nothing that is not
    /// in the prompt already.
    fn injected(
        &self,
        frozen: Vec<(&Segment, SizedLayer)>,
        turn: Vec<(&Segment, SizedLayer)>,
    ) -> Vec<SizedLayer> {
        let whole = |segment: &Segment| {
            let origin = segment.origin.as_deref()?;
            self.files.iter().find(|file| file.path == origin).map(|file| file.tokens)
        };
        let in_prompt: Vec<&str> =
            frozen.iter().filter_map(|(segment, _)| segment.origin.as_deref()).collect();
        let more = self.files.iter().filter(|file| !in_prompt.contains(&file.path.as_str()));
        let more: Vec<SizedLayer> = more
            .map(|file| SizedLayer {
                name: file.path.clone(),
                tokens: file.tokens,
                class: CacheClass::Agent,
                changes: Changes::Never,
            })
            .collect();
        let (files, texts): (Vec<_>, Vec<_>) =
            frozen.into_iter().partition(|(_, layer)| matches!(layer.changes, Changes::WithFile(_)));
        let files = files.into_iter().map(|(segment, layer)| SizedLayer {
            tokens: whole(segment).unwrap_or(layer.tokens).max(layer.tokens),
            ..layer
        });
        let turn = turn.into_iter().filter(|(_, layer)| layer.changes != Changes::WithHistory);
        layers(texts).into_iter().chain(files).chain(more).chain(turn.map(|(_, layer)| layer)).collect()
    }
}

fn sized(segment: &Segment, changes: Changes) -> SizedLayer {
    let layer = &segment.layer;
    SizedLayer {
        name: layer.id.to_string(),
        tokens: segment.tokens,
        class: CacheClass::from(layer.stability),
        changes,
    }
}

fn layers(pairs: Vec<(&Segment, SizedLayer)>) -> Vec<SizedLayer> {
    pairs.into_iter().map(|(_, layer)| layer).collect()
}

/// Where seed 000 has a layer: 0 identity, 1 behaviour, 2 user, 3 workspace files, 4 channel, 5 tools, 6 runtime context, 7
/// situation rules, 8 memory index. Layers it does not know stand with those that say the same kind of thing.
fn seed_order(layer: &Layer) -> usize {
    match &layer.source {
        Source::Dynamic(Dynamic::Runtime | Dynamic::Situation) => 6,
        Source::Overlay => 7,
        Source::Dynamic(Dynamic::MemoryMenu) => 8,
        Source::Generated(_) => 5,
        Source::File(file) if file.path.starts_with("users/") => 2,
        Source::File(file) if file.path.starts_with("channels/") => 4,
        Source::File(_) | Source::Files(_) => match layer.authority {
            Authority::Policy | Authority::Identity => 0,
            Authority::Instructions => 1,
            Authority::Context | Authority::Data => 3,
        },
        Source::Builtin { .. }
        | Source::Text(_)
        | Source::Template { .. }
        | Source::Instructions
        | Source::Stored { .. } => match layer.authority {
            Authority::Policy | Authority::Identity => 0,
            Authority::Instructions | Authority::Context | Authority::Data => 1,
        },
    }
}

#[cfg(test)]
mod tests;
