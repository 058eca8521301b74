//! Guesses the intended tag of a malformed one, and whether it was intended as a tag. Guesses only affect warnings,
//! never the output.

use super::catalog::{KINDS, is_known_kind, kinds_with_name, names_of};
use super::variable::split_variable;
use crate::diagnostic::did_you_mean;

/// A malformed control tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Misspelling {
    /// `[if readme]`: the condition is not a `type:name`.
    ConditionWithoutVariable,
    /// `[IF file:A]`.
    If,
    /// `[els]`, `[ELSE]`.
    Else,
    /// `[end if]`, `[/if]`.
    EndIf,
    /// `[elif file:A]`, `[else if file:A]`.
    ElseIf,
    /// `[file:]`.
    EmptyName,
    /// `[file : A]`.
    SpaceBeforeColon,
}

/// The probable meaning of a body that is not a tag. Must return `None` for prose in brackets.
pub(super) fn misspelling(body: &str) -> Option<Misspelling> {
    if body.len() > 200 {
        return None;
    }
    let first = body.split_whitespace().next()?;
    let rest = body[first.len()..].trim();
    let word = first.to_lowercase();
    match word.as_str() {
        "if" if first == "if" => {
            // `[if you like]` is prose.
            let one_word = !rest.contains(char::is_whitespace);
            return (one_word || rest.contains(':')).then_some(Misspelling::ConditionWithoutVariable);
        }
        "if" => return is_condition(rest).then_some(Misspelling::If),
        "elif" | "elsif" | "elseif" if is_condition(rest) => return Some(Misspelling::ElseIf),
        "else" => match rest.split_once(char::is_whitespace) {
            Some((next, condition)) if next.eq_ignore_ascii_case("if") && is_condition(condition) => {
                return Some(Misspelling::ElseIf);
            }
            _ if is_condition(rest) => return Some(Misspelling::Else),
            _ => {}
        },
        "endif" if is_condition(rest) => return Some(Misspelling::EndIf),
        _ => {}
    }
    match body.split_once(':') {
        Some((kind, name)) if is_known_kind(kind.trim_end()) => Some(match name.trim() {
            "" => Misspelling::EmptyName,
            _ => Misspelling::SpaceBeforeColon,
        }),
        _ => near_else_or_endif(body),
    }
}

/// Whether a body without `]` was certainly intended as a tag.
pub(super) fn opens_a_known_tag(body: &str) -> bool {
    let condition = body.strip_prefix("if").filter(|rest| rest.starts_with(char::is_whitespace));
    let variable = condition.map_or(body, |rest| rest.trim_start().trim_start_matches('!').trim_start());
    matches!(body, "else" | "endif") || variable.split_once(':').is_some_and(|(kind, _)| is_known_kind(kind))
}

/// The probable variable for `kind:name` of an unknown type.
pub(super) fn instead_of_type(kind: &str, name: &str) -> Option<(&'static str, String)> {
    let kind = near_kind(kind).or_else(|| kinds_with_name(name).next())?;
    Some((kind, name.to_owned()))
}

/// The probable variable for `kind:name` of a known type without this name.
pub(super) fn instead_of_name(kind: &str, name: &str) -> Option<(&'static str, String)> {
    if let Some(other) = kinds_with_name(name).next() {
        return Some((other, name.to_owned()));
    }
    let known = KINDS.into_iter().find(|known| *known == kind)?;
    let near = (name.len() <= 40).then(|| did_you_mean(name, names_of(known))).flatten()?;
    Some((known, near.to_owned()))
}

/// Whether `[kind:name]` of an unknown type was probably intended as a tag. `before` and `after` are the adjacent
/// texts. Links, addresses, times, slices and `[NOTE: …]` are not tags.
pub(super) fn looks_like_a_tag(kind: &str, name_as_written: &str, before: &str, after: &str) -> bool {
    if after.starts_with('(') || name_as_written.starts_with(char::is_whitespace) {
        return false;
    }
    if near_kind(kind).is_some() {
        return true;
    }
    let is_word = kind.starts_with(|first: char| first.is_ascii_lowercase())
        && kind.chars().all(|char| char.is_ascii_lowercase() || char.is_ascii_digit() || "_-".contains(char));
    let is_address = name_as_written.starts_with("//") || is_ipv6(kind, name_as_written);
    let is_slice = before.ends_with(|last: char| last.is_alphanumeric() || "_])".contains(last));
    let is_reference = after.starts_with([':', '[']);
    is_word && !is_address && !is_slice && !is_reference
}

fn is_ipv6(kind: &str, name: &str) -> bool {
    let is_group = |char: char| char.is_ascii_hexdigit() || char == ':';
    name.contains(':') && kind.chars().chain(name.chars()).all(|char| is_group(char) || ".%/".contains(char))
}

/// The known type within an edit distance of one or two. Short types allow only one.
fn near_kind(kind: &str) -> Option<&'static str> {
    if !(2..=10).contains(&kind.len()) {
        return None;
    }
    let near = did_you_mean(kind, KINDS)?;
    (strsim::damerau_levenshtein(&kind.to_lowercase(), near) <= near.len() / 3).then_some(near)
}

fn is_condition(text: &str) -> bool {
    split_variable(text.strip_prefix('!').unwrap_or(text).trim_start()).is_some()
}

fn near_else_or_endif(body: &str) -> Option<Misspelling> {
    if body == "/if" {
        return Some(Misspelling::EndIf);
    }
    if body.len() > 8 {
        return None;
    }
    let letters: String = body.to_lowercase().chars().filter(|char| char.is_alphabetic()).collect();
    let is_near = |word| strsim::damerau_levenshtein(&letters, word) <= 1;
    if is_near("else") {
        return Some(Misspelling::Else);
    }
    is_near("endif").then_some(Misspelling::EndIf)
}
