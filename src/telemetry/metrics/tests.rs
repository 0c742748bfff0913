use super::{Usage, boot_time, registry, text};

#[test]
fn the_program_name_may_hold_brackets_and_blanks() {
    let stat = "7 (a) b (c) S 1 7 7 0 -1 0 0 0 0 0 250 50 0 0 20 0 9 0 4200 8192 3 0";
    let usage = Usage::parse(stat, 100.0, 4096.0).unwrap();
    let expected = Usage {
        cpu_secs: 3.0,
        resident_bytes: 12288.0,
        virtual_bytes: 8192.0,
        threads: 9.0,
        started_secs: 42.0,
    };
    assert_eq!(usage, expected);
}

#[test]
fn a_cut_line_of_the_kernel_gives_nothing_instead_of_something_wrong() {
    assert_eq!(Usage::parse("7 (x) S 1 2", 100.0, 4096.0), None);
    assert_eq!(Usage::parse("", 100.0, 4096.0), None);
}

#[test]
fn a_new_registry_tells_of_the_process_and_the_build() {
    let text = text(&registry()).unwrap();
    assert!(
        text.contains(&format!(
            "vmoperator_build_info{{version=\"{}\"}} 1",
            env!("CARGO_PKG_VERSION")
        )),
        "{text}"
    );
    for name in [
        "process_cpu_seconds_total",
        "process_resident_memory_bytes",
        "process_start_time_seconds",
        "process_open_fds",
        "process_max_fds",
    ] {
        let line = text
            .lines()
            .find(|line| line.starts_with(name))
            .unwrap_or_else(|| panic!("{name}\n{text}"));
        let value: f64 = line.rsplit(' ').next().unwrap().parse().unwrap();
        assert!(value >= 0.0, "{line}");
    }
}

#[test]
fn the_start_lies_between_boot_and_now() {
    let boot = boot_time().unwrap();
    let started = Usage::read().unwrap().started_secs;
    assert!(boot > 1e9 && started > 0.0);
}
