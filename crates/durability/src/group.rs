//! Devices that keep something together.

/// Devices that keep something together, such as a placement group or an array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// Its devices.
    pub devices: Vec<usize>,
    /// Lost ones that it survives.
    pub tolerance: usize,
}
