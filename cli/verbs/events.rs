//! `vmctl events`: what was told about objects, once or as it is told.

use serde_json::{Value, json};

use super::interrupt::{interruptible, reader_gone};
use super::{age, choice, completion};
use crate::cluster::ClusterArgs;
use crate::cluster::call::{Collection, Filter, Form};
use crate::cluster::follow::{Change, Follow, items};
use crate::cluster::kind::{Kind, Named};
use crate::cluster::object::Object;
use crate::cluster::print::{self, Encoding};
use crate::cluster::table::{Column, Table};
use crate::hint::{Exit, Failure};
use crate::output::{self, Talk};

const EXAMPLES: &str = "\
Examples:
  vmctl events
  vmctl events vm web-1 -w
  vmctl events --for vm/web-1 --types Warning
  vmctl events -A -o json";

/// Options of `vmctl events`.
#[derive(Debug, clap::Args)]
#[group(id = "events")]
#[command(before_help = EXAMPLES)]
pub(crate) struct Args {
    /// Only those about this object: vm or pcfg and a name, or KIND/NAME
    #[arg(value_name = "KIND NAME", num_args = 1..=2, conflicts_with = "about", add = completion::objects())]
    words: Vec<String>,
    /// Only those about this object
    #[arg(long = "for", value_name = "KIND/NAME", add = completion::objects())]
    about: Option<String>,
    /// Only these types, Normal or Warning, separated by commas
    #[arg(long, value_name = "TYPES", value_delimiter = ',')]
    types: Vec<String>,
    /// Of all namespaces
    #[arg(short = 'A', long, conflicts_with = "namespace")]
    all_namespaces: bool,
    /// Then print what is told, until the end of the world
    #[arg(short, long)]
    watch: bool,
    /// Form of the output; a table when not given
    #[arg(short, long, value_enum)]
    output: Option<Encoding>,
    /// Print no header
    #[arg(long)]
    no_headers: bool,
    #[command(flatten)]
    cluster: ClusterArgs,
}

/// Prints events.
///
/// # Errors
/// The command line is wrong, or the API server does not answer.
pub(crate) async fn run(args: Args) -> Result<(), Failure> {
    let filter = filter(&args)?;
    let cluster = args.cluster.open().await?;
    let collection = choice::collection(&cluster, Kind::Event, args.all_namespaces);
    let mut view = View {
        types: args.types,
        encoding: args.output,
        table: table(args.all_namespaces).headed(!args.no_headers),
    };
    if !args.watch {
        return interruptible(view.once(&collection, &filter), Failure::ended).await;
    }
    let watch = async {
        tokio::select! {
            outcome = view.watch(collection, filter) => outcome,
            gone = reader_gone() => Err(gone),
        }
    };
    interruptible(watch, Failure::ended).await
}

fn filter(args: &Args) -> Result<Filter, Failure> {
    let about: Vec<String> = args.about.iter().cloned().collect();
    let words = if about.is_empty() {
        &args.words
    } else {
        &about
    };
    for one in &args.types {
        if !["normal", "warning"].contains(&one.to_lowercase().as_str()) {
            let cause = format!("{one:?} is no type of event");
            return Err(
                Failure::new(Exit::Usage, "VMC-USAGE", cause).fix("types are Normal and Warning")
            );
        }
    }
    if words.is_empty() {
        return Ok(Filter::default());
    }
    let named = Named::parse(words, &[Kind::VirtualMachine, Kind::ProviderConfig])?;
    let fields = match named.names.as_slice() {
        [] => format!("involvedObject.kind={}", named.kind.kind()),
        [name] => format!(
            "involvedObject.kind={},involvedObject.name={name}",
            named.kind.kind()
        ),
        _several => {
            let cause = "events are shown about one object, or about all of a kind";
            return Err(Failure::new(Exit::Usage, "VMC-USAGE", cause).fix("vmctl events vm NAME"));
        }
    };
    Ok(Filter {
        fields: Some(fields),
        ..Filter::default()
    })
}

fn table(namespaces: bool) -> Table {
    let mut table = Table::new(false, namespaces);
    let names = ["Last seen", "Type", "Reason", "Object", "Message"];
    let columns = names.map(|name| Column {
        name: name.to_owned(),
        priority: 0,
    });
    table.set_columns(columns.to_vec());
    table
}

struct View {
    types: Vec<String>,
    encoding: Option<Encoding>,
    table: Table,
}

impl View {
    async fn once(&mut self, collection: &Collection, filter: &Filter) -> Result<(), Failure> {
        let list = collection.list(filter, Form::Objects).await;
        let list = list.map_err(|error| collection.failed(error))?;
        let all = items(list, Form::Objects)
            .into_iter()
            .map(|item| item.object);
        let found = self.sorted(all.collect());
        if found.is_empty() && !matches!(self.encoding, Some(Encoding::Json | Encoding::Yaml)) {
            choice::say_nothing_found(collection.namespace.as_deref());
            return Ok(());
        }
        match self.encoding {
            None => self.rows(&found),
            Some(encoding) => print::list(found, Kind::Event, encoding),
        }
    }

