//! `items|join(", ")`, the most common filter in prompts: written directly into the result and charged while writing,
//! without measuring first. Leaves attributes and escaping to the engine.

use minijinja::value::{Rest, ValueKind, ValueOrKwargs};
use minijinja::{AutoEscape, Environment, Error, State, Value, filters};

use super::forecast;
use super::limits::Limits;
use super::meter::Meter;
use super::operators::defined;

pub(super) const NAME: &str = "join";

pub(super) fn register(env: &mut Environment<'static>, limits: Limits) {
    let engine = Value::from_function(filters::join);
    env.add_filter(NAME, move |state: &mut State<'_, '_>, items: Value, others: Rest<ValueOrKwargs>| {
        defined(state, &items)?;
        let is_list = matches!(items.kind(), ValueKind::Seq | ValueKind::Iterable);
        let joiner = match others.as_slice() {
            [] => Some(""),
            [joiner] => joiner.as_str(),
            _ => None,
        };
        if let Some(joiner) = joiner
            && is_list
            && matches!(state.auto_escape(), AutoEscape::None)
        {
            return join(Meter::of(state, limits), &items, joiner);
        }
        let args: Vec<Value> = std::iter::once(items).chain(others.into_values()).collect();
        args.iter().try_for_each(|value| defined(state, value))?;
        forecast::join(Meter::of(state, limits), &args)?;
        engine.call(state, &args)
    });
}

fn join(meter: &mut Meter, items: &Value, joiner: &str) -> Result<Value, Error> {
    let mut text = String::new();
    for (index, item) in items.try_iter()?.checked().enumerate() {
        let item = item?;
        meter.glance(&item)?;
        if index > 0 {
            meter.build(joiner.len())?;
            text.push_str(joiner);
        }
        meter.print(&item, &mut text)?;
    }
    Ok(Value::from(text))
}
