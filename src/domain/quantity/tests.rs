mod fuzz;

use proptest::prelude::*;

use super::{NANOS, Notation, Quantity, QuantityError};

const SUFFIXES: [(&str, i128, i128); 16] = [
    // suffix, numerator and denominator of its value
    ("n", 1, 1_000_000_000),
    ("u", 1, 1_000_000),
    ("m", 1, 1_000),
    ("", 1, 1),
    ("k", 1_000, 1),
    ("M", 1_000_000, 1),
    ("G", 1_000_000_000, 1),
    ("T", 1_000_000_000_000, 1),
    ("P", 1_000_000_000_000_000, 1),
    ("E", 1_000_000_000_000_000_000, 1),
    ("Ki", 1 << 10, 1),
    ("Mi", 1 << 20, 1),
    ("Gi", 1 << 30, 1),
    ("Ti", 1 << 40, 1),
    ("Pi", 1 << 50, 1),
    ("Ei", 1 << 60, 1),
];

fn parse(text: &str) -> Quantity {
    Quantity::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

#[test]
fn reads_and_prints_what_the_kubernetes_documentation_shows() {
    // text, bytes rounded up, canonical form
    let table: &[(&str, u64, &str)] = &[
        ("0", 0, "0"),
        ("0Gi", 0, "0"),
        ("0e999999999999999999999999", 0, "0"),
        ("-0", 0, "0"),
        ("128974848", 128_974_848, "128974848"),
        ("129e6", 129_000_000, "129e6"),
        ("129M", 129_000_000, "129M"),
        ("128974848000m", 128_974_848, "128974848"),
        ("123Mi", 128_974_848, "123Mi"),
        ("1.5", 2, "1500m"),
        ("1.5Gi", 1_610_612_736, "1536Mi"),
        ("0.5Gi", 536_870_912, "512Mi"),
        ("0.5Ki", 512, "512"),
        ("1000Ki", 1_024_000, "1000Ki"),
        ("1024Ki", 1_048_576, "1Mi"),
        ("2048Mi", 2_147_483_648, "2Gi"),
        ("400m", 1, "400m"),
        ("0.1", 1, "100m"),
        ("100u", 1, "100u"),
        ("1n", 1, "1n"),
        ("0.1n", 1, "1n"),
        ("1e-20", 1, "1e-9"),
        ("1e-999999999999999999999999", 1, "1e-9"),
        ("+5", 5, "5"),
        ("5.", 5, "5"),
        (".5", 1, "500m"),
        ("1.Gi", 1_073_741_824, "1Gi"),
        ("007", 7, "7"),
        ("1E", 1_000_000_000_000_000_000, "1E"),
        ("12E", 12_000_000_000_000_000_000, "12E"),
        ("1Ei", 1 << 60, "1Ei"),
        ("15Ei", 15 << 60, "15Ei"),
        ("1E3", 1_000, "1e3"),
        ("1e+3", 1_000, "1e3"),
        ("1500e-3", 2, "1500e-3"),
        ("10e2", 1_000, "1e3"),
        ("1.2e1", 12, "12"),
        (
            "9223372036854775807",
            9_223_372_036_854_775_807,
            "9223372036854775807",
        ),
        ("18446744073709551615", u64::MAX, "18446744073709551615"),
        ("0.00000000000000000000000000000000000000000001Ei", 1, "1n"),
    ];
    for (text, bytes, canonical) in table {
        let quantity = parse(text);
        assert_eq!(quantity.bytes(), Ok(*bytes), "{text}");
        assert_eq!(quantity.to_string(), *canonical, "{text}");
    }
}

#[test]
fn refuses_what_is_no_quantity_and_says_why() {
    let unknown = [
        "5 ", "5 Gi", "5gi", "5K", "5GB", "5Gib", "1e", "1e+", "1e3k", "1.2.3", "1,5", "5٣", "5µ",
    ];
    for text in unknown {
        let shown = text.to_owned();
        assert_eq!(
            Quantity::parse(text),
            Err(QuantityError::UnknownSuffix(shown))
        );
    }
    for text in [
        "Gi", "+", "-", ".", "-.Gi", "abc", " 5", "--5", "e3", "∞", "٣",
    ] {
        assert_eq!(
            Quantity::parse(text),
            Err(QuantityError::NoNumber(text.to_owned()))
        );
    }
    for text in [
        "1e30",
        "1e999999999999999999999",
        "999999999999999999999999E",
    ] {
        assert_eq!(
            Quantity::parse(text),
            Err(QuantityError::OutOfRange(text.to_owned()))
        );
    }
    assert_eq!(Quantity::parse(""), Err(QuantityError::Empty));
}

#[test]
fn an_error_never_repeats_a_long_text_in_full() {
    let error = Quantity::parse(&"x".repeat(1_000_000)).expect_err("no quantity");
    assert!(error.to_string().len() < 200, "{error}");
}

#[test]
fn bytes_refuses_negative_and_too_large_values() {
    for text in ["-1", "-1n", "18446744073709551616", "16Ei"] {
        let quantity = parse(text);
        assert_eq!(
            quantity.bytes(),
            Err(QuantityError::NotBytes(quantity)),
            "{text}"
        );
    }
}

#[test]
fn equality_and_order_are_by_value() {
    assert_eq!(parse("2048Mi"), parse("2Gi"));
    assert_eq!(parse("1e3"), parse("1k"));
    assert!(parse("1000Mi") < parse("1Gi"));
    assert!(parse("-1Gi") < parse("1n"));
}

#[test]
fn json_form_is_a_canonical_string_and_nothing_else() {
    let quantity: Quantity = serde_json::from_str("\"2048Mi\"").expect("quantity");
    assert_eq!(serde_json::to_string(&quantity).expect("json"), "\"2Gi\"");
    for text in ["12", "null", "\"\"", "\"lots\"", "{}"] {
        assert!(serde_json::from_str::<Quantity>(text).is_err(), "{text}");
    }
}

#[test]
fn bytes_make_a_binary_quantity() {
    assert_eq!(Quantity::from_bytes(4 << 30).to_string(), "4Gi");
    assert_eq!(Quantity::from_bytes(u64::MAX).bytes(), Ok(u64::MAX));
}

fn notation() -> impl Strategy<Value = Notation> {
    prop_oneof![
        Just(Notation::Binary),
        Just(Notation::Decimal),
        Just(Notation::Exponent)
    ]
}

proptest! {
    #[test]
    fn printing_and_reading_gives_the_same_value(
        nanos in prop_oneof![any::<i128>(), any::<i64>().prop_map(i128::from), any::<i64>().prop_map(|n| i128::from(n) * NANOS)],
        notation in notation(),
    ) {
        prop_assume!(nanos != i128::MIN);
        let quantity = Quantity { nanos, notation };
        let printed = quantity.to_string();
        let read = Quantity::parse(&printed);
        prop_assert_eq!(read.as_ref(), Ok(&quantity));
        prop_assert_eq!(read.map(|read| read.to_string()), Ok(printed));
    }

    #[test]
    fn value_and_order_agree_with_plain_arithmetic(
        a in 0_i128..1_000_000_000, b in 0_i128..1_000_000_000,
        i in 0_usize..SUFFIXES.len(), j in 0_usize..SUFFIXES.len(),
    ) {
        let ((si, ni, di), (sj, nj, dj)) = (SUFFIXES[i], SUFFIXES[j]);
        let (qa, qb) = (parse(&format!("{a}{si}")), parse(&format!("{b}{sj}")));
        prop_assert_eq!(qa.nanos(), a * ni * (NANOS / di));
        prop_assert_eq!(qa.cmp(&qb), (a * ni * (NANOS / di)).cmp(&(b * nj * (NANOS / dj))));
    }

    #[test]
    fn fractions_are_rounded_up_to_a_nano_unit(
        whole in 0_u32..1000, digits in "[0-9]{0,12}", i in 0_usize..SUFFIXES.len(),
    ) {
        let (suffix, numerator, denominator) = SUFFIXES[i];
        let quantity = parse(&format!("{whole}.{digits}{suffix}"));
        let scale = numerator * (NANOS / denominator);
        let power = 10_i128.pow(u32::try_from(digits.len()).unwrap_or(0));
        let parts: i128 = if digits.is_empty() { 0 } else { digits.parse().expect("digits") };
        // ⌈scale · parts / power⌉ without overflow: scale is at most 2^60 · 10^9, split at power.
        let exact = (scale / power) * parts + ((scale % power) * parts + power - 1) / power;
        prop_assert_eq!(quantity.nanos(), i128::from(whole) * scale + exact);
    }

    #[test]
    fn no_text_makes_it_panic(text in "\\PC*") {
        let _ = Quantity::parse(&text);
    }

    #[test]
    fn no_text_that_looks_like_a_quantity_makes_it_panic(text in "[-+]?[0-9.]{0,50}[eEinumkKMGTP]{0,2}[-+]?[0-9]{0,25}") {
        if let Ok(quantity) = Quantity::parse(&text) {
            prop_assert_eq!(Quantity::parse(&quantity.to_string()), Ok(quantity));
            let _ = quantity.bytes();
        }
    }
}
