use tokio::sync::mpsc::channel;

use super::super::clock::Clock;
use super::*;

fn recorded(dir: &Path) -> PathBuf {
    let path = dir.join("seen.jsonl");
    let mut recorder = Recorder::begin(&path).unwrap();
    for second in 1..4 {
        recorder
            .take(
                Stamp(second * 1000),
                &Message::Gone {
                    uid: second.to_string(),
                },
            )
            .unwrap();
    }
    recorder.flush().unwrap();
    path
}

#[tokio::test(start_paused = true)]
async fn a_replay_tells_what_was_recorded_with_its_times() {
    let dir = tempfile::tempdir().unwrap();
    let path = recorded(dir.path());
    let (sender, mut told) = channel(100);
    let began = tokio::time::Instant::now();
    play(path, Some(2.0), Out::new(sender, Clock::new()))
        .await
        .unwrap();
    assert_eq!(began.elapsed(), Duration::from_secs(1));
    let mut seen = Vec::new();
    while let Ok(message) = told.try_recv() {
        seen.push(message);
    }
    let expected: Vec<Message> = (1..4)
        .flat_map(|second| {
            [
                Message::Gone {
                    uid: second.to_string(),
                },
                Message::Tick {
                    now: Stamp(second * 1000),
                },
            ]
        })
        .collect();
    assert_eq!(seen, expected);
}

#[test]
fn a_file_that_exists_is_not_overwritten_and_one_that_is_none_not_played() {
    let dir = tempfile::tempdir().unwrap();
    let path = recorded(dir.path());
    assert_eq!(
        Recorder::begin(&path).err().map(|failure| failure.id),
        Some("VMC-RECORD")
    );
    let other = dir.path().join("other");
    std::fs::write(&other, "no recording\n").unwrap();
    for path in [other, dir.path().join("absent")] {
        assert_eq!(
            open(&path).err().map(|failure| failure.id),
            Some("VMC-REPLAY")
        );
    }
}
