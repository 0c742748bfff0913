//! A cluster of kind in a container engine, with operator and mock provider as pods in it.
//!
//! Reading order: `engine` and `tool` call the programs of others through `program`, `image` makes an image of this
//! very program, `record` remembers what cannot be seen from outside.

pub(crate) mod engine;
pub(crate) mod image;
mod layer;
mod libraries;
pub(crate) mod program;
pub(crate) mod record;
pub(crate) mod tool;

use std::path::Path;

/// Name of an environment's cluster: two state directories on one machine may have environments of the same name.
pub(crate) fn cluster_name(environment: &str, dir: &Path) -> String {
    use std::os::unix::ffi::OsStrExt;
    let sum = ring::digest::digest(&ring::digest::SHA256, dir.as_os_str().as_bytes());
    format!("vmctl-{environment}-{}", hex(sum.as_ref(), 3))
}

/// The first bytes as hexadecimal digits.
fn hex(bytes: &[u8], count: usize) -> String {
    bytes
        .iter()
        .take(count)
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cluster_is_named_after_its_environment_and_its_place() {
        let here = cluster_name("dev", Path::new("/a/dev"));
        assert!(here.starts_with("vmctl-dev-") && here.len() == "vmctl-dev-".len() + 6);
        assert_eq!(here, cluster_name("dev", Path::new("/a/dev")));
        assert_ne!(here, cluster_name("dev", Path::new("/b/dev")));
        // kind makes host names of it, with `-control-plane` behind: 63 characters at most.
        assert!(cluster_name(&"x".repeat(32), Path::new("/")).len() <= 49);
    }
}
