use super::*;

fn installed() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let cache = Cache::at(dir.path());
    let staged = cache.staging().unwrap();
    fs::write(staged.join("etcd"), "a program").unwrap();
    let place = cache.install(&staged, "1.2.3", "a test").unwrap();
    (dir, place)
}

#[test]
fn what_was_installed_is_verified_and_what_was_not_is_absent() {
    let (dir, place) = installed();
    assert_eq!(verified(&place).unwrap(), Some(()));
    assert_eq!(verified(&dir.path().join("9.9.9")).unwrap(), None);
}

#[test]
fn a_changed_file_is_an_error_that_says_to_delete_the_folder() {
    let (_dir, place) = installed();
    fs::write(place.join("etcd"), "b program").unwrap();
    let failure = verified(&place).unwrap_err().into_failure();
    assert!(
        failure.cause.contains("sha256 differs"),
        "{}",
        failure.cause
    );
    assert_eq!(
        failure.fix.unwrap(),
        format!("delete the folder and run again: rm -r {}", place.display())
    );
}

#[test]
fn a_lost_file_and_a_damaged_or_lost_list_are_errors() {
    let (_dir, place) = installed();
    fs::remove_file(place.join("etcd")).unwrap();
    assert!(matches!(verified(&place), Err(Error::File { .. })));
    fs::write(place.join(MANIFEST), "{").unwrap();
    assert!(matches!(verified(&place), Err(Error::Manifest { .. })));
    fs::remove_file(place.join(MANIFEST)).unwrap();
    assert!(matches!(verified(&place), Err(Error::File { .. })));
}

#[test]
fn sums_are_those_of_the_usual_tools() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("file");
    fs::write(&path, "abc").unwrap();
    assert_eq!(
        sum(&SHA256, &path).unwrap(),
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    );
}

#[test]
fn a_program_that_nobody_installed_is_an_error() {
    let (_dir, place) = installed();
    fs::write(place.join("kube-controller-manager"), "from elsewhere").unwrap();
    assert!(matches!(verified(&place), Err(Error::Unknown { .. })));
}
