//! Fits the memory menu into a number of tokens. The menu can list a hundred thousand files, so its size at a number of
//! lines is computed from the units of its lines. Renders nothing.

use std::borrow::Cow;

use crate::cut::{Cut, largest_that_fits};
use crate::menu::{Menu, MenuEntry, sums_of};
use crate::tokens::TokenCounter;

/// A fitted menu.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct MenuFit {
    /// How many lines it shows.
    pub(crate) lines: usize,
    /// Its tokens.
    pub(crate) tokens: usize,
    /// The omitted lines, if any.
    pub(crate) cut: Option<Cut>,
}

/// The menu after `prefix`, with as many lines as `limit` allows, at least one. An empty menu has no text.
pub(crate) fn menu_within(prefix: &str, menu: &Menu, limit: usize, counter: &dyn TokenCounter) -> MenuFit {
    if menu.is_empty() {
        return MenuFit { lines: 0, tokens: 0, cut: None };
    }
    let size = MenuSize::new(prefix, menu, counter);
    let tokens_before = size.at(menu.len());
    let whole = MenuFit { lines: menu.len(), tokens: tokens_before, cut: None };
    if tokens_before <= limit {
        return whole;
    }
    // A line has more than one token, so at most `limit` lines are worth trying.
    let most = (menu.len() - 1).min(limit.max(1));
    let lines = largest_that_fits(1..=most, |lines| size.at(lines) <= limit).unwrap_or(1);
    let tokens = size.at(lines);
    // The line with the number of omitted entries can have more tokens than the entries.
    if tokens >= tokens_before {
        return whole;
    }
    let cut = Cut { first_line: lines + 1, lines: menu.len() - lines, tokens_before };
    MenuFit { lines, tokens, cut: Some(cut) }
}

/// The tokens of a menu by its number of lines.
struct MenuSize<'a> {
    menu: &'a Menu,
    counter: &'a dyn TokenCounter,
    /// The units of everything before the first line.
    head: u64,
    /// The units of the first lines, by their number.
    moved: Vec<u64>,
    entries: Cow<'a, [u64]>,
}

impl<'a> MenuSize<'a> {
    fn new(prefix: &str, menu: &'a Menu, counter: &'a dyn TokenCounter) -> Self {
        let head = counter.units(&format!("{prefix}{}\n", menu.title()));
        let (moved, entries) = (sums_of(&menu.moved, counter), menu.entries.sums(counter));
        Self { menu, counter, head, moved, entries }
    }

    /// The tokens with `lines` lines, at least one. The last line is counted together with the text after it: units add
    /// up only where the next text is a line.
    fn at(&self, lines: usize) -> usize {
        let before = lines.clamp(1, self.menu.len()) - 1;
        let mut end = String::new();
        if let Some(last) = self.entry(before) {
            last.write_line(&mut end);
        }
        self.menu.write_end(lines, &mut end);
        self.counter.tokens_of(self.head + self.units_of_first(before) + self.counter.units(&end))
    }

    fn entry(&self, index: usize) -> Option<&MenuEntry> {
        let moved = self.menu.moved.len();
        if index < moved { self.menu.moved.get(index) } else { self.menu.entries.get(index - moved) }
    }

    fn units_of_first(&self, lines: usize) -> u64 {
        let moved = lines.min(self.menu.moved.len());
        self.moved[moved] + self.entries[lines - moved]
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proptest::prelude::*;
    use proptest::sample::select;

    use super::*;
    use crate::menu::{MemoryTools, MenuLines};
    use crate::tokens::Tokenizer;
    use crate::trust::Trust;

    /// Renders and counts the whole menu for each number of lines.
    fn by_rendering(prefix: &str, menu: &Menu, limit: usize, counter: &dyn TokenCounter) -> MenuFit {
        if menu.is_empty() {
            return MenuFit { lines: 0, tokens: 0, cut: None };
        }
        let at = |lines: usize| counter.count(&format!("{prefix}{}", menu.render(lines)));
        let tokens_before = at(menu.len());
        let most = (menu.len() - 1).min(limit.max(1));
        let lines = largest_that_fits(1..=most, |lines| at(lines) <= limit).unwrap_or(1);
        let tokens = at(lines);
        if tokens_before <= limit || tokens >= tokens_before {
            return MenuFit { lines: menu.len(), tokens: tokens_before, cut: None };
        }
        let cut = Cut { first_line: lines + 1, lines: menu.len() - lines, tokens_before };
        MenuFit { lines, tokens, cut: Some(cut) }
    }

    prop_compose! {
        fn any_entry()(
            path in "[a-z/ .\\-\n\r\t日é'0-9]{0,12}",
            tokens in select(vec![0usize, 7, 950, 12_345]),
            description in "[A-Za-z .,/\\-\n\r\t—…日é🙂'0-9]{0,24}",
        ) -> MenuEntry {
            MenuEntry { path: path.into(), tokens, description: description.into() }
        }
    }

    prop_compose! {
        fn any_menu()(
            entries in proptest::collection::vec(any_entry(), 0..30),
            moved in proptest::collection::vec(any_entry(), 0..4),
            remaining in proptest::option::of(0usize..3_000),
            search in any::<bool>(),
            get in any::<bool>(),
            counted_with in select(Tokenizer::ALL.to_vec()),
        ) -> Menu {
            let entries = Arc::new(MenuLines::new(entries, counted_with.get()));
            Menu { trust: Trust::Inner, entries, moved, remaining, tools: MemoryTools { search, get } }
        }
    }

    proptest! {
        #[test]
        fn fitted_menu_equals_one_fitted_by_rendering(
            menu in any_menu(),
            prefix in select(vec!["", "\n\n", "\n\n---\n\n", "\n\n# Memory\n\n", "a- \n"]),
            limit in prop_oneof![0usize..80, 0usize..1_000, Just(usize::MAX)],
        ) {
            for counter in Tokenizer::ALL.map(Tokenizer::get) {
                prop_assert_eq!(
                    menu_within(prefix, &menu, limit, counter),
                    by_rendering(prefix, &menu, limit, counter)
                );
            }
        }
    }
}
