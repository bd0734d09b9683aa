"""The command that opens the playground."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import webbrowser
from urllib.request import urlopen

import pytest

from widestreet._src.playground.server import PlaygroundServer
from widestreet.cli import main

_LIMIT = 60  # seconds, so that a hang is a failure


@pytest.fixture
def opened(monkeypatch):
    """Addresses that a browser would open; the server ends at once."""
    found = []

    def interrupted(self):
        raise KeyboardInterrupt

    monkeypatch.setattr(PlaygroundServer, "serve_forever", interrupted)
    monkeypatch.setattr(webbrowser, "open", found.append)
    return found


def test_the_address_is_printed_and_opened(opened, capsys):
    assert main(["play"]) == 0
    [address] = opened
    assert capsys.readouterr().out == f"{address}\n"


def test_no_browser(opened, capsys):
    assert main(["play", "--no-browser"]) == 0
    assert opened == []
    assert capsys.readouterr().out.startswith("http://127.0.0.1:")


def test_the_page_is_served(monkeypatch):
    pages = []

    def one_request(self):
        thread = threading.Thread(target=self.handle_request)
        thread.start()
        with urlopen(self.address) as page:
            pages.append(page.read())
        thread.join()

    monkeypatch.setattr(PlaygroundServer, "serve_forever", one_request)
    assert main(["play", "--no-browser"]) == 0
    assert b"<title>widestreet playground</title>" in pages[0]


@pytest.mark.parametrize("port", ["-1", "65536", "two", "1.5"])
def test_a_wrong_port(port, capsys):
    with pytest.raises(SystemExit) as end:
        main(["play", "--port", port])
    assert end.value.code == 2


def test_a_port_that_is_taken(opened, capsys):
    with PlaygroundServer() as taken:
        assert main(["play", "--port", str(taken.server_port)]) == 2
    assert "in use" in capsys.readouterr().err


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGINT for another process")
def test_an_interrupt_ends_the_command():
    command = [sys.executable, "-m", "widestreet", "play", "--no-browser"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, **pipes) as process:
        timer = threading.Timer(_LIMIT, process.kill)  # ends the read of the first line, too
        timer.start()
        try:
            address = process.stdout.readline().strip()
            with urlopen(address, timeout=_LIMIT) as page:
                assert page.status == 200
            process.send_signal(signal.SIGINT)
            rest, errors = process.communicate(timeout=_LIMIT)
        finally:
            timer.cancel()
            process.kill()
    assert (process.returncode, rest, errors) == (0, "", "")


def test_an_interrupt_while_the_browser_opens(opened, monkeypatch):
    def interrupted(address):
        raise KeyboardInterrupt

    monkeypatch.setattr(webbrowser, "open", interrupted)
    assert main(["play"]) == 0
