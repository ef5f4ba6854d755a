//! Packages: the units, and the Debian package of this build of the program.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use skip::skipped;

const PROGRAM: &str = env!("CARGO_BIN_EXE_weir");

/// The folder of what makes packages.
fn packaging() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../packaging")
}

/// Whether a tool is there. A test that needs it is skipped otherwise.
fn has(tool: &str) -> bool {
    let has = Command::new(tool).arg("--version").output().is_ok();
    if !has {
        skipped("the package", format_args!("there is no {tool} here"));
    }
    has
}

/// A folder that goes with the test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("weir-package-{}-{name}", std::process::id()));
        fs::create_dir_all(&path).expect("a folder");
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The output of a command, which succeeds.
fn printed(command: &mut Command) -> String {
    let output = command.output().expect("it starts");
    assert!(output.status.success(), "{command:?}: {output:?}");
    String::from_utf8(output.stdout).expect("text") + &String::from_utf8_lossy(&output.stderr)
}

/// The units, each with the command that it runs.
const UNITS: [(&str, &str); 3] = [
    ("weir", "serve"),
    ("weir-media", "media"),
    ("weir-controller", "controller"),
];

fn unit_text(name: &str) -> String {
    fs::read_to_string(packaging().join(format!("systemd/{name}.service"))).expect("it is there")
}

#[test]
fn systemd_has_nothing_to_say_about_the_units() {
    if !has("systemd-analyze") {
        return;
    }
    let folder = Folder::new("unit");
    for (name, command) in UNITS {
        let text = unit_text(name);
        assert!(text.contains(&format!("ExecStart=/usr/bin/weir {command} ")), "{name}");
        let path = folder.0.join(format!("{name}.service"));
        fs::write(&path, text.replace("/usr/bin/weir", PROGRAM)).expect("a file");
        is_verified(&folder, name);
    }
}

/// A unit with this build of the program, by itself and with each example of privileges.
fn is_verified(folder: &Folder, name: &str) {
    let unit = folder.0.join(format!("{name}.service"));
    let verify = || {
        let said = printed(Command::new("systemd-analyze").arg("verify").arg(&unit));
        // It also reads the units that this one depends on.
        let about_us: Vec<&str> = said.lines().filter(|line| line.contains(name)).collect();
        assert!(about_us.is_empty(), "{said}");
    };
    verify();
    for example in fs::read_dir(packaging().join("systemd/examples")).expect("a folder") {
        let example = example.expect("a file").path();
        let drop_ins = folder.0.join(format!("{name}.service.d"));
        fs::create_dir_all(&drop_ins).expect("a folder");
        fs::copy(&example, drop_ins.join("example.conf")).expect("a file");
        verify();
    }
}

/// The lines of a unit that take rights away.
fn hardening(name: &str) -> Vec<String> {
    let words = [
        "Ambient",
        "Capability",
        "Lock",
        "Memory",
        "No",
        "Private",
        "Protect",
        "Remove",
        "Restrict",
        "System",
        "UMask",
    ];
    let text = unit_text(name);
    let lines = text
        .lines()
        .filter(|line| words.iter().any(|word| line.starts_with(word)));
    lines.map(str::to_owned).collect()
}

#[test]
fn every_unit_has_as_few_rights_as_the_others() {
    let of_server = hardening("weir");
    assert!(of_server.len() > 20, "{of_server:?}");
    for (name, _) in UNITS {
        assert_eq!(hardening(name), of_server, "{name}");
    }
}

#[test]
fn the_examples_of_a_cluster_are_good() {
    let folder = Folder::new("cluster");
    let certificates = folder.0.join("cluster");
    let names = ["--name", "media-1", "--name", "controller-1"];
    printed(Command::new(PROGRAM).arg("cluster-cert").arg(&certificates).args(names));
    let keys = folder.0.join("keys");
    fs::write(&keys, "main: 0123456789abcdef0123456789abcdef0123456789abcdef\n").expect("a file");
    let folder = folder.0.to_str().expect("text");
    for role in ["media", "controller"] {
        let example = packaging().join(format!("cluster/{role}.yaml"));
        let text = fs::read_to_string(example).expect("it is there");
        let path = format!("{folder}/{role}.yaml");
        fs::write(&path, text.replace("/etc/weir", folder)).expect("a file");
        let mut check = Command::new(PROGRAM);
        check.args(["check-config", "--role", role, "--bind", "127.0.0.1", "--config", &path]);
        let report = printed(&mut check);
        assert!(report.ends_with("the configuration is good\n"), "{report}");
    }
}

#[test]
fn the_debian_package_installs_a_program_that_reads_its_configuration() {
    if !has("dpkg-deb") || !has("objcopy") {
        return;
    }
    let folder = Folder::new("deb");
    let build = packaging().join("deb/build");
    let built = printed(
        Command::new(build)
            .args([Path::new(PROGRAM), &folder.0])
            .env("COMPRESSION", "none"),
    );
    let package = built.lines().next().expect("its name");
    assert!(
        package.contains(concat!("weir_", env!("CARGO_PKG_VERSION"), "_")),
        "{package}"
    );

    let control = printed(Command::new("dpkg-deb").args(["--info", package]));
    for line in ["Package: weir\n", "libc6 (>= 2."] {
        assert!(control.contains(line), "{line} in {control}");
    }
    let conffiles = printed(Command::new("dpkg-deb").args(["--info", package, "conffiles"]));
    assert_eq!(conffiles, "/etc/weir/weir.yaml\n", "an upgrade keeps it");
    for script in ["postinst", "prerm", "postrm"] {
        printed(Command::new("sh").arg("-n").arg(packaging().join("deb").join(script)));
        let packed = printed(Command::new("dpkg-deb").args(["--info", package, script]));
        assert!(packed.starts_with("#!/bin/sh\n"), "{script}");
    }

    let tree = folder.0.join("tree");
    printed(Command::new("dpkg-deb").arg("--extract").arg(package).arg(&tree));
    for path in [
        "usr/lib/systemd/system/weir.service",
        "usr/lib/systemd/system/weir-media.service",
        "usr/lib/systemd/system/weir-controller.service",
        "usr/share/doc/weir/examples/media.yaml",
        "usr/lib/sysctl.d/10-weir.conf",
        "usr/lib/sysusers.d/weir.conf",
        "usr/share/doc/weir/operate/operations.md",
        "usr/share/doc/weir/copyright",
    ] {
        assert!(tree.join(path).is_file(), "{path}");
    }
    // The package makes such a file when it is installed.
    let keys = folder.0.join("keys");
    fs::write(&keys, "main: 0123456789abcdef0123456789abcdef0123456789abcdef\n").expect("a file");
    let report = printed(
        Command::new(tree.join("usr/bin/weir"))
            .args(["check-config", "--bind", "127.0.0.1", "--config"])
            .arg(tree.join("etc/weir/weir.yaml"))
            .arg("--key-file")
            .arg(&keys),
    );
    assert!(report.ends_with("the configuration is good\n"), "{report}");
    runs_where_it_is_installed(package);
}

/// Installs the package in a copy of this system, for which it takes root.
fn runs_where_it_is_installed(package: &str) {
    const SKIPPED: i32 = 77;
    if !rustix::process::geteuid().is_root() {
        return skipped("the package is not installed", "it takes root");
    }
    let mut check = Command::new(packaging().join("deb/check"));
    let output = check.arg(package).stdin(Stdio::null()).output().expect("it starts");
    match output.status.code() {
        Some(SKIPPED) => skipped("the package is not installed", "there can be no copy of this system"),
        status => assert_eq!(status, Some(0), "{output:?}"),
    }
}
