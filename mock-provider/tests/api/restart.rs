//! The data file.

use mock_provider::Options;

use crate::client::{options, start, vm};

fn with_file(folder: &tempfile::TempDir) -> Options {
    Options {
        data_file: Some(folder.path().join("cloud.json")),
        ..options()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn state_survives_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let first = start(with_file(&folder)).await;
    first.create("live", &vm());
    first.create("dead", &vm());
    first.call("DELETE", "/vms/vm-000002");
    first.stop().await;
    let second = start(with_file(&folder)).await;
    assert_eq!(second.live(), ["vm-000001"]);
    assert_eq!(second.create("live", &vm()).status, 200);
    assert_eq!(
        second.create("dead", &vm()).refusal(),
        (409, "KeyOfDeletedVM".into())
    );
    assert_eq!(second.create("new", &vm()).json()["id"], "vm-000003");
    second.stop().await;
    let names: Vec<_> = std::fs::read_dir(folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert!(
        names
            .iter()
            .all(|name| ["cloud.json", "cloud.json.lock"].contains(&name.to_str().unwrap())),
        "{names:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_answered_is_in_the_file_already() {
    let folder = tempfile::tempdir().unwrap();
    let server = start(with_file(&folder)).await;
    for number in 1..=20 {
        assert_eq!(server.create(&number.to_string(), &vm()).status, 201);
        let text = std::fs::read_to_string(folder.path().join("cloud.json")).unwrap();
        let saved: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(
            saved["accounts"]["default"]["live"]
                .as_array()
                .unwrap()
                .len(),
            number
        );
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_cannot_be_replaced_is_an_error_of_the_call_and_heals() {
    let folder = tempfile::tempdir().unwrap();
    let server = start(with_file(&folder)).await;
    let draft = folder.path().join("cloud.json.new");
    // Not even root writes into a folder as if it were a file.
    std::fs::create_dir(&draft).unwrap();
    assert_eq!(
        server.create("k", &vm()).refusal(),
        (500, "Internal".into())
    );
    std::fs::remove_dir(&draft).unwrap();
    // The VM was made; that it is safe is said only once it is.
    while server.create("k", &vm()).status != 200 {
        tokio::task::yield_now().await;
    }
    let text = std::fs::read_to_string(folder.path().join("cloud.json")).unwrap();
    assert!(text.contains("ubuntu-22.04"), "{text}");
    assert_eq!(server.create("k2", &vm()).status, 201);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_in_use_or_of_another_kind_is_refused_with_advice() {
    let folder = tempfile::tempdir().unwrap();
    let server = start(with_file(&folder)).await;
    let error = mock_provider::serve(with_file(&folder), async {})
        .await
        .unwrap_err()
        .to_string();
    assert!(error.contains("in use by another mock provider"), "{error}");
    server.stop().await;
    for text in [
        "",
        "{",
        "[]",
        "{\"format\":9,\"nextNumber\":1,\"accounts\":{}}",
    ] {
        std::fs::write(folder.path().join("cloud.json"), text).unwrap();
        let error = mock_provider::serve(with_file(&folder), async {})
            .await
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("move it away to start empty"),
            "{text:?}: {error}"
        );
    }
    let nowhere = Options {
        data_file: Some(folder.path().join("no/cloud.json")),
        ..options()
    };
    let error = mock_provider::serve(nowhere, async {})
        .await
        .unwrap_err()
        .to_string();
    assert!(error.contains("must exist and be writable"), "{error}");
}
