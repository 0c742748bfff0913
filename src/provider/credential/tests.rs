use super::{Credential, CredentialError};

fn refused(key: &str) -> Option<CredentialError> {
    Credential::new(key).err()
}

#[test]
fn a_key_of_visible_characters_is_taken_and_its_header_is_sensitive() {
    let credential = Credential::new("s3cr3t-canary/+=").unwrap();
    let header = credential.header().unwrap();
    assert!(header.is_sensitive());
    assert_eq!(header.as_bytes(), b"Bearer s3cr3t-canary/+=");
    assert!(!format!("{header:?}").contains("canary"));
}

#[test]
fn what_cannot_be_a_key_is_told_without_quoting_it() {
    assert_eq!(refused(""), Some(CredentialError::Empty));
    assert_eq!(refused("canary\n"), Some(CredentialError::LineBreak));
    assert_eq!(refused("canary\r\n"), Some(CredentialError::LineBreak));
    assert_eq!(
        refused("canary\r\nX-Admin: 1"),
        Some(CredentialError::Character)
    );
    assert_eq!(refused("ca nary"), Some(CredentialError::Character));
    assert_eq!(refused("canäry"), Some(CredentialError::Character));
    assert_eq!(refused("canary\u{7f}"), Some(CredentialError::Character));
    assert_eq!(refused(&"a".repeat(4097)), Some(CredentialError::TooLong));
    assert_eq!(refused(&"a".repeat(4096)), None);
    for key in ["canary\n", "canary x"] {
        assert!(!refused(key).unwrap().to_string().contains("canary"));
    }
}
