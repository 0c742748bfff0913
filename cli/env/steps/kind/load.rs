//! The images reach the nodes.

use std::fs;

use super::{Outcome, Steps, heartbeat, is_node};
use crate::hint::{Exit, Failure, chain};

impl Steps<'_> {
    /// The nodes have the images.
    ///
    /// # Errors
    /// An image cannot be made or loaded.
    pub(crate) async fn kind_load(&mut self) -> Result<Outcome, Failure> {
        let (engine, _) = self.kind.tools()?;
        let cluster = match &self.kind.record {
            Some(record) => record.cluster.clone(),
            None => String::new(),
        };
        let nodes = engine.nodes(&cluster).await;
        let nodes = nodes.map_err(|error| error.into_failure("VMC-ENGINE"))?;
        let options = &self.kind.options;
        let images = [
            (&self.kind.operator, &options.operator_image),
            (&self.kind.mock, &options.mock_image),
        ];
        let mut loaded = Vec::new();
        for (image, given) in images {
            let Some(image) = image else { continue };
            let mut missing = false;
            for node in nodes.iter().filter(|node| is_node(node)) {
                missing |= !engine.node_has(&node.name, &image.name).await;
            }
            if missing {
                self.load(&cluster, &image.name, given.as_deref()).await?;
                loaded.push(image.name.clone());
            }
        }
        Ok(if loaded.is_empty() {
            Outcome::Unchanged("the nodes have the images".to_owned())
        } else {
            Outcome::Done(format!("loaded {}", loaded.join(", ")))
        })
    }

    async fn load(&self, cluster: &str, name: &str, given: Option<&str>) -> Result<(), Failure> {
        let (engine, tool) = self.kind.tools()?;
        self.acting("load", &format!("load {name}"));
        let archive = self.environment.dir().join("images.tar");
        let loading = async {
            match (given, &self.kind.ourselves) {
                (Some(given), _) => engine
                    .save_as(given, name, &archive)
                    .await
                    .map_err(|error| error.into_failure("VMC-IMAGE"))?,
                (None, Some(ourselves)) => ourselves
                    .write(&archive)
                    .map_err(|error| Failure::new(Exit::Environment, "VMC-IMAGE", chain(&error)))?,
                (None, None) => {
                    let cause = format!("nothing is known about image {name}");
                    return Err(Failure::new(Exit::Environment, "VMC-IMAGE", cause));
                }
            }
            heartbeat(&self.talk, "loading images", tool.load(cluster, &archive))
                .await
                .map_err(|error| error.into_failure("VMC-IMAGE"))
        };
        let outcome = loading.await;
        let _ = fs::remove_file(&archive);
        outcome
    }
}
