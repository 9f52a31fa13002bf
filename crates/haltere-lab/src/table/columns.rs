//! A table under construction, column by column.

use arrow_array::types::Int32Type;
use arrow_array::{
    ArrayRef, BooleanArray, DictionaryArray, Float64Array, Int32Array, RecordBatch, StringArray, UInt64Array,
};
use arrow_schema::{DataType, Field, Schema};
use haltere_plan::Plan;
use std::collections::HashMap;
use std::sync::Arc;

/// A column of whole numbers to be: its name, its unit, and how a row of `S` gives it.
pub(super) type Count<S> = (&'static str, &'static str, fn(&S) -> u64);

/// Columns of equal length.
#[derive(Default)]
pub(super) struct Columns {
    fields: Vec<Field>,
    arrays: Vec<ArrayRef>,
}

impl Columns {
    fn push(&mut self, name: &str, unit: &str, nullable: bool, array: ArrayRef) {
        let field = Field::new(name, array.data_type().clone(), nullable);
        let told = if unit.is_empty() { HashMap::new() } else { HashMap::from([("unit".into(), unit.into())]) };
        self.fields.push(field.with_metadata(told));
        self.arrays.push(array);
    }
    pub(super) fn count(&mut self, name: &str, unit: &str, values: impl Iterator<Item = u64>) {
        self.push(name, unit, false, Arc::new(UInt64Array::from_iter_values(values)));
    }
    /// A column for each of these figures of a row.
    pub(super) fn counts<'a, S: 'a>(&mut self, rows: impl Iterator<Item = &'a S> + Clone, figures: &[Count<S>]) {
        for (name, unit, figure) in figures {
            self.count(name, unit, rows.clone().map(figure));
        }
    }
    /// The name of each row's flow.
    pub(super) fn flow(&mut self, plan: &Plan, rows: impl Iterator<Item = u32>) {
        self.name("flow", plan.flows.iter().map(|f| f.name.as_str()), rows);
    }
    /// The name of each row's traffic entry.
    pub(super) fn group(&mut self, plan: &Plan, rows: impl Iterator<Item = u32>) {
        self.name("group", plan.flows.iter().map(|f| f.group_name()), rows);
    }
    /// Whole numbers, if there are any.
    pub(super) fn count_opt(&mut self, name: &str, unit: &str, values: impl Iterator<Item = Option<u64>>) {
        self.push(name, unit, true, Arc::new(UInt64Array::from_iter(values)));
    }
    /// Numbers, if there are any.
    pub(super) fn number_opt(&mut self, name: &str, unit: &str, values: impl Iterator<Item = Option<f64>>) {
        self.push(name, unit, true, Arc::new(Float64Array::from_iter(values)));
    }
    pub(super) fn flag(&mut self, name: &str, values: impl Iterator<Item = bool>) {
        self.push(name, "", false, Arc::new(BooleanArray::from_iter(values.map(Some))));
    }
    /// Texts, each for itself.
    pub(super) fn text<'a>(&mut self, name: &str, values: impl Iterator<Item = Option<&'a str>>) {
        let array: ArrayRef = Arc::new(StringArray::from_iter(values));
        self.push(name, "", array.null_count() > 0, array);
    }
    /// Texts that repeat: the places of each row's text in `names`.
    pub(super) fn name<'a>(
        &mut self,
        name: &str,
        names: impl Iterator<Item = &'a str>,
        rows: impl Iterator<Item = u32>,
    ) {
        let (names, keys) =
            (StringArray::from_iter_values(names), Int32Array::from_iter_values(rows.map(|i| i as i32)));
        let array = DictionaryArray::<Int32Type>::new(keys, Arc::new(names));
        self.push(name, "", false, Arc::new(array));
    }
    /// Texts that repeat, if there are any: the places of each row's text in `names`.
    pub(super) fn name_opt<'a>(
        &mut self,
        name: &str,
        names: impl Iterator<Item = &'a str>,
        rows: impl Iterator<Item = Option<u32>>,
    ) {
        let (names, keys) =
            (StringArray::from_iter_values(names), Int32Array::from_iter(rows.map(|i| Some(i? as i32))));
        self.push(name, "", true, Arc::new(DictionaryArray::<Int32Type>::new(keys, Arc::new(names))));
    }
    /// Inner variables of mechanisms, one column a name, in the order in which they first appear. A name that a column
    /// has already is put after `prefix`.
    pub(super) fn variables<'a>(
        &mut self,
        prefix: &str,
        rows: impl Iterator<Item = &'a [(&'static str, f64)]> + Clone,
    ) {
        let mut names: Vec<&'static str> = Vec::new();
        for (name, _) in rows.clone().flatten() {
            if !names.contains(name) {
                names.push(name);
            }
        }
        for name in names {
            let taken = self.fields.iter().any(|f| f.name() == name);
            let column = if taken { format!("{prefix}_{name}") } else { name.into() };
            let value = |row: &[(&'static str, f64)]| row.iter().find(|(n, _)| *n == name).map(|(_, v)| *v);
            self.number_opt(&column, "", rows.clone().map(value));
        }
    }
    pub(super) fn finish(self) -> RecordBatch {
        debug_assert!(self.fields.iter().all(|f| *f.data_type() != DataType::Null));
        RecordBatch::try_new(Arc::new(Schema::new(self.fields)), self.arrays).expect("columns of one length and type")
    }
}
