"""The ways to misbehave: a mode is a function that answers for a blob, or for a manifest (its name begins with
m_), as a row of MODES."""

import gzip

from node import LOGIN

SPOILT_FROM = 100_000  # smaller blobs, configurations, are served as they should be


def plain(ask, data, image):
    ask.part(data)


def range_of(show):
    """Serves what was asked for with another Content-Range."""
    def serve(ask, data, image):
        begin, end, _ = ask.asked(len(data))
        ask.part(data, content_range=show(begin, end, len(data)))
    return serve


def spoilt(change):
    def serve(ask, data, image):
        ask.part(data, change)
    return serve


def no_ranges(ask, data, image):
    ask.answer(200, data)


def partial_for_whole(ask, data, image):
    ask.answer(206, data)


def shifted(ask, data, image):
    begin, end, _ = ask.asked(len(data))
    back = min(1, begin)
    ask.part(data, lambda all_, b, e: all_[b - back:e - back],
             content_range=f"bytes {begin - back}-{end - back - 1}/{len(data)}")


def two_ranges(ask, data, image):
    ask.part(data, more=[("Content-Range", "bytes 0-0/1")])


def multipart(ask, data, image):
    ask.part(data, lambda all_, b, e: b"--x\r\n\r\n" + all_[b:e] + b"\r\n--x--\r\n",
             more=[("Content-Type", "multipart/byteranges; boundary=x")])


def breaks_off(after, times=None):
    """The connection ends after so many bytes: always, or the first `times` times."""
    def serve(ask, data, image):
        if times is not None and ask.registry.count(image.repository, "broken") > times:
            return ask.part(data)
        begin, end = ask.part_head(len(data))
        ask.wfile.write(data[begin:end][:after])
        ask.close_connection = True
    return serve


def short_length(ask, data, image):
    ask.part(data, length=10)
    ask.close_connection = True


def compressed(ask, data, image):
    ask.part(data, lambda all_, b, e: gzip.compress(all_[b:e], 1), more=[("Content-Encoding", "gzip")])


def chunks(cut=0, trailer=b""):
    def serve(ask, data, image):
        begin, end, is_range = ask.asked(len(data))
        more = [("Content-Range", f"bytes {begin}-{end - 1}/{len(data)}")] if is_range else []
        ask.head(206 if is_range else 200, more=[*more, ("Transfer-Encoding", "chunked")])
        body = data[begin:end - cut]
        for at in range(0, len(body), 40_000):
            part = body[at:at + 40_000]
            ask.wfile.write(b"%x\r\n" % len(part) + part + b"\r\n")
        ask.wfile.write(b"0\r\n" + trailer + b"\r\n")
    return serve


def flipped(first=None):
    """One wrong byte: always, or in the first answers."""
    def serve(ask, data, image):
        if first is not None and ask.registry.count(image.repository, "flipped") > first:
            return ask.part(data)
        return ask.part(data[:5000] + bytes([data[5000] ^ 1]) + data[5001:])
    return serve


def redirect(target, status=307):
    def serve(ask, data, image):
        ask.answer(status, more=[("Location", target(ask, image))])
    return serve


def store(login="", query=""):
    return lambda ask, image: (f"http://{login}127.0.0.1:{ask.registry.port}/store/{image.repository}/blobs/"
                               + ask.path.split("?")[0].split("/")[-1] + query)


def again(ask, image):
    return ask.path.split("?")[0] + f"?n={ask.registry.count(image.repository, 'redirected')}"


def refuses(is_refused, refuse, of_each_blob=False):
    """Refuses the n-th requests for which that is so: of all the image's blobs, or of each blob."""
    def serve(ask, data, image):
        counted = ask.path.split("?")[0] if of_each_blob else "blobs"
        refused = is_refused(ask.registry.count(image.repository, counted))
        return refuse(ask) if refused else ask.part(data)
    return serve


def status(code, patience=None):
    return lambda ask: ask.refuse(code, [("Retry-After", str(patience))] if patience else [])


def limited(rate, burst, patience=None):
    def serve(ask, data, image):
        if ask.registry.admits(image.group, rate, burst):
            return ask.part(data)
        return ask.limit(patience)
    return serve


