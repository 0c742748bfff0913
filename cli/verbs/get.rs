//! `vmctl get`: objects as kubectl shows them, once or as they change.

use serde_json::Value;

use super::choice::{self, Selectors};
use super::completion;
use super::input::Input;
use super::interrupt::{interruptible, reader_gone};
use crate::cluster::call::{Collection, Filter, Form};
use crate::cluster::follow::{Change, Follow, Item, items};
use crate::cluster::kind::{Kind, Named};
use crate::cluster::object::{Object, reference};
use crate::cluster::print::{self, Encoding};
use crate::cluster::table::{self, Table};
use crate::cluster::{Cluster, ClusterArgs};
use crate::hint::{Exit, Failure};
use crate::output::{self, Talk};

const EXAMPLES: &str = "\
Examples:
  vmctl get vms
  vmctl get vm web-1 -o yaml
  vmctl get vm -A -o wide -w
  vmctl get vm -l tier=front -o name
  vmctl get vm --field-selector status.phase=Failed
  vmctl get -f web-1.yaml
  vmctl get pcfg

Exits with 4 when an object that was named does not exist.";

/// Form of the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Output {
    /// A table with every column.
    Wide,
    /// Kind and name.
    Name,
    /// JSON.
    Json,
    /// YAML.
    Yaml,
}

/// Options of `vmctl get`.
#[derive(Debug, clap::Args)]
#[group(id = "get")]
#[command(before_help = EXAMPLES)]
pub(crate) struct Args {
    /// vm or pcfg, and names; or KIND/NAME
    #[arg(value_name = "KIND [NAME]", num_args = 1.., add = completion::objects())]
    words: Vec<String>,
    /// Of all namespaces
    #[arg(short = 'A', long, conflicts_with = "namespace")]
    all_namespaces: bool,
    #[command(flatten)]
    selectors: Selectors,
    #[command(flatten)]
    input: Input,
    /// Do not mind if one that is named does not exist
    #[arg(long)]
    ignore_not_found: bool,
    /// Print no header
    #[arg(long)]
    no_headers: bool,
    /// Form of the output; a table when not given
    #[arg(short, long, value_enum)]
    output: Option<Output>,
    /// Then print what changes, until the end of the world
    #[arg(short, long)]
    watch: bool,
    #[command(flatten)]
    cluster: ClusterArgs,
}

/// What is printed, and how.
struct View {
    objects: Collection,
    named: Named,
    filter: Filter,
    form: Form,
    encoding: Option<Encoding>,
    table: Table,
    ignore_missing: bool,
}

/// Prints objects.
///
/// # Errors
/// [`Exit::NotFound`] when a named one is missing, [`Exit::Unreachable`] when the API server does not answer.
pub(crate) async fn run(mut args: Args) -> Result<(), Failure> {
    let kinds = [Kind::VirtualMachine, Kind::ProviderConfig];
    let named = choice::named(&args.words, &args.input, &kinds, &mut args.cluster).await?;
    if !named.names.is_empty() && args.all_namespaces {
        let cause = "an object cannot be named across all namespaces";
        return Err(Failure::new(Exit::Usage, "VMC-USAGE", cause).fix("give its namespace with -n"));
    }
    choice::either(&named.names, &args.selectors)?;
    let cluster = args.cluster.open().await?;
    let mut view = View::new(&args, named, &cluster);
    if !args.watch {
        return interruptible(view.once(), Failure::ended).await;
    }
    let watch = async {
        tokio::select! {
            outcome = view.watch() => outcome,
            gone = reader_gone() => Err(gone),
        }
    };
    interruptible(watch, Failure::ended).await
}

impl View {
    fn new(args: &Args, named: Named, cluster: &Cluster) -> Self {
        let objects = choice::collection(cluster, named.kind, args.all_namespaces);
        let encoding = match args.output {
            None | Some(Output::Wide) => None,
            Some(Output::Name) => Some(Encoding::Name),
            Some(Output::Json) => Some(Encoding::Json),
            Some(Output::Yaml) => Some(Encoding::Yaml),
        };
        let name = match named.names.as_slice() {
            [name] => Some(name.clone()),
            _none_or_several => None,
        };
        Self {
            objects,
            named,
            filter: Filter {
                name,
                ..args.selectors.filter()
            },
            form: if encoding.is_some() {
                Form::Objects
            } else {
                Form::Table
            },
            encoding,
            table: Table::new(args.output == Some(Output::Wide), args.all_namespaces)
                .headed(!args.no_headers),
            ignore_missing: args.ignore_not_found,
        }
    }

