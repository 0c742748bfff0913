//! Objects from files, folders and stdin (`-f`), in YAML or JSON.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::cluster::call::taken;
use crate::cluster::object::Object;
use crate::hint::{Exit, Failure};

/// Largest file that is read: more than any API server accepts.
const LARGEST: u64 = 16 * 1024 * 1024;

/// Files with objects.
#[derive(Clone, Debug, Default, clap::Args)]
#[group(id = "input")]
pub(crate) struct Input {
    /// Objects in this file, in the files of this folder, or on stdin (-); may be given several times
    #[arg(short = 'f', long, value_name = "FILE", value_hint = clap::ValueHint::AnyPath)]
    filename: Vec<PathBuf>,
}

/// One object and where it came from.
#[derive(Clone, Debug)]
pub(crate) struct Document {
    /// The object; it has kind, apiVersion and a name.
    pub(crate) object: Value,
    /// In words: file and number.
    pub(crate) origin: String,
}

impl Document {
    /// Kind and group, as kubectl spells them: `VirtualMachine.compute.example.com`. Others have kinds of that name.
    pub(crate) fn kind_word(&self) -> String {
        let kind = self.object["kind"].as_str().unwrap_or_default();
        let version = self.object["apiVersion"].as_str().unwrap_or_default();
        match version.split_once('/') {
            Some((group, _version)) => format!("{kind}.{group}"),
            None => kind.to_owned(),
        }
    }

    /// Its namespace; empty where it names none.
    pub(crate) fn namespace(&self) -> &str {
        Object(&self.object).namespace()
    }

    /// A failure that names the place.
    pub(crate) fn blame(&self, mut failure: Failure) -> Failure {
        failure.cause = format!("{}: {}", self.origin, failure.cause);
        failure
    }
}

impl Input {
    /// Whether there is any.
    pub(crate) fn is_given(&self) -> bool {
        !self.filename.is_empty()
    }

    /// Reads all of them before anything is done with one.
    ///
    /// # Errors
    /// A file cannot be read or is no manifest; all that is wrong is named.
    pub(crate) async fn read(&self) -> Result<Vec<Document>, Failure> {
        let mut documents = Vec::new();
        for path in &self.filename {
            if path.as_os_str() == "-" {
                documents.append(&mut parsed("stdin", &stdin().await?)?);
                continue;
            }
            for file in files(path)? {
                documents.append(&mut parsed(&file.display().to_string(), &text(&file)?)?);
            }
        }
        if documents.is_empty() {
            return Err(wrong("there is no object in what -f names"));
        }
        Ok(documents)
    }
}

/// The file, or the manifests of a folder by name; subfolders are left alone, as kubectl leaves them.
fn files(path: &Path) -> Result<Vec<PathBuf>, Failure> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let entries = fs::read_dir(path).map_err(|error| unreadable(path, &error))?;
    let manifests = entries.flatten().map(|entry| entry.path()).filter(|path| {
        let known = path.extension().and_then(|end| end.to_str());
        path.is_file() && matches!(known, Some("yaml" | "yml" | "json"))
    });
    let mut manifests: Vec<PathBuf> = manifests.collect();
    manifests.sort();
    Ok(manifests)
}

fn text(path: &Path) -> Result<String, Failure> {
    let size = fs::metadata(path)
        .map_err(|error| unreadable(path, &error))?
        .len();
    if size > LARGEST {
        return Err(wrong(&format!(
            "{} is larger than {LARGEST} bytes",
            path.display()
        )));
    }
    fs::read_to_string(path).map_err(|error| unreadable(path, &error))
}

/// Not on our one thread, which must notice Ctrl-C meanwhile.
async fn stdin() -> Result<String, Failure> {
    let read = tokio::task::spawn_blocking(|| {
        let mut text = String::new();
        let read = std::io::stdin()
            .lock()
            .take(LARGEST)
            .read_to_string(&mut text);
        read.map(|_| text)
    });
    match read.await {
        Ok(Ok(text)) => Ok(text),
        Ok(Err(error)) => Err(unreadable(Path::new("stdin"), &error)),
        Err(_cancelled) => Err(wrong("stdin could not be read")),
    }
}

