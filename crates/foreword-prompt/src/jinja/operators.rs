//! Checked versions of the operators that can build large values. `guard` uses them in place of `~`, `+`, `*`, slices
//! and literals. They are registered as filters because variables cannot shadow a filter.

use minijinja::value::{Tuple, ValueKind};
use minijinja::{Environment, Error, ErrorKind, State, Value, filters};

use super::limits::Limits;
use super::meter::{Meter, Overrun};
use super::slices;

pub(super) const CONCAT: &str = "__concat";
pub(super) const ADD: &str = "__add";
pub(super) const MULTIPLY: &str = "__multiply";
pub(super) const SLICE: &str = "__slice";
pub(super) const LITERAL: &str = "__literal";
pub(super) const SEEN: &str = "__seen";
pub(super) const COUNTED: &str = "__counted";
pub(super) const STORED: &str = "__stored";
pub(super) const SPREAD: &str = "__spread";
pub(super) const REPEATED: &str = "__repeated";
pub(super) const WRITTEN: &str = "__written";

/// The maximum number of arguments that the parser accepts.
const MAX_SPREAD: usize = 2_000;

pub(super) fn register(env: &mut Environment<'static>, limits: Limits) {
    type Operator = fn(&mut State<'_, '_>, Limits, &[Value]) -> Result<Value, Error>;
    let operators: [(&'static str, Operator); 4] =
        [(CONCAT, concat), (ADD, add_all), (MULTIPLY, multiply_all), (SLICE, slices::slice)];
    for (name, operator) in operators {
        env.add_filter(name, move |state: &mut State<'_, '_>, args: &[Value]| operator(state, limits, args));
    }
    type Check = fn(&mut Meter, &Value) -> Result<(), Error>;
    let checks: [(&'static str, Check); 5] =
        [(LITERAL, literal), (SEEN, seen), (COUNTED, counted), (STORED, stored), (SPREAD, spread)];
    for (name, check) in checks {
        env.add_filter(name, move |state: &mut State<'_, '_>, value: Value| {
            check(Meter::of(state, limits), &value).map(|()| value)
        });
    }
    env.add_filter(WRITTEN, move |state: &mut State<'_, '_>, value: Value, bytes: usize| {
        Meter::of(state, limits).build(bytes)?;
        Ok(value)
    });
    env.add_filter(REPEATED, move |state: &mut State<'_, '_>, value: Value, bytes: usize| {
        repeated(Meter::of(state, limits), value, bytes)
    });
}

/// The engine's error for an undefined value, which contains the variable's name.
pub(super) fn defined(state: &mut State<'_, '_>, value: &Value) -> Result<(), Error> {
    if value.is_undefined() {
        Value::from_function(filters::string).call(state, std::slice::from_ref(value))?;
    }
    Ok(())
}

/// `a ~ b ~ c`
fn concat(state: &mut State<'_, '_>, limits: Limits, args: &[Value]) -> Result<Value, Error> {
    let mut text = String::new();
    for value in args {
        defined(state, value)?;
        Meter::of(state, limits).print(value, &mut text)?;
    }
    Ok(Value::from(text))
}

/// `a + b + c`
fn add_all(state: &mut State<'_, '_>, limits: Limits, args: &[Value]) -> Result<Value, Error> {
    fold(state, args, |state, left, right| add(Meter::of(state, limits), left, right))
}

/// `a * b * c`
fn multiply_all(state: &mut State<'_, '_>, limits: Limits, args: &[Value]) -> Result<Value, Error> {
    fold(state, args, |state, left, right| multiply(Meter::of(state, limits), left, right))
}

fn fold(
    state: &mut State<'_, '_>,
    args: &[Value],
    step: impl Fn(&mut State<'_, '_>, &Value, &Value) -> Result<Value, Error>,
) -> Result<Value, Error> {
    let [first, rest @ ..] = args else { return Err(ErrorKind::MissingArgument.into()) };
    defined(state, first)?;
    let mut total = first.clone();
    for value in rest {
        defined(state, value)?;
        total = step(state, &total, value)?;
    }
    Ok(total)
}

fn add(meter: &mut Meter, left: &Value, right: &Value) -> Result<Value, Error> {
    if let (Some(a), Some(b)) = (left.as_str(), right.as_str()) {
        meter.build(a.len() + b.len())?;
        return Ok(Value::from([a, b].concat()));
    }
    let is_list = |value: &Value| matches!(value.kind(), ValueKind::Seq | ValueKind::Iterable);
    if is_list(left) && is_list(right) && left.is_tuple() == right.is_tuple() {
        let mut items = collect(meter, left)?;
        items.extend(collect(meter, right)?);
        return Ok(if left.is_tuple() { Value::from(Tuple::from(items)) } else { Value::from(items) });
    }
    arithmetic(left, right, "+", i128::checked_add, |a, b| a + b)
}

fn multiply(meter: &mut Meter, left: &Value, right: &Value) -> Result<Value, Error> {
    let repeats =
        |value: &Value| matches!(value.kind(), ValueKind::String | ValueKind::Seq | ValueKind::Iterable);
    let (value, count) = match (repeats(left), repeats(right)) {
        (true, _) => (left, right),
        (false, true) => (right, left),
        (false, false) => return arithmetic(left, right, "*", i128::checked_mul, |a, b| a * b),
    };
    let count = count.as_usize().ok_or_else(|| unsupported("*", left, right))?;
    if let Some(text) = value.as_str() {
        meter.build(text.len().saturating_mul(count))?;
        return Ok(Value::from(text.repeat(count)));
    }
    let items = collect(meter, value)?;
    meter.build_items(items.len().saturating_mul(count))?;
    let repeated: Vec<Value> = items.iter().cycle().take(items.len() * count).cloned().collect();
    Ok(if value.is_tuple() { Value::from(Tuple::from(repeated)) } else { Value::from(repeated) })
}

/// Adds numbers like the engine: integer if both are, otherwise float.
fn arithmetic(
    left: &Value,
    right: &Value,
    sign: &str,
    whole: fn(i128, i128) -> Option<i128>,
    floating: fn(f64, f64) -> f64,
) -> Result<Value, Error> {
    let is_whole = |value: &Value| value.is_integer() || value.kind() == ValueKind::Bool;
    if is_whole(left) && is_whole(right) {
        let (a, b) = (i128::try_from(left.clone())?, i128::try_from(right.clone())?);
        let total = whole(a, b).ok_or_else(|| {
            Error::new(ErrorKind::InvalidOperation, format!("`{a} {sign} {b}` is too large a number"))
        })?;
        return Ok(i64::try_from(total).map_or_else(|_| Value::from(total), Value::from));
    }
    match (floating_of(left), floating_of(right)) {
        (Some(a), Some(b)) => Ok(Value::from(floating(a, b))),
        _ => Err(unsupported(sign, left, right)),
    }
}

fn floating_of(value: &Value) -> Option<f64> {
    match bool::try_from(value.clone()) {
        Ok(truth) => Some(f64::from(u8::from(truth))),
        Err(_) => f64::try_from(value.clone()).ok(),
    }
}

fn unsupported(sign: &str, left: &Value, right: &Value) -> Error {
    let (left, right) = (left.kind(), right.kind());
    Error::new(ErrorKind::InvalidOperation, format!("`{sign}` does not work on {left} and {right}"))
}

/// The items of a list, charged as the copy they become.
pub(super) fn collect(meter: &mut Meter, value: &Value) -> Result<Vec<Value>, Error> {
    let mut items = Vec::new();
    for item in value.try_iter()?.checked() {
        items.push(item?);
        if items.len().is_multiple_of(1_024) {
            meter.build_items(1_024)?;
        }
        if items.len() > meter.max_items() {
            return Err(Overrun::Items(meter.max_items()).into());
        }
    }
    meter.build_items(items.len() % 1_024)?;
    Ok(items)
}

/// `[a, b]`, `(a, b)` and `{"a": b}`: not too large or too deep.
fn literal(meter: &mut Meter, value: &Value) -> Result<(), Error> {
    meter.measure(value)?;
    Ok(meter.build_items(value.len().unwrap_or(0))?)
}

/// Charges for a value that is about to be compared.
fn seen(meter: &mut Meter, value: &Value) -> Result<(), Error> {
    Ok(meter.measure(value).map(|_| ())?)
}

/// Charges for a value whose characters are about to be counted.
fn counted(meter: &mut Meter, value: &Value) -> Result<(), Error> {
    Ok(meter.count_through(value)?)
}

/// Checks a value that is about to be stored in a namespace. Namespaces are the only mutable values; not nesting them
/// prevents cycles.
pub(super) fn stored(meter: &mut Meter, value: &Value) -> Result<(), Error> {
    meter.measure(value)?;
    let namespace = minijinja::functions::namespace(None)?;
    let type_name = namespace.as_object().map_or("", |object| object.type_name());
    if holds(value, type_name) {
        let message = "a namespace can't be stored in a namespace";
        return Err(Error::new(ErrorKind::InvalidOperation, message));
    }
    Ok(())
}

/// Whether `value`, which was measured and hence is finite, contains an object of this type.
fn holds(value: &Value, type_name: &str) -> bool {
    let Some(object) = value.as_object() else { return false };
    if object.type_name() == type_name {
        return true;
    }
    object
        .try_iter_pairs()
        .into_iter()
        .flatten()
        .any(|(key, item)| holds(&key, type_name) || holds(&item, type_name))
}

/// `*args`
fn spread(_: &mut Meter, value: &Value) -> Result<(), Error> {
    match value.len() {
        Some(len) if len > MAX_SPREAD => {
            let message = format!("`*` passes on at most {MAX_SPREAD} values, not {len}");
            Err(Error::new(ErrorKind::InvalidOperation, message))
        }
        _ => Ok(()),
    }
}

/// Charges for the text of a loop: `bytes` for every item.
fn repeated(meter: &mut Meter, value: Value, bytes: usize) -> Result<Value, Error> {
    meter.glance(&value)?;
    if let Some(len) = value.len() {
        meter.build(bytes.saturating_mul(len))?;
        return Ok(value);
    }
    if value.as_object().is_none() {
        return Ok(value);
    }
    let items = collect(meter, &value)?;
    meter.build(bytes.saturating_mul(items.len()))?;
    Ok(Value::from(items))
}
