//! Each mistake with its line and message, and unusual inputs that are accepted.

use super::*;

fn refusals(read: fn(&[u8]) -> Result<SizeHistogram, ReadError>, texts: &[&[u8]]) -> String {
    let lines = texts.iter().map(|text| {
        let error = read(text).expect_err(&String::from_utf8_lossy(text));
        assert!(!error.fault.hint().is_empty());
        format!("{error}\n")
    });
    lines.collect()
}

#[test]
fn a_histogram_is_read() {
    let text = b"# made by hand\r\n# total_count: 7\r\n\r\n# min max count\n 0 10 3\n20\t30 0 0.0 %\n30 31 4 57.1 97.5\n";
    let read = histogram(text).unwrap();
    assert_eq!(read.to_text(), "# total_count: 7\n0 10 3\n30 31 4\n");
    assert_eq!(histogram(read.to_text().as_bytes()), Ok(read));
}

#[test]
fn mistakes_in_a_histogram() {
    let messages = refusals(
        histogram,
        &[
            b"",
            b"\n# nothing\n",
            b"# total_count: 3\n",
            b"0 10 3\n# total_count: 3\n",
            b"# total_count: many\n0 10 3\n",
            b"# total_count: 3\n0 10\n",
            b"# total_count: 3\n0 10 -3\n",
            b"# total_count: 3\n0 1e3 3\n",
            b"# total_count: 3\n10 10 3\n",
            b"# total_count: 3\n0 10 1\n9 20 2\n",
            b"# total_count: 3\n0 1152921504606846978 3\n",
            b"# total_count: 3\n0 10 18446744073709551615\n10 20 1\n",
            b"# total_count: 9\n0 10 3\n",
            b"# total_count: 3\n\xff\n",
        ],
    );
    insta::assert_snapshot!(messages, @r"
    line 1: it contains no file
    line 2: it contains no file
    line 1: `total_count` is 3, but the bins hold 0 files
    line 1: a bin comes before the line `# total_count: N`
    line 1: `total_count` is `many`, but must be a whole number
    line 2: the number of columns is 2, but must be 3: `min max count`
    line 2: `count` is `-3`, but must be a whole number below 2^64
    line 2: `max` is `1e3`, but must be a whole number below 2^64
    line 2: the bin from 10 to 10 bytes is empty: its end is not part of it
    line 3: the bin starts at 9 bytes, but the previous one ends at 10
    line 2: 1152921504606846977 bytes exceed the largest file size, 1152921504606846976
    line 3: the counts up to here add up to more than 2^64 - 1
    line 2: `total_count` is 9, but the bins hold 3 files
    line 2: it is not UTF-8 text
    ");
}

#[test]
fn a_table_is_read() {
    for text in [
        "size,count\n10,3\n4KiB, 1\n",
        "# sizes\n\nSIZE_BYTES , Count\r\n4096,1\r\n10,1\r\n10,2\r\n",
        "4.096kB,1\n10B,3",
    ] {
        let read = csv(text.as_bytes()).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(read.to_text(), "# total_count: 4\n10 11 3\n4096 4097 1\n", "{text}");
    }
}

#[test]
fn mistakes_in_a_table() {
    let messages = refusals(
        csv,
        &[
            b"",
            b"size,count\n",
            b"size,count\n10,0\n",
            b"count,size\n3,10\n",
            b"10;3\n",
            b"10,3,4\n",
            b"10 k,3\n",
            b"-10,3\n",
            b"10,3.5\n",
            b"99999999999999999999,1\n",
            b"2EiB,1\n",
            b"1,18446744073709551615\n2,1\n",
            b"1,1\nsize,count\n",
            b"\xfe,1\n",
        ],
    );
    insta::assert_snapshot!(messages, @r"
    line 1: it contains no file
    line 1: it contains no file
    line 2: it contains no file
    line 1: `count` is not a size
    line 1: the number of columns is 1, but must be 2: `size,count`
    line 1: the number of columns is 3, but must be 2: `size,count`
    line 1: `10 k` is not a size
    line 1: `-10` is not a size
    line 1: `count` is `3.5`, but must be a whole number below 2^64
    line 1: `99999999999999999999` is not a size
    line 1: 2305843009213693952 bytes exceed the largest file size, 1152921504606846976
    line 2: the counts up to here add up to more than 2^64 - 1
    line 2: `size` is not a size
    line 1: it is not UTF-8 text
    ");
}

#[test]
fn rows_are_bounded() {
    let rows = "5,1\n".repeat(ROWS_MAX + 1);
    assert_eq!(csv(rows.as_bytes()).unwrap_err(), ReadError { line: ROWS_MAX + 1, fault: Fault::TooLong });
    let mut bins = String::from("# total_count: 0\n");
    (0..=ROWS_MAX).for_each(|bin| bins.push_str(&format!("{bin} {} 0\n", bin + 1)));
    assert_eq!(histogram(bins.as_bytes()).unwrap_err().fault, Fault::TooLong);
}

#[test]
fn what_a_terminal_obeys_is_left_out() {
    let message = csv(format!("\u{1b}[31m{}x,1\n", "9".repeat(100)).as_bytes()).unwrap_err().to_string();
    assert!(!message.contains('\u{1b}') && message.len() < 120, "{message}");
}
