//! The part of a campaign that one process runs: `2/8` is the second of eight.
//!
//! Tasks are assigned round-robin by their index in the plan, so that every shard gets part of each point's
//! replicates and an expensive point is spread over all of them. The assignment depends on the plan alone.

use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;

/// One part of a campaign; `1/1` is all of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    number: NonZeroU32,
    count: NonZeroU32,
}

/// Why a text is not a shard.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ShardError {
    /// Not two numbers with a slash between them.
    #[error("`{text}` is not a shard: write the number of the part and the count of parts, as in `2/8`")]
    Form {
        /// The text.
        text: String,
    },
    /// The number of the part exceeds the number of parts.
    #[error("shard {number} of {count} does not exist: the first is `1/{count}`, the last `{count}/{count}`")]
    OutOfRange {
        /// The requested part.
        number: u32,
        /// The number of parts.
        count: NonZeroU32,
    },
    /// The number of parts is 0.
    #[error("a campaign cannot have 0 parts: `1/1` is the whole campaign")]
    NoParts,
}

impl Shard {
    /// The whole campaign.
    pub const WHOLE: Self = Self { number: NonZeroU32::MIN, count: NonZeroU32::MIN };

    /// Part `number` (from 1) of `count`.
    ///
    /// # Errors
    /// If there is no such part.
    pub fn new(number: u32, count: u32) -> Result<Self, ShardError> {
        let count = NonZeroU32::new(count).ok_or(ShardError::NoParts)?;
        let inside = NonZeroU32::new(number).filter(|number| *number <= count);
        let number = inside.ok_or(ShardError::OutOfRange { number, count })?;
        Ok(Self { number, count })
    }

    /// Whether the task with this index in the plan belongs to this part.
    #[must_use]
    pub fn holds(self, task_index: usize) -> bool {
        let count = self.count.get() as usize;
        task_index % count == self.number.get() as usize - 1
    }

    /// Whether this part is the whole campaign.
    #[must_use]
    pub fn is_whole(self) -> bool {
        self.count == NonZeroU32::MIN
    }
}

impl FromStr for Shard {
    type Err = ShardError;

    fn from_str(text: &str) -> Result<Self, ShardError> {
        let form = || ShardError::Form { text: text.to_owned() };
        let (number, count) = text.split_once('/').ok_or_else(form)?;
        let parse = |part: &str| part.trim().parse::<u32>().map_err(|_| form());
        Self::new(parse(number)?, parse(count)?)
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}/{}", self.number, self.count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_task_lies_in_exactly_one_shard() {
        for count in 1..=9 {
            for task in 0..50 {
                let holders =
                    (1..=count).filter(|&number| Shard::new(number, count).unwrap().holds(task)).count();
                assert_eq!(holders, 1, "task {task} of {count} shards");
            }
        }
    }

    #[test]
    fn text_goes_there_and_back() {
        for text in ["1/1", "2/8", "8/8"] {
            assert_eq!(text.parse::<Shard>().unwrap().to_string(), text);
        }
        assert_eq!(" 2 / 8 ".parse::<Shard>().unwrap(), Shard::new(2, 8).unwrap());
        assert!("1/1".parse::<Shard>().unwrap().is_whole());
        assert_eq!("1/1".parse::<Shard>().unwrap(), Shard::WHOLE);
    }

    #[test]
    fn a_wrong_shard_says_what_to_write() {
        let message = |text: &str| text.parse::<Shard>().unwrap_err().to_string();
        insta::assert_snapshot!(message("2"), @"`2` is not a shard: write the number of the part and the count of parts, as in `2/8`");
        insta::assert_snapshot!(message("two/8"), @"`two/8` is not a shard: write the number of the part and the count of parts, as in `2/8`");
        insta::assert_snapshot!(message("9/8"), @"shard 9 of 8 does not exist: the first is `1/8`, the last `8/8`");
        insta::assert_snapshot!(message("0/8"), @"shard 0 of 8 does not exist: the first is `1/8`, the last `8/8`");
        insta::assert_snapshot!(message("1/0"), @"a campaign cannot have 0 parts: `1/1` is the whole campaign");
    }
}
