"""Where callbacks can be made to go: hostile URLs and resolvers against a listener that must never be reached."""

import asyncio
import itertools
import shutil
import socket
import ssl
import subprocess
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest

from fairlead.core.web.egress import EgressRules, networks
from fairlead.errors import CallbackFailed, EgressRefused
from fairlead.worker.egress import MOST_READ, Sender
from tests.support.receiver import Receiver, receiving

INTERNAL = [
    "127.0.0.1", "127.0.0.2", "127.255.255.254", "0.0.0.0", "0.1.2.3", "10.0.0.1", "10.255.255.255", "100.64.0.1",
    "100.100.100.200", "100.127.255.255", "168.63.129.16", "169.254.0.1", "169.254.169.254", "169.254.170.2",
    "172.16.0.1", "172.31.255.255", "192.0.0.1", "192.0.0.192", "192.0.2.1", "192.88.99.1", "192.168.0.1",
    "198.18.0.1", "198.19.255.255", "198.51.100.1", "203.0.113.1", "224.0.0.1", "239.255.255.255", "240.0.0.1",
    "255.255.255.255", "::", "::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:8.8.8.8", "::127.0.0.1",
    "64:ff9b::7f00:1", "64:ff9b::a00:1", "64:ff9b:1::7f00:1", "100::1", "2001::1", "2001:0:7f00:1::", "2001:10::1",
    "2001:20::1", "2001:db8::1", "2002:7f00:1::1", "2002:a00:1::", "3fff::1", "5f00::1", "fc00::1", "fd00:ec2::254",
    "fe80::1", "fe80::1%lo", "fec0::1", "ff02::1", "ff0e::1",
]  # fmt: skip
DISGUISES = [
    "127.1", "127.0.1", "2130706433", "017700000001", "0x7f000001", "0x7f.0.0.1", "0177.0.0.1", "127.0.0.1.",
    "localhost", "LOCALHOST", "localhost.", "ip6-localhost", "0", "0.0.0.0", "[::1]", "[::]", "[::ffff:127.0.0.1]",
    "[::ffff:7f00:1]", "[0:0:0:0:0:0:0:1]", "[::127.0.0.1]", "[64:ff9b::7f00:1]", "[2002:7f00:1::]", "[::1%25lo]",
    "127.0.0.1%00.example.org", "①②⑦.⓪.⓪.①", "127。0。0。1", "example.org@127.0.0.1", "127.0.0.1#@example.org",
    "127.0.0.1\\@example.org", "example.org:80@127.0.0.1", "127.0.0.1\t", " 127.0.0.1", "127.0.0.1\r\nHost: x",
]  # fmt: skip
SHAPES = [
    "http://{host}:{port}/", "http://{host}:{port}/a?b=c", "http://{host}:{port}//x", "HTTP://{host}:{port}/",
    "http://user@{host}:{port}/", "http://user:password@{host}:{port}/", "http:///{host}:{port}/",
    "http:{host}:{port}/", "http://{host}:{port}#x", "ftp://{host}:{port}/", "file://{host}:{port}/etc/passwd",
    "gopher://{host}:{port}/_x", "//{host}:{port}/", "{host}:{port}", "javascript://{host}:{port}/",
]  # fmt: skip


@pytest.fixture
async def canary() -> AsyncIterator[Receiver]:
    """A listener on loopback that no callback may reach."""
    async with receiving() as receiver:
        yield receiver


def answering(*turns: Sequence[str]) -> "Resolver":
    return Resolver(turns)


class Resolver:
    """Answers with each of the lists in turn, and counts how often it was asked."""

    def __init__(self, turns: Sequence[Sequence[str]]) -> None:
        self._turns = itertools.cycle(turns)
        self.asked = 0

    async def __call__(self, host: str, port: int) -> Sequence[str]:
        self.asked += 1
        return next(self._turns)


def open_to(receiver: Receiver, *allowed: str) -> EgressRules:
    """Rules that leave only the check of addresses between a URL and the listener."""
    return EgressRules(networks(allowed), frozenset({receiver.port}), http=True)


async def refused(sender: Sender, url: str) -> None:
    with pytest.raises(EgressRefused):
        await sender.post(url, {}, b"{}")


async def test_names_that_lead_inside_are_refused(canary: Receiver) -> None:
    turns = [
        turn
        for address in INTERNAL
        for turn in ([address], ["93.184.215.14", address], [address, "2606:2800:21f:cb07:6820:80da:af6b:8b2c"])
    ]
    resolver = answering(*turns)
    sender = Sender(open_to(canary), 30.0, resolver)
    for _ in turns:
        await refused(sender, f"http://hooks.example.org:{canary.port}/")
    assert resolver.asked == len(turns)
    assert canary.connections == 0


async def test_disguised_addresses_are_refused_in_every_shape_of_url(canary: Receiver) -> None:
    sender = Sender(open_to(canary), 5.0, answering(["127.0.0.1"]))
    await refused(Sender(open_to(canary), 30.0), f"http://localhost:{canary.port}/")
    hosts = [*DISGUISES, *(f"[{item}]" if ":" in item else item for item in INTERNAL)]
    tried = 0
    for host, shape in itertools.product(hosts, SHAPES):
        tried += 1
        await refused(sender, shape.format(host=host, port=canary.port))
    assert tried > 500
    assert canary.connections == 0


