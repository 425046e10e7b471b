//! Plain data of Python: what states and events of a model may consist of.
//!
//! They are kept outside the interpreter, so that nobody can change an event after it was sent, and hashed by
//! a canonical encoding. Sets are refused, because their order differs between processes; subclasses and
//! other objects, because their value is not all that they are. A dict keeps its order, which a program can
//! see.

use std::fmt;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};

/// A value.
#[derive(Clone, PartialEq, Hash)]
pub enum Plain {
    None,
    Bool(bool),
    Int(i128),
    /// The bits of a float, so that every value equals itself.
    Float(u64),
    Text(String),
    Bytes(Vec<u8>),
    List(Vec<Plain>),
    Tuple(Vec<Plain>),
    Dict(Vec<(Plain, Plain)>),
}

/// How deep lists, tuples and dicts may be nested: a choice, far below what the stack takes.
const DEPTH_MAX: usize = 64;

impl Plain {
    /// The value of an object. `place` says in errors where it was found.
    pub fn of(object: &Bound<'_, PyAny>, place: &str) -> PyResult<Plain> {
        read(object, place, 0)
    }

    /// The object of a value.
    pub fn to_python<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(match self {
            Plain::None => py.None().into_bound(py),
            Plain::Bool(value) => PyBool::new(py, *value).to_owned().into_any(),
            Plain::Int(value) => value.into_pyobject(py)?.into_any(),
            Plain::Float(bits) => PyFloat::new(py, f64::from_bits(*bits)).into_any(),
            Plain::Text(text) => PyString::new(py, text).into_any(),
            Plain::Bytes(bytes) => PyBytes::new(py, bytes).into_any(),
            Plain::List(items) => PyList::new(py, objects(py, items)?)?.into_any(),
            Plain::Tuple(items) => PyTuple::new(py, objects(py, items)?)?.into_any(),
            Plain::Dict(items) => {
                let dict = PyDict::new(py);
                for (key, value) in items {
                    dict.set_item(key.to_python(py)?, value.to_python(py)?)?;
                }
                dict.into_any()
            }
        })
    }
}

fn objects<'py>(py: Python<'py>, items: &[Plain]) -> PyResult<Vec<Bound<'py, PyAny>>> {
    items.iter().map(|item| item.to_python(py)).collect()
}

fn read(object: &Bound<'_, PyAny>, place: &str, depth: usize) -> PyResult<Plain> {
    if depth > DEPTH_MAX {
        let message =
            format!("{place} is nested more than {DEPTH_MAX} deep, which a model's data may not be");
        return Err(PyTypeError::new_err(message));
    }
    let all = |items: Vec<Bound<'_, PyAny>>| {
        items.iter().map(|item| read(item, place, depth + 1)).collect::<PyResult<Vec<Plain>>>()
    };
    if object.is_none() {
        return Ok(Plain::None);
    }
    if let Ok(value) = object.cast_exact::<PyBool>() {
        return Ok(Plain::Bool(value.is_true()));
    }
    if object.is_exact_instance_of::<PyInt>() {
        let large = |_| PyTypeError::new_err(format!("{place} has a number of more than 128 bits"));
        return object.extract().map(Plain::Int).map_err(large);
    }
    if let Ok(value) = object.cast_exact::<PyFloat>() {
        return Ok(Plain::Float(value.extract::<f64>()?.to_bits()));
    }
    if let Ok(value) = object.cast_exact::<PyString>() {
        return Ok(Plain::Text(value.extract()?));
    }
    if let Ok(value) = object.cast_exact::<PyBytes>() {
        return Ok(Plain::Bytes(value.as_bytes().to_vec()));
    }
    if let Ok(value) = object.cast_exact::<PyList>() {
        return all(value.iter().collect()).map(Plain::List);
    }
    if let Ok(value) = object.cast_exact::<PyTuple>() {
        return all(value.iter().collect()).map(Plain::Tuple);
    }
    if let Ok(value) = object.cast_exact::<PyDict>() {
        let items = value
            .iter()
            .map(|(key, value)| Ok((read(&key, place, depth + 1)?, read(&value, place, depth + 1)?)));
        return items.collect::<PyResult<Vec<_>>>().map(Plain::Dict);
    }
    let kind = object.get_type().name()?.to_string();
    Err(PyTypeError::new_err(format!(
        "{place} has a `{kind}`, which is not plain data; use None, bool, int, float, str, bytes, list, tuple or dict"
    )))
}

impl fmt::Debug for Plain {
    /// As Python writes it.
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Plain::None => to.write_str("None"),
            Plain::Bool(value) => to.write_str(if *value { "True" } else { "False" }),
            Plain::Int(value) => write!(to, "{value}"),
            Plain::Float(bits) => write!(to, "{:?}", f64::from_bits(*bits)),
            Plain::Text(text) => write!(to, "{text:?}"),
            Plain::Bytes(bytes) => write!(to, "<{} bytes>", bytes.len()),
            Plain::List(items) => to.debug_list().entries(items).finish(),
            Plain::Tuple(items) => {
                let mut out = to.debug_tuple("");
                items.iter().for_each(|item| {
                    out.field(item);
                });
                out.finish()
            }
            Plain::Dict(items) => to.debug_map().entries(items.iter().map(|(k, v)| (k, v))).finish(),
        }
    }
}
