"""A seeded corpus of requests that are wrong, each with the statuses that may answer it.

Every body asks for hotel/demo and carries the word of EVIL, with a key that is good: a reader that
is fooled about where a request begins or ends sends that word to a provider, which counts it.
"""

import json

from harness import KEY
from swarm import CLOSE, FIN, RESET, Plan

EVIL = b"smuggled-by-a-hostile-client"
BODY = json.dumps({"model": "hotel/demo", "messages": [], "user": EVIL.decode()}).encode()
AUTH = b"Authorization: Bearer " + KEY.encode() + b"\r\n"
POST = b"POST /v1/chat/completions HTTP/1.1\r\nHost: gateway\r\n" + AUTH
LENGTH = b"Content-Length: %d\r\n" % len(BODY)
WHOLE = POST + LENGTH + b"\r\n" + BODY
CHUNKED = POST + b"Transfer-Encoding: chunked\r\n\r\n"
CHUNKS = b"%x\r\n" % len(BODY) + BODY + b"\r\n0\r\n\r\n"
HEALTH = b"GET /health HTTP/1.1\r\nHost: gateway\r\n\r\n"
MAX_BODY = 1 << 20  # what the sidecar under test is configured with
REFUSALS = {400, 401, 404, 405, 411, 413, 414, 415, 417, 431, 501, 505}


def _word(rng, low=1, high=12):
    return bytes(rng.choice(b"abcdefghijklmnopqrstuvwxyz") for _ in range(rng.randint(low, high)))


def _controls(rng):
    return bytes([rng.choice([c for c in range(0x20) if c not in (0x09, 0x0A, 0x0D)] + [0x7F])])


def _line(rng):
    return rng.choice([
        b"GET /health", b"GET", b"", b" ", b"GET  HTTP/1.1", b"/health HTTP/1.1", b"GET /health HTTP",
        b"GET /health http/1.1", b"GET /health HTTP/11", b"GET /health HTTP/1.1 " + _word(rng),
        b"GET http://x/health HTTP/1.1", b"GET * HTTP/1.1", b"GET health HTTP/1.1", b"GET\t/health\tHTTP/1.1",
        b" GET /health HTTP/1.1", b"G(T /health HTTP/1.1", b"GET /he alth HTTP/1.1", b"GET /h\xc3\xa9 HTTP/1.1",
        b"GET /health HTTP/1.1\t", b"GET /health XTTP/1.1", b"GET /health HTTP/-1.1", b"\xff\xfe / HTTP/1.1",
    ])


def request_line(rng):
    return _line(rng) + b"\r\nHost: x\r\n\r\n" + WHOLE, {400}


def version(rng):
    number = rng.choice([b"2.0", b"1.2", b"0.9", b"3.0", b"9.9", b"1.9"])
    return b"POST /v1/chat/completions HTTP/" + number + b"\r\n" + AUTH + LENGTH + b"\r\n" + BODY, {505}


def method(rng):
    name = rng.choice([b"BREW", b"CONNECT", b"PRI", b"post", b"get", b"PROPFIND", _word(rng).upper() + b"X"])
    return name + b" /v1/chat/completions HTTP/1.1\r\nHost: x\r\n" + AUTH + LENGTH + b"\r\n" + BODY, {501}


def length_beside_coding(rng):
    fields = [b"Content-Length: %d\r\n" % rng.choice([0, 5, len(BODY), 1 << 19]), b"Transfer-Encoding: chunked\r\n"]
    rng.shuffle(fields)
    filler = b"X-%s: %s\r\n" % (_word(rng), _word(rng))
    return POST + filler.join(fields) + b"\r\n" + rng.choice([CHUNKS, b"0\r\n\r\n"]) + WHOLE, {400}


def two_lengths(rng):
    first, second = rng.choice([(len(BODY), 0), (0, len(BODY)), (len(BODY), len(BODY)), (5, 6), (1, 100000)])
    name = rng.choice([b"Content-Length", b"content-length", b"CONTENT-LENGTH"])
    return POST + b"Content-Length: %d\r\n%s: %d\r\n\r\n" % (first, name, second) + BODY + WHOLE, {400}


def length_no_number(rng):
    size = b"%d" % len(BODY)
    value = rng.choice([
        size + b", " + size, size + b"," + size, b"+" + size, b"-" + size, b"-1", b"0x10", b"1e3", size + b".0",
        b"", b" ", size[:1] + b" " + size[1:], size + b";", b"\"" + size + b"\"", b"ten", b"\xd9\xa1\xd9\xa2", b"1_000",
    ])
    return POST + b"Content-Length: " + value + b"\r\n\r\n" + BODY, {400}


def length_too_large(rng):
    value = rng.choice([
        b"%d" % (MAX_BODY + 1), b"9" * rng.randint(17, 400), b"18446744073709551616", b"18446744073709551615",
        b"9223372036854775808", b"4294967296", b"99999999999",
    ])
    return POST + b"Content-Length: " + value + b"\r\n\r\n" + BODY, {413}


