"""The checks of `run`, which finds their tools. Prints what is wrong, and fails if anything is."""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import yaml

PACKAGING = Path(__file__).resolve().parent.parent
COMPOSE = PACKAGING / "compose"
CHART = PACKAGING / "helm/weir"
# The oldest version that the chart is for, and the newest whose schemas are known.
KUBERNETES = ("1.25", "1.37")
ETCD = {"etcd": {"endpoints": ["https://etcd-0.etcd:2379"], "ca": "/etc/weir/store/ca.crt"}}
REDIS = {"redis": {"address": "redis:6379", "password": 'a"b'}}
# Values of the chart, by what they try.
VALUES = {
    "etcd": {"store": ETCD, "secrets": {"store": "etcd-ca"}},
    "redis": {
        "store": REDIS,
        "metrics": {"token": "0123456789abcdef", "monitor": True},
        "imagePullSecrets": [{"name": "registry"}],
        "controllers": {
            "trustedProxies": ["10.0.0.0/8"],
            "config": {"room": {"empty_timeout": 60}},
            "service": {"type": "LoadBalancer", "annotations": {"a": "b"}},
            "podAnnotations": {"a": "b"},
            "disruptionBudget": {"maxUnavailable": "50%"},
        },
        "media": {"kind": "Deployment", "region": "north", "rtcTcpPort": 0, "useExternalIp": True},
    },
    "relays alone": {
        "store": ETCD,
        "controllers": {"enabled": False},
        "media": {"enabled": False},
        "metrics": {"token": "0123456789abcdef", "monitor": True},
        "sip": {"enabled": True, "proxies": ["10.0.0.0/8", "192.0.2.9"], "useExternalIp": True, "region": "north"},
    },
    "all parts": {
        "store": ETCD,
        "sip": {
            "enabled": True,
            "kind": "Deployment",
            "proxies": ["10.0.0.0/8"],
            "ngPort": 0,
            "rtpproxyPort": 22222,
            "mediaPorts": "31000-31999",
            "config": {"sip": {"tolerate": ["ptime"]}},
        },
    },
    "media alone": {"store": ETCD, "controllers": {"enabled": False}, "media": {"nodeSelector": {"weir": "media"}}},
    "controllers alone": {"store": ETCD, "media": {"enabled": False}, "controllers": {"disruptionBudget": {"enabled": False}}},
}
# Values that are refused, each with a word of the reason.
REFUSED = [
    ({}, "store"),
    ({"store": {}}, "store"),
    ({"store": {**ETCD, **REDIS}}, "store"),
    ({"store": ETCD, "metrics": {"monitor": True}}, "metrics.token"),
    ({"store": ETCD, "media": {"kind": "StatefulSet"}}, "kind"),
    ({"store": ETCD, "media": {"prot": 1}}, "prot"),
    ({"store": ETCD, "controllers": {"replicas": 0}}, "replicas"),
    ({"store": ETCD, "sip": {"enabled": True}}, "sip.proxies"),
    ({"store": ETCD, "sip": {"enabled": True, "proxies": ["10.0.0.1"], "ngPort": 0}}, "ngPort"),
    ({"store": ETCD, "sip": {"enabled": True, "proxies": ["10.0.0.1"], "capacity": 1}}, "capacity"),
]

faults = []


def fault(where, why):
    faults.append(f"{where}: {why}")


def expect(holds, where, why):
    if not holds:
        fault(where, why)


def run(*command, **more):
    return subprocess.run([str(it) for it in command], capture_output=True, text=True, **more)


def compose():
    """Checks Compose's file. Returns the configurations in it, by name."""
    path = COMPOSE / "compose.yaml"
    result = run("check-jsonschema", "--builtin-schema", "vendor.compose-spec", path)
    expect(result.returncode == 0, path, result.stdout + result.stderr)
    file = yaml.safe_load(path.read_text())
    services, configs, used = file["services"], file["configs"], set()
    for name, service in services.items():
        expect(set(service.get("depends_on", [])) <= set(services), name, "depends on a service that is not there")
        for volume in service.get("volumes", []):
            source = volume.split(":")[0]
            is_there = (COMPOSE / source).exists() if source.startswith(".") else source in file["volumes"]
            expect(is_there, name, f"there is no volume {source}")
        for config in service.get("configs", []):
            used.add(config["source"])
            expect(config["source"] == service["hostname"] and config["source"] in configs, name, "has another's configuration")
    expect(used == set(configs), path, "a configuration is not used")
    texts = {name: config["content"] for name, config in configs.items()}
    for name, text in texts.items():
        weir = yaml.safe_load(text)
        if "sip" in weir:
            relay(name, services[name], weir)
        elif "rtc" in weir:
            # Clients are told of the ports that are inside.
            ports = {f"{port}:{port}{kind}" for port, kind in ((weir["rtc"]["port"], "/udp"), (weir["rtc"]["tcp_port"], ""))}
            expect(ports == set(services[name]["ports"]), name, "publishes other ports than those of its configuration")
            expect("secrets" not in weir["cluster"], name, "a media node has the keys of controllers")
        advertised = weir["cluster"].get("controllers", weir["cluster"])["advertise"]
        expect(advertised.startswith(f"{name}:"), name, "advertises another's address")
    return texts


