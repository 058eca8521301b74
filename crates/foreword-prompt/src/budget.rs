//! Fits the pieces of a prompt into the token budget: first each layer's own limit, then the total, lowest priority
//! first. Every cut is recorded; policy layers are never cut. Headings, separators and markers count.

use std::sync::Arc;

use crate::cut::{Cut, ReadWith, Shorten};
use crate::error::{LayerTokens, PromptError};
use crate::layer::{Authority, Layer, Overflow};
use crate::menu::{Menu, MenuEntry};
use crate::menu_fit::{MenuFit, menu_within};
use crate::tokens::TokenCounter;

/// The menu text for a line that cannot be loaded.
const NOT_LOADABLE: &str = "did not fit and can't be loaded";

/// The token budget of a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TokenBudget {
    /// The configured limit.
    pub tokens: usize,
    /// The model's context window, if known.
    pub window: Option<usize>,
    /// The tokens of the conversation so far.
    pub history: usize,
}

impl TokenBudget {
    /// The effective limit: the smaller of the two.
    #[must_use]
    pub fn limit(self) -> usize {
        self.window.map_or(self.tokens, |window| window.min(self.tokens))
    }

    /// The tokens left for loading memories after a prompt of `prompt` tokens and the history.
    fn remaining(self, prompt: usize) -> usize {
        self.window
            .unwrap_or(self.tokens)
            .saturating_sub(prompt.min(self.limit()))
            .saturating_sub(self.history)
    }

    /// The same budget with the effective limit `limit`; the other limit is raised above it.
    fn with_limit(self, limit: usize) -> Self {
        if self.window_counts() {
            Self { tokens: self.tokens.max(limit), window: Some(limit), ..self }
        } else {
            Self { tokens: limit, window: self.window.map(|window| window.max(limit)), ..self }
        }
    }

    fn window_counts(self) -> bool {
        self.window.is_some_and(|window| window < self.tokens)
    }

    fn limit_name(self) -> String {
        let name = if self.window_counts() { "the model's context window" } else { "prompt.budget" };
        name.to_owned()
    }
}

/// The text of a piece, by how it can be shortened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Body {
    /// Text whose middle can be cut out.
    Text(Arc<str>),
    /// A menu that can show fewer lines.
    Menu(Menu),
}

/// A layer's text before it is fitted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// The layer it is of.
    pub layer: Arc<Layer>,
    /// Separator and heading.
    pub prefix: String,
    /// The text.
    pub body: Body,
    /// The path `memory_get` takes to read it, if the reader can call that.
    pub read_path: Option<Arc<str>>,
    /// One line about it, should it move to the menu.
    pub description: Arc<str>,
}

/// The result of fitting a piece.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fitted {
    /// In the prompt, whole or cut.
    In {
        /// Prefix and text.
        text: String,
        /// Its tokens.
        tokens: usize,
        /// The removed part, if any.
        cut: Option<Cut>,
    },
    /// Moved to the menu.
    InMenu {
        /// What loading it costs.
        tokens: usize,
    },
}

/// The state of one piece during fitting.
struct CountedPiece<'a> {
    piece: &'a Piece,
    /// The current menu, if the piece is one.
    menu: Option<Menu>,
    /// For a menu without its text: only the final one is rendered.
    fitted: Fitted,
    /// The lines of the menu in `fitted`.
    lines: usize,
    /// Whether it cannot be shortened further.
    exhausted: bool,
}

impl CountedPiece<'_> {
    fn tokens(&self) -> usize {
        match self.fitted {
            Fitted::In { tokens, .. } => tokens,
            Fitted::InMenu { .. } => 0,
        }
    }

    /// Shortens the menu to `limit` tokens if possible.
    fn fit_menu(&mut self, limit: usize, counter: &dyn TokenCounter) {
        if let Some(menu) = &self.menu {
            let MenuFit { lines, tokens, cut } = menu_within(&self.piece.prefix, menu, limit, counter);
            self.fitted = Fitted::In { text: String::new(), tokens, cut };
            self.lines = lines;
        }
    }

    fn finish(self) -> Fitted {
        match (self.fitted, self.menu) {
            (Fitted::In { tokens, cut, .. }, Some(menu)) if !menu.is_empty() => {
                let text = format!("{}{}", self.piece.prefix, menu.render(self.lines));
                Fitted::In { text, tokens, cut }
            }
            (fitted, _) => fitted,
        }
    }
}

/// Fits the pieces into `budget`, of which `reserved` tokens are used for text around the pieces.
///
/// # Errors
/// If a layer that may not be cut is too large, or the whole does not fit after everything that may be cut was.
pub fn fit(
    pieces: &[Piece],
    budget: TokenBudget,
    reserved: usize,
    counter: &dyn TokenCounter,
) -> Result<Vec<Fitted>, PromptError> {
    let fitting = Fitter { pieces, reserved, counter };
    fitting.within(budget).map_err(|refusal| match refusal {
        PromptError::DoesNotFit { tokens, limit, limit_name, layers } => {
            let tokens = fitting.least_limit(tokens, budget);
            PromptError::DoesNotFit { tokens, limit, limit_name, layers }
        }
        layer_too_large @ PromptError::LayerTooLarge { .. } => layer_too_large,
    })
}

