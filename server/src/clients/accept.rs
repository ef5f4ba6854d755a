//! Takes connections from a port, and rests where none can be taken.

use std::io;
use std::time::Duration;

use tracing::warn;

/// How long to wait when no connection can be taken: one that ends will help, asking again at once
/// will not.
const RESPITE: Duration = Duration::from_millis(100);

/// The next of the connections that `accept` takes. When the system refuses, most likely because it
/// has no more descriptors, `evict` closes a connection, if there is one to be closed.
pub(crate) async fn next_connection<T, F>(accept: impl Fn() -> F, evict: impl Fn()) -> T
where
    F: Future<Output = io::Result<T>>,
{
    loop {
        match accept().await {
            Ok(connection) => return connection,
            Err(error) => {
                warn!(%error, "cannot accept a connection");
                evict();
                tokio::time::sleep(RESPITE).await;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use crate::os::clock;

    #[tokio::test]
    async fn a_refusal_of_the_system_evicts_and_rests() {
        let (asked, evicted) = (Cell::new(0), Cell::new(0));
        let accept = || {
            asked.set(asked.get() + 1);
            let refused = asked.get() <= 2;
            async move {
                match refused {
                    true => Err(io::Error::other("too many open files")),
                    false => Ok("a connection"),
                }
            }
        };
        let start = clock::now();
        let taken = next_connection(accept, || evicted.set(evicted.get() + 1)).await;
        assert_eq!((taken, asked.get(), evicted.get()), ("a connection", 3, 2));
        assert!(clock::now() >= start + 2 * RESPITE);
    }
}
