#!/usr/bin/env python3
"""A bridge between a terminal and Foreword, as an example of a bridge to a messenger. Uses only the standard library.

Every line of standard input is a message, written `sender: text`. It is posted to Foreword with an idempotency key, so that
a repeated line is answered once. Answers arrive by signed webhook. Invalid or old signatures are rejected, and duplicates
are ignored.
"""

import hashlib
import hmac
import json
import os
import sys
import threading
import time
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SERVER = os.environ.get("FOREWORD_URL", "http://127.0.0.1:7777")
TOKEN = os.environ["FOREWORD_TOKEN"]
SECRET = os.environ["BRIDGE_SECRET"].encode()
PORT = int(os.environ.get("BRIDGE_PORT", "7780"))
FAMILY = "demo"
MAX_AGE = 300  # seconds

seen = set()
waiting = threading.Semaphore(0)


def is_genuine(signature: str, body: bytes) -> bool:
    """Whether `t=<unix>,v1=<hex>` is a recent signature with our secret."""
    parts = dict(part.split("=", 1) for part in signature.split(",") if "=" in part)
    at = parts.get("t", "")
    if not at.isdigit() or abs(time.time() - int(at)) > MAX_AGE:
        return False
    expected = hmac.new(SECRET, at.encode() + b"." + body, hashlib.sha256).hexdigest()
    return hmac.compare_digest(expected, parts.get("v1", ""))


class Webhook(BaseHTTPRequestHandler):
    """Receives answers."""

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", "0")))
        if not is_genuine(self.headers.get("x-foreword-signature", ""), body):
            return self.reply(401)
        answer = json.loads(body)
        # At-least-once delivery: after a crash the same answer may arrive again, with the same id.
        if answer["id"] not in seen:
            seen.add(answer["id"])
            first_line = answer["text"].splitlines()[0]
            print(f"-> {answer['channel']}: {first_line}", flush=True)
            waiting.release()
        return self.reply(204)

    def reply(self, status: int) -> None:
        self.send_response(status)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


def send(sender: str, text: str, key: str) -> dict:
    """Posts a message and retries if the server is unavailable; the idempotency key makes that safe."""
    message = {"channel": f"{FAMILY}:{sender}", "sender": sender, "text": text, "idempotencyKey": key}
    request = urllib.request.Request(
        f"{SERVER}/api/v1/channels/{FAMILY}/messages",
        data=json.dumps(message).encode(),
        headers={"authorization": f"Bearer {TOKEN}", "content-type": "application/json"},
    )
    for attempt in range(6):
        try:
            with urllib.request.urlopen(request, timeout=30) as response:
                return json.load(response)
        except urllib.error.HTTPError as error:
            if error.code not in (408, 429) and error.code < 500:
                sys.exit(f"refused: {error.read().decode()}")
        except urllib.error.URLError:
            pass
        time.sleep(2**attempt / 4)
    sys.exit(f"{SERVER} can't be reached")


def main() -> None:
    server = ThreadingHTTPServer(("127.0.0.1", PORT), Webhook)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    for number, line in enumerate(sys.stdin, start=1):
        sender, colon, text = line.strip().partition(":")
        if not colon:
            print(f"line {number} is not `sender: text`", file=sys.stderr)
            continue
        # Use the messenger's own message id here: it stays the same when the bridge restarts.
        key = hashlib.sha256(f"{number}:{line}".encode()).hexdigest()[:32]
        taken = send(sender.strip(), text.strip(), key)
        print(f"<- {sender.strip()}: {text.strip()}{' (seen before)' if taken['seenBefore'] else ''}", flush=True)
        if not taken["seenBefore"] and not waiting.acquire(timeout=60):
            sys.exit("no answer within a minute")


if __name__ == "__main__":
    main()