/// The input of fitting, independent of the budget.
struct Fitter<'a> {
    pieces: &'a [Piece],
    reserved: usize,
    counter: &'a dyn TokenCounter,
}

/// Where text that is cut to its minimum may end.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ending {
    /// At the end of a line, for a few tokens more.
    NearLine,
    /// Where it has the fewest tokens.
    Lightest,
}

impl Fitter<'_> {
    /// Prefers cuts at line ends; if the prompt then does not fit, cuts to the token.
    fn within(&self, budget: TokenBudget) -> Result<Vec<Fitted>, PromptError> {
        self.attempt(budget, Ending::NearLine).or_else(|_| self.attempt(budget, Ending::Lightest))
    }

    /// Terminates: each step moves a layer to the menu, which it never leaves; or exhausts a piece, which only such a
    /// move undoes; or brings the total within the limit.
    fn attempt(&self, budget: TokenBudget, ending: Ending) -> Result<Vec<Fitted>, PromptError> {
        let Self { pieces, reserved, counter } = *self;
        let mut counted: Vec<CountedPiece<'_>> = pieces.iter().map(|piece| weigh(piece, counter)).collect();
        set_remaining(&mut counted, budget, reserved, counter);
        for index in 0..counted.len() {
            keep_to_own_limit(&mut counted, index, ending, counter)?;
        }
        let limit = budget.limit();
        // Not always the last total: a line of the menu can have more tokens than its layer.
        let mut lightest = usize::MAX;
        loop {
            let total = reserved + counted.iter().map(CountedPiece::tokens).sum::<usize>();
            lightest = lightest.min(total);
            let Some(over) = total.checked_sub(limit).filter(|over| *over > 0) else {
                return Ok(counted.into_iter().map(CountedPiece::finish).collect());
            };
            let Some(victim) = next_to_shrink(&counted) else {
                return Err(does_not_fit(&counted, lightest, budget));
            };
            let (tokens, least) = (counted[victim].tokens(), counted[victim].piece.layer.fit.min_tokens);
            let wanted = Wanted { tokens: tokens.saturating_sub(over).max(least), least, ending };
            shrink(&mut counted, victim, wanted, counter);
        }
    }

    /// The smallest limit above the budget's under which everything fits. `total` is the size under `budget`. The menu
    /// states the remaining budget, so the total changes slightly with the limit.
    fn least_limit(&self, total: usize, budget: TokenBudget) -> usize {
        let mut needed = total;
        while let Err(PromptError::DoesNotFit { tokens, .. }) = self.within(budget.with_limit(needed)) {
            // Always above the limit that was too small.
            needed = tokens;
        }
        while needed > budget.limit() + 1 && self.within(budget.with_limit(needed - 1)).is_ok() {
            needed -= 1;
        }
        needed
    }
}

fn weigh<'a>(piece: &'a Piece, counter: &dyn TokenCounter) -> CountedPiece<'a> {
    let (text, menu) = match &piece.body {
        Body::Text(body) => (format!("{}{body}", piece.prefix), None),
        Body::Menu(menu) => (String::new(), Some(menu.clone())),
    };
    let tokens = counter.count(&text);
    CountedPiece { piece, menu, fitted: Fitted::In { text, tokens, cut: None }, lines: 0, exhausted: false }
}

