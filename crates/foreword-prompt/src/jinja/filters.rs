//! The permitted filters and tests, each with a check that enforces the limits before it runs. An allow-list, so that a
//! newer engine adds nothing unreviewed. Excludes everything that reads the engine's own state.

use std::sync::OnceLock;

use minijinja::value::{Rest, ValueKind, ValueOrKwargs};
use minijinja::{Environment, Error, ErrorKind, State, Value, filters, tests};

use super::forecast;
use super::join;
use super::limits::Limits;
use super::meter::Meter;
use super::operators::{collect, defined};

/// The output of a filter relative to its input, which determines the check before it runs.
#[derive(Debug, Clone, Copy)]
enum Yields {
    /// A part of its input, or a number.
    Part,
    /// A part of its input, after comparing items.
    Compared,
    /// Its items in another order.
    Items,
    /// Some of its items, or of their items, after examining each.
    Picked,
    /// Its items in a new list of lists.
    Nested,
    /// Text of at most this many times the size.
    Text(usize),
    /// Computed by `forecast` from the arguments.
    Forecast(fn(&mut Meter, &[Value]) -> Result<(), Error>),
}

use Yields::{Compared, Forecast, Items, Nested, Part, Picked, Text};

/// A filter's name, its output, and the engine's implementation.
type Entry = (&'static str, Yields, Value);

/// Filters that take named arguments.
fn keyword_filters() -> Vec<Entry> {
    vec![
        ("batch", Forecast(forecast::batch), Value::from_function(filters::batch)),
        ("chain", Nested, Value::from_function(filters::chain)),
        ("dictsort", Compared, Value::from_function(filters::dictsort)),
        ("float", Part, Value::from_function(filters::float)),
        ("format", Forecast(forecast::format), Value::from_function(filters::format)),
        ("groupby", Nested, Value::from_function(filters::groupby)),
        ("indent", Forecast(forecast::indent), Value::from_function(filters::indent)),
        ("int", Part, Value::from_function(filters::int)),
        ("map", Picked, Value::from_function(filters::map)),
        ("max", Compared, Value::from_function(filters::max)),
        ("min", Compared, Value::from_function(filters::min)),
        ("reject", Picked, Value::from_function(filters::reject)),
        ("rejectattr", Picked, Value::from_function(filters::rejectattr)),
        ("round", Part, Value::from_function(filters::round)),
        ("select", Picked, Value::from_function(filters::select)),
        ("selectattr", Picked, Value::from_function(filters::selectattr)),
        ("slice", Forecast(forecast::slice), Value::from_function(filters::slice)),
        ("sort", Compared, Value::from_function(filters::sort)),
        ("sum", Forecast(forecast::sum), Value::from_function(filters::sum)),
        ("tojson", Forecast(forecast::tojson), Value::from_function(filters::tojson)),
        ("unique", Compared, Value::from_function(filters::unique)),
        ("zip", Nested, Value::from_function(filters::zip)),
    ]
}

/// Filters that take no named arguments, which makes calling them a little cheaper.
fn plain_filters() -> Vec<Entry> {
    vec![
        ("capitalize", Text(3), Value::from_function(filters::capitalize)),
        ("e", Text(6), Value::from_function(filters::escape)),
        ("escape", Text(6), Value::from_function(filters::escape)),
        ("lines", Forecast(forecast::lines), Value::from_function(filters::lines)),
        ("lower", Text(3), Value::from_function(filters::lower)),
        ("pprint", Forecast(forecast::pprint), Value::from_function(filters::pprint)),
        ("replace", Forecast(forecast::replace), Value::from_function(filters::replace)),
        ("safe", Text(1), Value::from_function(filters::safe)),
        ("split", Forecast(forecast::split), Value::from_function(filters::split)),
        ("string", Text(1), Value::from_function(filters::string)),
        ("title", Text(3), Value::from_function(filters::title)),
        ("trim", Forecast(forecast::trim), Value::from_function(filters::trim)),
        ("upper", Text(3), Value::from_function(filters::upper)),
        ("items", Items, Value::from_function(filters::items)),
        ("list", Items, Value::from_function(filters::list)),
        ("reverse", Items, Value::from_function(filters::reverse)),
        ("abs", Part, Value::from_function(filters::abs)),
        ("attr", Part, Value::from_function(filters::attr)),
        ("bool", Part, Value::from_function(filters::bool)),
        ("count", Part, Value::from_function(filters::length)),
        ("first", Part, Value::from_function(filters::first)),
        ("last", Part, Value::from_function(filters::last)),
        ("length", Part, Value::from_function(filters::length)),
    ]
}

/// Only tests whether its input is defined, so it needs no check.
const DEFAULT_FILTERS: [&str; 2] = ["d", "default"];

macro_rules! kind_tests {
    ($($name:literal => $test:path,)*) => {
        const KIND_TESTS: &[&str] = &[$($name),*];

        fn register_kind_tests(env: &mut Environment<'static>) {
            $(env.add_test($name, $test);)*
        }
    };
}

// Tests of the kind of a value only, as implemented by the engine.
kind_tests! {
    "boolean" => tests::is_boolean,
    "defined" => tests::is_defined,
    "divisibleby" => is_divisibleby,
    "escaped" => tests::is_safe,
    "even" => tests::is_even,
    "false" => tests::is_false,
    "filter" => tests::is_filter,
    "float" => tests::is_float,
    "int" => tests::is_integer,
    "integer" => tests::is_integer,
    "iterable" => tests::is_iterable,
    "mapping" => tests::is_mapping,
    "none" => tests::is_none,
    "number" => tests::is_number,
    "odd" => tests::is_odd,
    "safe" => tests::is_safe,
    "sameas" => tests::is_sameas,
    "sequence" => tests::is_sequence,
    "string" => tests::is_string,
    "test" => tests::is_test,
    "true" => tests::is_true,
    "undefined" => tests::is_undefined,
}

/// The engine's implementation does not check for a divisor of zero.
fn is_divisibleby(value: &Value, divisor: &Value) -> Result<bool, Error> {
    if f64::try_from(divisor.clone()).is_ok_and(|number| number == 0.0) {
        return Err(Error::new(ErrorKind::InvalidOperation, "nothing is divisible by 0"));
    }
    match (i128::try_from(value.clone()), i128::try_from(divisor.clone())) {
        // `None` means that the smallest number was divided by -1.
        (Ok(value), Ok(divisor)) => Ok(value.checked_rem(divisor).is_none_or(|rest| rest == 0)),
        _ => Ok(tests::is_divisibleby(value, divisor)),
    }
}

/// Tests that examine their values.
fn content_tests() -> Vec<(&'static str, Value)> {
    vec![
        ("==", Value::from_function(tests::is_eq)),
        ("eq", Value::from_function(tests::is_eq)),
        ("equalto", Value::from_function(tests::is_eq)),
        ("!=", Value::from_function(tests::is_ne)),
        ("ne", Value::from_function(tests::is_ne)),
        ("<", Value::from_function(tests::is_lt)),
        ("lt", Value::from_function(tests::is_lt)),
        ("lessthan", Value::from_function(tests::is_lt)),
        ("<=", Value::from_function(tests::is_le)),
        ("le", Value::from_function(tests::is_le)),
        (">", Value::from_function(tests::is_gt)),
        ("gt", Value::from_function(tests::is_gt)),
        ("greaterthan", Value::from_function(tests::is_gt)),
        (">=", Value::from_function(tests::is_ge)),
        ("ge", Value::from_function(tests::is_ge)),
        ("in", Value::from_function(tests::is_in)),
        ("startingwith", Value::from_function(tests::is_startingwith)),
        ("endingwith", Value::from_function(tests::is_endingwith)),
        ("lower", Value::from_function(tests::is_lower)),
        ("upper", Value::from_function(tests::is_upper)),
    ]
}

/// The names of all filters, for `check` and for suggestions.
pub(super) fn filter_names() -> &'static [&'static str] {
    static NAMES: OnceLock<Vec<&'static str>> = OnceLock::new();
    NAMES.get_or_init(|| {
        let checked = keyword_filters().into_iter().chain(plain_filters()).map(|(name, _, _)| name);
        checked.chain(DEFAULT_FILTERS).chain([join::NAME]).collect()
    })
}

