//! The log: lines to standard error that no thread waits for.
//!
//! Lines go through a bounded queue to a thread of their own. If standard error is a full disk or a
//! pipe without a reader, lines are lost and counted, and everything else continues.

mod limit;

use std::backtrace::Backtrace;
use std::io::{self, IsTerminal, Write};
use std::panic::{self, PanicHookInfo};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use tracing::{Subscriber, error};
use tracing_appender::non_blocking::{ErrorCounter, NonBlockingBuilder, WorkerGuard};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::reload;
use tracing_subscriber::{EnvFilter, Layer, Registry, fmt};

use self::limit::Limit;
use crate::config;

/// How many lines may wait to be written. Further ones are lost, and counted.
const LINES_MAX: usize = 8_192;

/// How long the last lines may take to be written when the process ends.
const END_MAX: Duration = Duration::from_millis(500);

/// How long a panic waits for its line to be written, because it may be about to end the process.
const PANIC_PAUSE: Duration = Duration::from_millis(50);

/// Added to every level. The STUN parser warns of attributes of messages that nobody has
/// authenticated, with up to 500 lines a message.
const STUN_PARSER: &str = "is::stun=error";

/// The running log.
pub(crate) struct Log {
    filter: reload::Handle<EnvFilter, Registry>,
    lost: Lost,
    limit: Limit,
    guard: Option<WorkerGuard>,
}

/// Counts lines that were lost.
#[derive(Clone)]
pub(crate) struct Lost {
    /// Those that found the queue full.
    queue: ErrorCounter,
    /// Those that could not be written.
    unwritten: Arc<AtomicU64>,
}

impl Lost {
    /// How many so far.
    pub(crate) fn lines(&self) -> u64 {
        self.queue.dropped_lines() as u64 + self.unwritten.load(Ordering::Relaxed)
    }
}

impl Log {
    /// Starts the log of this process. Panics are logged, too.
    ///
    /// Errors: the level or the filters cannot be understood, or there is a log already.
    pub(crate) fn start(config: &config::Log) -> Result<Self, String> {
        let ansi = io::stderr().is_terminal();
        let (log, subscriber) = Self::to(config, io::stderr(), ansi)?;
        tracing::subscriber::set_global_default(subscriber).map_err(|error| error.to_string())?;
        panic::set_hook(Box::new(log_panic));
        Ok(log)
    }

    /// A log to `output`, and what has to be told the events.
    fn to(
        config: &config::Log,
        output: impl Write + Send + 'static,
        ansi: bool,
    ) -> Result<(Self, Box<dyn Subscriber + Send + Sync>), String> {
        let unwritten = Arc::new(AtomicU64::new(0));
        let output = Output {
            output,
            unwritten: unwritten.clone(),
        };
        let (writer, guard) = NonBlockingBuilder::default()
            .buffered_lines_limit(LINES_MAX)
            .thread_name("log")
            .finish(output);
        let queue = writer.error_counter();
        let (filter, handle) = reload::Layer::new(parse(&config.level)?);
        let lines = fmt::layer()
            .with_ansi(ansi)
            .with_writer(writer)
            // Complaints about the log would go to standard error, and a print that fails panics.
            .log_internal_errors(false);
        let subscriber = Registry::default().with(filter).with(form(lines, config.json));
        let limit = Limit::default();
        let subscriber = subscriber.with(limit.clone());
        let log = Log {
            filter: handle,
            lost: Lost { queue, unwritten },
            limit,
            guard: Some(guard),
        };
        Ok((log, Box::new(subscriber)))
    }

    /// The count of lost lines.
    pub(crate) fn lost(&self) -> Lost {
        self.lost.clone()
    }

    /// The limit on the lines of each place.
    pub(crate) fn limit(&self) -> Limit {
        self.limit.clone()
    }

    /// Logs from now on what this level or these filters let pass.
    ///
    /// Errors: they cannot be understood.
    pub(crate) fn set_level(&self, level: &str) -> Result<(), String> {
        self.filter.reload(parse(level)?).map_err(|error| error.to_string())
    }
}