def relay(name, service, weir):
    """Checks a relay of SIP calls: it starts on demand, and is published as its configuration says."""
    expect(service.get("profiles") == ["sip"], name, "starts without its profile")
    expect(weir["cluster"]["capacity"] == 0, name, "takes participants, whose ports are not published")
    expect(weir["cluster"]["sip"]["advertise"].startswith(f"{name}:"), name, "advertises another's address to relays")
    ng = weir["sip"]["ng"]["listen"].rpartition(":")[2]
    media = [interface["ports"] for interface in weir["sip"]["interfaces"]]
    # Proxies are those of the machine alone. Parties are told of the ports that are inside.
    ports = {f"127.0.0.1:{ng}:{ng}/udp", *(f"{them}:{them}/udp" for them in media)}
    expect(ports == set(service["ports"]), name, "publishes other ports than those of its configuration")
    expect("secrets" not in weir["cluster"], name, "a relay has the keys of controllers")


def balancer():
    """Checks HAProxy's file, with addresses for the names in it."""
    text = re.sub(r"(controller-\d):", "127.0.0.1:", (COMPOSE / "haproxy.cfg").read_text())
    with tempfile.NamedTemporaryFile("w", suffix=".cfg") as file:
        file.write(text)
        file.flush()
        result = run("haproxy", "-c", "-f", file.name)
    is_clean = result.returncode == 0 and "WARNING" not in result.stderr
    expect(is_clean, COMPOSE / "haproxy.cfg", result.stdout + result.stderr)


def helm(command, values, version):
    flags = [CHART, "--kube-version", f"{version}.0", "--values", "-", "--namespace", "calls"]
    name = ["weir"] if command == "template" else ["--strict"]
    return run("helm", command, *name, *flags, input=json.dumps(values))


def chart():
    """Checks the chart. Returns the configurations that it renders, by name."""
    texts = {}
    cargo = (PACKAGING.parent / "Cargo.toml").read_text()
    version = re.search(r'^version = "(.*)"', cargo, re.MULTILINE).group(1)
    about = yaml.safe_load((CHART / "Chart.yaml").read_text())
    expect(about["version"] == about["appVersion"] == version, "Chart.yaml", f"its versions are not {version}")
    for values, word in REFUSED:
        result = helm("template", values, KUBERNETES[0])
        expect(result.returncode and word in result.stderr, f"the values {values}", f"are not refused for `{word}`")
    for name, values in VALUES.items():
        result = helm("lint", values, KUBERNETES[0])
        expect(result.returncode == 0, f"the chart with {name}", result.stdout + result.stderr)
        for version in KUBERNETES:
            result = helm("template", values, version)
            expect(result.returncode == 0, f"the chart with {name}", result.stderr)
            documents = [it for it in yaml.safe_load_all(result.stdout) if it]
            resources(f"the chart with {name}", documents, version)
        for document in documents:
            text = document.get("stringData", {}).get("weir.yaml")
            if text:
                # An address of media has to be one of this machine.
                text = text.replace("@ADDRESS@", "192.0.2.7").replace("@IP@", "127.0.0.1")
                texts[f"{document['metadata']['name']} with {name}"] = text
    return texts


def resources(where, documents, version):
    """Checks resources by the schemas of Kubernetes, and the names by which they know each other."""
    # The monitors are resources of an operator, whose schemas are elsewhere.
    own = [it for it in documents if not it["apiVersion"].startswith("monitoring.coreos.com/")]
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        yaml.safe_dump_all(own, file)
        file.flush()
        result = run("kubernetes-validate", "--strict", "--quiet", "-k", version, file.name)
    expect(result.returncode == 0, where, result.stdout + result.stderr)
    pods = [it["spec"]["template"] for it in own if it["kind"] in ("DaemonSet", "Deployment")]
    for it in documents:
        spec = it.get("spec", {})
        selector = spec.get("selector", {})
        selector = selector.get("matchLabels", selector)
        if not selector:
            continue
        chosen = [pod for pod in pods if selector.items() <= pod["metadata"]["labels"].items()]
        expect(len(chosen) == 1, where, f"{it['kind']} {it['metadata']['name']} chooses {len(chosen)} pods")


def configurations(texts):
    """Checks configurations by the program, with files as `weir cluster-cert` writes them."""
    weir = os.environ["WEIR_BINARY"]
    with tempfile.TemporaryDirectory() as folder:
        cluster, keys, store, file = (Path(folder, name) for name in ("cluster", "keys", "store", "weir.yaml"))
        result = run(weir, "cluster-cert", cluster)
        expect(result.returncode == 0, "weir cluster-cert", result.stderr)
        keys.mkdir()
        (keys / "my-app").write_text("0123456789abcdef0123456789abcdef")
        store.mkdir()
        # The authority of a store is any.
        shutil.copy(cluster / "ca.pem", store / "ca.crt")
        own_files = (("/etc/weir/cluster", cluster), ("/etc/weir/keys", keys), ("/etc/weir/store", store))
        for name, text in texts.items():
            for path, own in own_files:
                text = text.replace(path, str(own))
            file.write_text(text)
            file.chmod(0o600)
            # A media node needs no keys, and a machine may have no address but loopback.
            more = {"WEIR_KEYS": "a:" + 32 * "0", "WEIR_NODE_IP": "192.0.2.7"}
            result = run(weir, "check-config", "--config", file, env={**os.environ, **more})
            expect(result.returncode == 0, f"the configuration of {name}", result.stdout)


def main():
    texts = compose()
    if shutil.which("haproxy"):
        balancer()
    if shutil.which("helm"):
        texts |= chart()
    if "WEIR_BINARY" in os.environ:
        configurations(texts)
    if faults:
        sys.exit("\n".join(f"packaging/lint: {fault}" for fault in faults))
    print(f"deployments: {len(texts)} configurations")


main()
