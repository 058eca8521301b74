//! Python's methods on strings, lists and maps (`ctx.get('x')`, `name.upper()`), checked like the filters. Mutating
//! methods are not available.

use minijinja::value::ValueKind;
use minijinja::{Environment, Error, State, Value};
use minijinja_contrib::pycompat::unknown_method_callback;

use super::filters::settled;
use super::forecast;
use super::limits::Limits;
use super::meter::Meter;
use super::operators::defined;

pub(super) fn register(env: &mut Environment<'static>, limits: Limits) {
    env.set_unknown_method_callback(move |state, value, method, args| {
        args.iter().try_for_each(|value| defined(state, value))?;
        check(Meter::of(state, limits), value, method, args)?;
        let result = unknown_method_callback(state, value, method, args)?;
        settle(state, limits, result)
    });
}

fn settle(state: &mut State<'_, '_>, limits: Limits, value: Value) -> Result<Value, Error> {
    settled(Meter::of(state, limits), value, false)
}

fn check(meter: &mut Meter, value: &Value, method: &str, args: &[Value]) -> Result<(), Error> {
    match value.kind() {
        ValueKind::String => check_text(meter, value, method, args),
        ValueKind::Map if method == "get" => Ok(meter.glance(value)?),
        ValueKind::Map => Ok(meter.build_items(value.len().unwrap_or(0))?),
        _ => {
            meter.measure_all(args)?;
            Ok(meter.measure(value).map(|_| ())?)
        }
    }
}

fn check_text(meter: &mut Meter, text: &Value, method: &str, args: &[Value]) -> Result<(), Error> {
    let all: Vec<Value> = std::iter::once(text).chain(args).cloned().collect();
    match method {
        "replace" => forecast::replace(meter, &all),
        "join" => forecast::join_with(meter, args.first(), Some(text)),
        "format" => forecast::format(meter, &all),
        "split" => forecast::split(meter, &all),
        "splitlines" => forecast::lines(meter, &all),
        "strip" | "lstrip" | "rstrip" => forecast::trim(meter, &all),
        _ => {
            let size = meter.measure_all(&all)?;
            Ok(meter.build(size.text.saturating_mul(3))?)
        }
    }
}
