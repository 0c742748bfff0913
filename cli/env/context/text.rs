//! The text of a kubeconfig with our entries, and without them. Lines of others stay as they are; where the file is spelled
//! in a way that lines cannot be put into, it is spelled anew, with every field that it has.

use serde_json::{Map, Value, json};

/// What is put in.
pub(super) struct Entries {
    /// Name of all three.
    pub(super) name: String,
    /// How the cluster is reached.
    pub(super) cluster: Value,
    /// Who the user is.
    pub(super) user: Value,
}

impl Entries {
    /// List, and the entry in it.
    fn all(&self) -> [(&'static str, Value); 3] {
        let name = &self.name;
        let context = json!({ "cluster": name, "namespace": "default", "user": name });
        [
            ("clusters", json!({ "name": name, "cluster": self.cluster })),
            ("users", json!({ "name": name, "user": self.user })),
            ("contexts", json!({ "name": name, "context": context })),
        ]
    }
}

/// With the entries, their context current; and the context that was current.
///
/// # Errors
/// It is no kubeconfig; the text says why.
pub(super) fn added(text: &str, entries: &Entries) -> Result<(String, Option<String>), String> {
    let present = parsed(text)?;
    let current = current(&present);
    let mut wanted = present.clone();
    wanted.entry("apiVersion").or_insert(json!("v1"));
    wanted.entry("kind").or_insert(json!("Config"));
    for (list, entry) in entries.all() {
        let items = wanted.entry(list).or_insert(json!([]));
        if items.is_null() {
            *items = json!([]);
        }
        let items = items.as_array_mut().ok_or(format!("{list} is no list"))?;
        let named = |item: &Value| item["name"] == entries.name.as_str();
        match items.iter().position(named) {
            Some(at) => items[at] = entry,
            // Where its line goes, too.
            None => items.insert(0, entry),
        }
    }
    wanted.insert("current-context".to_owned(), json!(entries.name));
    if wanted == present {
        return Ok((text.to_owned(), current));
    }
    let named = |entry: &Value| entry["name"] == entries.name.as_str();
    let mut lines = without(text, named);
    for (field, value) in [("apiVersion", "v1"), ("kind", "Config")] {
        if !present.contains_key(field) {
            lines.push(format!("{field}: {value}"));
        }
    }
    for (list, entry) in entries.all() {
        put(&mut lines, list, &entry);
    }
    set_current(&mut lines, &entries.name);
    Ok((spelled(&lines, wanted)?, current))
}

/// Without the entries that are still ours; the context that was current before is so again, if ours is.
///
/// # Errors
/// It is no kubeconfig any more; the text says why.
pub(super) fn removed(
    text: &str,
    entries: &Entries,
    before: Option<&str>,
) -> Result<String, String> {
    let present = parsed(text)?;
    let mut wanted = present.clone();
    for (list, entry) in entries.all() {
        if let Some(items) = wanted.get_mut(list).and_then(Value::as_array_mut) {
            items.retain(|item| *item != entry);
        }
    }
    let contexts = wanted.get("contexts").and_then(Value::as_array);
    let is_there = |name: &&str| {
        let mut contexts = contexts.into_iter().flatten();
        contexts.any(|context| context["name"] == **name)
    };
    let next = before.filter(is_there).unwrap_or_default().to_owned();
    let ours = entries.all();
    let mut lines = without(text, |entry| ours.iter().any(|(_, ours)| ours == entry));
    if current(&present).as_deref() == Some(&entries.name) {
        wanted.insert("current-context".to_owned(), json!(next));
        set_current(&mut lines, &next);
    }
    if wanted == present {
        return Ok(text.to_owned());
    }
    spelled(&lines, wanted)
}

/// The lines, if they mean what is wanted; else what is wanted, spelled anew.
fn spelled(lines: &[String], wanted: Map<String, Value>) -> Result<String, String> {
    let text = lines.join("\n") + "\n";
    if parsed(&text).is_ok_and(|meant| same(&meant, &wanted)) {
        return Ok(text);
    }
    let anew = serde_saphyr::to_string(&Value::Object(wanted.clone()))
        .map_err(|error| error.to_string())?;
    if parsed(&anew).is_ok_and(|meant| same(&meant, &wanted)) {
        return Ok(anew);
    }
    Err("it cannot be spelled anew without a change of its meaning".to_owned())
}

/// Whether two mean the same; an empty list is as good as none.
fn same(one: &Map<String, Value>, other: &Map<String, Value>) -> bool {
    let filled = |map: &Map<String, Value>| {
        let mut map = map.clone();
        map.retain(|_, value| !value.is_null() && *value != json!([]));
        map
    };
    filled(one) == filled(other)
}

fn parsed(text: &str) -> Result<Map<String, Value>, String> {
    if text.trim().is_empty() {
        return Ok(Map::new());
    }
    match serde_saphyr::from_str::<Value>(text).map_err(|error| error.to_string())? {
        Value::Object(map) => Ok(map),
        Value::Null => Ok(Map::new()),
        _other => Err("it has no fields".to_owned()),
    }
}

fn current(config: &Map<String, Value>) -> Option<String> {
    let name = config.get("current-context")?.as_str()?;
    (!name.is_empty()).then(|| name.to_owned())
}

/// The lines of a text without entries of some kind, as we write them: each is one line of JSON, which is YAML too.
fn without(text: &str, unwanted: impl Fn(&Value) -> bool) -> Vec<String> {
    let is_unwanted = |line: &str| {
        let entry = line.trim_start().strip_prefix("- ").unwrap_or_default();
        serde_json::from_str::<Value>(entry).is_ok_and(|entry| unwanted(&entry))
    };
    let lines = text.lines().filter(|line| !is_unwanted(line));
    lines.map(str::to_owned).collect()
}

/// Puts an entry at the beginning of a list, which is made where it is missing.
fn put(lines: &mut Vec<String>, list: &str, entry: &Value) {
    let head = format!("{list}:");
    let Some(at) = lines.iter().position(|line| line.starts_with(&head)) else {
        lines.push(head);
        lines.push(format!("- {entry}"));
        return;
    };
    let rest = lines[at][head.len()..].trim();
    if matches!(rest, "[]" | "null" | "~") {
        lines[at] = head;
    }
    let next = lines[at + 1..]
        .iter()
        .find(|line| line.trim_start().starts_with('-'));
    let blanks = next.map_or(0, |line| line.len() - line.trim_start().len());
    lines.insert(at + 1, format!("{}- {entry}", " ".repeat(blanks)));
}

fn set_current(lines: &mut Vec<String>, name: &str) {
    let line = format!("current-context: {}", json!(name));
    match lines
        .iter()
        .position(|line| line.starts_with("current-context:"))
    {
        Some(at) => lines[at] = line,
        None => lines.push(line),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries() -> Entries {
        Entries {
            name: "vmctl-dev".to_owned(),
            cluster: json!({ "server": "https://127.0.0.1:1" }),
            user: json!({ "token": "0123" }),
        }
    }

    const BLOCK: &str = "# mine\napiVersion: v1\nkind: Config\nclusters:\n  # the one at work\n  - name: work\n    cluster: {server: 'https://work'}\n\
        contexts:\n- context:\n    cluster: work\n    user: me\n  name: work\ncurrent-context: work # daily\nusers: []\nunknown: {field: yes}\n";

    #[test]
    fn lines_of_others_stay_as_they_are_and_ours_go_again() {
        let (with, before) = added(BLOCK, &entries()).unwrap();
        assert_eq!(before.as_deref(), Some("work"));
        for line in [
            "# mine",
            "  # the one at work",
            "unknown: {field: yes}",
            "  - name: work",
        ] {
            assert!(with.lines().any(|found| found == line), "{line}: {with}");
        }
        let value = parsed(&with).unwrap();
        assert_eq!(value["current-context"], "vmctl-dev");
        for list in ["clusters", "contexts"] {
            assert_eq!(value[list].as_array().unwrap().len(), 2, "{with}");
        }
        assert_eq!(value["users"][0]["user"]["token"], "0123");
        assert_eq!(
            added(&with, &entries()).unwrap().0,
            with,
            "again nothing changes"
        );
        let without = removed(&with, &entries(), before.as_deref()).unwrap();
        assert!(
            same(&parsed(&without).unwrap(), &parsed(BLOCK).unwrap()),
            "{without}"
        );
        assert!(without.contains("# mine\n") && without.contains("  # the one at work\n"));
    }

    #[test]
    fn what_somebody_changed_or_chose_meanwhile_stays() {
        let (with, _) = added(BLOCK, &entries()).unwrap();
        let chosen = with.replace("current-context: \"vmctl-dev\"", "current-context: work");
        let without = removed(&chosen, &entries(), Some("work")).unwrap();
        assert_eq!(current(&parsed(&without).unwrap()).as_deref(), Some("work"));
        let changed = with.replace("https://127.0.0.1:1", "https://elsewhere");
        let kept = parsed(&removed(&changed, &entries(), Some("gone")).unwrap()).unwrap();
        assert_eq!(
            kept["clusters"].as_array().unwrap().len(),
            2,
            "it is not ours any more"
        );
        assert_eq!(current(&kept), None, "a context that is gone is not chosen");
        let kept = removed(&changed, &entries(), None).unwrap();
        assert!(kept.contains("# mine\n"), "{kept}");
    }

    #[test]
    fn a_file_that_is_new_or_spelled_in_another_way_is_understood_all_the_same() {
        let flow = r#"{"apiVersion":"v1","kind":"Config","clusters":[{"name":"a","cluster":{"server":"https://a"}}],"x":1}"#;
        for text in ["", "# nothing yet\n", flow] {
            let (with, _) = added(text, &entries()).unwrap();
            let value = parsed(&with).unwrap();
            assert_eq!(value["current-context"], "vmctl-dev", "{text}: {with}");
            assert_eq!(value["kind"], "Config");
            let without = removed(&with, &entries(), None).unwrap();
            let left = parsed(&without).unwrap();
            assert!(
                !left
                    .values()
                    .any(|value| value.to_string().contains("vmctl-dev")),
                "{without}"
            );
            assert_eq!(left.get("x"), parsed(text).unwrap().get("x"));
        }
        assert!(added("- a\n- b\n", &entries()).is_err());
        assert!(added("clusters: word\n", &entries()).is_err());
    }
}