def hangs(with_head):
    def serve(ask, data, image):
        if with_head:
            ask.part_head(len(data))
            ask.wfile.flush()
        ask.pause(600)
    return serve


def trickles(step, pause):
    return lambda ask, data, image: ask.trickle(data, step, pause)


SLOWLY = 150_000, 0.05  # bytes, and seconds between them


def whole_slowly(ask, data, image):
    step, pause = SLOWLY
    ask.head(200, len(data))
    for at in range(0, len(data), step):
        ask.wfile.write(data[at:at + step])
        ask.pause(pause)


def first_slowly(then):
    """The first request for each blob is served slowly."""
    def serve(ask, data, image):
        is_first = ask.registry.count(image.repository, "slow " + ask.path.split("?")[0]) == 1
        return ask.trickle(data, *SLOWLY) if is_first else then(ask, data, image)
    return serve


def late(seconds):
    def serve(ask, data, image):
        ask.pause(seconds)
        ask.part(data)
    return serve


def continued(ask, data, image):
    ask.wfile.write(b"HTTP/1.1 100 Continue\r\n\r\n" * 50)
    ask.part(data)


def only_head(code, serve=plain):
    return lambda ask, data, image: ask.refuse(code) if ask.headers.get("Range") else serve(ask, data, image)


# For manifests: (ask, type, data).

def m_cut(ask, kind, data):
    ask.answer(200, data[:100], kind, length=len(data))
    ask.close_connection = True


def m_bytes(text):
    def serve(ask, kind, data):
        ask.wfile.write(text + data)
        ask.close_connection = True
    return serve


def m_status(code, patience=None):
    return lambda ask, kind, data: status(code, patience)(ask)


def m_late(seconds):
    def serve(ask, kind, data):
        ask.pause(seconds)
        ask.reset()
    return serve


def m_get_only(ask, kind, data):
    ask.refuse(405) if ask.command == "HEAD" else ask.answer(200, data, kind)


def m_more(*headers):
    return lambda ask, kind, data: ask.answer(200, data, kind, headers)


def m_compressed(ask, kind, data):
    packed = ask.command == "GET"
    ask.answer(200, gzip.compress(data) if packed else data, kind,
               [("Content-Encoding", "gzip")] if packed else [])


