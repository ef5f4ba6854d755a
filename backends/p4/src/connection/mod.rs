//! The connection to the switch: a thread that does what the driver's state asks for.

mod install;
mod session;
pub(crate) mod status;
mod work;

use std::io;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use tracing::{info, warn};

use crate::link::Away;
use crate::program::Program;
use crate::shared::Shared;
use session::{End, Session};

/// The waits between attempts to connect.
const WAIT_MIN: Duration = Duration::from_millis(200);
const WAIT_MAX: Duration = Duration::from_secs(5);

/// Starts the thread, which ends with the last holder of the state.
///
/// Errors: the system gives no thread.
pub(crate) fn start(shared: Arc<Shared>, program: Program) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let run = move || runtime.block_on(run(&shared, &program));
    thread::Builder::new().name("p4".into()).spawn(run)?;
    Ok(())
}

async fn run(shared: &Shared, program: &Program) {
    let mut wait = WAIT_MIN;
    let mut said = None;
    while !shared.is_over() {
        let end = match Session::open(shared, program).await {
            Ok(mut session) => session.run().await,
            Err(end) => end,
        };
        if shared.is_over() {
            return;
        }
        let why = match end {
            End::NotPrimary => Away::NotPrimary,
            End::Lost(_) | End::Unreachable(_) | End::Changed => Away::Unreachable,
        };
        let was_up = shared.handle(|core| {
            let was_up = core.link.away().is_none();
            core.down(why);
            was_up
        });
        // A switch that stays away is logged once.
        let text = end.to_string();
        if was_up || said.as_ref() != Some(&text) {
            let switch = shared.core().config().switch;
            match end {
                End::Changed => info!(%switch, "the switch has another program"),
                _ => warn!(%switch, reason = %text, "no connection to the switch"),
            }
            said = Some(text);
        }
        if was_up {
            wait = WAIT_MIN;
        }
        let until = tokio::time::Instant::now() + wait;
        wait = (wait * 2).min(WAIT_MAX);
        while tokio::time::Instant::now() < until && !shared.is_over() {
            tokio::time::sleep(Duration::from_millis(100)).await;
            shared.handle(|core| core.tick());
        }
    }
}
