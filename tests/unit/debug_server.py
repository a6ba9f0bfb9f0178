#!/usr/bin/env python3
"""A debuginfod server that misbehaves as the first part of a path says: http://127.0.0.1:PORT/MODE/buildid/HEX/debuginfo.

    debug_server.py DIR     serves DIR/HEX, prints its port, writes every request to DIR/log, ends with its standard input

good: as it should be; none: 404; broken: 500; other: a file of another build id; text: no ELF file; cut: half of what it
announces; silent: nothing, for ever; drip: a byte a second; headers: without end; loop: redirects to itself; file: redirects to
file:; big: announces 10 GB; endless: body without end and without length; moved: redirects to good."""
import os
import socketserver
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler

directory = sys.argv[1]


def content(name):
    with open(os.path.join(directory, name), "rb") as f:
        return f.read()


class Handler(BaseHTTPRequestHandler):
    def log_message(self, *args):
        pass

    def answer(self, status, body=b"", length=None, **headers):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body) if length is None else length))
        for key, value in headers.items():
            self.send_header(key, value)
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        with open(os.path.join(directory, "log"), "a") as log:
            log.write(self.path + "\n")
        parts = self.path.split("/")
        mode, name = parts[1], parts[3] if len(parts) > 3 else ""
        try:
            self.misbehave(mode, name)
        except OSError:
            pass

    def misbehave(self, mode, name):
        if mode in ("good", "cut") and not os.path.exists(os.path.join(directory, name)):
            self.answer(404)
        elif mode == "good":
            self.answer(200, content(name))
        elif mode == "none":
            self.answer(404, b"no such file")
        elif mode == "broken":
            self.answer(500)
        elif mode == "other":
            self.answer(200, content("other"))
        elif mode == "text":
            self.answer(200, b"<html>Please log in</html>" * 100)
        elif mode == "cut":
            body = content(name)
            self.answer(200, body[: len(body) // 2], len(body))
        elif mode == "silent":
            time.sleep(1000)
        elif mode == "drip":
            self.send_response(200)
            self.end_headers()
            while True:
                self.wfile.write(b"x")
                time.sleep(1)
        elif mode == "headers":
            self.wfile.write(b"HTTP/1.1 200 OK\r\n")
            while True:
                self.wfile.write(b"X-Some-Header: " + b"y" * 1000 + b"\r\n")
        elif mode == "loop":
            self.answer(302, Location=self.path)
        elif mode == "file":
            self.answer(302, Location="file://" + os.path.join(directory, name))
        elif mode == "big":
            self.answer(200, b"x" * 1000, 10 << 30)
        elif mode == "endless":
            self.wfile.write(b"HTTP/1.0 200 OK\r\n\r\n")
            while True:
                self.wfile.write(b"z" * 65536)
        elif mode == "moved":
            self.answer(302, Location=self.path.replace("/moved/", "/good/"))


class Server(socketserver.ThreadingTCPServer):
    daemon_threads = True


server = Server(("127.0.0.1", 0), Handler)
print(server.server_address[1], flush=True)
threading.Thread(target=server.serve_forever, daemon=True).start()
sys.stdin.read()