impl Drop for Log {
    /// Gives the last lines a little time to be written.
    fn drop(&mut self) {
        let (done, ended) = mpsc::channel::<()>();
        let guard = self.guard.take();
        // On a thread of its own: where the output is stuck, so may be whoever waits for it.
        let waiting = thread::Builder::new().name("log-end".to_owned()).spawn(move || {
            drop(guard);
            drop(done);
        });
        if waiting.is_ok() {
            let _ = ended.recv_timeout(END_MAX);
        }
    }
}

type Lines<S, W> = fmt::Layer<S, fmt::format::DefaultFields, fmt::format::Format, W>;

fn form<S, W>(lines: Lines<S, W>, json: bool) -> Box<dyn Layer<S> + Send + Sync>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    W: for<'a> fmt::MakeWriter<'a> + Send + Sync + 'static,
{
    match json {
        true => lines.json().boxed(),
        false => lines.boxed(),
    }
}

/// Whether a level or filters can be understood.
///
/// Errors: they cannot.
pub(crate) fn check(level: &str) -> Result<(), String> {
    parse(level).map(drop)
}

fn parse(level: &str) -> Result<EnvFilter, String> {
    level
        .split(',')
        .try_for_each(|directive| check_directive(directive.trim()))?;
    let filter = EnvFilter::try_new(level).map_err(|error| format!("log level {level:?}: {error}"))?;
    Ok(filter.add_directive(STUN_PARSER.parse().expect("it is a directive")))
}

/// The levels, and `off`.
const LEVELS: [&str; 6] = ["off", "error", "warn", "info", "debug", "trace"];

/// Checks a directive as far as the library does not: it takes an unknown level for the name of a
/// target, and then logs nothing else.
fn check_directive(directive: &str) -> Result<(), String> {
    let is_level = |text: &str| {
        LEVELS.iter().any(|level| level.eq_ignore_ascii_case(text))
            || text.parse::<u8>().is_ok_and(|number| number <= 5)
    };
    let said = format!("log level {directive:?}");
    let (target, level) = match directive.split_once('=') {
        Some((target, level)) => (Some(target.trim()), level.trim()),
        None => (None, directive),
    };
    if !is_level(level) {
        let near = match level.to_ascii_lowercase().as_str() {
            "warning" => "; it is called warn",
            "err" | "fatal" | "critical" | "panic" => "; the highest is error",
            "verbose" | "fine" => "; the lowest are debug and trace",
            "none" | "silent" | "quiet" => "; it is called off",
            _ => "",
        };
        return Err(format!(
            "{said}: a level is one of {}{near}, and a filter is TARGET=LEVEL",
            LEVELS.join(", ")
        ));
    }
    // Spans and fields may stand in brackets.
    let name = target.map(|target| target.split('[').next().unwrap_or_default());
    match name.filter(|name| !name.is_empty()) {
        Some(name)
            if name
                .split("::")
                .any(|part| part.is_empty() || !part.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')) =>
        {
            Err(format!(
                "{said}: {name:?} is no target; one is named as weir or weir::http"
            ))
        }
        _ => Ok(()),
    }
}

/// The destination of lines; one that cannot be written is counted.
struct Output<W> {
    output: W,
    unwritten: Arc<AtomicU64>,
}

impl<W: Write> Write for Output<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.output.write(bytes)
    }

    fn write_all(&mut self, line: &[u8]) -> io::Result<()> {
        if self.output.write_all(line).is_err() {
            self.unwritten.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.output.flush()
    }
}

