"""The server of the playground: one page and one session, for this machine only.

The server listens on 127.0.0.1. The address of the page contains a random token, without which
every request is refused. A page of another site that is open in the same browser can send requests
to 127.0.0.1 as well; therefore the Host and the Origin of every request must be those of this
server, and messages must be JSON, which a browser sends to another origin only with its permission.
"""

from __future__ import annotations

import hmac
import json
import secrets
import sys
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from widestreet._src.playground.assets import script, text_of
from widestreet._src.playground.session import Session

MOST_BYTES = 4096  # of a message; the longest one takes less than 200
_SECONDS_OF_SILENCE = 30.0  # after which a connection is closed

_SECURITY = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
        "img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


class Refusal(Exception):  # noqa: N818, an answer rather than an error of the server
    """A request that is refused.

    Parameters
    ----------
    status : HTTPStatus
    reason : str
    """

    def __init__(self, status: HTTPStatus, reason: str) -> None:
        super().__init__(reason)
        self.status = status


class PlaygroundServer(ThreadingHTTPServer):
    """HTTP server of one session on 127.0.0.1.

    Parameters
    ----------
    port : int, default=0
        Port; 0 takes a free one.
    session : Session, optional

    Attributes
    ----------
    session : Session
    token : str
    """

    daemon_threads = True

    def __init__(self, port: int = 0, session: Session | None = None) -> None:
        self.session = Session() if session is None else session
        self.token = secrets.token_urlsafe(24)
        super().__init__(("127.0.0.1", port), _Handler)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Report errors of this program, but not that a browser closed its connection."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)

    @property
    def address(self) -> str:
        """Address of the page."""
        return f"http://127.0.0.1:{self.server_port}/{self.token}/"

    @property
    def hosts(self) -> tuple[str, ...]:
        """Names of this server in requests."""
        return tuple(f"{name}:{self.server_port}" for name in ("127.0.0.1", "localhost"))


class _Handler(BaseHTTPRequestHandler):
    """Answers one connection."""

    server: PlaygroundServer
    protocol_version = "HTTP/1.1"
    server_version, sys_version = "widestreet", ""
    timeout = _SECONDS_OF_SILENCE
    disable_nagle_algorithm = True
    wbufsize = -1  # headers and body leave together

    def do_GET(self) -> None:
        """Answer with a file of the page."""
        try:
            name = self._checked_name()
            if name not in _FILES:
                raise Refusal(HTTPStatus.NOT_FOUND, "there is no such file")
        except Refusal as refusal:
            self._refuse(refusal)
            return
        kind, content = _FILES[name]
        self._send(HTTPStatus.OK, kind, content().encode())

    def do_POST(self) -> None:
        """Carry out a message and answer with the state."""
        try:
            if self._checked_name() != "message":
                raise Refusal(HTTPStatus.NOT_FOUND, "messages go to message")
            if "Origin" not in self.headers:
                raise Refusal(HTTPStatus.FORBIDDEN, "a message needs an origin")
            message = self._message()
            try:
                state = self.server.session.handle(message)
            except (ValueError, RuntimeError) as error:
                raise Refusal(HTTPStatus.BAD_REQUEST, str(error)) from error
        except Refusal as refusal:
            self._refuse(refusal)
            return
        self._send(HTTPStatus.OK, "application/json", json.dumps(state, allow_nan=False).encode())

    # -- checks ------------------------------------------------------------------------------------

    def _checked_name(self) -> str:
        """Return what a request is for, or raise Refusal if it may not be made."""
        hosts, host = self.server.hosts, self.headers.get("Host", "")
        if host not in hosts:
            raise Refusal(HTTPStatus.FORBIDDEN, "the host is not that of this server")
        if self.headers.get("Origin", f"http://{host}") != f"http://{host}":
            raise Refusal(HTTPStatus.FORBIDDEN, "the origin is not that of this server")
        if self.headers.get("Sec-Fetch-Site", "none") not in ("none", "same-origin"):
            raise Refusal(HTTPStatus.FORBIDDEN, "the request comes from another site")
        token, slash, name = self.path.removeprefix("/").partition("/")
        if not hmac.compare_digest(token.encode(), self.server.token.encode()):
            raise Refusal(HTTPStatus.FORBIDDEN, "the token is missing or wrong")
        if not slash:
            raise Refusal(HTTPStatus.NOT_FOUND, "the address of the page ends with a slash")
        return name

    def _message(self) -> Any:
        """Read the body of a request as JSON, or raise Refusal."""
        if self.headers.get_content_type() != "application/json":
            raise Refusal(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "a message must be JSON")
        length = self.headers.get("Content-Length", "")
        if not (length.isascii() and length.isdigit()):
            raise Refusal(HTTPStatus.LENGTH_REQUIRED, "a message needs its length")
        if len(length) > len(str(MOST_BYTES)) or int(length) > MOST_BYTES:
            raise Refusal(
                HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"a message has at most {MOST_BYTES} bytes"
            )
        try:
            return json.loads(self.rfile.read(int(length)))
        except (ValueError, RecursionError) as error:
            raise Refusal(HTTPStatus.BAD_REQUEST, "the message is no valid JSON") from error

    # -- answers -----------------------------------------------------------------------------------

    def _refuse(self, refusal: Refusal) -> None:
        self.close_connection = True  # an unread body would be taken for the next request
        body = json.dumps({"error": str(refusal)}).encode()
        self._send(refusal.status, "application/json", body)

    def _send(self, status: HTTPStatus, kind: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        if self.close_connection:
            self.send_header("Connection", "close")
        for name, value in _SECURITY.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing: a library does not print."""


_FILES: dict[str, tuple[str, Callable[[], str]]] = {
    "": ("text/html", lambda: text_of("page.html")),
    "page.css": ("text/css", lambda: text_of("page.css")),
    "page.js": ("text/javascript", script),
    "icon.svg": ("image/svg+xml", lambda: text_of("icon.svg")),
}
