use super::*;

#[test]
fn ages_are_written_as_kubectl_writes_them() {
    for (seconds, text) in [
        (-5, "0s"),
        (0, "0s"),
        (119, "119s"),
        (120, "2m"),
        (150, "2m30s"),
        (600, "10m"),
        (10_800, "3h"),
        (11_400, "3h10m"),
        (86_400, "24h"),
        (180_000, "2d2h"),
        (864_000, "10d"),
        (94_608_000, "3y"),
    ] {
        assert_eq!(age(Stamp(seconds * 1000), Stamp(0)), text, "{seconds}");
    }
    assert_eq!(age(Stamp(i64::MAX), Stamp(i64::MIN)), "very old");
}

#[test]
fn spans_keep_their_unit_at_every_edge() {
    for (seconds, text) in [
        (0.0, "0s"),
        (0.004, "4.0ms"),
        (0.12, "120ms"),
        (0.9996, "1.0s"),
        (9.94, "9.9s"),
        (9.96, "10s"),
        (600.0, "10m"),
        (f64::NAN, "–"),
        (f64::INFINITY, "–"),
        (-1.0, "–"),
    ] {
        assert_eq!(span(seconds), text, "{seconds}");
    }
}

#[test]
fn a_moment_before_1970_has_a_time_of_day() {
    assert_eq!(Stamp(-1000).clock(), "23:59:59");
    assert_eq!(Stamp(45_296_000).clock(), "12:34:56");
}
