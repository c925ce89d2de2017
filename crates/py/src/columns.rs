//! Tables as Python objects.

use airlane_record::{Column, Table};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};

/// Table by name; a table is a list of (column name, kind, data, metadata).
pub(crate) fn tables<'py>(py: Python<'py>, tables: &[(&'static str, Table)]) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (name, table) in tables {
        let columns = PyList::empty(py);
        for (name, column, meaning) in table.described() {
            let (kind, data) = data(py, column)?;
            columns.append((name, kind, data, meaning.pairs(name)))?;
        }
        dict.set_item(name, columns)?;
    }
    Ok(dict)
}

fn data<'py>(py: Python<'py>, column: &Column) -> PyResult<(&'static str, Bound<'py, PyAny>)> {
    Ok(match column {
        Column::F64(values) => ("f64", words(py, values, |x| x.to_le_bytes())?.into_any()),
        Column::I64(values) => ("i64", words(py, values, |x| x.to_le_bytes())?.into_any()),
        Column::Bool(values) => {
            let bytes: Vec<u8> = values.iter().map(|b| u8::from(*b)).collect();
            ("bool", PyBytes::new(py, &bytes).into_any())
        }
        Column::Text(values) => ("utf8", PyList::new(py, values)?.into_any()),
        Column::Labels { labels, of } => {
            let of = PyBytes::new_with(py, of.len() * 4, |out| {
                let (places, _) = out.as_chunks_mut::<4>();
                for (place, value) in places.iter_mut().zip(of) {
                    *place = value.to_le_bytes();
                }
                Ok(())
            })?;
            ("labels", (PyList::new(py, labels)?, of).into_pyobject(py)?.into_any())
        }
    })
}

/// Numbers of eight bytes, little-endian.
fn words<'py, T: Copy>(
    py: Python<'py>,
    values: &[T],
    to_bytes: impl Fn(T) -> [u8; 8],
) -> PyResult<Bound<'py, PyBytes>> {
    PyBytes::new_with(py, values.len() * 8, |out| {
        let (places, _) = out.as_chunks_mut::<8>();
        for (place, value) in places.iter_mut().zip(values) {
            *place = to_bytes(*value);
        }
        Ok(())
    })
}
