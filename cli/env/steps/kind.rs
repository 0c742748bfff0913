//! The steps below a kind cluster: engine, images, nodes.

mod load;

use std::time::Duration;

use k8s_openapi::api::core::v1::Node;
use kube::Api;
use kube::api::ListParams;

use super::{Steps, wait};
use crate::clock;
use crate::env::journal::Event;
use crate::env::report::Outcome;
use crate::env::workload::Image;
use crate::env::{Environment, leftovers};
use crate::hint::{Exit, Failure, chain};
use crate::output::Talk;
use crate::runtime::embedded::plane;
use crate::runtime::kind::engine::{Container, Engine};
use crate::runtime::kind::image::Ourselves;
use crate::runtime::kind::record::Record;
use crate::runtime::kind::tool::Kind;
use crate::runtime::kind::{cluster_name, program};

/// How often a long act says that it goes on.
const HEARTBEAT: Duration = Duration::from_secs(15);

/// Options of an environment in kind.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Options of the runtime kind")]
pub(crate) struct Options {
    /// Node image [default: that of your kind]
    #[arg(long, env = "VMCTL_NODE_IMAGE", value_name = "IMAGE")]
    pub(crate) node_image: Option<String>,
    /// Image of the operator [default: made of this very vmctl]
    #[arg(long, env = "VMCTL_OPERATOR_IMAGE", value_name = "IMAGE")]
    pub(crate) operator_image: Option<String>,
    /// Image of the mock provider [default: made of this very vmctl]
    #[arg(long, env = "VMCTL_MOCK_IMAGE", value_name = "IMAGE")]
    pub(crate) mock_image: Option<String>,
    /// Whether somebody asked for kind; known once the runtime is chosen.
    #[arg(skip)]
    pub(crate) asked: bool,
}

impl Options {
    /// Whether somebody named an image: no other runtime can run one.
    pub(crate) fn names_an_image(&self) -> bool {
        [&self.node_image, &self.operator_image, &self.mock_image]
            .iter()
            .any(|image| image.is_some())
    }
}

/// What the steps of kind share.
pub(crate) struct Setup {
    options: Options,
    tools: Option<(Engine, Kind)>,
    ourselves: Option<Ourselves>,
    /// The operator's image, once it is known.
    pub(super) operator: Option<Image>,
    /// The mock provider's.
    pub(super) mock: Option<Image>,
    record: Option<Record>,
}

impl Setup {
    /// Nothing is looked at yet.
    pub(crate) fn new(options: &Options) -> Self {
        Self {
            options: options.clone(),
            tools: None,
            ourselves: None,
            operator: None,
            mock: None,
            record: None,
        }
    }

    fn tools(&self) -> Result<&(Engine, Kind), Failure> {
        let missing = || Failure::new(Exit::Environment, "VMC-ENGINE", "no engine was found yet");
        self.tools.as_ref().ok_or_else(missing)
    }

    fn record(&mut self) -> Result<&mut Record, Failure> {
        let missing = || Failure::new(Exit::Environment, "VMC-STATE", "there is no cluster yet");
        self.record.as_mut().ok_or_else(missing)
    }
}

/// Engine and kind of this machine.
///
/// # Errors
/// One sentence for each thing that is missing.
pub(crate) async fn find(environment: &Environment) -> Result<(Engine, Kind), Vec<String>> {
    let engine = Engine::find(environment.dir()).await?;
    let tool = Kind::find(&engine, environment.dir()).await;
    tool.map(|tool| (engine, tool)).map_err(|lack| vec![lack])
}

