//! Errors of reading a file: the file, the key, the reason, and a hint.

/// Why a file could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{file}`: {}{reason}", .key.as_ref().map(|key| format!("`{key}`: ")).unwrap_or_default())]
#[non_exhaustive]
pub struct ImportError {
    /// The file's name.
    pub file: String,
    /// The key in it, such as `pools[2].crush_rule`.
    pub key: Option<String>,
    /// What is wrong.
    pub reason: String,
    /// What the user can do about it.
    pub hint: Option<String>,
}

impl ImportError {
    /// What is wrong with a file that another crate reads.
    #[must_use]
    pub fn of(file: &str, key: Option<&str>, reason: String, hint: Option<String>) -> Self {
        Self { file: file.to_owned(), key: key.map(str::to_owned), reason, hint }
    }

    pub(crate) fn new(file: &str, reason: impl Into<String>) -> Self {
        Self { file: file.to_owned(), key: None, reason: reason.into(), hint: None }
    }

    pub(crate) fn key(mut self, key: impl Into<String>) -> Self {
        self.key = Some(key.into());
        self
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}
