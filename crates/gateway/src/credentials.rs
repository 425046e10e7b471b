//! The access key and the secret of a cluster's gateway, in a file that a shell can source.

use towtank_store::settings::{Home, SettingsError};

/// The file in the directory of the cluster.
pub const FILE: &str = "gateway.key";

const ACCESS: &str = "AWS_ACCESS_KEY_ID";
const SECRET: &str = "AWS_SECRET_ACCESS_KEY";

/// The letters of keys: 32 of them, so that five bits of a random byte choose one without bias.
const LETTERS: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/// The credentials with which callers sign. `Debug` does not show the secret.
#[derive(Clone, PartialEq, Eq)]
pub struct Credentials {
    /// The access key, which identifies the caller.
    pub access_key: String,
    /// The secret, with which the caller signs.
    pub secret_key: String,
}

impl std::fmt::Debug for Credentials {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        to.debug_struct("Credentials").field("access_key", &self.access_key).finish_non_exhaustive()
    }
}

impl Credentials {
    /// The credentials of a cluster; creates them if there are none. Only the owner can read the file.
    ///
    /// # Errors
    /// If the file cannot be read or written, or its content is malformed.
    pub fn ensure(home: &Home) -> Result<Credentials, SettingsError> {
        let path = home.path(FILE);
        let fault = |why: String| SettingsError::File { path: path.clone(), why };
        if path.exists() {
            let text = std::fs::read_to_string(&path).map_err(|error| fault(error.to_string()))?;
            return Credentials::parse(&text)
                .ok_or_else(|| fault(format!("it needs a line {ACCESS}=... and a line {SECRET}=...")));
        }
        // 80 bits that identify a caller, and 200 secret bits.
        let mut bytes = [0; 56];
        getrandom::fill(&mut bytes).map_err(|error| fault(error.to_string()))?;
        let letters: String = bytes.iter().map(|byte| char::from(LETTERS[usize::from(byte % 32)])).collect();
        let (access, secret) = letters.split_at(16);
        let made = Credentials { access_key: format!("TWTK{access}"), secret_key: secret.to_owned() };
        home.write(FILE, made.text().as_bytes())?;
        Ok(made)
    }

    fn text(&self) -> String {
        format!("{ACCESS}={}\n{SECRET}={}\n", self.access_key, self.secret_key)
    }

    fn parse(text: &str) -> Option<Credentials> {
        let value = |key: &str| {
            let mut lines = text.lines().filter_map(|line| line.trim().split_once('='));
            lines.find(|(other, value)| *other == key && !value.is_empty()).map(|(_, value)| value.to_owned())
        };
        Some(Credentials { access_key: value(ACCESS)?, secret_key: value(SECRET)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let made = Credentials { access_key: "TWTKA".to_owned(), secret_key: "B=C".to_owned() };
        assert_eq!(Credentials::parse(&made.text()), Some(made.clone()));
        assert!(!format!("{made:?}").contains("B=C"), "a secret is not shown");
        for bad in ["", "AWS_ACCESS_KEY_ID=a", "AWS_ACCESS_KEY_ID=\nAWS_SECRET_ACCESS_KEY=b"] {
            assert_eq!(Credentials::parse(bad), None, "{bad}");
        }
    }
}
