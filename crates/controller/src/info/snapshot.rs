//! A participant at one moment, shared by all who are told of it.

use std::any::Any;
use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use crate::ParticipantInfo;

/// A participant at one moment. A clone is the same memory: in a large room each who joins is told
/// of everybody.
#[derive(Clone)]
pub struct ParticipantSnapshot(Arc<Shared>);

struct Shared {
    info: ParticipantInfo,
    form: Mutex<Weak<dyn Any + Send + Sync>>,
}

impl ParticipantSnapshot {
    /// The form that a front end gives it, made once for all who hold it at the same time. There is
    /// one: a front end with several forms shares the one that is in use most.
    pub fn form<T: Any + Send + Sync>(&self, make: impl FnOnce(&ParticipantInfo) -> T) -> Arc<T> {
        let mut known = self.0.form.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(form) = known.upgrade().and_then(|form| form.downcast().ok()) {
            return form;
        }
        let form = Arc::new(make(&self.0.info));
        let unsized_form: Arc<dyn Any + Send + Sync> = form.clone();
        *known = Arc::downgrade(&unsized_form);
        form
    }
}

impl From<ParticipantInfo> for ParticipantSnapshot {
    fn from(info: ParticipantInfo) -> Self {
        Self(Arc::new(Shared {
            info,
            form: Mutex::new(Weak::<()>::new()),
        }))
    }
}

impl Deref for ParticipantSnapshot {
    type Target = ParticipantInfo;

    fn deref(&self) -> &ParticipantInfo {
        &self.0.info
    }
}

impl PartialEq for ParticipantSnapshot {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0.info == other.0.info
    }
}

impl fmt::Debug for ParticipantSnapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.info.fmt(f)
    }
}
