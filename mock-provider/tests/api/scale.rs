//! Memory. The program is measured from outside, as a user would.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

/// Bytes that the bare program may take, and each VM beyond it.
const BARE: u64 = 40 << 20;

/// Makes VMs as the operator does and gives the program's resident memory, in bytes.
fn measure(vms: u32) -> u64 {
    let mut child = Command::new(env!("CARGO_BIN_EXE_mock-provider"))
        .args(["--listen", "127.0.0.1:0", "--provisioning-delay", "100ms"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap())
        .read_line(&mut line)
        .unwrap();
    let line: Value = serde_json::from_str(&line).unwrap();
    let addr = line["url"]
        .as_str()
        .unwrap()
        .strip_prefix("http://")
        .unwrap()
        .to_owned();
    let stream = TcpStream::connect(&addr).unwrap();
    stream.set_nodelay(true).unwrap();
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut writer = stream;
    for number in 0..vms {
        let body = operator_vm(number).to_string();
        let uid = format!("00000000-0000-4000-8000-{number:012}");
        let head = format!(
            "POST /vms HTTP/1.1\r\nHost: m\r\nIdempotency-Key: {uid}.1\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        writer.write_all(head.as_bytes()).unwrap();
        assert_eq!(skip_answer(&mut reader), 201);
    }
    let running = || format!("GET /vms/vm-{vms:06} HTTP/1.1\r\nHost: m\r\n\r\n");
    writer.write_all(running().as_bytes()).unwrap();
    assert_eq!(skip_answer(&mut reader), 200);
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
    let resident = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))
        .unwrap();
    let kibibytes: u64 = resident.trim().trim_end_matches(" kB").parse().unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    kibibytes << 10
}

fn operator_vm(number: u32) -> Value {
    json!({
        "name": format!("machine-{number}"), "image": "ubuntu-22.04", "cpu": 2, "memory": "4Gi",
        "tags": {
            "vmoperator/cluster": "11111111-2222-4333-8444-555555555555",
            "vmoperator/namespace": "default",
            "vmoperator/name": format!("machine-{number}"),
            "vmoperator/uid": format!("00000000-0000-4000-8000-{number:012}"),
            "vmoperator/incarnation": format!("99999999-0000-4000-8000-{number:012}"),
        },
    })
}

fn skip_answer(reader: &mut impl std::io::BufRead) -> u16 {
    let (mut status, mut length) = (0, 0);
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        if let Some(rest) = line.strip_prefix("HTTP/1.1 ") {
            status = rest[..3].parse().unwrap();
        } else if let Some(rest) = line.strip_prefix("content-length: ") {
            length = rest.trim().parse().unwrap();
        } else if line == "\r\n" {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    status
}

#[test]
fn five_thousand_vms_stay_within_their_share() {
    let resident = measure(5_000);
    // Twice the share of the whole figure, over what the bare program takes.
    assert!(resident < BARE + 5_000 * 3_000, "{resident} bytes");
}

#[test]
#[ignore = "takes minutes; the figure of API.md comes from here"]
fn a_hundred_thousand_vms_stay_under_150_mib() {
    let resident = measure(100_000);
    println!("100,000 VMs: {} MiB resident", resident >> 20);
    assert!(resident < 150 << 20, "{} MiB", resident >> 20);
}
