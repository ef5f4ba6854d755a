//! Replies that are repeated when a request is.

use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Instant;

use crate::limits::{COOKIE_BYTES_MAX, COOKIE_LIFE, COOKIES_MAX};

/// The replies to recent requests, by the asker's address and the request's cookie.
///
/// Over UDP a proxy without a reply repeats its request under the same cookie. The request must not
/// be executed twice, so the same bytes are sent again. Two proxies may count up the same cookies,
/// so the asker's address is part of the key; its port is not, since a proxy's processes and
/// connections change theirs.
///
/// Shape: at most [`COOKIES_MAX`] replies of together [`COOKIE_BYTES_MAX`] bytes, each for
/// [`COOKIE_LIFE`]; the oldest is dropped first.
#[derive(Debug, Default)]
pub(crate) struct Cookies {
    replies: HashMap<Key, Arc<[u8]>>,
    ages: VecDeque<(Instant, Key)>,
    bytes: usize,
}

/// The asker, if it is known, and the cookie.
type Key = (Option<IpAddr>, Box<[u8]>);

impl Cookies {
    /// The recent reply to this cookie, if there is one.
    pub(crate) fn reply(&mut self, now: Instant, from: Option<IpAddr>, cookie: &[u8]) -> Option<Arc<[u8]>> {
        self.expire(now);
        self.replies.get(&(from, cookie.into())).cloned()
    }

    /// Remembers a reply.
    pub(crate) fn remember(&mut self, now: Instant, from: Option<IpAddr>, cookie: &[u8], reply: Arc<[u8]>) {
        let key: Key = (from, cookie.into());
        self.bytes += reply.len();
        self.ages.push_back((now, key.clone()));
        let before = self.replies.insert(key, reply);
        assert!(before.is_none(), "a cookie that is remembered is answered from here");
        while self.ages.len() > COOKIES_MAX || self.bytes > COOKIE_BYTES_MAX {
            self.forget_oldest();
        }
    }

    fn expire(&mut self, now: Instant) {
        while let Some((at, _)) = self.ages.front()
            && now.saturating_duration_since(*at) >= COOKIE_LIFE
        {
            self.forget_oldest();
        }
    }

    fn forget_oldest(&mut self) {
        if let Some((_, key)) = self.ages.pop_front()
            && let Some(reply) = self.replies.remove(&key)
        {
            self.bytes -= reply.len();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[expect(clippy::disallowed_methods, reason = "any moment will do")]
    fn now() -> Instant {
        Instant::now()
    }

    #[test]
    fn a_reply_is_repeated_to_its_asker_for_a_limited_time() {
        let (start, mut cookies) = (now(), Cookies::default());
        let asker = Some([192, 0, 2, 1].into());
        cookies.remember(start, asker, b"1_1", b"pong"[..].into());
        assert_eq!(cookies.reply(start, asker, b"1_1").as_deref(), Some(&b"pong"[..]));
        assert_eq!(cookies.reply(start, None, b"1_1"), None);
        assert_eq!(cookies.reply(start, asker, b"1_2"), None);
        assert_eq!(cookies.reply(start + COOKIE_LIFE, asker, b"1_1"), None);
        assert_eq!(cookies.bytes, 0);
    }

    #[test]
    fn no_more_is_kept_than_may_be() {
        let (start, mut cookies) = (now(), Cookies::default());
        let large: Arc<[u8]> = vec![0; 60_000].into();
        for n in 0..2_000_u32 {
            let at = start + Duration::from_millis(u64::from(n));
            cookies.remember(at, None, &n.to_be_bytes(), large.clone());
            assert!(cookies.bytes <= COOKIE_BYTES_MAX);
        }
        assert_eq!(cookies.replies.len(), COOKIE_BYTES_MAX / 60_000);
        assert_eq!(cookies.replies.len(), cookies.ages.len());
    }
}
