//! Clouds that are not as one expects: ids that come back, lists that lag, keys that are forgotten, another account.

use std::time::Duration;

use mock_provider::Options;
use serde_json::{Value, json};

use crate::e2e::client::condition;
use crate::e2e::cloud::prompt;
use crate::scene::{NEW, OLD, Scene, rules};

#[test]
fn an_id_that_is_given_again_to_somebody_elses_vm() {
    let mut scene = Scene::new(prompt());
    let ids = OLD.map(|name| scene.tenant.house.ready(&scene.tenant.namespace, name));
    for id in &ids {
        scene.tenant.cloud.reuse(id);
    }
    scene.afflict(&[]);
    scene.neighbour_goes_on();
    // The one that is kept was lost: it gets another VM. The one that goes leaves the stranger's alone.
    scene.tenant.house.until_vm(
        &scene.tenant.namespace,
        OLD[1],
        "has a VM of its own again",
        |vm| crate::e2e::is_ready(vm) && vm["status"]["id"] != ids[1].as_str(),
    );
    scene.recovers();
    let gone = scene.tenant.cloud.log();
    let deleted = gone.iter().filter(|call| call["operation"] == "delete");
    let wrong: Vec<&Value> = deleted
        .filter(|call| ids.iter().any(|id| call["vmId"] == id.as_str()))
        .collect();
    assert!(
        wrong.is_empty(),
        "somebody else's VM was deleted: {wrong:?}"
    );
    scene.ends_counting(2);
}

#[test]
fn lists_that_lag_while_answers_are_lost() {
    let lagging = Options {
        list_lag: Duration::from_secs(3),
        ..prompt()
    };
    let scene = Scene::new(lagging);
    scene.afflict(&rules(&["create"], 3, &json!({ "kind": "dropAfter" })));
    // Deleted while nobody knows its id, and no list shows it yet.
    scene.struck();
    scene.tenant.delete(NEW[2]);
    scene.neighbour_goes_on();
    scene.everyone_says_why();
    scene.tenant.house.gone(&scene.tenant.namespace, NEW[2]);
    scene.tenant.create(&NEW[2..]);
    scene.recovers();
    scene.ends();
}

#[test]
fn keys_that_are_forgotten_before_the_create_can_be_repeated() {
    let short = Options {
        key_lifetime: Duration::from_secs(20),
        ..prompt()
    };
    let scene = Scene::new(short);
    // Each create is applied and its answer lost; then nothing can be asked until the keys are forgotten.
    let lost = json!({ "kind": "dropAfter" });
    let away = json!({ "kind": "status", "status": 503, "code": "Unavailable" });
    let mut all = rules(&["create"], 3, &lost);
    all.push(json!({ "effect": away }));
    scene.afflict(&all);
    scene.struck();
    scene.only_the_neighbour_goes_on();
    scene.everyone_says_why();
    let keys = || scene.tenant.cloud.keys();
    crate::e2e::until_or(
        "the keys are forgotten",
        || keys() == 0,
        || keys().to_string(),
    );
    scene.recovers();
    scene.ends();
}

#[test]
fn an_api_key_of_another_account() {
    let scene = Scene::locked();
    let tenant = &scene.tenant;
    let ids = OLD.map(|name| tenant.house.ready(&tenant.namespace, name));
    tenant.put_key("other-key");
    tenant
        .house
        .until_config(&tenant.namespace, "knows the account", |config| {
            config["status"]["account"] == "other"
        });
    scene.says(OLD[1], "Provisioned", "AccountChanged");
    tenant.delete(OLD[0]);
    scene.says(OLD[0], "Deleting", "DeletionBlocked");
    scene.neighbour_goes_on();
    scene.everyone_says_why();
    // Absence in another account proves nothing: nothing is made anew, nothing counts as gone.
    assert_eq!(tenant.cloud.ours().len(), 2);
    let other = tenant.cloud.log().into_iter().filter(|call| {
        call["account"] == "other"
            && ["create", "delete"]
                .iter()
                .any(|one| call["operation"] == *one)
    });
    assert_eq!(
        other.collect::<Vec<_>>().len(),
        1,
        "the stranger's own create"
    );
    tenant.put_key("our-key");
    tenant.create(&NEW);
    scene.recovers();
    let kept = tenant
        .house
        .vm(&tenant.namespace, OLD[1])
        .expect("it is there");
    assert_eq!(kept["status"]["id"], ids[1].as_str());
    assert!(condition(&kept, "Stalled").is_none());
    scene.ends();
}
