//! Exports of a Ceph cluster.

use pyo3::prelude::*;
use towtank_imports::File;
use towtank_imports::ceph::read_report;

use crate::crush::CrushMap;
use crate::inputs::imported;

/// What `ceph report` says: its CRUSH map, devices, pools, and notes on what was skipped.
#[pyfunction]
pub fn ceph_report(
    py: Python<'_>,
    name: &str,
    content: &[u8],
) -> PyResult<(CrushMap, String, String, Vec<String>)> {
    let read = py.detach(|| read_report(File { name, bytes: content }));
    let (report, notes) = imported(py, read)?;
    let share = |fixed: u32| f64::from(fixed) / f64::from(0x1_0000);
    let osds: Vec<_> = report
        .osd_dump
        .osds
        .iter()
        .map(|osd| {
            let medium = report.media.iter().find(|(id, _)| *id == osd.id).map(|(_, medium)| medium.class());
            serde_json::json!([osd.id, osd.up, share(osd.weight), share(osd.primary_affinity), medium])
        })
        .collect();
    let pools: Vec<_> = report
        .osd_dump
        .pools
        .iter()
        .map(|pool| {
            let sum = report.pools.iter().find(|(id, _)| *id == pool.id).map(|(_, sum)| *sum);
            let (bytes, objects) = (sum.map(|sum| sum.num_bytes), sum.map(|sum| sum.num_objects));
            let rule = pool.crush_rule;
            serde_json::json!([
                pool.id,
                pool.name,
                pool.size,
                pool.min_size,
                pool.pg_num,
                rule,
                bytes,
                objects
            ])
        })
        .collect();
    let (osds, pools) = (serde_json::json!(osds).to_string(), serde_json::json!(pools).to_string());
    Ok((CrushMap::of(py, report.map)?, osds, pools, notes))
}
