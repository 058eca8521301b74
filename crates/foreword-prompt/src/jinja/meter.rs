//! Counts what a rendering builds and examines, and stops it at the limits. Fuel alone is not enough: one step can
//! double a string. Every text is charged before or while it is built.

use std::fmt::{self, Write as _};

use minijinja::value::ValueKind;
use minijinja::{AutoEscape, Error, ErrorKind, Output, State, Value};

use super::limits::Limits;

/// The cost of a list item: the engine's value and the list overhead.
pub(super) const ITEM_BYTES: usize = 64;
/// The maximum printed size of a boolean or an ordinary number.
const SCALAR_BYTES: usize = 40;
/// The maximum nesting of values. Printing, comparing and dropping them is recursive.
const MAX_DEPTH: usize = 100;
/// Escaping turns one byte into at most six.
const ESCAPED_FACTOR: usize = 6;

/// An exceeded limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum Overrun {
    #[error("the template builds more than {} of text", readable(*.0))]
    Text(usize),
    #[error("the template builds a value of more than {0} items")]
    Items(usize),
    #[error("the template reads too much data")]
    Work,
    #[error("the template builds a value that nests more than {MAX_DEPTH} deep")]
    Depth,
}

impl From<Overrun> for Error {
    fn from(overrun: Overrun) -> Self {
        Self::new(ErrorKind::InvalidOperation, overrun.to_string()).with_source(overrun)
    }
}

fn readable(bytes: usize) -> String {
    if bytes >= 1 << 20 { format!("{} MiB", bytes >> 20) } else { format!("{bytes} bytes") }
}

/// The size of a value with all nested values.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Size {
    /// Bytes of all its texts.
    pub(super) text: usize,
    /// All items, including nested ones.
    pub(super) items: usize,
    /// The nesting depth.
    pub(super) depth: usize,
}

impl Size {
    /// The maximum size when printed or serialized.
    pub(super) fn printed(self) -> usize {
        self.text.saturating_mul(ESCAPED_FACTOR).saturating_add(self.items.saturating_mul(ITEM_BYTES))
    }
}

/// The meter of one rendering.
#[derive(Debug)]
pub(super) struct Meter {
    text_left: usize,
    work_left: usize,
    limits: Limits,
}

impl Meter {
    /// The meter of the rendering of `state`.
    pub(super) fn of<'s>(state: &'s mut State<'_, '_>, limits: Limits) -> &'s mut Self {
        state.get_or_insert_extension_with(|| Self::new(limits))
    }

    fn new(limits: Limits) -> Self {
        Self { text_left: limits.text_bytes, work_left: limits.work, limits }
    }

    /// Charges `bytes` that are about to be built.
    pub(super) fn build(&mut self, bytes: usize) -> Result<(), Overrun> {
        self.text_left = self.text_left.checked_sub(bytes).ok_or(Overrun::Text(self.limits.text_bytes))?;
        Ok(())
    }

    /// Charges a list of `items` that is about to be built.
    pub(super) fn build_items(&mut self, items: usize) -> Result<(), Overrun> {
        if items > self.limits.items {
            return Err(Overrun::Items(self.limits.items));
        }
        self.build(items.saturating_mul(ITEM_BYTES))
    }

    pub(super) fn max_items(&self) -> usize {
        self.limits.items
    }

    /// Charges for examining `value` without its items.
    pub(super) fn glance(&mut self, value: &Value) -> Result<(), Overrun> {
        self.spend(1 + value.as_bytes().map_or(0, |bytes| bytes.len() / 64))
    }

    /// Charges for counting the characters of `value`, which is slower than searching it.
    pub(super) fn count_through(&mut self, value: &Value) -> Result<(), Overrun> {
        self.spend(1 + value.as_bytes().map_or(0, |bytes| bytes.len() / 8))
    }

    /// Charges for examining `value` and returns its size.
    pub(super) fn measure(&mut self, value: &Value) -> Result<Size, Overrun> {
        let mut size = Size::default();
        self.visit(value, 0, &mut size)?;
        Ok(size)
    }

    /// The sizes of all `values` together.
    pub(super) fn measure_all(&mut self, values: &[Value]) -> Result<Size, Overrun> {
        let mut size = Size::default();
        values.iter().try_for_each(|value| self.visit(value, 0, &mut size))?;
        Ok(size)
    }

    fn visit(&mut self, value: &Value, depth: usize, size: &mut Size) -> Result<(), Overrun> {
        self.glance(value)?;
        size.items += 1;
        if size.items > self.limits.items {
            return Err(Overrun::Items(self.limits.items));
        }
        if let Some(bytes) = value.as_bytes() {
            size.text = size.text.saturating_add(bytes.len());
            return Ok(());
        }
        let Some(object) = value.as_object() else {
            size.text = size.text.saturating_add(digits(value));
            return Ok(());
        };
        if depth >= MAX_DEPTH {
            return Err(Overrun::Depth);
        }
        size.depth = size.depth.max(depth + 1);
        if value.kind() == ValueKind::Map {
            for (key, item) in object.try_iter_pairs().into_iter().flatten() {
                self.visit(&key, depth + 1, size)?;
                self.visit(&item, depth + 1, size)?;
            }
        } else {
            for item in object.try_iter().into_iter().flatten() {
                self.visit(&item, depth + 1, size)?;
            }
        }
        Ok(())
    }

    fn spend(&mut self, work: usize) -> Result<(), Overrun> {
        self.work_left = self.work_left.checked_sub(work).ok_or(Overrun::Work)?;
        Ok(())
    }

    /// Writes `value` as text into `out` and charges while writing.
    pub(super) fn print(&mut self, value: &Value, out: &mut dyn fmt::Write) -> Result<(), Error> {
        if let Some(text) = value.as_str() {
            self.build(text.len())?;
            return out.write_str(text).map_err(Error::from);
        }
        if value.as_object().is_none() {
            self.build(SCALAR_BYTES + digits(value))?;
            return write!(out, "{value}").map_err(Error::from);
        }
        let mut metered = Metered { out, left: self.text_left, overrun: false };
        let written = write!(metered, "{value}");
        let (left, overrun) = (metered.left, metered.overrun);
        self.text_left = left;
        if overrun {
            return Err(Overrun::Text(self.limits.text_bytes).into());
        }
        written.map_err(Error::from)
    }
}

