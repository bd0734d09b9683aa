"""The server answers its own page, and nobody else."""

from __future__ import annotations

import json
import socket
import threading
from http.client import HTTPConnection

import pytest

from widestreet._src.playground import server as module
from widestreet._src.playground.server import MOST_BYTES, PlaygroundServer

ADD = {"action": "add", "x": 0.1, "y": 0.2, "label": 0}


@pytest.fixture
def server():
    with PlaygroundServer() as found:
        thread = threading.Thread(target=found.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        yield found
        found.shutdown()
        thread.join()


def ask(server, method, path, body=None, **changes):
    """Send a request as the page does, with some headers changed or, if None, left out."""
    host = f"127.0.0.1:{server.server_port}"
    headers = {"Host": host}
    if method == "POST":
        body = json.dumps(ADD).encode() if body is None else body
        headers |= {"Origin": f"http://{host}", "Content-Type": "application/json"}
        headers |= {"Content-Length": str(len(body))}
    headers |= {name.replace("_", "-"): value for name, value in changes.items()}
    connection = HTTPConnection("127.0.0.1", server.server_port, timeout=30)
    connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
    for name, value in headers.items():
        if value is not None:
            connection.putheader(name, value)
    connection.endheaders(body)
    answer = connection.getresponse()
    content = answer.read()
    connection.close()
    return answer, content


def message_path(server):
    return f"/{server.token}/message"


def test_a_message_is_carried_out(server):
    before = len(server.session.board.points)
    answer, content = ask(server, "POST", message_path(server))
    assert answer.status == 200
    assert len(json.loads(content)["points"]) == before + 1


@pytest.mark.parametrize(
    ("name", "kind"),
    [("", "html"), ("page.js", "javascript"), ("page.css", "css"), ("icon.svg", "svg")],
)
def test_files_of_the_page(server, name, kind):
    answer, content = ask(server, "GET", f"/{server.token}/{name}")
    assert answer.status == 200
    assert kind in answer.getheader("Content-Type")
    assert int(answer.getheader("Content-Length")) == len(content) > 100
    policy = answer.getheader("Content-Security-Policy")
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert answer.getheader("X-Content-Type-Options") == "nosniff"
    assert answer.getheader("Access-Control-Allow-Origin") is None


def test_a_connection_carries_several_messages(server):
    connection = HTTPConnection("127.0.0.1", server.server_port, timeout=30)
    headers = {"Origin": f"http://127.0.0.1:{server.server_port}"}
    headers |= {"Content-Type": "application/json"}
    for _ in range(3):
        connection.request("POST", message_path(server), json.dumps(ADD), headers)
        answer = connection.getresponse()
        answer.read()
        assert answer.status == 200
    connection.close()


@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize("token", ["", "x", "%C3%A9", "../", "{}x", "{}%2f"])
def test_the_token_is_needed(server, method, token):
    before = server.session.state()
    path = "/" + token.format(server.token[:-1]) + "/message"
    answer, content = ask(server, method, path)
    assert answer.status == 403
    assert server.token.encode() not in content
    assert server.session.state() == before


@pytest.mark.parametrize(
    "changes",
    [
        {"Host": None},
        {"Host": "evil.example"},
        {"Host": "127.0.0.1"},
        {"Host": "127.0.0.1:1"},
        {"Host": "evil.example:{}"},
        {"Origin": "http://evil.example"},
        {"Origin": "http://127.0.0.1:1"},
        {"Origin": "https://127.0.0.1:{}"},
        {"Origin": "http://localhost:{}"},
        {"Origin": "null"},
        {"Origin": None},
        {"Origin": ""},
        {"Sec_Fetch_Site": "cross-site"},
        {"Sec_Fetch_Site": "same-site"},
    ],
    ids=str,
)
def test_messages_of_other_pages_are_refused(server, changes):
    before = server.session.state()
    changes = {
        name: None if value is None else value.format(server.server_port)
        for name, value in changes.items()
    }
    answer, content = ask(server, "POST", message_path(server), **changes)
    assert answer.status == 403
    assert "error" in json.loads(content)
    assert server.session.state() == before


@pytest.mark.parametrize(
    "changes", [{"Host": "evil.example:{}"}, {"Origin": "http://evil.example"}], ids=str
)
def test_the_page_is_not_given_to_other_pages(server, changes):
    changes = {name: value.format(server.server_port) for name, value in changes.items()}
    answer, _ = ask(server, "GET", f"/{server.token}/", **changes)
    assert answer.status == 403


@pytest.mark.parametrize(
    ("body", "changes", "status"),
    [
        (b"{", {}, 400),
        (b"\xff\xfe", {}, 400),
        (b"[" * MOST_BYTES, {}, 400),
        (b'{"action": "dance"}', {}, 400),
        (b'{"action": "add", "x": NaN, "y": 0, "label": 0}', {}, 400),
        (b"{}", {"Content_Type": "text/plain"}, 415),
        (b"{}", {"Content_Type": None}, 415),
        (b"{}", {"Content_Length": None}, 411),
        (b"{}", {"Content_Length": "-1"}, 411),
        (b"{}", {"Content_Length": "two"}, 411),
        (b"{}", {"Content_Length": str(MOST_BYTES + 1)}, 413),
        (b"{}", {"Content_Length": "9" * 5000}, 413),
    ],
    ids=lambda value: str(value)[:40],
)
def test_malformed_messages(server, body, changes, status):
    before = server.session.state()
    answer, content = ask(server, "POST", message_path(server), body, **changes)
    assert answer.status == status
    assert json.loads(content)["error"]
    assert server.session.state() == before


@pytest.mark.parametrize(
    ("method", "name"),
    [("GET", "message"), ("GET", "../server.py"), ("GET", "page.html"), ("POST", "page.js")],
)
def test_other_paths_do_not_exist(server, method, name):
    answer, _ = ask(server, method, f"/{server.token}/{name}")
    assert answer.status == 404


def test_the_address_ends_with_a_slash(server):
    answer, _ = ask(server, "GET", f"/{server.token}")
    assert answer.status == 404


@pytest.mark.parametrize("method", ["PUT", "OPTIONS", "HEAD", "DELETE"])
def test_other_methods_do_not_exist(server, method):
    answer, _ = ask(server, method, message_path(server))
    assert answer.status == 501


def test_only_this_machine_is_served(server):
    assert server.server_address[0] == "127.0.0.1"
    assert server.address.startswith(f"http://127.0.0.1:{server.server_port}/")
    assert len(server.token) >= 32


def test_every_server_has_its_own_token(server):
    with PlaygroundServer() as other:
        assert other.token != server.token


def test_a_browser_that_leaves_is_no_error(server, monkeypatch, capsys):
    left = threading.Event()

    def leaving(message):
        left.set()
        raise ConnectionResetError

    monkeypatch.setattr(server.session, "handle", leaving)
    with pytest.raises(ConnectionError):
        ask(server, "POST", message_path(server))
    assert left.wait(30)
    assert capsys.readouterr().err == ""


def test_a_silent_connection_is_closed(server, monkeypatch):
    monkeypatch.setattr(module._Handler, "timeout", 0.05)
    with socket.create_connection(("127.0.0.1", server.server_port), timeout=30) as silent:
        assert silent.recv(1) == b""
