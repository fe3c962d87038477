"""The processes of the shop: what they need, how they start and end."""

import os
import pathlib
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request

from ports import free_port

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
SHOP = ROOT / "build/shop/shop"
ARMS = ("plain", "caisson")
# With twice as many customers as the shop can serve.
OVERLOAD_ARMS = (*ARMS, "shedder", "overload")
# The processes that are Caisson's.
SERVICES = ("catalog", "cart", "payment", "front")

READY = 30  # Seconds until a process listens.

# How much the shop can do so that twice as much can come, on any machine: the
# database answers so many queries at once, and each takes so long.
QUERIES = 4
QUERY_MS = 40
CAPACITY = QUERIES * 1000 // QUERY_MS  # Requests per second.
# So many items that a cache has few of them, and so few people who order that
# they come again.
MANY_ITEMS = 20_000
REGULARS = 400
QUIET = 10  # Requests per second.


class Trouble(Exception):
    """What a user has to know; not a mistake in here."""


def build(*targets):
    """Installs what is missing, and builds."""
    subprocess.run(["bash", "-c", """
        source "$1/test/lib.sh"
        packages+=(libhiredis-dev redis-server libpq-dev postgresql)
        need_packages
        configure default
        build default --target "${@:2}"
        """, "run", str(ROOT), "caisson_shop", *targets], check=True)


def guarded(main):
    """Runs the program, and ends it with what it returns."""
    try:
        sys.exit(main())
    except Trouble as e:
        print(f"shop: {e}", file=sys.stderr)
        sys.exit(2)
    except subprocess.CalledProcessError as e:
        sys.exit(e.returncode)
    except KeyboardInterrupt:
        sys.exit(130)


def postgres_program(name):
    """Debian keeps them out of the path."""
    found = sorted(pathlib.Path("/usr/lib/postgresql").glob(f"*/bin/{name}"),
                   key=lambda x: int(x.parts[-3]))
    if found:
        return str(found[-1])
    path = shutil.which(name)
    if not path:
        raise Trouble(f"{name} was not found: install postgresql")
    return path


def wait_for(port, what, process, log):
    until = time.monotonic() + READY
    while time.monotonic() < until:
        if process.poll() is not None:
            output = log.read_text(errors="replace").strip().splitlines()
            raise Trouble(f"{what} has ended with {process.returncode}: "
                          f"{output[-1] if output else 'it printed nothing'}")
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            time.sleep(0.05)
    raise Trouble(f"{what} does not listen at port {port}")