/// The names of all tests.
pub(super) fn names_of_tests() -> &'static [&'static str] {
    static NAMES: OnceLock<Vec<&'static str>> = OnceLock::new();
    NAMES.get_or_init(|| {
        KIND_TESTS.iter().copied().chain(content_tests().into_iter().map(|(name, _)| name)).collect()
    })
}

pub(super) fn register(env: &mut Environment<'static>, limits: Limits) {
    for (name, yields, filter) in keyword_filters() {
        env.add_filter(name, move |state: &mut State<'_, '_>, args: Rest<ValueOrKwargs>| {
            apply(state, limits, yields, &filter, &args.into_values())
        });
    }
    for (name, yields, filter) in plain_filters() {
        env.add_filter(name, move |state: &mut State<'_, '_>, args: &[Value]| {
            apply(state, limits, yields, &filter, args)
        });
    }
    for name in DEFAULT_FILTERS {
        env.add_filter(name, filters::default);
    }
    join::register(env, limits);
    register_kind_tests(env);
    for (name, test) in content_tests() {
        env.add_test(name, move |state: &mut State<'_, '_>, args: Rest<ValueOrKwargs>| {
            let args = args.into_values();
            Meter::of(state, limits).measure_all(&args)?;
            test.call(state, &args)
        });
    }
}