/// Sets the menu's remaining budget, after all other pieces are counted.
fn set_remaining(
    counted: &mut [CountedPiece<'_>],
    budget: TokenBudget,
    reserved: usize,
    counter: &dyn TokenCounter,
) {
    let in_prompt = |one: &&CountedPiece<'_>| one.piece.layer.fit.max_tokens != Some(0);
    let others: usize = counted.iter().filter(in_prompt).map(CountedPiece::tokens).sum();
    for one in counted.iter_mut() {
        if let Some(menu) = &mut one.menu {
            menu.remaining = Some(budget.remaining(reserved + others));
            one.fit_menu(usize::MAX, counter);
        }
    }
}

fn keep_to_own_limit(
    counted: &mut [CountedPiece<'_>],
    index: usize,
    ending: Ending,
    counter: &dyn TokenCounter,
) -> Result<(), PromptError> {
    let Some(limit) = counted[index].piece.layer.fit.max_tokens else { return Ok(()) };
    let tokens = counted[index].tokens();
    if tokens <= limit {
        return Ok(());
    }
    let layer = &Arc::clone(&counted[index].piece.layer);
    let too_large = |tokens| PromptError::LayerTooLarge { layer: layer.id.clone(), tokens, limit };
    if layer.fit.overflow == Overflow::Reject {
        return Err(too_large(tokens));
    }
    // If `min_tokens` is not below `max_tokens`, the maximum applies.
    let least = Some(layer.fit.min_tokens).filter(|least| *least < limit).unwrap_or(0);
    shrink(counted, index, Wanted { tokens: limit, least, ending }, counter);
    // An exhausted piece above its limit cannot satisfy it.
    let tokens = counted[index].tokens();
    if tokens > limit { Err(too_large(tokens)) } else { Ok(()) }
}

/// The piece to shorten next: the lowest priority, and the last of those.
fn next_to_shrink(counted: &[CountedPiece<'_>]) -> Option<usize> {
    let may_shrink = |one: &CountedPiece<'_>| {
        let fit = one.piece.layer.fit;
        !one.exhausted
            && one.piece.layer.authority != Authority::Policy
            && fit.overflow != Overflow::Reject
            && one.tokens() > fit.min_tokens
    };
    (0..counted.len())
        .rev()
        .filter(|index| may_shrink(&counted[*index]))
        .min_by_key(|index| counted[*index].piece.layer.fit.priority)
}

/// The target size of a piece.
#[derive(Clone, Copy)]
struct Wanted {
    /// The maximum, if possible.
    tokens: usize,
    /// The minimum when text is cut.
    least: usize,
    /// Where text that is cut to the minimum ends.
    ending: Ending,
}

/// Shortens the piece at `index` to the target, or as far as possible.
fn shrink(counted: &mut [CountedPiece<'_>], index: usize, wanted: Wanted, counter: &dyn TokenCounter) {
    let piece = counted[index].piece;
    match &piece.body {
        Body::Menu(_) => shrink_menu(&mut counted[index], wanted, counter),
        Body::Text(body) if piece.layer.fit.overflow == Overflow::Menu => {
            counted[index].fitted = Fitted::InMenu { tokens: counter.count(body) };
            add_to_menu(counted, index, counter);
        }
        Body::Text(body) => shrink_text(&mut counted[index], body, wanted, counter),
    }
}

fn shrink_menu(one: &mut CountedPiece<'_>, wanted: Wanted, counter: &dyn TokenCounter) {
    one.fit_menu(wanted.tokens, counter);
    one.exhausted = one.tokens() > wanted.tokens || wanted.tokens == wanted.least;
}

/// Cuts the middle of `body`. If no size between the minimum and the target fits, it is cut to the minimum, which may
/// be the marker alone.
fn shrink_text(one: &mut CountedPiece<'_>, body: &str, wanted: Wanted, counter: &dyn TokenCounter) {
    let piece = one.piece;
    let shorten = Shorten {
        prefix: &piece.prefix,
        body,
        limit: wanted.tokens,
        least: wanted.least,
        read_with: piece.read_path.as_deref().map(|path| ReadWith { path }),
        counter,
    };
    let fitting = if wanted.tokens > wanted.least { shorten.head_tail() } else { None };
    one.exhausted = fitting.is_none();
    let smallest = || match wanted.ending {
        Ending::NearLine => shorten.shortest(),
        Ending::Lightest => shorten.lightest(),
    };
    let Some(short) = fitting.or_else(smallest) else { return };
    let text = format!("{}{}", piece.prefix, short.text);
    let tokens = counter.count(&text);
    if tokens < one.tokens() {
        one.fitted = Fitted::In { text, tokens, cut: Some(short.cut) };
    }
}

/// Adds a line for the piece at `moved` to the menu, if this reader has one, and counts the menu again.
fn add_to_menu(counted: &mut [CountedPiece<'_>], moved: usize, counter: &dyn TokenCounter) {
    let piece = counted[moved].piece;
    let Fitted::InMenu { tokens } = counted[moved].fitted else { return };
    let mut entry = MenuEntry {
        path: piece.read_path.clone().unwrap_or_else(|| piece.layer.title.as_str().into()),
        tokens,
        description: Arc::clone(&piece.description),
    };
    for one in counted.iter_mut() {
        if let Some(menu) = &mut one.menu {
            if menu.tools.get && piece.read_path.is_none() {
                entry.description = NOT_LOADABLE.into();
            }
            menu.moved.push(entry);
            // The menu has grown, so it can be shortened again.
            one.exhausted = false;
            let limit = one.piece.layer.fit.max_tokens.unwrap_or(usize::MAX);
            one.fit_menu(limit, counter);
            return;
        }
    }
}

fn does_not_fit(counted: &[CountedPiece<'_>], tokens: usize, budget: TokenBudget) -> PromptError {
    let mut layers: Vec<LayerTokens> = counted
        .iter()
        .filter(|one| one.tokens() > 0)
        .map(|one| LayerTokens { layer: one.piece.layer.id.clone(), tokens: one.tokens() })
        .collect();
    layers.sort_by_key(|weight| std::cmp::Reverse(weight.tokens));
    PromptError::DoesNotFit { tokens, limit: budget.limit(), limit_name: budget.limit_name(), layers }
}