class Shop:
    """The processes of one day; ends them all at its end."""

    def __init__(self, arm, folder, overload=False):
        self.arm = arm
        self.folder = folder
        self.overload = overload
        self.running = {}
        self.ports = {name: free_port() for name in
                      ("postgres", "redis", *SERVICES)}
        self.metrics = {name: free_port() for name in SERVICES}

    def __enter__(self):
        try:
            self.open()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_):
        self.close()

    def open(self):
        self.make_database()
        self.start("postgres")
        self.start("redis")
        self.fill_database()
        for name in SERVICES:
            self.start(name)

    def close(self):
        for process in self.running.values():
            process.send_signal(signal.SIGCONT)
            process.terminate()
        for name, process in self.running.items():
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                print(f"{name} does not end by itself", file=sys.stderr)
                process.kill()
                process.wait()
        self.running.clear()

    def start(self, name):
        """Starts it, and returns when it listens."""
        words, user = {"postgres": self.postgres_words,
                       "redis": self.redis_words}.get(
                           name, lambda: self.service_words(name))()
        self.spawn(name, words, user)
        wait_for(self.ports[name], name, self.running[name],
                 self.folder / f"{name}.log")

    def end(self, name, how):
        process = self.running.pop(name)
        process.send_signal(how)
        process.wait()

    def signal(self, name, what):
        self.running[name].send_signal(what)

    def spawn(self, name, words, user=None):
        log = open(self.folder / f"{name}.log", "ab")
        process = subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            user=user, group=user and pwd.getpwnam(user).pw_gid,
            extra_groups=user and [], cwd="/")
        log.close()
        self.running[name] = process
        return process

    # -- services

    def control_file(self, name):
        return self.folder / f"{name}.control"

    def gates_of(self, name):
        """The file of the arm, or else what the service has on a bad day."""
        files = [HERE / "gates" / arm / f"{name}.toml"
                 for arm in (self.arm, "caisson")]
        return next(file for file in files if file.exists())

    def service_words(self, name):
        p = self.ports
        options = {
            "catalog": ["--postgres", self.connection()],
            "cart": ["--redis", str(p["redis"])],
            "payment": [],
            "front": ["--catalog", str(p["catalog"]), "--cart", str(p["cart"]),
                      "--payment", str(p["payment"])],
        }[name]
        if self.overload and name == "catalog":
            options += ["--connections", str(QUERIES),
                        "--query-ms", str(QUERY_MS)]
        words = [str(SHOP), name, "--port", str(p[name]), "--gates",
                 str(self.gates_of(name)),
                 "--metrics", f"127.0.0.1:{self.metrics[name]}",
                 "--control", str(self.control_file(name)), *options]
        if self.arm == "plain":
            words.append("--no-deadlines")
        return words, None

    def metrics_of(self, name):
        """[(metric, labels as text, value)] of a service."""
        url = f"http://127.0.0.1:{self.metrics[name]}/metrics"
        out = []
        with urllib.request.urlopen(url, timeout=10) as page:
            for line in page.read().decode().splitlines():
                if line and not line.startswith("#"):
                    series, _, value = line.rpartition(" ")
                    metric, _, labels = series.partition("{")
                    out.append((metric, labels.rstrip("}"), float(value)))
        return out

    def load_words(self, options, out, seed=None, seconds=None, rate=None):
        words = [str(SHOP), "load", "--front", str(self.ports["front"]),
                 "--rate", str(rate or options.rate), "--seconds",
                 str(seconds or options.seconds), "--seed",
                 str(options.seed if seed is None else seed),
                 "--grace", str(options.grace), "--out", str(out)]
        if self.overload:
            words += ["--items", str(MANY_ITEMS), "--users", str(REGULARS)]
        if self.arm == "plain":
            words.append("--no-deadlines")
        return words

    def warm_up(self, options):
        """What starts first is slow: connections are made, pages are read."""
        subprocess.run(self.load_words(options, self.folder / "warm-up.json",
                                       seed=999, seconds=2,
                                       rate=self.overload and QUIET))

    # -- servers that are not ours

    def connection(self):
        return (f"host=127.0.0.1 port={self.ports['postgres']} user=postgres "
                "dbname=postgres")

    def make_database(self):
        # PostgreSQL refuses to run as root.
        self.user = "postgres" if os.geteuid() == 0 else None
        self.data = self.folder / "data"
        self.data.mkdir()
        if self.user:
            os.chmod(self.folder, 0o755)
            shutil.chown(self.data, self.user, self.user)
        initdb = self.spawn("initdb", [postgres_program("initdb"), "-D",
                                       str(self.data), "-U", "postgres", "-A",
                                       "trust", "--no-sync"], self.user)
        if initdb.wait() != 0:
            raise Trouble(f"initdb failed, see {self.folder}/initdb.log")
        del self.running["initdb"]

    def postgres_words(self):
        return [postgres_program("postgres"), "-D", str(self.data), "-p",
                str(self.ports["postgres"]), "-k", str(self.data), "-c",
                "listen_addresses=127.0.0.1"], self.user

    def redis_words(self):
        return ["redis-server", "--port", str(self.ports["redis"]), "--bind",
                "127.0.0.1", "--save", "", "--appendonly", "no"], None

    def fill_database(self):
        psql = postgres_program("psql")
        items = MANY_ITEMS if self.overload else 200
        script = ("create table items (id int primary key, name text, "
                  "price int); insert into items select n, 'item ' || n, "
                  f"n * 10 from generate_series(1, {items}) n;")
        until = time.monotonic() + READY
        while subprocess.run([psql, "-q", self.connection(), "-c", script],
                             capture_output=True).returncode != 0:
            if time.monotonic() > until:
                raise Trouble("PostgreSQL takes no commands")
            time.sleep(0.1)
