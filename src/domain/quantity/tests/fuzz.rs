//! Any bytes as a quantity.

use crate::domain::{Quantity, QuantityError};
use crate::fuzz::fuzz;

#[test]
fn any_text_is_a_quantity_that_is_written_as_it_is_read_or_none() {
    let corpus: &[&[u8]] = &[
        b"4Gi",
        b"0.5Gi",
        b"1e3",
        b"-1.5E-2",
        b"100m",
        b"+.5Ki",
        b"1e99999999999",
        b"9223372036854775807Ei",
        b"0.0000000001n",
        "\u{661}Gi".as_bytes(),
    ];
    fuzz("quantity", corpus, |input| {
        let Ok(text) = std::str::from_utf8(input) else {
            return "no text";
        };
        match Quantity::parse(text) {
            Ok(quantity) => {
                assert_eq!(Quantity::parse(&quantity.to_string()), Ok(quantity));
                let bytes = quantity
                    .bytes()
                    .map(|bytes| Quantity::from_bytes(bytes) >= quantity);
                assert_ne!(bytes, Ok(false), "bytes are rounded up");
                if bytes.is_ok() { "bytes" } else { "a quantity" }
            }
            Err(QuantityError::Empty) => "empty",
            Err(error) => {
                // The message quotes no more than a line of it.
                assert!(error.to_string().chars().count() < 300, "{error}");
                "none"
            }
        }
    });
}
