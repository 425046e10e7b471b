//! Runs the example and checks its output.

#[allow(dead_code, reason = "`main` is for those who run it")]
#[path = "../../examples/what_changed.rs"]
mod example;

#[test]
fn what_changed_is_found_by_each_form() {
    let want = "\
50000 objects, 500 written while the replica was away
scan:    50000 objects looked at,  2400000 bytes
whole:    1992 objects looked at,   226743 bytes, 2 messages
levels:   1992 objects looked at,   142717 bytes, 6 messages
sketch:    500 objects looked at,    22453 bytes, 2 messages
";
    assert_eq!(example::answer().expect("the exchanges go through"), want);
}
