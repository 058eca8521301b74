//! Makes the pieces of a prompt fit: each layer its own limit first, then the whole, the lowest priority first. Every
//! cut is recorded; policy is never cut. Headings, separators and markers count.

use std::sync::Arc;

use crate::cut::{Cut, ReadWith, Shorten, largest_that_fits};
use crate::error::{PromptError, Weight};
use crate::layer::{Authority, Layer, Overflow};
use crate::menu::{Menu, MenuEntry};
use crate::tokens::TokenCounter;

/// What a menu that offers to load its lines says of one that can't be.
const NOT_LOADABLE: &str = "did not fit and can't be loaded";

/// How much a prompt may weigh.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    /// What the owner allows.
    pub tokens: usize,
    /// What the model can hold, if that is known.
    pub window: Option<usize>,
    /// What the conversation so far takes up of it.
    pub history: usize,
}

impl Budget {
    /// What counts: the smaller of the two.
    #[must_use]
    pub fn limit(self) -> usize {
        self.window.map_or(self.tokens, |window| window.min(self.tokens))
    }

    /// What is left for loading memories once a prompt of `prompt` tokens and the history are in.
    fn remaining(self, prompt: usize) -> usize {
        self.window
            .unwrap_or(self.tokens)
            .saturating_sub(prompt.min(self.limit()))
            .saturating_sub(self.history)
    }

    /// The same with another limit: what counts now is moved there, and the other out of its way.
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

/// The text of a piece, by how it can be made smaller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Body {
    /// Text whose middle can be cut out.
    Text(Arc<str>),
    /// A menu that can show fewer lines.
    Menu(Menu),
}

/// A layer's text on its way into the prompt.
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

/// What became of a piece.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fitted {
    /// In the prompt, whole or cut.
    In {
        /// Prefix and text.
        text: String,
        /// What it weighs.
        tokens: usize,
        /// What was cut out, if anything was.
        cut: Option<Cut>,
    },
    /// A line of the menu now.
    InMenu {
        /// What loading it costs.
        tokens: usize,
    },
}

/// The state of one piece while the budget is being made.
struct Weighed<'a> {
    piece: &'a Piece,
    /// The menu with what is known of it by now, if the piece is one.
    menu: Option<Menu>,
    fitted: Fitted,
    /// Whether it is as small as it can be.
    exhausted: bool,
}

impl Weighed<'_> {
    fn tokens(&self) -> usize {
        match self.fitted {
            Fitted::In { tokens, .. } => tokens,
            Fitted::InMenu { .. } => 0,
        }
    }
}

/// What becomes of each piece under `budget`, of which `reserved` tokens are for what stands around the pieces.
///
/// # Errors
/// If a layer that may not be cut is too large, or the whole does not fit after everything that may be cut was.
pub fn fit(
    pieces: &[Piece],
    budget: Budget,
    reserved: usize,
    counter: &dyn TokenCounter,
) -> Result<Vec<Fitted>, PromptError> {
    let fitting = Fitting { pieces, reserved, counter };
    fitting.within(budget).map_err(|refusal| match refusal {
        PromptError::DoesNotFit { tokens, limit, limit_name, layers } => {
            let tokens = fitting.least_limit(tokens, budget);
            PromptError::DoesNotFit { tokens, limit, limit_name, layers }
        }
        layer_too_large @ PromptError::LayerTooLarge { .. } => layer_too_large,
    })
}

/// What is to fit, whatever the budget.
struct Fitting<'a> {
    pieces: &'a [Piece],
    reserved: usize,
    counter: &'a dyn TokenCounter,
}

/// Where text that is cut down to the least it must keep may end.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ending {
    /// At the end of a line, for a few tokens more.
    NearLine,
    /// Wherever it weighs least.
    Lightest,
}

