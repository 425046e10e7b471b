//! `campaign.json`: the plan whose results a directory holds. It prevents mixing campaigns, and allows parts
//! to be joined without the scenario file.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::fingerprint::Fingerprint;
use crate::{CampaignKey, Plan};

/// The file's name within the directory.
pub(crate) const NAME: &str = "campaign.json";

/// The layout of the directory. It is raised when older versions can no longer read it.
const FORMAT: u32 = 1;

#[derive(Serialize, Deserialize)]
struct File {
    towtank_campaign: u32,
    key: CampaignKey,
    checksum: String,
    plan: Box<RawValue>,
}

/// Why a manifest cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Damage {
    #[error("it is not a complete campaign file ({0})")]
    Form(String),
    #[error("its layout is {0}, and this version reads {FORMAT}")]
    Format(u32),
    #[error("its checksum does not match its contents")]
    Checksum,
}

/// The file of a plan: equal plans give equal bytes.
pub(crate) fn to_bytes(plan: &Plan) -> Vec<u8> {
    let raw = serde_json::value::to_raw_value(plan).expect("every key of a plan is text");
    let checksum = checksum(&raw);
    let file = File { towtank_campaign: FORMAT, key: plan.key(), checksum, plan: raw };
    let mut bytes = serde_json::to_vec(&file).expect("every key of it is text");
    bytes.push(b'\n');
    bytes
}

/// The plan in a file.
pub(crate) fn from_bytes(bytes: &[u8]) -> Result<Plan, Damage> {
    #[derive(Deserialize)]
    struct Head {
        towtank_campaign: u32,
    }
    let form = |error: serde_json::Error| Damage::Form(error.to_string());
    let head: Head = serde_json::from_slice(bytes).map_err(form)?;
    if head.towtank_campaign != FORMAT {
        return Err(Damage::Format(head.towtank_campaign));
    }
    let file: File = serde_json::from_slice(bytes).map_err(form)?;
    if file.checksum != checksum(&file.plan) {
        return Err(Damage::Checksum);
    }
    let plan: Plan = serde_json::from_str(file.plan.get()).map_err(form)?;
    // The key is in the file for human readers; it follows from the plan.
    if plan.key() == file.key { Ok(plan) } else { Err(Damage::Checksum) }
}

fn checksum(plan: &RawValue) -> String {
    Fingerprint::of("towtank campaign file 1").part(plan.get()).hex()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::examples;

    #[test]
    fn a_manifest_reads_back_and_shows_any_damage() {
        let plan = examples::plan(&[8, 16], 3);
        let bytes = to_bytes(&plan);
        assert_eq!(from_bytes(&bytes).unwrap(), plan);
        for length in 0..bytes.len() - 1 {
            assert!(from_bytes(&bytes[..length]).is_err(), "{length} bytes");
        }
        for byte in 0..bytes.len() {
            let mut hurt = bytes.clone();
            hurt[byte] ^= 1;
            assert!(from_bytes(&hurt).is_err() || from_bytes(&hurt).unwrap() == plan, "byte {byte}");
        }
        let newer =
            String::from_utf8(bytes).unwrap().replace("\"towtank_campaign\":1", "\"towtank_campaign\":2");
        assert_eq!(from_bytes(newer.as_bytes()), Err(Damage::Format(2)));
    }
}