fn parsed(origin: &str, text: &str) -> Result<Vec<Document>, Failure> {
    let found: Vec<Value> = match json_stream(text) {
        Some(found) => found,
        None => serde_saphyr::from_multiple(text)
            .map_err(|error| wrong(&format!("{origin}: {error}")))?,
    };
    let mut documents = Vec::new();
    for (index, object) in found
        .into_iter()
        .enumerate()
        .filter(|(_, object)| !object.is_null())
    {
        let origin = format!("{origin}, object {}", index + 1);
        for object in unpacked(object) {
            documents.push(checked(Document {
                object,
                origin: origin.clone(),
            })?);
        }
    }
    Ok(documents)
}

/// Objects of JSON one after the other, which YAML does not know; `None` where it is something else.
fn json_stream(text: &str) -> Option<Vec<Value>> {
    let stream = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    let found: Vec<Value> = stream.collect::<Result<_, _>>().ok()?;
    found.iter().all(Value::is_object).then_some(found)
}

/// A list is the objects in it.
fn unpacked(mut object: Value) -> Vec<Value> {
    let is_list = object["kind"]
        .as_str()
        .is_some_and(|kind| kind.ends_with("List"));
    match taken(&mut object, "items") {
        Value::Array(items) if is_list => items,
        items => {
            if let (Value::Object(object), false) = (&mut object, items.is_null()) {
                object.insert("items".to_owned(), items);
            }
            vec![object]
        }
    }
}

fn checked(document: Document) -> Result<Document, Failure> {
    let object = &document.object;
    let lack = if !object.is_object() {
        Some("it is no object with fields")
    } else if !object["apiVersion"].is_string() {
        Some("it has no apiVersion")
    } else if !object["kind"].is_string() {
        Some("it has no kind")
    } else if Object(object).name().is_empty() {
        Some("it has no metadata.name")
    } else {
        None
    };
    match lack {
        None => Ok(document),
        Some(lack) => Err(wrong(&format!("{}: {lack}", document.origin))),
    }
}

fn unreadable(path: &Path, error: &std::io::Error) -> Failure {
    let cause = format!("cannot read {}: {error}", path.display());
    Failure::new(Exit::Usage, "VMC-INPUT", cause).fix("name a file, a folder or - with -f")
}

fn wrong(cause: &str) -> Failure {
    Failure::new(Exit::Usage, "VMC-INPUT", cause).fix("correct the file; nothing was changed")
}

#[cfg(test)]
mod tests {
    mod fuzz;

    use super::*;

    fn names(text: &str) -> Vec<String> {
        let documents = parsed("file", text).unwrap();
        documents
            .iter()
            .map(|one| Object(&one.object).name().to_owned())
            .collect()
    }

    #[test]
    fn yaml_json_several_documents_and_lists_are_read_in_order() {
        let yaml = "# first\n---\napiVersion: v1\nkind: A\nmetadata: {name: a}\ntext: |\n  ---\n---\n---\napiVersion: v1\nkind: B\nmetadata: {name: b}\n";
        assert_eq!(names(yaml), ["a", "b"]);
        let json = r#"{"apiVersion":"v1","kind":"A","metadata":{"name":"a"}} {"apiVersion":"v1","kind":"List","items":[
            {"apiVersion":"v1","kind":"B","metadata":{"name":"b"}},{"apiVersion":"v1","kind":"B","metadata":{"name":"c"}}]}"#;
        assert_eq!(names(json), ["a", "b", "c"]);
    }

    #[test]
    fn what_is_wrong_is_named_with_its_place() {
        for (text, words) in [
            ("a: [", "file: "),
            ("just words", "file, object 1: it is no object"),
            ("kind: A\nmetadata: {name: a}", "it has no apiVersion"),
            ("apiVersion: v1\nmetadata: {name: a}", "it has no kind"),
            ("apiVersion: v1\nkind: A", "it has no metadata.name"),
            ("{\"a\":", "file: "),
        ] {
            let failure = parsed("file", text).unwrap_err();
            assert!(failure.cause.contains(words), "{text}: {failure}");
            assert_eq!((failure.exit, failure.id), (Exit::Usage, "VMC-INPUT"));
        }
    }
}