MODES = {
    # As it should be.
    "ok": plain, "large": plain, "layers": plain, "zstd": plain, "tar": plain, "small": plain, "basic": plain,
    # Ranges.
    "norange": no_ranges, "wholeas206": partial_for_whole, "shifted": shifted, "tworanges": two_ranges,
    "multipart": multipart, "range416": only_head(416),
    "wrongtotal": range_of(lambda b, e, n: f"bytes {b}-{e - 1}/{n + 1}"),
    "weakrange": range_of(lambda b, e, n: f"Bytes={b}-{e - 1}/{n}"),
    "otherbytes": spoilt(lambda all_, b, e: all_[b + 1:e + 1] if e < len(all_) else all_[b:e]),
    "shortpart": spoilt(lambda all_, b, e: all_[b:max(b + 1, e - 1000)]),
    # Bodies.
    "breaks": breaks_off(70_000), "breaksonce": breaks_off(70_000, 1),
    "breaksonce416": only_head(416, breaks_off(70_000, 1)), "reset": breaks_off(0, 2),
    "longbody": spoilt(lambda all_, b, e: all_[b:e] + b"X" * 5000), "shortlength": short_length,
    "compressed": compressed, "chunked": chunks(), "chunkedshort": chunks(1000),
    "trailer": chunks(trailer=b"Content-Range: bytes 0-0/1\r\n"), "continued": continued,
    "flipped": flipped(), "flippedfirst": flipped(4), "empty204": lambda ask, data, image: ask.answer(204),
    # Redirects.
    "redirect": redirect(store()), "redirectsigned": redirect(store(query="?sig=S"), 302),
    "redirectlogin": redirect(store(login="user:pass@")), "redirectloop": redirect(again),
    "redirectmetadata": redirect(lambda ask, image: "http://169.254.169.254/latest/meta-data"),
    "basicredirect": redirect(store()),
    # Limits and failures.
    "limitedlater": refuses(lambda n: n > 1, status(429, 5)), "limitedfirst": refuses(lambda n: n <= 2, status(429, 2)),
    "rate": limited(2, 10, 1), "limited": limited(10, 20),
    # Of each blob: which of the image's requests is the second is chance, and so were the ends of both sides.
    "busy": refuses(lambda n: n % 2 == 1, status(503), of_each_blob=True),
    "busyshared": refuses(lambda n: n % 2 == 1, status(503)),
    "busyonce": refuses(lambda n: n == 1, status(503)),
    "gone": refuses(lambda n: True, status(404)), "denied": refuses(lambda n: n > 1, status(401)),
    # Time.
    "drips": trickles(200, 1), "slow": trickles(4000, 0.2), "hangs": hangs(False), "hangsafterhead": hangs(True),
    "late": late(4),
    # A large blob, whose parts come side by side, or cannot.
    "largeslow": trickles(*SLOWLY), "largeslownorange": whole_slowly,
    "largeslowlimited": first_slowly(refuses(lambda n: n == 1, status(429, 1))),
}
MANIFEST_MODES = {
    "mlimited": m_status(429, 7), "mbusy": m_status(500), "mhangs": m_late(60), "mcut": m_cut,
    "mpage": lambda ask, kind, data: ask.answer(200, b"<html>login</html>", "text/html"),
    "mgarbage": lambda ask, kind, data: m_bytes(b"garbage\r\n\r\n")(ask, kind, b""),
    "mnegative": m_bytes(b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\nContent-Type: x\r\n\r\n"),
    "m206": lambda ask, kind, data: ask.answer(206, data, kind), "mcompressed": m_compressed,
    "mgetonly": m_get_only, "motherdigest": m_more(("Docker-Content-Digest", "sha256:" + "0" * 64)),
    "mheaders": m_more(*((f"X-{i}", "y" * 1000) for i in range(300))),
}
# Images of unusual form, served as they should be.
FORMS = ("sizesmall", "sizelarge", "sizehuge", "sizenegative", "sizeoverflow", "sizezero", "samelayers",
         "samelayersdiffer", "emptylayer", "nolayers", "encrypted", "artifact", "index", "indexvariants",
         "indextwice", "indexnoplatform", "indexarm", "index386", "indexempty", "nested", "longmanifest",
         "deepmanifest", "notjson", "manylayers")
ALL = (*MODES, *MANIFEST_MODES, *FORMS)
HEALING = (*MODES, *MANIFEST_MODES)  # those of the registry, and not of the image
HOLDING_UP = ("drips", "slow", "hangs", "hangsafterhead", "late", "mhangs")  # other downloads
# How both sides end before the registry heals.
CHANCE = ("busyshared",)
# Where both sides are the runtime's: it ends its requests for the other blobs as soon as one is refused, and whether an
# ended one was a blob's second depends on the machine's load.
CHANCE_OF_RUNTIME = ("busy",)
# Several images that misbehave: for each, which of the registries has it, and its mode.
SEVERAL = {f"{mode} x3": [(0, mode)] * 3 for mode in ("limited", "rate", "drips", "hangs", "hangsafterhead")}
SEVERAL |= {f"{mode} on 8": [(at, mode) for at in range(8)] for mode in ("drips", "hangs", "hangsafterhead")}


def serve(ask, image, kind, reference):
    if image.mode.startswith("basic") and ask.headers.get("Authorization") != f"Basic {LOGIN}":
        return ask.answer(401, b"{}", "application/json", [("WWW-Authenticate", 'Basic realm="x"')])
    healed = ask.registry.healed
    if image.mode == "limited" and kind == "manifests" and not healed and not ask.registry.admits(image.group, 10, 20):
        return ask.limit()
    if kind == "manifests":
        if reference not in image.documents:
            return ask.refuse(404)
        return MANIFEST_MODES.get("" if healed else image.mode, lambda ask, kind, data: ask.answer(200, data, kind))(
            ask, *image.documents[reference])
    data = image.blobs.get(reference)
    if kind != "blobs" or data is None:
        return ask.refuse(404)
    if ask.command == "GET":
        ask.registry.count(image.repository, reference)
    # A limit of requests is one for the small ones, too.
    if healed or ask.command == "HEAD" or (len(data) < SPOILT_FROM and image.mode != "limited"):
        return ask.part(data)
    return MODES.get(image.mode, plain)(ask, data, image)
