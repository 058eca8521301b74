//! Assembles a prompt from a plan and the gathered texts: budget, physical order, blocks, byte ranges. Deterministic:
//! the same inputs always give the same bytes.

use std::ops::Range;
use std::sync::Arc;

use crate::budget::{Body, Fitted, Piece, TokenBudget, fit};
use crate::content::Content;
use crate::error::PromptError;
use crate::layer::{Dynamic, Layer, Source, Stability};
use crate::plan::{LeftOut, Plan};
use crate::prompt::{
    Block, BuildFacts, CacheClass, Frozen, Prompt, Segment, SegmentStatus, TurnPlacement, TurnSegment,
    Warning, marks,
};
use crate::text::{ContentHash, normalise_line_ends, with_thousands};
use crate::tokens::TokenCounter;
use crate::turn_text::TurnContent;

/// The separator between a heading and its text.
pub(crate) const HEADING_END: &str = "\n\n";

/// The source of a text, for the report, and how the reader can load it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Provenance {
    /// The kind of the actual source.
    pub kind: &'static str,
    /// The file or built-in text.
    pub origin: Option<Arc<str>>,
    /// The `memory_get` path, if this reader can load it.
    pub read_path: Option<Arc<str>>,
    /// One line about it.
    pub description: Arc<str>,
}

/// The text of a frozen layer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FrozenMaterial {
    /// The layer.
    pub layer: Arc<Layer>,
    /// Its text.
    pub content: Content,
    /// Where it came from.
    pub from: Provenance,
}

/// The text of a turn layer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnMaterial {
    /// The layer.
    pub layer: Arc<Layer>,
    /// Its text.
    pub content: TurnContent,
    /// Where it came from.
    pub from: Provenance,
}

/// The texts gathered for a plan. The types prevent text from outside in frozen layers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Materials {
    /// For the frozen layers, in the plan's order.
    pub frozen: Vec<FrozenMaterial>,
    /// For the turn layers, in the plan's order.
    pub turn: Vec<TurnMaterial>,
    /// Warnings from gathering.
    pub warnings: Vec<Warning>,
}

/// The settings of a prompt.
#[derive(Clone, Copy)]
pub struct Settings<'a> {
    /// The blueprint's name, for the report.
    pub blueprint: &'a str,
    /// The token budget.
    pub budget: TokenBudget,
    /// The token counter.
    pub counter: &'static dyn TokenCounter,
    /// Where the turn's context goes.
    pub placement: TurnPlacement,
}

/// The prompt of a plan.
///
/// # Errors
/// If it can't be made to fit.
pub fn assemble(plan: &Plan, materials: Materials, settings: Settings<'_>) -> Result<Prompt, PromptError> {
    let mut sorting = Sorter::new(plan);
    for material in materials.frozen {
        sorting.frozen(material);
    }
    let frozen_count = sorting.pieces.len();
    for material in materials.turn {
        sorting.turn(material);
    }
    let marks = Marks::new(settings, sorting.pieces.len() > frozen_count);
    let fitted = fit(&sorting.pieces, settings.budget, marks.tokens.0 + marks.tokens.1, settings.counter)?;

    let mut placing = Placer::new(settings, &marks, materials.warnings);
    for (index, (fitted, piece)) in fitted.into_iter().zip(&sorting.pieces).enumerate() {
        placing.add(fitted, piece, &sorting.provenance[index]);
    }
    placing.turn.add_marks(&marks);
    placing.warn_of_missing_menu();
    let facts = BuildFacts {
        trust: plan.trust,
        budget: settings.budget,
        counter: settings.counter.name(),
        blueprint: settings.blueprint.into(),
        compact: plan.compact,
        separator: Arc::clone(&plan.separator),
        in_menu: placing.in_menu,
        withheld: plan.withheld.clone(),
        absent: [plan.absent.clone(), sorting.absent].concat(),
        empty: [sorting.empty, placing.empty].concat(),
        warnings: placing.warnings,
    };
    Ok(Prompt {
        frozen: Arc::new(placing.frozen.finish()),
        turn: placing.turn.segments,
        placement: settings.placement,
        facts: Arc::new(facts),
    })
}

/// The opening and closing marks of the turn context, with their tokens.
struct Marks {
    open: &'static str,
    close: &'static str,
    tokens: (usize, usize),
}

impl Marks {
    fn new(settings: Settings<'_>, needed: bool) -> Self {
        let (open, close) = if needed { marks(settings.placement) } else { ("", "") };
        Self { open, close, tokens: (settings.counter.count(open), settings.counter.count(close)) }
    }
}