def length_missing(rng):
    return POST + b"X-%s: y\r\n" % _word(rng) + b"\r\n" + BODY, {411}


def coding(rng):
    value = rng.choice([
        b"gzip", b"gzip, chunked", b"chunked, gzip", b"chunked, chunked", b"xchunked", b"chunked;q=1", b"identity",
        b"chunked,", b"\"chunked\"", b"chun ked", b"",
    ])
    return POST + b"Transfer-Encoding: " + value + b"\r\n\r\n" + CHUNKS + WHOLE, {501}


def two_codings(rng):
    second = rng.choice([b"Transfer-Encoding: chunked", b"transfer-encoding: chunked"])
    return POST + b"Transfer-Encoding: chunked\r\n" + second + b"\r\n\r\n" + CHUNKS + WHOLE, {400}


def old_version_chunked(rng):
    line = b"POST /v1/chat/completions HTTP/1.0\r\nX: %s\r\n" % _word(rng)
    return line + AUTH + b"Transfer-Encoding: chunked\r\n\r\n" + CHUNKS, {400}


def bare_line_feed(rng):
    head = POST + LENGTH
    ends = [i for i in range(len(head)) if head[i : i + 2] == b"\r\n"]
    at = rng.choice(ends)
    return head[:at] + head[at + 1 :] + b"\r\n" + BODY, {400}


def bare_carriage_return(rng):
    return POST + b"X: a\rb\r\n" + b"Y: " + _word(rng) + b"\r\n" + LENGTH + b"\r\n" + BODY, {400}


def control_in_value(rng):
    return POST + b"X: a" + _controls(rng) + b"b\r\n" + LENGTH + b"\r\n" + BODY, {400}


def control_in_name(rng):
    return POST + b"X" + _controls(rng) + b": a\r\n" + LENGTH + b"\r\n" + BODY, {400}


def control_in_target(rng):
    return b"POST /v1/chat" + _controls(rng) + b"/completions HTTP/1.1\r\nHost: x\r\n" + AUTH + LENGTH + b"\r\n" + BODY, {400}


def field_form(rng):
    field = rng.choice([
        b"Content-Length : 0", b"Content-Length\t: 0", b": x", b"no colon", b"X: a\r\n folded", b"X: a\r\n\tfolded",
        b" X: leading", b"X Y: z", b"(X): z", b"X@: z", b"\xc3\xa9: z",
    ])
    return POST + field + b"\r\n" + LENGTH + b"\r\n" + BODY, {400}


def host(rng):
    hosts = rng.choice([b"", b"Host: a\r\nHost: b\r\n", b"Host: a\r\nhost: a\r\n"])
    return b"POST /v1/chat/completions HTTP/1.1\r\n" + hosts + AUTH + LENGTH + b"\r\n" + BODY, {400}


def huge_field(rng):
    return POST + b"X: " + b"y" * rng.randint(33000, 60000) + b"\r\n" + LENGTH + b"\r\n" + BODY, {431}


def endless_head(rng):
    return POST + b"".join(b"X-%d: %s\r\n" % (i, b"z" * 60) for i in range(rng.randint(600, 900))), {431}


def field_flood(rng):
    count = rng.randint(101, 2000)
    return POST + b"".join(b"X-%d: y\r\n" % i for i in range(count)) + LENGTH + b"\r\n" + BODY, {431}


def long_target(rng):
    path = b"/v1/chat/completions?" + b"a" * rng.randint(8001, 20000)
    return b"POST " + path + b" HTTP/1.1\r\nHost: x\r\n" + AUTH + LENGTH + b"\r\n" + BODY, {414}


def expectation(rng):
    return POST + b"Expect: " + rng.choice([b"tea", b"200-ok", b"100-continue, tea"]) + b"\r\n" + LENGTH + b"\r\n" + BODY, {417}


def content_coding(rng):
    value = rng.choice([b"gzip", b"br", b"deflate", b"zstd", b"gzip, identity"])
    return POST + b"Content-Encoding: " + value + b"\r\n" + LENGTH + b"\r\n" + BODY, {415}


def encoded_line_end(rng):
    extra = rng.choice([b"%0d%0aX:%20y", b"%0D%0A%0D%0AGET%20/health", b"%0a", b"%00", b"%25%30%64"])
    close = b"Connection: close\r\n"
    if rng.random() < 0.5:
        target = b"/v1/chat/completions" + extra
        return b"POST " + target + b" HTTP/1.1\r\nHost: x\r\n" + AUTH + close + LENGTH + b"\r\n" + BODY, {404}
    key = b"Authorization: Bearer " + KEY.encode() + extra + b"\r\n"
    return b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\n" + key + close + LENGTH + b"\r\n" + BODY, {401}


