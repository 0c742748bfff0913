//! The objects that are to be created: from options, or from files.

use serde_json::{Value, json};
use vmoperator::api::{GROUP, VERSION};

use super::Args;
use crate::cluster::kind::{Kind, Named, is_name, kind};
use crate::cluster::object::Object;
use crate::hint::{Exit, Failure};

/// All of them; their namespace is settled, not written into them yet.
///
/// # Errors
/// The command line or a file is wrong.
pub(super) async fn objects(args: &mut Args) -> Result<Vec<Value>, Failure> {
    if args.input.is_given() {
        return of_files(args).await;
    }
    let named = Named::parse(&args.words, &[Kind::VirtualMachine])?;
    let [name] = named.names.as_slice() else {
        let cause = "exactly one VirtualMachine is named; --count makes several";
        return Err(Failure::new(Exit::Usage, "VMC-NAME", cause)
            .fix("vmctl create vm NAME --image IMAGE --cpu 2 --memory 4Gi"));
    };
    let (Some(image), Some(cpu), Some(memory)) = (&args.image, args.cpu, &args.memory) else {
        let cause = "--image, --cpu and --memory are needed";
        return Err(Failure::new(Exit::Usage, "VMC-USAGE", cause)
            .fix("vmctl create vm NAME --image IMAGE --cpu 2 --memory 4Gi"));
    };
    let names: Vec<String> = match args.count {
        None => vec![name.clone()],
        Some(count) => (1..=count)
            .map(|number| format!("{name}-{number}"))
            .collect(),
    };
    let object = |name: &String| {
        json!({
            "apiVersion": format!("{GROUP}/{VERSION}"),
            "kind": Kind::VirtualMachine.kind(),
            "metadata": { "name": name },
            "spec": { "image": image, "cpu": cpu, "memory": memory.to_string(), "providerRef": args.provider },
        })
    };
    Ok(names.iter().map(object).collect())
}

async fn of_files(args: &mut Args) -> Result<Vec<Value>, Failure> {
    let documents = args.input.read().await?;
    let mut objects: Vec<Value> = Vec::new();
    for document in documents {
        kind(&document.kind_word(), &[Kind::VirtualMachine]).map_err(|failure| {
            document.blame(failure.fix("for other kinds: vmctl apply -f FILE"))
        })?;
        args.cluster
            .settle_namespace(document.namespace())
            .map_err(|failure| document.blame(failure))?;
        let name = Object(&document.object).name();
        let wrong = if !is_name(name) {
            Some(format!("{name:?} cannot be the name of a VirtualMachine"))
        } else if objects.iter().any(|one| Object(one).name() == name) {
            Some(format!("VirtualMachine {name} is there twice"))
        } else {
            None
        };
        if let Some(cause) = wrong {
            let failure = Failure::new(Exit::Usage, "VMC-INPUT", cause);
            return Err(document.blame(failure.fix("correct the file; nothing was created")));
        }
        objects.push(document.object);
    }
    Ok(objects)
}

/// Writes the namespace into objects that name none.
pub(super) fn place(objects: &mut [Value], namespace: &str) {
    for object in objects {
        object["metadata"]["namespace"] = json!(namespace);
    }
}
