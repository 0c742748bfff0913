use super::{Act, Error, Spec};

fn spec(name: &str, times: u64) -> Result<Spec, Error> {
    spec_of(Act::Kill, name, times)
}

fn spec_of(act: Act, name: &str, times: u64) -> Result<Spec, Error> {
    Ok(Spec {
        act,
        name: name.to_owned(),
        times,
    })
}

#[test]
fn a_name_means_the_first_time_and_a_number_means_that_time() {
    assert_eq!(Spec::parse("after-create"), spec("after-create", 1));
    assert_eq!(Spec::parse("after-create:3"), spec("after-create", 3));
}

#[test]
fn a_word_in_front_says_what_happens_there() {
    assert_eq!(Spec::parse("panic!pass"), spec_of(Act::Panic, "pass", 1));
    assert_eq!(Spec::parse("hang!pass:2"), spec_of(Act::Hang, "pass", 2));
}

#[test]
fn what_is_no_fail_point_is_refused() {
    for text in [
        "",
        "panic!",
        "burn!pass",
        ":1",
        "name:",
        "name:0",
        "name:-1",
        "name:x",
        "name:1:2",
    ] {
        assert_eq!(
            Spec::parse(text),
            Err(Error::Malformed(text.to_owned())),
            "{text:?}"
        );
    }
}

/// Runs this test program again with the variable set, because a process that kills itself cannot tell of it.
#[cfg(feature = "failpoints")]
mod killing {
    use std::os::unix::process::ExitStatusExt;
    use std::process::{Command, Output};

    const CHILD: &str = "runtime::failpoint::tests::killing::reaches_one_point_three_times";

    fn run(spec: Option<&str>) -> Output {
        let mut child = Command::new(std::env::current_exe().unwrap());
        child.args([
            CHILD,
            "--exact",
            "--ignored",
            "--nocapture",
            "--test-threads=1",
        ]);
        child.env_remove(super::super::VARIABLE);
        if let Some(spec) = spec {
            child.env(super::super::VARIABLE, spec);
        }
        child.output().unwrap()
    }

    fn rounds(output: &Output) -> usize {
        String::from_utf8_lossy(&output.stdout)
            .matches("round")
            .count()
    }

    #[test]
    #[ignore = "the child of the tests beside it"]
    fn reaches_one_point_three_times() {
        for _ in 0..3 {
            println!("round");
            super::super::reach("one");
        }
    }

    #[test]
    fn the_process_dies_by_sigkill_at_the_named_time() {
        for (spec, rounds_seen) in [("one", 1), ("one:3", 3)] {
            let output = run(Some(spec));
            assert_eq!(output.status.signal(), Some(9), "{spec}");
            assert_eq!(rounds(&output), rounds_seen, "{spec}");
        }
    }

    #[test]
    fn other_points_and_an_unset_variable_do_nothing() {
        for spec in [None, Some("other"), Some("one:4")] {
            let output = run(spec);
            assert!(output.status.success(), "{spec:?}");
            assert_eq!(rounds(&output), 3, "{spec:?}");
        }
    }
}