def chunk_size(rng):
    size = b"%x" % len(BODY)
    wrong = rng.choice([
        b"zz\r\n", b"-1\r\n", b"+5\r\n", b"0x5\r\n", b"\r\n", b" 5\r\n", size + b"\n", size + b"\r\r\n", b"5;\n",
        size + b"," + size + b"\r\n", b"0" * 16 + size + b"\r\n", b"f" * 16 + b"\r\n", b"f" * 300 + b"\r\n",
        size + b";" + b"e" * 300 + b"\r\n",
    ])
    return CHUNKED + wrong + BODY + b"\r\n0\r\n\r\n" + WHOLE, {400}


def chunk_end(rng):
    size = b"%x\r\n" % len(BODY)
    wrong = rng.choice([b"0\r\n\r\n", b"\n0\r\n\r\n", b"xx0\r\n\r\n", b"\r0\r\n\r\n", b"\r\n0\r\nX\n\r\n", b"\r\n0\n\n"])
    return CHUNKED + size + BODY + wrong + WHOLE, {400}


def trailer_flood(rng):
    return CHUNKED + CHUNKS[:-2] + b"T: %s\r\n" % _word(rng) * 2000 + b"\r\n", {400}


def chunk_too_large(rng):
    size = rng.choice([b"%x" % (MAX_BODY + 1), b"f" * 15, b"7fffffffffffffff"[1:], b"100000000"])
    return CHUNKED + size + b"\r\n" + BODY, {413}


def garbage(rng):
    data = bytes(rng.getrandbits(8) for _ in range(rng.randint(1, 400)))
    return data.replace(b"\n", b"x") + b"x\n", {400}


def tls_hello(rng):
    return b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(rng.getrandbits(8) for _ in range(32)) + b"x\n", {400}


CLASSES = [
    request_line, version, method, length_beside_coding, two_lengths, length_no_number, length_too_large,
    length_missing, coding, two_codings, old_version_chunked, bare_line_feed, bare_carriage_return, control_in_value,
    control_in_name, control_in_target, field_form, host, huge_field, endless_head, field_flood, long_target,
    expectation, content_coding, encoded_line_end, chunk_size, chunk_end, trailer_flood, chunk_too_large, garbage,
    tls_hello,
]
TRICKLED = [version, method, two_lengths, length_beside_coding, length_no_number, host, expectation, content_coding]


def whole(rng, make):
    """Sent at once or in a few pieces; must be answered as said, and the connection closed."""
    data, statuses = make(rng)
    cuts = sorted(rng.sample(range(1, len(data)), min(rng.choice([0, 0, 0, 1, 2]), len(data) - 1)))
    pieces = [data[a:b] for a, b in zip([0, *cuts], [*cuts, len(data)])]
    return Plan(pieces, gap=0.001, tag=(make.__name__, statuses))


def trickle(rng):
    """One byte at a time."""
    make = rng.choice(TRICKLED)
    data, statuses = make(rng)
    end = data.index(b"\r\n\r\n") + 4 if b"\r\n\r\n" in data else len(data)
    return Plan([data[i : i + 1] for i in range(end)], gap=0.0005, tag=("trickle " + make.__name__, statuses))


def early_end(rng):
    """A good request of which the end never comes."""
    data = rng.choice([WHOLE, CHUNKED + CHUNKS])
    cut = rng.randint(0, len(data) - 1)
    return Plan([data[:cut]] if cut else [], then=rng.choice([FIN, CLOSE, RESET]), tag=("early end", {None}))


def reset_inside(rng):
    """A request that is wrong, and a client that does not wait for the answer."""
    data, statuses = rng.choice(CLASSES)(rng)
    cut = rng.randint(1, len(data))
    return Plan(data[:cut], then=RESET, tag=("reset", statuses | {None}))


def pipelined(rng):
    """Good requests with one behind them that is wrong: the good ones are served, then it is over."""
    count = rng.randint(1, 4)
    data, statuses = rng.choice(CLASSES)(rng)
    return Plan(HEALTH * count + data, tag=("pipelined", statuses, count))


def mutated(rng):
    """A request of an unknown caller with bytes changed: whatever it means now, it is refused."""
    data = bytearray(WHOLE.replace(KEY.encode(), b"vk-of-nobody-000000000000"))
    for _ in range(rng.randint(1, 6)):
        at = rng.randrange(len(data) - len(BODY))
        kind = rng.randrange(3)
        if kind == 0:
            data[at] = rng.getrandbits(8)
        elif kind == 1:
            del data[at]
        else:
            data.insert(at, rng.getrandbits(8))
    return Plan(bytes(data), then=FIN, tag=("mutated", REFUSALS | {None}))


def corpus(rng, count):
    """`count` plans, every class among them."""
    for i in range(count):
        kind = i % 100
        if kind < 70:
            yield whole(rng, CLASSES[(i * 7 + i // 100) % len(CLASSES)])
        elif kind < 73:
            yield trickle(rng)
        elif kind < 80:
            yield early_end(rng)
        elif kind < 85:
            yield reset_inside(rng)
        elif kind < 92:
            yield pipelined(rng)
        else:
            yield mutated(rng)
