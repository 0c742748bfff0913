//! `vmctl top`: what VirtualMachines ask for, what each ProviderConfig carries, and how busy the operator is.

mod metrics;

use std::collections::BTreeMap;

use serde_json::{Value, json};
use vmoperator::domain::Quantity;

use super::choice::{self, Selectors};
use super::completion;
use super::interrupt::interruptible;
use super::problems::Problems;
use crate::cluster::ClusterArgs;
use crate::cluster::call::Form;
use crate::cluster::follow::items;
use crate::cluster::kind::{Kind, Named};
use crate::cluster::object::Object;
use crate::cluster::table::{Column, Table};
use crate::cluster::{Cluster, call::Collection};
use crate::dash::scrapes::{Scrapes, of_pods};
use crate::env::outlets::Outlets;
use crate::env::report::Format;
use crate::env::workload::NAMESPACE;
use crate::hint::{Exit, Failure};
use crate::output::{self, Talk};
use metrics::Scrape;

const EXAMPLES: &str = "\
Examples:
  vmctl top vm
  vmctl top vm -A --sort-by memory --sum
  vmctl top pcfg
  vmctl top operator

CPU and memory are what the VirtualMachines ask for; nobody here measures what they use. The queue is that of the
operator's replica that leads; calls and passes are those of all replicas since each began.";

/// What the rows are sorted by; the largest comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Order {
    /// CPUs.
    Cpu,
    /// Memory.
    Memory,
}

/// Options of `vmctl top`.
#[derive(Debug, clap::Args)]
#[group(id = "top")]
#[command(before_help = EXAMPLES)]
pub(crate) struct Args {
    /// vm (and names), pcfg, or operator
    #[arg(value_name = "KIND [NAME]", required = true, num_args = 1.., add = completion::objects())]
    words: Vec<String>,
    #[command(flatten)]
    selectors: Selectors,
    /// Of all namespaces
    #[arg(short = 'A', long, conflicts_with = "namespace")]
    all_namespaces: bool,
    /// Largest first
    #[arg(long, value_name = "COLUMN", value_enum)]
    sort_by: Option<Order>,
    /// Add a line with the sum
    #[arg(long)]
    sum: bool,
    /// Print no header
    #[arg(long)]
    no_headers: bool,
    /// Form of the output
    #[arg(short, long, value_enum, default_value_t = Format::Text)]
    output: Format,
    #[command(flatten)]
    cluster: ClusterArgs,
}

/// What one row adds up.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Load {
    namespace: String,
    name: String,
    machines: u64,
    cpu: u64,
    memory: u64,
    /// Phase of a VirtualMachine, or endpoint of a ProviderConfig.
    note: String,
}

/// Prints the table.
///
/// # Errors
/// The API server does not answer, or the operator's metrics cannot be had.
pub(crate) async fn run(args: Args) -> Result<(), Failure> {
    let is_operator = args.words.first().is_some_and(|word| word == "operator");
    if is_operator && args.words.len() == 1 {
        let cluster = args.cluster.open().await?;
        return interruptible(operator(&args, &cluster), Failure::ended).await;
    }
    let named = Named::parse(&args.words, &[Kind::VirtualMachine, Kind::ProviderConfig])?;
    choice::either(&named.names, &args.selectors)?;
    let cluster = args.cluster.open().await?;
    interruptible(objects(&args, named, &cluster), Failure::ended).await
}

async fn objects(args: &Args, named: Named, cluster: &Cluster) -> Result<(), Failure> {
    let mut problems = Problems::default();
    let all = choice::collection(cluster, named.kind, args.all_namespaces);
    let found = choice::objects(&all, &named.names, &args.selectors, false, &mut problems).await?;
    let mut loads: Vec<Load> = match named.kind {
        Kind::VirtualMachine => found.iter().map(of_machine).collect(),
        Kind::ProviderConfig | Kind::Event => {
            let machines = choice::collection(cluster, Kind::VirtualMachine, args.all_namespaces);
            of_configs(&found, &listed(&machines).await?)
        }
    };
    match args.sort_by {
        None => {}
        Some(Order::Cpu) => loads.sort_by_key(|load| std::cmp::Reverse(load.cpu)),
        Some(Order::Memory) => loads.sort_by_key(|load| std::cmp::Reverse(load.memory)),
    }
    if loads.is_empty() && named.names.is_empty() && args.output == Format::Text {
        choice::say_nothing_found(all.namespace.as_deref());
    } else {
        print(args, named.kind, loads)?;
    }
    problems.outcome()
}

