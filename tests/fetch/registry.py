"""A registry with a mode for each way to misbehave: the repository MODE/GROUP/NAME has an image v1 of its own, and
what asks for it meets that mode. Limits and counts of requests are those of a group. The content is that of mode and
name, in whatever group."""

import socket
import struct
import threading
import time
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from images import Image


class Bucket:
    """So many requests a second, and so many at once."""

    def __init__(self, rate, burst):
        self.rate, self.burst, self.tokens, self.at = rate, burst, burst, time.monotonic()

    def take(self):
        now = time.monotonic()
        self.tokens = min(self.burst, self.tokens + (now - self.at) * self.rate)
        self.at = now
        if self.tokens < 1:
            return False
        self.tokens -= 1
        return True


class Counted:
    """A file that counts what is written."""

    def __init__(self, file, count):
        self.file, self.count = file, count

    def write(self, data):
        for at in range(0, len(data), 100_000):  # what a client that goes has left does not count
            piece = data[at:at + 100_000]
            self.file.write(piece)
            self.count(len(piece))

    def __getattr__(self, name):
        return getattr(self.file, name)


class Registry:
    """Serves on loopback from threads of its own. `delay`: what each answer takes at least, in seconds."""

    def __init__(self, modes, delay=0.04):
        self.modes, self.delay = modes, delay
        self.lock = threading.RLock()
        self.images, self.buckets = {}, {}
        self.asked = Counter()     # (repository, what)
        self.most_at_once = Counter()  # repository: of blobs
        self.under_way = Counter()
        self.sent = Counter()      # bytes, by repository
        self.ending = threading.Event()  # of what is under way
        self.healed = False
        registry = self

        class Bound(Handler):
            def setup(self):
                self.registry = registry
                super().setup()

        class Server(ThreadingHTTPServer):
            daemon_threads, request_queue_size = True, 256

            def handle_error(self, request, client_address):
                pass  # a client that has gone

        self.server = Server(("127.0.0.1", 0), Bound)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def image(self, repository):
        with self.lock:
            if repository not in self.images:
                self.images[repository] = Image.of_repository(repository)
            return self.images[repository]

    def count(self, repository, what):
        with self.lock:
            self.asked[repository, what] += 1
            return self.asked[repository, what]

    def requests(self, repository):
        with self.lock:
            return sum(n for (of, what), n in self.asked.items() if of == repository and what in ("GET", "HEAD"))

    def heal(self):
        """Ends what is under way, as a restart does, and serves all as it should be from now on."""
        self.healed, ending = True, self.ending
        self.ending = threading.Event()
        ending.set()

    def fall_ill(self):
        with self.lock:
            self.healed = False
            self.buckets.clear()

    def admits(self, name, rate, burst):
        with self.lock:
            return self.buckets.setdefault(name, Bucket(rate, burst)).take()

    def stop(self):
        self.ending.set()
        self.server.shutdown()
        self.server.server_close()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    registry = None

    def log_message(self, *_):
        pass

    def setup(self):
        super().setup()
        self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.repository = ""
        self.wfile = Counted(self.wfile, self.count_sent)

    def count_sent(self, size):
        with self.registry.lock:
            self.registry.sent[self.repository] += size

    def do_HEAD(self):
        self.do_GET()

    def do_GET(self):
        try:
            self.route()
        except OSError:
            self.close_connection = True

    def route(self):
        self.ending = self.registry.ending  # before `healed` is read: what began before the end, ends
        path = self.path.split("?")[0]
        self.pause(self.registry.delay)
        if path in ("/v2", "/v2/"):
            return self.answer(200, b"{}", "application/json")
        parts = path.strip("/").split("/")
        if len(parts) < 5 or parts[0] not in ("v2", "store"):
            return self.refuse(404)
        repository, kind, reference = "/".join(parts[1:-2]), parts[-2], parts[-1]
        self.repository = repository
        self.registry.count(repository, self.command)
        image = self.registry.image(repository)
        if parts[0] == "store":
            return self.part(image.blobs[reference])
        return self.registry.modes.serve(self, image, kind, reference)

    # What modes are made of.

    def pause(self, seconds):
        if seconds and self.ending.wait(seconds):
            raise OSError("the registry ends")

    def head(self, status, length=None, kind="application/octet-stream", more=()):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        if length is not None:
            self.send_header("Content-Length", str(length))
        for name, value in more:
            self.send_header(name, value)
        self.end_headers()

    def answer(self, status, body=b"", kind="application/octet-stream", more=(), length=None):
        self.head(status, len(body) if length is None else length, kind, more)
        if self.command != "HEAD":
            self.wfile.write(body)

    def refuse(self, status, more=()):
        self.answer(status, b'{"errors":[{"code":"UNKNOWN","message":"no"}]}', "application/json", more)

    def limit(self, patience=None):
        self.refuse(429, [("Retry-After", str(patience))] if patience else [])

    def reset(self):
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.connection.close()
        self.close_connection = True

    def asked(self, size):
        """The first byte that was asked for, and the one after the last; whether that was a range."""
        text = self.headers.get("Range")
        if not text:
            return 0, size, False
        first, last = text.split("=")[1].split("-")
        return int(first), min(int(last) + 1, size) if last else size, True

    def part_head(self, size, more=(), content_range=None, length=None):
        begin, end, is_range = self.asked(size)
        said = content_range or f"bytes {begin}-{end - 1}/{size}"
        more = [*more, ("Content-Range", said)] if is_range else list(more)
        self.head(206 if is_range else 200, end - begin if length is None else length, more=more)
        return begin, end

    def part(self, data, change=None, **how):
        """Serves what was asked for; `change` makes other bytes of it: of data, begin, end."""
        begin, end, _ = self.asked(len(data))
        if begin >= len(data) > 0:
            return self.refuse(416)
        body = change(data, begin, end) if change else data[begin:end]
        self.part_head(len(data), length=how.pop("length", len(body)), **how)
        if self.command != "HEAD":
            self.wfile.write(body)
        return None

    def trickle(self, data, step, pause):
        begin, end = self.part_head(len(data))
        for at in range(begin, end, step):
            self.wfile.write(data[at:min(at + step, end)])
            self.wfile.flush()
            self.pause(pause)
