use super::*;

fn words(line: &str) -> Vec<String> {
    line.split(' ').map(str::to_owned).collect()
}

#[test]
fn a_kind_is_known_in_all_of_kubectls_spellings() {
    for word in [
        "vm",
        "vms",
        "cvm",
        "virtualmachine",
        "VirtualMachines",
        "virtualmachine.compute.example.com",
        "virtualmachines.v1.compute.example.com",
    ] {
        assert_eq!(Kind::of(word), Some(Kind::VirtualMachine), "{word}");
    }
    for word in [
        "pcfg",
        "providerconfig",
        "providerconfigs.compute.example.com",
    ] {
        assert_eq!(Kind::of(word), Some(Kind::ProviderConfig), "{word}");
    }
    for word in ["", "pod", "vm.example.com", "virtual machine"] {
        assert_eq!(Kind::of(word), None, "{word}");
    }
}

#[test]
fn names_come_after_the_kind_or_with_it_and_count_once() {
    let plain = Named::parse(&words("vm a b a"), &Kind::ALL).unwrap();
    assert_eq!(plain.names, ["a", "b"]);
    let slashed = Named::parse(
        &words("vm/a virtualmachine.compute.example.com/b"),
        &Kind::ALL,
    )
    .unwrap();
    assert_eq!(plain, slashed);
    assert!(
        Named::parse(&words("pcfg"), &Kind::ALL)
            .unwrap()
            .names
            .is_empty()
    );
}

#[test]
fn what_is_wrong_with_a_kind_or_a_name_is_a_usage_error_with_a_fix() {
    for (line, id) in [
        ("pod a", "VMC-KIND"),
        ("pcfg a", "VMC-KIND"),
        ("vm/a b", "VMC-KIND"),
        ("vm/a pcfg/b", "VMC-KIND"),
        ("vm a/../b", "VMC-NAME"),
        ("vm A", "VMC-NAME"),
        ("vm a?b", "VMC-NAME"),
        ("vm/", "VMC-NAME"),
    ] {
        let failure = Named::parse(&words(line), &[Kind::VirtualMachine]).unwrap_err();
        assert_eq!((failure.exit, failure.id), (Exit::Usage, id), "{line}");
        assert!(failure.fix.is_some(), "{line}");
    }
}
