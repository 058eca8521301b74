//! A minimal terminal emulator: text, line ends, and the cursor movements of a line editor.

/// The lines of a terminal with this many columns, including the scrollback.
pub(crate) struct Screen {
    lines: Vec<Vec<char>>,
    row: usize,
    column: usize,
    columns: usize,
}

/// The screen of `columns` after `text` was written to it.
pub(crate) fn screen_lines(text: &str, columns: usize) -> Vec<String> {
    let mut screen = Screen { lines: vec![Vec::new()], row: 0, column: 0, columns };
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        match c {
            '\u{1b}' => screen.handle_escape(&mut rest),
            c => screen.put(c),
        }
    }
    let line = |line: &Vec<char>| line.iter().collect::<String>().trim_end().to_owned();
    screen.lines.iter().map(line).collect()
}

impl Screen {
    fn put(&mut self, c: char) {
        match c {
            '\r' => self.column = 0,
            '\n' => self.down(1),
            '\u{8}' => self.column = self.column.saturating_sub(1),
            c if c.is_control() => {}
            c => {
                if self.column == self.columns {
                    self.column = 0;
                    self.down(1);
                }
                let line = &mut self.lines[self.row];
                line.resize(line.len().max(self.column + 1), ' ');
                line[self.column] = c;
                self.column += 1;
            }
        }
    }

    fn down(&mut self, rows: usize) {
        self.row += rows;
        self.lines.resize_with(self.lines.len().max(self.row + 1), Vec::new);
    }

    /// Handles an escape sequence: only those that start with `[` are supported.
    fn handle_escape(&mut self, rest: &mut impl Iterator<Item = char>) {
        let Some('[') = rest.next() else { return };
        let mut number = String::new();
        let Some(command) = rest.by_ref().find(|c| {
            let last = c.is_ascii_alphabetic();
            number.extend((!last).then_some(*c));
            last
        }) else {
            return;
        };
        let count = number.parse().unwrap_or(1);
        match command {
            'A' => self.row = self.row.saturating_sub(count),
            'B' => self.down(count),
            'C' => self.column = (self.column + count).min(self.columns),
            'D' => self.column = self.column.saturating_sub(count),
            'K' if number == "2" => self.lines[self.row].clear(),
            'K' => self.lines[self.row].truncate(self.column),
            'J' => {
                self.lines[self.row].truncate(self.column);
                self.lines.truncate(self.row + 1);
            }
            _ => {}
        }
    }
}

#[test]
fn screen_omits_erased_text() {
    let check = |text: &str, expected: &[&str]| assert_eq!(screen_lines(text, 10), expected, "{text:?}");
    check("one\r\ntwo", &["one", "two"]);
    check("… 1s\r\u{1b}[2Kthere\r\n", &["there", ""]);
    check("\u{1b}[1malice> \u{1b}[0mhelo\u{1b}[D\u{1b}[Klo", &["alice> hel", "lo"]);
    check("0123456789ab", &["0123456789", "ab"]);
    check("ab\r\ncd\u{1b}[A\r\u{1b}[Jx", &["x"]);
}