/// Places fitted pieces in order.
struct Placer {
    counter: &'static dyn TokenCounter,
    placement: TurnPlacement,
    frozen: FrozenBuilder,
    turn: TurnBuilder,
    in_menu: Vec<Segment>,
    empty: Vec<LeftOut>,
    warnings: Vec<Warning>,
}

impl Placer {
    fn new(settings: Settings<'_>, marks: &Marks, warnings: Vec<Warning>) -> Self {
        Self {
            counter: settings.counter,
            placement: settings.placement,
            frozen: FrozenBuilder::default(),
            turn: TurnBuilder { segments: Vec::new(), at: marks.open.len() },
            in_menu: Vec::new(),
            empty: Vec::new(),
            warnings,
        }
    }

    fn add(&mut self, fitted: Fitted, piece: &Piece, from: &Provenance) {
        self.warnings.extend(warning_of(&fitted, piece));
        let (mut text, mut segment) = match fitted {
            Fitted::InMenu { tokens } => {
                let segment = segment(piece, from, tokens, None);
                return self.in_menu.push(Segment { status: SegmentStatus::Menu, ..segment });
            }
            Fitted::In { text, .. } if text.is_empty() => {
                return self.empty.push(left_out(&piece.layer, "nothing in it"));
            }
            Fitted::In { text, tokens, cut } => (text, segment(piece, from, tokens, cut)),
        };
        let in_turn = piece.layer.stability == Stability::Turn;
        let first = if in_turn { self.turn.segments.is_empty() } else { self.frozen.segments.is_empty() };
        if first {
            // The first text of the frozen part and of the turn context has no separator before it.
            text = text[segment.separator..].to_owned();
            segment.separator = 0;
            // In a system block, the separator before the turn context belongs to the turn and counts.
            if self.placement == TurnPlacement::Message || self.frozen.segments.is_empty() {
                segment.tokens = self.counter.count(&text);
            }
        }
        if in_turn { self.turn.push(segment, text) } else { self.frozen.push(segment, &text) }
    }

    /// Warns the owner about layers that moved to a menu this reader does not have: they are missing for the reader.
    fn warn_of_missing_menu(&mut self) {
        let is_menu = |one: &TurnSegment| one.segment.layer.source == Source::Dynamic(Dynamic::MemoryMenu);
        if !self.turn.segments.iter().any(is_menu) {
            self.warnings.extend(self.in_menu.iter().map(not_in_any_menu));
        }
    }
}

/// Sorts the gathered texts into pieces for the budget, and records missing layers.
struct Sorter<'a> {
    plan: &'a Plan,
    pieces: Vec<Piece>,
    provenance: Vec<Provenance>,
    absent: Vec<LeftOut>,
    empty: Vec<LeftOut>,
}

impl<'a> Sorter<'a> {
    fn new(plan: &'a Plan) -> Self {
        Self { plan, pieces: Vec::new(), provenance: Vec::new(), absent: Vec::new(), empty: Vec::new() }
    }

    fn frozen(&mut self, material: FrozenMaterial) {
        match material.content {
            Content::Absent(reason) => self.absent.push(left_out(&material.layer, &reason)),
            Content::Empty => self.empty.push(left_out(&material.layer, "it is empty")),
            Content::Text(text) => self.push(material.layer, Body::Text(text), material.from),
        }
    }

    fn turn(&mut self, material: TurnMaterial) {
        let body = match material.content {
            TurnContent::Absent(reason) => return self.absent.push(left_out(&material.layer, &reason)),
            TurnContent::Empty => return self.empty.push(left_out(&material.layer, "it is empty")),
            TurnContent::Text(text) => Body::Text(text.as_str().into()),
            TurnContent::Shared(text) => Body::Text(text),
            TurnContent::Menu(menu) => Body::Menu(menu),
        };
        self.push(material.layer, body, material.from);
    }

    fn push(&mut self, layer: Arc<Layer>, body: Body, from: Provenance) {
        let body = match body {
            // Skip the layer, or only its heading would remain.
            Body::Text(text) if text.trim().is_empty() => {
                return self.empty.push(left_out(&layer, "it is empty"));
            }
            Body::Text(text) => Body::Text(match normalise_line_ends(&text) {
                std::borrow::Cow::Borrowed(_) => text,
                std::borrow::Cow::Owned(normal) => normal.into(),
            }),
            menu @ Body::Menu(_) => menu,
        };
        let heading =
            layer.heading.as_ref().map(|heading| format!("{heading}{HEADING_END}")).unwrap_or_default();
        let prefix = format!("{}{heading}", self.plan.separator);
        let read_path = from.read_path.clone();
        let description = Arc::clone(&from.description);
        self.pieces.push(Piece { layer, prefix, body, read_path, description });
        self.provenance.push(from);
    }
}

