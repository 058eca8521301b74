//! The name a model calls a tool from elsewhere by: the server's, two underscores, the tool's. Providers take 64 characters of
//! letters, digits, `_` and `-`; whatever else a server calls its tools is mapped, always in the same way.

use foreword_prompt::text::ContentHash;

/// What stands between the server's name and the tool's.
pub const SEPARATOR: &str = "__";
/// The longest name a provider takes.
const LONGEST: usize = 64;
/// The longest name of a server.
const LONGEST_SERVER: usize = 20;
/// How much of a hash tells mapped names apart.
const HASH_CHARS: usize = 8;

/// Whether `name` can be a server's: up to twenty of `a` to `z`, `0` to `9` and `-`.
///
/// ```
/// use foreword_core::tools::outside::is_server_name;
/// assert!(is_server_name("files-2") && !is_server_name("Files") && !is_server_name("my_files"));
/// ```
#[must_use]
pub fn is_server_name(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    !name.is_empty() && name.len() <= LONGEST_SERVER && name.bytes().all(plain)
}

/// What a model calls the tool `tool` of `server`; `None` if it has no name.
///
/// ```
/// use foreword_core::tools::outside::outside_name;
/// assert_eq!(outside_name("files", "read_file").as_deref(), Some("files__read_file"));
/// let mapped = outside_name("files", "read file!").unwrap();
/// assert!(mapped.starts_with("files__read_file__"), "{mapped}");
/// assert_eq!(outside_name("files", "read file!"), Some(mapped));
/// ```
#[must_use]
pub fn outside_name(server: &str, tool: &str) -> Option<String> {
    if tool.trim().is_empty() {
        return None;
    }
    let room = LONGEST.saturating_sub(server.len() + SEPARATOR.len());
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    if tool.len() <= room && tool.chars().all(is_plain) {
        return Some(format!("{server}{SEPARATOR}{tool}"));
    }
    // Two names that differ only in what is replaced or cut stay two names.
    let hash: String =
        ContentHash::of(tool).to_string().chars().filter(char::is_ascii_alphanumeric).collect();
    let hash = &hash[hash.len().saturating_sub(HASH_CHARS)..];
    let kept = tool.chars().take(room.saturating_sub(HASH_CHARS + 1));
    let mapped: String = kept.map(|c| if is_plain(c) { c } else { '_' }).collect();
    Some(format!("{server}{SEPARATOR}{mapped}_{hash}"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_name_is_one_that_providers_take(server in "[a-z0-9-]{1,20}", tool in "(\\PC|[a-z]|\n){0,120}") {
            let Some(name) = outside_name(&server, &tool) else {
                prop_assert!(tool.trim().is_empty());
                return Ok(());
            };
            let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
            prop_assert!(name.len() <= LONGEST && name.chars().all(plain), "{}", name);
            let prefix = format!("{server}__");
            prop_assert!(name.starts_with(&prefix));
        }
    }

    #[test]
    fn names_that_differ_where_they_are_cut_or_replaced_stay_different() {
        let long = "x".repeat(100);
        let names =
            ["a b", "a!b", &format!("{long}1"), &format!("{long}2")].map(|name| outside_name("s", name));
        let different: std::collections::BTreeSet<_> = names.iter().collect();
        assert_eq!(different.len(), 4, "{names:?}");
    }
}
