//! `value[start:stop:step]` with Python's semantics, for strings and lists. Not lazy: a lazy slice would keep its whole
//! source alive and could nest without limit.

use minijinja::value::{Tuple, ValueKind};
use minijinja::{Error, ErrorKind, State, Value};

use super::limits::Limits;
use super::meter::Meter;
use super::operators::{collect, defined};

pub(super) fn slice(state: &mut State<'_, '_>, limits: Limits, args: &[Value]) -> Result<Value, Error> {
    let [value, start, stop, step] = args else { return Err(ErrorKind::MissingArgument.into()) };
    defined(state, value)?;
    let bounds = Bounds { start: bound(start)?, stop: bound(stop)?, step: bound(step)?.unwrap_or(1) };
    if bounds.step == 0 {
        return Err(Error::new(ErrorKind::InvalidOperation, "the step of a slice can't be 0"));
    }
    let meter = Meter::of(state, limits);
    meter.glance(value)?;
    match value.kind() {
        ValueKind::String => {
            let text = value.as_str().unwrap_or_default();
            meter.build(text.len())?;
            Ok(Value::from(slice_text(text, bounds)))
        }
        ValueKind::None => Ok(Value::from(Vec::<Value>::new())),
        ValueKind::Seq | ValueKind::Iterable => {
            let items = collect(meter, value)?;
            let picked: Vec<Value> = bounds.indexes(items.len()).map(|index| items[index].clone()).collect();
            Ok(if value.is_tuple() { Value::from(Tuple::from(picked)) } else { Value::from(picked) })
        }
        kind => Err(Error::new(ErrorKind::InvalidOperation, format!("a {kind} can't be sliced"))),
    }
}

fn bound(value: &Value) -> Result<Option<i64>, Error> {
    if value.is_none() { Ok(None) } else { i64::try_from(value.clone()).map(Some) }
}

fn slice_text(text: &str, bounds: Bounds) -> String {
    if text.is_ascii() {
        let bytes = text.as_bytes();
        return bounds.indexes(bytes.len()).map(|index| char::from(bytes[index])).collect();
    }
    if bounds.step > 0 {
        let mut wanted = bounds.indexes(text.chars().count()).peekable();
        let picked = text.chars().enumerate().filter(|(index, _)| wanted.next_if_eq(index).is_some());
        return picked.map(|(_, letter)| letter).collect();
    }
    let mut wanted = bounds.indexes(text.chars().count()).peekable();
    let count = text.chars().count();
    let backwards = text.chars().rev().enumerate().map(|(index, letter)| (count - 1 - index, letter));
    backwards.filter(|(index, _)| wanted.next_if_eq(index).is_some()).map(|(_, letter)| letter).collect()
}

#[derive(Clone, Copy)]
struct Bounds {
    start: Option<i64>,
    stop: Option<i64>,
    step: i64,
}

impl Bounds {
    /// The selected indexes of `len` items, in order.
    fn indexes(self, len: usize) -> impl Iterator<Item = usize> {
        let len = i64::try_from(len).unwrap_or(i64::MAX);
        let (lowest, highest) = if self.step > 0 { (0, len) } else { (-1, len - 1) };
        let place = |bound: Option<i64>, missing: i64| match bound {
            None => missing,
            Some(index) if index < 0 => index.saturating_add(len).clamp(lowest, highest),
            Some(index) => index.clamp(lowest, highest),
        };
        let (first, end) = if self.step > 0 {
            (place(self.start, lowest), place(self.stop, highest))
        } else {
            (place(self.start, highest), place(self.stop, lowest))
        };
        let step = self.step;
        let within = move |index: &i64| if step > 0 { *index < end } else { *index > end };
        std::iter::successors(Some(first), move |index| index.checked_add(step))
            .take_while(within)
            .filter_map(|index| usize::try_from(index).ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, start: Option<i64>, stop: Option<i64>, step: i64, expected: &str) {
        assert_eq!(
            slice_text(text, Bounds { start, stop, step }),
            expected,
            "{text}[{start:?}:{stop:?}:{step}]"
        );
    }

    #[test]
    fn slices_are_those_of_python() {
        for text in ["abcdef", "äbçdéf"] {
            let letters: Vec<char> = text.chars().collect();
            let pick = |indexes: &[usize]| indexes.iter().map(|index| letters[*index]).collect::<String>();
            check(text, None, None, 1, &pick(&[0, 1, 2, 3, 4, 5]));
            check(text, Some(1), Some(3), 1, &pick(&[1, 2]));
            check(text, Some(-2), None, 1, &pick(&[4, 5]));
            check(text, None, Some(-4), 1, &pick(&[0, 1]));
            check(text, None, None, 4, &pick(&[0, 4]));
            check(text, None, None, -1, &pick(&[5, 4, 3, 2, 1, 0]));
            check(text, Some(4), Some(0), -2, &pick(&[4, 2]));
            check(text, Some(1), Some(4), -1, "");
            check(text, Some(9), Some(i64::MIN), i64::MIN, &pick(&[5]));
            check(text, Some(i64::MIN), Some(i64::MAX), i64::MAX, &pick(&[0]));
        }
        check("", None, None, -1, "");
    }
}
