//! The names of external tools for the model: server, two underscores, tool. Providers accept 64 characters of letters,
//! digits, `_` and `-`; other names are mapped deterministically.

use foreword_prompt::text::ContentHash;

/// The separator between the server's name and the tool's.
pub const SEPARATOR: &str = "__";
/// The maximum length of a tool name.
const MAX_NAME_CHARS: usize = 64;
/// The maximum length of a server name.
const MAX_SERVER_NAME_CHARS: usize = 20;
/// The length of the hash that distinguishes mapped names.
const HASH_CHARS: usize = 8;

/// Whether `name` is a valid server name: up to twenty of `a` to `z`, `0` to `9` and `-`.
///
/// ```
/// use foreword_core::tools::outside::is_server_name;
/// assert!(is_server_name("files-2") && !is_server_name("Files") && !is_server_name("my_files"));
/// ```
#[must_use]
pub fn is_server_name(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    !name.is_empty() && name.len() <= MAX_SERVER_NAME_CHARS && name.bytes().all(plain)
}

/// The model's name for the tool `tool` of `server`; `None` if it is empty.
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
    let room = MAX_NAME_CHARS.saturating_sub(server.len() + SEPARATOR.len());
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    if tool.len() <= room && tool.chars().all(is_plain) {
        return Some(format!("{server}{SEPARATOR}{tool}"));
    }
    // The hash keeps names distinct that differ only in replaced or truncated characters.
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
        fn mapped_names_are_valid(server in "[a-z0-9-]{1,20}", tool in "(\\PC|[a-z]|\n){0,120}") {
            let Some(name) = outside_name(&server, &tool) else {
                prop_assert!(tool.trim().is_empty());
                return Ok(());
            };
            let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
            prop_assert!(name.len() <= MAX_NAME_CHARS && name.chars().all(plain), "{}", name);
            let prefix = format!("{server}__");
            prop_assert!(name.starts_with(&prefix));
        }
    }

    #[test]
    fn mapped_names_stay_distinct() {
        let long = "x".repeat(100);
        let names =
            ["a b", "a!b", &format!("{long}1"), &format!("{long}2")].map(|name| outside_name("s", name));
        let different: std::collections::BTreeSet<_> = names.iter().collect();
        assert_eq!(different.len(), 4, "{names:?}");
    }
}
