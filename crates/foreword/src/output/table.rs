//! A plain text table: each column is as wide as its widest cell, without colour codes.

use super::{DIM, styled};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Align {
    Left,
    Right,
}

enum Line {
    Cells(Vec<String>),
    Rule(String),
}

pub(crate) struct Table {
    columns: Vec<(String, Align)>,
    header: bool,
    lines: Vec<Line>,
}

impl Table {
    pub(crate) fn new(columns: &[(&str, Align)]) -> Self {
        let columns = columns.iter().map(|(name, align)| ((*name).to_owned(), *align)).collect();
        Self { columns, header: true, lines: Vec::new() }
    }

    pub(crate) fn without_header(self) -> Self {
        Self { header: false, ..self }
    }

    pub(crate) fn row(&mut self, cells: Vec<String>) {
        self.lines.push(Line::Cells(cells));
    }

    /// A line across the table.
    pub(crate) fn rule(&mut self, text: &str) {
        self.lines.push(Line::Rule(text.to_owned()));
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    pub(crate) fn render(&self) -> String {
        let widths: Vec<usize> = (0..self.columns.len()).map(|column| self.width(column)).collect();
        let mut out = Vec::new();
        if self.header {
            let names: Vec<String> = self.columns.iter().map(|(name, _)| name.clone()).collect();
            out.push(styled(DIM, self.cells(&names, &widths)));
        }
        for line in &self.lines {
            out.push(match line {
                Line::Cells(cells) => self.cells(cells, &widths),
                Line::Rule(text) => format!("  {} {text}", styled(DIM, "──")),
            });
        }
        out.join("\n")
    }

    fn cells(&self, cells: &[String], widths: &[usize]) -> String {
        let padded = cells.iter().zip(widths).zip(&self.columns).map(|((cell, width), (_, align))| {
            let room = " ".repeat(width.saturating_sub(visible(cell)));
            match align {
                Align::Left => format!("{cell}{room}"),
                Align::Right => format!("{room}{cell}"),
            }
        });
        format!("  {}", padded.collect::<Vec<_>>().join("  ")).trim_end().to_owned()
    }

    fn width(&self, column: usize) -> usize {
        let header = if self.header { self.columns[column].0.chars().count() } else { 0 };
        let cell = |line: &Line| match line {
            Line::Cells(cells) => cells.get(column).map_or(0, |cell| visible(cell)),
            Line::Rule(_) => 0,
        };
        self.lines.iter().map(cell).max().unwrap_or(0).max(header)
    }
}

/// The number of visible characters, without colour codes.
fn visible(text: &str) -> usize {
    anstream::adapter::strip_str(text).to_string().chars().count()
}
