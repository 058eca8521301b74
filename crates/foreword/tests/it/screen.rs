//! What stands on a terminal after all that was written to it: letters, line ends, and the few moves a line editor makes.

/// The lines of a terminal of so many columns, with everything that has scrolled by.
pub(crate) struct Screen {
    lines: Vec<Vec<char>>,
    row: usize,
    column: usize,
    columns: usize,
}

/// What stands on a screen of `columns` after `text` was written to it.
pub(crate) fn shown(text: &str, columns: usize) -> Vec<String> {
    let mut screen = Screen { lines: vec![Vec::new()], row: 0, column: 0, columns };
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        match c {
            '\u{1b}' => screen.obey(&mut rest),
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

    /// A command behind an escape: only those that begin with `[` are known.
    fn obey(&mut self, rest: &mut impl Iterator<Item = char>) {
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
fn a_screen_shows_what_was_not_taken_back() {
    let check = |text: &str, expected: &[&str]| assert_eq!(shown(text, 10), expected, "{text:?}");
    check("one\r\ntwo", &["one", "two"]);
    check("… 1s\r\u{1b}[2Kthere\r\n", &["there", ""]);
    check("\u{1b}[1malice> \u{1b}[0mhelo\u{1b}[D\u{1b}[Klo", &["alice> hel", "lo"]);
    check("0123456789ab", &["0123456789", "ab"]);
    check("ab\r\ncd\u{1b}[A\r\u{1b}[Jx", &["x"]);
}
