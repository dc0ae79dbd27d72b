//! Signals sent to this very process; alone in its file, since they reach every thread of it.

use std::time::Duration;

use codriver::world::signals::{Signal, Signals};
use rustix::process::{Signal as Number, getpid, kill_process};

type Outcome = Result<(), Box<dyn std::error::Error>>;

#[test]
fn signals_arrive_as_values_and_a_second_interrupt_is_told_apart() -> Outcome {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let mut signals = Signals::listen()?;
        let limit = Duration::from_secs(5);
        let sent = [Number::INT, Number::TERM, Number::HUP, Number::INT];
        let expected = [
            Signal::Interrupt,
            Signal::Terminate,
            Signal::HangUp,
            Signal::InterruptAgain,
        ];
        for (number, signal) in sent.into_iter().zip(expected) {
            kill_process(getpid(), number)?;
            assert_eq!(tokio::time::timeout(limit, signals.next()).await?, signal);
        }
        let nothing = tokio::time::timeout(Duration::from_millis(50), signals.next());
        assert!(nothing.await.is_err());
        Ok(())
    })
}
