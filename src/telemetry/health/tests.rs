use super::Checks;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

#[test]
fn all_checks_must_hold_and_each_says_how_it_is() {
    let checks = Checks::new();
    assert!(checks.verdict().healthy);
    let listed = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&listed);
    checks.clone().add("queue", || Ok(()));
    checks.add("stores", move || {
        if seen.load(Ordering::SeqCst) {
            Ok(())
        } else {
            Err("VirtualMachine not listed yet".to_owned())
        }
    });
    let verdict = checks.verdict();
    assert!(!verdict.healthy);
    assert_eq!(
        verdict.report,
        "[+]queue ok\n[-]stores failed: VirtualMachine not listed yet\n"
    );
    listed.store(true, Ordering::SeqCst);
    assert!(checks.verdict().healthy);
}
