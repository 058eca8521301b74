//! Converts values to and from Postgres's binary format. The column type decides how a value is encoded; decoded
//! values are of the few types that both engines share.

use std::error::Error;

use tokio_postgres::Row as PostgresRow;
use tokio_postgres::types::private::BytesMut;
use tokio_postgres::types::{FromSql, IsNull, ToSql, Type, to_sql_checked};

use crate::engine::{Row, Value};

type Failed = Box<dyn Error + Sync + Send>;

impl ToSql for Value {
    fn to_sql(&self, kind: &Type, out: &mut BytesMut) -> Result<IsNull, Failed> {
        match (self, kind) {
            (Self::Null, _) => Ok(IsNull::Yes),
            (Self::Int(number), &Type::INT8) => number.to_sql(kind, out),
            (Self::Int(number), &Type::INT4) => i32::try_from(*number)?.to_sql(kind, out),
            (Self::Int(number), &Type::INT2) => i16::try_from(*number)?.to_sql(kind, out),
            #[expect(clippy::cast_precision_loss, reason = "SQLite does the same with a whole number")]
            (Self::Int(number), &Type::FLOAT8) => (*number as f64).to_sql(kind, out),
            (Self::Real(number), &Type::FLOAT8) => number.to_sql(kind, out),
            (Self::Text(text), kind) if is_text(kind) => text.to_sql(kind, out),
            (Self::Text(text), &Type::JSON) => {
                out.extend_from_slice(text.as_bytes());
                Ok(IsNull::No)
            }
            (value, kind) => Err(format!("{} does not go into {kind}", name(value)).into()),
        }
    }

    fn accepts(_kind: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

fn is_text(kind: &Type) -> bool {
    [Type::TEXT, Type::VARCHAR, Type::BPCHAR, Type::NAME, Type::UNKNOWN].contains(kind)
}

fn name(value: &Value) -> &'static str {
    match value {
        Value::Null => "nothing",
        Value::Int(_) => "a whole number",
        Value::Real(_) => "a number",
        Value::Text(_) => "a text",
    }
}

impl<'a> FromSql<'a> for Value {
    fn from_sql(kind: &Type, raw: &'a [u8]) -> Result<Self, Failed> {
        Ok(match *kind {
            Type::INT8 => Self::Int(i64::from_sql(kind, raw)?),
            Type::INT4 => Self::Int(i32::from_sql(kind, raw)?.into()),
            Type::INT2 => Self::Int(i16::from_sql(kind, raw)?.into()),
            Type::BOOL => Self::Int(bool::from_sql(kind, raw)?.into()),
            Type::FLOAT8 => Self::Real(f64::from_sql(kind, raw)?),
            Type::FLOAT4 => Self::Real(f32::from_sql(kind, raw)?.into()),
            Type::NUMERIC => numeric(raw)?,
            Type::VOID => Self::Null,
            Type::JSON => Self::Text(std::str::from_utf8(raw)?.to_owned()),
            _ => Self::Text(String::from_sql(kind, raw)?),
        })
    }

    fn from_sql_null(_kind: &Type) -> Result<Self, Failed> {
        Ok(Self::Null)
    }

    fn accepts(kind: &Type) -> bool {
        is_text(kind)
            || [
                Type::INT8,
                Type::INT4,
                Type::INT2,
                Type::BOOL,
                Type::FLOAT8,
                Type::FLOAT4,
                Type::NUMERIC,
                Type::VOID,
                Type::JSON,
            ]
            .contains(kind)
    }
}

/// Postgres sums integers as `numeric`. Decoded as an integer if it has no fraction, else as a float.
fn numeric(raw: &[u8]) -> Result<Value, Failed> {
    let word = |index: usize| {
        let bytes = raw.get(index * 2..index * 2 + 2).ok_or("a numeric is cut off")?;
        Ok::<_, Failed>(u16::from_be_bytes([bytes[0], bytes[1]]))
    };
    let (digits, weight, sign) = (usize::from(word(0)?), i32::from(word(1)?.cast_signed()), word(2)?);
    let negative = match sign {
        0 => false,
        0x4000 => true,
        _ => return Err("a numeric that is not a number".into()),
    };
    let (mut whole, mut real) = (0_i128, 0.0_f64);
    let mut fraction = false;
    for index in 0..digits {
        let digit = word(4 + index)?;
        let power = weight - i32::try_from(index)?;
        real += f64::from(digit) * 10_000_f64.powi(power);
        match u32::try_from(power).ok().and_then(|power| 10_000_i128.checked_pow(power)) {
            Some(factor) => whole = whole.saturating_add(i128::from(digit).saturating_mul(factor)),
            None => fraction |= digit != 0,
        }
    }
    let (whole, real) = if negative { (-whole, -real) } else { (whole, real) };
    Ok(match i64::try_from(whole) {
        Ok(number) if !fraction => Value::Int(number),
        _ => Value::Real(real),
    })
}

/// Decodes a row.
pub(super) fn row(row: &PostgresRow) -> Result<Row, tokio_postgres::Error> {
    (0..row.len()).map(|column| row.try_get(column)).collect::<Result<_, _>>().map(Row)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(weight: i16, sign: u16, digits: &[u16]) -> Vec<u8> {
        let count = u16::try_from(digits.len()).unwrap();
        let head = [count, weight.cast_unsigned(), sign, 0];
        head.iter().chain(digits).flat_map(|word| word.to_be_bytes()).collect()
    }

    #[test]
    fn numeric_without_fraction_is_an_integer() {
        let cases = [
            (raw(0, 0, &[]), Value::Int(0)),
            (raw(0, 0, &[42]), Value::Int(42)),
            (raw(1, 0, &[1, 2]), Value::Int(10_002)),
            (raw(2, 0, &[3]), Value::Int(300_000_000)),
            (raw(0, 0x4000, &[7]), Value::Int(-7)),
            (raw(0, 0, &[1, 5_000]), Value::Real(1.5)),
            (raw(5, 0, &[1]), Value::Real(1e20)),
        ];
        for (raw, expected) in cases {
            assert_eq!(numeric(&raw).unwrap(), expected);
        }
        assert!(numeric(&raw(0, 0xC000, &[])).is_err());
        assert!(numeric(&[0, 1, 0, 0]).is_err());
    }
}