/// Checks the output of the filter, runs it, and resolves lazy results.
fn apply(
    state: &mut State<'_, '_>,
    limits: Limits,
    yields: Yields,
    filter: &Value,
    args: &[Value],
) -> Result<Value, Error> {
    args.iter().try_for_each(|value| defined(state, value))?;
    let meter = Meter::of(state, limits);
    let input = args.first().unwrap_or(&Value::UNDEFINED);
    match yields {
        Part => args.iter().try_for_each(|value| meter.glance(value))?,
        Text(factor) => {
            let size = meter.measure_all(args)?;
            let text_only = args.iter().all(|value| value.as_object().is_none());
            meter.build(if text_only { size.text.saturating_mul(factor) } else { size.printed() })?;
        }
        Items => {
            meter.glance(input)?;
            meter.build_items(input.len().unwrap_or(0))?;
        }
        Picked => {
            meter.measure_all(args)?;
            meter.build_items(input.len().unwrap_or(0))?;
        }
        Compared | Nested => {
            let size = meter.measure_all(args)?;
            meter.build(size.text)?;
            meter.build_items(size.items)?;
        }
        Forecast(check) => check(meter, args)?,
    }
    let value = filter.call(state, args)?;
    settled(Meter::of(state, limits), value, matches!(yields, Nested))
}

/// The value without lazy parts: lazy values hide their size and can nest without limit.
pub(super) fn settled(meter: &mut Meter, value: Value, nested: bool) -> Result<Value, Error> {
    let value = match value.kind() {
        ValueKind::Iterable => Value::from(collect(meter, &value)?),
        ValueKind::Seq if nested => Value::from(collect(meter, &value)?),
        ValueKind::Map if nested => {
            let size = meter.measure(&value)?;
            meter.build_items(size.items)?;
            Value::from_pairs(value.as_object().and_then(|map| map.try_iter_pairs()).into_iter().flatten())
        }
        _ => value,
    };
    if nested {
        meter.measure(&value)?;
    }
    Ok(value)
}
