//! Files, flags and keys of the configuration.

use super::media::Rewriter;
use super::*;
use crate::dataplane::{Base, Offload};

fn error(text: &str) -> String {
    File::parse(text)
        .whole("weir.yaml")
        .map(|_| ())
        .unwrap_err()
        .to_string()
}

#[test]
fn an_unknown_key_is_an_error_with_its_line() {
    let message = error("port: 7880\nrtc:\n  porrt: 7882\n");
    assert!(message.contains("porrt") && message.contains('3'), "{message}");
    let message = error("port: 7880\nlimitz: {}\n");
    assert!(message.contains("limitz") && message.contains('2'), "{message}");
}

#[test]
fn a_rewriter_has_a_name() {
    let rewriter = |text: &str| File::parse(text).whole("weir.yaml").unwrap().rtc.rewriter;
    let texts = ["rtc: {}\n", "rtc: {rewriter: s-lm}\n", "rtc: {rewriter: s-lr}\n"];
    assert_eq!(texts.map(rewriter), [Rewriter::Exact, Rewriter::SLm, Rewriter::SLr]);
    assert!(error("rtc: {rewriter: guess}\n").contains("guess"));
}

#[test]
fn packets_go_through_sockets_by_default() {
    let rtc = |text: &str| File::parse(text).whole("weir.yaml").unwrap().rtc;
    assert_eq!(rtc("rtc: {}\n").dataplane, Base::Udp);
    let afxdp = rtc("rtc: {dataplane: afxdp, afxdp: {interfaces: [eth0, eth1]}}\n");
    assert_eq!(afxdp.dataplane, Base::Afxdp);
    assert_eq!(afxdp.afxdp.interfaces, ["eth0", "eth1"]);
    assert!(error("rtc: {dataplane: magic}\n").contains("magic"));
    assert!(error("rtc: {afxdp: {interface: eth0}}\n").contains("interface"));
    assert_eq!(rtc("rtc: {}\n").offload, Offload::Auto);
    let ebpf = rtc("rtc: {offload: ebpf, ebpf: {interfaces: [eth0], keep: 5}}\n");
    assert_eq!((ebpf.offload, ebpf.ebpf.keep), (Offload::Ebpf, 5));
    assert_eq!(ebpf.ebpf.pins, std::path::Path::new("/sys/fs/bpf/weir"));
    assert!(error("rtc: {offload: magic}\n").contains("magic"));
}

#[test]
fn flags_override_the_file() {
    let folder = Folder::new("flags");
    let secret = "0123456789abcdef0123456789abcdef";
    let text = format!("port: 1\nrtc: {{port: 2, workers: 3}}\nkeys: {{a: {secret}}}\n");
    let path = folder.file("weir.yaml", &text, 0o600);
    let arguments = cli::Serve {
        config: Some(path),
        port: Some(9),
        ..Default::default()
    };
    let config = Config::load(&arguments).unwrap();
    let dataplane = &config.rtc.dataplane;
    assert_eq!((config.port, dataplane.ports.first(), dataplane.workers), (9, 2, 3));
    assert_eq!(&*config.keys["a"], secret);
}

#[test]
fn without_keys_there_is_no_server_except_in_development() {
    assert!(matches!(Config::load(&cli::Serve::default()), Err(ConfigError::NoKeys)));
    let short = cli::Serve {
        keys: vec!["a:b".to_owned()],
        ..Default::default()
    };
    assert!(matches!(Config::load(&short), Err(ConfigError::ShortSecrets(_))));
    let dev = cli::Serve {
        dev: true,
        ..Default::default()
    };
    let dev = Config::load(&dev).unwrap();
    assert_eq!(&*dev.keys["devkey"], "secret");
    assert_eq!(dev.dev_key.as_deref(), Some("devkey"));
    assert!(dev.bind.iter().all(|address| address.is_loopback()));
}

#[test]
fn development_mode_signs_nothing_with_keys_that_are_not_its_own() {
    let folder = Folder::new("dev");
    let secret = "0123456789abcdef0123456789abcdef";
    let load = |text: &str, keys: &[&str]| {
        let arguments = cli::Serve {
            dev: true,
            config: Some(folder.file("weir.yaml", text, 0o600)),
            keys: keys.iter().map(|key| (*key).to_owned()).collect(),
            ..Default::default()
        };
        Config::load(&arguments).unwrap()
    };
    let key_file = folder.file("keys.yaml", &format!("b: {secret}\n"), 0o600);
    let key_file = format!("key_file: {}\n", key_file.display());
    let own = load("port: 1\n", &[]);
    assert_eq!((own.dev_key.as_deref(), own.warnings.len()), (Some("devkey"), 0));
    let inline = format!("keys: {{a: {secret}}}\n");
    let pair = format!("c:{secret}");
    for others in [load(&inline, &[]), load(&key_file, &[]), load("port: 1\n", &[&pair])] {
        assert_eq!(others.dev_key, None);
        assert_eq!(others.keys.len(), 1);
        assert!(!others.keys.contains_key("devkey"));
        assert!(others.bind.iter().all(|address| address.is_loopback()));
        assert_eq!(others.warnings.len(), 1, "{:?}", others.warnings);
    }
}

#[test]
fn a_world_readable_file_with_secrets_causes_a_warning() {
    let folder = Folder::new("readable");
    let secret = "0123456789abcdef0123456789abcdef";
    let warnings = |text: &str, mode, key_file| {
        let arguments = cli::Serve {
            config: Some(folder.file("weir.yaml", text, mode)),
            key_file: Some(folder.file("keys.yaml", &format!("a: {secret}\n"), key_file)),
            ..Default::default()
        };
        let config = Config::load(&arguments).unwrap();
        assert_eq!(&*config.keys["a"], secret);
        config.warnings
    };
    let keys = format!("keys: {{b: {secret}}}\n");
    assert_eq!(warnings(&keys, 0o600, 0o640), [""; 0]);
    assert_eq!(warnings("port: 1\n", 0o644, 0o600), [""; 0], "there is no secret in it");
    let both = warnings(&keys, 0o644, 0o604);
    assert!(
        both.len() == 2 && both[0].contains("weir.yaml") && both[1].contains("keys.yaml"),
        "{both:?}"
    );
    assert!(!format!("{:?}", both).contains(secret));
}

/// A folder of files that goes with the test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("weir-config-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn file(&self, name: &str, text: &str, mode: u32) -> PathBuf {
        use std::os::unix::fs::PermissionsExt;
        let path = self.0.join(name);
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // It is ours.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
