//! The ids that machines have said, each with the certificate that it belongs to: the one whose
//! name it has, or else the one that said it first.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

/// Ids of one certificate that are remembered. A machine takes another id each time it starts;
/// with one more the certificate's oldest is forgotten.
const IDS_PER_NAME_MAX: usize = 64;

/// Ids of all certificates. With one more the oldest of all is forgotten.
const IDS_MAX: usize = 4_096;

/// The bindings of ids to certificates. A controller that leaves keeps its id, because its rooms
/// are still its own. Cheap to clone.
#[derive(Clone, Debug)]
pub(super) struct Identities<Id>(Arc<Mutex<VecDeque<Identity<Id>>>>);

impl<Id> Default for Identities<Id> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

#[derive(Debug)]
struct Identity<Id> {
    id: Id,
    name: Arc<str>,
    /// The id follows from the name.
    is_proven: bool,
}

impl<Id: Copy + PartialEq> Identities<Id> {
    /// Binds an id to the name in a certificate. `is_proven` is whether the id follows from the
    /// name: then another name that has said it before loses it.
    ///
    /// Errors: the id is bound to another name, which is returned.
    pub(super) fn bind(&self, id: Id, name: &Arc<str>, is_proven: bool) -> Result<(), Arc<str>> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = all.iter().position(|known| known.id == id);
        let known = known.and_then(|place| all.remove(place));
        let is_usurped = |known: &Identity<Id>| is_proven && !known.is_proven && known.name != *name;
        if let Some(identity) = known.filter(|known| !is_usurped(known)) {
            let is_same = identity.name == *name;
            let bound = identity.name.clone();
            // One that is said again is the last to be forgotten.
            all.push_back(identity);
            return if is_same { Ok(()) } else { Err(bound) };
        }
        let mut of_name = all.iter().enumerate().filter(|(_, known)| known.name == *name);
        let oldest = of_name.next().map(|(place, _)| place);
        let oldest = oldest.filter(|_| of_name.count() + 1 >= IDS_PER_NAME_MAX);
        if let Some(oldest) = oldest.or_else(|| (all.len() >= IDS_MAX).then_some(0)) {
            all.remove(oldest);
        }
        let name = name.clone();
        all.push_back(Identity { id, name, is_proven });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use southbound::ControllerId;

    use super::*;

    fn id(number: usize) -> ControllerId {
        ControllerId::new(number as u32)
    }

    #[test]
    fn an_id_is_that_of_the_certificate_that_said_it_first() {
        let [one, two]: [Arc<str>; 2] = ["one".into(), "two".into()];
        let identities = Identities::default();
        for _ in 0..2 {
            assert_eq!(identities.bind(id(1), &one, false), Ok(()));
            assert_eq!(identities.bind(id(1), &two, false), Err(one.clone()));
        }
        assert_eq!(identities.bind(id(2), &two, false), Ok(()));
        assert_eq!(identities.bind(id(2), &one, false), Err(two));
    }

    #[test]
    fn an_id_that_follows_from_a_name_is_taken_from_another_name() {
        let [thief, owner]: [Arc<str>; 2] = ["thief".into(), "owner".into()];
        let identities = Identities::default();
        assert_eq!(identities.bind(id(1), &thief, false), Ok(()));
        assert_eq!(identities.bind(id(1), &owner, true), Ok(()));
        for is_proven in [false, true] {
            assert_eq!(identities.bind(id(1), &thief, is_proven), Err(owner.clone()));
        }
        assert_eq!(identities.bind(id(1), &owner, true), Ok(()));
        assert_eq!(identities.0.lock().unwrap().len(), 1);
    }

    #[test]
    fn a_certificate_with_many_ids_loses_its_own() {
        let [one, two]: [Arc<str>; 2] = ["one".into(), "two".into()];
        let identities = Identities::default();
        identities.bind(id(0), &one, false).unwrap();
        for number in 1..=10 * IDS_PER_NAME_MAX {
            identities.bind(id(number), &two, false).unwrap();
        }
        assert_eq!(identities.0.lock().unwrap().len(), 1 + IDS_PER_NAME_MAX);
        assert_eq!(
            identities.bind(id(0), &two, false),
            Err(one.clone()),
            "another's is kept"
        );
        assert_eq!(identities.bind(id(1), &one, false), Ok(()), "it was forgotten");
        for number in 0..2 * IDS_MAX {
            let name: Arc<str> = format!("{number}").into();
            let _ = identities.bind(id(number), &name, false);
        }
        assert_eq!(identities.0.lock().unwrap().len(), IDS_MAX);
    }
}
