//! The permitted functions: `range`, `dict` and `namespace`. None has access beyond the context.

use minijinja::value::{Rest, ValueOrKwargs};
use minijinja::{Environment, Error, ErrorKind, State, Value, functions};

use super::limits::Limits;
use super::meter::Meter;
use super::operators::stored;

/// The maximum length of a `range`.
const MAX_RANGE: i128 = 100_000;

/// The names of all functions.
pub(super) const NAMES: [&str; 3] = ["dict", "namespace", "range"];

pub(super) fn register(env: &mut Environment<'static>, limits: Limits) {
    env.add_function("range", range);
    let dict = Value::from_function(functions::dict);
    env.add_function("dict", move |state: &mut State<'_, '_>, args: Rest<ValueOrKwargs>| {
        let args = args.into_values();
        let meter = Meter::of(state, limits);
        let size = meter.measure_all(&args)?;
        meter.build_items(size.items)?;
        dict.call(state, &args)
    });
    let namespace = Value::from_function(functions::namespace);
    env.add_function("namespace", move |state: &mut State<'_, '_>, args: Rest<ValueOrKwargs>| {
        let args = args.into_values();
        let meter = Meter::of(state, limits);
        args.iter().try_for_each(|value| stored(meter, value))?;
        namespace.call(state, &args)
    });
}

/// `range(stop)`, `range(start, stop)`, `range(start, stop, step)`
fn range(first: i64, second: Option<i64>, step: Option<i64>) -> Result<Value, Error> {
    let (start, stop) = second.map_or((0, first), |stop| (first, stop));
    let step = step.unwrap_or(1);
    if step == 0 {
        return Err(Error::new(ErrorKind::InvalidOperation, "the step of a `range` can't be 0"));
    }
    let distance = (i128::from(stop) - i128::from(start)) * i128::from(step.signum());
    let size = i128::from(step.unsigned_abs());
    let count = if distance <= 0 { 0 } else { (distance + size - 1) / size };
    if count > MAX_RANGE {
        let message = format!("this `range` has {count} numbers, at most {MAX_RANGE} are allowed");
        return Err(Error::new(ErrorKind::InvalidOperation, message));
    }
    let count = i64::try_from(count).unwrap_or(0);
    Ok(Value::make_iterable(move || {
        (0..count).map(move |index| start.wrapping_add(index.wrapping_mul(step)))
    }))
}
