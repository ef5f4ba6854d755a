//! The memory of answers of the server API: bounded for each address and for all together, with
//! long answers written one after the other and away from the threads that serve everybody.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use controller::{Budget, Rate};
use livekit::api::{ApiError, Call, Code, Reply};
use tokio::sync::Semaphore;

use crate::os::clock;

/// A longer answer is written on a thread of its own. Shape: bytes.
const LONG: usize = 32 << 10;

/// A longer answer is not written: the caller asks for less. Shape: bytes, as protobuf.
pub(super) const ANSWER_MAX: usize = 32 << 20;

/// The bytes of long answers that may wait for the clients of one address to read them. While more
/// wait, it gets no further one.
const WAITING_PER_ADDRESS: usize = 8 << 20;

/// The same for all addresses together.
const WAITING_MAX: usize = 64 << 20;

/// The bytes of long answers that one address gets.
const RATE: Rate = Rate {
    per_second: 8 << 20,
    burst: 64 << 20,
};

/// Addresses whose use is known. At the limit those go that have used nothing lately.
const ADDRESSES_MAX: usize = 10_000;

/// The answers that wait, and how much more each address may have.
pub(super) struct Answers {
    writers: Semaphore,
    state: Arc<Mutex<Use>>,
}

#[derive(Default)]
struct Use {
    waiting: usize,
    addresses: HashMap<IpAddr, Account>,
}

struct Account {
    waiting: usize,
    budget: Budget,
}

/// An answer until it is sent.
struct Held {
    body: Vec<u8>,
    address: IpAddr,
    state: Arc<Mutex<Use>>,
}

impl Answers {
    pub(super) fn new() -> Self {
        Answers {
            writers: Semaphore::new(1),
            state: Arc::default(),
        }
    }

    /// The body of an answer for a client of this address.
    ///
    /// Errors: `resource_exhausted` for a long answer, while others wait to be read or were many,
    /// and for one longer than [`ANSWER_MAX`].
    pub(super) async fn write(&self, call: Call, reply: Reply, address: IpAddr) -> Result<Bytes, ApiError> {
        let len = reply.told_len();
        if len <= LONG {
            return Ok(call.write(reply).into());
        }
        if len > ANSWER_MAX {
            let why = "the answer is too long: name fewer rooms";
            return Err(ApiError::new(Code::ResourceExhausted, why));
        }
        let exhausted = || ApiError::new(Code::ResourceExhausted, "too many long answers");
        let address = slots::address_block(address);
        // Those that wait for a writer hold what the room holds in any case.
        let _writer = self.writers.acquire().await.map_err(|_| exhausted())?;
        if !self.state().is_open(clock::now(), address) {
            return Err(exhausted());
        }
        let written = tokio::task::spawn_blocking(move || call.write(reply)).await;
        let body = written.map_err(|_| ApiError::new(Code::Internal, "the answer was not written"))?;
        self.state().charge(clock::now(), address, body.len());
        Ok(Bytes::from_owner(Held {
            body,
            address,
            state: self.state.clone(),
        }))
    }

    fn state(&self) -> MutexGuard<'_, Use> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Use {
    fn is_open(&self, now: Instant, address: IpAddr) -> bool {
        let account = self.addresses.get(&address);
        let has_share = account.is_none_or(|account| {
            account.waiting < WAITING_PER_ADDRESS && account.budget.opens_at(now, RATE).is_none()
        });
        has_share && self.waiting < WAITING_MAX
    }

    fn charge(&mut self, now: Instant, address: IpAddr, len: usize) {
        if self.addresses.len() >= ADDRESSES_MAX {
            let is_used = |account: &mut Account| account.waiting > 0 || !account.budget.is_full(now, RATE);
            self.addresses.retain(|_, account| is_used(account));
        }
        let account = self.addresses.entry(address).or_insert_with(|| Account {
            waiting: 0,
            budget: Budget::new(now, RATE),
        });
        account.budget.owe(now, RATE, len);
        account.waiting += len;
        self.waiting += len;
    }
}

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        &self.body
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.waiting -= self.body.len();
        if let Some(account) = state.addresses.get_mut(&self.address) {
            account.waiting -= self.body.len();
        }
    }
}

/// Limits of the API.
pub(crate) struct Api {
    pub(super) answers: Answers,
    /// How long a client may take for a body, and the controller for an answer.
    pub(super) time_limit: Duration,
}

impl Api {
    pub(crate) fn new(time_limit: Duration) -> Self {
        Api {
            answers: Answers::new(),
            time_limit,
        }
    }
}

#[cfg(test)]
mod tests {
    use controller::AdminReply;

    use super::*;

    #[test]
    fn unread_answers_count_for_their_address_and_for_all() {
        let (mut state, now) = (Use::default(), clock::now());
        let address = |number: u8| IpAddr::from([192, 0, 2, number]);
        assert!(state.is_open(now, address(1)));
        state.charge(now, address(1), WAITING_PER_ADDRESS);
        assert!(!state.is_open(now, address(1)));
        assert!(state.is_open(now, address(2)), "another address has its own share");
        for number in 2..9 {
            state.charge(now, address(number), WAITING_PER_ADDRESS);
        }
        assert!(!state.is_open(now, address(200)), "all together");
        let shared = Arc::new(Mutex::new(state));
        drop(Held {
            body: vec![0; WAITING_PER_ADDRESS],
            address: address(1),
            state: shared.clone(),
        });
        let state = shared.lock().unwrap();
        assert!(state.is_open(now, address(1)) && state.is_open(now, address(200)));
    }

    #[test]
    fn an_address_gets_so_much_a_second() {
        let (mut state, now) = (Use::default(), clock::now());
        let address = IpAddr::from([192, 0, 2, 1]);
        state.charge(now, address, RATE.burst as usize + RATE.per_second as usize);
        state.waiting = 0;
        state.addresses.get_mut(&address).unwrap().waiting = 0;
        assert!(!state.is_open(now, address));
        assert!(state.is_open(now + std::time::Duration::from_secs(2), address));
    }

    #[tokio::test]
    async fn an_answer_that_is_too_long_is_refused() {
        let answers = Answers::new();
        let call = Call::new("POST", "/twirp/livekit.RoomService/PerformRpc", "application/json").unwrap();
        let reply = |len| Reply::from(AdminReply::RpcResult("x".repeat(len)));
        let address = IpAddr::from([192, 0, 2, 1]);
        let refused = answers.write(call, reply(ANSWER_MAX + 1), address).await.unwrap_err();
        assert_eq!(refused.code, Code::ResourceExhausted);
        assert!(answers.write(call, reply(ANSWER_MAX), address).await.unwrap().len() > ANSWER_MAX);
    }
}