async fn listed(collection: &Collection) -> Result<Vec<Value>, Failure> {
    let list = collection
        .list(&crate::cluster::call::Filter::default(), Form::Objects)
        .await;
    let list = list.map_err(|error| collection.failed(error))?;
    Ok(items(list, Form::Objects)
        .into_iter()
        .map(|item| item.object)
        .collect())
}

fn of_machine(object: &Value) -> Load {
    let spec = &object["spec"];
    let memory = Quantity::parse(spec["memory"].as_str().unwrap_or_default());
    Load {
        namespace: Object(object).namespace().to_owned(),
        name: Object(object).name().to_owned(),
        machines: 1,
        cpu: spec["cpu"].as_u64().unwrap_or_default(),
        memory: memory
            .ok()
            .and_then(|memory| memory.bytes().ok())
            .unwrap_or_default(),
        note: object["status"]["phase"].as_str().unwrap_or("-").to_owned(),
    }
}

fn of_configs(configs: &[Value], machines: &[Value]) -> Vec<Load> {
    let mut sums: BTreeMap<(&str, &str), Load> = BTreeMap::new();
    for config in configs {
        let (namespace, name) = (Object(config).namespace(), Object(config).name());
        let note = config["spec"]["endpoint"]
            .as_str()
            .unwrap_or("-")
            .to_owned();
        let (namespace_, name_) = (namespace.to_owned(), name.to_owned());
        sums.insert(
            (namespace, name),
            Load {
                namespace: namespace_,
                name: name_,
                machines: 0,
                cpu: 0,
                memory: 0,
                note,
            },
        );
    }
    for machine in machines {
        let name = machine["spec"]["providerRef"].as_str().unwrap_or("default");
        if let Some(sum) = sums.get_mut(&(Object(machine).namespace(), name)) {
            add(sum, &of_machine(machine));
        }
    }
    sums.into_values().collect()
}

fn add(sum: &mut Load, load: &Load) {
    sum.machines += load.machines;
    sum.cpu = sum.cpu.saturating_add(load.cpu);
    sum.memory = sum.memory.saturating_add(load.memory);
}

fn print(args: &Args, kind: Kind, mut loads: Vec<Load>) -> Result<(), Failure> {
    if args.output == Format::Json {
        let rows: Vec<Value> = loads
            .iter()
            .map(|load| {
                json!({ "namespace": load.namespace, "name": load.name,
            "virtualMachines": load.machines, "cpu": load.cpu, "memoryBytes": load.memory })
            })
            .collect();
        return output::data(&json!({ "version": 1, "items": rows }).to_string());
    }
    if args.sum {
        let mut sum = Load {
            namespace: String::new(),
            name: "SUM".to_owned(),
            machines: 0,
            cpu: 0,
            memory: 0,
            note: String::new(),
        };
        loads.iter().for_each(|load| add(&mut sum, load));
        loads.push(sum);
    }
    let names: &[&str] = match kind {
        Kind::VirtualMachine => &["Name", "CPU", "Memory", "Phase"],
        Kind::ProviderConfig | Kind::Event => &["Name", "VMs", "CPU", "Memory", "Endpoint"],
    };
    let cells: Vec<Vec<Value>> = loads.iter().map(|load| cells(kind, load)).collect();
    let mut table = table(names, args.all_namespaces).headed(!args.no_headers);
    let rows = loads.iter().zip(&cells);
    let lines = table.lines(rows.map(|(load, cells)| (load.namespace.as_str(), cells.as_slice())));
    if lines.is_empty() {
        Ok(())
    } else {
        output::data(&lines.join("\n"))
    }
}

