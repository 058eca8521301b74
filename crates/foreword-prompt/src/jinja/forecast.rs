//! Computes the output size of filters and methods that can multiply text, from their arguments, before they run.
//! Invalid arguments are left to the filter.

use minijinja::value::ValueKind;
use minijinja::{Error, ErrorKind, Value};

use super::meter::{ITEM_BYTES, Meter};

/// The maximum number of characters for `trim` to remove.
const MAX_TRIMMED: usize = 100;
/// The maximum width and precision of a format.
const MAX_FORMAT_WIDTH: usize = 9_999;
/// The maximum indentation of JSON.
const MAX_JSON_INDENT: usize = 64;

/// The positional argument at `index`, or the named one.
fn argument(args: &[Value], index: usize, name: &str) -> Option<Value> {
    let named = args.last().filter(|last| last.is_kwargs());
    let positional = if named.is_some() { &args[..args.len() - 1] } else { args };
    positional
        .get(index)
        .cloned()
        .or_else(|| named?.get_attr(name).ok().filter(|value| !value.is_undefined()))
}

fn text_of(value: Option<&Value>) -> &str {
    value.and_then(Value::as_str).unwrap_or_default()
}

/// `"a-b"|replace("-", "+")`, and `str.replace`
pub(super) fn replace(meter: &mut Meter, args: &[Value]) -> Result<(), Error> {
    let printed = printed_as_text(meter, args)?;
    let (text, from, to) = (text_of(args.first()), text_of(args.get(1)), text_of(args.get(2)));
    let found = if from.is_empty() { text.len() + 1 } else { text.matches(from).count() };
    let inserted = found.saturating_mul(to.len().saturating_mul(6));
    Ok(meter.build(printed.saturating_add(inserted))?)
}

/// `["a", "b"]|join(", ")`
pub(super) fn join(meter: &mut Meter, args: &[Value]) -> Result<(), Error> {
    join_with(meter, args.first(), argument(args, 1, "d").as_ref())
}

/// `items` joined with `joiner`.
pub(super) fn join_with(
    meter: &mut Meter,
    items: Option<&Value>,
    joiner: Option<&Value>,
) -> Result<(), Error> {
    let items = items.unwrap_or(&Value::UNDEFINED);
    let count = if items.as_str().is_some() { items.len() } else { None };
    let size = meter.measure(items)?;
    let count = count.unwrap_or(size.items);
    let joiner = joiner.map_or(Ok(Default::default()), |joiner| meter.measure(joiner))?;
    let between = joiner.text.saturating_add(if joiner.items > 1 { joiner.printed() } else { 0 });
    let joined = size.text.saturating_add(count.saturating_mul(between.saturating_add(24)));
    Ok(meter.build(joined)?)
}

/// `text|indent(4)`
pub(super) fn indent(meter: &mut Meter, args: &[Value]) -> Result<(), Error> {
    let printed = printed_as_text(meter, args)?;
    let width = argument(args, 1, "width").map_or(4, |width| width.as_usize().unwrap_or(0));
    let lines = text_of(args.first()).matches('\n').count() + 2;
    Ok(meter.build(printed.saturating_add(lines.saturating_mul(width)))?)
}

/// `"%s"|format(x)`, and `str.format`
pub(super) fn format(meter: &mut Meter, args: &[Value]) -> Result<(), Error> {
    let text = text_of(args.first());
    let mut padding = 0usize;
    for digits in text.split(|letter: char| !letter.is_ascii_digit()).filter(|digits| !digits.is_empty()) {
        let width = digits.parse().unwrap_or(usize::MAX);
        if width > MAX_FORMAT_WIDTH {
            let message = format!("a format can't be wider than {MAX_FORMAT_WIDTH}, this one says {digits}");
            return Err(Error::new(ErrorKind::InvalidOperation, message));
        }
        padding = padding.saturating_add(width);
    }
    let fields = text.matches(['%', '{']).count();
    let arguments = meter.measure_all(args.get(1..).unwrap_or_default())?.printed();
    let filled = fields.saturating_mul(arguments.saturating_add(ITEM_BYTES));
    Ok(meter.build(text.len().saturating_add(padding.saturating_mul(4)).saturating_add(filled))?)
}

