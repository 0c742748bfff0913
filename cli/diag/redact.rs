//! Takes credentials out of text: those that are known to the letter, and what looks like one.

use serde_json::Value;

/// What stands in the place of a credential.
const MARK: &str = "[REDACTED]";
/// Shorter words are no credentials, and would take innocent text along.
const SHORTEST: usize = 8;
/// Fields whose value is never shown, whatever it looks like.
const FIELDS: [&str; 12] = [
    "apikey",
    "api-key",
    "api_key",
    "authorization",
    "bearertoken",
    "client-certificate-data",
    "client-key-data",
    "password",
    "passwd",
    "privatekey",
    "secret",
    "token",
];

/// A redactor that knows some credentials to the letter.
#[derive(Clone, Debug, Default)]
pub(crate) struct Redactor {
    known: Vec<String>,
}

impl Redactor {
    /// One more credential, as it is and in base64.
    pub(crate) fn add(&mut self, credential: &str) {
        for word in credential
            .split_whitespace()
            .filter(|word| word.len() >= SHORTEST)
        {
            self.known.push(word.to_owned());
            self.known.push(base64(word.as_bytes()));
        }
        // The longest first: a part of a credential is none of it.
        self.known.sort_by_key(|word| std::cmp::Reverse(word.len()));
        self.known.dedup();
    }

    /// Text without credentials. Lines of JSON are taken apart, so that fields are known by name.
    pub(crate) fn text(&self, text: &str) -> String {
        let whole = keys(text);
        let lines = whole.split_inclusive('\n').map(|line| self.line(line));
        lines.collect()
    }

    fn line(&self, line: &str) -> String {
        let (body, end) = line
            .strip_suffix('\n')
            .map_or((line, ""), |body| (body, "\n"));
        if body.starts_with('{')
            && let Ok(mut value) = serde_json::from_str::<Value>(body)
        {
            self.value(&mut value);
            return format!("{value}{end}");
        }
        format!("{}{end}", self.words(body))
    }

