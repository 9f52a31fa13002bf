//! Tables of a run as JSON: each column a list.

use arrow_array::types::Int32Type;
use arrow_array::{Array, BooleanArray, DictionaryArray, Float64Array, StringArray, UInt64Array};
use haltere_lab::table::{RecordBatch, digest, tables};
use haltere_plan::{Plan, Record};
use serde_json::{Map, Value, json};

/// What a run gives: events, digest, when counters that say "after warm-up" begin and end, and the tables that are
/// named.
pub(crate) fn told(plan: &Plan, record: &Record, names: &[String]) -> Value {
    let tables = tables(plan, record);
    let (from, until) = (plan.warmup.as_ns(), plan.measured_until().as_ns());
    let wanted = tables.iter().filter(|(name, _)| names.iter().any(|one| one == name));
    let shown: Map<String, Value> = wanted.map(|(name, table)| ((*name).to_owned(), columns(table))).collect();
    let all: Vec<&str> = tables.iter().map(|(name, _)| *name).collect();
    let window = json!({ "from": from, "until": until, "early": until < plan.end.as_ns() });
    json!({ "events": record.events, "digest": digest(&tables), "window": window, "all": all, "tables": shown })
}

fn columns(table: &RecordBatch) -> Value {
    let schema = table.schema();
    let both = schema.fields().iter().zip(table.columns());
    let columns: Map<String, Value> =
        both.map(|(field, column)| (field.name().clone(), list(column.as_ref()))).collect();
    json!({ "rows": table.num_rows(), "columns": columns })
}

/// A column of one of the types that the laboratory's tables have.
fn list(column: &dyn Array) -> Value {
    let any = column.as_any();
    if let Some(numbers) = any.downcast_ref::<UInt64Array>() {
        return numbers.iter().collect();
    }
    if let Some(numbers) = any.downcast_ref::<Float64Array>() {
        return numbers.iter().collect();
    }
    if let Some(flags) = any.downcast_ref::<BooleanArray>() {
        return flags.iter().collect();
    }
    if let Some(texts) = any.downcast_ref::<StringArray>() {
        return texts.iter().collect();
    }
    let texts = any.downcast_ref::<DictionaryArray<Int32Type>>().and_then(|names| names.downcast_dict::<StringArray>());
    texts.map_or(Value::Null, |texts| texts.into_iter().collect())
}
