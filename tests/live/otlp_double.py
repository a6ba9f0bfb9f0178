#!/usr/bin/env python3
"""A server that takes OTLP over HTTP and is no cresset: http://127.0.0.1:PORT. Prints its port; ends with its standard input.

    otlp_double.py DIR [ENCODING]   takes only bodies of that Content-Encoding (gzip); others are refused with 415

DIR gets each body it takes, unpacked, as N.otlp or N.metrics, and DIR/log a line for each request: status, path, encoding. A body in an encoding that it
does not know is no message to it, as for any other server."""
import gzip
import os
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

directory = sys.argv[1]
encoding = sys.argv[2] if len(sys.argv) > 2 else "gzip"
taken = 0


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def do_POST(self):
        global taken
        body = self.rfile.read(int(self.headers["Content-Length"]))
        said = self.headers.get("Content-Encoding", "identity")
        status = 200 if said == encoding else 415
        if self.headers.get("Content-Type") != "application/x-protobuf":
            status = 400
        if status == 200:
            taken += 1
            kind = "metrics" if self.path.endswith("/v1/metrics") else "otlp"
            with open(os.path.join(directory, f"{taken}.tmp"), "wb") as f:
                f.write(gzip.decompress(body))
            os.rename(os.path.join(directory, f"{taken}.tmp"), os.path.join(directory, f"{taken}.{kind}"))
        with open(os.path.join(directory, "log"), "a") as log:
            log.write(f"{status} {self.path} {said} {self.headers.get('X-Cresset-Base')}\n")
        self.send_response(status)
        self.send_header("Content-Type", "application/x-protobuf")
        self.send_header("Content-Length", "0")
        self.end_headers()


server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
print(server.server_address[1], flush=True)
sys.stdin.read()