    /// The same for a value, in place.
    pub(crate) fn value(&self, value: &mut Value) {
        match value {
            Value::String(text) => *text = self.words(&keys(text)),
            Value::Array(list) => list.iter_mut().for_each(|item| self.value(item)),
            Value::Object(fields) => {
                let is_secret = fields.get("kind").is_some_and(|kind| kind == "Secret");
                for (name, field) in fields.iter_mut() {
                    let name = name.to_lowercase();
                    let hidden = FIELDS.contains(&name.as_str()) && !field.is_object()
                        || is_secret && matches!(name.as_str(), "data" | "stringdata");
                    if hidden && !field.is_null() {
                        *field = MARK.into();
                    } else {
                        self.value(field);
                    }
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn words(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for known in &self.known {
            if text.contains(known.as_str()) {
                text = text.replace(known.as_str(), MARK);
            }
        }
        userinfo(&after(&tokens(&text)))
    }
}

/// Private keys in PEM, over several lines.
fn keys(text: &str) -> String {
    let mut kept = String::new();
    let mut rest = text;
    while let Some(begin) = rest.find("-----BEGIN ") {
        let (before, from) = rest.split_at(begin);
        kept.push_str(before);
        let title = from.lines().next().unwrap_or_default();
        if !title.contains("PRIVATE KEY") {
            let skip = "-----BEGIN ".len();
            kept.push_str(from.get(..skip).unwrap_or_default());
            rest = from.get(skip..).unwrap_or_default();
            continue;
        }
        kept.push_str(MARK);
        let end = from.find("-----END ").and_then(|end| {
            let tail = from.get(end + "-----END ".len()..)?;
            Some(end + "-----END ".len() + tail.find("-----")? + "-----".len())
        });
        rest = end.and_then(|end| from.get(end..)).unwrap_or_default();
    }
    kept.push_str(rest);
    kept
}

/// Words that are tokens: three parts of base64url, the first of which is a JSON object.
fn tokens(text: &str) -> String {
    let part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let mut kept = String::new();
    let mut rest = text;
    while let Some(begin) = rest.find("eyJ") {
        let (before, from) = rest.split_at(begin);
        kept.push_str(before);
        let end = from.find(|c| !part(c)).unwrap_or(from.len());
        let (word, tail) = from.split_at(end);
        kept.push_str(if word.matches('.').count() >= 2 {
            MARK
        } else {
            word
        });
        rest = tail;
    }
    kept.push_str(rest);
    kept
}

/// What follows `Bearer` and `Basic`.
fn after(text: &str) -> String {
    let mut text = text.to_owned();
    for scheme in ["Bearer ", "bearer ", "Basic "] {
        let mut kept = String::new();
        let mut rest = text.as_str();
        while let Some(at) = rest.find(scheme) {
            let (before, from) = rest.split_at(at + scheme.len());
            kept.push_str(before);
            let end = from
                .find(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | ','))
                .unwrap_or(from.len());
            let (word, tail) = from.split_at(end);
            kept.push_str(if word.len() >= SHORTEST { MARK } else { word });
            rest = tail;
        }
        kept.push_str(rest);
        text = kept;
    }
    text
}

/// `user:password@` in URLs.
fn userinfo(text: &str) -> String {
    let mut kept = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("://") {
        let (before, from) = rest.split_at(at + 3);
        kept.push_str(before);
        let end = from
            .find(|c: char| c.is_whitespace() || matches!(c, '/' | '"' | '\''))
            .unwrap_or(from.len());
        let (authority, tail) = from.split_at(end);
        match authority.rsplit_once('@') {
            Some((_user, host)) => {
                kept.push_str(MARK);
                kept.push('@');
                kept.push_str(host);
            }
            None => kept.push_str(authority),
        }
        rest = tail;
    }
    kept.push_str(rest);
    kept
}

fn base64(bytes: &[u8]) -> String {
    let value = serde_json::to_value(k8s_openapi::ByteString(bytes.to_vec()));
    value
        .ok()
        .and_then(|value| value.as_str().map(str::to_owned))
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn what_looks_like_a_credential_goes_and_the_rest_stays() {
        let redactor = Redactor::default();
        for (text, left) in [
            ("a Bearer abcdefgh12345 b", "a Bearer [REDACTED] b"),
            ("token eyJhbGciOi.eyJzdWIi.c2ln!", "token [REDACTED]!"),
            ("eyJ is how they begin", "eyJ is how they begin"),
            (
                "GET http://me:pw@host:1/x and https://host/y",
                "GET http://[REDACTED]@host:1/x and https://host/y",
            ),
            (
                "x\n-----BEGIN EC PRIVATE KEY-----\nMHc=\n-----END EC PRIVATE KEY-----\ny\n",
                "x\n[REDACTED]\ny\n",
            ),
            (
                "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n",
                "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n",
            ),
            ("-----BEGIN PRIVATE KEY-----\nnever ends", "[REDACTED]"),
            (
                "{\"apiKey\":\"short\",\"note\":\"ok\"}\nplain\n",
                "{\"apiKey\":\"[REDACTED]\",\"note\":\"ok\"}\nplain\n",
            ),
        ] {
            assert_eq!(redactor.text(text), left);
        }
    }

    #[test]
    fn data_of_a_secret_and_telling_fields_are_hidden_but_references_are_not() {
        let redactor = Redactor::default();
        let mut value =
            json!({ "kind": "Secret", "data": { "a": "Yg==" }, "metadata": { "name": "a" } });
        redactor.value(&mut value);
        assert_eq!(
            value,
            json!({ "kind": "Secret", "data": MARK, "metadata": { "name": "a" } })
        );
        let mut config =
            json!({ "spec": { "secretRef": { "name": "a", "key": "apiKey" }, "password": "x" } });
        redactor.value(&mut config);
        assert_eq!(
            config,
            json!({ "spec": { "secretRef": { "name": "a", "key": "apiKey" }, "password": MARK } })
        );
    }

    proptest! {
        #[test]
        fn a_known_credential_is_nowhere(before in "\\PC{0,40}", credential in "[a-zA-Z0-9+/_-]{8,64}", after in "\\PC{0,40}") {
            let mut redactor = Redactor::default();
            redactor.add(&credential);
            let text = format!("{before}{credential}{after} {}", base64(credential.as_bytes()));
            let left = redactor.text(&text).replace(MARK, "\n");
            prop_assert!(!left.contains(&credential), "{left}");
        }
    }
}
