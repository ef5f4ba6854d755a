use super::super::File;
use super::*;

const FILES: &str = "ca: ca.pem, certificate: one.pem, key: one.key";

fn completed(rest: &str) -> Result<Cluster, String> {
    let text = format!("cluster: {{{FILES}{rest}}}");
    let file = File::parse(&text)
        .whole("weir.yaml")
        .map_err(|error| error.to_string())?;
    let cluster = file.cluster.expect("a cluster");
    cluster.complete(false).map_err(|error| error.to_string())
}

#[test]
fn a_machine_has_its_host_name_and_the_usual_port() {
    let cluster = completed("").unwrap();
    assert_eq!(Some(cluster.name), host_name());
    assert_eq!(cluster.listen, SocketAddr::from(([0, 0, 0, 0], 7890)));
    assert_eq!((cluster.region, cluster.advertise), (None, None));
    assert_eq!((cluster.capacity, cluster.store), (None, stores::Config::Memory));
    assert_eq!(
        (cluster.move_within, cluster.regions),
        (MOVE_WITHIN, Regions::default())
    );
    assert!(cluster.pinned.is_empty());
    assert_eq!(cluster.versions, Versions::OURS);
    let usual = Listener {
        listen: SocketAddr::from(([0, 0, 0, 0], 7891)),
        advertise: None,
    };
    assert_eq!(cluster.controllers, usual);
    assert_eq!(cluster.files.key, PathBuf::from("one.key"));
    assert_eq!(cluster.secrets, None);
}

#[test]
fn all_settings_are_taken() {
    let rest = ", name: one, region: north, listen: '127.0.0.1:1', advertise: 'media.example:2', \
                secrets: /etc/weir/secrets, capacity: 600, move_within: 30, trunk_encryption: none, protocol_version: 3, \
                regions: [{name: lab, networks: [10.1.0.0/16]}], pinned: [{rooms: 'eu-*', regions: [eu]}], store: {etcd: {endpoints: ['http://127.0.0.1:2379']}}";
    let cluster = completed(rest).unwrap();
    assert_eq!(
        (cluster.name.as_str(), cluster.region.as_deref()),
        ("one", Some("north"))
    );
    assert_eq!(cluster.advertise.as_deref(), Some("media.example:2"));
    assert_eq!(cluster.secrets, Some(PathBuf::from("/etc/weir/secrets")));
    assert_eq!(cluster.capacity, Some(600));
    assert_eq!(cluster.move_within, Duration::from_secs(30));
    assert!(cluster.has_clear_trunks());
    assert_eq!(
        (cluster.versions.oldest, cluster.versions.newest),
        (Versions::OURS.oldest, 3)
    );
    let region = cluster.regions.of([10, 1, 2, 3].into());
    assert_eq!((region, cluster.regions.own()), (Some("lab"), Some("north")));
    assert_eq!(cluster.pinned[0].regions, ["eu"]);
    let etcd = stores::EtcdConfig {
        endpoints: vec!["http://127.0.0.1:2379".to_owned()],
        ..stores::EtcdConfig::default()
    };
    assert_eq!(cluster.store, stores::Config::Etcd(etcd));
    assert_eq!(completed(", store: memory").unwrap().store, stores::Config::Memory);
    let rest = ", controllers: {listen: '127.0.0.1:3', advertise: 'rooms.example:4'}";
    let controllers = completed(rest).unwrap().controllers;
    assert_eq!(controllers.listen, SocketAddr::from(([127, 0, 0, 1], 3)));
    assert_eq!(controllers.advertise.as_deref(), Some("rooms.example:4"));
    let sip = completed(", sip: {listen: '127.0.0.1:5', advertise: 'relay.example:6'}")
        .unwrap()
        .sip;
    assert_eq!(sip.listen, SocketAddr::from(([127, 0, 0, 1], 5)));
    assert_eq!(sip.advertise.as_deref(), Some("relay.example:6"));
}

#[test]
fn a_machine_that_relays_calls_may_have_no_capacity() {
    let text = |rest: &str| format!("cluster: {{{FILES}, name: one, capacity: 0}}{rest}");
    let complete = |text: &str| {
        let file = File::parse(text).whole("weir.yaml").expect("a file");
        let relays_calls = file.sip.is_some();
        file.cluster.expect("a cluster").complete(relays_calls)
    };
    assert_eq!(complete(&text("\nsip: {}")).unwrap().capacity, Some(0));
    let refused = complete(&text("")).unwrap_err().to_string();
    assert!(
        refused.contains("`capacity`") && refused.contains("section `sip`"),
        "{refused}"
    );
}

#[test]
fn errors_name_the_setting() {
    for (rest, part) in [
        (", name: ''", "name"),
        (", listen: '127.0.0.1:0'", "listen"),
        (", listen: 7890", "listen"),
        (", advertise: media.example", "advertise"),
        (", advertise: 'media.example:0'", "advertise"),
        (", advertise: '2001:db8::1:7890'", "advertise"),
        (", cert: one.pem", "cert"),
        (", capacity: 0", "capacity"),
        (", capacity: many", "capacity"),
        (", move_within: soon", "move_within"),
        (", trunk_encryption: wireguard", "trunk_encryption"),
        (", protocol_version: 0", "protocol_version"),
        (", protocol_version: 99", "protocol_version"),
        (", regions: [{name: '', networks: []}]", "regions"),
        (", regions: [{name: eu, networks: [10.0.0.0/33]}]", "cluster.regions"),
        (", pinned: [{rooms: 'a*b', regions: [eu]}]", "pinned.rooms"),
        (", pinned: [{rooms: 'eu-*', regions: []}]", "pinned.regions"),
        (
            ", store: etcd",
            "cluster.store: a text is given, and `etcd` with a section",
        ),
        (", store: {memory: {a: 1}}", "`memory` without settings"),
        (
            ", store: {etcd: {endpoint: x}}",
            "cluster.store.etcd.endpoint: there is no setting",
        ),
        (
            ", store: {etcd: {endpoints: x}}",
            "cluster.store.etcd.endpoints: a text is given",
        ),
        (", store: {etcd: {}}", "needs at least one of `endpoints`"),
        (", store: {etcd: 5}", "cluster.store.etcd: "),
        (", store: {redis: {address: 'localhost'}}", "redis.address"),
        (
            ", store: {redis: {address: 'a:1'}, etcd: {}}",
            "one of memory, etcd, redis",
        ),
        (", store: {reddis: {address: 'a:1'}}", "perhaps redis"),
        (", store: [memory]", "one of memory, etcd, redis"),
        (", controllers: {listen: '127.0.0.1:0'}", "controllers.listen"),
        (", controllers: {listen: '0.0.0.0:7890'}", "controllers.listen"),
        (", controllers: {advertise: rooms}", "controllers.advertise"),
        (", controllers: {port: 1}", "port"),
        (", sip: {listen: '0.0.0.0:7890'}", "sip.listen"),
        (", sip: {listen: '0.0.0.0:0'}", "sip.listen"),
        (", sip: {advertise: relay}", "sip.advertise"),
    ] {
        let error = completed(rest).unwrap_err();
        assert!(error.contains("cluster") && error.contains(part), "{rest}: {error}");
    }
    assert!(completed(", advertise: '[2001:db8::1]:7890'").is_ok());
    let error = File::parse("cluster: {ca: ca.pem, certificate: one.pem}").whole("weir.yaml");
    assert!(error.unwrap_err().to_string().contains("key"));
}
