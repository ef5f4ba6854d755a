//! The controller that serves a room, for requests that may reach any controller.
//!
//! A [`Locator`] asks whoever knows the cluster. On one machine nobody is asked: each room is here.

use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

/// Questions that wait for their answer. At the limit a client is told to come back.
const QUESTIONS_MAX: usize = 1024;

/// How long an answer may take: it may need the store.
const ANSWER_MAX: Duration = Duration::from_secs(3);

/// The answer for a client while the cluster does not say where a room is.
const NO_ANSWER: &str = "the cluster does not say which controller serves the room";

/// The controller that serves a room.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Location {
    /// This controller.
    Here,
    /// Another controller.
    Elsewhere {
        /// `HOST:PORT` of its listener for other controllers.
        address: String,
    },
    /// None: the room does not exist, and the question was not to claim it.
    Nowhere,
    /// Nobody can say, or nobody may serve it now.
    Unavailable(String),
}

/// A question about a room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RoomQuery<'a> {
    /// The name of the room.
    pub room: &'a str,
    /// Whether this controller shall claim the room if there is none.
    pub is_new_allowed: bool,
    /// The controller that has just said that it does not serve the room, so an older answer that
    /// names it is wrong.
    pub denied_by: Option<&'a str>,
}

/// A question for whoever knows the cluster. Each `answer` takes one value; without one, the asker
/// is told that nobody knows.
#[derive(Debug)]
pub(crate) enum Question {
    /// The location of a room. The fields are those of [`RoomQuery`].
    Locate {
        room: String,
        is_new_allowed: bool,
        denied_by: Option<String>,
        answer: oneshot::Sender<Location>,
    },
    /// The addresses of the other controllers that run, each `HOST:PORT`.
    Controllers { answer: oneshot::Sender<Vec<String>> },
    /// The controller at this address did not take a connection, or did not answer.
    Suspect { address: String },
}

/// Finds the controllers of rooms. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub(crate) struct Locator {
    questions: Option<mpsc::Sender<Question>>,
}

impl Locator {
    /// For one machine: each room is here, and there is no other controller.
    pub(crate) fn local() -> Self {
        Self { questions: None }
    }

    /// Asks through a queue. Its other end answers without waiting for what it answers.
    pub(crate) fn of_cluster() -> (Self, mpsc::Receiver<Question>) {
        let (questions, asked) = mpsc::channel(QUESTIONS_MAX);
        let questions = Some(questions);
        (Self { questions }, asked)
    }

    /// The controller that serves a room.
    pub(crate) async fn locate(&self, query: RoomQuery<'_>) -> Location {
        let Some(questions) = &self.questions else {
            return Location::Here;
        };
        let (answer, answered) = oneshot::channel();
        let question = Question::Locate {
            room: query.room.to_owned(),
            is_new_allowed: query.is_new_allowed,
            denied_by: query.denied_by.map(str::to_owned),
            answer,
        };
        let location = ask(questions, question, answered).await;
        location.unwrap_or_else(|| Location::Unavailable(NO_ANSWER.to_owned()))
    }

    /// The addresses of the other controllers that run; `None` if the cluster does not say.
    pub(crate) async fn controllers(&self) -> Option<Vec<String>> {
        let Some(questions) = &self.questions else {
            return Some(Vec::new());
        };
        let (answer, answered) = oneshot::channel();
        ask(questions, Question::Controllers { answer }, answered).await
    }

    /// Reports a controller that did not take a connection, or did not answer. A report is lost
    /// while too many questions wait: the next request makes another one.
    pub(crate) fn suspect(&self, address: &str) {
        if let Some(questions) = &self.questions {
            let address = address.to_owned();
            let _ = questions.try_send(Question::Suspect { address });
        }
    }
}

async fn ask<T>(questions: &mpsc::Sender<Question>, question: Question, answered: oneshot::Receiver<T>) -> Option<T> {
    questions.try_send(question).ok()?;
    timeout(ANSWER_MAX, answered).await.ok()?.ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn query(room: &str) -> RoomQuery<'_> {
        RoomQuery {
            room,
            is_new_allowed: true,
            denied_by: None,
        }
    }

    #[tokio::test]
    async fn on_one_machine_each_room_is_here() {
        let locator = Locator::local();
        assert_eq!(locator.locate(query("lobby")).await, Location::Here);
        assert_eq!(locator.controllers().await, Some(Vec::new()));
        locator.suspect("192.0.2.1:7891");
    }

    #[tokio::test]
    async fn the_other_end_of_the_queue_answers() {
        let (locator, mut asked) = Locator::of_cluster();
        let address = "192.0.2.1:7891".to_owned();
        let elsewhere = Location::Elsewhere { address };
        let found = elsewhere.clone();
        let answering = async {
            let Some(Question::Locate { room, answer, .. }) = asked.recv().await else {
                panic!("another question");
            };
            assert_eq!(room, "lobby");
            answer.send(found).unwrap();
        };
        let (located, ()) = tokio::join!(locator.locate(query("lobby")), answering);
        assert_eq!(located, elsewhere);
    }

    #[tokio::test(start_paused = true)]
    async fn a_question_without_an_answer_makes_the_room_unavailable() {
        let (locator, asked) = Locator::of_cluster();
        let unavailable = Location::Unavailable(NO_ANSWER.to_owned());
        assert_eq!(locator.locate(query("lobby")).await, unavailable);
        for _ in 0..2 * QUESTIONS_MAX {
            locator.suspect("192.0.2.1:7891");
        }
        assert_eq!(asked.len(), QUESTIONS_MAX);
        drop(asked);
        assert_eq!(locator.locate(query("lobby")).await, unavailable);
        assert_eq!(locator.controllers().await, None);
    }
}
