"""Data sets and servers that mean ill: bombs, files that lie about their sizes, servers that lie or dawdle."""
import gzip
import http.server
import lzma
import resource
import struct
import threading
import time

from damage import damage_bytes, damage_kind
from program import Failure, check_sentence

MOST_MEMORY = 4 << 30  # of a command, addresses included
BOMB = 256 << 20  # bytes behind what a file says that it has
SIZES = (0, 1, 7, 20, 2**16, 2**31 - 1, 2**32 - 1)


def limit_memory():
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))


def idx(sizes, body):
    return struct.pack(">BBBB", 0, 0, 8, len(sizes)) + struct.pack(f">{len(sizes)}I", *sizes) + body


def zeros_packed(module, head):
    """Packs a head and very many zeros, without having them in memory."""
    packer = module.LZMACompressor() if module is lzma else None
    if packer is None:
        import zlib
        packer = zlib.compressobj(1, zlib.DEFLATED, 31)
    block = bytes(1 << 20)
    return packer.compress(head) + b"".join(packer.compress(block) for _ in range(BOMB >> 20)) + packer.flush()


def write_mnist(folder, draw, bomb):
    """Writes four small files, one of which is hostile."""
    where = folder / "mnist"
    where.mkdir(parents=True)
    count = 20
    images, labels = idx((count, 28, 28), bytes(count * 784)), idx((count,), bytes(n % 10 for n in range(count)))
    files = {f"{part}-{what}-ubyte.gz": body for part in ("train", "t10k")
             for what, body in (("images-idx3", images), ("labels-idx1", labels))}
    for name, body in files.items():
        (where / name).write_bytes(gzip.compress(body, 1))
    name = draw.choice(sorted(files))
    kind = draw.randrange(6)
    if kind == 0:
        sizes = [draw.choice(SIZES) for _ in range(draw.choice((1, 3)))]
        (where / name).write_bytes(gzip.compress(idx(sizes, files[name][16:]), 1))
    elif kind == 1:
        (where / name).write_bytes(bomb)
    elif kind == 2:
        (where / name).write_bytes(gzip.compress(gzip.compress(files[name])))
    elif kind == 3:
        damage_kind(where / name, draw)
    else:
        damage_bytes(where / name, draw)
    return ["mnist-mlp", "--data", folder]


def write_news(folder, draw, _):
    where = folder / "ag_news"
    where.mkdir(parents=True)
    line = b'1,"Wall St. up",chips down\n'
    hostile = draw.choice((b'1,"', b"1," + b"x" * (8 << 20), b"\x00" * 1000, b"9,word\n", b"1\n", b"\xff\xfe1,x\n",
                           b'"1""",x\n', b"-1,x\n", b"1," + b"\x1b[2J" * 100, b"," * 100000, b"99999999999999999999,x\n"))
    lines = [line] * 20
    lines.insert(draw.randrange(20), hostile)
    for name in ("train.csv", "test.csv"):
        (where / name).write_bytes(b"".join(lines if draw.random() < 0.7 else [line] * 20))
    return ["agnews-rnn", "--set", "hidden=4", "--set", "embedding=4", "--data", folder]


def write_labels(folder, draw, _):
    folder.mkdir(parents=True)
    head = f"{draw.choice((3, 2, 10**9, 2**63, -1))} {draw.choice((5, 5, 0, 2**40))} {draw.choice((4, 4, 2**31, 2**62))}\n"
    lines = draw.choice(("0,1 0:1 2:0.5\n1 1:2\n2 3:1\n", "7 0:1\n", "0 0:nan\n", "0 9:1\n", " \n\n\n", "0,0 0:1 0:1\n",
                         "0 " + "1:1 " * 100000 + "\n", "\x00" * 100))
    body, path = (head + lines).encode(), folder / "labels_train.txt.xz"
    path.write_bytes(zeros_packed(lzma, body) if draw.random() < 0.1 else lzma.compress(body))
    if draw.random() < 0.2:
        damage_bytes(path, draw)
    (folder / "labels_test.txt.xz").write_bytes(lzma.compress(b"2 5 4\n0,1 0:1 2:0.5\n1 1:2\n"))
    return ["xmc", "--set", "hidden=4", "--data", path]


