"""docs/operate/sip.md tells operators what the other tests run."""

import re

import pytest

from support.network import Network
from support.process import ROOT
from support.relays import WeirAsShown

PAGE = ROOT / "docs" / "operate" / "sip.md"


def blocks(language: str) -> list[str]:
    """The code blocks of the page in that language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)


def test_kamailio_snippets_of_the_page_are_in_the_files():
    folder = ROOT / "docs" / "operate" / "sip"
    files = [(folder / f"kamailio-{module}.cfg").read_text() for module in ("rtpengine", "rtpproxy")]
    shown = blocks("kamailio")
    assert shown
    assert [block for block in shown if not any(block in file for file in files)] == []


def test_weir_runs_with_what_the_page_shows(request, tmp_path):
    if request.config.getoption("relay") != "weir":
        pytest.skip("the page is about Weir")
    (settings,) = blocks("yaml")
    relay = WeirAsShown(Network.find(), tmp_path, settings)
    try:
        assert relay.calls() == []
    finally:
        relay.stop()