impl Steps<'_> {
    /// An engine answers, and kind is new enough.
    ///
    /// # Errors
    /// Something is missing; all of it is said.
    pub(crate) async fn kind_preflight(&mut self) -> Result<Outcome, Failure> {
        let found = find(self.environment).await.map_err(|lacks| {
            let cause = "the runtime kind needs a container engine and kind on this machine";
            Failure::new(Exit::Environment, "VMC-ENGINE", cause)
                .evidence(lacks)
                .fix("start Docker or Podman and install kind, or use: vmctl up --runtime embedded")
        })?;
        let (engine, tool) = &found;
        let note = format!(
            "{} {}, kind {}",
            engine.name(),
            engine.version(),
            tool.version()
        );
        self.kind.tools = Some(found);
        Ok(Outcome::Unchanged(note))
    }

    /// The images that will run are known; the engine has those that were named.
    ///
    /// # Errors
    /// One cannot be fetched, or this program cannot run in a cluster.
    pub(crate) async fn kind_images(&mut self) -> Result<Outcome, Failure> {
        let options = self.kind.options.clone();
        if options.operator_image.is_none() || options.mock_image.is_none() {
            let ourselves = Ourselves::look().map_err(|error| {
                Failure::new(Exit::Environment, "VMC-IMAGE", chain(&error))
                    .fix("name images: vmctl up --operator-image IMAGE --mock-image IMAGE")
            })?;
            self.kind.operator = Some(loaded(&ourselves.operator));
            self.kind.mock = Some(loaded(&ourselves.mock));
            self.kind.ourselves = Some(ourselves);
        }
        let mut fetched = Vec::new();
        if let Some(name) = &options.operator_image {
            self.kind.operator = Some(self.named("operator", name, &mut fetched).await?);
        }
        if let Some(name) = &options.mock_image {
            self.kind.mock = Some(self.named("mock-provider", name, &mut fetched).await?);
        }
        let name =
            |image: &Option<Image>| image.as_ref().map_or("", |image| &image.name).to_owned();
        let note = format!("{}, {}", name(&self.kind.operator), name(&self.kind.mock));
        Ok(if fetched.is_empty() {
            Outcome::Unchanged(note)
        } else {
            Outcome::Done(format!("fetched {}", fetched.join(", ")))
        })
    }

    fn may_fetch(&self, image: &str) -> Result<(), Failure> {
        if !self.lookup.offline {
            return Ok(());
        }
        let cause = format!("--offline, and image {image} is not on this machine");
        Err(Failure::new(Exit::Environment, "VMC-OFFLINE", cause)
            .fix("fetch it while there is a network, or name another one"))
    }

    /// The name that a given image gets in the cluster: it says the content, so that another content is another name.
    async fn named(
        &self,
        word: &str,
        image: &str,
        fetched: &mut Vec<String>,
    ) -> Result<Image, Failure> {
        let (engine, _) = self.kind.tools()?;
        if engine.image(image).await.is_none() {
            self.may_fetch(image)?;
            self.acting("images", &format!("fetch {image}"));
            heartbeat(&self.talk, "fetching an image", engine.pull(image))
                .await
                .map_err(|error| {
                    error.into_failure("VMC-IMAGE").fix(format!(
                        "build it, or see whether it can be had: {} pull {image}",
                        engine.name()
                    ))
                })?;
            fetched.push(image.to_owned());
        }
        let id = engine.image(image).await.unwrap_or_default();
        let digits: String = id.trim_start_matches("sha256:").chars().take(12).collect();
        if digits.is_empty() {
            let cause = format!("{} does not say the id of {image}", engine.name());
            return Err(Failure::new(Exit::Environment, "VMC-IMAGE", cause));
        }
        Ok(loaded(&format!("localhost/vmctl-{word}:{digits}")))
    }

    /// The cluster is there and its nodes run. A torso of an interrupted run is removed first.
    ///
    /// # Errors
    /// kind fails, or the cluster has another node image than the one that is asked for.
    pub(crate) async fn kind_cluster(&mut self) -> Result<Outcome, Failure> {
        let (engine, _) = self.kind.tools()?;
        let name = self.environment.name().as_str();
        let wanted = self.kind.options.node_image.clone();
        let record = self.environment.kind()?.unwrap_or_else(|| Record {
            cluster: cluster_name(name, self.environment.dir()),
            engine: engine.name().to_owned(),
            node_image: wanted.clone(),
            asked: self.kind.options.asked,
            complete: false,
            kubernetes: None,
            proven: false,
        });
        if !record.complete {
            leftovers::settled(self.environment.dir()).await;
        }
        let nodes = engine.nodes(&record.cluster).await;
        let nodes = nodes.map_err(|error| error.into_failure("VMC-ENGINE"))?;
        if record.complete && !nodes.is_empty() {
            if wanted.is_some() && wanted != record.node_image {
                let has = record.node_image.as_deref().unwrap_or("kind's own");
                let cause = format!("environment {name} has another node image: {has}");
                return Err(Failure::new(Exit::Conflict, "VMC-NODE-IMAGE", cause)
                    .fix(format!("remove it first: vmctl down --env {name}")));
            }
            let outcome = self.wake(&nodes, &record.cluster).await;
            self.kind.record = Some(record);
            return outcome;
        }
        self.make(record, wanted, nodes.is_empty()).await
    }

    /// Starts nodes that were stopped, as a restart of the engine leaves them.
    async fn wake(&self, nodes: &[Container], cluster: &str) -> Result<Outcome, Failure> {
        let (engine, tool) = self.kind.tools()?;
        let failed = |error: program::Error| error.into_failure("VMC-ENGINE");
        let mut started = 0;
        for node in nodes.iter().filter(|node| !node.running) {
            self.acting("cluster", &format!("start {}", node.name));
            engine.start(&node.name).await.map_err(failed)?;
            started += 1;
        }
        if !self.environment.kubeconfig().is_file() {
            let path = self.environment.kubeconfig();
            tool.export_kubeconfig(cluster, &path)
                .await
                .map_err(failed)?;
        }
        Ok(if started == 0 {
            Outcome::Unchanged(format!("{cluster} runs"))
        } else {
            Outcome::Done(format!("{cluster} was started again"))
        })
    }

    async fn make(
        &mut self,
        mut record: Record,
        wanted: Option<String>,
        clean: bool,
    ) -> Result<Outcome, Failure> {
        let (engine, tool) = self.kind.tools()?;
        match &wanted {
            Some(image) if engine.image(image).await.is_none() => self.may_fetch(image)?,
            Some(_present) => {}
            None => self.may_fetch("of the nodes, which --node-image would name,")?,
        }
        let cluster = record.cluster.clone();
        record.asked = self.kind.options.asked;
        record.complete = false;
        record.proven = false;
        record.node_image.clone_from(&wanted);
        engine.name().clone_into(&mut record.engine);
        self.environment.set_kind(&record)?;
        if !clean {
            self.acting("cluster", "remove what an interrupted run left");
            let removed = engine.remove(&cluster).await;
            removed.map_err(|error| error.into_failure("VMC-ENGINE"))?;
        }
        self.acting("cluster", &format!("make {cluster}"));
        let kubeconfig = self.environment.kubeconfig();
        let making = tool.create(&cluster, wanted.as_deref(), &kubeconfig);
        heartbeat(&self.talk, "making the cluster", making)
            .await
            .map_err(|error| {
                error.into_failure("VMC-KIND").fix(
                    "where the node image cannot be fetched, name one with --node-image, or use: \
                     vmctl up --runtime embedded",
                )
            })?;
        record.complete = true;
        self.environment.set_kind(&record)?;
        self.journal.write("cluster", Event::Done, &cluster);
        self.kind.record = Some(record);
        Ok(Outcome::Done(format!("{cluster} was made")))
    }

    /// What is left of a cluster that could not be made goes, and its record with it.
    ///
    /// # Errors
    /// The engine fails, or the record cannot be removed.
    pub(crate) async fn abandon_cluster(&self) -> Result<(), Failure> {
        if let (Some(record), Ok((engine, _))) = (self.environment.kind()?, self.kind.tools()) {
            self.acting("cluster", "remove what is left of it");
            let removed = engine.remove(&record.cluster).await;
            removed.map_err(|error| error.into_failure("VMC-ENGINE"))?;
        }
        self.environment.forget_kind()
    }

    /// The API server answers, and every node is ready.
    ///
    /// # Errors
    /// They are not within the time.
    pub(crate) async fn kind_api(&mut self) -> Result<Outcome, Failure> {
        let client = self.environment.client().await?;
        let nodes: Api<Node> = Api::all(client.clone());
        let mut lack = String::new();
        let ready = wait("the cluster is ready", async || {
            lack = match plane::not_ready(&client).await {
                Some(found) => found,
                None => match nodes.list(&ListParams::default()).await {
                    Ok(list) if !list.items.is_empty() && list.items.iter().all(is_ready) => {
                        return Ok(Some(()));
                    }
                    Ok(_list) => "a node that is Ready".to_owned(),
                    Err(error) => chain(&error),
                },
            };
            Ok(None)
        })
        .await;
        ready.map_err(|mut failure| {
            failure.cause.push_str(&format!("; it lacks {lack}"));
            failure
        })?;
        let version = client.apiserver_version().await;
        let version = version.map(|version| version.git_version).ok();
        self.client = Some(client);
        let environment = self.environment;
        let record = self.kind.record()?;
        record.kubernetes = version.clone().or(record.kubernetes.clone());
        environment.set_kind(record)?;
        Ok(Outcome::Unchanged(format!(
            "ready, {}",
            version.unwrap_or_default()
        )))
    }

    /// Remembers that a VirtualMachine was made and removed.
    ///
    /// # Errors
    /// The record cannot be written.
    pub(crate) fn kind_proven(&mut self) -> Result<(), Failure> {
        let environment = self.environment;
        let record = self.kind.record()?;
        record.proven = true;
        environment.set_kind(record).map(drop)
    }
}

fn loaded(name: &str) -> Image {
    Image {
        name: name.to_owned(),
        loaded: true,
    }
}

/// A cluster of several control planes has a load balancer, which runs no pods.
fn is_node(container: &Container) -> bool {
    !container.name.ends_with("-external-load-balancer")
}

fn is_ready(node: &Node) -> bool {
    let conditions = node.status.as_ref().and_then(|s| s.conditions.as_ref());
    let mut conditions = conditions.into_iter().flatten();
    conditions.any(|condition| condition.type_ == "Ready" && condition.status == "True")
}

/// Does something long, and says every now and then that it goes on.
async fn heartbeat<T>(talk: &Talk, what: &str, work: impl Future<Output = T>) -> T {
    let began = clock::now();
    tokio::pin!(work);
    loop {
        tokio::select! {
            outcome = &mut work => return outcome,
            () = clock::sleep(HEARTBEAT) => {
                talk.line(&format!("{what}: {} s so far", began.elapsed().as_secs()));
            }
        }
    }
}
