//! The binary of the `towtank` command, which is the library `towtank_cli`.

use std::process::ExitCode;

fn main() -> ExitCode {
    towtank_cli::main(None, std::env::args_os().skip(1).collect()).into()
}
