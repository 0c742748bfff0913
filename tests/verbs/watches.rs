//! A watch whose server closes it, forgets it, breaks off, or is not the one that the kubeconfig names by now.

use std::collections::VecDeque;
use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::thread;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::scene::{Scene, begun};

fn object(name: &str, version: u32) -> Value {
    json!({ "apiVersion": "compute.example.com/v1", "kind": "VirtualMachine",
        "metadata": { "namespace": "default", "name": name, "uid": name, "resourceVersion": version.to_string() } })
}

fn list(version: u32, items: &[Value]) -> String {
    json!({ "kind": "VirtualMachineList", "apiVersion": "compute.example.com/v1",
        "metadata": { "resourceVersion": version.to_string() }, "items": items })
    .to_string()
}

fn event(kind: &str, object: &Value) -> String {
    json!({ "type": kind, "object": object }).to_string() + "\n"
}

/// An API server that gives prepared answers, lists and watches apart, and notes what it was asked.
struct Script {
    asked: Arc<Mutex<Vec<String>>>,
    port: u16,
}

impl Script {
    fn of(lists: Vec<String>, watches: Vec<String>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let asked = Arc::default();
        let notes: Arc<Mutex<Vec<String>>> = Arc::clone(&asked);
        let answers = Arc::new(Mutex::new((VecDeque::from(lists), VecDeque::from(watches))));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (notes, answers) = (Arc::clone(&notes), Arc::clone(&answers));
                thread::spawn(move || answer(stream, &notes, &answers));
            }
        });
        Self { asked, port }
    }

    fn watches(&self) -> Vec<String> {
        let asked = self.asked.lock().unwrap();
        asked
            .iter()
            .filter(|path| path.contains("watch=true"))
            .cloned()
            .collect()
    }
}

type Answers = Mutex<(VecDeque<String>, VecDeque<String>)>;

/// One request for each connection. Where nothing is prepared it stays open and silent.
fn answer(stream: TcpStream, notes: &Mutex<Vec<String>>, answers: &Answers) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut first = String::new();
    if reader.read_line(&mut first).unwrap_or_default() == 0 {
        return;
    }
    let mut line = String::new();
    while reader.read_line(&mut line).is_ok_and(|read| read > 2) {
        line.clear();
    }
    notes.lock().unwrap().push(first.clone());
    let body = {
        let (lists, watches) = &mut *answers.lock().unwrap();
        if first.contains("watch=true") {
            watches.pop_front()
        } else {
            lists.pop_front()
        }
    };
    let mut stream = stream;
    let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n";
    let stays = body
        .as_ref()
        .is_none_or(|body| body.ends_with("ADDED-LAST\n"));
    let body = body.unwrap_or_default().replace("ADDED-LAST\n", "");
    let _ = stream.write_all(format!("{head}{body}").as_bytes());
    while stays && reader.read(&mut [0]).is_ok_and(|read| read > 0) {}
}

fn kubeconfig(file: &Path, server: &str) {
    let config = json!({ "apiVersion": "v1", "kind": "Config", "current-context": "scripted",
        "clusters": [{ "name": "scripted", "cluster": { "server": server } }],
        "users": [{ "name": "scripted", "user": {} }],
        "contexts": [{ "name": "scripted", "context": { "cluster": "scripted", "user": "scripted" } }] });
    fs::write(file, config.to_string()).unwrap();
}

#[test]
fn a_watch_that_is_closed_forgotten_or_only_bookmarked_goes_on_without_repeats() {
    let gone = json!({ "kind": "Status", "status": "Failure", "code": 410, "reason": "Expired", "message": "too old" });
    let bookmark = json!({ "kind": "VirtualMachine", "metadata": { "resourceVersion": "12" } });
    let script = Script::of(
        vec![
            list(5, &[object("a", 1)]),
            list(9, &[object("a", 6), object("b", 7)]),
        ],
        vec![
            // Closed by the server after one event.
            event("MODIFIED", &object("a", 6)),
            // Forgotten: what is listed then was told already, but for b.
            event("ERROR", &gone),
            event("BOOKMARK", &bookmark),
            event("ADDED", &object("c", 13)) + "ADDED-LAST\n",
        ],
    );
    let scene = Scene::new();
    let file = scene.plane.dir().join("scripted-kubeconfig");
    kubeconfig(&file, &format!("http://127.0.0.1:{}", script.port));
    let place = ["--kubeconfig", file.to_str().unwrap()];
    let watch = begun(&mut scene.bare(&[&["get", "vm", "-w", "-o", "name"], &place[..]].concat()));
    watch.prints("/c\n");
    watch.signal(Signal::INT);
    let answer = watch.end();
    assert_eq!(answer.code, Some(130), "{answer:?}");
    let names: Vec<&str> = answer
        .stdout
        .lines()
        .map(|line| line.rsplit('/').next().unwrap())
        .collect();
    assert_eq!(names, ["a", "a", "b", "c"], "{answer:?}");
    let from = |at: usize| script.watches()[at].clone();
    for (at, version) in [(0, 5), (1, 6), (2, 9), (3, 12)] {
        let wanted = format!("resourceVersion={version}");
        let asked = from(at);
        assert!(
            asked.contains(&format!("{wanted}&")) || asked.contains(&format!("{wanted} ")),
            "{at}: {asked}"
        );
    }
}

