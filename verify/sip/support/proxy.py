"""Kamailio with the configurations that docs/operate/sip.md tells operators to use."""

import re
import subprocess
from pathlib import Path

from .network import Network
from .process import Process, program, wait_until

CONFIGURATIONS = Path(__file__).resolve().parents[3] / "docs" / "operate" / "sip"
PORT = 5060
# How long a proxy of a cluster does not try a relay again that did not answer.
DISABLED_S = 1


class Kamailio:
    """One that sends every call to the callees, and on demand to the second phone as well."""

    def __init__(self, module: str, control: str, network: Network, folder: Path, forks: bool = False) -> None:
        self._at = network.forking if forks else network.proxy
        name = "forking" if forks else "kamailio"
        configuration = self._configuration(module, folder)
        settings = {
            "LISTEN": f"udp:{self._at}:{PORT}",
            "GATEWAY": f'"sip:{network.callees}:{PORT}"',
            "WEIR": f'"{control}"',
        }
        if forks:
            settings["SECOND_GATEWAY"] = f'"sip:{network.others}:{PORT}"'
        defined = [word for name, value in settings.items() for word in ("-A", f"{name}={value}")]
        run = folder / name
        run.mkdir()
        self._process = Process(
            [program("kamailio"), "-DD", "-E", "-f", configuration, *defined, "-Y", run, "-w", folder],
            folder / f"{name}.log",
        )
        wait_until(lambda: self._listens(network), 10, "Kamailio listening")

    def _configuration(self, module: str, folder: Path) -> Path:
        return CONFIGURATIONS / f"kamailio-{module}.cfg"

    def _listens(self, network: Network) -> bool:
        assert self._process.running(), self._process.said()
        return any((each.address, each.port) == (self._at, PORT) for each in network.sockets())

    def complaints(self) -> list[str]:
        """Its log lines about problems, such as a relay that does not answer."""
        lines = self._process.log.read_text(errors="replace").splitlines()
        return [line for line in lines if "ERROR" in line or "CRITICAL" in line]

    def stop(self) -> None:
        self._process.stop()


class KamailioOfCluster(Kamailio):
    """One whose module rtpengine has several relays in its set, and which answers `kamcmd`."""

    def __init__(self, relays: list[str], network: Network, folder: Path) -> None:
        super().__init__("rtpengine", " ".join(relays), network, folder)

    def disabled(self) -> list[str]:
        """The relays that it does not use for now, as they did not answer."""
        shown = self._command("rtpengine.show", "all")
        relays = re.findall(r"url: (\S+).*?disabled: (\S+)", shown, re.DOTALL)
        assert relays, shown
        return [relay for relay, is_disabled in relays if is_disabled == "1"]

    def _configuration(self, module: str, folder: Path) -> Path:
        self._socket = folder / "kamcmd"
        whole = folder / "kamailio.cfg"
        whole.write_text(f"""include_file "{super()._configuration(module, folder)}"
loadmodule "ctl.so"
modparam("ctl", "binrpc", "unix:{self._socket}")
# Seconds until a relay that did not answer is tried again.
modparam("rtpengine", "rtpengine_disable_tout", {DISABLED_S})
""")
        return whole

    def _command(self, *words: str) -> str:
        command = [program("kamcmd"), "-s", f"unix:{self._socket}", *words]
        done = subprocess.run(command, capture_output=True, text=True, timeout=5, check=True)
        return done.stdout
