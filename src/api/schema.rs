//! Pieces of schema that a derive cannot say, and the form that Kubernetes wants.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, JSONSchemaProps, JSONSchemaPropsOrArray, JSONSchemaPropsOrBool,
};
use schemars::{Schema, SchemaGenerator, json_schema};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};

use super::condition::{MAX_CONDITIONS, MAX_MESSAGE};

/// `metav1.Condition` with the bounds that upstream's own markers give it, and a bound on their number.
pub(super) fn conditions(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "description": "Conditions, at most one of each type. Times change only with status.",
        "type": "array",
        "maxItems": MAX_CONDITIONS,
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["type"],
        "items": {
            "type": "object",
            "required": ["lastTransitionTime", "message", "reason", "status", "type"],
            "properties": {
                "type": {
                    "description": "Name of the condition.",
                    "type": "string", "minLength": 1, "maxLength": 316,
                    "pattern": "^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$",
                },
                "status": {
                    "description": "Whether it holds.",
                    "type": "string", "enum": ["True", "False", "Unknown"],
                },
                "reason": {
                    "description": "One CamelCase word for programs.",
                    "type": "string", "minLength": 1, "maxLength": 256,
                    "pattern": "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$",
                },
                "message": {
                    "description": "A sentence for people.",
                    "type": "string", "maxLength": MAX_MESSAGE,
                },
                "observedGeneration": {
                    "description": "The generation of the spec that it speaks of.",
                    "type": "integer", "format": "int64", "minimum": 0,
                },
                "lastTransitionTime": {
                    "description": "When status last changed.",
                    "type": "string", "format": "date-time", "maxLength": 64,
                },
            },
        },
    })
}

/// A point in time, RFC 3339.
pub(super) fn time(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "format": "date-time", "maxLength": 64 })
}

/// A quantity of memory that the operator reports.
pub(super) fn reported_quantity(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "minLength": 1, "maxLength": 64 })
}

/// Reads a list and leaves out what does not read: status of another version must not hide a whole object.
pub(super) fn tolerant_list<'de, D, T>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: DeserializeOwned,
{
    let values = Option::<Vec<serde_json::Value>>::deserialize(deserializer)?;
    let read = values.unwrap_or_default().into_iter();
    Ok(read
        .filter_map(|value| serde_json::from_value(value).ok())
        .collect())
}

/// Reads a value, or `None` where it does not read.
pub(super) fn tolerant<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: DeserializeOwned,
{
    let value = serde_json::Value::deserialize(deserializer)?;
    Ok(serde_json::from_value(value).ok())
}

/// The definition in the form that the API server stores without a warning.
pub(super) fn structural(mut crd: CustomResourceDefinition) -> CustomResourceDefinition {
    for version in &mut crd.spec.versions {
        if let Some(schema) = version.schema.as_mut()
            && let Some(root) = schema.open_api_v3_schema.as_mut()
        {
            tidy(root);
            root.properties
                .get_or_insert_default()
                .insert("metadata".to_owned(), metadata());
        }
    }
    crd
}

/// The path of a rule about the name must exist in the schema; of metadata, Kubernetes lets only the name be said.
fn metadata() -> JSONSchemaProps {
    let name = JSONSchemaProps {
        type_: Some("string".to_owned()),
        max_length: Some(253),
        ..JSONSchemaProps::default()
    };
    JSONSchemaProps {
        type_: Some("object".to_owned()),
        properties: Some([("name".to_owned(), name)].into()),
        ..JSONSchemaProps::default()
    }
}

/// An optional field may be absent, not null: the API server drops a null where the schema does not ask for it, and a
/// stored null would be a third state. Kubernetes knows no unsigned formats; bounds say the same.
fn tidy(schema: &mut JSONSchemaProps) {
    schema.nullable = None;
    match schema.format.as_deref() {
        Some("uint16" | "uint32") => {
            schema.format = Some("int32".to_owned());
            schema.maximum = schema.maximum.or(Some(f64::from(i32::MAX)));
        }
        Some("uint64") => schema.format = Some("int64".to_owned()),
        Some(_) | None => {}
    }
    for property in schema
        .properties
        .iter_mut()
        .flat_map(|all| all.values_mut())
    {
        tidy(property);
    }
    match schema.items.as_mut() {
        Some(JSONSchemaPropsOrArray::Schema(items)) => tidy(items),
        Some(JSONSchemaPropsOrArray::Schemas(many)) => many.iter_mut().for_each(tidy),
        None => {}
    }
    if let Some(JSONSchemaPropsOrBool::Schema(values)) = schema.additional_properties.as_mut() {
        tidy(values);
    }
}
