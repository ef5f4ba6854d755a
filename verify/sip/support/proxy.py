"""Kamailio with the configurations that docs/operate/sip.md tells operators to use."""

from pathlib import Path

from .network import Network
from .process import Process, program, wait_until

CONFIGURATIONS = Path(__file__).resolve().parents[3] / "docs" / "operate" / "sip"
PORT = 5060


class Kamailio:
    """One that sends every call to the callees, and on demand to the second phone as well."""

    def __init__(self, module: str, control: str, network: Network, folder: Path, forks: bool = False) -> None:
        self._at = network.forking if forks else network.proxy
        name = "forking" if forks else "kamailio"
        settings = {
            "LISTEN": f"udp:{self._at}:{PORT}",
            "GATEWAY": f'"sip:{network.callees}:{PORT}"',
            "WEIR": f'"{control}"',
        }
        if forks:
            settings["SECOND_GATEWAY"] = f'"sip:{network.others}:{PORT}"'
        defined = [word for name, value in settings.items() for word in ("-A", f"{name}={value}")]
        configuration = CONFIGURATIONS / f"kamailio-{module}.cfg"
        run = folder / name
        run.mkdir()
        self._process = Process(
            [program("kamailio"), "-DD", "-E", "-f", configuration, *defined, "-Y", run, "-w", folder],
            folder / f"{name}.log",
        )
        wait_until(lambda: self._listens(network), 10, "Kamailio listening")

    def _listens(self, network: Network) -> bool:
        assert self._process.running(), self._process.said()
        return any((each.address, each.port) == (self._at, PORT) for each in network.sockets())

    def complaints(self) -> list[str]:
        """Its log lines about problems, such as a relay that does not answer."""
        lines = self._process.log.read_text(errors="replace").splitlines()
        return [line for line in lines if "ERROR" in line or "CRITICAL" in line]

    def stop(self) -> None:
        self._process.stop()
