"""Open the playground: add, move and remove points in a browser, and the model follows exactly.

The page is served on 127.0.0.1 only, at an address with a random token. Ctrl-C ends the server.
"""

from __future__ import annotations

import argparse
import sys
from contextlib import suppress

SUMMARY = "open a page to add, move and remove points, and see the model follow exactly"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add = parser.add_argument
    add("--port", type=_port, default=0, help="port on 127.0.0.1; default: a free one")
    add("--no-browser", action="store_true", help="print the address, open no browser")


def run(options: argparse.Namespace) -> int:
    """Serve the page until Ctrl-C."""
    import webbrowser

    from widestreet._src.playground.server import PlaygroundServer

    with PlaygroundServer(options.port) as server, suppress(KeyboardInterrupt):
        sys.stdout.write(f"{server.address}\n")
        sys.stdout.flush()
        if not options.no_browser:
            webbrowser.open(server.address)
        server.serve_forever()
    return 0


def _port(text: str) -> int:
    """Return a port number."""
    port = int(text)
    if not 0 <= port < 2**16:
        raise ValueError
    return port
