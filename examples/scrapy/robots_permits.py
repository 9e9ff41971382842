"""A downloader middleware for Scrapy: each request gets a permit from `robots serve`.

It replaces Scrapy's robots.txt middleware, delays and AutoThrottle. All spiders that use
one service, or services on one Redis, share the crawl rates. It needs Scrapy 2.8 or later
and these project settings:

    ROBOTS_SERVICE = "http://127.0.0.1:8780"
    ROBOTS_AGENT = "MyBot"                       # the product token; USER_AGENT should contain it
    ROBOTS_TOKEN = None                          # the token of the service, if it requires one
    DOWNLOADER_MIDDLEWARES = {"robots_permits.RobotsPermits": 950}  # next to the downloader, behind the cache
    TWISTED_REACTOR = "twisted.internet.asyncioreactor.AsyncioSelectorReactor"
    ROBOTSTXT_OBEY = False                       # the service checks it
    AUTOTHROTTLE_ENABLED = False
    DOWNLOAD_DELAY = 0
    CONCURRENT_REQUESTS = 200                    # includes requests that wait for a permit
    CONCURRENT_REQUESTS_PER_DOMAIN = 200         # the service is one domain; a site has one permit at a time

A disallowed request ends with IgnoreRequest. Each redirect and retry gets its own permit.
"""

import asyncio
import datetime
import email.utils
import json
import logging

from scrapy import Request
from scrapy.exceptions import IgnoreRequest, NotConfigured
from scrapy.utils.defer import maybe_deferred_to_future
from twisted.internet.defer import TimeoutError as DeferTimeout
from twisted.internet.error import TimeoutError as TCPTimeout

logger = logging.getLogger(__name__)

PERMIT = "robots_permit"  # key in the meta of a request that has a permit
# The meta of a request to the service, which other middleware must ignore.
SERVICE = {"robots_permits": False, "proxy": None, "download_timeout": 60, "dont_retry": True, "dont_redirect": True, "dont_cache": True, "dont_merge_cookies": True}


class RobotsPermits:
    def __init__(self, crawler):
        settings = crawler.settings
        self.crawler = crawler
        self.service = (settings.get("ROBOTS_SERVICE") or "").rstrip("/")
        self.agent = settings.get("ROBOTS_AGENT")
        if not self.service or not self.agent:
            raise NotConfigured("ROBOTS_SERVICE and ROBOTS_AGENT are needed")
        self.headers = {"Content-Type": "application/json"}
        if settings.get("ROBOTS_TOKEN"):
            self.headers["Authorization"] = "Bearer " + settings.get("ROBOTS_TOKEN")
        self.timeout = settings.getint("DOWNLOAD_TIMEOUT")

    @classmethod
    def from_crawler(cls, crawler):
        return cls(crawler)

    async def ask(self, path, body):
        """Call the service, and retry while it is busy or has no robots.txt yet (429, 503)."""
        while True:
            request = Request(self.service + path, method="POST", headers=self.headers, body=json.dumps(body), meta=dict(SERVICE))
            answer = await maybe_deferred_to_future(self.crawler.engine.download(request))
            if answer.status not in (429, 503):
                return answer.status, json.loads(answer.body)
            await asyncio.sleep(retry_after(answer.headers) or 1)

    async def process_request(self, request, spider):
        """Wait for a permit."""
        if request.meta.get("robots_permits") is False:
            return None
        request.meta.pop(PERMIT, None)  # the permit of the request that this one was copied from
        hold = request.meta.get("download_timeout", self.timeout) + 60
        body = {"url": request.url, "agent": self.agent, "within": "5s", "hold": f"{hold:.0f}s"}
        while True:
            status, answer = await self.ask("/v1/permits", body)
            if status >= 400:
                raise IgnoreRequest(f"{request.url}: {answer.get('detail', status)}")
            verdict, permit = answer["verdict"], answer["permit"]
            if not verdict["allowed"]:
                self.crawler.stats.inc_value("robots_permits/" + verdict["reason"])
                logger.info("disallowed %s %s", request.url, verdict["reason"])
                raise IgnoreRequest(f"{request.url} is disallowed by robots.txt: {verdict['reason']}")
            if permit:
                await asyncio.sleep(max(0, until(permit["start"])))
                request.meta[PERMIT] = permit["id"]
                return None
            await asyncio.sleep(max(0, until(answer["not_before"])))

    async def process_response(self, request, response, spider):
        """Release the permit with the status and Retry-After of the response."""
        await self.release(request, {"status": response.status, "retry_after": min(retry_after(response.headers), 31536000)})
        return response

    async def process_exception(self, request, exception, spider):
        await self.release(request, {"timeout": True} if isinstance(exception, (DeferTimeout, TCPTimeout)) else {})

    async def release(self, request, result):
        permit = request.meta.pop(PERMIT, None)  # None for a response from the cache
        if permit:
            await self.ask(f"/v1/permits/{permit}/done", result)  # 410: it has expired, and counted as a timeout


def retry_after(headers):
    """Return the seconds of Retry-After, a number or a date (RFC 9110 section 10.2.3), or 0."""
    text = (headers.get("Retry-After") or b"").decode("latin-1")
    try:
        return int(text) if text.isdecimal() else max(0.0, until(email.utils.parsedate_to_datetime(text).isoformat()))
    except (ValueError, TypeError):  # such as a number of thousands of digits, a date without a zone
        return 0


def until(stamp):
    """Return the seconds until a time in a response."""
    return (datetime.datetime.fromisoformat(stamp) - datetime.datetime.now(datetime.timezone.utc)).total_seconds()
