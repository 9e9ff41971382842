"""A crawler in asyncio that obeys robots.txt and keeps the pace of every site.

It asks a running `robots serve` before each page; several of these, and several
services on one Redis, are one crawler to every site. Python 3.11, nothing else:

    robots serve &
    python3 examples/python/crawl.py http://127.0.0.1:8780 MyBot https://example.com/ https://example.com/about

The clocks of this machine and of the service must agree, as NTP sees to. Each page is a
task that asks for its own turn, up to 5 s ahead, which is one call. A crawler with one
queue asks about all sites that may be ready in one call, POST /v1/permits/next: that gives
turns for now alone, and waits for the slowest robots.txt.
"""

import asyncio
import concurrent.futures
import contextlib
import datetime
import email.utils
import http.client
import json
import os
import sys
import urllib.error
import urllib.parse
import urllib.request

TIMEOUT = 60  # seconds for one page; a permit is held for a little longer


class Disallowed(Exception):
    """robots.txt says no, or nobody can know what it says (reason unreachable): try that again later."""


class Turns:
    """The rights to single requests, as a service gives them."""

    def __init__(self, service, agent, token=None):
        self.service, self.agent = service.rstrip("/"), agent
        self.headers = {"Content-Type": "application/json"}
        if token:
            self.headers["Authorization"] = "Bearer " + token

    async def ask(self, path, body):
        """Ask the service. One that is busy, or does not know yet, says when to ask again."""
        while True:
            request = urllib.request.Request(self.service + path, json.dumps(body).encode(), self.headers)
            status, headers, text = await asyncio.to_thread(send, request, DIRECT)
            if status not in (429, 503):
                break
            await asyncio.sleep(retry_after(headers) or 1)
        answer = json.loads(text)
        if status >= 400:
            raise RuntimeError(f"{path}: {answer.get('detail', status)}")
        return answer

    async def acquire(self, url):
        """Wait for the right to one request. Whoever has it must give it back."""
        body = {"url": url, "agent": self.agent, "within": "5s", "hold": f"{TIMEOUT + 30}s"}
        while True:
            answer = await self.ask("/v1/permits", body)
            if not answer["verdict"]["allowed"]:
                raise Disallowed(answer["verdict"]["reason"])
            permit = answer["permit"]
            if permit is None:
                await sleep_until(answer["not_before"])
                continue
            try:
                await sleep_until(permit["start"])
            except asyncio.CancelledError:
                await asyncio.shield(self.give_back(permit, {"unused": True}))
                raise
            if until(permit["expires"]) > TIMEOUT:
                return permit
            await self.give_back(permit, {"unused": True})  # this process was stopped meanwhile

    async def give_back(self, permit, result):
        """Say what came of a permit: {"status": 200}, {"timeout": True}, {"unused": True}."""
        with contextlib.suppress(RuntimeError):  # its time is over: it counted as a timeout
            await self.ask(f"/v1/permits/{permit['id']}/done", result)


class NoRedirect(urllib.request.HTTPRedirectHandler):
    """A redirect is a URL of its own, with a permit of its own."""

    def redirect_request(self, *_):
        return None


PAGES = urllib.request.build_opener(NoRedirect)
DIRECT = urllib.request.build_opener(NoRedirect, urllib.request.ProxyHandler({}))  # to the service


def send(request, opener):
    """Send a request and read the answer to its end, which is where the next one's interval begins."""
    try:
        with opener.open(request, timeout=TIMEOUT) as answer:
            return answer.status, answer.headers, answer.read()
    except urllib.error.HTTPError as answer:  # any status that is not 2xx
        with answer:
            return answer.code, answer.headers, answer.read()
    except urllib.error.URLError as error:
        raise error.reason if isinstance(error.reason, OSError) else error


def retry_after(headers):
    """The seconds of a Retry-After, a number or a date (RFC 9110 section 10.2.3); 0 for none."""
    text = headers.get("Retry-After") or ""
    with contextlib.suppress(ValueError, TypeError):  # a number of thousands of digits, a date without a zone
        return int(text) if text.isdecimal() else max(0.0, until(email.utils.parsedate_to_datetime(text).isoformat()))
    return 0


def until(stamp):
    """The seconds until a time of an answer."""
    return (datetime.datetime.fromisoformat(stamp) - datetime.datetime.now(datetime.timezone.utc)).total_seconds()


async def sleep_until(stamp):
    while (left := until(stamp)) > 0:
        await asyncio.sleep(left)


async def fetch(turns, url):
    """Get a page in its turn."""
    permit = await turns.acquire(url)
    result = {}  # a failure that says nothing about the site's load
    try:
        request = urllib.request.Request(url, headers={"User-Agent": turns.agent})
        status, headers, body = await asyncio.to_thread(send, request, PAGES)
        result = {"status": status, "retry_after": min(retry_after(headers), 31536000)}
        return status, headers, body
    except TimeoutError:
        result = {"timeout": True}
        raise
    finally:
        await asyncio.shield(turns.give_back(permit, result))


async def crawl(turns, url):
    """Get a page, with its redirects. A site that is overloaded is asked again when it said."""
    for _ in range(5):
        try:
            status, headers, body = await fetch(turns, url)
            print(status, url, len(body), flush=True)
            if status in (301, 302, 303, 307, 308) and headers.get("Location"):
                url = urllib.parse.urljoin(url, headers["Location"])
            elif status not in (429, 503):
                return
        except Disallowed as why:
            print("disallowed", url, why)
            return
        except (OSError, http.client.HTTPException, ValueError, RuntimeError) as why:  # of the site, or of where it leads
            print("failed", url, why)
            return


async def main(service, agent, *urls):
    # A call of the service, or of a site, waits in a thread of its own.
    asyncio.get_running_loop().set_default_executor(concurrent.futures.ThreadPoolExecutor(64))
    turns = Turns(service, agent, os.environ.get("ROBOTS_TOKEN"))
    async with asyncio.TaskGroup() as crawling:
        for url in urls:
            crawling.create_task(crawl(turns, url))


if __name__ == "__main__":
    if len(sys.argv) < 4:
        sys.exit("usage: crawl.py SERVICE AGENT URL...")
    asyncio.run(main(*sys.argv[1:]))