/// Logs a panic. The owner of the thread or the task decides what ends with it.
fn log_panic(info: &PanicHookInfo<'_>) {
    let thread = thread::current();
    let message = info.payload_as_str().unwrap_or("no message");
    let location = info.location().map(ToString::to_string).unwrap_or_default();
    let backtrace = Backtrace::capture();
    error!(thread = thread.name().unwrap_or("?"), location, %backtrace, "panic: {message}");
    thread::sleep(PANIC_PAUSE);
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use tracing::{debug, info};

    use super::*;

    /// An output that fails, or that blocks until it is let go.
    struct Broken(Option<Arc<Mutex<()>>>);

    impl Write for Broken {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            if let Some(blocked) = &self.0 {
                drop(blocked.lock());
            }
            Err(io::ErrorKind::StorageFull.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Err(io::ErrorKind::StorageFull.into())
        }
    }

    #[derive(Clone, Default)]
    struct Memory(Arc<Mutex<Vec<u8>>>);

    impl Write for Memory {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn lines_that_cannot_be_written_are_counted() {
        let (mut log, subscriber) = Log::to(&config::Log::default(), Broken(None), false).unwrap();
        tracing::subscriber::with_default(subscriber, || (0..10).for_each(|_| info!("a line")));
        log.guard = None;
        assert_eq!(log.lost().lines(), 10);
    }

    #[test]
    fn a_blocked_output_blocks_no_thread() {
        let blocked = Arc::new(Mutex::new(()));
        let held = blocked.lock().unwrap();
        let output = Broken(Some(blocked.clone()));
        let config = config::Log {
            level: "debug".to_owned(),
            ..config::Log::default()
        };
        let (log, subscriber) = Log::to(&config, output, false).unwrap();
        let lines = LINES_MAX + 100;
        tracing::subscriber::with_default(subscriber, || (0..lines).for_each(|_| debug!("a line")));
        assert!(log.lost().lines() >= 99, "{}", log.lost().lines());
        drop(log);
        drop(held);
    }

    #[test]
    fn the_stun_parser_warns_at_no_level() {
        let memory = Memory::default();
        for level in ["info", "trace", "is=debug"] {
            let config = config::Log {
                level: level.to_owned(),
                ..config::Log::default()
            };
            let (log, subscriber) = Log::to(&config, memory.clone(), false).unwrap();
            tracing::subscriber::with_default(subscriber, || {
                tracing::warn!(target: "is::stun", "STUN got MappedAddress");
                tracing::error!(target: "is::stun", "a fault");
            });
            drop(log);
        }
        let text = String::from_utf8(memory.0.lock().unwrap().clone()).unwrap();
        assert!(!text.contains("MappedAddress"), "{text}");
        assert_eq!(text.matches("a fault").count(), 3, "{text}");
    }

    #[test]
    fn a_level_that_does_not_exist_is_refused() {
        for good in [
            "info",
            "WARN",
            "off",
            "info,weir::http=debug",
            "weir=trace,h2=off",
            "error,weir=3",
        ] {
            assert_eq!(check(good), Ok(()), "{good}");
        }
        for (bad, said) in [
            ("warning", "it is called warn"),
            ("info,weir=warning", "it is called warn"),
            ("fatal", "the highest is error"),
            ("none", "it is called off"),
            ("", "a level is one of"),
            ("infoo", "a level is one of"),
            ("debug info", "a level is one of"),
            ("weir", "a level is one of"),
            ("weir:http=debug", "is no target"),
            ("info,", "a level is one of"),
            ("9", "a level is one of"),
        ] {
            let error = check(bad).expect_err(bad);
            assert!(error.contains(said), "{bad}: {error}");
        }
    }

    #[test]
    fn the_level_changes_while_it_runs() {
        let memory = Memory::default();
        let (log, subscriber) = Log::to(&config::Log::default(), memory.clone(), false).unwrap();
        let subscriber = tracing::Dispatch::new(subscriber);
        tracing::dispatcher::with_default(&subscriber, || {
            debug!("before");
            log.set_level("debug").unwrap();
            debug!("after");
            assert!(log.set_level("weir=loud").is_err());
        });
        drop(log);
        let text = String::from_utf8(memory.0.lock().unwrap().clone()).unwrap();
        assert!(!text.contains("before") && text.contains("after"), "{text}");
    }
}
