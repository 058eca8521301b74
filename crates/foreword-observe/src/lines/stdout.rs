//! Standard output as a line writer. A closed pipe is not an error.

use std::io::{self, ErrorKind, Write as _};

use super::queue::{LineWriter, Unwritten};

/// Standard output.
#[derive(Debug, Default)]
pub struct Stdout(());

impl LineWriter for Stdout {
    fn write(&mut self, lines: &[String]) -> Result<(), Unwritten> {
        let mut out = io::stdout().lock();
        match out.write_all(lines.concat().as_bytes()).and_then(|()| out.flush()) {
            Err(reason) if reason.kind() != ErrorKind::BrokenPipe => {
                Err(Unwritten { lines: lines.len(), reason })
            }
            _ => Ok(()),
        }
    }
}
