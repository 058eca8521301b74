//! Section `conversations`: limits for conversation settings.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_saphyr::Spanned;

use super::parse::ConfigParser;

/// Limits for conversation settings.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RawConversations {
    /// Directories besides the workspace that a conversation's working directory may be in: absolute paths, or paths
    /// that begin with `~/`. Default: none.
    #[schemars(with = "Vec<String>")]
    pub cwd_roots: Vec<Spanned<String>>,
}

impl ConfigParser<'_> {
    pub(super) fn cwd_roots(&mut self, raw: &RawConversations) -> Vec<String> {
        for root in &raw.cwd_roots {
            let path = &root.value;
            let is_whole = path.starts_with('/') || path.starts_with("~/");
            if !is_whole || path.split('/').any(|part| part == "..") || path.contains('\0') {
                let message =
                    format!("`conversations.cwd_roots`: `{}` is not an absolute path", path.escape_debug());
                let help = "write the whole path from `/` or `~/`, without `..`".to_owned();
                self.refuse(root.defined, message, help);
            }
        }
        raw.cwd_roots.iter().map(|root| root.value.clone()).collect()
    }
}

#[cfg(test)]
mod tests {
    use crate::config::Config;

    #[test]
    fn cwd_roots_are_absolute_or_below_the_home_directory() {
        let roots = |list: &str| {
            let text = format!("conversations: {{ cwd_roots: [{list}] }}");
            Config::parse("foreword.yaml", &text).map(|config| config.cwd_roots)
        };
        assert_eq!(roots("/srv/code, ~/code").unwrap(), ["/srv/code", "~/code"]);
        for bad in ["code", "\"~\"", "~bob/code", "/srv/../etc"] {
            let problems = roots(bad).unwrap_err();
            assert!(problems[0].message.contains("not an absolute path"), "{bad}: {problems:?}");
        }
        assert!(Config::defaults().unwrap().cwd_roots.is_empty());
    }
}
