//! Waiting costs nothing. Alone in its file, since every child of the same test process would wake the wait.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::time::Duration;

use codriver::world::pty::{Launch, Pty};
use rustix::time::{ClockId, clock_gettime};

type Outcome = Result<(), Box<dyn std::error::Error>>;

fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::try_from(time).unwrap_or_default()
}

#[test]
fn waiting_for_a_silent_child_that_does_not_read_costs_no_time() -> Outcome {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let mut pty = Pty::spawn(Launch {
            argv: ["sh", "-c", "stty raw -echo; printf ready; exec sleep 30"]
                .map(Into::into)
                .to_vec(),
            env: vec![("PATH".into(), "/usr/bin:/bin".into())],
            cwd: "/".into(),
            size: (80, 24),
        })?;
        let mut output = Vec::new();
        pty.read(&mut output).await?;
        assert_eq!(output, b"ready");
        pty.queue(&[b'x'; 200_000])?;
        pty.flush_some().await?;

        let (span, before) = (Duration::from_secs(3), cpu_time());
        let mut wakes = 0;
        let waiting = poll_fn(|cx| {
            wakes += 1;
            pin!(pty.next(&mut output)).poll(cx)
        });
        let waited = tokio::time::timeout(span, waiting).await;
        assert!(waited.is_err(), "the child was to be silent");
        assert!(wakes <= 3, "woken {wakes} times");
        assert!(pty.outgoing() > 0, "a terminal holds less than this");
        let used = cpu_time() - before;
        assert!(used < span / 1000, "{used:?} of {span:?}");
        Ok(())
    })
}
