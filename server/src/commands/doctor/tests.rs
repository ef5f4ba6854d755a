//! The form of the report.

use super::finding::Finding;
use super::*;

#[test]
fn doctor_writes_a_finding_as_one_line_that_obeys_nobody() {
    let found = Finding::warning("names", "evil\u{202e}\n\u{1b}[2J leads nowhere", "correct DNS");
    assert_eq!(
        line(&found),
        "warning  names: evil\\u{202e}\\n\\u{1b}[2J leads nowhere: correct DNS\n"
    );
    assert_eq!(line(&Finding::ok("ports", "free")), "ok       ports: free\n");
}

#[test]
fn doctor_takes_the_configuration_of_the_package_unless_another_is_named() {
    let package = std::env::temp_dir().join(format!("weir-doctor-{}.yaml", std::process::id()));
    let config = |mut serve: Serve| {
        use_package(&mut serve, &package);
        serve.config
    };
    assert_eq!(config(Serve::default()), None, "there is no package");
    std::fs::write(&package, "").unwrap();
    assert_eq!(config(Serve::default()), Some(package.clone()));
    let dev = Serve {
        dev: true,
        ..Serve::default()
    };
    assert_eq!(config(dev), None);
    std::fs::remove_file(&package).unwrap();
}
