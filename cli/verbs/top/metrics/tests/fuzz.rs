//! Any bytes as metrics of an operator, for `top` and for the dashboard.

use super::{Scrape, TEXT};
use crate::fuzz::fuzz;

#[test]
fn any_text_is_as_many_metrics_as_can_be_read() {
    let corpus: &[&[u8]] = &[
        TEXT.as_bytes(),
        b"workqueue_depth{name=\"vm\"} 3\ncontroller_runtime_reconcile_total{controller=\"vm\"} +Inf\n",
        b"a{b=\"\\n\\\\\\\"\",} NaN 1700000000\n# HELP a b\n{} 1\na{ 1",
    ];
    fuzz("metrics", corpus, |input| {
        let text = String::from_utf8_lossy(input);
        let scrape = Scrape::parse(&text);
        let rows = scrape.queues().len() + scrape.calls().len();
        let samples = vm_tui::numbers::parse(&text);
        // What a line cannot name it has not.
        assert!(
            samples
                .iter()
                .all(|sample| !sample.name.is_empty() && text.contains(sample.name))
        );
        match (rows, samples.len()) {
            (0, 0) => "nothing",
            (0, _) => "samples",
            _ => "rows",
        }
    });
}