def hostile_data(program, reference, draw, count):
    """Data sets that lie about their sizes, unfold to a thousand times theirs, or are no data at all."""
    bomb = zeros_packed(gzip, idx((20, 28, 28), b""))
    for number in range(count):
        folder = program.new_folder()
        write = draw.choice((write_mnist, write_news, write_labels))
        arguments = write(folder, draw, bomb)
        before = sorted(path.name for path in program.folder.iterdir())
        ended = program.run(["train", *arguments, "--max-steps", "1", "--batch", "8", "--out", folder / "run"],
                            preexec_fn=limit_memory)
        check_sentence(ended, f"data {number} by {write.__name__}")
        if sorted(path.name for path in program.folder.iterdir()) != before:
            raise Failure(f"data {number} by {write.__name__}: something was written outside of its folder")
    return count


class Hostile(http.server.BaseHTTPRequestHandler):
    """Answers in the way that the address names."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def say(self, text):
        self.wfile.write(text.encode("latin-1"))
        self.wfile.flush()

    def do_GET(self):
        self.close_connection = True
        try:
            getattr(self, self.path.split("/")[1])()
        except (BrokenPipeError, ConnectionResetError):
            pass

    def closes(self):
        pass

    def garbage(self):
        self.say("\x1b[2J\x00 not HTTP at all\r\n\r\n")

    def refuses(self):
        self.say("HTTP/1.1 500 \x1b[31mno\r\nContent-Length: 3\r\n\r\nno\n")

    def lies(self):
        self.say("HTTP/1.1 200 OK\r\nContent-Length: 28881\r\n\r\nshort")

    def turns(self):
        self.say(f"HTTP/1.1 302 Found\r\nLocation: {self.path}\r\nContent-Length: 0\r\n\r\n")

    def leads_astray(self):
        self.say("HTTP/1.1 302 Found\r\nLocation: file:///etc/passwd\r\nContent-Length: 0\r\n\r\n")

    def floods(self):
        self.say("HTTP/1.1 200 OK\r\n\r\n")
        while True:
            self.wfile.write(bytes(1 << 16))

    def heads(self):
        self.say("HTTP/1.1 200 OK\r\n" + "X-Long: " + "y" * 10_000_000 + "\r\n\r\n")

    def wrong(self):
        self.say("HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 5-9/7\r\nContent-Length: 5\r\n\r\nabcde")

    def dawdles(self):
        self.say("HTTP/1.1 200 OK\r\nContent-Length: 9912422\r\n\r\n")
        while True:
            self.say("slow")
            time.sleep(1)


WAYS = ("closes", "garbage", "refuses", "lies", "turns", "leads_astray", "floods", "heads", "wrong")


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_):
        pass

    def __enter__(self):
        threading.Thread(target=self.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.shutdown()
        self.server_close()


def fetch(program, server, way, folder):
    environment = {"no_proxy": "127.0.0.1"}
    program.environment |= environment
    return program.start(["data", "fetch", "mnist", "--data", folder, "--lowest-speed", "1000",
                          "--mirror", f"http://127.0.0.1:{server.server_port}/{way}"])


def check_fetch(ended, way, folder):
    check_sentence(ended, f"a server that {way}", codes=(1, 2))
    kept = [path for path in folder.rglob("*") if path.is_file() and path.suffix != ".part"]
    if kept:
        raise Failure(f"a server that {way}: {kept} was taken for the set")


def hostile_servers(program, reference, draw, count):
    """Servers that break off, lie, lead elsewhere or never end: one sentence, and no file of theirs is kept."""
    with Server(("127.0.0.1", 0), Hostile) as server:
        for _ in range(count):
            way, folder = draw.choice(WAYS), program.new_folder()
            check_fetch(program.finish(fetch(program, server, way, folder)), way, folder)
    return count


def slow_servers(program, reference, draw, count):
    """Servers that send four bytes a second: given up after a minute, several of them at once."""
    with Server(("127.0.0.1", 0), Hostile) as server:
        folders = [program.new_folder() for _ in range(count)]
        for process, folder in [(fetch(program, server, "dawdles", folder), folder) for folder in folders]:
            check_fetch(program.finish(process), "dawdles", folder)
    return count
