use super::fuzz;

#[test]
fn what_a_target_stumbles_over_is_found_and_shown() {
    let found = std::panic::catch_unwind(|| {
        fuzz("stumbling", &[b"cpu: 1"], |input| {
            assert!(!input.windows(2).any(|pair| pair == b"e9"), "stumbled");
            if input.len() > 8 { "long" } else { "short" }
        });
    });
    let message = found.unwrap_err();
    let message = message.downcast_ref::<String>().unwrap();
    assert!(
        message.starts_with("stumbling fails on b\"") && message.contains("e9"),
        "{message}"
    );
}
