"""The reverse proxies of packaging/proxies in front of a server, with another port and without the certificate."""

import asyncio
import contextlib
import os
import re
import shutil
import socket
import subprocess
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

from .server import free_ports
from .wait import until

EXAMPLES = Path(__file__).parents[3] / "packaging/proxies"
PATHS = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin"])


def program(name: str) -> str | None:
    """Where nginx or Caddy is installed."""
    return shutil.which(name, path=PATHS)


@contextlib.asynccontextmanager
async def proxy(name: str, weir_port: int) -> AsyncIterator[int]:
    """Runs nginx or Caddy by its example; gives its port."""
    port = free_ports()
    with tempfile.TemporaryDirectory() as folder:
        command = {"nginx": _nginx, "caddy": _caddy}[name](Path(folder), port, weir_port)
        home = {**os.environ, "HOME": folder, "XDG_DATA_HOME": folder, "XDG_CONFIG_HOME": folder}
        with open(f"{folder}/output", "wb") as output:
            process = subprocess.Popen(command, env=home, stdout=output, stderr=subprocess.STDOUT)
        try:
            await until(f"{name} listens", lambda: _listens(port) or _ended(process, folder), 10)
            yield port
        finally:
            process.terminate()
            await asyncio.to_thread(process.wait, 10)


def _nginx(folder: Path, port: int, weir_port: int) -> list[str]:
    example = (EXAMPLES / "nginx.conf").read_text().replace("127.0.0.1:7880", f"127.0.0.1:{weir_port}")
    example = re.sub(r"\n *(listen \[::\]|ssl_certificate).*", "", example).replace("listen 443 ssl", f"listen {port}")
    temporary = "".join(
        f"{kind}_temp_path {folder}/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    settings = f"daemon off; pid {folder}/pid; error_log stderr; events {{}} http {{ access_log off; {temporary} {example} }}"
    (folder / "nginx.conf").write_text(settings)
    return [program("nginx"), "-p", str(folder), "-c", str(folder / "nginx.conf")]


def _caddy(folder: Path, port: int, weir_port: int) -> list[str]:
    example = (EXAMPLES / "Caddyfile").read_text().replace("127.0.0.1:7880", f"127.0.0.1:{weir_port}")
    example = example.replace("\nmeet.example.com {", f"\n{{\n\tadmin off\n}}\nhttp://127.0.0.1:{port} {{")
    (folder / "Caddyfile").write_text(example)
    return [program("caddy"), "run", "--adapter", "caddyfile", "--config", str(folder / "Caddyfile")]


def _ended(process: subprocess.Popen, folder: str) -> bool:
    assert process.poll() is None, Path(folder, "output").read_text()
    return False


def _listens(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
        return True
    return False
