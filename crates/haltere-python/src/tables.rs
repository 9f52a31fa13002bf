//! Tables for Python without a copy, by Arrow's PyCapsule interface.

use crate::error::HaltereError;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{RecordBatch, RecordBatchIterator};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

/// A table. Give it to `pyarrow.table`, `pandas.DataFrame.from_arrow` or `polars.DataFrame`.
#[pyclass(frozen, module = "haltere._core")]
pub(crate) struct Table {
    batch: RecordBatch,
}

impl Table {
    pub(crate) fn new(batch: RecordBatch) -> Table {
        Table { batch }
    }
}

#[pymethods]
impl Table {
    /// Names of the columns.
    #[getter]
    fn column_names(&self) -> Vec<String> {
        self.batch.schema().fields().iter().map(|f| f.name().clone()).collect()
    }
    /// Number of rows.
    fn __len__(&self) -> usize {
        self.batch.num_rows()
    }
    /// The table as an Arrow C stream of one batch. The interface allows to ignore the requested schema.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        let batches = RecordBatchIterator::new([Ok(self.batch.clone())], self.batch.schema());
        let stream = FFI_ArrowArrayStream::new(Box::new(batches));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
            .map_err(|e| HaltereError::new_err(format!("a bug in haltere: no Arrow stream: {e}")))
    }
}
