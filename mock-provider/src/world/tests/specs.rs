//! What a new VM must be like.

use super::*;

fn judged(spec: NewVm) -> Result<(), Code> {
    world(|_| {})
        .call(create(None, 0, spec), at(0))
        .outcome
        .map(|_| ())
        .map_err(|refusal| refusal.code)
}

#[test]
fn images_names_and_cpus_have_bounds() {
    let invalid = Err(Code::InvalidSpec);
    for (image, expected) in [
        ("a", Ok(())),
        ("", Err(Code::InvalidImage)),
        ("a b", Err(Code::InvalidImage)),
    ] {
        assert_eq!(
            judged(NewVm {
                image: image.into(),
                ..spec()
            }),
            expected,
            "{image:?}"
        );
    }
    assert_eq!(
        judged(NewVm {
            image: "ü".repeat(253),
            ..spec()
        }),
        Ok(())
    );
    assert_eq!(
        judged(NewVm {
            image: "ü".repeat(254),
            ..spec()
        }),
        Err(Code::InvalidImage)
    );
    for (cpu, expected) in [
        (1, Ok(())),
        (512, Ok(())),
        (0, invalid),
        (-1, invalid),
        (513, invalid),
        (i64::MAX, invalid),
    ] {
        assert_eq!(judged(NewVm { cpu, ..spec() }), expected, "{cpu}");
    }
    assert_eq!(
        judged(NewVm {
            name: Some(String::new()),
            ..spec()
        }),
        invalid
    );
    assert_eq!(
        judged(NewVm {
            name: Some("web-1".into()),
            ..spec()
        }),
        Ok(())
    );
    assert_eq!(
        judged(NewVm {
            from_snapshot: true,
            ..spec()
        }),
        invalid
    );
}

#[test]
fn memory_is_a_quantity_from_1mi_to_64ti() {
    let good = [
        "1Mi",
        "64Ti",
        "4Gi",
        "+4Gi",
        "1.5Gi",
        "1048576",
        "1048576000m",
        "2G",
        "1e9",
        "1E7",
        "4096Mi",
        "0.5Gi",
        ".5Gi",
        "2e+9",
    ];
    let bad = [
        "",
        "0",
        "-1Gi",
        "1023Ki",
        "65Ti",
        "4GB",
        "4gi",
        "Gi",
        "4 Gi",
        "1.2.3Gi",
        ".",
        "NaN",
        "1Ei",
        "1e99",
        "4Gi ",
        "99999999999999999999999999999999999999999Gi",
        "1e-3",
        "1n",
        "4GiGi",
        "e9",
        "१Gi",
    ];
    for memory in good {
        assert_eq!(
            judged(NewVm {
                memory: memory.into(),
                ..spec()
            }),
            Ok(()),
            "{memory:?}"
        );
    }
    for memory in bad {
        assert_eq!(
            judged(NewVm {
                memory: memory.into(),
                ..spec()
            }),
            Err(Code::InvalidSpec),
            "{memory:?}"
        );
    }
}

#[test]
fn tags_have_bounds() {
    let many = |count: usize| NewVm {
        tags: (0..count).map(|n| (format!("k{n}"), "v".into())).collect(),
        ..spec()
    };
    assert_eq!(judged(many(50)), Ok(()));
    assert_eq!(judged(many(51)), Err(Code::InvalidSpec));
    let one = |key: usize, value: usize| NewVm {
        tags: vec![("ü".repeat(key), "ü".repeat(value))],
        ..spec()
    };
    for (key, value, expected) in [
        (128, 256, Ok(())),
        (1, 0, Ok(())),
        (0, 1, Err(Code::InvalidSpec)),
        (129, 1, Err(Code::InvalidSpec)),
        (1, 257, Err(Code::InvalidSpec)),
    ] {
        assert_eq!(judged(one(key, value)), expected, "{key} {value}");
    }
}