impl Fitting<'_> {
    /// Whole lines are worth a few tokens, but not a refusal: where they make one, everything is cut to the token.
    fn within(&self, budget: Budget) -> Result<Vec<Fitted>, PromptError> {
        self.attempt(budget, Ending::NearLine).or_else(|_| self.attempt(budget, Ending::Lightest))
    }

    /// Each step of the loop moves a layer to the menu, which none leaves; or exhausts a piece, which only such a move
    /// undoes; or brings the total within the limit. So it ends.
    fn attempt(&self, budget: Budget, ending: Ending) -> Result<Vec<Fitted>, PromptError> {
        let Self { pieces, reserved, counter } = *self;
        let mut weighed: Vec<Weighed<'_>> = pieces.iter().map(|piece| weigh(piece, counter)).collect();
        price_the_rest(&mut weighed, budget, reserved, counter);
        for index in 0..weighed.len() {
            keep_to_own_limit(&mut weighed, index, ending, counter)?;
        }
        let limit = budget.limit();
        // Not always the last total: a line of the menu can weigh more than the layer it stands for.
        let mut lightest = usize::MAX;
        loop {
            let total = reserved + weighed.iter().map(Weighed::tokens).sum::<usize>();
            lightest = lightest.min(total);
            let Some(over) = total.checked_sub(limit).filter(|over| *over > 0) else {
                return Ok(weighed.into_iter().map(|one| one.fitted).collect());
            };
            let Some(victim) = next_victim(&weighed) else {
                return Err(does_not_fit(&weighed, lightest, budget));
            };
            let (tokens, least) = (weighed[victim].tokens(), weighed[victim].piece.layer.fit.min_tokens);
            let wanted = Wanted { tokens: tokens.saturating_sub(over).max(least), least, ending };
            shrink(&mut weighed, victim, wanted, counter);
        }
    }

    /// The smallest limit above the budget's under which everything fits. `told` is what it came to under `budget`; the
    /// menu tells what remains of the budget, so under another limit it can come to a little more or less.
    fn least_limit(&self, told: usize, budget: Budget) -> usize {
        let mut needed = told;
        while let Err(PromptError::DoesNotFit { tokens, .. }) = self.within(budget.with_limit(needed)) {
            // Always more than the limit that was too small.
            needed = tokens;
        }
        while needed > budget.limit() + 1 && self.within(budget.with_limit(needed - 1)).is_ok() {
            needed -= 1;
        }
        needed
    }
}

fn weigh<'a>(piece: &'a Piece, counter: &dyn TokenCounter) -> Weighed<'a> {
    let (text, menu) = match &piece.body {
        Body::Text(body) => (format!("{}{body}", piece.prefix), None),
        Body::Menu(menu) => (String::new(), Some(menu.clone())),
    };
    let tokens = counter.count(&text);
    Weighed { piece, menu, fitted: Fitted::In { text, tokens, cut: None }, exhausted: false }
}

