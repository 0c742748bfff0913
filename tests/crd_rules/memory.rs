//! What memory is: the rule of the CRD, evaluated by the API server, against the operator's own reading.

use serde_json::json;
use vmoperator::domain::Quantity;

use crate::server::namespace;
use crate::virtual_machine::{KIND, with};

/// Ways to write memory, right and wrong, and what looks like one.
const MEMORIES: &[&str] = &[
    "4Gi",
    "+4Gi",
    "4.Gi",
    ".5Gi",
    "0.5Gi",
    "04Gi",
    "4e9",
    "4E9",
    "4e+9",
    "4000e6",
    "4e-9",
    "4294967296",
    "4294967296000m",
    "4294967296000000u",
    "4294967296000000000n",
    "4k",
    "4M",
    "4G",
    "4T",
    "4P",
    "4E",
    "4Ki",
    "4Mi",
    "4Ti",
    "4Pi",
    "4Ei",
    "1048576",
    "1048575",
    "1048575.0000000001",
    "1048575999999999n",
    "64Ti",
    "64.0Ti",
    "70368744177664",
    "70368744177665",
    "70368744177664.0000000001",
    "1.0000000000000000000000001Gi",
    "1e30",
    "1e400",
    "1e99999999999",
    "1e-99999999999",
    "1E999999999",
    "4e+1000000000000000000000000",
    "1e-99999999999",
    "1E999999999",
    "4e+1000000000000000000000000",
    "Gi",
    ".Gi",
    ".",
    "+",
    "-",
    "e9",
    "4e",
    "4e+",
    "4i",
    "4Gi ",
    " 4Gi",
    "4 Gi",
    "4gi",
    "4GI",
    "4K",
    "4mi",
    "4B",
    "4GB",
    "4GiB",
    "4Gi4",
    "4,5Gi",
    "4.5.5Gi",
    "--4Gi",
    "4-Gi",
    "0x4Gi",
    "1_000Mi",
    "∞",
    "٤Gi",
    "4µ",
    "NaN",
    "inf",
    "nope",
    "00000000000000000000000000000000000000000000000000000000000004Gi",
];

#[tokio::test]
async fn the_server_and_the_operator_agree_on_what_memory_is() {
    let asked = namespace("quantity").await;
    let (least, most) = (1 << 20, 64 << 40);
    for (at, text) in MEMORIES.iter().enumerate() {
        let server = asked
            .create(KIND, &format!("vm-{at}"), &with("memory", json!(text)))
            .await;
        let nanos = Quantity::parse(text).map(|quantity| quantity.nanos());
        let ours = nanos
            .is_ok_and(|nanos| (least * 1_000_000_000..=most * 1_000_000_000).contains(&nanos));
        assert_eq!(server.is_ok(), ours, "{text:?}: the server says {server:?}");
    }
}