/// A way to an API server that can be broken off; TLS goes through it as it is.
struct Relay {
    port: u16,
    open: Arc<Mutex<Vec<TcpStream>>>,
}

impl Relay {
    fn to(server: &str) -> Self {
        let server = server.trim_start_matches("https://").to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let open: Arc<Mutex<Vec<TcpStream>>> = Arc::default();
        let all = Arc::clone(&open);
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let Ok(server) = TcpStream::connect(&server) else {
                    continue;
                };
                let twice = |stream: &TcpStream| stream.try_clone().unwrap();
                all.lock().unwrap().extend([twice(&client), twice(&server)]);
                for (mut from, mut to) in [(twice(&client), twice(&server)), (server, client)] {
                    thread::spawn(move || {
                        let _ = io::copy(&mut from, &mut to);
                        let _ = to.shutdown(std::net::Shutdown::Both);
                    });
                }
            }
        });
        Self { port, open }
    }

    /// Breaks off every connection; returns how many there were so far.
    fn cut(&self) -> usize {
        let open = self.open.lock().unwrap();
        for stream in open.iter() {
            let _ = stream.shutdown(std::net::Shutdown::Both);
        }
        open.len() / 2
    }
}

/// A kubeconfig of two contexts: the first leads through the relay, the second to somebody who must hear nothing.
fn two_contexts(
    scene: &Scene<'_>,
    relay: &Relay,
    other: u16,
    name: &str,
) -> (PathBuf, String, String) {
    let text = fs::read_to_string(&scene.plane.kubeconfig).unwrap();
    let mut config: Value = serde_saphyr::from_str(&text).unwrap();
    config["clusters"][0]["cluster"]["server"] = json!(format!("https://127.0.0.1:{}", relay.port));
    let mut second = config["clusters"][0].clone();
    second["name"] = json!("other");
    second["cluster"]["server"] = json!(format!("https://127.0.0.1:{other}"));
    config["clusters"].as_array_mut().unwrap().push(second);
    let mut context = config["contexts"][0].clone();
    context["name"] = json!("other");
    context["context"]["cluster"] = json!("other");
    config["contexts"].as_array_mut().unwrap().push(context);
    let before = config.to_string();
    config["current-context"] = json!("other");
    let file = scene.plane.dir().join(name);
    fs::write(&file, &before).unwrap();
    (file, before, config.to_string())
}

#[test]
fn another_context_chosen_meanwhile_redirects_no_running_command() {
    let scene = Scene::new();
    scene.machine("a", &[]);
    let relay = Relay::to(&scene.plane.server);
    let other = TcpListener::bind("127.0.0.1:0").unwrap();
    other.set_nonblocking(true).unwrap();
    let port = other.local_addr().unwrap().port();
    let (file, before, after) = two_contexts(&scene, &relay, port, "two-contexts");
    let place = [
        "--kubeconfig",
        file.to_str().unwrap(),
        "-n",
        &scene.namespace,
    ];

    let watch = begun(&mut scene.bare(&[&["get", "vm", "-w", "-o", "name"], &place[..]].concat()));
    watch.prints("/a\n");
    fs::write(&file, &after).unwrap();
    let connections = relay.cut();
    watch.says("connection lost, trying again");
    watch.says("connected again");
    scene.machine("b", &[]);
    watch.prints("/b\n");
    watch.signal(Signal::INT);
    let answer = watch.end();
    assert_eq!(
        answer.stdout.lines().count(),
        2,
        "nothing is told twice: {answer:?}"
    );
    assert!(
        relay.cut() > connections,
        "it came back the way that it had"
    );

    // An edit reads, lets somebody type for a while, and then writes: to where it has read from.
    fs::write(&file, &before).unwrap();
    let editor = scene.plane.dir().join("switching-editor");
    let script = format!(
        "#!/bin/sh\ncp '{0}.next' '{0}'\nsed -i 's/cpu: 2/cpu: 4/' \"$1\"\n",
        file.display()
    );
    fs::write(format!("{}.next", file.display()), &after).unwrap();
    fs::write(&editor, script).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(&editor, mode).unwrap();
    let words = ["edit", "vm", "a", "--yes", "--context", "vmctl"];
    let mut edit = scene.bare(&[&words[..], &place].concat());
    let answer = crate::scene::run(edit.env("EDITOR", &editor).env_remove("VISUAL"));
    assert_eq!(
        fs::read_to_string(&file).unwrap(),
        after,
        "the context was switched meanwhile"
    );
    assert_eq!(answer.code, Some(0), "{answer:?}");
    let cpu = scene.kubectl(&["get", "vm", "a", "-o", "jsonpath={.spec.cpu}"]);
    assert_eq!(cpu, "4", "{answer:?}");
    let heard = other.accept();
    assert!(
        heard.is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock),
        "the other cluster heard nothing"
    );
}
