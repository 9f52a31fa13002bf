//! A table under construction, column by column.

use arrow_array::types::Int32Type;
use arrow_array::{
    Array, ArrayRef, BooleanArray, DictionaryArray, Float64Array, Int32Array, RecordBatch, StringArray, UInt64Array,
};
use arrow_schema::{Field, Schema};
use haltere_plan::Plan;
use std::collections::HashMap;
use std::sync::Arc;

/// A column of whole numbers to be: its name, its unit, and how a row of `R` gives it.
pub(super) type Count<R> = (&'static str, &'static str, fn(&R) -> u64);

/// A table with a line for each of its rows. A column has a name, a unit, and what it takes of a row.
pub(super) struct Columns<'a, R> {
    plan: &'a Plan,
    rows: &'a [R],
    fields: Vec<Field>,
    arrays: Vec<ArrayRef>,
}

impl<'a, R> Columns<'a, R> {
    pub(super) fn of(plan: &'a Plan, rows: &'a [R]) -> Self {
        Columns { plan, rows, fields: Vec::new(), arrays: Vec::new() }
    }
    fn push(mut self, name: &str, unit: &str, nullable: bool, array: impl Array + 'static) -> Self {
        let field = Field::new(name, array.data_type().clone(), nullable);
        let unit = (!unit.is_empty()).then(|| ("unit".into(), unit.into()));
        self.fields.push(field.with_metadata(HashMap::from_iter(unit)));
        self.arrays.push(Arc::new(array));
        self
    }
    pub(super) fn count(self, name: &str, unit: &str, value: impl Fn(&R) -> u64) -> Self {
        let array = UInt64Array::from_iter_values(self.rows.iter().map(value));
        self.push(name, unit, false, array)
    }
    /// Whole numbers, if there are any.
    pub(super) fn count_opt(self, name: &str, unit: &str, value: impl Fn(&R) -> Option<u64>) -> Self {
        let array = UInt64Array::from_iter(self.rows.iter().map(value));
        self.push(name, unit, true, array)
    }
    /// Numbers, if there are any.
    pub(super) fn number_opt(self, name: &str, unit: &str, value: impl Fn(&R) -> Option<f64>) -> Self {
        let array = Float64Array::from_iter(self.rows.iter().map(value));
        self.push(name, unit, true, array)
    }
    pub(super) fn flag(self, name: &str, value: impl Fn(&R) -> bool) -> Self {
        let array = BooleanArray::from_iter(self.rows.iter().map(|row| Some(value(row))));
        self.push(name, "", false, array)
    }
    /// Texts, each stored by itself.
    pub(super) fn text<'r, T: AsRef<str>>(self, name: &str, value: impl Fn(&'r R) -> Option<T>) -> Self
    where
        'a: 'r,
    {
        let array = StringArray::from_iter(self.rows.iter().map(value));
        let nullable = array.null_count() > 0;
        self.push(name, "", nullable, array)
    }
    /// Texts that repeat: the place of each row's text in `names`.
    pub(super) fn name<'n>(
        self,
        name: &str,
        names: impl IntoIterator<Item = &'n str>,
        place: impl Fn(&R) -> u32,
    ) -> Self {
        let places = Int32Array::from_iter_values(self.rows.iter().map(|row| place(row) as i32));
        let array = DictionaryArray::<Int32Type>::new(places, Arc::new(StringArray::from_iter_values(names)));
        self.push(name, "", false, array)
    }
    /// Texts that repeat, if there are any.
    pub(super) fn name_opt<'n>(
        self,
        name: &str,
        names: impl IntoIterator<Item = &'n str>,
        place: impl Fn(&R) -> Option<u32>,
    ) -> Self {
        let places = Int32Array::from_iter(self.rows.iter().map(|row| Some(place(row)? as i32)));
        let array = DictionaryArray::<Int32Type>::new(places, Arc::new(StringArray::from_iter_values(names)));
        self.push(name, "", true, array)
    }
    /// The name of each row's flow.
    pub(super) fn flow(self, flow: impl Fn(&R) -> u32) -> Self {
        let plan = self.plan;
        self.name("flow", plan.flows.iter().map(|flow| flow.name.as_str()), flow)
    }
    /// The names of each row's flow and of its traffic entry.
    pub(super) fn flow_and_group(self, flow: impl Fn(&R) -> u32) -> Self {
        let plan = self.plan;
        self.flow(&flow).name("group", plan.flows.iter().map(|flow| flow.group_name()), flow)
    }
    /// The name of each row's link.
    pub(super) fn link(self, link: impl Fn(&R) -> u32) -> Self {
        let plan = self.plan;
        self.name("link", plan.links.iter().map(|link| link.name.as_str()), link)
    }
    /// The name of a node of each row.
    pub(super) fn node(self, name: &str, node: impl Fn(&R) -> u32) -> Self {
        let plan = self.plan;
        self.name(name, plan.nodes.iter().map(String::as_str), node)
    }
    /// Inner variables of mechanisms, one column a name, in the order in which they first appear. A name that a column
    /// has already is put after `prefix`.
    pub(super) fn variables(mut self, prefix: &str, row: impl Fn(&R) -> &[(&'static str, f64)]) -> Self {
        let mut names: Vec<&'static str> = Vec::new();
        for (name, _) in self.rows.iter().flat_map(&row) {
            if !names.contains(name) {
                names.push(name);
            }
        }
        for name in names {
            let taken = self.fields.iter().any(|field| field.name() == name);
            let column = if taken { format!("{prefix}_{name}") } else { name.into() };
            self = self.number_opt(&column, "", |values| row(values).iter().find(|one| one.0 == name).map(|one| one.1));
        }
        self
    }
    pub(super) fn finish(self) -> RecordBatch {
        RecordBatch::try_new(Arc::new(Schema::new(self.fields)), self.arrays).expect("columns of one length and type")
    }
}