#[derive(Default)]
struct FrozenBuilder {
    text: String,
    segments: Vec<Segment>,
    blocks: Vec<Block>,
    /// The least stable layer so far: later layers cannot be cached for longer.
    reached: Option<Stability>,
    tokens: usize,
}

impl FrozenBuilder {
    fn push(&mut self, mut segment: Segment, text: &str) {
        let range = self.text.len()..self.text.len() + text.len();
        self.text.push_str(text);
        segment.range = range.clone();
        segment.hash = ContentHash::of(text);
        let reached =
            self.reached.map_or(segment.layer.stability, |before| before.max(segment.layer.stability));
        self.reached = Some(reached);
        let class = CacheClass::from(reached);
        match self.blocks.last_mut().filter(|block| block.class == class) {
            Some(block) => {
                block.range.end = range.end;
                block.layers.push(segment.layer.id.clone());
                block.tokens += segment.tokens;
            }
            None => {
                let layers = vec![segment.layer.id.clone()];
                self.blocks.push(Block { class, range, layers, tokens: segment.tokens });
            }
        }
        self.tokens += segment.tokens;
        self.segments.push(segment);
    }

    fn finish(self) -> Frozen {
        Frozen {
            fingerprint: ContentHash::of(&self.text),
            text: self.text.into(),
            blocks: self.blocks,
            segments: self.segments,
            tokens: self.tokens,
        }
    }
}

struct TurnBuilder {
    segments: Vec<TurnSegment>,
    at: usize,
}

impl TurnBuilder {
    fn push(&mut self, mut segment: Segment, text: String) {
        segment.range = self.at..self.at + text.len();
        segment.hash = ContentHash::of(&text);
        self.at += text.len();
        self.segments.push(TurnSegment { segment, text: text.into() });
    }

    /// Adds the marks of the turn context to its first and last layer, so that the ranges tile the text.
    fn add_marks(&mut self, marks: &Marks) {
        if let Some(first) = self.segments.first_mut() {
            first.segment.range.start -= marks.open.len();
            first.segment.tokens += marks.tokens.0;
        }
        if let Some(last) = self.segments.last_mut() {
            last.segment.range.end += marks.close.len();
            last.segment.tokens += marks.tokens.1;
        }
    }
}

fn segment(piece: &Piece, from: &Provenance, tokens: usize, cut: Option<crate::cut::Cut>) -> Segment {
    let heading = piece.layer.heading.as_ref().map_or(0, |heading| heading.len() + HEADING_END.len());
    Segment {
        layer: Arc::clone(&piece.layer),
        kind: from.kind,
        origin: from.origin.clone(),
        status: if cut.is_some() { SegmentStatus::Cut } else { SegmentStatus::Included },
        range: Range::default(),
        separator: piece.prefix.len() - heading,
        tokens,
        hash: ContentHash::of(""),
        cut,
    }
}

fn left_out(layer: &Arc<Layer>, reason: &str) -> LeftOut {
    LeftOut { layer: Arc::clone(layer), reason: reason.to_owned() }
}

fn warning_of(fitted: &Fitted, piece: &Piece) -> Option<Warning> {
    let layer = Some(piece.layer.id.clone());
    match fitted {
        Fitted::In { cut: Some(cut), tokens, .. } => Some(Warning {
            code: "cut",
            layer,
            message: format!(
                "`{}` was cut from {} to {} tokens",
                piece.layer.id,
                with_thousands(cut.tokens_before),
                with_thousands(*tokens)
            ),
            for_owner: false,
        }),
        // A layer with `max_tokens: 0` is meant for the menu: no warning.
        Fitted::InMenu { tokens } if piece.layer.fit.max_tokens != Some(0) => Some(Warning {
            code: "moved_to_menu",
            layer,
            message: format!("`{}` ({} tokens) moved to the menu", piece.layer.id, with_thousands(*tokens)),
            for_owner: false,
        }),
        _ => None,
    }
}

fn not_in_any_menu(segment: &Segment) -> Warning {
    Warning {
        code: "left_out",
        layer: Some(segment.layer.id.clone()),
        message: format!("`{}` did not fit, and there is no menu here to list it in", segment.layer.id),
        for_owner: false,
    }
}
