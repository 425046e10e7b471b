//! Arrays as bytes in the machine's order, which is how numpy gives and takes them.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

macro_rules! read {
    ($read:ident, $type:ty) => {
        /// The numbers of an array.
        pub fn $read(bytes: &[u8]) -> PyResult<Vec<$type>> {
            let (numbers, rest) = bytes.as_chunks::<{ size_of::<$type>() }>();
            if !rest.is_empty() {
                let size = size_of::<$type>();
                let message =
                    format!("{} bytes are not a whole number of values of {size} bytes", bytes.len());
                return Err(PyValueError::new_err(message));
            }
            Ok(numbers.iter().map(|number| <$type>::from_ne_bytes(*number)).collect())
        }
    };
}

macro_rules! write {
    ($write:ident, $type:ty) => {
        /// The bytes of an array.
        pub fn $write<'py>(py: Python<'py>, numbers: &[$type]) -> PyResult<Bound<'py, PyBytes>> {
            PyBytes::new_with(py, size_of_val(numbers), |bytes| {
                let (places, _) = bytes.as_chunks_mut::<{ size_of::<$type>() }>();
                for (place, number) in places.iter_mut().zip(numbers) {
                    *place = number.to_ne_bytes();
                }
                Ok(())
            })
        }
    };
}

read!(u32s, u32);
read!(u64s, u64);
write!(bytes_of_u32s, u32);
write!(bytes_of_u64s, u64);
write!(bytes_of_i32s, i32);
