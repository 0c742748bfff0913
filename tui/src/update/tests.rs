use crate::fixtures::{busy, machine, press, type_text};
use crate::keys::Key::{BackTab, Backspace, Char, Ctrl, Down, End, Enter, Esc, Right, Tab, Up};
use crate::message::{Context, Message, What};
use crate::model::{Effect, Model, Overlay, Pane};
use crate::update::update;

fn selected(model: &Model) -> String {
    model
        .selected()
        .map(|one| one.name.clone())
        .unwrap_or_default()
}

#[test]
fn a_selection_follows_its_machine_and_not_its_row() {
    let mut model = busy();
    press(&mut model, &[Down, Down]);
    let before = selected(&model);
    update(
        &mut model,
        Message::Machines {
            list: vec![machine(0, "Running")],
        },
    );
    press(&mut model, &[Char('P')]);
    assert_eq!(selected(&model), before);
}

#[test]
fn when_the_selected_machine_goes_its_neighbour_is_selected() {
    let mut model = busy();
    press(&mut model, &[End]);
    let uid = model.ui.selected.clone().unwrap();
    update(&mut model, Message::Gone { uid });
    model.settle();
    assert_eq!(model.ui.row, model.rows.len() - 1);
    assert!(!selected(&model).is_empty());
}

#[test]
fn a_deletion_is_asked_with_the_focus_on_cancel() {
    let mut model = busy();
    assert_eq!(press(&mut model, &[Ctrl('d'), Enter]), []);
    assert_eq!(model.ui.overlay, Overlay::None);
    let effects = press(&mut model, &[Ctrl('d'), Tab, Enter]);
    let uid = model.ui.selected.clone().unwrap();
    let [Effect::Delete(targets)] = effects.as_slice() else {
        panic!("{effects:?}")
    };
    assert_eq!((targets.len(), &targets[0].uid), (1, &uid));
}

#[test]
fn a_reconcile_is_asked_for_at_once_for_the_selected_one_or_for_all_marked() {
    let mut model = busy();
    let one = press(&mut model, &[Char('R')]);
    let uid = model.ui.selected.clone().unwrap();
    assert!(
        matches!(one.as_slice(), [Effect::Reconcile(targets)] if targets.len() == 1 && targets[0].uid == uid),
        "{one:?}"
    );
    press(&mut model, &[Char(' '), Char(' '), Char(':')]);
    for c in "reconcile".chars() {
        press(&mut model, &[Char(c)]);
    }
    let marked = press(&mut model, &[Enter]);
    assert!(
        matches!(marked.as_slice(), [Effect::Reconcile(targets)] if targets.len() == 2),
        "{marked:?}"
    );
    assert!(model.ui.marked.is_empty());
}

#[test]
fn keys_that_mean_yes_elsewhere_confirm_nothing() {
    let mut model = busy();
    press(&mut model, &[Ctrl('d')]);
    for key in [
        Char('y'),
        Char('Y'),
        Char('d'),
        Ctrl('d'),
        Char(' '),
        Up,
        Down,
        BackTab,
        BackTab,
    ] {
        assert_eq!(press(&mut model, &[key]), []);
    }
    assert_eq!(press(&mut model, &[Enter]), []);
}

#[test]
fn more_than_one_needs_their_number_typed() {
    let mut model = busy();
    press(
        &mut model,
        &[Char(' '), Char(' '), Char(' '), Ctrl('d'), Right],
    );
    assert_eq!(press(&mut model, &[Enter]), []);
    assert_eq!(press(&mut model, &[Char('4'), Enter, Backspace]), []);
    let effects = press(&mut model, &[Char('3'), Enter]);
    assert!(
        matches!(effects.as_slice(), [Effect::Delete(targets)] if targets.len() == 3),
        "{effects:?}"
    );
    assert!(model.ui.marked.is_empty());
}

#[test]
fn what_went_while_the_question_was_open_is_not_deleted() {
    let mut model = busy();
    press(&mut model, &[Ctrl('d'), Tab]);
    let uid = model.ui.selected.clone().unwrap();
    update(&mut model, Message::Gone { uid });
    assert_eq!(press(&mut model, &[Enter]), []);
    assert!(
        model
            .ui
            .note
            .as_ref()
            .is_some_and(|(done, _)| done.text.contains("gone already"))
    );
}

