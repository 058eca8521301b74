//! Counts what a rendering builds and looks at, and stops it at the limits. Fuel alone does not: one step can
//! double a string. Every text a template can make is charged here before, or while, it is made.

use std::fmt::{self, Write as _};

use minijinja::value::ValueKind;
use minijinja::{AutoEscape, Error, ErrorKind, Output, State, Value};

use super::limits::Limits;

/// What an item of a list costs, whatever it is: the engine's value and a little for the list that holds it.
pub(super) const ITEM_BYTES: usize = 64;
/// What a truth value or a number of usual length takes at most when printed.
const SCALAR_BYTES: usize = 40;
/// How deep values may nest. They are printed, compared and dropped by recursion.
const MAX_DEPTH: usize = 100;
/// Escaping makes at most six bytes of one.
const ESCAPED_FACTOR: usize = 6;

/// A limit that was reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum Overrun {
    #[error("the template builds more than {} of text", readable(*.0))]
    Text(usize),
    #[error("the template builds a value of more than {0} items")]
    Items(usize),
    #[error("the template looks through too much data")]
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

/// How large a value is, with everything in it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Size {
    /// Bytes of all its texts.
    pub(super) text: usize,
    /// Its items, and theirs.
    pub(super) items: usize,
    /// How deep they nest.
    pub(super) depth: usize,
}

impl Size {
    /// The most bytes it can take when printed or serialized.
    pub(super) fn printed(self) -> usize {
        self.text.saturating_mul(ESCAPED_FACTOR).saturating_add(self.items.saturating_mul(ITEM_BYTES))
    }
}

/// The account of one rendering.
#[derive(Debug)]
pub(super) struct Meter {
    text_left: usize,
    work_left: usize,
    limits: Limits,
}

impl Meter {
    /// The account of the rendering that `state` belongs to.
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

    /// Charges for looking at `value`, but not into its items.
    pub(super) fn glance(&mut self, value: &Value) -> Result<(), Overrun> {
        self.spend(1 + value.as_bytes().map_or(0, |bytes| bytes.len() / 64))
    }

    /// Charges for counting through the letters of `value`, which is slower than looking for something in it.
    pub(super) fn count_through(&mut self, value: &Value) -> Result<(), Overrun> {
        self.spend(1 + value.as_bytes().map_or(0, |bytes| bytes.len() / 8))
    }

    /// Charges for looking through `value` and returns its size.
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

    /// Writes `value` as text into `out`, charging as it goes.
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

/// The most letters a number takes. Floating ones are printed without an exponent, however large or small they are.
fn digits(value: &Value) -> usize {
    const LONGEST_FLOAT: usize = 330;
    match f64::try_from(value.clone()) {
        Ok(number) if !value.is_integer() && !(1e-5..1e16).contains(&number.abs()) => LONGEST_FLOAT,
        _ => 0,
    }
}

/// The longest text that is paid for by the step that prints it, not in bytes: all steps together can print no more of
/// such texts than the limit on bytes allows. Most variables are that short, and opening an account costs more than
/// printing them.
pub(super) fn paid_by_its_step(limits: &Limits) -> usize {
    usize::try_from(limits.text_bytes as u64 / limits.fuel.max(1)).unwrap_or(usize::MAX)
}

/// The engine's formatter: every `{{ … }}` ends here. `short` is from [`paid_by_its_step`].
pub(super) fn emit(
    out: &mut Output<'_>,
    state: &mut State<'_, '_>,
    value: &Value,
    (limits, short): (Limits, usize),
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
    fn a_value_that_shares_its_parts_is_measured_as_it_prints() {
        let mut meter = Meter::new(Limits::default());
        let twice = Value::from(vec![Value::from("ab"), Value::from("ab")]);
        let four = Value::from(vec![twice.clone(), twice]);
        assert_eq!(meter.measure(&four), Ok(Size { text: 8, items: 7, depth: 2 }));
    }

    #[test]
    fn texts_paid_by_their_steps_can_not_pass_the_limit_on_bytes() {
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
