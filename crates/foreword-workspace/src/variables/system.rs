//! `system:time`, `system:date`, `system:os` and `system:hostname`. The time is an argument, so that the same occasion
//! always gives the same text.

use jiff::Timestamp;

use super::VariableValues;
use crate::one_line::one_line;

/// The values of `names`; an unknown name is absent.
///
/// ```
/// use foreword_workspace::variables::system;
/// let now = "2026-11-03T09:05:07.25Z".parse().unwrap();
/// let values = system::values(&["time", "date", "weather"], now);
/// assert_eq!(values["time"].as_deref(), Some("2026-11-03T09:05:07.250Z"));
/// assert_eq!(values["date"].as_deref(), Some("2026-11-03"));
/// assert_eq!(values["weather"], None);
/// ```
#[must_use]
pub fn values(names: &[&str], now: Timestamp) -> VariableValues {
    names.iter().map(|name| ((*name).to_owned(), value(name, now))).collect()
}

fn value(name: &str, now: Timestamp) -> Option<String> {
    match name {
        "time" => Some(now.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()),
        "date" => Some(now.strftime("%Y-%m-%d").to_string()),
        "os" => Some(platform(std::env::consts::OS).to_owned()),
        "hostname" => hostname(),
        _ => None,
    }
}

/// The operating system's name as in Node's `process.platform`, which existing templates expect.
fn platform(os: &str) -> &str {
    match os {
        "macos" | "ios" => "darwin",
        "windows" => "win32",
        "solaris" | "illumos" => "sunos",
        other => other,
    }
}

#[cfg(unix)]
fn hostname() -> Option<String> {
    let name = rustix::system::uname().nodename().to_string_lossy().into_owned();
    (!name.is_empty()).then(|| one_line(&name).into_owned())
}

#[cfg(not(unix))]
fn hostname() -> Option<String> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_requested_variables_are_computed() {
        let now = Timestamp::UNIX_EPOCH;
        assert!(values(&[], now).is_empty());
        assert_eq!(values(&["date"], now).into_keys().collect::<Vec<_>>(), ["date"]);
    }

    #[test]
    fn time_is_iso_8601_utc_with_milliseconds() {
        let time = |text: &str| values(&["time"], text.parse().unwrap())["time"].clone();
        assert_eq!(time("2025-02-11T10:00:00Z").as_deref(), Some("2025-02-11T10:00:00.000Z"));
        assert_eq!(time("2025-02-11T23:30:00.9999-02:00").as_deref(), Some("2025-02-12T01:30:00.999Z"));
    }

    #[test]
    fn platforms_have_the_names_node_gives_them() {
        assert_eq!(
            ["linux", "macos", "windows", "freebsd"].map(platform),
            ["linux", "darwin", "win32", "freebsd"]
        );
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn hostname_is_the_kernels() {
        let kernel = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
        let values = values(&["hostname", "os"], Timestamp::UNIX_EPOCH);
        assert_eq!(values["hostname"].as_deref(), Some(kernel.trim()));
        assert_eq!(values["os"].as_deref(), Some("linux"));
    }
}