#[test]
fn where_nothing_may_be_changed_nothing_is_asked() {
    let mut model = busy();
    let context = Context {
        read_only: Some("it is not ours".to_owned()),
        ..Context::default()
    };
    update(&mut model, Message::Context(context));
    for keys in [[Ctrl('d')], [Char('e')], [Char('R')]] {
        assert_eq!(press(&mut model, &keys), []);
        assert_eq!(model.ui.overlay, Overlay::None);
        assert!(
            model
                .ui
                .note
                .as_ref()
                .is_some_and(|(done, _)| done.text.contains("it is not ours"))
        );
    }
    assert!(matches!(
        press(&mut model, &[Char('y')]).as_slice(),
        [Effect::Show(What::Yaml, _)]
    ));
}

#[test]
fn a_filter_holds_while_it_is_typed_and_esc_puts_the_old_one_back() {
    let mut model = busy();
    press(&mut model, &[Char('/')]);
    type_text(&mut model, "phase=Failed");
    assert_eq!(model.rows.len(), 1);
    press(&mut model, &[Esc]);
    assert_eq!(model.rows.len(), 12);
    press(&mut model, &[Char('/')]);
    type_text(&mut model, "web-1");
    press(&mut model, &[Enter]);
    assert_eq!(model.rows.len(), 4);
    press(&mut model, &[Esc]);
    assert_eq!(model.rows.len(), 12);
}

#[test]
fn a_machine_that_begins_to_fit_the_filter_appears() {
    let mut model = busy();
    type_text(&mut model, "/phase=Stopped");
    press(&mut model, &[Enter]);
    assert_eq!(model.rows.len(), 0);
    update(
        &mut model,
        Message::Machines {
            list: vec![machine(5, "Stopped")],
        },
    );
    model.settle();
    assert_eq!(model.rows.len(), 1);
}

#[test]
fn news_that_move_no_row_are_seen_without_a_new_order() {
    let mut model = busy();
    let mut changed = machine(4, "Deleting");
    changed.address = "203.0.113.9".to_owned();
    update(
        &mut model,
        Message::Machines {
            list: vec![changed],
        },
    );
    assert!(!model.stale);
    assert!(model.rows.iter().any(|row| row.address == "203.0.113.9"));
}

#[test]
fn frozen_is_what_was_seen_while_facts_go_on() {
    let mut model = busy();
    press(&mut model, &[Char('f')]);
    update(
        &mut model,
        Message::Machines {
            list: vec![machine(99, "Running")],
        },
    );
    model.settle();
    assert_eq!((model.rows.len(), model.world().machines.len()), (12, 12));
    assert_eq!(model.present().machines.len(), 13);
    press(&mut model, &[Char('f')]);
    assert_eq!(model.rows.len(), 13);
}

#[test]
fn commands_do_what_they_say() {
    let mut model = busy();
    type_text(&mut model, ":ns team-a");
    press(&mut model, &[Enter]);
    assert!(model.rows.iter().all(|row| row.namespace == "team-a") && model.rows.len() == 4);
    type_text(&mut model, ":lo");
    press(&mut model, &[Tab, Enter]);
    assert_eq!(model.ui.focus, Pane::Logs);
    type_text(&mut model, ":nonsense");
    press(&mut model, &[Enter]);
    assert!(model.ui.note.is_some());
    type_text(&mut model, ":q");
    assert_eq!(press(&mut model, &[Enter]), [Effect::Quit]);
}

#[test]
fn quitting_works_from_everywhere() {
    for opening in [Char('/'), Char(':'), Char('?'), Ctrl('d'), Char('z')] {
        let mut model = busy();
        press(&mut model, &[opening]);
        assert_eq!(
            press(&mut model, &[Ctrl('c')]),
            [Effect::Quit],
            "{opening:?}"
        );
    }
}

#[test]
fn every_command_of_the_help_is_known() {
    for (name, _) in super::COMMANDS {
        let mut model = busy();
        type_text(&mut model, &format!(":{name} "));
        press(&mut model, &[Enter]);
        let note = model
            .ui
            .note
            .as_ref()
            .map_or("", |(done, _)| done.text.as_str());
        assert!(!note.contains("there is no command"), "{name}: {note}");
    }
}
