//! Three strategies for sending a workspace's prompt: frozen with appended changes, as Foreword does; the same layers
//! in seed 000's order, rebuilt every turn; and all files injected in full, as seed 000 describes `OpenClaw`. Sizes and
//! positions are taken from a prompt that was really built.

use foreword_prompt::layer::{Authority, Dynamic, Layer, Source};
use foreword_prompt::prompt::{CacheClass, Prompt, Segment, TurnPlacement};

use super::chain::{Identity, mix};

/// What changes the text of a layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeTrigger {
    /// Nothing within a conversation.
    Never,
    /// An edit of the file with this index.
    WithFile(usize),
    /// The clock, which shows minutes.
    EveryMinute,
    /// Every turn.
    EveryTurn,
    /// The growth of the conversation, in the steps of the memory menu.
    WithHistory,
}

/// The properties of a layer that determine its cost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SizedLayer {
    /// The name.
    pub name: String,
    /// The size in tokens.
    pub tokens: usize,
    /// How long it can be cached.
    pub class: CacheClass,
    /// What changes its text.
    pub changes: ChangeTrigger,
}

impl SizedLayer {
    pub(super) fn identity(&self) -> Identity {
        Identity(self.name.bytes().fold(0, |before, byte| mix(before, byte.into())))
    }
}

/// A strategy for sending a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SendStrategy {
    /// The system prompt stays the same; changes are sent in the next message.
    FreezeThenAppend,
    /// The same layers in seed 000's order, rebuilt for every turn.
    RebuildEachTurn,
    /// Every file in full, in one system text that is rebuilt for every turn.
    InjectEverything,
}

impl SendStrategy {
    /// All strategies, the baseline first.
    pub const ALL: [Self; 3] = [Self::FreezeThenAppend, Self::RebuildEachTurn, Self::InjectEverything];

    /// The display name.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::FreezeThenAppend => "freeze, then append",
            Self::RebuildEachTurn => "rebuilt each turn",
            Self::InjectEverything => "everything injected",
        }
    }
}

/// The layout of the requests of a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    /// The strategy.
    pub way: SendStrategy,
    /// The size of the tool definitions, which precede the system prompt.
    pub tools: usize,
    /// The system prompt, in order.
    pub system: Vec<SizedLayer>,
    /// The layers that are sent in messages when they change.
    pub announced: Vec<SizedLayer>,
    /// The number of files that can be edited.
    pub files: usize,
}

impl Layout {
    /// The size of tools and system prompt.
    #[must_use]
    pub fn head_tokens(&self) -> usize {
        self.tools + self.system.iter().map(|layer| layer.tokens).sum::<usize>()
    }

    /// The size of all layers that are sent in messages.
    #[must_use]
    pub fn announced_tokens(&self) -> usize {
        self.announced.iter().map(|layer| layer.tokens).sum()
    }
}

/// A complete file of the workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WholeFile {
    /// The path.
    pub path: String,
    /// The size in tokens.
    pub tokens: usize,
}

/// The measured prompt of a workspace.
#[derive(Debug, Clone, Copy)]
pub struct MeasuredPrompt<'a> {
    /// The prompt for the occasion.
    pub prompt: &'a Prompt,
    /// The size of the tool definitions.
    pub tools: usize,
    /// The existing files of the convention, in full.
    pub files: &'a [WholeFile],
    /// Whether a template shows a clock.
    pub template_has_clock: bool,
}

impl MeasuredPrompt<'_> {
    /// The layout for a strategy.
    #[must_use]
    pub fn layout(&self, way: SendStrategy) -> Layout {
        let frozen = self.frozen();
        let files =
            frozen.iter().filter(|(_, layer)| matches!(layer.changes, ChangeTrigger::WithFile(_))).count();
        let turn = self.turn();
        let (system, announced) = match way {
            SendStrategy::FreezeThenAppend => {
                let (frozen, turn) = (layers(frozen), layers(turn));
                match self.prompt.placement {
                    TurnPlacement::Message => (frozen, turn),
                    TurnPlacement::System => (frozen.into_iter().chain(turn).collect(), Vec::new()),
                }
            }
            SendStrategy::RebuildEachTurn => {
                let mut all: Vec<_> = frozen.into_iter().chain(turn).collect();
                all.sort_by_key(|(segment, _)| seed_order(&segment.layer));
                (layers(all), Vec::new())
            }
            SendStrategy::InjectEverything => (self.injected(frozen, turn), Vec::new()),
        };
        Layout { way, tools: self.tools, system, announced, files }
    }

    fn frozen(&self) -> Vec<(&Segment, SizedLayer)> {
        let mut files = 0;
        let sized = |segment| {
            let changes = match self.changes(segment) {
                ChangeTrigger::WithFile(_) => {
                    files += 1;
                    ChangeTrigger::WithFile(files - 1)
                }
                other => other,
            };
            // A layer after a less stable one is cached no longer than that, so the block's class applies.
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

    fn changes(&self, segment: &Segment) -> ChangeTrigger {
        match &segment.layer.source {
            Source::Dynamic(Dynamic::Runtime) => ChangeTrigger::EveryMinute,
            Source::Dynamic(Dynamic::Situation) => ChangeTrigger::EveryTurn,
            Source::Dynamic(Dynamic::MemoryMenu) => ChangeTrigger::WithHistory,
            Source::Template { .. } | Source::Instructions if self.template_has_clock => {
                ChangeTrigger::EveryMinute
            }
            _ if segment.kind == "file" => ChangeTrigger::WithFile(0),
            _ => ChangeTrigger::Never,
        }
    }

    /// Other layers first, then the files in full, then the changing layers. There is no menu, because everything is
    /// already in the prompt.
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
                changes: ChangeTrigger::Never,
            })
            .collect();
        let (files, texts): (Vec<_>, Vec<_>) =
            frozen.into_iter().partition(|(_, layer)| matches!(layer.changes, ChangeTrigger::WithFile(_)));
        let files = files.into_iter().map(|(segment, layer)| SizedLayer {
            tokens: whole(segment).unwrap_or(layer.tokens).max(layer.tokens),
            ..layer
        });
        let turn = turn.into_iter().filter(|(_, layer)| layer.changes != ChangeTrigger::WithHistory);
        layers(texts).into_iter().chain(files).chain(more).chain(turn.map(|(_, layer)| layer)).collect()
    }
}

fn sized(segment: &Segment, changes: ChangeTrigger) -> SizedLayer {
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

/// The position of a layer in seed 000: 0 identity, 1 behaviour, 2 user, 3 workspace files, 4 channel, 5 tools, 6
/// runtime context, 7 situation rules, 8 memory index. Layers it does not know are grouped with similar ones.
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
