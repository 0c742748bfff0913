//! Options.

use clap::Parser;

use super::*;

#[derive(Debug, Parser)]
struct Arguments {
    #[command(flatten)]
    options: Options,
}

#[test]
fn the_default_is_what_the_command_line_gives() {
    let parsed = Arguments::try_parse_from(["mock"]).unwrap().options;
    assert_eq!(format!("{parsed:?}"), format!("{:?}", Options::default()));
    assert_eq!(parsed.settings(), Settings::default());
}

#[test]
fn every_flag_reaches_its_setting() {
    let flags = "mock --provisioning-delay 1s --provisioning-jitter 2s --latency 3s \
        --latency-jitter 4s --latency-tail 5s --latency-tail-share 0.5 --rate-limit 2.5 --quota 6 \
        --key-lifetime 7s --delete-delay 8s --list-lag 9s --page-size 10 --continue-lifetime 11s \
        --change-history 12 --tombstones 13 --basic";
    let seconds = Duration::from_secs;
    let expected = Settings {
        basic: true,
        provisioning: Spread {
            base: seconds(1),
            jitter: seconds(2),
        },
        latency: Latency {
            body: Spread {
                base: seconds(3),
                jitter: seconds(4),
            },
            tail: seconds(5),
            tail_share: 0.5,
        },
        rate: Some(Rate {
            per_second: 2.5,
            burst: 3,
        }),
        quota: Some(6),
        key_lifetime: seconds(7),
        delete_delay: seconds(8),
        list_lag: seconds(9),
        page_cap: 10,
        continue_lifetime: seconds(11),
        change_history: 12,
        tombstones: 13,
    };
    assert_eq!(
        Arguments::try_parse_from(flags.split_whitespace())
            .unwrap()
            .options
            .settings(),
        expected
    );
}

#[test]
fn a_key_never_shows() {
    let options = Arguments::try_parse_from(["mock", "--api-key", "acme=s3cret"])
        .unwrap()
        .options;
    assert!(!format!("{options:?}").contains("s3cret"));
    for wrong in ["s3cret", "=s3cret", "acme=", "acme=s3cret value"] {
        let options = Arguments::try_parse_from(["mock", "--api-key", wrong])
            .unwrap()
            .options;
        let error = options.keyring().unwrap_err().to_string();
        assert!(
            error.contains("ACCOUNT=KEY") && !error.contains("s3cret"),
            "{error}"
        );
    }
}

#[test]
fn durations_and_shares_have_bounds() {
    for good in ["0s", "200ms", "1m30s", "24h", "1m 30s"] {
        assert!(duration(good).is_ok(), "{good}");
    }
    for bad in ["", "5", "-1s", "soon", "99999999h", "1e9s"] {
        assert!(duration(bad).is_err(), "{bad}");
    }
    for bad in ["-0.1", "1.1", "NaN", "x", "inf"] {
        assert!(share(bad).is_err(), "{bad}");
    }
    for bad in ["0", "-1", "NaN", "inf", "x"] {
        assert!(above_zero(bad).is_err(), "{bad}");
    }
}