/// Tells the menu how much can still be loaded, which is known once everything else has been weighed.
fn price_the_rest(weighed: &mut [Weighed<'_>], budget: Budget, reserved: usize, counter: &dyn TokenCounter) {
    let in_prompt = |one: &&Weighed<'_>| one.piece.layer.fit.max_tokens != Some(0);
    let others: usize = weighed.iter().filter(in_prompt).map(Weighed::tokens).sum();
    for one in weighed.iter_mut() {
        if let Some(menu) = &mut one.menu {
            menu.remaining = Some(budget.remaining(reserved + others));
            one.fitted = menu_within(one.piece, menu, usize::MAX, counter);
        }
    }
}

fn keep_to_own_limit(
    weighed: &mut [Weighed<'_>],
    index: usize,
    ending: Ending,
    counter: &dyn TokenCounter,
) -> Result<(), PromptError> {
    let Some(limit) = weighed[index].piece.layer.fit.max_tokens else { return Ok(()) };
    let tokens = weighed[index].tokens();
    if tokens <= limit {
        return Ok(());
    }
    let layer = &Arc::clone(&weighed[index].piece.layer);
    let too_large = |tokens| PromptError::LayerTooLarge { layer: layer.id.clone(), tokens, limit };
    if layer.fit.overflow == Overflow::Reject {
        return Err(too_large(tokens));
    }
    // A layer that may have no more than it must have can't be held to both: the limit counts.
    let least = Some(layer.fit.min_tokens).filter(|least| *least < limit).unwrap_or(0);
    shrink(weighed, index, Wanted { tokens: limit, least, ending }, counter);
    // A piece that got as small as it can be and is still over its limit has no form that obeys it.
    let tokens = weighed[index].tokens();
    if tokens > limit { Err(too_large(tokens)) } else { Ok(()) }
}

/// The piece to make smaller next: the lowest priority, and of those the last.
fn next_victim(weighed: &[Weighed<'_>]) -> Option<usize> {
    let may_shrink = |one: &Weighed<'_>| {
        let fit = one.piece.layer.fit;
        !one.exhausted
            && one.piece.layer.authority != Authority::Policy
            && fit.overflow != Overflow::Reject
            && one.tokens() > fit.min_tokens
    };
    (0..weighed.len())
        .rev()
        .filter(|index| may_shrink(&weighed[*index]))
        .min_by_key(|index| weighed[*index].piece.layer.fit.priority)
}

/// The size a piece is to be brought to.
#[derive(Clone, Copy)]
struct Wanted {
    /// At most this, if it can be done.
    tokens: usize,
    /// Never less than this, if text is cut for it.
    least: usize,
    /// Where text ends that is cut to the least.
    ending: Ending,
}

/// Makes the piece at `index` weigh what is wanted, or as little as it can.
fn shrink(weighed: &mut [Weighed<'_>], index: usize, wanted: Wanted, counter: &dyn TokenCounter) {
    let piece = weighed[index].piece;
    match &piece.body {
        Body::Menu(_) => shrink_menu(&mut weighed[index], wanted, counter),
        Body::Text(body) if piece.layer.fit.overflow == Overflow::Menu => {
            weighed[index].fitted = Fitted::InMenu { tokens: counter.count(body) };
            add_to_menu(weighed, index, counter);
        }
        Body::Text(body) => shrink_text(&mut weighed[index], body, wanted, counter),
    }
}

fn shrink_menu(one: &mut Weighed<'_>, wanted: Wanted, counter: &dyn TokenCounter) {
    if let Some(menu) = &one.menu {
        one.fitted = menu_within(one.piece, menu, wanted.tokens, counter);
    }
    one.exhausted = one.tokens() > wanted.tokens || wanted.tokens == wanted.least;
}

/// Cuts the middle out of `body`. Where nothing between the least and what is wanted fits, the least is as small as it
/// gets, and that may be the marker alone.
fn shrink_text(one: &mut Weighed<'_>, body: &str, wanted: Wanted, counter: &dyn TokenCounter) {
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

/// Gives the piece at `moved` a line in the menu, if this person has one, and weighs the menu again.
fn add_to_menu(weighed: &mut [Weighed<'_>], moved: usize, counter: &dyn TokenCounter) {
    let piece = weighed[moved].piece;
    let Fitted::InMenu { tokens } = weighed[moved].fitted else { return };
    let mut entry = MenuEntry {
        path: piece.read_path.clone().unwrap_or_else(|| piece.layer.title.as_str().into()),
        tokens,
        description: Arc::clone(&piece.description),
    };
    for one in weighed.iter_mut() {
        if let Some(menu) = &mut one.menu {
            if menu.tools.get && piece.read_path.is_none() {
                entry.description = NOT_LOADABLE.into();
            }
            menu.moved.push(entry);
            // It has grown, so there is something to take away again.
            one.exhausted = false;
            let limit = one.piece.layer.fit.max_tokens.unwrap_or(usize::MAX);
            one.fitted = menu_within(one.piece, menu, limit, counter);
            return;
        }
    }
}

/// The menu with as many lines as `limit` allows, and at least one.
fn menu_within(piece: &Piece, menu: &Menu, limit: usize, counter: &dyn TokenCounter) -> Fitted {
    if menu.is_empty() {
        return Fitted::In { text: String::new(), tokens: 0, cut: None };
    }
    let shown = |lines: usize| format!("{}{}", piece.prefix, menu.render(lines));
    let whole = shown(menu.len());
    let tokens_before = counter.count(&whole);
    if tokens_before <= limit {
        return Fitted::In { text: whole, tokens: tokens_before, cut: None };
    }
    // A line weighs more than a token, so no more than `limit` of them are worth trying.
    let most = (menu.len() - 1).min(limit.max(1));
    let lines = largest_that_fits(1..=most, |lines| counter.count(&shown(lines)) <= limit).unwrap_or(1);
    let text = shown(lines);
    let tokens = counter.count(&text);
    // The line that says how many are left out can weigh more than they do.
    if tokens >= tokens_before {
        return Fitted::In { text: whole, tokens: tokens_before, cut: None };
    }
    let cut = Cut { first_line: lines + 1, lines: menu.len() - lines, tokens_before };
    Fitted::In { tokens, text, cut: (lines < menu.len()).then_some(cut) }
}

fn does_not_fit(weighed: &[Weighed<'_>], tokens: usize, budget: Budget) -> PromptError {
    let mut layers: Vec<Weight> = weighed
        .iter()
        .filter(|one| one.tokens() > 0)
        .map(|one| Weight { layer: one.piece.layer.id.clone(), tokens: one.tokens() })
        .collect();
    layers.sort_by_key(|weight| std::cmp::Reverse(weight.tokens));
    PromptError::DoesNotFit { tokens, limit: budget.limit(), limit_name: budget.limit_name(), layers }
}
