"""Suites of tests: each is built once for a change, and its programs are run without cargo."""

import json
import os
import re
import resource
import shlex
import signal
import subprocess
import time
from pathlib import Path

from places import ROOT

# Longer than any build or test takes. A mutant may wait forever.
BUILD_MAX_S = 1_800
TEST_MAX_S = 1_800
# A mutant may loop forever: the processor time of a process, as a multiple of what the tree as it
# is takes, and at least this. A busy machine does not change it much.
PROCESSOR_RATIO_MAX = 5
PROCESSOR_MIN_S = 60
# The same where that time is not known.
PROCESSOR_TRUSTED_S = 600

SURVIVED, NOTICED, BROKEN, SKIPPED = "survived", "noticed", "does not build", "not judged"

# A failure is wanted here, and is no case to be kept. With incremental builds a change of one line
# is built in seconds.
ENVIRONMENT = os.environ | {"PROPTEST_DISABLE_FAILURE_PERSISTENCE": "1", "CARGO_INCREMENTAL": "1"}


def start(command, folder=ROOT, environment=None, limit=None):
    """A process with a group of its own, whose output is one text."""
    set_limit = limit and (lambda: resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 5)))
    return subprocess.Popen(
        command,
        cwd=folder,
        env=environment or ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
        preexec_fn=set_limit,
    )


def end(process):
    """Ends a process with its children, if it runs."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def run(command, limit):
    """Whether a command succeeds in time, and what it writes. Its children end with it."""
    with start(command) as process:
        try:
            output, _ = process.communicate(timeout=limit)
            return process.returncode == 0, output
        except subprocess.TimeoutExpired:
            return False, "not in time\n"
        finally:
            end(process)


class Program:
    """A built program of tests, as cargo describes it."""

    def __init__(self, artifact):
        self.path = artifact["executable"]
        self.folder = Path(artifact["manifest_path"]).parent

    def run(self, arguments, limit):
        """Runs tests until one fails. The name of that one or None, what they write, and the processor time."""
        environment = ENVIRONMENT | {"CARGO_MANIFEST_DIR": str(self.folder)}
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        lines, failed, until = [], None, time.monotonic() + TEST_MAX_S
        with start([self.path, *arguments], self.folder, environment, limit) as process:
            previous = signal.signal(signal.SIGALRM, lambda *_: os.killpg(process.pid, signal.SIGKILL))
            signal.alarm(TEST_MAX_S)
            try:
                for line in process.stdout:
                    lines.append(line)
                    found = re.match(r"test (\S+)(?: - should panic)? \.\.\. FAILED", line)
                    if found:
                        failed = found.group(1)
                        break
                else:
                    process.wait()
            finally:
                end(process)
                signal.alarm(0)
                signal.signal(signal.SIGALRM, previous)
        is_late, code = time.monotonic() >= until, process.returncode
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        took = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        output = "".join(lines)
        if not failed and code != 0:
            # Killed by a limit or by its own fault: the test that was running is not known.
            failed = "not in time" if is_late or -code in (signal.SIGXCPU, signal.SIGKILL) else "the program ended"
        return failed, output, took


class Suite:
    """Some tests of one package: `cargo test -p PACKAGE --test TARGET [NAME] [-- ARGUMENTS]`."""

    def __init__(self, name, command):
        self.name = name
        words = shlex.split(command)
        given, arguments = (words[: words.index("--")], words[words.index("--") + 1 :]) if "--" in words else (words, [])
        # The word after an option is its value, and another one is the name of tests.
        is_value = [before in ("-p", "--test") for before in [""] + given[:-1]]
        names = [word for word, value in zip(given[2:], is_value[2:]) if not value and not word.startswith("-")]
        self.build = [*cargo(), *(word for word in given[1:] if word not in names), "--no-run", "--message-format=json"]
        self.arguments = names + arguments
        self.limit = PROCESSOR_TRUSTED_S

    def programs(self):
        """Builds its programs. None if they do not build, and what cargo writes."""
        with start(self.build) as process:
            try:
                output, _ = process.communicate(timeout=BUILD_MAX_S)
            except subprocess.TimeoutExpired:
                return None, "not built in time\n"
            finally:
                end(process)
        messages = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
        if process.returncode != 0:
            errors = [it["message"]["message"] for it in messages if it.get("message", {}).get("level") == "error"]
            return None, "\n".join(errors[:1]) or output[-2_000:]
        is_test = lambda it: it.get("reason") == "compiler-artifact" and it["profile"]["test"] and it["executable"]
        return [Program(it) for it in messages if is_test(it)], output

    def passes_on_the_tree(self):
        """The result on the tree as it is, by which the processor time of a change is limited."""
        result, by, took = self.judge()
        self.limit = int(max(PROCESSOR_MIN_S, PROCESSOR_RATIO_MAX * took))
        return result, by

    def judge(self, first=None):
        """Builds it and runs its tests until one fails, one of them first if it is named.

        The result, by which test, and the processor time.
        """
        programs, output = self.programs()
        if programs is None:
            return BROKEN, output, 0
        if first and any(program.run(["--exact", first], self.limit)[0] for program in programs):
            return NOTICED, first, 0
        ran, total = 0, 0
        for program in programs:
            failed, output, took = program.run(self.arguments, self.limit)
            total += took
            # A busy machine fails a test once.
            if failed and (self.is_alone(failed) or program.run(["--exact", failed], self.limit)[0]):
                return NOTICED, failed, total
            if failed:
                failed, output, took = program.run([*self.arguments, "--skip", failed], self.limit)
                if failed:
                    return NOTICED, failed, total
            # BMv2 is beside the interpreter, which is always there.
            if re.search(r"^SKIPPED(?!.*BMv2)", output, re.MULTILINE):
                return SKIPPED, "its tests skip", total
            # A filter that matches no test passes.
            ran += sum(int(count) for count in re.findall(r"^test result: ok\. (\d+) passed", output, re.MULTILINE))
        return (SURVIVED if ran else SKIPPED), self.name, total

    @staticmethod
    def is_alone(failed):
        """Whether a failure has no test's name."""
        return " " in failed


def cargo():
    """The program that stands for cargo."""
    return shlex.split(os.environ.get("CARGO", "cargo"))
