//! `vmctl man`: manual pages, made from the definition of the command line.

use std::path::PathBuf;

use clap::CommandFactory;

use crate::hint::{Exit, Failure};
use crate::{files, output};

const EXAMPLES: &str = "\
Examples:
  vmctl man | man -l -
  vmctl man create | man -l -
  vmctl man --dir ~/.local/share/man/man1";

/// Options of `vmctl man`.
#[derive(Debug, clap::Args)]
#[group(id = "man")]
#[command(before_help = EXAMPLES)]
pub(crate) struct Args {
    /// Command whose page is printed; that of vmctl itself when none is named
    #[arg(value_name = "COMMAND", conflicts_with = "dir")]
    words: Vec<String>,
    /// Write the pages of all commands into this folder
    #[arg(long, value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    dir: Option<PathBuf>,
}

/// Prints a page, or writes all.
///
/// # Errors
/// There is no such command, or a file cannot be written.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let mut root = crate::args::Args::command();
    root.build();
    let Some(dir) = &args.dir else {
        return output::data(page(&found(root, &args.words)?)?.trim_end());
    };
    let failed = |cause: String| {
        Failure::new(Exit::Failure, "VMC-MAN", cause).fix("name a folder of yours with --dir")
    };
    files::private_dir(dir).map_err(|error| failed(crate::hint::chain(&error)))?;
    let mut commands = vec![root];
    while let Some(command) = commands.pop() {
        let path = dir.join(format!("{}.1", name(&command)));
        std::fs::write(&path, page(&command)?)
            .map_err(|error| failed(format!("cannot write {}: {error}", path.display())))?;
        output::data(&path.display().to_string())?;
        let shown = command.get_subcommands().filter(|one| !one.is_hide_set());
        commands.extend(shown.cloned());
    }
    Ok(())
}

/// `vmctl-env-list`: what its page is called.
fn name(command: &clap::Command) -> String {
    command
        .get_bin_name()
        .unwrap_or(command.get_name())
        .replace(' ', "-")
}

fn found(root: clap::Command, words: &[String]) -> Result<clap::Command, Failure> {
    let mut command = root;
    for word in words {
        let next = command
            .find_subcommand(word)
            .filter(|one| !one.is_hide_set())
            .cloned();
        command = next.ok_or_else(|| {
            let cause = format!("there is no command {:?}", words.join(" "));
            Failure::new(Exit::Usage, "VMC-USAGE", cause).fix("see what there is: vmctl --help")
        })?;
    }
    Ok(command)
}

fn page(command: &clap::Command) -> Result<String, Failure> {
    let title = name(command);
    let named = command.clone().name(title);
    let mut page = Vec::new();
    let rendered = clap_mangen::Man::new(named)
        .manual("vmctl")
        .render(&mut page);
    let failed = |error: &dyn std::fmt::Display| {
        let cause = format!("cannot write a page: {error}");
        Failure::new(Exit::Failure, "VMC-MAN", cause).fix("read vmctl --help instead")
    };
    rendered.map_err(|error| failed(&error))?;
    String::from_utf8(page).map_err(|error| failed(&error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_has_a_page_with_its_own_name_and_options() {
        let mut root = crate::args::Args::command();
        root.build();
        assert!(page(&root).unwrap().contains("vmctl"));
        let env_list = found(root.clone(), &["env".to_owned(), "list".to_owned()]).unwrap();
        assert_eq!(name(&env_list), "vmctl-env-list");
        let create = found(root.clone(), &["create".to_owned()]).unwrap();
        let text = page(&create).unwrap();
        assert!(
            text.contains("vmctl\\-create") && text.contains("\\-\\-memory"),
            "{text}"
        );
        assert!(found(root, &["supervise".to_owned()]).is_err());
    }
}