    fn sorted(&self, mut events: Vec<Value>) -> Vec<Value> {
        events.retain(|event| self.is_wanted(event));
        events.sort_by_key(moment);
        events
    }

    fn is_wanted(&self, event: &Value) -> bool {
        let of = event["type"].as_str().unwrap_or_default();
        self.types.is_empty() || self.types.iter().any(|one| one.eq_ignore_ascii_case(of))
    }

    /// What there is comes in order of time, then each as it is told. An event that the API server forgets is no news.
    async fn watch(&mut self, collection: Collection, filter: Filter) -> Result<(), Failure> {
        let talk = Talk::new(false);
        let mut follow = Follow::new(collection, filter, Form::Objects);
        let mut first: Option<Vec<Value>> = Some(Vec::new());
        loop {
            match follow.next().await? {
                Change::Present(item) => match &mut first {
                    Some(events) => events.push(item.object),
                    None => self.told(vec![item.object])?,
                },
                Change::Listed => {
                    if let Some(events) = first.take() {
                        self.told(events)?;
                    }
                }
                Change::Cut(why) => talk.line(&format!("connection lost, trying again: {why}")),
                Change::Back => talk.line("connected again"),
                Change::Gone(_) | Change::Columns(_) => {}
            }
        }
    }

    fn told(&mut self, events: Vec<Value>) -> Result<(), Failure> {
        let events = self.sorted(events);
        let Some(encoding) = self.encoding else {
            return self.rows(&events);
        };
        for event in events {
            if encoding == Encoding::Yaml {
                output::data("---")?;
            }
            print::object(event, Kind::Event, encoding)?;
        }
        Ok(())
    }

    fn rows(&mut self, events: &[Value]) -> Result<(), Failure> {
        let cells: Vec<Vec<Value>> = events.iter().map(row).collect();
        let rows = events.iter().zip(&cells);
        let lines = self
            .table
            .lines(rows.map(|(event, cells)| (Object(event).namespace(), cells.as_slice())));
        if lines.is_empty() {
            return Ok(());
        }
        output::data(&lines.join("\n"))
    }
}

fn row(event: &Value) -> Vec<Value> {
    let about = &event["involvedObject"];
    let kind = about["kind"].as_str().unwrap_or("-");
    let name = about["name"].as_str().unwrap_or("-");
    let seen = age::since(time(event));
    vec![
        json!(times(event, &seen)),
        event["type"].clone(),
        event["reason"].clone(),
        json!(format!("{kind}/{name}")),
        event["message"].clone(),
    ]
}

/// When an event was last seen: old and new clients write it into different fields.
pub(crate) fn time(event: &Value) -> &str {
    let fields = [
        &event["series"]["lastObservedTime"],
        &event["lastTimestamp"],
        &event["eventTime"],
        &event["firstTimestamp"],
        &event["metadata"]["creationTimestamp"],
    ];
    fields
        .into_iter()
        .find_map(Value::as_str)
        .unwrap_or_default()
}

/// The same as a time; what has none comes first.
pub(crate) fn moment(event: &Value) -> Option<jiff::Timestamp> {
    time(event).parse().ok()
}

/// `5m (x3 over 1h)`, as kubectl writes what was seen several times.
pub(crate) fn times(event: &Value, seen: &str) -> String {
    let count = event["series"]["count"]
        .as_u64()
        .or(event["count"].as_u64())
        .unwrap_or(1);
    if count < 2 {
        return seen.to_owned();
    }
    let first = event["eventTime"]
        .as_str()
        .or(event["firstTimestamp"].as_str());
    format!(
        "{seen} (x{count} over {})",
        age::since(first.unwrap_or_default())
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_of_the_times_counts_whoever_wrote_it() {
        let old = json!({ "lastTimestamp": "2026-01-02T00:00:00Z", "firstTimestamp": "2026-01-01T00:00:00Z", "count": 3 });
        assert_eq!(time(&old), "2026-01-02T00:00:00Z");
        assert!(times(&old, "5m").starts_with("5m (x3 over "));
        let new = json!({ "eventTime": "2026-01-01T00:00:00.5Z", "lastTimestamp": null,
            "series": { "count": 2, "lastObservedTime": "2026-01-03T00:00:00.5Z" } });
        assert_eq!(time(&new), "2026-01-03T00:00:00.5Z");
        let single = json!({ "metadata": { "creationTimestamp": "2026-01-01T00:00:00Z" } });
        assert_eq!(
            (time(&single), times(&single, "1s").as_str()),
            ("2026-01-01T00:00:00Z", "1s")
        );
    }
}