/// The maximum number of characters of a number. Floats are printed without an exponent.
fn digits(value: &Value) -> usize {
    const MAX_FLOAT_LEN: usize = 330;
    match f64::try_from(value.clone()) {
        Ok(number) if !value.is_integer() && !(1e-5..1e16).contains(&number.abs()) => MAX_FLOAT_LEN,
        _ => 0,
    }
}

/// The maximum length of text that is charged as a step instead of in bytes: all steps together cannot print more of
/// such texts than the byte limit. Most variables are that short, and metering them costs more than printing them.
pub(super) fn paid_by_its_step(limits: &Limits) -> usize {
    usize::try_from(limits.text_bytes as u64 / limits.fuel.max(1)).unwrap_or(usize::MAX)
}

/// The engine's formatter, used for every `{{ … }}`. `short` is from [`paid_by_its_step`].
pub(super) fn emit(
    out: &mut Output<'_>,
    state: &mut State<'_, '_>,
    value: &Value,
    limits: Limits,
    short: usize,
) -> Result<(), Error> {
    if matches!(state.auto_escape(), AutoEscape::None) {
        return match value.as_str() {
            Some(text) if text.len() <= short => out.write_str(text).map_err(Error::from),
            _ => Meter::of(state, limits).print(value, out),
        };
    }
    let meter = Meter::of(state, limits);
    let printed = meter.measure(value)?.printed();
    meter.build(printed)?;
    minijinja::escape_formatter(out, state, value)
}

/// A writer that stops after `left` bytes.
struct Metered<'w> {
    out: &'w mut dyn fmt::Write,
    left: usize,
    overrun: bool,
}

impl fmt::Write for Metered<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let Some(left) = self.left.checked_sub(text.len()) else {
            self.overrun = true;
            return Err(fmt::Error);
        };
        self.left = left;
        self.out.write_str(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shared_values_are_measured_as_printed() {
        let mut meter = Meter::new(Limits::default());
        let twice = Value::from(vec![Value::from("ab"), Value::from("ab")]);
        let four = Value::from(vec![twice.clone(), twice]);
        assert_eq!(meter.measure(&four), Ok(Size { text: 8, items: 7, depth: 2 }));
    }

    #[test]
    fn short_texts_cannot_exceed_the_byte_limit() {
        for (fuel, text_bytes) in [(1_000_000, 32 << 20), (10, 1_000), (1_000, 10), (1, 7)] {
            let limits = Limits { fuel, text_bytes, ..Limits::default() };
            assert!(paid_by_its_step(&limits) as u64 * fuel <= text_bytes as u64);
        }
        assert!(paid_by_its_step(&Limits::default()) >= "terminal:default".len());
    }

    #[test]
    fn printing_stops_in_the_middle_of_a_list() {
        let mut meter = Meter::new(Limits { text_bytes: 100, ..Limits::default() });
        let mut out = String::new();
        let list = Value::from(vec!["abcdefgh"; 1_000]);
        assert!(meter.print(&list, &mut out).is_err());
        assert!(out.len() <= 100);
    }
}
