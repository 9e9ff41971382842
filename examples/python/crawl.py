"""An asyncio crawler that obeys robots.txt and the crawl rate of each site.

It gets a permit from a running `robots serve` before each request. Several crawlers that
use one service, or services on one Redis, share the crawl rates. It needs Python 3.11:

    robots serve &
    python3 examples/python/crawl.py http://127.0.0.1:8780 MyBot https://example.com/ https://example.com/about

The clocks of this machine and of the service must agree (run NTP). Each page is a task that
acquires its own permit, up to 5 s in advance. A crawler with one queue can instead send its
ready sites in one call, POST /v1/permits/next, which returns permits for immediate requests
and waits for the slowest robots.txt.
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

TIMEOUT = 60  # seconds for one page; a permit lasts a little longer


class Disallowed(Exception):
    """robots.txt disallows the URL, or is unreachable (reason unreachable): retry later."""


class Permits:
    """Permits from the service, each for one request."""

    def __init__(self, service, agent, token=None):
        self.service, self.agent = service.rstrip("/"), agent
        self.headers = {"Content-Type": "application/json"}
        if token:
            self.headers["Authorization"] = "Bearer " + token

    async def ask(self, path, body):
        """Call the service, and retry while it is busy or has no robots.txt yet (429, 503)."""
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
        """Wait for a permit, which the caller must release."""
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
                await asyncio.shield(self.release(permit, {"unused": True}))
                raise
            if until(permit["expires"]) > TIMEOUT:
                return permit
            await self.release(permit, {"unused": True})  # this process was suspended meanwhile

    async def release(self, permit, result):
        """Release a permit with its result: {"status": 200}, {"timeout": True}, {"unused": True}."""
        with contextlib.suppress(RuntimeError):  # it has expired, and counted as a timeout
            await self.ask(f"/v1/permits/{permit['id']}/done", result)


class NoRedirect(urllib.request.HTTPRedirectHandler):
    """A redirect is a separate request, with its own permit."""

    def redirect_request(self, *_):
        return None


PAGES = urllib.request.build_opener(NoRedirect)
DIRECT = urllib.request.build_opener(NoRedirect, urllib.request.ProxyHandler({}))  # to the service


def send(request, opener):
    """Send a request and read the whole response: the interval to the next request starts at its end."""
    try:
        with opener.open(request, timeout=TIMEOUT) as answer:
            return answer.status, answer.headers, answer.read()
    except urllib.error.HTTPError as answer:  # any status other than 2xx
        with answer:
            return answer.code, answer.headers, answer.read()
    except urllib.error.URLError as error:
        raise error.reason if isinstance(error.reason, OSError) else error


def retry_after(headers):
    """Return the seconds of Retry-After, a number or a date (RFC 9110 section 10.2.3), or 0."""
    text = headers.get("Retry-After") or ""
    with contextlib.suppress(ValueError, TypeError):  # a number of thousands of digits, a date without a zone
        return int(text) if text.isdecimal() else max(0.0, until(email.utils.parsedate_to_datetime(text).isoformat()))
    return 0


def until(stamp):
    """Return the seconds until a time in a response."""
    return (datetime.datetime.fromisoformat(stamp) - datetime.datetime.now(datetime.timezone.utc)).total_seconds()


async def sleep_until(stamp):
    while (left := until(stamp)) > 0:
        await asyncio.sleep(left)


async def fetch(permits, url):
    """Get a page with a permit."""
    permit = await permits.acquire(url)
    result = {}  # a failure unrelated to the site's load
    try:
        request = urllib.request.Request(url, headers={"User-Agent": permits.agent})
        status, headers, body = await asyncio.to_thread(send, request, PAGES)
        result = {"status": status, "retry_after": min(retry_after(headers), 31536000)}
        return status, headers, body
    except TimeoutError:
        result = {"timeout": True}
        raise
    finally:
        await asyncio.shield(permits.release(permit, result))


async def crawl(permits, url):
    """Get a page and follow its redirects. Retry after 429 and 503: the permit waits for Retry-After."""
    for _ in range(5):
        try:
            status, headers, body = await fetch(permits, url)
            print(status, url, len(body), flush=True)
            if status in (301, 302, 303, 307, 308) and headers.get("Location"):
                url = urllib.parse.urljoin(url, headers["Location"])
            elif status not in (429, 503):
                return
        except Disallowed as why:
            print("disallowed", url, why)
            return
        except (OSError, http.client.HTTPException, ValueError, RuntimeError) as why:  # of the site, or of a redirect target
            print("failed", url, why)
            return


async def main(service, agent, *urls):
    # Each call to the service or a site blocks one thread.
    asyncio.get_running_loop().set_default_executor(concurrent.futures.ThreadPoolExecutor(64))
    permits = Permits(service, agent, os.environ.get("ROBOTS_TOKEN"))
    async with asyncio.TaskGroup() as crawling:
        for url in urls:
            crawling.create_task(crawl(permits, url))


if __name__ == "__main__":
    if len(sys.argv) < 4:
        sys.exit("usage: crawl.py SERVICE AGENT URL...")
    asyncio.run(main(*sys.argv[1:]))
