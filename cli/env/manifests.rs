//! The shipped manifests, part of this program.

use kube::core::DynamicObject;

use crate::hint::{Exit, Failure};

/// The definitions of our kinds.
pub(crate) const DEFINITIONS: &[&str] = &[
    include_str!("../../config/crd/compute.example.com_virtualmachines.yaml"),
    include_str!("../../config/crd/compute.example.com_providerconfigs.yaml"),
];

/// Namespace, ServiceAccount and rights, in the order in which they can be made.
pub(crate) const RIGHTS: &[&str] = &[
    include_str!("../../config/rbac/00-namespace.yaml"),
    include_str!("../../config/rbac/service-account.yaml"),
    include_str!("../../config/rbac/manager-role.yaml"),
    include_str!("../../config/rbac/leader-election-role.yaml"),
    include_str!("../../config/rbac/metrics-auth-role.yaml"),
    include_str!("../../config/rbac/metrics-reader-role.yaml"),
    include_str!("../../config/rbac/user-roles.yaml"),
];

/// The operator in a cluster, and what belongs to it.
pub(crate) const MANAGER: &[&str] = &[
    include_str!("../../config/manager/network-policy.yaml"),
    include_str!("../../config/manager/metrics-service.yaml"),
    include_str!("../../config/manager/deployment.yaml"),
];

/// The mock provider in a cluster; its Secrets and its ProviderConfig are made with a key of their own.
pub(crate) const MOCK: &[&str] = &[
    include_str!("../../config/mock-provider/network-policy.yaml"),
    include_str!("../../config/mock-provider/service.yaml"),
    include_str!("../../config/mock-provider/deployment.yaml"),
];

/// Reads the objects of some files, each of which may hold several.
///
/// # Errors
/// A file is no manifest.
pub(crate) fn objects(files: &[&str]) -> Result<Vec<DynamicObject>, Failure> {
    let documents = files.iter().flat_map(|file| file.split("\n---\n"));
    let parsed = documents.filter(|text| {
        text.lines()
            .any(|line| !line.is_empty() && !line.starts_with('#'))
    });
    parsed.map(object).collect()
}

fn object(text: &str) -> Result<DynamicObject, Failure> {
    serde_saphyr::from_str(text).map_err(|error| {
        Failure::new(
            Exit::Failure,
            "VMC-MANIFEST",
            format!("a shipped manifest is damaged: {error}"),
        )
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::Path;

    use super::*;

    fn kinds(files: &[&str]) -> Vec<String> {
        objects(files)
            .unwrap()
            .into_iter()
            .map(|object| object.types.unwrap().kind)
            .collect()
    }

    #[test]
    fn every_shipped_manifest_is_read() {
        assert_eq!(kinds(DEFINITIONS), ["CustomResourceDefinition"; 2]);
        let rights = kinds(RIGHTS);
        assert_eq!(rights.first().unwrap(), "Namespace");
        for kind in [
            "ServiceAccount",
            "ClusterRole",
            "ClusterRoleBinding",
            "Role",
            "RoleBinding",
        ] {
            assert!(rights.iter().any(|found| found == kind), "{kind}");
        }
    }

    #[test]
    fn no_file_of_the_folders_is_forgotten() {
        for (folder, files) in [
            ("config/crd", DEFINITIONS),
            ("config/rbac", RIGHTS),
            ("config/manager", MANAGER),
        ] {
            let embedded: BTreeSet<&str> = files.iter().copied().collect();
            for entry in fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(folder)).unwrap() {
                let path = entry.unwrap().path();
                if path
                    .extension()
                    .is_some_and(|extension| extension == "yaml")
                {
                    let text = fs::read_to_string(&path).unwrap();
                    assert!(
                        embedded.contains(text.as_str()),
                        "{} is not embedded",
                        path.display()
                    );
                }
            }
        }
    }
}
