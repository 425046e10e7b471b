//! Project rules that the compiler does not check: which crate may use which (`layers`), what the
//! dependencies may be (`dependencies`) and that each is compiled once (`features`), the form of source
//! files (`form`) and their words (`words`), that studies stand alone (`rooms`), that libraries hide what no
//! other crate uses (`public`), that the cores of the store have no clock and no socket (`cores`), and that
//! each law of the code has a test that breaks it (`laws`). Each rule is a plain function over plain values,
//! so that its own tests plant a fault and check that it is found; the tests in this file then apply it to
//! the checkout.

mod circles;
mod cores;
mod dependencies;
mod features;
mod form;
mod functions;
mod laws;
mod layers;
mod links;
mod public;
mod rooms;
mod text;
mod tree;
mod tuples;
mod words;

/// Fails with all faults at once, one per line, so that all can be fixed in one pass.
fn expect_none(what: &str, faults: &[String]) {
    assert!(faults.is_empty(), "{} {what}:\n  {}", faults.len(), faults.join("\n  "));
}

#[test]
fn dependencies_go_only_downward() {
    let packages = layers::read(&tree::root());
    assert!(packages.len() >= 10, "cargo metadata named only {} crates", packages.len());
    expect_none("dependencies go the wrong way", &layers::faults(&packages));
}

#[test]
fn dependencies_are_allowed() {
    let root = tree::root();
    let graph = dependencies::read(&root);
    assert!(graph.packages.len() >= 100, "cargo metadata named only {} packages", graph.packages.len());
    expect_none(
        "dependencies that are not allowed",
        &dependencies::faults(&graph, &dependencies::rules(&root)),
    );
}

#[test]
fn dependencies_have_the_same_features_in_every_build() {
    let root = tree::root();
    let names: Vec<String> = layers::read(&root).iter().map(|package| package.name().to_owned()).collect();
    let (all, each) = features::read(&root, &names);
    assert!(all.len() >= 100 && each.len() == names.len(), "cargo tree named only {} packages", all.len());
    expect_none("dependencies would be compiled twice", &features::faults(&all, &each));
}

#[test]
fn the_cores_of_the_store_have_no_clock_and_no_socket() {
    let files = tree::all(&tree::root());
    let faults: Vec<String> = files.iter().flat_map(cores::faults).chain(cores::missing(&files)).collect();
    expect_none("faults of cores", &faults);
}

#[test]
fn every_source_file_has_the_house_form() {
    let files = tree::all(&tree::root());
    assert!(files.iter().any(|file| file.path.ends_with("tests/house/main.rs")), "this file was not read");
    let faults: Vec<String> = files.iter().flat_map(form::faults).collect();
    expect_none("faults of form", &faults);
}

#[test]
fn no_files_use_each_other_in_a_circle() {
    expect_none("circles of files", &circles::faults(&tree::all(&tree::root())));
}

#[test]
fn every_function_fits_a_screen() {
    let files = tree::all(&tree::root());
    let faults: Vec<String> = files.iter().flat_map(functions::faults).collect();
    expect_none("functions too long", &faults);
}

#[test]
fn no_study_uses_another() {
    expect_none("studies use each other", &rooms::faults(&tree::all(&tree::root())));
}

#[test]
fn no_parameter_is_a_long_tuple() {
    let files = tree::all(&tree::root());
    let faults: Vec<String> = files.iter().flat_map(tuples::faults).collect();
    expect_none("parameters are long tuples", &faults);
}

#[test]
fn what_is_public_is_used_by_another_crate() {
    expect_none("public items are used by their own crate alone", &public::faults(&tree::all(&tree::root())));
}

#[test]
fn words_of_many_meanings_are_rare() {
    expect_none("words of many meanings are common", &words::faults(&tree::all(&tree::root())));
}

#[test]
fn no_large_file_is_tracked() {
    expect_none("tracked files too large", &form::large(&tree::tracked(&tree::root())));
}

#[test]
fn every_crate_inherits_the_lints() {
    let manifests: Vec<_> =
        tree::all(&tree::root()).into_iter().filter(|file| form::is_crate_manifest(&file.path)).collect();
    assert!(manifests.len() >= 10, "only {} crate manifests were found", manifests.len());
    let faults: Vec<String> = manifests.iter().filter_map(form::lints_missing).collect();
    expect_none("crates without the workspace lints", &faults);
}

#[test]
fn every_law_has_a_test_that_breaks_it() {
    let files = tree::all(&tree::root());
    let count = laws::count(&files);
    assert!(count >= 60, "{} names only {count} laws", laws::PAGE);
    expect_none("laws that are not as the page says", &laws::faults(&files));
}

#[test]
fn links_between_documents_lead_somewhere() {
    let root = tree::root();
    let files = tree::all(&root);
    let faults: Vec<String> = files.iter().flat_map(|file| links::faults(file, &root)).collect();
    expect_none("links to nowhere", &faults);
}