fn cells(kind: Kind, load: &Load) -> Vec<Value> {
    let memory = json!(Quantity::from_bytes(load.memory).to_string());
    match kind {
        Kind::VirtualMachine => vec![json!(load.name), json!(load.cpu), memory, json!(load.note)],
        Kind::ProviderConfig | Kind::Event => {
            vec![
                json!(load.name),
                json!(load.machines),
                json!(load.cpu),
                memory,
                json!(load.note),
            ]
        }
    }
}

fn table(names: &[&str], namespaces: bool) -> Table {
    let mut table = Table::new(false, namespaces);
    let column = |name: &&str| Column {
        name: (*name).to_owned(),
        priority: 0,
    };
    table.set_columns(names.iter().map(column).collect());
    table
}

/// What the operator's replicas tell: the process of an environment on this machine, else every pod.
async fn scrapes(cluster: &Cluster) -> Result<Scrapes, String> {
    let environment = cluster.environment.as_ref();
    let in_pods = match environment {
        Some(environment) => environment
            .kind()
            .map_err(|failure| failure.cause)?
            .is_some(),
        None => true,
    };
    if in_pods {
        return of_pods(cluster, NAMESPACE).await;
    }
    let text = Outlets::of(environment).await?.metrics().await?;
    Ok(Scrapes {
        texts: vec![text],
        silent: Vec::new(),
    })
}

/// The queue, and how long calls to providers take, from the operator's own metrics.
async fn operator(args: &Args, cluster: &Cluster) -> Result<(), Failure> {
    let scrapes = scrapes(cluster).await.map_err(|why| {
        let cause = format!(
            "the operator's metrics cannot be had: {why} ({})",
            cluster.label
        );
        Failure::new(Exit::Unreachable, "VMC-METRICS", cause).fix("see what runs: vmctl status")
    })?;
    for why in &scrapes.silent {
        Talk::new(false).line(&format!("not counted: {why}"));
    }
    let scrape = Scrape::of_replicas(&scrapes.texts);
    if args.output == Format::Json {
        return output::data(&scrape.summary().to_string());
    }
    let mut lines = table(
        &["Queue", "Ready", "Delayed", "Running", "Passes", "Errors"],
        false,
    )
    .headed(!args.no_headers)
    .lines(scrape.queues().iter().map(|row| ("", row.as_slice())));
    lines.push(String::new());
    let calls = scrape.calls();
    let names = ["Provider call", "Calls", "Errors", "P50", "P95", "P99"];
    lines.extend(
        table(&names, false)
            .headed(!args.no_headers)
            .lines(calls.iter().map(|row| ("", row.as_slice()))),
    );
    output::data(&lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(name: &str, cpu: u64, memory: &str, config: &str) -> Value {
        json!({ "metadata": { "namespace": "team", "name": name },
            "spec": { "cpu": cpu, "memory": memory, "providerRef": config }, "status": { "phase": "Running" } })
    }

    #[test]
    fn what_vms_ask_for_is_added_up_by_provider_config() {
        let machines = [
            machine("a", 2, "4Gi", "one"),
            machine("b", 1, "512Mi", "one"),
            machine("c", 8, "bad", "gone"),
        ];
        let configs = [
            json!({ "metadata": { "namespace": "team", "name": "one" }, "spec": { "endpoint": "http://x" } }),
            json!({ "metadata": { "namespace": "team", "name": "two" }, "spec": { "endpoint": "http://y" } }),
        ];
        let loads = of_configs(&configs, &machines);
        let told: Vec<_> = loads
            .iter()
            .map(|load| cells(Kind::ProviderConfig, load))
            .collect();
        assert_eq!(told[0][1..4], [json!(2), json!(3), json!("4608Mi")]);
        assert_eq!(told[1][1..4], [json!(0), json!(0), json!("0")]);
        assert_eq!(of_machine(&machines[2]).memory, 0);
    }
}
