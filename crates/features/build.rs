//! Does nothing, but without a build script cargo ignores the dependencies of build scripts.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
}
