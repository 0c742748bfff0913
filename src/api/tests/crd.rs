#[test]
fn dump() {
    for crd in super::super::crds() {
        println!("{}", serde_json::to_string_pretty(&crd).unwrap());
    }
}
