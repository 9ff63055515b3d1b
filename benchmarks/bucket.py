"""What commands cost whose evidence lies in a bucket: requests, seconds and CPU.

    python benchmarks/bucket.py [--runs 1000] [--a-trial 10] [--latency-ms 20] [--part NAME]
                                [--rounds 1] [--json FILE]

The bucket is moto's server in a process of its own, which answers each request after
`--latency-ms`, counts them, and notes how many are under way at a time. The runs are GoBonnieGo
files (publish.py), one a trial of `--a-trial` runs. Each command runs in a fresh process, with a
SQLite database. *floor* is the same command in turn with its evidence in a directory. *serial* is
what the requests would take one after the other: the latency times their number.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import threading
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http.client import HTTPConnection
from multiprocessing import get_context
from pathlib import Path

import publish

BUCKET = "evidence"
COUNTS = "/-counts"
LABEL = publish.LABEL
KEYS = {"AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_REGION": "us-east-1"}
PARTS = ("import", "list", "show", "report", "publish", "rebuild")


@dataclass(frozen=True)
class Place:
    """Where a store is: its evidence, and the files that commands write."""

    folder: Path
    evidence: str

    def stores(self, database="bench.db"):
        return [
            "--database-url", f"sqlite:///{self.folder}/{database}", "--evidence-url", self.evidence
        ]  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--a-trial", type=int, default=10)
    parser.add_argument("--latency-ms", type=float, default=20.0)
    parser.add_argument("--part", choices=PARTS, action="append", help="only this (and import)")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows here, too")
    options = parser.parse_args()
    parts = [name for name in PARTS if name in (options.part or PARTS) or name == "import"]
    found = {}
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    print(f"{'':10}{'wall s':>9}{'CPU s':>9}{'peak MB':>9}{'requests':>10}{'a run':>7}"
          f"{'at once':>9}{'serial s':>10}{'floor s':>9}")  # fmt: skip
    for _ in range(options.rounds):
        with tempfile.TemporaryDirectory(prefix="diskbench-bucket-") as folder:
            measure(Path(folder), options, parts, found)
    if options.json:
        options.json.write_text(json.dumps({"rows": list(found.values())}, indent=1))
    return 0


def measure(folder, options, parts, found):
    files = publish.originals(folder / "files", options.runs, options.a_trial)
    with bucket(options.latency_ms / 1000) as endpoint:
        here = Place(folder / "here", (folder / "here/evidence").as_uri())
        away = Place(folder / "away", f"s3://{BUCKET}/kept")
        for place in (here, away):
            place.folder.mkdir()
        for name in parts:
            taken = {}
            for place in (here, away):
                counts(endpoint)  # begins anew
                argv = [sys.executable, "-m", "diskbench", *command(name, place, files)]
                taken[place] = publish.silent(argv)
            seen = counts(endpoint)
            serial = seen["requests"] * options.latency_ms / 1000
            ours, floor = taken[away], taken[here]
            print(
                f"{name:10}{ours.wall_s:>9.2f}{ours.cpu_s:>9.2f}{ours.peak_mb:>9.0f}"
                f"{seen['requests']:>10,}{seen['requests'] / options.runs:>7.1f}"
                f"{seen['at_once']:>9}{serial:>10.1f}{floor.wall_s:>9.2f}",
                flush=True,
            )
            add(found, f"S3 {name}", "s", ours.wall_s, floor.wall_s)
            add(found, f"S3 {name}, CPU", "s", ours.cpu_s, floor.cpu_s)
            add(found, f"S3 {name}, requests a run", "", seen["requests"] / options.runs)


def add(found, name, unit, ours, floor=None):
    row = {"name": name, "unit": unit, "ours": [], "floor": None if floor is None else []}
    row = found.setdefault(name, row)
    row["ours"].append(ours)
    if floor is not None:
        row["floor"].append(floor)


def command(name, place, files):
    stores = place.stores()
    return {
        "import": ["results", "import", *map(str, files), "--label", LABEL, *stores],
        "list": ["results", "list", *stores[:2]],
        "show": ["results", "show", "last", *stores],
        "report": ["report", LABEL, "-q", "-o", str(place.folder / "report.html"), *stores],
        "publish": ["publish", str(place.folder / "site"), "-q", *stores],
        "rebuild": ["results", "rebuild", *place.stores("rebuilt.db")],
    }[name]


@contextmanager
def bucket(latency_s):
    """The endpoint of a server with an empty bucket, to which the environment leads; the server
    ends with the block."""
    context = get_context("spawn")
    ours, its = context.Pipe()
    server = context.Process(target=serve, args=(its, latency_s), daemon=True)
    server.start()
    try:
        endpoint = f"http://127.0.0.1:{ours.recv()}"
        os.environ |= {**KEYS, "AWS_ENDPOINT": endpoint, "AWS_ALLOW_HTTP": "true"}
        ask(endpoint, f"/{BUCKET}", "PUT")
        yield endpoint
    finally:
        server.terminate()
        server.join()


def counts(endpoint):
    """How many requests there were since the last call, and how many at a time."""
    return json.loads(ask(endpoint, COUNTS))


def ask(endpoint, path, method="GET"):
    connection = HTTPConnection(endpoint.removeprefix("http://"), timeout=60)
    connection.request(method, path)
    answer = connection.getresponse().read()
    connection.close()
    return answer


def serve(pipe, latency_s):
    """moto's server, with a latency and counts."""
    import logging

    from moto.server import DomainDispatcherApplication, create_backend_app
    from werkzeug.serving import make_server

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    app = DomainDispatcherApplication(create_backend_app)
    lock, seen, under_way = threading.Lock(), {"requests": 0, "at_once": 0}, [0]

    def counted(environment, start_response):
        if environment["PATH_INFO"] == COUNTS:
            with lock:
                text = json.dumps(seen).encode()
                seen.update(requests=0, at_once=0)
            start_response("200 OK", [("Content-Length", str(len(text)))])
            return [text]
        with lock:
            seen["requests"] += 1
            under_way[0] += 1
            seen["at_once"] = max(seen["at_once"], under_way[0])
        try:
            time.sleep(latency_s)
            return list(app(environment, start_response))
        finally:
            with lock:
                under_way[0] -= 1

    server = make_server("127.0.0.1", 0, counted, threaded=True)
    pipe.send(server.port)
    threading.Thread(target=_stop_with, args=(pipe, server), daemon=True).start()
    server.serve_forever()


def _stop_with(pipe, server):
    """End the server with its parent, also one that was killed."""
    with suppress(EOFError):
        pipe.recv()
    server.shutdown()


if __name__ == "__main__":
    sys.exit(main())
