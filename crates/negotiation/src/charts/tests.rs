//! What must follow from what in the two figures, and that `docs/put.md` shows the charts as they are.

use super::*;

const PAGE: &str = include_str!("../../../../docs/put.md");

/// Whether the page shows a chart, line by line.
fn is_shown(page: &str, chart: &[Line]) -> bool {
    page.contains(&chart.iter().map(|line| format!("{line}\n")).collect::<String>())
}

/// The windows of an initiator, in the order of the chart.
fn windows(chart: &[Line], initiator: char) -> Vec<Window> {
    chart.iter().filter(|line| line.ends().contains(&initiator)).filter_map(Line::window).collect()
}

#[test]
fn figure_2_a_cancelled_window_is_offered_to_the_next_initiator() {
    let (chart, trip) = (figure_2(), SimSpan::from_us(1));
    let of = |initiator: char| windows(&chart, initiator);
    let (before, first, second, third) = (of('D'), of('A'), of('B')[0], of('C')[0]);
    // Two control messages of 2,424 ns and a trip after the request.
    assert_eq!(before[0].left.as_ns(), 5_848, "X is available right away");
    assert_eq!(first[0].left, before[1].right.saturating_add(trip), "A gets the time after D's");
    assert_eq!(second.left, first[0].right.saturating_add(trip), "B's bid is shifted by A's reservation");
    assert_eq!(
        third.left,
        first[1].right.saturating_add(trip),
        "A's reservation is trimmed, and B's is gone"
    );
    assert!(third.left <= second.left && third.right > second.left, "C gets B's time: {third:?} {second:?}");
}

/// The trade-off of figure 2: a request before the cancellation must wait for a put that never comes.
#[test]
fn figure_2_a_request_before_the_cancellation_waits_for_both() {
    let mut busy = Server::new();
    let earlier = busy.request(0, put(3));
    busy.accept(1, put(3), earlier);
    let first = busy.request(2, put(0));
    let second = busy.request(3, put(1));
    busy.accept(9, put(0), first);
    let third = busy.request(10, put(2));
    assert!(third.left > second.right, "C waits for A and B: {third:?} {second:?}");
}

#[test]
fn figure_6_two_flows_share_a_servers_link() {
    let said: Vec<String> = figure_6().iter().map(|line| line.to_string()[10..].to_owned()).collect();
    assert_eq!(
        said,
        [
            "A -> X  request",
            "X -> A  rate init 9.90 Gbit/s",
            "X -> A  rate set 9.90 Gbit/s",
            "B -> X  request",
            "X -> B  rate init 4.95 Gbit/s",
            "X -> A  rate set 4.95 Gbit/s",
            "X -> B  rate set 4.95 Gbit/s",
            "X -> B  rate set 9.90 Gbit/s",
            "X -> A  acknowledgement",
            "X -> B  acknowledgement",
        ]
    );
}

#[test]
fn the_page_shows_both_charts() {
    for (figure, chart) in [("figure 2", figure_2()), ("figure 6", figure_6())] {
        let text: Vec<String> = chart.iter().map(Line::to_string).collect();
        assert!(is_shown(PAGE, &chart), "docs/put.md does not show {figure} as it is:\n{}", text.join("\n"));
        // Planted: a message that is a nanosecond late, and one that is missing.
        let mut late = chart.clone();
        late[1].at = late[1].at.saturating_add(SimSpan::from_ns(1));
        let mut lost = chart;
        lost.remove(1);
        assert!(!is_shown(PAGE, &late) && !is_shown(PAGE, &lost), "{figure}");
    }
}
