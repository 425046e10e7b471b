//! The rates of a size, from those measured. Between two sizes, the rates of pure reads and pure writes lie
//! on a straight line in logarithms of rate and size: small sizes cost per operation and large ones per byte,
//! and either gives such a line.

use towtank_units::Bytes;

use super::{Beyond, EstimateError};
use crate::elastic::Elastic;
use crate::model::Model;

/// How the rates of a size are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SizeKind {
    /// The size itself was measured.
    Measured,
    /// Between two measured sizes.
    Interpolated,
    /// Outside all measured sizes.
    Extrapolated,
}

impl SizeKind {
    /// The name in tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            SizeKind::Measured => "measured",
            SizeKind::Interpolated => "interpolated",
            SizeKind::Extrapolated => "extrapolated",
        }
    }
}

/// The pure rates of a size.
#[derive(Clone, Debug, PartialEq)]
pub struct Located {
    /// Rate of pure reads, T100r.
    pub reads: Elastic,
    /// Rate of pure writes, T100w.
    pub writes: Elastic,
    /// The curvature of its mixes; 0 if none was fitted.
    pub curvature: f64,
    /// How the rates are known.
    pub kind: SizeKind,
}

/// Finds the pure rates of a size.
pub(crate) fn locate(model: &Model, size_bytes: u64, beyond: Beyond) -> Result<Located, EstimateError> {
    let sizes = &model.sizes;
    let bend = |at: usize| sizes[at].curvature.map_or(0.0, |curvature| curvature.value);
    if let Some(at) = sizes.iter().position(|size| size.size_bytes == size_bytes) {
        let (reads, writes) = model.pure(at);
        return Ok(Located { reads, writes, curvature: bend(at), kind: SizeKind::Measured });
    }
    let bytes = |at: usize| Bytes::new(sizes[at].size_bytes);
    let last = sizes.len() - 1;
    let size = Bytes::new(size_bytes);
    if last == 0 {
        return Err(EstimateError::OneSize { size, only: bytes(0) });
    }
    let above = sizes.partition_point(|size| size.size_bytes < size_bytes);
    let outside = above == 0 || above > last;
    if outside && beyond == Beyond::Refuse {
        return Err(EstimateError::Outside { size, least: bytes(0), most: bytes(last) });
    }
    let high = above.clamp(1, last);
    let low = high - 1;
    let log = |bytes: u64| libm::log(bytes as f64);
    let from = log(sizes[low].size_bytes);
    let at = (log(size_bytes) - from) / (log(sizes[high].size_bytes) - from);
    let ((low_reads, low_writes), (high_reads, high_writes)) = (model.pure(low), model.pure(high));
    let near = at.clamp(0.0, 1.0);
    Ok(Located {
        reads: low_reads.between(&high_reads, at),
        writes: low_writes.between(&high_writes, at),
        curvature: (1.0 - near) * bend(low) + near * bend(high),
        kind: if outside { SizeKind::Extrapolated } else { SizeKind::Interpolated },
    })
}
