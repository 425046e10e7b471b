//! The values of the flag `--executor`, of runs and of benchmarks.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use towtank_kernel::Executor;

/// Parses the name of an executor.
pub(crate) fn executors() -> impl TypedValueParser<Value = Executor> {
    PossibleValuesParser::new(Executor::ALL.map(Executor::name))
        .map(|name| name.parse::<Executor>().expect("only executors' names are possible"))
}
