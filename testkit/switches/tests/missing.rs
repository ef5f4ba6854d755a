//! BMv2 that is on the path and does not start, or is not there in `make p4-check`: tests fail.

use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Output};
use std::{env, fs};

use skip::skipped;
use switches::bmv2;
use veth::Namespace;

/// The test of this file that runs in a process of its own.
const INNER: &str = "bmv2_is_asked_for";

#[test]
fn bmv2_is_asked_for() {
    drop(bmv2(&[1]));
}

/// The same test with another path before ours.
fn with_path(first: &str, is_check: bool) -> Output {
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["--exact", INNER, "--nocapture"]);
    let path = format!("{first}:{}", env::var("PATH").unwrap());
    command.env("PATH", path).env_remove("P4_CHECK");
    if is_check {
        command.env("P4_CHECK", "1");
    }
    command.output().unwrap()
}

#[test]
fn bmv2_that_does_not_start_fails_the_test() {
    if let Err(reason) = Namespace::new() {
        return skipped("nothing was tested", reason);
    }
    let folder = env::temp_dir().join(format!("weir-no-bmv2-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let program = folder.join("simple_switch_grpc");
    // As one that was built without nanomsg.
    fs::write(&program, "#!/bin/sh\necho unrecognised option >&2\nexit 1\n").unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let output = with_path(folder.to_str().unwrap(), false);
    fs::remove_dir_all(&folder).unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success(), "{said}");
    assert!(
        said.contains("does not start") && said.contains("unrecognised option"),
        "{said}"
    );
}

#[test]
fn bmv2_that_is_missing_fails_the_test_in_p4_check_alone() {
    if env::split_paths(&env::var_os("PATH").unwrap()).any(|it| it.join("simple_switch_grpc").is_file()) {
        return skipped("nothing was tested", "BMv2 is not missing");
    }
    assert!(with_path("/nowhere", false).status.success());
    assert!(!with_path("/nowhere", true).status.success());
}
