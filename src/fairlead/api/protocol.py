"""How long a connection may take to say what it wants, and how much of it: bounds that hold before there is a request.

A connection that never finishes its headers costs a descriptor for as long as it likes, and memory for all it sends. So
the headers of each request have to arrive within a time, counted from when the connection or the answer before was
complete, and within a size.
"""

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

PATIENCE = 10.0
MOST_BYTES = 128 * 1024  # more than the gate allows, which has an answer for what is only somewhat too much


class PatientProtocol(HttpToolsProtocol):
    """HTTP/1.1 for callers who come to the point."""

    _timer: asyncio.TimerHandle | None = None
    _heard = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Expect a request."""
        super().connection_made(transport)
        self._expect()

    def connection_lost(self, exc: Exception | None) -> None:
        """Expect nothing any more."""
        self._relax()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Count what comes before the end of the headers."""
        super().data_received(data)
        if self._timer is not None:
            self._heard += len(data)
            if self._heard > MOST_BYTES:
                self._relax()
                self.send_400_response("The headers are too large.")

    def on_headers_complete(self) -> None:
        """It is known what is wanted."""
        self._relax()
        super().on_headers_complete()

    def on_response_complete(self) -> None:
        """Expect the next request, unless it has come already; the rest of a body that nobody reads is none."""
        super().on_response_complete()
        if self.timeout_keep_alive_task is not None:
            self._expect()

    def _expect(self) -> None:
        self._relax()
        self._heard = 0
        self._timer = self.loop.call_later(PATIENCE, self._lose_patience)

    def _relax(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _lose_patience(self, *_: Any) -> None:
        self._timer = None
        if not self.transport.is_closing():
            self.transport.close()
