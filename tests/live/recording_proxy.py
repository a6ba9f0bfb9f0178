#!/usr/bin/env python3
"""A proxy that keeps what an agent sends: http://127.0.0.1:PORT, in front of a server. Prints its port; ends with its standard input.

    recording_proxy.py URL DIR

DIR gets each request as N.head (its line and headers) and N.body (unpacked by what Content-Encoding says). A message that is compressed against an
earlier one is refused with 412, as by a server that has lost that one, so the agent sends it whole."""
import gzip
import os
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

target, directory = sys.argv[1].rstrip("/"), sys.argv[2]
lock = threading.Lock()
kept = 0


def unpack(body, encoding):
    if encoding == "gzip":
        return gzip.decompress(body)
    if encoding == "zstd" or body[:4] == b"\x28\xb5\x2f\xfd":
        return subprocess.run(["zstd", "-dcq"], input=body, stdout=subprocess.PIPE, check=True).stdout
    return body


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def body(self):
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        body = b""
        while size := int(self.rfile.readline(), 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return body

    def keep(self, body):
        global kept
        with lock:
            kept += 1
            n = kept
        with open(os.path.join(directory, f"{n}.head"), "w") as f:
            f.write(f"{self.command} {self.path}\n{self.headers}")
        with open(os.path.join(directory, f"{n}.body"), "wb") as f:
            f.write(unpack(body, self.headers.get("Content-Encoding")))

    def answer(self, status, headers, body):
        self.send_response(status)
        for name, value in headers:
            if name.lower() not in ("content-length", "transfer-encoding", "connection", "server", "date"):
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def pass_on(self):
        body = self.body()
        if self.headers.get("X-Cresset-Base"):
            return self.answer(412, [], b"")
        self.keep(body)
        request = urllib.request.Request(target + self.path, body or None, method=self.command)
        for name, value in self.headers.items():
            if name.lower() not in ("host", "content-length", "transfer-encoding", "connection", "expect"):
                request.add_header(name, value)
        try:
            with urllib.request.urlopen(request, timeout=20) as got:
                return self.answer(got.status, got.headers.items(), got.read())
        except urllib.error.HTTPError as e:
            return self.answer(e.code, e.headers.items(), e.read())

    do_POST = do_PUT = do_GET = do_HEAD = pass_on


server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
print(server.server_address[1], flush=True)
sys.stdin.read()
