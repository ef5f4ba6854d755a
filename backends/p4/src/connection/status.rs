//! The status of each update of a write (P4Runtime section 12.3).

use p4runtime::{rpc, v1};
use prost::Message;
use tonic::{Code, Status};

use crate::entry::Refusal;

/// The meaning of a failed write.
#[derive(Debug)]
pub(super) enum Failure {
    /// About each update.
    Updates(Vec<Result<(), Refusal>>),
    /// Another controller has the mastership.
    NotPrimary,
    /// The switch did not answer.
    Lost(Status),
}

/// Reads the status of a write of so many updates.
pub(super) fn failure(status: Status, updates: usize) -> Failure {
    match status.code() {
        Code::PermissionDenied => return Failure::NotPrimary,
        Code::Unavailable | Code::DeadlineExceeded | Code::Cancelled | Code::Aborted => return Failure::Lost(status),
        _ => {}
    }
    let details = rpc::Status::decode(status.details()).map(|status| status.details);
    let errors: Vec<v1::Error> = details
        .unwrap_or_default()
        .iter()
        .filter_map(|any| v1::Error::decode(&any.value[..]).ok())
        .collect();
    if errors.len() == updates {
        return Failure::Updates(errors.iter().map(outcome).collect());
    }
    // Without a status for each, it is known of none that it was done.
    let refusal = match status.code() {
        Code::Unknown => Refusal::Other,
        code => refusal(code as i32),
    };
    Failure::Updates(vec![Err(refusal); updates])
}

fn outcome(error: &v1::Error) -> Result<(), Refusal> {
    match error.canonical_code {
        0 => Ok(()),
        code => Err(refusal(code)),
    }
}

/// The meaning of a code.
pub(crate) fn refusal(code: i32) -> Refusal {
    match Code::from(code) {
        Code::ResourceExhausted => Refusal::Full,
        Code::AlreadyExists => Refusal::Exists,
        Code::NotFound => Refusal::Absent,
        // BMv2 has understood the entry and cannot add it, which is for want of room.
        Code::Unknown => Refusal::Full,
        _ => Refusal::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(code: Code, errors: &[(i32, &str)]) -> Status {
        let details = errors.iter().map(|(code, message)| {
            let error = v1::Error {
                canonical_code: *code,
                message: (*message).to_owned(),
                ..Default::default()
            };
            any("type.googleapis.com/p4.v1.Error", error.encode_to_vec())
        });
        let whole = rpc::Status {
            code: code as i32,
            message: String::new(),
            details: details.collect(),
        };
        Status::with_details(code, "", whole.encode_to_vec().into())
    }

    fn any(url: &str, value: Vec<u8>) -> prost_types::Any {
        prost_types::Any {
            type_url: url.to_owned(),
            value,
        }
    }

    #[test]
    fn each_update_has_its_status() {
        let errors = [(0, ""), (8, ""), (6, ""), (5, ""), (3, ""), (2, "")];
        let Failure::Updates(outcomes) = failure(status(Code::Unknown, &errors), 6) else {
            panic!()
        };
        let expected = [
            Ok(()),
            Err(Refusal::Full),
            Err(Refusal::Exists),
            Err(Refusal::Absent),
            Err(Refusal::Other),
            Err(Refusal::Full),
        ];
        assert_eq!(outcomes, expected);
    }

    #[test]
    fn a_status_without_details_is_of_all_updates() {
        for status in [
            Status::new(Code::InvalidArgument, "no"),
            Status::with_details(Code::Unknown, "", vec![0xff; 9].into()),
            status(Code::Unknown, &[(0, "")]),
        ] {
            let Failure::Updates(outcomes) = failure(status, 3) else {
                panic!()
            };
            assert_eq!(outcomes, [Err(Refusal::Other); 3]);
        }
    }

    #[test]
    fn another_controller_and_no_answer_are_told_apart() {
        assert!(matches!(failure(Status::permission_denied(""), 1), Failure::NotPrimary));
        assert!(matches!(failure(Status::unavailable(""), 1), Failure::Lost(_)));
    }
}
