//! Refuses the configured state command where there are no process groups, as on Windows: a command that hangs could
//! not be ended with all that it started.

use std::path::Path;
use std::time::Duration;

pub(super) async fn output(
    _words: &[String],
    _directory: &Path,
    _timeout: Duration,
) -> Result<String, String> {
    Err("a state command needs a Unix system; use `file` instead".to_owned())
}