async def test_a_resolver_that_changes_its_mind_is_asked_once_a_try_and_held_to_it(canary: Receiver) -> None:
    async with receiving() as allowed:
        server = await asyncio.start_server(allowed.serve, "127.0.0.2", canary.port)
        resolver = answering(["127.0.0.2"], ["127.0.0.1"])
        sender = Sender(open_to(canary, "127.0.0.2/32"), 30.0, resolver)
        for _ in range(20):
            answer = await sender.post(f"http://hooks.example.org:{canary.port}/", {}, b"{}")
            assert answer.status == 204
            await refused(sender, f"http://hooks.example.org:{canary.port}/")
        server.close()
        await server.wait_closed()
    assert (resolver.asked, allowed.connections, canary.connections) == (40, 20, 0)
    assert allowed.requests[0].headers["host"] == f"hooks.example.org:{canary.port}"


async def test_redirections_and_proxies_lead_nowhere(canary: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{canary.port}")
    async with receiving() as receiver:
        sender = Sender(open_to(receiver, "127.0.0.1/32"), 30.0)
        for status in (301, 302, 303, 307, 308):
            receiver.answer(f"{status} Moved\r\nLocation: http://127.0.0.1:{canary.port}/")
            assert (await sender.post(receiver.url, {}, b"{}")).status == status
        assert receiver.connections == 5
    assert canary.connections == 0


async def test_the_certificate_is_asked_for_by_the_name_and_a_stranger_is_refused(canary: Receiver) -> None:
    hello = bytearray()

    async def listen(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        hello.extend(await reader.read(4096))
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        writer.close()

    server = await asyncio.start_server(listen, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    rules = EgressRules(networks(["127.0.0.1/32"]), frozenset({port}))
    sender = Sender(rules, 30.0, answering(["127.0.0.1"]))
    with pytest.raises(CallbackFailed):
        await sender.post(f"https://hooks.example.org:{port}/", {}, b"{}")
    server.close()
    await server.wait_closed()
    assert b"hooks.example.org" in hello


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    """A folder with a certificate for one name, and its key."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl, which makes the certificate, is not installed")
    made = ["-keyout", str(tmp_path / "key"), "-out", str(tmp_path / "certificate"), "-subj", "/CN=receiver"]
    named = ["-addext", "subjectAltName=DNS:hooks.example.org", "-newkey", "rsa:2048", "-nodes", "-days", "2"]
    subprocess.run(["openssl", "req", "-x509", *named, *made], check=True, capture_output=True, timeout=60)
    return tmp_path


async def test_a_certificate_has_to_be_for_the_name_whatever_the_address(certificate: Path) -> None:
    serving = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    serving.load_cert_chain(certificate / "certificate", certificate / "key")
    receiver = Receiver()
    server = await asyncio.start_server(receiver.serve, "127.0.0.1", 0, ssl=serving)
    port = server.sockets[0].getsockname()[1]
    trusting = ssl.create_default_context(cafile=certificate / "certificate")
    rules = EgressRules(networks(["127.0.0.1/32"]), frozenset({port}))
    sender = Sender(rules, 30.0, answering(["127.0.0.1"]), trusting)
    assert (await sender.post(f"https://hooks.example.org:{port}/", {}, b"{}")).status == 204
    with pytest.raises(CallbackFailed, match="certificate"):
        await sender.post(f"https://other.example.org:{port}/", {}, b"{}")
    with pytest.raises(CallbackFailed, match="certificate"):
        await sender.post(f"https://127.0.0.1:{port}/", {}, b"{}")
    server.close()
    await server.wait_closed()
    assert len(receiver.requests) == 1


async def test_a_receiver_that_says_nothing_is_given_up(canary: Receiver) -> None:
    async def listen(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    server = await asyncio.start_server(listen, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    sender = Sender(EgressRules(networks(["127.0.0.1/32"]), frozenset({port}), http=True), 0.2)
    with pytest.raises(CallbackFailed, match=r"no answer within 0\.2 s"):
        await sender.post(f"http://127.0.0.1:{port}/", {}, b"{}")
    server.close()
    await server.wait_closed()


async def test_of_an_endless_answer_only_so_much_is_read(canary: Receiver) -> None:
    sent = 0
    over = asyncio.Event()

    async def listen(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        try:
            while True:
                writer.write(b"x" * 65536)
                await writer.drain()
                sent += 65536
        except ConnectionError:
            over.set()
        writer.close()

    server = await asyncio.start_server(listen, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    sender = Sender(EgressRules(networks(["127.0.0.1/32"]), frozenset({port}), http=True), 60.0)
    assert (await sender.post(f"http://127.0.0.1:{port}/", {}, b"{}")).status == 200
    await asyncio.wait_for(over.wait(), 60)
    server.close()
    await server.wait_closed()
    assert sent < 400 * MOST_READ


async def test_nobody_listening_is_worth_another_try(canary: Receiver) -> None:
    async with receiving() as gone:
        port = gone.port
    sender = Sender(EgressRules(networks(["127.0.0.1/32"]), frozenset({port}), http=True), 30.0)
    with pytest.raises(CallbackFailed, match="ConnectError"):
        await sender.post(f"http://127.0.0.1:{port}/", {}, b"{}")


async def test_a_name_that_does_not_exist_is_worth_another_try(canary: Receiver) -> None:
    async def fails(host: str, port: int) -> Sequence[str]:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    with pytest.raises(CallbackFailed, match="no address now"):
        await Sender(EgressRules(), 5.0, fails).post("https://hooks.example.org/", {}, b"{}")
    with pytest.raises(EgressRefused, match="has no address"):
        await Sender(EgressRules(), 5.0, answering([])).post("https://hooks.example.org/", {}, b"{}")