    async fn once(&mut self) -> Result<(), Failure> {
        let names = std::mem::take(&mut self.named.names);
        if names.is_empty() {
            let list = self.objects.list(&self.filter, self.form).await;
            let list = list.map_err(|error| self.objects.failed(error))?;
            return self.print(vec![list], false);
        }
        let mut missing = None;
        let mut found = Vec::new();
        for name in &names {
            match self.objects.get(name, self.form).await {
                Ok(object) => found.push(object),
                Err(error) if error.is_absent(self.named.kind) && self.ignore_missing => {}
                Err(error) => {
                    let failure = self.objects.failed(error);
                    if failure.exit != Exit::NotFound {
                        return Err(failure);
                    }
                    // The last one is told by whoever called us.
                    if let Some(earlier) = missing.replace(failure) {
                        output::failure(&earlier);
                    }
                }
            }
        }
        if !found.is_empty() {
            self.print(found, names.len() == 1)?;
        }
        missing.map_or(Ok(()), Err)
    }

    /// Prints lists or tables below each other as one.
    fn print(&mut self, parts: Vec<Value>, single: bool) -> Result<(), Failure> {
        let mut all = Vec::new();
        for part in parts {
            self.table_columns(&part);
            all.append(&mut items(part, self.form));
        }
        let Some(encoding) = self.encoding else {
            return self.rows(&all);
        };
        let mut objects: Vec<Value> = all.into_iter().map(|item| item.object).collect();
        if single && let Some(object) = objects.pop() {
            return print::object(object, self.named.kind, encoding);
        }
        if objects.is_empty() && encoding == Encoding::Name {
            self.nothing();
            return Ok(());
        }
        print::list(objects, self.named.kind, encoding)
    }

    fn rows(&mut self, items: &[Item]) -> Result<(), Failure> {
        let rows = items
            .iter()
            .map(|item| (Object(&item.object).namespace(), item.cells.as_slice()));
        let lines = self.table.lines(rows);
        if lines.is_empty() {
            self.nothing();
            return Ok(());
        }
        output::data(&lines.join("\n"))
    }

    fn table_columns(&mut self, table: &Value) {
        let columns = table::columns(table);
        if !columns.is_empty() {
            self.table.set_columns(columns);
        }
    }

    fn nothing(&self) {
        choice::say_nothing_found(self.objects.namespace.as_deref());
    }

    /// Prints what there is and then what changes. Ends only with a reason.
    async fn watch(&mut self) -> Result<(), Failure> {
        let talk = Talk::new(false);
        let mut follow = Follow::new(self.objects.clone(), self.filter.clone(), self.form);
        let mut first: Option<Vec<Item>> = Some(Vec::new());
        loop {
            match follow.next().await? {
                Change::Columns(columns) => self.table.set_columns(columns),
                Change::Present(item) if self.is_wanted(&item) => match &mut first {
                    Some(items) => items.push(item),
                    None => self.changed(vec![item])?,
                },
                Change::Gone(item) if self.is_wanted(&item) => {
                    let name = reference(self.named.kind, Object(&item.object).name());
                    self.changed(vec![item])?;
                    talk.line(&format!("{name} is deleted"));
                }
                Change::Present(_) | Change::Gone(_) => {}
                Change::Listed => {
                    if let Some(items) = first.take() {
                        self.all_named_are_there(&items)?;
                        self.changed(items)?;
                    }
                }
                Change::Cut(why) => talk.line(&format!("connection lost, trying again: {why}")),
                Change::Back => talk.line("connected again"),
            }
        }
    }

    fn is_wanted(&self, item: &Item) -> bool {
        let names = &self.named.names;
        names.is_empty() || names.iter().any(|name| name == Object(&item.object).name())
    }

    fn all_named_are_there(&self, items: &[Item]) -> Result<(), Failure> {
        let there = |name: &&String| {
            !items
                .iter()
                .any(|item| Object(&item.object).name() == *name)
        };
        let missing = self.named.names.iter().find(there);
        let Some(name) = missing.filter(|_| !self.ignore_missing) else {
            return Ok(());
        };
        let kind = self.named.kind;
        let cause = format!(
            "there is no {} {name} ({})",
            kind.kind(),
            self.objects.cluster.label
        );
        let list = self.objects.cluster.vmctl(&format!("get {}", kind.short()));
        Err(Failure::new(Exit::NotFound, "VMC-NOT-FOUND", cause).fix(list))
    }

    fn changed(&mut self, items: Vec<Item>) -> Result<(), Failure> {
        let Some(encoding) = self.encoding else {
            let rows = items
                .iter()
                .map(|item| (Object(&item.object).namespace(), item.cells.as_slice()));
            let lines = self.table.lines(rows);
            return if lines.is_empty() {
                Ok(())
            } else {
                output::data(&lines.join("\n"))
            };
        };
        for item in items {
            if encoding == Encoding::Yaml {
                output::data("---")?;
            }
            print::object(item.object, self.named.kind, encoding)?;
        }
        Ok(())
    }
}
