//! Readers of what Ceph 12 to 19 prints with `-f json`, and of CRUSH maps in each of their forms.

mod crush_dump;
mod fields;
mod map_file;
mod osd_df;
mod osd_dump;
mod pg_dump;
mod report;
mod version;

pub use map_file::read_map;
pub use osd_df::{DeviceUse, read_osd_df};
pub use osd_dump::{OsdDump, OsdEntry, Part, PoolEntry, Release, read_osd_dump};
pub use pg_dump::{GroupStat, GroupSum, PgDump, read_pg_dump};
pub use report::{GroupsInState, Medium, Report, Served, UsedSum, read_report};
pub use version::{NoVersion, Version};

/// The largest device id that is read: tables have a row per device, and the largest known clusters have some
/// 10,000.
const DEVICE_ID_MAX: i32 = 999_999;

/// The maximum number of copies or shards of a pool: Ceph stores the size of a rule in a byte.
const POOL_SIZE_MAX: u32 = 255;