/// `"a b"|split`, and `str.split`
pub(super) fn split(meter: &mut Meter, args: &[Value]) -> Result<(), Error> {
    let printed = printed_as_text(meter, args)?;
    let text = text_of(args.first());
    let pieces = match args.get(1).and_then(Value::as_str) {
        None => text.split_whitespace().count(),
        Some("") => text.len() + 2,
        Some(separator) => text.matches(separator).count() + 1,
    };
    meter.build(printed)?;
    Ok(meter.build_items(pieces)?)
}

/// `text|lines`, and `str.splitlines`
pub(super) fn lines(meter: &mut Meter, args: &[Value]) -> Result<(), Error> {
    let printed = printed_as_text(meter, args)?;
    meter.build(printed)?;
    Ok(meter.build_items(text_of(args.first()).matches('\n').count() + 1)?)
}

/// `text|trim("-")`, and `str.strip`: every character of the text is looked up in the characters to remove.
pub(super) fn trim(meter: &mut Meter, args: &[Value]) -> Result<(), Error> {
    let letters = args.get(1).and_then(Value::len).unwrap_or(0);
    if letters > MAX_TRIMMED {
        let message = format!("at most {MAX_TRIMMED} letters can be trimmed, not {letters}");
        return Err(Error::new(ErrorKind::InvalidOperation, message));
    }
    let printed = printed_as_text(meter, args)?;
    Ok(meter.build(printed)?)
}

/// `value|tojson(indent=2)`
pub(super) fn tojson(meter: &mut Meter, args: &[Value]) -> Result<(), Error> {
    let indent = argument(args, 1, "indent").and_then(|indent| indent.as_usize()).unwrap_or(0);
    if indent > MAX_JSON_INDENT {
        let message = format!("`tojson` indents by at most {MAX_JSON_INDENT}, not {indent}");
        return Err(Error::new(ErrorKind::InvalidOperation, message));
    }
    let size = meter.measure_all(args)?;
    let margins = size.items.saturating_mul(indent.saturating_mul(size.depth));
    Ok(meter.build(size.printed().saturating_add(margins))?)
}

/// `value|pprint`
pub(super) fn pprint(meter: &mut Meter, args: &[Value]) -> Result<(), Error> {
    let size = meter.measure_all(args)?;
    let margins = size.items.saturating_mul(4 * size.depth);
    Ok(meter.build(size.printed().saturating_add(margins))?)
}

/// `items|batch(3, fill)`
pub(super) fn batch(meter: &mut Meter, args: &[Value]) -> Result<(), Error> {
    // Without a fill value the engine still allocates a whole batch, up to this size.
    let filled = if args.len() > 2 { counted(args) } else { counted(args).min(1_024) };
    chunks(meter, args, filled)
}

/// `items|slice(3)`
pub(super) fn slice(meter: &mut Meter, args: &[Value]) -> Result<(), Error> {
    chunks(meter, args, counted(args))
}

fn counted(args: &[Value]) -> usize {
    args.get(1).and_then(Value::as_usize).unwrap_or(0)
}

fn chunks(meter: &mut Meter, args: &[Value], extra: usize) -> Result<(), Error> {
    // Measured with the additional level, so that chunks of chunks cannot nest without limit.
    let nested = Value::from(vec![args.first().cloned().unwrap_or_default()]);
    meter.measure(&nested)?;
    let items = nested.get_item_by_index(0).ok().and_then(|items| items.len()).unwrap_or(0);
    Ok(meter.build_items(items.saturating_mul(2).saturating_add(extra))?)
}

/// `numbers|sum`: summing lists or strings would copy every intermediate result.
pub(super) fn sum(meter: &mut Meter, args: &[Value]) -> Result<(), Error> {
    if let Some(start) = argument(args, 2, "start")
        && !matches!(start.kind(), ValueKind::Number | ValueKind::Bool)
    {
        let message = format!("`sum` adds numbers, it can't start with a {}", start.kind());
        return Err(Error::new(ErrorKind::InvalidOperation, message));
    }
    Ok(meter.measure_all(args).map(|_| ())?)
}

/// The size of the arguments as text.
fn printed_as_text(meter: &mut Meter, args: &[Value]) -> Result<usize, Error> {
    let size = meter.measure_all(args)?;
    let text_only = args.iter().all(|value| value.as_object().is_none());
    Ok(if text_only { size.text } else { size.printed() })
}
